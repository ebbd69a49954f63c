"""Falsifies one fact of a real answer, to measure whether falsified answers are caught.

Only sure edits: a value or a name that the passages hold becomes another one of its kind, preferably one that they tell of
something else; a word becomes its opposite; a plain statement is denied. The rest of the answer stays letter for letter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from random import Random

from vista_lab.oasis.rewriters.carrier import sentences
from vista_lab.oasis.rewriters.edits import EDITABLE, another
from vista_lab.oasis.rewriters.names import NameKinds
from vista_lab.oasis.rewriters.polarity import DUTIES, negate, plainly
from vista_lab.oasis.rewriters.text import a_or_an
from vista_lab.oasis.rewriters.values import NUMERIC, Value, like_numbers, magnitude, numeric_values, occurrences
from vista_lab.oasis.rewriters.wording import in_place, opposites

_NO_FACT = re.compile(
    r"\?$|\b(?:sorry|unfortunately|i do not|i don't|i cannot|i can't|let me know|information|documents?|passages?"
    r"|i am|i'm)\b",
    re.IGNORECASE,
)
_HEDGED = re.compile(
    r"\b(?:about|around|approximately|such as|e\.g|for example|like|or|up to|at least|more than|over|under"
    r"|including)\b[^.]{0,12}$"
)
_NAMES = ("name:person", "name:place", "name:demonym")


@lru_cache(maxsize=1)
def plain_names() -> NameKinds:
    """Kinds of names without any page's definitions: places and demonyms only."""
    return NameKinds(())


def falsify_one_fact(answer: str, passages: Sequence[str], seed: int) -> str | None:
    """The answer with one statement falsified under the passages; None if no edit is sure."""
    rng, told = Random(seed), "\n".join(passages)
    statements = [s for s in sentences(answer) if s in answer and len(s.split()) >= 5 and not _NO_FACT.search(s)]
    for maker in sorted(_RANK, key=lambda m: _RANK[m] + rng.random()):
        for sentence in rng.sample(statements, len(statements)):
            false = maker(sentence, told, rng)
            if false and false != sentence and false not in told:
                return answer.replace(sentence, false, 1)
    return None


def other_value(sentence: str, told: str, rng: Random) -> str | None:
    """Replaces a number, amount, date or time found in the passages."""
    known = (v for v in numeric_values(sentence) if v.kind in EDITABLE and occurrences(told, v.text))
    before = [(v, sentence[: v.start]) for v in known]
    candidates = [v for v, text in before if not _HEDGED.search(text) and not loosely_held(text, v.kind)]
    for own in rng.sample(candidates, len(candidates)):
        others = [v for v in numeric_values(told) if fits(own, v) and usable(v, sentence)]
        new = rng.choice(others).text if others and rng.random() < 0.6 else another(own, rng)
        if new and not occurrences(sentence, new) and not only_listed(sentence, own):
            return sentence[: own.start] + new + sentence[own.end :]
    return None


def usable(value: Value, sentence: str) -> bool:
    """True if a value of the passages is not in the sentence and is no bare digit of a list."""
    return not occurrences(sentence, value.text) and not re.fullmatch(r"[1-9]", value.text)


def only_listed(sentence: str, value: Value) -> bool:
    """True if the value is the number of a step or a list item."""
    return value.start < 2 or sentence[value.end : value.end + 1] == ")"


def other_name(sentence: str, told: str, rng: Random) -> str | None:
    """Replaces a place, person or nationality by another one of the passages."""
    kinds = plain_names()
    own = [v for v in kinds.names(sentence) if v.kind in _NAMES and occurrences(told, v.text) and v.start > 0]
    for name in rng.sample(own, len(own)):
        others = {v.text for v in kinds.names(told) if fits(name, v) and not occurrences(sentence, v.text)}
        if others and not _HEDGED.search(sentence[: name.start]):
            return a_or_an(sentence[: name.start] + rng.choice(sorted(others)) + sentence[name.end :])
    return None


def opposite(sentence: str, told: str, rng: Random) -> str | None:
    """Replaces a word found in the passages by its opposite."""
    words = [w for w in re.findall(r"[a-z-]+", sentence) if w in opposites() and occurrences(told, w)]
    once = [w for w in dict.fromkeys(words) if len(occurrences(sentence, w)) == 1 and in_place(sentence, w)]
    for word in rng.sample(once, len(once)):
        start, end = occurrences(sentence, word)[0]
        changed = sentence[:start] + opposites()[word][0] + sentence[end:]
        if not occurrences(sentence, opposites()[word][0]):
            return a_or_an(changed)
    return None


def other_duty(sentence: str, told: str, rng: Random) -> str | None:
    """Reverses a duty, permission or offer."""
    del told
    for pattern, new in rng.sample(DUTIES, len(DUTIES)):
        if len(re.findall(pattern, sentence)) == 1 and plainly(pattern, sentence):
            return re.sub(pattern, new, sentence)
    return None


def denial(sentence: str, told: str, rng: Random) -> str | None:
    """Negates a plain statement."""
    del told
    return negate(sentence, rng)


_RANK: Mapping[Callable[[str, str, Random], str | None], float] = {
    other_value: 0.0, other_name: 0.6, opposite: 0.5, other_duty: 0.7, denial: 1.2,
}  # fmt: skip
"""Lower ranks are tried first; ranks less than one apart may swap."""


_DATED = {"year", "date", "day", "month_year", "month", "time", "weekday"}


_BOUND = re.compile(
    r"\b(?:(?:less|more|fewer|greater|longer|later|earlier|higher|lower) than|over|under|at least|at most"
    r"|up to|above|below|nearly|almost"
    r"|maximum of|minimum of|as (?:many|much|few) as) $",
    re.IGNORECASE,
)


def loosely_held(before: str, kind: str) -> bool:
    """True if a bound stands before a value, so that another value may be true as well: "by 2015" goes with 2014 too."""
    dated = kind in _DATED and re.search(r"\b(?:by|until|since|before|after|till) $", before, re.IGNORECASE)
    return bool(dated or (kind in NUMERIC and _BOUND.search(before)))


def fits(own: Value, other: Value) -> bool:
    """True if both are of one kind, differ in wording, and are of similar size."""
    one, two = own.text.lower(), other.text.lower()
    if own.kind != other.kind or own.kind in {"name:other", "name:act"} or one in two or two in one:
        return False
    if own.kind == "ordinal" and own.text[0].isdigit() != other.text[0].isdigit():
        return False
    dated = own.kind in {"date", "day", "month_year", "time"}
    if magnitude(one) is not None and magnitude(one) == magnitude(two) and not dated:
        return False
    if own.kind == "measure":
        return own.text.split()[-1].rstrip("s") == other.text.split()[-1].rstrip("s")
    return own.kind not in {"number", "money", "percent"} or like_numbers(own.text, other.text)
