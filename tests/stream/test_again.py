"""An agent that is asked again while its stream is held back: what goes out, what it is told, what is left of the draft."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from tests.raising import raises
from tests.stream.test_gates import ASKED, BAD, FREE, GOOD, LACKING, NOTES, SentenceJudge, Sink, Upstream, cut, guard_of
from vista_guard import Action, Guard, TurnReport
from vista_guard.policy.label_policy import MESSAGE, build_policy
from vista_guard.settings.sources import Limits
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.stream.gates import Gate
from vista_guard.stream.source import Delta, Found, Passed
from vista_guard.testing import WordEmbedder
from vista_guard.types import Document, RepairMode

GATES = pytest.mark.parametrize("gate", ["sentence", "turn"])
TWICE = build_policy("strict", {"max_attempts": 2})
NOTE = f"- {LACKING} (not supported by the sources)"


class Agent:
    """Answers again and again; knows what it was told, and that what it said was closed."""

    def __init__(self, *answers: Sequence[Delta] | Exception, error: Exception | None = None) -> None:
        self.told: list[tuple[str, str]] = []
        self.streams: list[Upstream] = []
        self._answers = list(answers)
        self._error = error

    def __call__(self, draft: str, note: str) -> AsyncIterator[Delta]:
        self.told.append((draft, note))
        answer = self._answers.pop(0)
        stream = Upstream(error=answer) if isinstance(answer, Exception) else Upstream(*answer, error=self._error)  # type: ignore[arg-type]
        self.streams.append(stream)
        return stream()


async def said(
    guard: Guard, pieces: Sequence[Delta], agent: Agent, gate: Gate = "sentence", documents: Any = (NOTES,)
) -> tuple[list[Any], TurnReport, Upstream]:
    """What goes out, the report, and the first stream."""
    first = Upstream(*pieces)  # type: ignore[arg-type]
    *shown, report = [piece async for piece in guard.gated(ASKED, first(), gate=gate, documents=documents, again=agent)]
    assert isinstance(report, TurnReport)
    assert "".join(piece for piece in shown if isinstance(piece, str)) == report.response
    assert all(stream.closed for stream in [first, *agent.streams])
    return shown, report, first


async def known(guard: Guard) -> list[str]:
    return [passage.text for passage in await guard.parts.knowledge.recall("c", persona=None, query="", limit=100)]


@GATES
class TestAnotherDraft:
    async def test_takes_the_place_of_the_first(self, gate: Gate) -> None:
        sink, agent = Sink(), Agent([Passed("second"), *cut(f"{GOOD} {FREE}")])
        guard = guard_of(SentenceJudge(), "strict", sinks=[sink])
        shown, report, _ = await said(guard, [Passed("first"), *cut(LACKING)], agent, gate)
        assert shown[0] == Passed("second")
        assert "first" not in shown
        assert (report.response, report.decision.action) == (f"{GOOD} {FREE}", Action.REPAIR)
        (attempt,) = report.attempts
        assert (attempt.repair, attempt.decision.action) == (RepairMode.REGENERATE, Action.REPAIR)
        assert [outcome.claim.text for outcome in attempt.outcomes] == [LACKING]
        assert sink.reports == [report]
        assert await known(guard) == [GOOD, FREE]
        ((draft, note),) = agent.told
        assert draft == LACKING
        assert NOTE in note

    async def test_is_judged_like_any_other(self, gate: Gate) -> None:
        agent = Agent(cut(BAD))
        guard = guard_of(SentenceJudge(), "strict")
        shown, report, _ = await said(guard, [LACKING], agent, gate)
        assert (shown, report.decision.action, len(report.attempts)) == ([MESSAGE], Action.BLOCK, 1)
        assert await known(guard) == []

    async def test_after_the_last_attempt_the_fallback_is_taken(self, gate: Gate) -> None:
        agent = Agent([f"{LACKING} {GOOD}"])
        _, report, _ = await said(guard_of(SentenceJudge(), "strict"), cut(LACKING), agent, gate)
        assert (report.response, report.decision.action, len(report.attempts)) == (GOOD, Action.REPAIR, 1)

    async def test_as_often_as_the_policy_says(self, gate: Gate) -> None:
        agent = Agent([LACKING.replace("its", "their")], [GOOD])
        _, report, _ = await said(guard_of(SentenceJudge(), TWICE), [LACKING], agent, gate)
        assert (report.response, len(report.attempts), len(agent.told)) == (GOOD, 2, 2)

    async def test_may_say_nothing(self, gate: Gate) -> None:
        call = Passed("a call", binding=True)
        shown, report, _ = await said(guard_of(SentenceJudge(), "strict"), [LACKING], Agent([call]), gate)
        assert (shown, report.response, report.decision.action, len(report.attempts)) == ([call], "", Action.REPAIR, 1)

    async def test_has_the_documents_of_the_turn_and_what_was_found_for_the_first(self, gate: Gate) -> None:
        asked: list[str] = []
        found = Document(id="found", text="Entry is free.")

        def documents(draft: Any) -> Sequence[Document]:
            asked.append(draft.turns[-1].text)
            return (NOTES,)

        agent = Agent([GOOD])
        sink: list[Any] = []

        class Judge(SentenceJudge):
            async def verify(self, claims: Any, evidence: Any) -> Any:
                sink.append([passage.source_id for passage in evidence.documents])
                return await super().verify(claims, evidence)

        await said(guard_of(Judge(), "strict"), [Found((found,)), LACKING], agent, gate, documents)
        assert asked == (["", ""] if gate == "sentence" else [LACKING, GOOD])
        assert sink[-1] == ["notes", "found"]


@GATES
class TestTheFallback:
    """Is taken where nobody can be asked."""

    async def test_when_the_agent_fails(self, gate: Gate) -> None:
        agent = Agent(ConnectionError("the draft was: gold"))
        guard = guard_of(SentenceJudge(), "strict")
        shown, report, _ = await said(guard, [Passed("first"), *cut(f"{LACKING} {GOOD}")], agent, gate)
        assert shown[0] == Passed("first")
        assert (report.response, report.decision.action, report.attempts) == (GOOD, Action.REPAIR, ())
        assert report.warnings == (
            "the agent was asked again and failed (ConnectionError); its draft was not let through",
        )
        assert await known(guard) == [GOOD]

    async def test_when_the_agent_fails_and_nothing_would_be_left(self, gate: Gate) -> None:
        shown, report, _ = await said(guard_of(SentenceJudge(), "strict"), cut(LACKING), Agent(OSError()), gate)
        assert (shown, report.decision.action, report.attempts) == ([MESSAGE], Action.BLOCK, ())
        assert "(OSError)" in report.warnings[0]

    async def test_when_the_agent_fails_before_its_first_word(self, gate: Gate) -> None:
        agent = Agent([Passed("second"), " "], error=OSError())
        shown, report, _ = await said(guard_of(SentenceJudge(), "strict"), [f"{LACKING} {GOOD}"], agent, gate)
        assert (shown, len(report.warnings)) == ([GOOD], 1)

    async def test_when_the_agent_breaks_off(self, gate: Gate) -> None:
        agent = Agent(["Entry is"], error=OSError())
        shown, report, _ = await said(guard_of(SentenceJudge(), "strict"), [f"{LACKING} {GOOD}"], agent, gate)
        assert (shown, report.decision.action, report.attempts) == ([MESSAGE], Action.BLOCK, ())
        assert "broke off (OSError)" in report.warnings[0]
        assert LACKING in [outcome.claim.text for outcome in report.outcomes]

    async def test_when_something_binding_came(self, gate: Gate) -> None:
        call, agent = Passed("a call", binding=True), Agent()
        shown, report, _ = await said(guard_of(SentenceJudge(), "strict"), [call, f"{LACKING} {GOOD}"], agent, gate)
        assert (shown, report.response, agent.told) == ([call, GOOD], GOOD, [])

    async def test_for_what_the_policy_blocks(self, gate: Gate) -> None:
        agent = Agent()
        shown, report, _ = await said(guard_of(SentenceJudge(), "strict"), [Passed(1), BAD], agent, gate)
        assert (shown, report.decision.action, agent.told) == ([Passed(1), MESSAGE], Action.BLOCK, [])


class Watched(MemoryKnowledge):
    """Notes what the reader had when something was stored."""

    def __init__(self) -> None:
        super().__init__(WordEmbedder())
        self.shown: list[Any] = []
        self.notes: list[list[Any]] = []

    async def remember(self, *args: Any) -> None:
        self.notes.append(list(self.shown))
        await super().remember(*args)

    async def write(self, report: TurnReport) -> None:
        """As a sink."""
        self.notes.append(list(self.shown))


@GATES
@pytest.mark.parametrize("second", [GOOD, LACKING])
async def test_nothing_is_stored_before_it_was_taken(gate: Gate, second: str) -> None:
    stores = Watched()
    guard = guard_of(SentenceJudge(), "strict", knowledge=stores, sinks=[stores])
    pieces = guard.gated(ASKED, Upstream(LACKING)(), gate=gate, documents=(NOTES,), again=Agent([second]))
    async for piece in pieces:
        if isinstance(piece, str):
            stores.shown.append(piece)
    told = [GOOD] if second == GOOD else [MESSAGE]
    assert stores.notes == [told, told]


class TestBySentence:
    async def test_text_that_is_out_stands(self) -> None:
        agent = Agent()
        _, report, _ = await said(guard_of(SentenceJudge(), "strict"), cut(f"{GOOD} {LACKING} {FREE}"), agent)
        assert (report.response, agent.told, report.attempts) == (f"{GOOD} {FREE}", [], ())

    @pytest.mark.parametrize("size", [1, 7, 1000])
    async def test_the_draft_ends_with_the_sentence_that_failed(self, size: int) -> None:
        agent = Agent([GOOD])
        _, report, _ = await said(guard_of(SentenceJudge(), "strict"), cut(f"{LACKING} {GOOD} {FREE}", size), agent)
        assert [draft for draft, _ in agent.told] == [LACKING]
        assert [outcome.claim.text for outcome in report.attempts[0].outcomes] == [LACKING]

    async def test_an_error_after_released_text_is_the_hosts(self) -> None:
        agent = Agent([f"{GOOD} Entry is"], error=OSError("gone"))
        guard = guard_of(SentenceJudge(), "strict")
        pieces = guard.gated(ASKED, Upstream(LACKING)(), documents=(NOTES,), again=agent)
        assert await anext(pieces) == GOOD
        with raises(OSError, "gone"):
            await anext(pieces)
        assert await known(guard) == []

    async def test_what_is_no_text_goes_out_at_once_when_nobody_is_ever_asked_again(self) -> None:
        waiting = asyncio.Event()

        async def deltas() -> AsyncIterator[Delta]:
            yield Passed("role")
            await waiting.wait()
            yield GOOD

        pieces = guard_of(SentenceJudge(), "balanced").gated(ASKED, deltas(), documents=(NOTES,), again=Agent())
        assert await anext(pieces) == Passed("role")
        waiting.set()
        assert await anext(pieces) == GOOD
        await pieces.aclose()

    @pytest.mark.parametrize("when", ["asking", "speaking"])
    async def test_a_reader_who_leaves_closes_both(self, when: str) -> None:
        closed, begun = asyncio.Event(), asyncio.Event()

        async def slow(draft: str, note: str) -> AsyncIterator[Delta]:
            try:
                if when == "speaking":
                    yield "The hall"
                begun.set()
                await asyncio.Event().wait()
            finally:
                closed.set()

        first = Upstream(LACKING)
        pieces = guard_of(SentenceJudge(), "strict").gated(ASKED, first(), documents=(NOTES,), again=slow)
        reading = asyncio.create_task(anext(pieces))
        await begun.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await pieces.aclose()
        assert (closed.is_set(), first.closed) == (True, True)


async def test_a_draft_over_a_limit_is_one_that_broke_off() -> None:
    guard = guard_of(SentenceJudge(), "strict", limits=Limits(turn_chars=40))
    shown, report, _ = await said(guard, [LACKING], Agent([GOOD * 3]), "turn")
    assert (shown, report.decision.action) == ([MESSAGE], Action.BLOCK)
    assert "(InputError)" in report.warnings[0]


async def test_two_hundred_streams_at_once_ask_for_their_own() -> None:
    guard = guard_of(SentenceJudge(), "strict", knowledge=MemoryKnowledge(WordEmbedder()))

    async def one(number: int) -> tuple[str, str]:
        agent = Agent(cut(f"The hall number {number} opened in 1925."))
        first = Upstream(*cut(f"Nobody knows about hall {number}."))
        *_, report = [item async for item in guard.gated(ASKED, first(), documents=(NOTES,), again=agent)]
        return report.response, agent.told[0][0]  # type: ignore[union-attr]

    told = await asyncio.gather(*(one(number) for number in range(200)))
    assert told == [
        (f"The hall number {number} opened in 1925.", f"Nobody knows about hall {number}.") for number in range(200)
    ]
