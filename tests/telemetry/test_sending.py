"""Sending over OTLP, to a receiver on loopback: what arrives, and that nobody waits for one who does not take it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pace import PATIENCE_S
from tests.raising import raises
from tests.telemetry.receiving import receiving
from vista_guard.errors import ConfigError
from vista_guard.telemetry.sdk import configured, wanted_signals

ROOT = Path(__file__).parents[2]

SCRIPT = """
from vista_guard import Guard, to_conversation
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.telemetry import sdk
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder

judge = ScriptedJudge({"It opened.": [Verdict("It opened.")]})
talk = to_conversation([{"role": "user", "content": "Did it?"}, {"role": "assistant", "content": "It opened."}])
guard = Guard(judge, knowledge=MemoryKnowledge(WordEmbedder()))
guard.check(talk)
sdk.LAST_SECONDS = LAST
with sdk.configured("own-service"):
    actions = {guard.check(talk).decision.action.value for _ in range(20)}
print(sorted(actions))
"""


def run(tmp_path: Path, last: float = PATIENCE_S, /, **environment: str) -> subprocess.CompletedProcess[str]:
    known = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT.replace("LAST_SECONDS = LAST", f"LAST_SECONDS = {last}")],
        env={**known, "PYTHONPATH": str(ROOT), **environment},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )


def test_traces_metrics_and_events_arrive(tmp_path: Path) -> None:
    with receiving() as receiver:
        done = run(tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url, OTEL_EXPORTER_OTLP_COMPRESSION="none")
    assert done.stdout == "['FLAG']\n", done.stderr
    sent = {path: b"".join(receiver.bodies(path)) for path in ("/v1/traces", "/v1/metrics", "/v1/logs")}
    for path, name in (
        ("/v1/traces", b"vista_guard.turn"),
        ("/v1/metrics", b"vista_guard.turn.duration"),
        ("/v1/logs", b"gen_ai.evaluation.result"),
    ):
        assert name in sent[path]
        assert b"own-service" in sent[path]
        assert b"opened" not in sent[path]


def test_a_signal_that_is_switched_off_is_not_sent(tmp_path: Path) -> None:
    with receiving() as receiver:
        url = f"{receiver.url}/v1/traces"
        run(tmp_path, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=url, OTEL_SERVICE_NAME="named")
    assert {path for _, path, _, _ in receiver.requests} == {"/v1/traces"}
    assert b"named" in receiver.requests[0][3]


@pytest.mark.parametrize("environment", [{}, {"OTEL_SDK_DISABLED": "true"}])
def test_nothing_is_sent_unasked(environment: dict[str, str], tmp_path: Path) -> None:
    with receiving() as receiver:
        endpoint = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.url} if environment else {}
        done = run(tmp_path, **endpoint, **environment)
    assert (done.stdout, receiver.requests) == ("['FLAG']\n", [])


def test_a_receiver_that_hangs_is_not_noticed(tmp_path: Path) -> None:
    with receiving(hang=True) as receiver:
        done = run(tmp_path, 0.1, OTEL_EXPORTER_OTLP_ENDPOINT=receiver.url, OTEL_BSP_SCHEDULE_DELAY="10")
        receiver.let_go()
    assert done.stdout == "['FLAG']\n", done.stderr


def test_a_receiver_that_is_down_is_not_noticed(tmp_path: Path) -> None:
    done = run(tmp_path, 0.1, OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:9", OTEL_BSP_SCHEDULE_DELAY="10")
    assert done.stdout == "['FLAG']\n", done.stderr


@pytest.mark.parametrize("variable", ["OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT"])
@pytest.mark.parametrize("endpoint", ["collector:4318", "nonsense", "http://", "grpc://collector:4317", "http://["])
def test_an_endpoint_that_is_no_url_is_named(variable: str, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, endpoint)
    with raises(ConfigError, variable, endpoint), configured("own-service"):
        pass


def test_an_endpoint_of_a_signal_that_is_off_is_not_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_LOGS_ENDPOINT", "nonsense")
    monkeypatch.setenv("OTEL_LOGS_EXPORTER", "none")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://collector.example/v1/traces")
    assert wanted_signals() == {"traces"}
