"""Retrieved passages: their place in the report, the nearest one, and the query."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from vista_guard import Conversation, Guard, Label, Role, Turn
from vista_guard.judges.composed.ensemble import fingerprint
from vista_guard.stores.memory import MemoryDocuments
from vista_guard.testing import WordEmbedder
from vista_guard.types import (
    Check,
    Claim,
    Document,
    Evidence,
    EvidenceSet,
    Finding,
    JudgeInfo,
    Nearest,
    Passage,
    RetrieveBy,
    SourceKind,
    Span,
    TurnReport,
)

FILLER = "".join(f"Rule {n}: keep the path clear of boats and nets. " for n in range(40))
FEES = Document(
    id="fees", title="Fees", text=f"# Fees\n\n{FILLER}\n\n## Children\n\nEntry costs five euros at the gate."
)
PIER = Document(id="pier", title="Pier", text="The pier opened in 1911 for the ferry.")
BIKE = Document(id="bike", text="Bikes are lent out on Sundays by the porter.")


class Quoting:
    """Supports what a document says word for word, and quotes it."""

    info = JudgeInfo(name="quoting", version="1")

    def __init__(self) -> None:
        self.seen: list[tuple[Passage, ...]] = []

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        return [Claim(id=f"c{n}", text=f"{text}.") for n, text in enumerate(turn.text.rstrip(".").split(". "))]

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check]:
        self.seen.append(evidence.documents)
        return [self._check(claim, evidence.documents) for claim in claims]

    def _check(self, claim: Claim, passages: Sequence[Passage]) -> Check:
        for one in (one for one in passages if claim.text in one.text):
            start = (one.span.start if one.span else 0) + one.text.index(claim.text)
            span = Span(start=start, end=start + len(claim.text))
            quote = Evidence(source=one.source, source_id=one.source_id, quote=claim.text, span=span, score=1.0)
            return Check(claim=claim, supported=True, confidence=1.0, evidence=(quote,))
        return Check(claim=claim, supported=False, confidence=0.9)

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding]:
        return [
            Finding(claim=check.claim, label=Label.LACKING_EVIDENCE, confidence=0.9, reason="not said")
            for check in checks
        ]


async def report(text: str, by: RetrieveBy = "turn", **limits: int) -> tuple[TurnReport, Quoting]:
    documents = MemoryDocuments(WordEmbedder(4096))
    await documents.add([FEES, PIER, BIKE])
    judge = Quoting()
    limited = Guard.from_settings(judge=judge, policy="monitor", store="memory", limits=limits).parts.limits
    guard = Guard(judge, "monitor", documents=documents, retrieve_by=by, limits=limited)
    said = Conversation(turns=(Turn(role=Role.USER, text="Tell me."), Turn(role=Role.ASSISTANT, text=text)))
    return await guard.acheck(said), judge


@pytest.mark.parametrize("by", ["turn", "claim", "both"])
async def test_a_quote_says_under_which_headings_it_stands_and_what_found_it(by: RetrieveBy) -> None:
    made, _ = await report("Entry costs five euros at the gate. The pier opened in 1911 for the ferry.", by)
    fees, pier = (finding.evidence[0] for finding in made.findings)
    assert (fees.headings, pier.headings) == (("# Fees", "## Children"), ())
    for quote in (fees, pier):
        assert quote.found
        assert quote.found.by == ("vectors", "words")
        assert quote.found.cosine
        assert quote.found.bm25
    assert TurnReport.model_validate_json(made.model_dump_json()).findings == made.findings
    assert made.schema_version == "1.7"


async def test_a_claim_that_lacks_evidence_says_what_came_nearest() -> None:
    made, _ = await report("The pier opened in 1925 for the ferry. Violins need rosin.")
    near, nothing = made.findings
    assert near.nearest == Nearest(
        source=SourceKind.DOCUMENT,
        source_id="pier",
        title="Pier",
        quote=PIER.text,
        span=near.nearest.span if near.nearest else None,
        found=near.nearest.found if near.nearest else None,
        overlap=near.nearest.overlap if near.nearest else 0,
    )
    assert near.nearest.found
    assert 0.4 < near.nearest.overlap < 1
    assert nothing.nearest is None


async def test_both_holds_a_claim_against_the_passages_of_the_turn_too() -> None:
    text = "Bikes are lent out on Sundays by the porter. The pier opened in 1911 for the ferry."
    for by, counts in (("turn", {1}), ("claim", {1}), ("both", {1, 2})):
        _, judge = await report(text, by, retrieved=1)  # type: ignore[arg-type]
        assert {len(passages) for passages in judge.seen} == counts


async def test_neighbours_come_along_where_they_are_wanted() -> None:
    alone, _ = await report("Entry costs five euros at the gate.", retrieved=1)
    _, judge = await report("Entry costs five euros at the gate.", retrieved=1, neighbours=1)
    (seen,) = judge.seen
    assert [one.found and one.found.by[-1] for one in seen] == ["words", "neighbour"]
    assert alone.findings[0].label is Label.VERIFIED


async def test_how_evidence_was_found_is_no_part_of_the_question_to_a_judge() -> None:
    documents = MemoryDocuments(WordEmbedder(4096))
    await documents.add([PIER, BIKE])
    found, again = await documents.search("the pier opened", 1), await documents.search("ferry", 1)
    assert found[0].found != again[0].found
    assert (found, hash(found[0])) == (again, hash(again[0]))
    first, second = (EvidenceSet(documents=tuple(some)) for some in (found, again))
    assert fingerprint(first) == fingerprint(second)
    quote = Evidence(source=SourceKind.DOCUMENT, source_id="pier", quote="1911", score=1.0)
    check = Check(claim=Claim(id="c", text="x"), supported=False, confidence=1.0, evidence=(quote,))
    placed = quote.model_copy(update={"found": found[0].found, "headings": ("# A",)})
    assert fingerprint(check) == fingerprint(check.model_copy(update={"evidence": (placed,)}))
