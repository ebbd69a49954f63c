"""Algorithm 1 by its traces, retrieval per claim, claims of another model, and all of it through a guard."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.raising import raises
from vista_guard import (
    Check,
    Claim,
    ConfigError,
    Conversation,
    Document,
    EvidenceSet,
    Finding,
    Guard,
    JudgeInfo,
    Label,
    Limits,
    Passage,
    Record,
    Role,
    SourceKind,
    Span,
    StoreError,
    Turn,
    TurnReport,
    TurnTexts,
    Unchecked,
)
from vista_guard.judges.composed.pipeline import DecomposingJudge, FirstPassageJudge, RetrievingJudge
from vista_guard.stores.memory import MemoryDocuments
from vista_guard.testing import WordEmbedder

ROWS = {"E": (0.7, 0.1, 0.2), "C": (0.1, 0.8, 0.1), "N": (0.3, 0.1, 0.6)}


class Scripted:
    """A verifier whose answer is the first letter of the passage; remembers what it read."""

    name = "scripted"

    def __init__(self) -> None:
        self.read: list[tuple[str, str]] = []

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        self.read += pairs
        return np.array([ROWS[evidence[0]] for evidence, _ in pairs], np.float32)


class Noting:
    """A judge that supports what stands word for word in its documents; remembers its evidence by claim."""

    info = JudgeInfo(name="noting", version="1")

    def __init__(self) -> None:
        self.asked: list[tuple[tuple[str, ...], tuple[str, ...]]] = []

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        parts = turn.text.strip().split(". ")
        return [Claim(id=f"t{len(history)}.c{number}", text=part.rstrip(".")) for number, part in enumerate(parts, 1)]

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        texts = tuple(passage.text for passage in evidence.documents)
        self.asked.append((tuple(claim.text for claim in claims), texts))
        return [Check(claim=one, supported=any(one.text in text for text in texts), confidence=0.9) for one in claims]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        found = len(evidence.documents)
        return [
            Finding(claim=one.claim, label=Label.LACKING_EVIDENCE, confidence=0.9, reason=f"{found} passages")
            for one in checks
        ]


def passages(kinds: str) -> EvidenceSet:
    found = tuple(
        Passage(
            source=SourceKind.DOCUMENT, source_id="d", text=f"{kind} {place}", span=Span(start=place, end=place + 3)
        )
        for place, kind in enumerate(kinds)
    )
    return EvidenceSet(documents=found, retrieved=True)


def claims(*texts: str) -> list[Claim]:
    return [Claim(id=f"t0.c{number}", text=text) for number, text in enumerate(texts, 1)]


@pytest.mark.parametrize(
    ("kinds", "supported", "read", "confidence"),
    [
        ("ENC", True, 1, 0.7),
        ("NEC", True, 2, 0.7),
        ("NCE", False, 2, 0.8),  # rank order decides, not confidence
        ("CEE", False, 1, 0.8),
        ("NNN", True, 3, 0.3),  # line 10: all neutral is verified
        ("", True, 0, 0.0),  # no passages: verified too
    ],
)
async def test_algorithm_1(kinds: str, supported: bool, read: int, confidence: float) -> None:
    verifier = Scripted()
    judge = FirstPassageJudge(Noting(), verifier, WordEmbedder())
    (check,) = await judge.verify(claims("It opened."), passages(kinds))
    assert isinstance(check, Check)
    assert (check.supported, len(verifier.read)) == (supported, read)
    assert check.confidence == pytest.approx(confidence)
    decided = kinds[read - 1 : read] in ("E", "C")
    quotes = check.evidence or check.counter_evidence
    assert [one.quote for one in quotes] == ([f"{kinds[read - 1]} {read - 1}"] if decided else [])


async def test_each_claim_stops_at_its_own_passage_and_one_pass_reads_a_rank() -> None:
    verifier = Scripted()
    judge = FirstPassageJudge(Noting(), verifier, WordEmbedder(), passages=2)
    found = await judge.verify(claims("One.", "Two."), passages("NNE"))
    assert [isinstance(one, Check) and one.supported for one in found] == [True, True]
    assert verifier.read == [("N 0", "One."), ("N 0", "Two."), ("N 1", "One."), ("N 1", "Two.")]


async def test_documents_of_the_turn_are_ranked_by_the_embedder() -> None:
    verifier = Scripted()
    far = Passage(source=SourceKind.DOCUMENT, source_id="far", text="E ferries and dogs")
    near = Passage(source=SourceKind.DOCUMENT, source_id="near", text="C the hall opened")
    judge = FirstPassageJudge(Noting(), verifier, WordEmbedder())
    (check,) = await judge.verify(claims("the hall opened"), EvidenceSet(documents=(far, near)))
    assert verifier.read == [("C the hall opened", "the hall opened")]
    assert isinstance(check, Check)
    (finding,) = await judge.categorize([check], EvidenceSet())
    assert isinstance(finding, Finding)
    assert (finding.label, finding.evidence[0].source_id) == (Label.CONTRADICTED, "near")


def test_the_version_says_what_judges_otherwise() -> None:
    inner = Noting()
    assert FirstPassageJudge(inner, Scripted(), WordEmbedder()).info.version == "1; first passage decides"
    assert DecomposingJudge(inner, Noting()).info.version == "1; claims by noting 1"
    assert RetrievingJudge(inner, MemoryDocuments(WordEmbedder()), 3).info == inner.info


async def store() -> MemoryDocuments:
    found = MemoryDocuments(WordEmbedder())
    texts = ("The hall opened in 1925", "Dogs travel free on Sundays", "The ferry is blue")
    await found.add([Document(id=text.split()[1], text=text) for text in texts])
    return found


async def test_each_claim_is_held_against_its_own_passages() -> None:
    judge = Noting()
    retrieving = RetrievingJudge(judge, await store(), 1)
    asked = claims("Dogs travel free on Sundays", "The hall opened in 1930", "The ferry is blue")
    answers = await retrieving.verify(asked, EvidenceSet(retrieved=True))
    assert [one.claim for one in answers] == asked
    assert [isinstance(one, Check) and one.supported for one in answers] == [True, False, True]
    assert sorted(judge.asked) == [
        (("Dogs travel free on Sundays",), ("Dogs travel free on Sundays",)),
        (("The ferry is blue",), ("The ferry is blue",)),
        (("The hall opened in 1930",), ("The hall opened in 1925",)),
    ]
    again = await retrieving.verify(asked[::-1], EvidenceSet(retrieved=True))
    assert list(again)[::-1] == list(answers)


async def test_claims_with_the_same_passages_are_asked_about_together() -> None:
    judge = Noting()
    await RetrievingJudge(judge, await store(), 9).verify(
        claims("The ferry", "The ferry is"), EvidenceSet(retrieved=True)
    )
    assert [asked for asked, _ in judge.asked] == [("The ferry", "The ferry is")]


async def test_a_turn_s_own_documents_stay_its_evidence() -> None:
    judge = Noting()
    own = Passage(source=SourceKind.DOCUMENT, source_id="own", text="The ferry is green")
    await RetrievingJudge(judge, await store(), 1).verify(claims("The ferry is blue"), EvidenceSet(documents=(own,)))
    assert judge.asked == [(("The ferry is blue",), ("The ferry is green",))]


class Broken(MemoryDocuments):
    async def search(self, query: str, limit: int) -> Sequence[Passage]:
        if query.startswith("It"):
            raise StoreError("the disk is gone")
        return await super().search(query, limit)


async def test_claims_that_nothing_could_be_looked_up_for_are_unchecked_and_no_others() -> None:
    broken = Broken(WordEmbedder())
    await broken.add([Document(id="ferry", text="The ferry is blue")])
    asked = claims("It.", "The ferry is blue", "It.")
    found = await RetrievingJudge(Noting(), broken, 1).verify(asked, EvidenceSet(retrieved=True))
    assert [one.claim for one in found] == asked
    lost = [one.error for one in found if isinstance(one, Unchecked)]
    assert lost == ["the disk is gone"] * 2
    assert [one.supported for one in found if isinstance(one, Check)] == [True]


TALK = Conversation(turns=(Turn(role=Role.ASSISTANT, text="Dogs travel free on Sundays. The hall opened in 1930."),))


async def test_a_guard_retrieves_by_claim_and_says_when_the_store_is_empty() -> None:
    guard = Guard(Noting(), "monitor", documents=await store(), retrieve_by="claim")
    report = await guard.acheck(TALK)
    assert [one.label for one in report.findings] == [Label.VERIFIED, Label.LACKING_EVIDENCE]
    assert report.findings[1].reason == "3 passages"
    assert not report.evidence_missing
    empty = Guard(Noting(), "monitor", documents=MemoryDocuments(WordEmbedder()), retrieve_by="claim")
    assert (await empty.acheck(TALK)).evidence_missing


async def test_settings_name_an_extractor_and_algorithm_1() -> None:
    guard = Guard.from_settings(
        decomposer=Noting(), verifier=Scripted(), weighing="first", store="memory", documents=await named_store()
    )
    report = await guard.acheck(Conversation(turns=(Turn(role=Role.ASSISTANT, text="N one. E two"),)))
    assert [one.claim.text for one in report.findings] == ["N one", "E two"]
    assert report.judge.version.endswith("; first passage decides; claims by noting 1")
    await guard.aclose()


async def named_store() -> MemoryDocuments:
    found = MemoryDocuments(WordEmbedder())
    await found.add([Document(id="e", text="E is there"), Document(id="n", text="N is there")])
    return found


def test_weighing_needs_the_embedded_judge() -> None:
    with raises(ConfigError, "weighing", "first", "openai:small"):
        Guard.from_settings(judge="openai:small", weighing="first", store="memory")


async def test_parts_with_another_store_search_that_one_alone() -> None:
    """As a tenant's guard has it: the same judge, its own documents."""
    guard = Guard(Noting(), "monitor", documents=await store(), retrieve_by="claim")
    other = MemoryDocuments(WordEmbedder())
    await other.add([Document(id="other", text="The hall opened in 1930")])
    own = Guard(Noting(), "monitor", retrieve_by="claim")
    own.parts = replace(guard.parts, documents=other)
    report = await own.acheck(TALK)
    assert [one.label for one in report.findings] == [Label.LACKING_EVIDENCE, Label.VERIFIED]


async def test_a_stream_retrieves_by_claim_as_the_whole_turn_does() -> None:
    async def deltas() -> AsyncIterator[str]:
        for word in TALK.turns[0].text.split(" "):
            yield f"{word} "

    guard = Guard(Noting(), "monitor", documents=await store(), retrieve_by="claim", limits=Limits(retrieved=1))
    events = [one async for one in guard.gated(Conversation(turns=()), deltas(), gate="sentence")]
    report = events[-1]
    assert isinstance(report, TurnReport)
    assert report.unchecked == ()
    assert [one.label for one in report.findings] == [Label.VERIFIED, Label.LACKING_EVIDENCE]
    assert report.findings[1].reason == "1 passages"


class Kept:
    """A sink that keeps all texts."""

    record: Record = "full"

    def __init__(self) -> None:
        self.texts: list[TurnTexts] = []

    async def write(self, report: TurnReport) -> None: ...

    async def write_turn(self, report: TurnReport, texts: TurnTexts) -> None:
        self.texts.append(texts)


async def test_what_findings_quote_is_kept_with_the_turn() -> None:
    sink = Kept()
    documents = await named_store()
    await documents.add([Document(id="far", text="E dogs and ferries")])
    judge = FirstPassageJudge(Noting(), Scripted(), WordEmbedder())
    limits = Limits(retrieved=1)
    guard = Guard(judge, "monitor", documents=documents, retrieve_by="claim", sinks=[sink], limits=limits)
    said = "N is there and there and there. E dogs"
    await guard.acheck(Conversation(turns=(Turn(role=Role.ASSISTANT, text=said),)))
    assert [one.source_id for one in sink.texts[0].evidence] == ["n", "far"]
