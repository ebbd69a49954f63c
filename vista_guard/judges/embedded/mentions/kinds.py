"""How a statement can stand in a text without being stated, and where."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from vista_guard.judges.embedded.english.verbs import has_verb
from vista_guard.judges.embedded.english.words import word_set

_WORD = re.compile(r"\w+")
_LIKELY_VERB = re.compile(r"\S+ (?:\S+ ){1,9}?[a-z]+(?:[^s\W]s|ed) (?:\d+|the|an?|at|in|on|by|to|from|for|with|as)\b")
_NO_HOLDER = word_set(
    """the a an it is was were are be been being has have had that this which who some many most few people one others by of
    in to and or
    also as so says said say claims claimed believed think thinks thought"""
)


class Kind(StrEnum):
    """Why a statement is not stated."""

    ASKED = "asked"
    REPORTED = "reported"
    DENIED = "denied"
    SUPPOSED = "supposed"
    FICTION = "fiction"
    PLANNED = "planned"
    NEARLY = "nearly"


@dataclass(frozen=True)
class Region:
    """Characters `start` to `end` of a sentence, which it mentions. `holder`: words of who says or thinks so."""

    start: int
    end: int
    kind: Kind
    holder: frozenset[str] = frozenset()
    denies: bool = False
    """Whether the sentence says that it is false, nobody in between."""


@dataclass(frozen=True)
class SentenceReading:
    """A sentence, read: what it states, what it mentions and how, and what it says is false."""

    said: str
    stated: str
    regions: tuple[Region, ...] = ()
    denied: str = ""

    @property
    def is_rule(self) -> bool:
        """Whether it states what follows from a condition, and mentions nothing but the condition."""
        return bool(self.stated) and all(
            one.kind is Kind.SUPPOSED and self.said[one.start :][:3].lower() == "if " for one in self.regions
        )

    def framed_like(self, claim: SentenceReading) -> bool:
        """Whether the claim is put in the same kind of frame as this sentence, and in the same mouth."""
        return any(
            ours.kind is theirs.kind and (not theirs.holder or not ours.holder or ours.holder & theirs.holder)
            for ours in self.regions
            for theirs in claim.regions
        )


def is_clause(text: str) -> bool:
    """Whether a verb stands behind a subject: one that is known, or a word that looks like one ("weighs 2 kilograms")."""
    return has_verb(text) or _LIKELY_VERB.match(text.strip("\"'“” ")) is not None


def holder(text: str) -> frozenset[str]:
    """Content words of who says something: what stands before the verb."""
    found = [word for word in _WORD.findall(text.lower()) if word not in _NO_HOLDER]
    return frozenset(found)
