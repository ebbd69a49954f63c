"""How sentences that were judged together are let through: one decision for each that claims something. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from vista_guard.types import Outcome


@dataclass(frozen=True)
class Unit:
    """Sentences that one decision lets through: `end` is the first one's, which it is made for, `last` the last one's."""

    end: int
    last: int


def units(ends: Sequence[int], start: int, outcomes: Sequence[Outcome], most: int) -> Iterator[Unit]:
    """The units of the sentences that end at `ends`.

    Sentences without a claim of their own say nothing that the one before them was not asked about, so they go out together.
    Those behind `most` claims are one unit: what they claim is not judged, and asking the policy about each would take the
    square of their number.

    Args:
        ends: of the sentences, in order.
        start: where the first of them begins.
        outcomes: of the turn so far.
        most: claims of a turn that are judged.
    """
    spans = sorted((one.claim.span for one in outcomes if one.claim.span), key=lambda span: span.start)
    starts = [span.start for span in spans]
    reach = list(accumulate((span.end for span in spans), max))
    silent: list[int] = []
    for number, end in enumerate(ends):
        if len(spans) > most and starts[most] < end:
            yield from _together(silent)
            yield Unit(ends[-1], ends[-1])
            return
        before = bisect_left(starts, end)
        if before and reach[before - 1] > (ends[number - 1] if number else start):
            yield from _together(silent)
            yield Unit(end, end)
            silent = []
        else:
            silent.append(end)
    yield from _together(silent)


def _together(silent: Sequence[int]) -> Iterator[Unit]:
    if silent:
        yield Unit(silent[0], silent[-1])
