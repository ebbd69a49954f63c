"""One quad, many ways to say its two claims: plain, in other words, denied, corrected, bounded from above or below."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from random import Random

from training.rewriters import polarity
from training.rewriters.forms import counts, other_form
from training.rewriters.group import Quad
from training.rewriters.text import a_or_an
from training.rewriters.values import Value, magnitude, numeric_values, occurrences

Rewriter = Callable[[Quad, Random], Quad | None]


def value_in(claim: str, text: str, quad: Quad) -> Value | None:
    """The value of a quad's claim as a span of it."""
    spans = occurrences(claim, text)
    kind = next((v.kind for v in numeric_values(text) if v.text == text), "name")
    del quad
    return Value(kind, text, *spans[0]) if len(spans) == 1 else None


def plain(quad: Quad, rng: Random) -> Quad:
    """As it is."""
    del rng
    return quad


def denied(quad: Quad, rng: Random) -> Quad | None:
    """What is false denied is true; what is true denied is false."""
    pair = polarity.denied_pair(quad.claim, quad.twin, rng)
    return replace(quad, kind=f"{quad.kind}_denied", claim=pair[0], twin=pair[1]) if pair else None


def corrected(quad: Quad, rng: Random) -> Quad | None:
    """ "a, not b" against "b, not a"."""
    value = value_in(quad.claim, quad.values[0], quad)
    pair = polarity.corrected(quad.claim, value, quad.values[1], rng) if value else None
    if not pair:
        return None
    return replace(quad, kind=f"{quad.kind}_corrected", claim=a_or_an(pair[0]), twin=a_or_an(pair[1]))


def reworded(quad: Quad, rng: Random) -> Quad | None:
    """Both values in another form than the evidence has them."""
    own, other = value_in(quad.claim, quad.values[0], quad), value_in(quad.twin, quad.values[1], quad)
    if not own or not other:
        return None
    state = rng.getstate()
    first = other_form(own, rng)
    rng.setstate(state)
    second = other_form(other, rng)
    if not first or not second:
        return None
    claims = put(quad.claim, own, first), put(quad.twin, other, second)
    return replace(quad, kind=f"{quad.kind}_reworded", claim=claims[0], twin=claims[1])


def put(text: str, value: Value, new: str) -> str:
    """The text with the value in its new form, articles and "on the" repaired."""
    before, after = text[: value.start], text[value.end :]
    if re.match(r"(?:a|an|half|about|roughly|the) ", new) and re.search(r"\b(?:the|a|an|its|his|her|their) $", before):
        before = re.sub(r"\b(?:the|a|an) $", "", before)
    if not before:
        new = new[:1].upper() + new[1:]
    return before + new + after


def bounded(quad: Quad, rng: Random) -> Quad | None:
    """ "more than x" or "fewer than x" with an x between the two values, or "at least" with one of them."""
    own, other = value_in(quad.claim, quad.values[0], quad), value_in(quad.twin, quad.values[1], quad)
    if not own or not other or own.kind not in {"number", "money", "percent", "measure"}:
        return None
    if re.search(r"\b(?:over|under|than|least|most|about|nearly|almost|around|approximately|exactly|only|up to|(?:No|no)\.?|the|number|age|#|ranked|part"
                 r"|chapter|season|figure|page|episode|channel) $", quad.claim[: own.start]):  # fmt: skip
        return None
    a, b = magnitude(own.text), magnitude(other.text)
    bound = between(a, b) if a and b else None
    if bound is None or not a or not b:
        return None
    shown = shown_like(own.text, bound, rng)
    more, fewer = rng.choice(
        [("more than", "fewer than"), ("over", "under"), ("at least", "less than"), ("upwards of", "below")]
    )
    if own.kind != "number" and fewer == "fewer than":
        fewer = "less than"
    first, second = (more, fewer) if a > b else (fewer, more)
    head, tail = quad.claim[: own.start], quad.claim[own.end :]
    claims = f"{head}{first} {shown}{tail}", f"{head}{second} {shown}{tail}"
    return replace(quad, kind=f"{quad.kind}_bounded", claim=claims[0], twin=claims[1])


def between(a: float, b: float) -> int | None:
    """A round number strictly between two amounts."""
    low, high = sorted((a, b))
    middle = (low + high) / 2
    for digits in (1, 2, 3):
        candidate = float(f"{middle:.{digits - 1}e}")
        if low < candidate < high and candidate == int(candidate) and candidate > 1:
            return int(candidate)
    return None


def shown_like(text: str, number: int, rng: Random) -> str:
    """A number in the value's clothes: sign, unit and all."""
    unit = re.sub(r"^\W*(?:\d+(?:,\d{3})*(?:\.\d+)?|[a-z]+)(?: (?:thousand|million|billion))?", "", text)
    sign = (re.match(r"(?:US)?[$£€]", text) or [""])[0]
    spelt = rng.choice([f"{number:,}", f"{number:,}", counts(str(number))[-1]]) if not sign else f"{number:,}"
    return f"{sign}{spelt}{unit}"


VALUE_STYLES: tuple[tuple[Rewriter, float], ...] = (
    (plain, 0.3),
    (reworded, 0.3),
    (denied, 0.2),
    (corrected, 0.2),
    (bounded, 0.3),
)


def restyled(quad: Quad, rng: Random, share: float = 1.0) -> list[Quad]:
    """Some of the quad's other wordings, always at least one."""
    found = [q for style, chance in VALUE_STYLES if rng.random() < chance * share and (q := style(quad, rng))]
    return found or [quad]
