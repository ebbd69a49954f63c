"""One quad, many ways to say its two claims: plain, in other words, denied, corrected, bounded from above or below."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from random import Random

from training.rewriting.group import Quad
from training.rewriting.mention import framed_quad, question
from training.rewriting.vague import vague_forms
from training.rewriting.voice import change_voice
from vista_lab.oasis.rewriters import polarity
from vista_lab.oasis.rewriters.forms import counts, other_form
from vista_lab.oasis.rewriters.text import a_or_an
from vista_lab.oasis.rewriters.values import Value, magnitude, numeric_values, occurrences

_AMOUNTS = frozenset({"number", "money", "percent", "measure"})
Rewriter = Callable[[Quad, Random], Quad | None]


def value_in(claim: str, text: str) -> Value | None:
    """The value of a quad's claim as a span of it."""
    spans = occurrences(claim, text)
    kind = next((v.kind for v in numeric_values(text) if v.text == text), "name")
    return Value(kind, text, *spans[0]) if len(spans) == 1 else None


def denied_pair(claim: str, twin: str, rng: Random) -> tuple[str, str] | None:
    """(denial of the false twin, which is true; denial of the claim, which is false)."""
    state = rng.getstate()
    true = polarity.negate(twin, rng)
    rng.setstate(state)
    false = polarity.negate(claim, rng)
    return (true, false) if true and false else None


def denied(quad: Quad, rng: Random) -> Quad | None:
    """Both claims denied: a false claim denied is true, a true one false."""
    pair = denied_pair(quad.claim, quad.twin, rng)
    return replace(quad, kind=f"{quad.kind}_denied", claim=pair[0], twin=pair[1]) if pair else None


def corrected(quad: Quad, rng: Random) -> Quad | None:
    """ "a, not b" against "b, not a"."""
    value = value_in(quad.claim, quad.values[0])
    pair = polarity.correct(quad.claim, value, quad.values[1], rng) if value else None
    if not pair:
        return None
    return replace(quad, kind=f"{quad.kind}_corrected", claim=a_or_an(pair[0]), twin=a_or_an(pair[1]))


def reworded(quad: Quad, rng: Random) -> Quad | None:
    """Both values in another form than in the evidence."""
    own, other = value_in(quad.claim, quad.values[0]), value_in(quad.twin, quad.values[1])
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
    own, other = value_in(quad.claim, quad.values[0]), value_in(quad.twin, quad.values[1])
    if not own or not other or own.kind not in _AMOUNTS or not countable(quad.claim, own):
        return None
    a, b = magnitude(own.text), magnitude(other.text)
    bound = between(a, b) if a and b else None
    if bound is None or not a or not b:
        return None
    figure = shown_like(own.text, bound, rng)
    pairs = [("more than", "fewer than"), ("over", "under"), ("at least", "less than"), ("upwards of", "below")]
    more, fewer = rng.choice(pairs)
    if own.kind != "number" and fewer == "fewer than":
        fewer = "less than"
    first, second = (more, fewer) if a > b else (fewer, more)
    head, tail = quad.claim[: own.start], quad.claim[own.end :]
    head = re.sub(r"\b(?:about|around|roughly|approximately|over) $", "", head)
    claims = f"{head}{first} {figure}{tail}", f"{head}{second} {figure}{tail}"
    return replace(quad, kind=f"{quad.kind}_bounded", claim=claims[0], twin=claims[1])


_COUNTED = re.compile(
    r"\b(?:has|have|had|of|with|for|won|sold|contains?|includes?|including|received|earned|costs?"
    r"|at|employs?|released|made|published"
    r"|wrote|spans?|covers?|lasted|lasts?|runs?|took|takes|grossed|over|are|were|there (?:are"
    r"|were)|scored|played|holds?|serves?|seats?"
    r"|offers?|charges?|pays?|paid|raised|served|comprises?|comprised|about|around|roughly"
    r"|approximately) $",
    re.IGNORECASE,
)
_MEASURED_AT = re.compile(
    r"\b(?:aged?|number|level|version|season|chapter|at least|at most|in|up to|or|between|from) $", re.IGNORECASE
)


def countable(claim: str, value: Value) -> bool:
    """True if "more than" may stand before the value."""
    head = claim[: value.start]
    ranged = re.match(r"-| (?:or|and|to) (?:more|less|\d)", claim[value.end :])
    return bool(_COUNTED.search(head)) and not _MEASURED_AT.search(head) and not ranged


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
    """A number formatted like the value, with its sign and unit."""
    unit = re.sub(r"^\W*(?:\d+(?:,\d{3})*(?:\.\d+)?|[a-z]+)(?: (?:thousand|million|billion))?", "", text)
    sign = (re.match(r"(?:US)?[$£€]", text) or [""])[0]
    plain_unit = not sign and (not unit or unit[0] == " ")
    spelt = rng.choice([f"{number:,}", f"{number:,}", counts(str(number))[-1]]) if plain_unit else f"{number:,}"
    return f"{sign}{spelt}{unit}"


def loosened(quad: Quad, rng: Random) -> Quad | None:
    """Both values in less exact wordings, each of which fits only its own value."""
    own, other = value_in(quad.claim, quad.values[0]), value_in(quad.twin, quad.values[1])
    if not own or not other or re.search(r"\b(?:alive|still|active|existed|living)\b", quad.claim):
        return None
    if own.kind in _AMOUNTS and not countable(quad.claim, own):
        return None
    state = rng.getstate()
    first = list(vague_forms(own, quad.claim[: own.start], rng))
    rng.setstate(state)
    second = list(vague_forms(other, quad.twin[: other.start], rng))
    shapes = {shape(f): (f, s) for f in first for s in second if shape(f) == shape(s) and f != s}
    if not shapes:
        return None
    (one, whole), (two, _) = shapes[rng.choice(sorted(shapes))]
    claims = placed(quad.claim, own, one, whole), placed(quad.twin, other, two, whole)
    return replace(quad, kind=f"{quad.kind}_loose", claim=claims[0], twin=claims[1])


def shape(form: tuple[str, bool]) -> str:
    """The kind of wording: the words without the figures."""
    if re.search(r"over|more|nearly|under", form[0]):
        return "age"
    return re.sub(r"[\d,]+|early|late|mid|first|second|th|st", "", form[0])[:9]


def placed(claim: str, value: Value, new: str, whole: bool) -> str:
    """The claim with the wording in place of the value, or of the value and its preposition."""
    head = claim[: value.start]
    if whole:
        head = re.sub(r"\b(?:in|on|at|On|In) (?:the year (?:of )?)?$", "", head)
    tail = re.sub(r"^,(?= [a-z])", "", claim[value.end :])
    return head + (new if head else new[:1].upper() + new[1:]) + tail


def asked(quad: Quad, rng: Random) -> Quad | None:
    """The claims as questions with their answers, yes or no."""
    questions = [question(c) for c in (quad.claim, quad.twin)]
    if None in questions:
        return None
    one, two = questions if rng.random() < 0.5 else questions[::-1]
    yes, no = ["Yes.", "Yes, that's right.", "Yes, it says so."], ["No.", "No, that's not right."]
    answer = rng.choice(yes if one == questions[0] else no)
    return replace(quad, kind=f"{quad.kind}_asked", claim=f"{one}? {answer}", twin=f"{two}? {answer}")


SWAP_STYLES: tuple[tuple[Rewriter, float], ...] = (
    (lambda quad, _: quad, 0.35),
    (reworded, 0.5),
    (denied, 0.25),
    (corrected, 0.25),
    (bounded, 0.7),
    (loosened, 0.5),
    (framed_quad, 0.25),
    (change_voice, 0.9),
    (asked, 0.12),
)
EDIT_STYLES: tuple[tuple[Rewriter, float], ...] = ((reworded, 0.8), (bounded, 0.7), (loosened, 0.7))


def restyle(quad: Quad, rng: Random, styles: Sequence[tuple[Rewriter, float]] = SWAP_STYLES) -> list[Quad]:
    """The quad in randomly drawn styles."""
    return [q for style, chance in styles if rng.random() < chance and (q := style(quad, rng)) and q.claim != q.twin]
