"""What a text gives as amounts: plain numbers, numbers with a unit, times of day, days of the year. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from vista_guard.judges.embedded.quantities.numbers import Number, numbers
from vista_guard.judges.embedded.quantities.units import SIGNS, UNITS

_MONTH_OF = {
    "january": 1, "february": 2, "march": 3, "april": 4, "may": 5, "june": 6, "july": 7, "august": 8, "september": 9,
    "october": 10, "november": 11, "december": 12, "jan": 1, "feb": 2, "mar": 3, "apr": 4, "jun": 6, "jul": 7, "aug": 8, "sep": 9,
    "sept": 9, "oct": 10, "nov": 11, "dec": 12,
}  # fmt: skip
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTH_OF, key=len, reverse=True))})"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_DATES = (
    re.compile(rf"\b{_DAY}(?: of)? {_MONTH}\b", re.IGNORECASE),
    re.compile(rf"\b{_MONTH}\.? (?:the )?{_DAY}\b(?![.:]?\d)", re.IGNORECASE),
    re.compile(r"\b(?P<year>\d{4})-(?P<number>\d{2})-(?P<day>\d{2})\b"),
)
_NUMERIC_DATE = re.compile(r"\b(?P<one>\d{1,2})(?P<mark>[./-])(?P<two>\d{1,2})(?P=mark)(?P<year>\d{4}|\d{2})\b")
_HALF = r"(?:am|pm|a\.m\.?|p\.m\.?)"
_CLOCK = re.compile(
    rf"\b(?P<hour>\d{{1,2}})(?:[:.h](?P<minute>[0-5]\d))\s?(?P<half>{_HALF})?(?![\w:%])"
    rf"|\b(?P<bare>\d{{1,2}})\s?(?P<bare_half>{_HALF})(?!\w)"
    r"|\b(?P<oclock>\w+) o'?clock(?:\s(?P<oclock_half>in the (?:morning|afternoon|evening)))?"
    r"|\b(?P<named>noon|midday|midnight)\b"
    r"|\b(?P<part>half|quarter) (?P<side>past|to) (?P<of>\w+)",
    re.IGNORECASE,
)
_UNIT = re.compile(
    r"(?:\s?[-–]?\s?(?:square |cubic |calendar |working |business |consecutive |full |whole )?)"
    r"(?P<unit>%|°\s?[CFcf]|[A-Za-zµ€$£¥¢][A-Za-z²/$]*)"
)
_RANGE = re.compile(r"\s?(?:-|–|—|to|and|or)\s?", re.IGNORECASE)
_AND_HALF = re.compile(r"\b(?:an?|one) (?P<unit>[a-z]+) and a (?P<part>half|quarter)\b", re.IGNORECASE)
_LONE = re.compile(r"\b(?:an?|per|each|every) (?P<unit>hour|minute|day|week|month|year|decade|century|fortnight)\b"
                   r"|\b(?P<every>hourly|daily|weekly|monthly|quarterly|yearly|annual|annually)\b", re.IGNORECASE)  # fmt: skip


@dataclass(frozen=True)
class Amount:
    """A number as it is meant. `dimension` is empty for one without a unit; `value` is in the dimension's base unit.

    Of times of day the value is in minutes, and of days of the year it is 100 times the month and the day.
    """

    start: int
    end: int
    dimension: str
    value: float
    number: Number | None = None
    sure: bool = True
    """Of a time of day: whether its half of the day is known."""


@lru_cache(maxsize=2048)
def amounts(text: str) -> tuple[Amount, ...]:
    """All amounts of a text, in no order. Places of times and dates hold no plain number."""
    fixed = [*_dates(text), *_clocks(text)]
    taken = bytearray(len(text))
    for one in fixed:
        taken[one.start : one.end] = b"\1" * (one.end - one.start)
    free = [number for number in numbers(text) if not any(taken[number.start : number.end])]
    return (*fixed, *_lone(text), *_sized(text, free))


def _dates(text: str) -> Iterator[Amount]:
    for pattern in _DATES:
        for match in pattern.finditer(text):
            found = match.groupdict()
            month = _MONTH_OF[found["month"].lower()] if found.get("month") else int(found["number"])
            yield Amount(match.start(), match.end(), "date", month * 100 + int(match["day"]))
            if found.get("year"):
                yield Amount(match.start(), match.end(), "", float(found["year"]))
    for match in _NUMERIC_DATE.finditer(text):
        one, two = int(match["one"]), int(match["two"])
        for month, day in ((one, two), (two, one)):
            if 1 <= month <= 12 and 1 <= day <= 31:
                yield Amount(
                    match.start(), match.end(), "date", month * 100 + day, sure=one == two or max(one, two) > 12
                )
        year = int(match["year"])
        yield Amount(match.start(), match.end(), "", float(year if year > 99 else 2000 + year))


def _clocks(text: str) -> Iterator[Amount]:
    for match in _CLOCK.finditer(text):
        found = _clock(match, text)
        if found is not None:
            yield found


def _clock(match: re.Match[str], text: str) -> Amount | None:
    start, end = match.span()
    if match["named"]:
        return Amount(start, end, "clock", 0 if match["named"].lower() == "midnight" else 720)
    if match["part"] or match["oclock"]:
        hour = next((number.value for number in numbers(match["of"] or match["oclock"])), None)
        if hour is None or hour > 24:
            return None
        by = {"half": 30, "quarter": 15}[match["part"].lower()] if match["part"] else 0
        sign = -1 if (match["side"] or "").lower() == "to" else 1
        return Amount(start, end, "clock", (hour * 60 + sign * by) % 1440, sure=False)
    half = (match["half"] or match["bare_half"] or "").lower()[:1]
    hour, minute = int(match["hour"] or match["bare"]), int(match["minute"] or 0)
    if hour > 24 or (half and hour > 12):
        return None
    # "7.30" is a time where the text speaks of times, and a price or a size elsewhere.
    if (
        not half
        and "." in match.group()
        and not re.search(r"\b(?:at|from|until|till|by|before|after|o'clock|opens?|closes?)\s$", text[:start])
    ):
        return None
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    return Amount(start, end, "clock", (hour * 60 + minute) % 1440, sure=bool(half) or hour > 12 or hour == 0)


def _lone(text: str) -> Iterator[Amount]:
    for match in _AND_HALF.finditer(text):
        unit = UNITS.get(match["unit"].lower())
        if unit:
            part = 1.5 if match["part"].lower() == "half" else 1.25
            yield Amount(match.start(), match.end(), unit[0], part * unit[1])
    for match in _LONE.finditer(text):
        unit = UNITS.get((match["unit"] or match["every"]).lower())
        if unit:
            # One that is only meant ("an hour") gives evidence its number and asks none of it: `sure` is False.
            yield Amount(match.start(), match.end(), unit[0], unit[1], sure=False)


def _sized(text: str, found: list[Number]) -> Iterator[Amount]:
    """Numbers with their unit, which both ends of a range share."""
    units = [_unit(text, number) for number in found]
    for index in range(len(found) - 1, 0, -1):
        between = text[found[index - 1].end : found[index].start]
        if units[index] and not units[index - 1] and _RANGE.fullmatch(between):
            units[index - 1] = units[index]
        elif (
            units[index - 1]
            and not units[index]
            and _RANGE.fullmatch(between)
            and text[found[index - 1].start - 1] in SIGNS
        ):
            units[index] = units[index - 1]
    for number, unit in zip(found, units, strict=True):
        dimension, factor = unit or ("", 1.0)
        yield Amount(number.start, number.end, dimension, number.value * factor, number)


def _unit(text: str, number: Number) -> tuple[str, float] | None:
    before = text[max(0, number.start - 1) : number.start]
    if before and before in SIGNS:
        return UNITS[before]
    behind = _UNIT.match(text, number.end)
    if behind is None or (number.kind == "ordinal"):
        return None
    name = behind["unit"].lower().replace(" ", "")
    if (
        name in ("s", "m", "h", "g", "l", "w", "p")
        and text[number.end : number.end + 1].isspace()
        and name in ("s", "p")
    ):
        return None
    if name == "m":
        return ("length", 1.0)
    return UNITS.get(name) or UNITS.get(name.split("/")[0])
