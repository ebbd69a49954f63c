"""Penn Treebank text as people write it."""

from __future__ import annotations

import re

_BRACKETS = {
    "-LRB-": "(",
    "-RRB-": ")",
    "-LSB-": "[",
    "-RSB-": "]",
    "-LCB-": "{",
    "-RCB-": "}",
    "``": '"',
    "''": '"',
    "--": "–",
}


def clean(text: str) -> str:
    """Undo Penn Treebank brackets, quotes and spacing."""
    for old, new in _BRACKETS.items():
        text = text.replace(old, new)
    text = re.sub(r"\s+([,.;:!?%)\]'])", r"\1", text)
    text = re.sub(r"([(\[$])\s+", r"\1", text)
    return re.sub(r"\s+", " ", text).strip()
