"""Evidence that says of a claim's words all but the figure, and another figure in its place. Pure.

"The collection holds 412 clocks" against "The collection holds only 90 clocks": what a verifier hesitates about can
be read off the two.
"""

from __future__ import annotations

from vista_guard.judges.embedded.quantities.amounts import Amount, amounts
from vista_guard.judges.embedded.quantities.veto import lacking
from vista_guard.judges.embedded.relevance import words

_IDLE = frozenset({"only", "just", "exactly", "also", "still", "now"})


def other_figure(claim: str, evidence: str) -> bool:
    """Whether the evidence has every content word of the claim, lacks a figure of it, and has one of the same kind instead.

    Args:
        claim: folded.
        evidence: one sentence: of two figures it must be plain which stands in the claim's place.
    """
    missing = lacking(claim, evidence)
    if missing is None:
        return False
    place = claim.find(missing)
    kinds = {_kind(amount) for amount in amounts(claim) if amount.start <= place < amount.end}
    given = [amount for amount in amounts(evidence) if _kind(amount) in kinds]
    if len(given) != 1:
        return False
    stems = {word[:5] for word in words(evidence)}
    rest = words(claim[:place] + " " + claim[place + len(missing) :]) - _IDLE
    return bool(rest) and all(word[:5] in stems for word in rest if not word[0].isdigit())


def _kind(amount: Amount) -> str:
    """A year is no number of men."""
    is_year = not amount.dimension and amount.value in range(1000, 2101)
    return "year" if is_year else amount.dimension
