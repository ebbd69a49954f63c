"""The quotes that a verdict rests on, and how they are named in its reason."""

from __future__ import annotations

from collections.abc import Sequence

from vista_guard.judges.embedded.relevance import Piece
from vista_guard.types import Evidence, Passage, SourceKind

MAX_EVIDENCE = 3
"""Quotes that a check carries, at most."""


def quotes(scored: Sequence[tuple[Piece, float]]) -> tuple[Evidence, ...]:
    """The best quotes, one of each passage: the first, which is the tightest, of those that suffice."""
    first: dict[int, tuple[Piece, float]] = {}
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


def named(evidence: Evidence) -> str:
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
