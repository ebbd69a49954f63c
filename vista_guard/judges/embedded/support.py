"""Weighs pieces of evidence for and against a claim, by the verifier's probabilities and rules that outrank them.

Trust decides between sources: documents over persona and channel, these over knowledge, knowledge over earlier turns. Also builds
the verdict's quotes and source names.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from vista_guard.judges.contract import CONTRADICTED, SUPPORTED
from vista_guard.judges.embedded.english import cues
from vista_guard.judges.embedded.english.verbs import words_of
from vista_guard.judges.embedded.english.words import (
    ADVERBS,
    AUXILIARIES,
    DETERMINERS,
    PRONOUNS,
    STEM,
    any_of,
    is_auxiliary,
    is_past,
    word_stems,
)
from vista_guard.judges.embedded.evidence import EvidencePiece, same_statement
from vista_guard.judges.embedded.forms import clean
from vista_guard.judges.embedded.mentions.clauses import read
from vista_guard.judges.embedded.mentions.passage import sentence
from vista_guard.judges.embedded.opposites import bygone, opposite_word
from vista_guard.judges.embedded.quantities import missing_day
from vista_guard.judges.embedded.veto import (
    lacking,
    other_day,
    other_figure,
    other_limit,
    other_name,
    other_terms,
    replaced_figure,
    replaced_limit,
)
from vista_guard.reading.canonical import folded
from vista_guard.reading.passages import quote_of
from vista_guard.types import Check, Claim, Evidence, EvidenceSet, Label, Passage, SourceKind

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


Scored = tuple[EvidencePiece, float]
"""A piece, and a probability in [0, 1]."""
Judged = tuple[EvidencePiece, "NDArray[np.float32]"]
"""A piece, and the verifier's probabilities: supported, contradicted, not enough."""
MAX_EVIDENCE = 3
"""Most quotes of a check."""


def quotes(scored: Sequence[Scored]) -> tuple[Evidence, ...]:
    """The best quotes, one per passage: the first, which is the shortest sufficient one. Passages overlap, quotes do not."""
    first: dict[int, tuple[EvidencePiece, float]] = {}
    for piece, score in scored:
        first.setdefault(id(piece.origin), (piece, score))
    found: dict[tuple[object, ...], Evidence] = {}
    for piece, score in sorted(first.values(), key=lambda pair: -pair[1]):
        quote = quote_of(piece.quote, score)
        found.setdefault((quote.source, quote.source_id, quote.span, quote.quote), quote)
    return tuple(found.values())[:MAX_EVIDENCE]


def source_phrase(evidence: Evidence) -> str:
    """The evidence's source, as the beginning of a sentence."""
    if evidence.source is SourceKind.DOCUMENT:
        return f'The document "{evidence.name}"'
    if evidence.source is SourceKind.PERSONA:
        return "The persona"
    if evidence.source is SourceKind.CHANNEL:
        return "What is known of this chat"
    if evidence.source is SourceKind.HISTORY:
        return f"What was said before ({evidence.source_id})"
    return "What this conversation has established"


def shorten(quote: str, most: int = 200) -> str:
    """The quote in one line of at most `most` characters, cut between words."""
    line = " ".join(quote.split())
    return line if len(line) <= most else f"{line[: most - 1].rsplit(' ', 1)[0]}…"


NOWHERE = 0.97
"""Confidence of LACKING_EVIDENCE for a figure found nowhere: true of 5 of 926 claims of faithful MTRAG-UN answers (training
half), and of nearly all claims with a falsified figure."""
LEANING, OTHER_FIGURE = 0.5, 0.9
"""Minimum contradiction for a piece that says the same with another figure, and the confidence then: of 283 such training
pairs 258 are labelled contradicted, 3 supported."""
RENAMED = 0.3
"""The same for a piece that has all of the claim's words, but another name in the place of the claim's."""
_PARTS = re.compile(r"(?<=[.!?])\s+|\n")
_SEARCHED, _ONE_CLAIM = 30_000, 500
"""Most characters of evidence, and of a claim, to search for figures: all figures are compared pairwise."""


def support_score(piece: EvidencePiece, claim: Claim, row: NDArray[np.float32], needed: float) -> float:
    """The support of a piece in [0, 1]; almost 0 if it lacks a quantity, identifier or weekday of the claim, says the opposite
    in the same words, or puts it into the past.

    Args:
        piece: a piece that may support.
        claim: the claim.
        row: the verifier's probabilities.
        needed: minimum support that counts; below it the vetoes are skipped.
    """
    score = _support(piece, claim, float(row[SUPPORTED]))
    if score < needed:
        return score
    return 1 - NOWHERE if find_veto(folded(claim.text), piece.text) else score


def can_affect_verdict(piece: EvidencePiece, claim: Claim) -> bool:
    """True if the piece can change the verdict: not if it can only support, and lacks a figure of the claim."""
    return decides(piece.origin, claim) and (piece.refutes or lacking(folded(claim.text), piece.text) is None)


def decides(passage: Passage, claim: Claim) -> bool:
    """True if the passage may support or contradict the claim. A remembered opinion decides no fact, but its own words and
    what a speaker says of itself: "You should not bring your dog" does not contradict "You can bring your dog"."""
    if passage.label is not Label.OUT_OF_SCOPE:
        return True
    return about_itself(claim) or same_statement(passage.text, claim.text)


def find_veto(claim: str, evidence: str) -> str | None:
    """The part of the claim that its evidence lacks, contradicts or puts into the past; None if there is none."""
    return (
        lacking(claim, evidence)
        or other_terms(claim, evidence)
        or other_limit(claim, evidence)
        or missing_day(claim, evidence)
        or opposite_word(claim, evidence)
        or bygone(claim, evidence)
        or other_name(claim, evidence)
    )


def evidence_text(evidence: EvidenceSet) -> str | None:
    """All evidence text, to search for figures; None without documents, or if too long to search."""
    texts = [passage.text for passage in (*evidence.documents, *evidence.knowledge)]
    texts += [turn.text for turn in evidence.history]
    searched = evidence.documents and sum(map(len, texts)) <= _SEARCHED
    return folded("\n".join(texts)) if searched else None


def missing_everywhere(claim: str, known_text: str | None) -> str | None:
    """The claim's first quantity or identifier that is missing from `evidence_text` in every form; None for none."""
    if known_text is None or len(claim) > _ONE_CLAIM:
        return None
    missing = lacking(folded(claim), known_text)
    # Of few amounts one may be computed: "half of that".
    computed = missing and any(lacking(folded(claim), part) is None for part in _PARTS.split(known_text))
    return None if computed else missing


def about_itself(claim: Claim) -> bool:
    """True if the claim is about its speaker's own mind, life or ignorance, which no document supports or refutes."""
    return cues.abstains(claim.text) or cues.of_a_mind(claim.text) or cues.personal(claim.text)


def _support(piece: EvidencePiece, claim: Claim, score: float) -> float:
    """The verifier's score; 1 for a repeated known claim and for a document's own sentence; 0 for a user's words about
    anything but themselves."""
    if piece.framed is not None and not piece.framed.framed_like(read(clean(folded(claim.text)))):
        return 0.0
    if piece.origin.label is Label.OUT_OF_SCOPE and not about_itself(claim):
        return 1.0 if same_statement(piece.origin.text, claim.text) else 0.0
    if piece.origin.source in _OWN and same_statement(piece.text, claim.text):
        return 1.0
    if piece.origin.source is SourceKind.CHANNEL and not tells_of(claim.text, piece.origin.text):
        return 0.0
    if piece.origin.source is SourceKind.DOCUMENT and about_itself(claim):
        return 0.0
    # Long codes and rare names can mislead the verifier even about verbatim text.
    if piece.origin.source is SourceKind.DOCUMENT and _says(folded(piece.quote.text), folded(claim.text)):
        return 1.0
    if piece.origin.source is SourceKind.HISTORY and not tells_of_user(folded(claim.text)):
        return 0.0
    return score


_OF_USER = re.compile(r"(?i:the user)(?P<own>'s)? (?P<rest>.+)", re.DOTALL)
_GRANTED = re.compile(
    r"[\w' -]{0,60}?\b"
    + any_of(
        """can(?:not|'t)?, could, may, might, must, shall, should, will, won't, gets?, receives?,
        allowed, charged, eligible, entitled, granted, guaranteed, owed, promised, refunded"""
    )
    + r"\b"
)


def tells_of_user(claim: str) -> bool:
    """True if the claim is about the user's own life: its subject is the user or something of the user's, and it is nothing
    that a service grants.

    Examples:
        >>> tells_of_user("The user lives in Lyon."), tells_of_user("The user's dog is called Rex.")
        (True, True)
        >>> tells_of_user("The user portal is open at night."), tells_of_user("The user is entitled to a refund.")
        (False, False)
    """
    match = _OF_USER.match(claim)
    if match is None or _GRANTED.match(match["rest"]):
        return False
    words = words_of(match["rest"].lower())
    verb, *after = [word for word in words if word not in ADVERBS] or [""]
    if match["own"] or is_auxiliary(verb) or is_past(verb):
        return True
    # In "the user guides are open" and "the user guides describe it", the first word is a noun.
    is_noun = bool(after) and (is_auxiliary(after[0]) or cues.is_clear_base(after[0]))
    return verb.endswith("s") and cues.can_be_verb(verb) and not is_noun


def tells_of(claim: str, fact: str) -> bool:
    """True if the claim is about what a fact of the chat tells: it has most of the fact's words, or no others.

    The verifier takes "there is a button to make an appointment" for "you can make an appointment by phone", and what is said
    of the chat must verify nothing else.

    Example:
        >>> fact = "There is a button below the chat to make an appointment."
        >>> tells_of("You can book an appointment with the button below the chat.", fact)
        True
        >>> tells_of("You can make an appointment by phone.", fact)
        False
    """
    said, told = (word_stems(text) - _ADDRESS for text in (claim, fact))
    return said <= told or len(said & told) >= MOST * len(told)


MOST = 0.6
"""Least share of a chat fact's words in a claim that it verifies or contradicts, unless the claim has no others."""
_ADDRESS = frozenset(word[:STEM] for word in (*AUXILIARIES, *PRONOUNS, *DETERMINERS, "user", "assistant", "s"))
_OWN = (SourceKind.KNOWLEDGE, SourceKind.PERSONA, SourceKind.CHANNEL)


def _says(sentence: str, claim: str) -> bool:
    """True if the sentence is the claim, or begins with it and the claim only mentions something.

    "Some say so, others disagree" has "Some say so". A plain "It is free, except on Sundays" does not have "It is free".
    """
    first, comma, _ = sentence.partition(",")
    begins = bool(comma) and same_statement(first, claim)
    return same_statement(sentence, claim) or (begins and bool(read(clean(claim)).regions))


def refutation(piece: EvidencePiece, claim: Claim, row: NDArray[np.float32]) -> float:
    """Probability that a piece contradicts the claim; for a denying piece, that the claim says what it denies.

    A remembered opinion contradicts no fact. A piece that says the same with another figure, day or name needs only a leaning
    of the verifier (`LEANING`); a table's cell with another figure, whose row and column the claim names, not even that.
    """
    if not decides(piece.origin, claim):
        return 0.0
    if piece.origin.source is SourceKind.CHANNEL and not tells_of(claim.text, piece.origin.text):
        return 0.0
    if piece.denies:
        return float(row[SUPPORTED])
    score = float(row[CONTRADICTED])
    if piece.cell and replaced_figure(folded(claim.text), folded(piece.cell)):
        return max(score, OTHER_FIGURE)
    claim_text, known = folded(claim.text), folded(piece.quote.text)
    if not RENAMED <= score < OTHER_FIGURE or read(clean(claim_text)).denied:
        return score
    if other_name(claim_text, known, shared=1.0):
        return OTHER_FIGURE
    if score < LEANING:
        return score
    replaced = any(other(claim_text, known) for other in (other_figure, replaced_limit, other_day, other_name))
    return OTHER_FIGURE if replaced else score


DISPUTED = 0.8
"""Minimum probability of contradiction for one document to dispute another's support: nine of ten are right."""
_RANK = {
    SourceKind.DOCUMENT: 3,
    SourceKind.PERSONA: 2,
    SourceKind.CHANNEL: 2,
    SourceKind.KNOWLEDGE: 1,
    SourceKind.HISTORY: 0,
}


def outranking(
    claim: Claim, support: Sequence[tuple[EvidencePiece, float]], against: Sequence[tuple[EvidencePiece, float]]
) -> list[tuple[EvidencePiece, float]]:
    """The contradiction that outweighs a claim's support: of higher trust, or of equal trust from another document.

    A document with the claim's own words is not disputed: an apparent contradiction elsewhere is then more often a verifier
    error than a real conflict.
    """
    if not support or not against:
        return []
    best = max(_RANK[piece.origin.source] for piece, _ in support)
    higher = [pair for pair in against if _RANK[pair[0].origin.source] > best]
    if higher or best < _RANK[SourceKind.DOCUMENT]:
        return higher
    told = [piece for piece, _ in support if piece.origin.source is SourceKind.DOCUMENT]
    if any(same_statement(piece.quote.text, claim.text) for piece in told):
        return []
    return [pair for pair in _of_other_documents(against, told) if pair[1] >= DISPUTED]


def _of_other_documents(against: Sequence[Scored], told: Sequence[EvidencePiece]) -> list[Scored]:
    """The contradictions of documents that are not among those that support."""
    sources = {piece.origin.source_id for piece in told}
    return [
        (piece, score)
        for piece, score in against
        if piece.origin.source is SourceKind.DOCUMENT and piece.origin.source_id not in sources
    ]


def denied_statement(claim: Claim) -> Claim | None:
    """The statement that a claim denies, as a claim; None if it denies nothing."""
    reading = read(clean(folded(claim.text)))
    inner = reading.denied or reading.doubted or reading.missed
    return claim.model_copy(update={"text": sentence(inner.rstrip(" .!"))}) if inner else None


def type_text(check: Check) -> str:
    """The text for the claim-type head: of a denial, the denied statement; "nothing confirms it" may itself be an abstention."""
    denies = check.counter_evidence or read(clean(folded(check.claim.text))).denied
    inner = denied_statement(check.claim) if denies else None
    return folded((inner or check.claim).text)


def invert(check: Check, inner: Check | None) -> Check:
    """The check of a denial, from that of the denied statement: supported if evidence refutes it, and the other way round.

    A document with the claim's own frame decides; "nearly happened" claims need one.
    """
    if inner is None:
        return check
    reading = read(clean(folded(check.claim.text)))
    if any(read(clean(folded(piece.quote))).framed_like(reading) for piece in check.evidence):
        return check
    if inner.supported:
        return Check(
            claim=check.claim,
            supported=False,
            confidence=inner.confidence,
            counter_evidence=inner.evidence,
            support=1 - inner.confidence,
        )
    if inner.finding is None and inner.counter_evidence and (reading.denied or reading.doubted):
        surest = inner.counter_evidence[0].score
        return Check(
            claim=check.claim, supported=True, confidence=surest, evidence=inner.counter_evidence, support=surest
        )
    return check


@dataclass(frozen=True)
class ClaimPieces:
    """The pieces read for one claim: `support` of those that may support, `against` of those that contradict."""

    judged: Sequence[Judged]
    needed: float
    """Minimum support that confirms the claim."""
    support: Sequence[Scored]
    against: Sequence[Scored]

    @property
    def pieces(self) -> list[EvidencePiece]:
        """The pieces."""
        return [piece for piece, _ in self.judged]

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

        Wider windows share so many words with a denied claim that they seem to confirm it.
        """
        denied = any(piece.origin.source is SourceKind.DOCUMENT for piece, _ in self.against)
        return not self.found and not denied

    @property
    def disputing(self) -> list[Scored]:
        """The contradictions of other documents, if one document confirms the claim."""
        told = [piece for piece, _ in self.found if piece.origin.source is SourceKind.DOCUMENT]
        return _of_other_documents(self.against, told) if told else []

    def decisive(self, contradicted: float) -> list[Judged]:
        """The piece that speaks most for the claim, and one that speaks more against it, if by `contradicted` at least."""
        for_it = [row for row in self.judged if row[0].supports]
        others = {id(piece) for piece, _ in self.disputing}
        against = [row for row in self.judged if (id(row[0]) in others if others else row[0].refutes)]
        best = [max(for_it, key=lambda row: float(row[1][SUPPORTED]))] if for_it else []
        counts = [(row, float(row[1][SUPPORTED if row[0].denies else CONTRADICTED])) for row in against]
        worst = [max(counts, key=lambda pair: pair[1])] if counts else []
        said = [row for row, score in worst if not best or score >= contradicted]
        return best + [row for row in said if all(row[0] is not piece for piece, _ in best)]

    def to_read(self, contradicted: float) -> list[tuple[list[Judged], list[EvidencePiece]]]:
        """The decisive pieces and the pieces whose passages are read with them; where documents disagree, each with its own."""
        decisive = self.decisive(contradicted)
        if not self.disputing:
            return [(decisive, self.pieces)]
        return [
            ([row], [piece for piece in self.pieces if piece.origin.source_id == row[0].origin.source_id])
            for row in decisive
        ]

    def read_again(self, both: ClaimPieces) -> ClaimPieces:
        """As both readers weigh the decisive pieces; where they find nothing, a sure contradiction of the quick reader stands.

        Below `OTHER_FIGURE` half of those are wrong (41 claims of the development sets).
        """
        sure = [pair for pair in self.against if pair[1] >= OTHER_FIGURE]
        return both if both.found or both.against else replace(both, against=sure)

    def with_(self, more: ClaimPieces) -> ClaimPieces:
        """These pieces and more."""
        return ClaimPieces(
            [*self.judged, *more.judged],
            self.needed,
            [*self.support, *more.support],
            [*self.against, *more.against],
        )


def contradictions(claim: Claim, weighed: ClaimPieces) -> list[Scored]:
    """Evidence against a claim that outranks its support; no documents for claims about the speaker itself."""
    outranked = outranking(claim, weighed.found, weighed.against)
    against = outranked if weighed.found else weighed.against
    is_personal = about_itself(claim)
    return [pair for pair in against if not (is_personal and pair[0].origin.source is SourceKind.DOCUMENT)]
