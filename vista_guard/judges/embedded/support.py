"""Weighs pieces of evidence for and against a claim, by the verifier's probabilities and rules that outrank them.

Trust decides between sources: documents over the persona, the persona over knowledge, knowledge over what was merely said. The
quotes of the verdict and their names are made here too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vista_guard.judges.embedded.english import cues
from vista_guard.judges.embedded.evidence import EvidencePiece, same_statement
from vista_guard.judges.embedded.forms import clean
from vista_guard.judges.embedded.mentions.clauses import read
from vista_guard.judges.embedded.mentions.passage import sentence
from vista_guard.judges.embedded.models import CONTRADICTED_COLUMN, SUPPORTED_COLUMN
from vista_guard.judges.embedded.opposites import bygone, opposite_word
from vista_guard.judges.embedded.quantities import missing_day
from vista_guard.judges.embedded.veto import instead, lacking, other_figure, other_limit, other_terms
from vista_guard.reading.canonical import folded
from vista_guard.types import Check, Claim, Evidence, EvidenceSet, Label, Passage, SourceKind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


MAX_EVIDENCE = 3
"""Quotes that a check carries, at most."""


def quotes(scored: Sequence[tuple[EvidencePiece, float]]) -> tuple[Evidence, ...]:
    """The best quotes, one of each passage: the first, which is the tightest, of those that suffice."""
    first: dict[int, tuple[EvidencePiece, float]] = {}
    for piece, score in scored:
        first.setdefault(id(piece.origin), (piece, score))
    best = sorted(first.values(), key=lambda pair: -pair[1])[:MAX_EVIDENCE]
    return tuple(_quote(piece.quote, score) for piece, score in best)


def _quote(passage: Passage, score: float) -> Evidence:
    return Evidence(
        source=passage.source,
        source_id=passage.source_id,
        quote=passage.text,
        title=passage.title,
        span=passage.span,
        score=score,
    )


def source_phrase(evidence: Evidence) -> str:
    """Where the evidence comes from, as the beginning of a sentence."""
    if evidence.source is SourceKind.DOCUMENT:
        return f'The document "{evidence.title or evidence.source_id}"'
    if evidence.source is SourceKind.PERSONA:
        return "The persona"
    if evidence.source is SourceKind.HISTORY:
        return f"What was said before ({evidence.source_id})"
    return "What this conversation has established"


def short(quote: str, most: int = 200) -> str:
    """The quote in one line of at most `most` characters, cut between words."""
    line = " ".join(quote.split())
    return line if len(line) <= most else f"{line[: most - 1].rsplit(' ', 1)[0]}…"


NOWHERE = 0.97
"""How surely a claim lacks evidence whose figure stands nowhere: it is 5 of 926 claims of faithful MTRAG-UN answers
(training half), and nearly all claims whose figure was made false."""
LEANING, OTHER_FIGURE = 0.5, 0.9
"""Where the verifier leans to a contradiction by a piece that says the same with another figure, and how sure that is: of
283 such training pairs 258 are labelled contradicted, 3 supported."""
_SEARCHED, _ONE_CLAIM = 30_000, 500
"""Most characters of evidence and of a claim that are searched for figures: each figure of one is held to each of the other."""


def support_score(piece: EvidencePiece, claim: Claim, row: NDArray[np.float32], needed: float) -> float:
    """The support of a piece in [0, 1]; next to none by a piece that has a quantity, an identifier or a weekday of the claim in
    no form, says the opposite in the same words, or says that it held once.

    Args:
        piece: may support.
        claim: what it is held to.
        row: the verifier's answer.
        needed: the support from which it counts; below it nothing need be looked up.
    """
    score = _support(piece, claim, float(row[SUPPORTED_COLUMN]))
    if score < needed:
        return score
    said = read(clean(folded(claim.text)))
    only_told = said.is_told and not read(piece.text).framed_like(said)
    return 1 - NOWHERE if only_told or _find_veto(folded(claim.text), piece.text) else score


def can_affect_verdict(piece: EvidencePiece, claim: str) -> bool:
    """True if judging the piece can change the verdict: not if it can only support, and lacks a figure of the claim."""
    return piece.refutes or lacking(claim, piece.text) is None


def _find_veto(claim: str, evidence: str) -> str | None:
    """The part of the claim that its evidence lacks, contradicts or puts into the past; None if there is none."""
    return (
        lacking(claim, evidence)
        or other_terms(claim, evidence)
        or other_limit(claim, evidence)
        or missing_day(claim, evidence)
        or opposite_word(claim, evidence)
        or bygone(claim, evidence)
    )


def evidence_text(evidence: EvidenceSet) -> str | None:
    """Every text that a claim's figures may stand in; None where there is no document, or more text than is quickly searched."""
    texts = [passage.text for passage in (*evidence.documents, *evidence.knowledge)]
    texts += [turn.text for turn in evidence.history]
    searched = evidence.documents and sum(map(len, texts)) <= _SEARCHED
    return folded("\n".join(texts)) if searched else None


def missing_everywhere(claim: str, said: str | None) -> str | None:
    """The first quantity or identifier of a claim that stands in no form in `evidence_text`; None for none."""
    return lacking(folded(claim), said) if said is not None and len(claim) <= _ONE_CLAIM else None


def about_itself(claim: Claim) -> bool:
    """True if the claim is a speaker's own mind, life or not-knowing, which no document supports or refutes."""
    return cues.abstains(claim.text) or cues.of_a_mind(claim.text) or cues.personal(claim.text)


def _support(piece: EvidencePiece, claim: Claim, score: float) -> float:
    """The verifier's score; 1 for a known claim said again and for a document's own sentence; 0 for what a user says about
    anything but themselves."""
    if piece.framed is not None and not piece.framed.framed_like(read(clean(folded(claim.text)))):
        return 0.0
    if piece.origin.label is Label.OUT_OF_SCOPE and not about_itself(claim):
        return 1.0 if same_statement(piece.origin.text, claim.text) else 0.0
    if piece.origin.source in (SourceKind.KNOWLEDGE, SourceKind.PERSONA) and same_statement(piece.text, claim.text):
        return 1.0
    if piece.origin.source is SourceKind.DOCUMENT and about_itself(claim):
        return 0.0
    # Long codes and rare names can mislead the verifier even about what stands there word for word.
    if piece.origin.source is SourceKind.DOCUMENT and _says(folded(piece.quote.text), folded(claim.text)):
        return 1.0
    if piece.origin.source is SourceKind.HISTORY and "the user" not in claim.text.lower():
        return 0.0
    return score


def _says(sentence: str, claim: str) -> bool:
    """True if the sentence is the claim, or begins with it where the claim only mentions something.

    "Some say so, others disagree" has "Some say so". A plain "It is free, except on Sundays" does not have "It is free".
    """
    first, comma, _ = sentence.partition(",")
    begins = bool(comma) and same_statement(first, claim)
    return same_statement(sentence, claim) or (begins and bool(read(clean(claim)).regions))


def refutation(piece: EvidencePiece, claim: Claim, row: NDArray[np.float32]) -> float:
    """How far a piece speaks against the claim: one that denies what it quotes does so where the quote supports it.

    One that says the same with another figure needs no more than the verifier's leaning; a table's cell with another figure than
    the claim, which names its row and column, not even that.
    """
    if piece.denies:
        return float(row[SUPPORTED_COLUMN])
    score = float(row[CONTRADICTED_COLUMN])
    if piece.cell and instead(folded(claim.text), folded(piece.cell)):
        return max(score, OTHER_FIGURE)
    if not LEANING <= score < OTHER_FIGURE:
        return score
    said, known = folded(claim.text), folded(piece.quote.text)
    return OTHER_FIGURE if other_figure(said, known) or other_limit(said, known) else score


DISPUTED = 0.97
"""Least probability of contradiction by which one document disputes what another one supports."""
_RANK = {SourceKind.DOCUMENT: 3, SourceKind.PERSONA: 2, SourceKind.KNOWLEDGE: 1, SourceKind.HISTORY: 0}


def outranking(
    claim: Claim, support: Sequence[tuple[EvidencePiece, float]], against: Sequence[tuple[EvidencePiece, float]]
) -> list[tuple[EvidencePiece, float]]:
    """The contradiction that outweighs a claim's support: of higher trust, or of equal trust from another document.

    A document that says the claim in its own words is not disputed: that another sentence reads as its opposite is then more
    often the verifier's mistake than the documents' quarrel.
    """
    if not support or not against:
        return []
    best = max(_RANK[piece.origin.source] for piece, _ in support)
    higher = [pair for pair in against if _RANK[pair[0].origin.source] > best]
    if higher or best < _RANK[SourceKind.DOCUMENT]:
        return higher
    if any(same_statement(piece.quote.text, claim.text) for piece, _ in support):
        return []
    surest = max(score for _, score in support)
    sources = {piece.origin.source_id for piece, _ in support}
    documents = [pair for pair in against if pair[0].origin.source is SourceKind.DOCUMENT]
    return [
        (piece, score)
        for piece, score in documents
        if piece.origin.source_id not in sources and score >= max(DISPUTED, surest)
    ]


def denied_statement(claim: Claim) -> Claim | None:
    """The statement that a claim denies, as a claim; None where it denies nothing."""
    said = read(clean(folded(claim.text)))
    inner = said.denied or said.doubted or said.missed
    return claim.model_copy(update={"text": sentence(inner.rstrip(" .!"))}) if inner else None


def type_text(check: Check) -> str:
    """The words that tell a claim's type: of a denial what it denies. Who says that nothing confirms it may abstain by that."""
    denies = check.counter_evidence or read(clean(folded(check.claim.text))).denied
    inner = denied_statement(check.claim) if denies else None
    return folded((inner or check.claim).text)


def inverted(check: Check, inner: Check | None) -> Check:
    """The check of a claim that denies, by that of what it denies: supported where evidence refutes it, and the other way round.

    A document that says it in the claim's own frame is believed; what nearly happened needs one.
    """
    if inner is None:
        return check
    said = read(clean(folded(check.claim.text)))
    if any(read(clean(folded(piece.quote))).framed_like(said) for piece in check.evidence):
        return check
    if inner.supported:
        return Check(
            claim=check.claim,
            supported=False,
            confidence=inner.confidence,
            counter_evidence=inner.evidence,
            support=1 - inner.confidence,
        )
    if inner.finding is None and inner.counter_evidence and (said.denied or said.doubted):
        surest = inner.counter_evidence[0].score
        return Check(
            claim=check.claim, supported=True, confidence=surest, evidence=inner.counter_evidence, support=surest
        )
    return check


Scored = tuple[EvidencePiece, float]
"""A piece, and a probability in [0, 1]."""


@dataclass(frozen=True)
class Weighed:
    """The pieces that were read for one claim: `support` of each that may support, `against` of those that contradict it."""

    pieces: Sequence[EvidencePiece]
    needed: float
    """Least support that confirms the claim."""
    support: Sequence[Scored]
    against: Sequence[Scored]

    @property
    def best(self) -> float:
        """The greatest support, 0 without any."""
        return max((score for _, score in self.support), default=0.0)

    @property
    def found(self) -> list[Scored]:
        """The pieces that confirm the claim."""
        return [(piece, score) for piece, score in self.support if score >= self.needed]

    @property
    def is_open(self) -> bool:
        """True if no piece confirms the claim, and no sentence of a document denies it.

        What stands around another sentence shares so many words with a denied claim that it seems to say it.
        """
        denied = any(piece.origin.source is SourceKind.DOCUMENT for piece, _ in self.against)
        return not self.found and not denied

    def with_(self, more: Weighed) -> Weighed:
        """With the pieces that were read after these."""
        return Weighed(
            [*self.pieces, *more.pieces],
            self.needed,
            [*self.support, *more.support],
            [*self.against, *more.against],
        )


def contested(claim: Claim, read: Weighed) -> list[Scored]:
    """Evidence against a claim that outranks what confirms it. A document speaks of nobody's tastes."""
    outranked = outranking(claim, read.found, read.against)
    against = outranked if read.found else read.against
    own = about_itself(claim)
    return [one for one in against if not (own and one[0].origin.source is SourceKind.DOCUMENT)]
