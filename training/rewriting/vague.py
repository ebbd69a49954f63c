"""Less exact wordings that a value makes true: decades, months, "nearly", "a bit over", "between"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random

from vista_lab.oasis.rewriters.forms import counts
from vista_lab.oasis.rewriters.values import MONTHS, Value, magnitude

_PREPOSITION = re.compile(r"\b(?:in|on|at|On|In) (?:the year (?:of )?)?$")


def vague_forms(value: Value, before: str, rng: Random) -> Iterator[tuple[str, bool]]:
    """(wording, whether it takes the preposition's place as well)."""
    if value.kind in {"year", "date", "month_year", "day"} and _PREPOSITION.search(before):
        year = re.search(r"\b(1[4-9]\d\d|20[012]\d)\b", value.text)
        if year:
            yield from date_forms(int(year.group()), value)
        month = next((m for m in MONTHS if m in value.text), "")
        if month and value.kind in {"date", "day"}:
            yield f"in {month}{' ' + year.group() if year else ''}", True
    elif value.kind in {"number", "percent", "measure", "money"} and not re.search(
        r"\b(?:over|than|about|least|most|nearly|a|the|an) $", before
    ):
        yield from around(value, rng)


def date_forms(year: int, value: Value) -> Iterator[tuple[str, bool]]:
    """in the 1960s, in the late 1960s, in the first half of the 20th century."""
    place = "early" if year % 10 <= 3 else "mid" if year % 10 <= 6 else "late"
    decade = f"{year // 10 * 10}s"
    yield f"in the {decade}", True
    if year % 10 not in {3, 4, 6, 7}:
        yield (f"in the mid-{decade}" if place == "mid" else f"in the {place} {decade}"), True
    if value.kind == "date":
        yield f"in {year}", True
    if year % 100 not in {0, 49, 50, 51}:
        century = year // 100 + 1
        half = "first" if year % 100 < 50 else "second"
        yield f"in the {half} half of the {century}{'st' if century == 21 else 'th'} century", True


def around(value: Value, rng: Random) -> Iterator[tuple[str, bool]]:
    """ "just over 4,500" for 4,512, "nearly 5,000" for 4,950; nothing for round numbers."""
    number = magnitude(value.text)
    least = 90 if value.kind == "measure" else 26
    if number is None or number < least or number != int(number) or re.search("illion|thousand", value.text):
        return
    unit = re.sub(r"^\W*\d+(?:,\d{3})*", "", value.text)
    sign = (re.match(r"(?:US)?[$£€]", value.text) or [""])[0]
    step = 10 ** max(1, len(str(int(number))) - 2)
    low, high = int(number // step * step), int(-(-number // step) * step)
    if low == high:
        return
    spelt = rng.random() < 0.3 and not sign
    shown = {n: counts(str(n))[-1] if spelt else f"{n:,}" for n in (low, high)}
    if number - low <= 0.4 * step:
        yield rng.choice([f"just over {sign}{shown[low]}{unit}", f"a little more than {sign}{shown[low]}{unit}"]), False
    elif high - number <= 0.4 * step:
        yield rng.choice([f"nearly {sign}{shown[high]}{unit}", f"just under {sign}{shown[high]}{unit}"]), False
    yield f"between {sign}{shown[low]} and {sign}{shown[high]}{unit}", False
