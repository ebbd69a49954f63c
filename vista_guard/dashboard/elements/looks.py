"""The colour, sign and word of each label and action, so that nothing relies on colour alone.

Alone because the lab writes pages with it that need no Streamlit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vista_guard.types import UNCHECKED, Action, FailedPart, Label


@dataclass(frozen=True)
class Look:
    """`tone` is a class of the style sheets, `word` the text for readers."""

    tone: str
    sign: str
    word: str


LOOKS: Final[dict[str, Look]] = {
    Label.VERIFIED: Look("verified", "✓", "verified"),
    Label.OUT_OF_SCOPE: Look("scope", "○", "out of scope"),
    Label.CONTRADICTED: Look("contradicted", "✗", "contradicted"),
    Label.LACKING_EVIDENCE: Look("lacking", "?", "lacking evidence"),
    Label.ABSTENTION: Look("abstention", "–", "abstention"),
    UNCHECKED: Look("unchecked", "!", "unchecked"),
    Action.ALLOW: Look("verified", "→", "allowed"),
    Action.FLAG: Look("lacking", "⚑", "flagged"),
    Action.REPAIR: Look("scope", "↻", "repaired"),
    Action.BLOCK: Look("contradicted", "■", "blocked"),
}


FAILURES: Final[dict[tuple[str, str], str]] = {
    ("upstream", "connect"): "upstream could not be reached",
    ("upstream", "timeout"): "upstream was too slow",
    ("upstream", "status"): "upstream answered with an error",
    ("upstream", "stream"): "upstream closed the stream early, or could not be read",
    ("judge", "judge"): "the judge failed",
    ("judge", "timeout"): "the judge was too slow",
    ("judge", "unreadable"): "the judge's answer could not be read",
    ("judge", "limit"): "the turn was over a limit",
    ("judge", "budget"): "the judge's budget was spent",
    ("store", "read"): "evidence could not be read",
    ("store", "write"): "knowledge was not stored",
    ("store", "reports"): "reports waited for their database",
}
"""Kinds of failures (`types.PartFailure`), in words."""

SCORE: Final = (
    "VISTA score: the share of a turn's judged claims that are verified, out of scope or an abstention; 1 is best"
)

PARTS: Final[tuple[FailedPart, ...]] = ("upstream", "judge", "store")


def failure_words(part: str, kind: str) -> str:
    """Says what broke. An unknown kind shows its own name."""
    return FAILURES.get((part, kind)) or f"{part}: {kind}"


def look(name: str) -> Look:
    """Returns the look of a label or action. An unknown one shows its own name."""
    return LOOKS.get(name) or Look("abstention", "·", name.lower())
