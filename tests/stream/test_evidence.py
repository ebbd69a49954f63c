"""Evidence that arrives while a turn is being said: later sentences are judged with it, and so is the whole."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from tests.pace import others
from tests.raising import raises
from tests.stream.test_gates import ASKED, GOOD, Upstream, cut, guard_of
from vista_guard import Action, Guard, TurnReport
from vista_guard.policy.label_policy import MESSAGE, build_policy
from vista_guard.reading.passages import sentence_spans
from vista_guard.settings.sources import Limits
from vista_guard.stream.gates import Gate
from vista_guard.stream.source import Delta, Found, Passed
from vista_guard.types import Check, Claim, Document, EvidenceSet, Finding, JudgeInfo, Label, Turn, Unchecked

HALL = "The hall opened in 1925."
ROOF = "The roof is made of glass."
FOUND = Document(id="roofs", text="The roof is made of glass.")
NOTES = Document(id="notes", text=HALL)
DENIAL = Document(id="denial", text="It is false that the hall opened in 1925.")
BLOCKING = build_policy("strict", {"rules": {"LACKING_EVIDENCE": {"action": "BLOCK"}}})
GATES = pytest.mark.parametrize("gate", ["sentence", "turn"])


class Reader:
    """Supports a sentence that some document holds, and contradicts one that a document denies."""

    def __init__(self) -> None:
        self.info = JudgeInfo(name="reader", version="1")
        self.verified: list[tuple[str, int]] = []

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        return [
            Claim(id=f"t{len(history)}.c{number}", text=turn.text[span.start : span.end], span=span)
            for number, span in enumerate(sentence_spans(turn.text), 1)
        ]

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        await asyncio.sleep(0)
        texts = [passage.text for passage in evidence.documents]
        self.verified += [(claim.text, len(texts)) for claim in claims]
        return [
            Check(claim=claim, supported=claim.text in texts and not _denied(claim, texts), confidence=0.9)
            for claim in claims
        ]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        texts = [passage.text for passage in evidence.documents]
        return [
            Finding(
                claim=check.claim,
                label=Label.CONTRADICTED if _denied(check.claim, texts) else Label.LACKING_EVIDENCE,
                confidence=0.9,
                reason="so it is",
            )
            for check in checks
        ]


def _denied(claim: Claim, texts: Sequence[str]) -> bool:
    return any("It is false that" in text and claim.text[4:] in text for text in texts)


async def said(
    guard: Guard, *pieces: Delta, gate: Gate = "sentence", documents: Sequence[Document] = (NOTES,)
) -> tuple[list[Any], TurnReport]:
    *shown, report = [
        piece
        async for piece in guard.gated(ASKED, Upstream(*pieces)(), gate=gate, documents=documents)  # type: ignore[arg-type]
    ]
    assert isinstance(report, TurnReport)
    return shown, report


async def checked(guard: Guard, text: str, *documents: Document) -> TurnReport:
    draft = Turn(role=ASKED.turns[0].role.ASSISTANT, text=text, documents=documents)
    return await guard.acheck(ASKED.model_copy(update={"turns": (*ASKED.turns, draft)}))


def judgement(report: TurnReport) -> dict[str, Any]:
    return report.model_dump(exclude={"id", "gate", "timings", "created_at", "usage"})


@GATES
@pytest.mark.parametrize("size", [1, 6, 1000])
async def test_a_later_sentence_leans_on_it(gate: Gate, size: int) -> None:
    shown, report = await said(
        guard_of(Reader(), BLOCKING), *cut(f"{HALL} ", size), Found((FOUND,)), *cut(ROOF, size), gate=gate
    )
    assert "".join(shown) == f"{HALL} {ROOF}"
    expected = await checked(guard_of(Reader(), BLOCKING), f"{HALL} {ROOF}", NOTES, FOUND)
    assert judgement(report) == judgement(expected)
    assert report.decision.action is Action.ALLOW


async def test_the_gate_that_looks_on_knows_it_too() -> None:
    shown, report = await said(
        guard_of(Reader(), "monitor"), f"{HALL} ", Found((FOUND,)), Passed("call"), ROOF, gate="none"
    )
    assert shown == [f"{HALL} ", Passed("call"), ROOF]
    assert judgement(report) == judgement(await checked(guard_of(Reader(), "monitor"), f"{HALL} {ROOF}", NOTES, FOUND))


@GATES
async def test_nobody_is_shown_it_and_what_is_passed_keeps_its_place(gate: Gate) -> None:
    shown, _ = await said(
        guard_of(Reader()), HALL, Passed("search"), Found((FOUND,)), Passed("done"), f" {ROOF}", gate=gate
    )
    assert shown == [HALL, Passed("search"), Passed("done"), f" {ROOF}"]


async def test_a_claim_that_lacked_support_is_judged_again() -> None:
    """The sentence was judged ahead of its end, before the documents that support it came."""
    judge, ahead = Reader(), asyncio.Event()

    class Watched(Reader):
        async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
            answers = await super().verify(claims, evidence)
            ahead.set()
            return answers

    judge = Watched()

    async def deltas() -> AsyncIterator[Delta]:
        yield ROOF
        await ahead.wait()
        await others()
        yield Found((FOUND,))
        yield f" {HALL}"

    pieces = [piece async for piece in guard_of(judge, BLOCKING).gated(ASKED, deltas(), documents=(NOTES,))]
    assert pieces[:-1] == [ROOF, f" {HALL}"]
    assert judge.verified[:2] == [(ROOF, 1), (ROOF, 2)]


async def test_what_comes_while_a_sentence_is_judged_counts_for_it() -> None:
    judging, found = asyncio.Event(), asyncio.Event()

    class Slow(Reader):
        async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
            judging.set()
            await found.wait()
            await others()
            return await super().verify(claims, evidence)

    async def deltas() -> AsyncIterator[Delta]:
        yield f"{ROOF} {HALL}"
        await judging.wait()
        yield Found((FOUND,))
        found.set()

    *shown, report = [piece async for piece in guard_of(Slow(), BLOCKING).gated(ASKED, deltas(), documents=(NOTES,))]
    assert "".join(shown) == f"{ROOF} {HALL}"  # type: ignore[arg-type]
    assert report.decision.action is Action.ALLOW  # type: ignore[union-attr]


@GATES
async def test_a_claim_that_was_supported_may_be_contradicted(gate: Gate) -> None:
    text = f"{ROOF} {HALL}"
    shown, report = await said(
        guard_of(Reader(), "balanced"), f"{ROOF} ", Found((DENIAL,)), HALL, gate=gate, documents=(NOTES, FOUND)
    )
    assert "".join(shown) == (f"{ROOF}\n\n{MESSAGE}" if gate == "sentence" else MESSAGE)
    expected = await checked(guard_of(Reader(), "balanced"), text, NOTES, FOUND, DENIAL)
    assert (report.decision.action, report.outcomes) == (Action.BLOCK, expected.outcomes)


async def test_what_turns_a_sentence_that_was_shown_withholds_the_rest() -> None:
    shown = asyncio.Event()

    async def deltas() -> AsyncIterator[Delta]:
        yield f"{HALL} {ROOF[:5]}"
        await shown.wait()
        yield Found((DENIAL,))
        yield ROOF[5:]

    pieces = guard_of(Reader(), "balanced").gated(ASKED, deltas(), documents=(NOTES, FOUND))
    assert await anext(pieces) == HALL
    shown.set()
    rest, report = [piece async for piece in pieces]
    assert isinstance(report, TurnReport)
    assert (rest, report.response, report.decision.action) == (
        f"\n\n{MESSAGE}",
        f"{HALL}\n\n{MESSAGE}",
        Action.BLOCK,
    )


async def test_what_is_known_already_has_nothing_judged_again() -> None:
    judge = Reader()
    await said(guard_of(judge), *cut(f"{HALL} "), Found((NOTES,)), *cut(ROOF), Found(()))
    assert judge.verified.count((HALL, 1)) == 1


@GATES
async def test_texts_of_one_file_stay_apart(gate: Gate) -> None:
    again = FOUND.model_copy(update={"text": "Nothing of the kind."})
    pieces = (HALL, Found((FOUND,)), Found((again,)), f" {ROOF}")
    judge = guard_of(Reader(), "monitor")
    _, report = await said(judge, *pieces, gate=gate)
    second = again.model_copy(update={"id": "roofs#2"})
    expected = await checked(guard_of(Reader(), "monitor"), f"{HALL} {ROOF}", NOTES, FOUND, second)
    assert judgement(report) == judgement(expected)


@GATES
async def test_too_much_of_it_is_for_the_policy_to_decide(gate: Gate) -> None:
    guard = guard_of(Reader(), "strict", limits=Limits(documents=1))
    pieces: list[Delta] = [GOOD, Found((FOUND,)), f" {ROOF}"]
    if gate == "turn":
        with raises(Exception, "limits.documents", "1"):
            await said(guard, *pieces, gate=gate)
    else:
        _, report = await said(guard, *pieces, gate=gate)
        assert report.decision.action is Action.BLOCK
        assert "limits.documents is 1" in report.unchecked[0].error
