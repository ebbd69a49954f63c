"""A value of a claim changed in the evidence, too, as a quad."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from training.pairs import Carrier
from training.rewriting.group import Quad
from training.rewriting.register import replace_words
from vista_lab.oasis.rewriters.edits import EDITABLE, another
from vista_lab.oasis.rewriters.falsify import loosely_held
from vista_lab.oasis.rewriters.values import (
    Value,
    numeric_values,
    occurrences,
)


def value_edits(carrier: Carrier, rng: Random) -> Iterator[Quad]:
    """At most one quad per claim: its value, and a plausible replacement."""
    values = [v for v in numeric_values(carrier.claim) if v.kind in EDITABLE and occurrences(carrier.text, v.text)]
    unique = [v for v in values if len(occurrences(carrier.claim, v.text)) == 1 and not bound_anywhere(carrier, v)]
    for own in rng.sample(unique, min(1, len(unique))):
        other = another(own, rng)
        if other and not occurrences(carrier.text, other) and not occurrences(carrier.claim, other):
            edited = tuple(replace_words(s, own.text, other) for s in carrier.evidence)
            twin = carrier.claim[: own.start] + other + carrier.claim[own.end :]
            yield Quad("form", carrier.evidence, edited, carrier.claim, twin, values=(own.text, other))


def bound_anywhere(carrier: Carrier, value: Value) -> bool:
    """True if the value is only a bound in the claim or in the evidence."""
    texts = (carrier.claim, carrier.text)
    return any(loosely_held(text[:start], value.kind) for text in texts for start, _ in occurrences(text, value.text))
