"""What the pieces of evidence that were read say for a claim, and what against it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vista_guard.judges.embedded.relevance import Piece
from vista_guard.types import SourceKind

Scored = tuple[Piece, float]
"""A piece, and a probability in [0, 1]."""


@dataclass(frozen=True)
class Weighed:
    """The pieces that were read for one claim: `support` of each that may support, `against` of those that contradict it."""

    pieces: Sequence[Piece]
    needed: float
    """Least support that confirms the claim."""
    support: Sequence[Scored]
    against: Sequence[Scored]

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
        """Whether no piece confirms the claim, and no sentence of a document denies it.

        What stands around another sentence shares so many words with a denied claim that it seems to say it.
        """
        denied = any(piece.origin.source is SourceKind.DOCUMENT for piece, _ in self.against)
        return not self.found and not denied

    def with_(self, more: Weighed) -> Weighed:
        """With the pieces that were read after these."""
        return Weighed(
            [*self.pieces, *more.pieces],
            self.needed,
            [*self.support, *more.support],
            [*self.against, *more.against],
        )
