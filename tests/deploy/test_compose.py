"""The compose file, started: where Docker with compose is there, and its images can be had."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from vista_guard.proxy.security import key_hash, new_key
from vista_guard.types import TurnReport

FILE = Path(__file__).parents[2] / "deploy/compose.yaml"
KEY = new_key()
TALK = [
    {"role": "user", "content": "When does the museum open?"},
    {"role": "assistant", "content": "The museum opens at ten."},
]


def compose(*arguments: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
    """Runs `docker compose` with the file."""
    environment = {
        **os.environ,
        "UPSTREAM": "http://127.0.0.1:9/v1",
        "POSTGRES_PASSWORD": "test",
        "GUARD_KEYS": json.dumps({"acme": [key_hash(KEY)]}),
    }
    command = ["docker", "compose", "-p", "vista-guard-test", "-f", str(FILE), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=seconds, check=False)


@pytest.fixture(scope="module")
def started() -> Iterator[str]:
    if shutil.which("docker") is None or subprocess.run(["docker", "info"], capture_output=True).returncode:
        pytest.skip("no Docker daemon answers")
    if compose("version").returncode:
        pytest.skip("docker has no compose")
    up = compose("up", "--build", "--wait", "--wait-timeout", "300", seconds=1800)
    try:
        assert up.returncode == 0, up.stderr[-3000:]
        yield "http://127.0.0.1:8080"
    finally:
        compose("down", "--volumes", "--timeout", "5", seconds=120)


def sent(url: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    request = Request(url, headers={"x-api-key": KEY, "content-type": "application/json"})
    if body is not None:
        request.data = json.dumps(body).encode()
    with urlopen(request, timeout=60) as answer:
        content: dict[str, Any] = json.load(answer)
    return content


def test_two_guards_answer_as_one(started: str) -> None:
    body = {"messages": TALK, "documents": ["The museum opens at nine."], "conversation_id": "c1"}
    reports = [TurnReport.model_validate(sent(f"{started}/guard/check", body)) for _ in range(4)]
    assert {report.decision.action for report in reports} == {"BLOCK"}
    kept = sent(f"{started}/guard/conversations/c1")
    assert [report["conversation_id"] for report in kept["reports"]] == ["c1"] * 4
    with pytest.raises(HTTPError):
        urlopen(f"{started}/guard/conversations/c1", timeout=60)
    assert "Traces" in compose("logs", "collector").stdout
