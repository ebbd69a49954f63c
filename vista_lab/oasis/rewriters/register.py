"""Changes register but not content: contractions, chat phrases, headlines, lower case."""

from __future__ import annotations

import re

_SHORT = (
    (r"\b(is|are|was|were|do|does|did|has|have|had|would|could|should) not\b", r"\1n't"),
    (r"\bwill not\b", "won't"),
    (r"\bcannot\b|\bcan not\b", "can't"),
    (r"\b([Ii]t|[Hh]e|[Ss]he|[Tt]here|[Tt]hat) is\b(?! n't)", r"\1's"),
    (r"\b([Tt]hey|[Ww]e|[Yy]ou) are\b", r"\1're"),
    (r"\b([Tt]hey|[Ww]e|[Yy]ou|[Ii]t|[Hh]e|[Ss]he|I) will\b", r"\1'll"),
    (r"\b([Tt]hey|[Ww]e|[Yy]ou|I) have (?=\w+(?:ed|en|ne)\b)", r"\1've "),
)


def contract(text: str) -> str:
    """The text with short forms: isn't, they're."""
    for pattern, short in _SHORT:
        text = re.sub(pattern, short, text)
    return text
