"""Less to read, for a model that cannot read all: knowledge goes first, then document passages, the least relevant first.

What the claims are about decides what is relevant, by shared words. The report says what was left out.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from vista_guard.errors import ContextTooLongError
from vista_guard.judges.metering import meter
from vista_guard.reading.passages import nearest_passages
from vista_guard.types import EvidenceSet, Turn

T = TypeVar("T")


async def trimmed(
    ask: Callable[[EvidenceSet, Sequence[Turn]], Awaitable[T]],
    model: str,
    query: str,
    evidence: EvidenceSet,
    history: Sequence[Turn],
) -> T:
    """Asks with all of it; while the model says that this is too long, with half of what may go next.

    Raises:
        ContextTooLongError: even the claim with one passage is too long.
    """
    seen, kept = evidence, tuple(history)
    while True:
        try:
            answer = await ask(seen, kept)
        except ContextTooLongError:
            less = _less(query, seen, kept)
            if less is None:
                raise
            seen, kept = less
            continue
        left_out = _left_out(evidence, seen, history, kept)
        if left_out:
            meter().warn(f"{model} cannot read the whole prompt; judged without {left_out}")
        return answer


def _less(query: str, seen: EvidenceSet, kept: tuple[Turn, ...]) -> tuple[EvidenceSet, tuple[Turn, ...]] | None:
    """Half of the first kind that there is still something of: knowledge, history (its oldest turns), documents."""
    if seen.knowledge:
        known = nearest_passages(query, seen.knowledge, len(seen.knowledge) // 2)
        return seen.model_copy(update={"knowledge": known}), kept
    if seen.history or kept:
        turns = seen.history[(len(seen.history) + 1) // 2 :]
        return seen.model_copy(update={"history": turns}), kept[(len(kept) + 1) // 2 :]
    if len(seen.documents) > 1:
        passages = nearest_passages(query, seen.documents, len(seen.documents) // 2)
        return seen.model_copy(update={"documents": passages}), kept
    return None


def _left_out(whole: EvidenceSet, seen: EvidenceSet, history: Sequence[Turn], kept: Sequence[Turn]) -> str:
    counts = (
        (len(whole.knowledge) - len(seen.knowledge), "known claims"),
        (max(len(whole.history) - len(seen.history), len(history) - len(kept)), "earlier turns"),
        (len(whole.documents) - len(seen.documents), "document passages"),
    )
    return ", ".join(f"{count} {name}" for count, name in counts if count)
