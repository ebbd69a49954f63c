"""Long texts: one verdict however the pass ends, the same claims however the text is cut, nothing judged twice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.raising import raises
from vista_guard import (
    Check,
    Claim,
    ConfigError,
    Document,
    EvidenceSet,
    Finding,
    Guard,
    JudgeInfo,
    Label,
    Limits,
    Turn,
    Unchecked,
)
from vista_guard.reading.passages import sentence_spans
from vista_guard.stores.memory import MemoryDocuments
from vista_guard.testing import WordEmbedder
from vista_guard.types import Span
from vista_guard.verification import PieceManifest, TextResult, Verdict, verify

KNOWN = [f"Hall {number} opened in {1900 + number}." for number in range(40)]


class Words:
    """A judge of sentences: supported by a passage that holds it, code where it says so, unchecked where it is odd."""

    info = JudgeInfo(name="words", version="1")

    def __init__(self) -> None:
        self.judged: list[str] = []

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        found = [one for one in sentence_spans(turn.text) if turn.text[one.start] != "#"]
        return [
            Claim(id=f"t{len(history)}.c{number}", text=turn.text[one.start : one.end], span=one)
            for number, one in enumerate(found, 1)
            if turn.text[one.start : one.end] != "Hello!"
        ]

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        self.judged += [claim.text for claim in claims]
        texts = [passage.text for passage in evidence.documents]
        return [self._check(claim, any(claim.text in text for text in texts)) for claim in claims]

    def _check(self, claim: Claim, supported: bool) -> Check | Unchecked:
        if claim.text == "Odd.":
            return Unchecked(claim=claim, error="odd")
        if claim.text == "Code.":
            return Unchecked(claim=claim, error="code", what="code")
        return Check(claim=claim, supported=supported, confidence=0.9)

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        return [
            Finding(
                claim=check.claim,
                label=Label.OUT_OF_SCOPE if check.claim.text == "I like it." else Label.LACKING_EVIDENCE,
                confidence=0.9,
                reason="not said",
            )
            for check in checks
        ]


async def guard(judge: Words | None = None) -> Guard:
    store = MemoryDocuments(WordEmbedder())
    await store.add([Document(id=str(number), text=text) for number, text in enumerate(KNOWN)])
    return Guard(judge or Words(), "monitor", documents=store, retrieve_by="claim", limits=Limits(retrieved=3))


def made(text: str = "t") -> PieceManifest:
    return PieceManifest("words 1", {"passages": "3"}, {"text": text})


async def results(text: str, judge: Words | None = None, **options: object) -> TextResult:
    given = Document(id="text", text=text)
    found = [one async for one in verify(await guard(judge), [given], made(), **options)]  # type: ignore[arg-type]
    (result,) = found
    return result


def long_text(false: Sequence[int] = ()) -> str:
    """Some eighty sentences in sections, of which those numbered are false."""
    parts = []
    for section in range(8):
        said = [KNOWN[(section * 5 + one) % 40] for one in range(10)]
        said = ["Hall 99 fell." if section * 10 + place in false else one for place, one in enumerate(said)]
        parts.append(f"Part {section}\n\n{' '.join(said[:5])}\n\n{' '.join(said[5:])}")
    return "\n\n".join(parts)


@pytest.mark.parametrize(
    ("text", "verdict", "factual"),
    [
        (KNOWN[3], Verdict.FACTUAL, True),
        (f"{KNOWN[3]} I like it.", Verdict.FACTUAL, True),
        (f"{KNOWN[3]} Code.", Verdict.FACTUAL, True),
        (f"{KNOWN[3]} Odd.", Verdict.UNDECIDED, None),
        ("Hall 99 fell. Odd.", Verdict.NOT_FACTUAL, False),
        ("Hello!", Verdict.NO_CLAIMS, None),
    ],
)
async def test_a_text_is_factual_when_all_its_claims_are(text: str, verdict: Verdict, factual: bool | None) -> None:
    found = await results(text)
    assert (found.verdict, found.factual, found.complete) == (verdict, factual, True)


@pytest.mark.parametrize("false", [(), (0,), (79,), (12, 40), (33, 34, 35)])
@pytest.mark.parametrize("at_once", [1, 3])
async def test_the_first_false_claim_has_the_verdict_of_the_full_pass(false: Sequence[int], at_once: int) -> None:
    text, judge = long_text(false), Words()
    full = await results(text)
    early = await results(text, judge, first=True, at_once=at_once)
    assert early.verdict is full.verdict
    assert early.claims == full.claims[: len(early.claims)]
    assert early.complete == (not false or len(early.claims) == len(full.claims))
    if false[:1] == (0,):
        assert len(judge.judged) < 80


async def test_the_same_claims_however_the_text_is_cut() -> None:
    text = long_text([17])
    whole = await results(text)
    sections = ["Part" + part for part in text.split("Part")[1:]]
    for cut in (1, 3, 8):
        groups = [sections[start : start + cut] for start in range(0, 8, cut)]
        apart = [claim for group in groups for claim in (await results("".join(group))).claims]
        assert [one.model_dump(exclude={"span"}) for one in apart] == [
            one.model_dump(exclude={"span"}) for one in whole.claims
        ]


async def test_spans_are_places_in_the_text() -> None:
    text = long_text([4])
    found = await results(text)
    assert len(found.claims) == 80
    assert all(isinstance(one.span, Span) and text[one.span.start : one.span.end] == one.text for one in found.claims)
    assert found.labels == {"VERIFIED": 79, "LACKING_EVIDENCE": 1}


async def test_a_run_is_resumed_and_judges_nothing_twice(tmp_path: Path) -> None:
    text, out = long_text([40]), tmp_path / "out.jsonl"
    early = await results(text, first=True, out=out, at_once=1)
    with out.open("ab") as file:
        file.write(b'{"file": "text", "numb')  # a kill in the middle of a line
    judge = Words()
    resumed = await results(text, judge, out=out)
    assert resumed == await results(text)
    assert len(judge.judged) == 80 - len(early.claims)
    again = Words()
    assert await results(text, again, out=out) == resumed
    assert again.judged == []


async def test_a_run_of_other_making_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    await results(KNOWN[0], out=out)
    other = PieceManifest("words 2", {"passages": "3"}, {"text": "t"})
    with raises(ConfigError, "judge", "1", "2"):
        async for _ in verify(await guard(), [Document(id="text", text=KNOWN[0])], other, out=out):
            pass
    (tmp_path / "out.jsonl.run.json").unlink()
    with raises(ConfigError, "run.json"):
        await results(KNOWN[0], out=out)
