"""Baselines that understand nothing: always one label, and the share of words that a claim has in common with its documents."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vista_guard.evaluation.systems.verdicts import labelled, whole_turn
from vista_guard.judges.composed import calls
from vista_guard.judges.embedded.english.grammar.lexicon import FUNCTION_WORDS, PREPOSITIONS
from vista_guard.judges.embedded.english.words import AUXILIARIES, DETERMINERS, PRONOUNS
from vista_guard.types import Check, Claim, EvidenceSet, Finding, JudgeInfo, Label, Turn, Unchecked

THRESHOLD = 0.5
"""Half of the words: chosen before anything was measured, and fitted on nothing."""

_WORD = re.compile(r"\w+(?:[.,]\d+|'\w+)*")
_NO_CONTENT = AUXILIARIES | DETERMINERS | FUNCTION_WORDS | PREPOSITIONS | PRONOUNS


class Majority:
    """Implements `Judge`: gives every claim the same label. A turn that brings no claims is one claim."""

    def __init__(self, label: Label) -> None:
        self._label = label
        self.info = JudgeInfo(name="majority", version=str(label))

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """The turn itself."""
        return whole_turn(turn, history)

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check]:
        """The label."""
        return [labelled(claim, self._label, f"{self._label} is the most frequent label") for claim in claims]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """What `verify` said."""
        return [calls.finding(check) for check in checks]


class Overlap:
    """Implements `Judge`: a claim is VERIFIED when at least `threshold` of its content words stand in the documents.

    A turn that brings no claims is one claim. Function words of English count for nothing; words are compared as they are
    written, without regard to case. A claim of function words alone has nothing that documents could lack.
    """

    def __init__(self, threshold: float = THRESHOLD) -> None:
        self._threshold = threshold
        self.info = JudgeInfo(name="overlap", version=f"threshold {threshold:g}")

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """The turn itself."""
        return whole_turn(turn, history)

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check]:
        """By the words of the turn's documents, and no others."""
        known = {word for passage in evidence.documents for word in words(f"{passage.title or ''} {passage.text}")}
        return [self._check(claim, share(claim.text, known)) for claim in claims]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """What `verify` said."""
        return [calls.finding(check) for check in checks]

    def _check(self, claim: Claim, found: float) -> Check:
        label = Label.VERIFIED if found >= self._threshold else Label.LACKING_EVIDENCE
        reason = f"{found:.0%} of its words are in the documents, and {self._threshold:.0%} must be"
        return labelled(claim, label, reason)


def words(text: str) -> set[str]:
    """The content words of a text, in lower case."""
    found = _WORD.findall(text.casefold().replace("’", "'"))
    return {word.removesuffix("'s") for word in found} - _NO_CONTENT


def share(claim: str, known: set[str]) -> float:
    """How many of the claim's content words are known, in [0, 1]; 1 when it has none."""
    asked = words(claim)
    return len(asked & known) / len(asked) if asked else 1.0
