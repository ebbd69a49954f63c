"""Scores for Phoenix and Langfuse: what they get, and what it costs a turn when they don't take it."""

from __future__ import annotations

import base64
import json
import logging
from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import guard_with
from tests.pace import PATIENCE_S
from tests.raising import raises
from tests.telemetry.receiving import receiving
from tests.telemetry.recording import Recording
from vista_guard import ConfigError, Guard, Label, TurnReport, to_conversation
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.telemetry.scores import LangfuseScores, PhoenixScores, ScoreSink, score_sink
from vista_guard.testing import ScriptedJudge, Verdict

TURN = "The pier opened in 1901. It is closed on Mondays. Somebody said so."
SCRIPT = {
    TURN: [
        Verdict("The pier opened in 1901."),
        Verdict("It is closed on Mondays.", Label.CONTRADICTED, confidence=0.9),
        Verdict("Somebody said so.", error="no answer"),
    ]
}


@pytest.fixture(autouse=True)
def _patience(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("LAST_SECONDS", "TIMEOUT_S"):
        monkeypatch.setattr(f"vista_guard.telemetry.scores.{name}", PATIENCE_S)


def checked(knowledge: MemoryKnowledge, *sinks: ScoreSink, traced: bool = True) -> TurnReport:
    more: dict[str, Any] = {"telemetry": Recording().telemetry} if traced else {}
    guard = guard_with(ScriptedJudge(SCRIPT), knowledge, sinks=sinks, **more)
    talk: list[Any] = [
        {"role": "user", "content": "When?"},
        {"role": "assistant", "content": TURN, "documents": ["The pier."]},
    ]
    report = guard.check(to_conversation(talk))
    guard.close()
    return report


def test_phoenix_gets_the_turn_and_its_claims(knowledge: MemoryKnowledge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHOENIX_API_KEY", "secret")
    with receiving() as phoenix:
        report = checked(knowledge, ScoreSink(PhoenixScores(phoenix.url)))
    ((method, path, headers, body),) = phoenix.requests
    assert (method, path, headers["authorization"]) == ("POST", "/v1/span_annotations", "Bearer secret")
    shared = {"span_id": report.span_id, "annotator_kind": "CODE"}
    claim = {**shared, "name": "vista.claim"}
    assert json.loads(body)["data"] == [
        {**shared, "name": "vista.score", "identifier": report.id, "result": {"label": "BLOCK", "score": 0.5}},
        {**claim, "identifier": "t1.c1", "result": {"label": "VERIFIED", "score": 1.0}},
        {**claim, "identifier": "t1.c2", "result": {"label": "CONTRADICTED", "score": 0.9}},
        {**claim, "identifier": "t1.c3", "result": {"label": "UNCHECKED"}},
    ]
    assert b"pier" not in body


def test_langfuse_gets_one_score_each(knowledge: MemoryKnowledge) -> None:
    with receiving() as langfuse:
        report = checked(knowledge, ScoreSink(LangfuseScores(langfuse.url, public_key="pk", secret_key="sk")))
    sent = [json.loads(body) for body in langfuse.bodies("/api/public/scores")]
    assert {headers["authorization"] for _, _, headers, _ in langfuse.requests} == {
        f"Basic {base64.b64encode(b'pk:sk').decode()}"
    }
    assert {(score["traceId"], score["observationId"]) for score in sent} == {(report.trace_id, report.span_id)}
    assert [(score["name"], score["value"], score["dataType"]) for score in sent] == [
        ("vista.score", 0.5, "NUMERIC"),
        ("vista.action", "BLOCK", "CATEGORICAL"),
        ("vista.claim", "VERIFIED", "CATEGORICAL"),
        ("vista.claim", "CONTRADICTED", "CATEGORICAL"),
        ("vista.claim", "UNCHECKED", "CATEGORICAL"),
    ]
    assert len({score["id"] for score in sent}) == 5


def test_a_turn_that_was_not_traced_has_no_scores(knowledge: MemoryKnowledge) -> None:
    with receiving() as phoenix:
        checked(knowledge, ScoreSink(PhoenixScores(phoenix.url)), traced=False)
    assert phoenix.requests == []


@pytest.mark.parametrize("status", [401, 404, 500])
def test_a_backend_that_refuses_is_told_in_the_log_only(
    status: int, knowledge: MemoryKnowledge, caplog: pytest.LogCaptureFixture
) -> None:
    with receiving(status) as phoenix:
        sink = ScoreSink(PhoenixScores(phoenix.url))
        report = checked(knowledge, sink)
    assert (report.warnings, sink.dropped) == ((), 1)
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == [
        "Phoenix did not take the scores of 1 turns so far: HTTPStatusError"
    ]


def test_a_backend_that_is_down_costs_no_turn(knowledge: MemoryKnowledge) -> None:
    sink = ScoreSink(PhoenixScores("http://127.0.0.1:9"))
    assert checked(knowledge, sink).warnings == ()
    assert sink.dropped == 1


async def test_a_backend_that_hangs_holds_nobody_and_fills_no_memory(knowledge: MemoryKnowledge) -> None:
    report = checked(knowledge)
    with receiving(hang=True) as phoenix:
        sink = ScoreSink(PhoenixScores(phoenix.url), most_waiting=3)
        for _ in range(60):  # nothing comes from the backend until it is let go
            await sink.write(report)
        # What the thread took out, at most a batch, hangs; three wait.
        assert 60 - 50 - 3 <= sink.dropped <= 57
        phoenix.let_go()
        await sink.aclose()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: score_sink("somewhere:http://a"),
            ("otel.scores", "somewhere:http://a"),
        ),
        (lambda: score_sink("phoenix:localhost:6006"), ("scores", "localhost:6006", "URL")),
        (
            lambda: score_sink("langfuse:https://a"),
            ("scores", "Langfuse", "LANGFUSE_PUBLIC_KEY", "LANGFUSE_SECRET_KEY"),
        ),
    ],
)
def test_what_cannot_be_reached_is_refused(make: Callable[[], object], said: tuple[str, ...]) -> None:
    with raises(ConfigError, *said):
        make()


def test_backends_are_named_in_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISTA_GUARD_OTEL__SCORES", '["phoenix:http://127.0.0.1:6006"]')
    with Guard.from_settings(judge=ScriptedJudge({}), store="memory") as guard:
        assert [type(sink) for sink in guard.parts.sinks] == [ScoreSink]
