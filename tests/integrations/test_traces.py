"""One trace for every way in: the same turn, the same tree but for what a way adds, and not a word of it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.integrations.test_same_report import DOCUMENT, QUESTION, TURN, WAYS, judgement, read
from tests.proxy.serving import Sentencewise
from tests.telemetry.recording import Recording, Tree
from vista_guard import Guard, Label, TurnReport
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedChatServer, Verdict, WordEmbedder

FERRY = "The harbour ferry leaves every 40 minutes, and a ticket costs 9 euros."
DOCTOR = "Dr. Ilona Brack has run the line since 2011."
CAFE = "There is a café on board."
BOAT = "I think the morning boat is the prettiest!"
SCRIPT = {
    FERRY: [Verdict(FERRY, Label.CONTRADICTED)],
    DOCTOR: [Verdict(DOCTOR)],
    CAFE: [Verdict(CAFE, Label.LACKING_EVIDENCE)],
    BOAT: [Verdict(BOAT, Label.OUT_OF_SCOPE)],
}
STAGES: Tree = {f"vista_guard.{stage}": {} for stage in ("gather", "decompose", "verify", "categorize", "decide")}
STAGES |= {"vista_guard.remember": {}, "vista_guard.report": {}}
SENTENCES: Tree = {"vista_guard.sentence": {}}


def turn(*agents: str, sentences: bool = False) -> Tree:
    """The turn, with the agents that the guard asks itself."""
    asked: Tree = {f"invoke_agent {name}": {} for name in agents}
    return {"vista_guard.turn": {**asked, **STAGES, **(SENTENCES if sentences else {})}}


MODEL = "GenericFakeChatModel"
TREES: dict[str, Tree] = {
    "acheck": turn(),
    "gated by turn": turn(),
    "gated by sentence": turn(sentences=True),
    "gated by sentence, letter by letter": turn(sentences=True),
    "observed": turn(),
    "callable": turn("agent"),
    "generator function": turn("words", sentences=True),
    "Runnable": turn("RunnableLambda"),
    "Runnable, streamed": turn(MODEL, sentences=True),
    "LangGraph": turn("agent"),
    "node of a LangGraph by turn": turn("agent"),
    "node of a LangGraph by sentence": turn(sentences=True),
    "middleware by turn": turn("agent"),
    "middleware by sentence": turn(sentences=True),
    "OpenAI client": turn(),
    "OpenAI client, streamed": turn(sentences=True),
    "proxy, chat": {"vista_guard.proxy": turn()},
    "proxy, chat, streamed": {"vista_guard.proxy": turn(sentences=True)},
    "proxy, responses": {"vista_guard.proxy": turn()},
    "proxy, responses, streamed": {"vista_guard.proxy": turn(sentences=True)},
}


def guard_of(recording: Recording) -> Guard:
    judge = Sentencewise(SCRIPT)
    return Guard(judge, "monitor", knowledge=MemoryKnowledge(WordEmbedder()), telemetry=recording.telemetry)


async def report_of(way: str, guard: Guard) -> TurnReport:
    run = {"check": read, **WAYS}[way]
    with ScriptedChatServer(TURN) as server:
        if asyncio.iscoroutinefunction(run):
            return await run(guard, server)  # type: ignore[no-any-return]
        return await asyncio.to_thread(run, guard, server)


def test_every_way_has_a_tree() -> None:
    assert set(TREES) == set(WAYS)


@pytest.mark.parametrize("way", ["check", *WAYS])
async def test_every_way_in_gives_one_trace(way: str) -> None:
    recording = Recording()
    report = await report_of(way, guard_of(recording))
    assert recording.tree() == {"check": turn(), **TREES}[way]
    span = recording.named("vista_guard.turn")
    assert span.context is not None
    assert (report.trace_id, report.span_id) == (f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}")
    assert {one.context.trace_id for one in recording.spans if one.context} == {span.context.trace_id}
    assert span.attributes is not None
    assert span.attributes["vista_guard.report.id"] == report.id
    assert span.attributes["openinference.span.kind"] == (
        "AGENT" if "invoke_agent" in str(TREES.get(way)) else "GUARDRAIL"
    )
    counts = {name: span.attributes[f"vista_guard.claims.{name}"] for name in ("verified", "contradicted", "unchecked")}
    assert counts == {"verified": 1, "contradicted": 1, "unchecked": 0}
    assert [event.attributes["gen_ai.evaluation.name"] for event in recording.events] == [
        "vista.score",
        *["vista.claim"] * 4,
    ]
    assert {event.span_id for event in recording.events} == {span.context.span_id}
    assert recording.metrics()["vista_guard.turns"] == [({"action": report.decision.action.value, "repair": "none"}, 1)]


@pytest.mark.parametrize("way", ["check", *WAYS])
async def test_no_word_of_it_is_told(way: str) -> None:
    recording = Recording()
    await report_of(way, guard_of(recording))
    told = recording.all_told()
    assert [
        text for text in (*SCRIPT, DOCUMENT, str(QUESTION["content"]), "ferry", "café", "Brack") if text in told
    ] == []


@pytest.mark.parametrize("way", ["check", "gated by sentence", "LangGraph", "proxy, chat"])
async def test_a_report_is_the_same_with_and_without_tracing(way: str) -> None:
    traced = await report_of(way, guard_of(Recording()))
    plain: Any = Guard(Sentencewise(SCRIPT), "monitor", knowledge=MemoryKnowledge(WordEmbedder()))
    report = await report_of(way, plain)
    assert judgement(report) == judgement(traced)
    assert (report.trace_id, report.span_id) == (None, None)


def test_the_proxys_framework_adds_no_spans_and_no_words_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    import opentelemetry._logs._internal as logs
    import opentelemetry.trace as traces
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.testclient import TestClient

    from vista_guard.proxy.app import build_app
    from vista_guard.proxy.settings import ProxySettings

    async def broken(_: Request) -> Response:
        raise RuntimeError("A SECRET of the harbour")

    recording = Recording()
    monkeypatch.setattr(traces, "_TRACER_PROVIDER", recording.tracers)
    monkeypatch.setattr(logs, "_LOGGER_PROVIDER", recording._loggers)
    monkeypatch.setenv("FASTAPI_OTEL_AUTO_CONFIGURE", "true")
    app = build_app(guard_of(recording), ProxySettings(upstream="http://127.0.0.1:1/v1"))
    for path in ("/v1/responses", "/broken"):
        app.router.routes.insert(0, Route(path, broken, methods=["POST"]))
    with TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        assert [client.post(f"{path}?q=SECRET", json={}).status_code for path in ("/v1/responses", "/broken")] == [
            500
        ] * 2
    (span,) = recording.spans
    assert (span.name, span.events) == ("vista_guard.proxy", ())
    assert recording.events == []
    assert "SECRET" not in span.to_json()
