"""Finds the words that a model quotes in the texts it quotes them from. Pure.

A model's quote is evidence only where it can be found: white space, letter case and typographic quotes may differ.
"""

from __future__ import annotations

import re

from vista_guard.types import Evidence, EvidenceSet, Passage, SourceKind, Span

LEAST = 4
"""Fewest characters of a quote that are looked for: shorter ones stand everywhere."""
_SAME = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "\u00a0": " "})


def place(quote: str, text: str) -> Span | None:
    """Where `text` holds the quote, by the offsets of `text`; None where it does not."""
    words = quote.translate(_SAME).strip().strip("\"'").strip(".…").split()
    if sum(map(len, words)) < LEAST:
        return None
    pattern = r"\s+".join(re.escape(word) for word in words)
    # Translation keeps every character at its place: one for one.
    found = re.search(pattern, text.translate(_SAME), re.IGNORECASE)
    return Span(start=found.start(), end=found.end()) if found else None


def quoted(quote: str | None, evidence: EvidenceSet) -> tuple[Evidence, ...]:
    """The piece of evidence that holds the quote, as it reads there; nothing when none does."""
    if not quote:
        return ()
    for passage in (*evidence.documents, *evidence.knowledge, *_said(evidence)):
        span = place(quote, passage.text)
        if span is not None:
            return (_evidence(passage, span),)
    return ()


def _evidence(passage: Passage, found: Span) -> Evidence:
    start = passage.span.start if passage.span else 0
    return Evidence(
        source=passage.source,
        source_id=passage.source_id,
        quote=passage.text[found.start : found.end],
        title=passage.title,
        span=Span(start=start + found.start, end=start + found.end),
        score=1.0,
    )


def _said(evidence: EvidenceSet) -> list[Passage]:
    return [
        Passage(source=SourceKind.HISTORY, source_id=f"t{index}", text=turn.text)
        for index, turn in enumerate(evidence.history)
    ]
