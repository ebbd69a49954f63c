"""A turn's trace in what may go wrong: who else is in its context, who fails, who leaves; and what is told of content."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from opentelemetry import trace

from tests.conftest import guard_with
from tests.proxy.serving import Sentencewise
from tests.raising import raises
from tests.telemetry.recording import Recording
from vista_guard import Conversation, Guard, Label, Telemetry, to_conversation
from vista_guard.errors import ConfigError
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.telemetry import attributes as names
from vista_guard.testing import Verdict
from vista_guard.types import Role, Turn

TRUE, FALSE = "The mill was built in 1790.", "The mill belongs to Zubrowka."
SCRIPT = {TRUE: [Verdict(TRUE)], FALSE: [Verdict(FALSE, Label.CONTRADICTED)]}
ASKED = "When was it built, asks Quillfeather?"


def guard(knowledge: MemoryKnowledge, recording: Recording, policy: str = "balanced") -> Guard:
    return guard_with(Sentencewise(SCRIPT), knowledge, policy, telemetry=recording.telemetry)


def talk(text: str, conversation_id: str | None = None) -> Conversation:
    turns: list[Any] = [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": text, "documents": ["A mill in Ostrava."]},
    ]
    return to_conversation(turns, conversation_id=conversation_id)


async def words(*pieces: str) -> AsyncIterator[str]:
    for piece in pieces:
        yield piece
        await asyncio.sleep(0)


BEFORE = Conversation(turns=(Turn(role=Role.USER, text=ASKED),), id="c1")


@pytest.mark.parametrize("gate", ["none", "sentence", "turn"])
async def test_nothing_is_current_for_who_reads_a_stream(gate: Any, knowledge: MemoryKnowledge, caplog: Any) -> None:
    """Closed by another task in the middle, too: a context that is attached here would be detached there."""
    recording = Recording()
    policy = "monitor" if gate == "none" else "balanced"
    with recording.tracers.get_tracer("host").start_as_current_span("host") as host:
        stream = guard(knowledge, recording, policy).gated(BEFORE, words(TRUE, " ", TRUE), gate=gate)
        async for _ in stream:
            assert trace.get_current_span() is host
        left = guard(knowledge, recording, policy).gated(BEFORE, words(TRUE, " ", TRUE, " ", TRUE), gate=gate)
        await anext(left)
        await asyncio.create_task(left.aclose())
        assert trace.get_current_span() is host
    assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
    turns = [span for span in recording.spans if span.name == names.TURN]
    assert [span.parent.span_id for span in turns if span.parent] == [host.get_span_context().span_id] * 2
    assert [dict(span.attributes or {}).get(names.ABANDONED) for span in turns] == [None, True]
    assert recording.metrics()[names.STREAMS] == [({"gate": gate}, 0)]


async def test_turns_at_once_are_traces_of_their_own(knowledge: MemoryKnowledge) -> None:
    recording = Recording()
    guarding = guard(knowledge, recording)
    await asyncio.gather(*(guarding.acheck(talk(TRUE, f"c{number}")) for number in range(8)))
    assert len({span.context.trace_id for span in recording.spans if span.context}) == 8
    for span in recording.spans:
        mine = {
            dict(one.attributes or {})["session.id"]
            for one in recording.spans
            if one.context and span.context and one.context.trace_id == span.context.trace_id
        }
        assert len(mine) == 1


def test_an_agent_that_fails_ends_the_trace_with_its_class(knowledge: MemoryKnowledge) -> None:
    recording = Recording()

    def agent(_: object) -> str:
        raise LookupError(f"no answer to {ASKED}")

    with pytest.raises(LookupError):
        guard(knowledge, recording).wrap(agent)(ASKED)
    assert recording.tree() == {"vista_guard.turn": {"invoke_agent agent": {}}}
    for span in recording.spans:
        assert (span.attributes or {})["error.type"] == "LookupError"
        assert (span.status.status_code.name, span.status.description) == ("ERROR", None)
    assert "Quillfeather" not in recording.all_told()


def test_a_judge_that_fails_is_no_error_of_the_guard(knowledge: MemoryKnowledge) -> None:
    recording = Recording()
    judge = Sentencewise({TRUE: ConnectionError("refused")})
    guard_with(judge, knowledge, telemetry=recording.telemetry).check(talk(TRUE))
    span = recording.named("vista_guard.decompose")
    assert (dict(span.attributes or {})["error.type"], span.status.status_code.name) == ("judge", "UNSET")
    assert recording.metrics()[names.UNCHECKED] == [({"error.type": "judge"}, 1)]


def test_an_earlier_turn_that_is_judged_now_has_its_span(knowledge: MemoryKnowledge) -> None:
    recording = Recording()
    turns: list[Any] = [{"role": "assistant", "content": TRUE}, {"role": "user", "content": ASKED}]
    guard(knowledge, recording).check(to_conversation([*turns, {"role": "assistant", "content": TRUE}]))
    assert recording.tree()["vista_guard.turn"]["vista_guard.gather"] == {"vista_guard.catch_up": {}}


@pytest.mark.parametrize("events", ["logs", "span", "both"])
def test_evaluations_go_where_they_are_wanted(events: Any, knowledge: MemoryKnowledge) -> None:
    recording = Recording(events=events)
    guard(knowledge, recording).check(talk(TRUE, "c1"))
    inside = [event.name for event in recording.named(names.TURN).events]
    assert [event.event_name for event in recording.events] == [names.EVALUATION] * (2 if events != "span" else 0)
    assert inside == [names.EVALUATION] * (2 if events != "logs" else 0)


def test_no_withheld_word_is_told_even_with_content(knowledge: MemoryKnowledge) -> None:
    recording = Recording(content="span_and_event", events="both")
    report = guard(knowledge, recording, "strict").check(talk(FALSE))
    assert report.blocked
    told = recording.all_told()
    assert [word for word in ("Zubrowka", "Ostrava") if word in told] == []
    span = dict(recording.named(names.TURN).attributes or {})
    assert (span[names.INPUT], span[names.OUTPUT]) == (ASKED, report.response)


async def test_no_withheld_sentence_is_told_even_with_content(knowledge: MemoryKnowledge) -> None:
    recording = Recording(content="span_and_event", events="both")
    [_ async for _ in guard(knowledge, recording).gated(BEFORE, words(TRUE, " ", FALSE))]
    told = recording.all_told()
    assert "Zubrowka" not in told
    assert TRUE in told


@pytest.mark.parametrize(
    ("content", "in_span", "in_event"),
    [
        ("no_content", False, False),
        ("span_only", True, False),
        ("event_only", False, True),
        ("span_and_event", True, True),
        ("SPAN_ONLY", True, False),
        ("anything", False, False),
        ("", False, False),
    ],
)
def test_the_standard_variable_is_obeyed(
    content: str, in_span: bool, in_event: bool, knowledge: MemoryKnowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", content)
    recording = Recording()
    guard(knowledge, recording).check(talk(TRUE))
    assert (names.INPUT in dict(recording.named(names.TURN).attributes or {})) is in_span
    assert (names.EXPLANATION in dict(recording.events[0].attributes)) is in_event


def test_what_is_told_is_redacted_first(knowledge: MemoryKnowledge) -> None:
    recording = Recording(content="span_and_event", redact=lambda text: text.replace("1790", "[year]"))
    guard(knowledge, recording).check(talk(TRUE))
    told = recording.all_told()
    assert ("1790" in told, "[year]" in told) == (False, True)
    messages = dict(recording.named(names.TURN).attributes or {})[names.OUTPUT_MESSAGES]
    assert json.loads(str(messages))[0]["parts"][0]["content"] == "The mill was built in [year]."


def test_a_redaction_that_fails_tells_nothing(knowledge: MemoryKnowledge) -> None:
    def fail(text: str) -> str:
        raise RuntimeError(text)

    recording = Recording(content="span_and_event", redact=fail)
    assert not guard(knowledge, recording).check(talk(TRUE)).blocked
    assert [word for word in ("1790", "Quillfeather") if word in recording.all_told()] == []


def test_every_name_that_is_told_is_in_the_tables(knowledge: MemoryKnowledge) -> None:
    recording = Recording(content="span_and_event", events="both")
    guard(knowledge, recording).check(talk(FALSE, "c1"))
    spans, told = {one.name for one in names.SPANS}, {one.name for one in names.ATTRIBUTES}
    assert {span.name for span in recording.spans} <= spans
    assert {name for span in recording.spans for name in span.attributes or {}} <= told
    known = {one.name for one in names.EVENT_ATTRIBUTES}
    assert {name for event in recording.events for name in event.attributes} <= known
    assert set(recording.metrics()) <= {one.name for one in names.METRICS}


@pytest.mark.parametrize("option", ["content", "events", "model_spans"])
def test_an_unknown_word_is_refused(option: str) -> None:
    with raises(ConfigError, option, "some"):
        Telemetry(**{option: "some"})  # type: ignore[arg-type]
