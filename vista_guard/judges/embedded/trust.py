"""Whose word counts more: documents over the persona, the persona over knowledge, knowledge over what was merely said."""

from __future__ import annotations

from collections.abc import Sequence

from vista_guard.judges.embedded.relevance import Piece, same_statement
from vista_guard.types import Claim, SourceKind

DISPUTED = 0.97
"""Least probability of contradiction by which one document disputes what another one supports."""
_RANK = {SourceKind.DOCUMENT: 3, SourceKind.PERSONA: 2, SourceKind.KNOWLEDGE: 1, SourceKind.HISTORY: 0}


def outranking(
    claim: Claim, support: Sequence[tuple[Piece, float]], against: Sequence[tuple[Piece, float]]
) -> list[tuple[Piece, float]]:
    """What speaks against a supported claim and counts for more than its support, or for as much and comes from another document.

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
