"""The colour, sign and word of each label and action, so that nothing relies on colour alone.

Alone because the lab writes pages with it that need no Streamlit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from vista_guard.types import UNCHECKED, Action, Label


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


def look(name: str) -> Look:
    """Returns the look of a label or action. An unknown one shows its own name."""
    return LOOKS.get(name) or Look("abstention", "·", name.lower())
