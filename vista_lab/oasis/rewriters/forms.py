"""The same value in other words: digits and words, dates, times, durations, amounts; None where no other form is sure."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from num2words import num2words  # type: ignore[import-untyped]

from vista_lab.oasis.rewriters.values import MONTHS, Value, magnitude

_DATE = re.compile(
    rf"(?:(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?({'|'.join(MONTHS)})|({'|'.join(MONTHS)}) (\d{{1,2}})(?:st|nd|rd"
    rf"|th)?),?(?: (\d{{4}}))?"
)
_TIME = re.compile(r"(\d{1,2})(?:[:.](\d\d))? ?([ap])?\.?(m)?\.?$", re.IGNORECASE)
_HOURS = ("twelve", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven")
_SYMBOLS = {"$": "dollars", "£": "pounds", "€": "euros"}


def other_form(value: Value, rng: Random) -> str | None:
    """An equivalent way to write the value; None if there is none."""
    writer = _WRITERS.get(value.kind)
    forms = [f for f in (writer(value.text) if writer else []) if f.lower() != value.text.lower()]
    return rng.choice(forms) if forms else None


def dates(text: str) -> list[str]:
    """3 March 1925, March 3, 1925, March 3rd, 1925, the 3rd of March 1925, 1925-03-03."""
    match = _DATE.fullmatch(text)
    if not match:
        return []
    day, month = int(match[1] or match[4]), match[2] or match[3]
    year = match[5]
    nth, tail = ordinal(day), f" {year}" if year else ""
    comma = f", {year}" if year else ""
    forms = [f"{day} {month}{tail}", f"{month} {day}{comma}", f"{month} {nth}{comma}", f"the {nth} of {month}{tail}"]
    forms.append(f"{month[:3]} {day}{comma}")
    if year:
        forms.append(f"{year}-{MONTHS.index(month) + 1:02}-{day:02}")
    return [f for f in forms if f.replace(",", "") != text.replace(",", "")]


def ordinal(number: int) -> str:
    """1 -> 1st."""
    return str(num2words(number, to="ordinal_num"))


def times(text: str) -> list[str]:
    """7:30 pm, 7.30 p.m., 19:30, half past seven in the evening."""
    match = _TIME.fullmatch(text.strip())
    if not match or not (match[2] or match[3]):
        return []
    hour, minute, half = int(match[1]), match[2] or "00", (match[3] or "").lower()
    if hour > 24 or (half and not 1 <= hour <= 12):
        return []
    hour = hour % 12 + (12 if half == "p" else 0) if half else hour % 24
    return clock(hour, minute)


def clock(hour: int, minute: str) -> list[str]:
    """Ways to tell one time of the day."""
    twelve, half = hour % 12 or 12, "p" if hour >= 12 else "a"
    part = "in the morning" if hour < 12 else "in the afternoon" if hour < 18 else "in the evening"
    spoken = {
        "00": f"{_HOURS[hour % 12]} o'clock {part}",
        "30": f"half past {_HOURS[hour % 12]} {part}",
        "15": f"a quarter past {_HOURS[hour % 12]} {part}",
        "45": f"a quarter to {_HOURS[(hour + 1) % 12]} {part}",
    }
    short = f"{twelve}" if minute == "00" else f"{twelve}:{minute}"
    forms = [f"{hour}:{minute}", f"{short} {half}.m.", f"{short}{half}m", f"{twelve}.{minute} {half}.m."]
    noon = {(0, "00"): ["midnight"], (12, "00"): ["noon"]}.get((hour, minute), [])
    return [*forms, *noon] + ([spoken[minute]] if minute in spoken and not noon else [])


def counts(text: str) -> list[str]:
    """12, twelve, a dozen; 4,500, 4500, four thousand five hundred."""
    number = magnitude(text)
    if number is None or re.search("thousand|million|billion", text):
        return large(text, number)
    if number != int(number):
        return []
    whole = int(number)
    forms = [str(whole)] if whole < 1000 else [f"{whole:,}", str(whole)]
    if whole <= 100 or (whole % 100 == 0 and whole < 1_000_000):
        forms.append(str(num2words(whole)).replace(",", "").replace(" and ", " "))
    dozens = {12: "a dozen", 24: "two dozen"}
    return forms + ([dozens[whole]] if whole in dozens else []) + large(text, number)


def large(text: str, number: float | None) -> list[str]:
    """4.5 million <-> 4,500,000."""
    if number is None or number < 1_000_000:
        return []
    if "million" in text.lower() or "billion" in text.lower():
        return [f"{round(number):,}"]
    short = f"{number / 1e6:.4g} million"
    return [short] if float(f"{number / 1e6:.4g}") * 1e6 == number else []


def percents(text: str) -> list[str]:
    """25%, 25 percent, a quarter."""
    number = magnitude(text)
    if number is None:
        return []
    plain = f"{number:g}"
    words = [str(num2words(int(number))) + " percent"] if number == int(number) and number <= 100 else []
    return [f"{plain}%", f"{plain} percent", f"{plain} per cent", *words]


def amounts(text: str) -> list[str]:
    """$45, 45 dollars, forty-five dollars."""
    symbol, number = re.match(r"(?:US)?([$£€])", text), magnitude(text)
    if number is None:
        return []
    spelt = text.split()[-1]
    unit = _SYMBOLS[symbol[1]] if symbol else {"GBP": "pounds", "EUR": "euros", "USD": "dollars"}.get(spelt, spelt)
    if unit not in _SYMBOLS.values():
        return []
    sign = next(s for s, u in _SYMBOLS.items() if u == unit)
    digits = f"{number:,.2f}".removesuffix(".00")
    scale = re.search(r"(\d[\d.,]*) (thousand|million|billion|trillion)", text)
    forms = [f"{sign}{digits}", f"{digits} {unit}"]
    if scale:
        forms += [f"{sign}{scale[1]} {scale[2]}", f"{scale[1]} {scale[2]} {unit}"]
    if number == int(number) and (number <= 100 or (number % 100 == 0 and number < 100_000)):
        forms.append(f"{str(num2words(int(number))).replace(',', '')} {unit}")
    return [f for f in forms if number != 1 and f.replace(",", "") != text.replace(",", "").replace("US", "")]


def measures(text: str) -> list[str]:
    """90 minutes, an hour and a half; 2 weeks, 14 days; 12 months, a year; 6 feet, six feet."""
    match, number = re.fullmatch(r"(.+?)([ -])([A-Za-z]+)", text), magnitude(text)
    if not match or number is None or match[2] == "-":
        return []
    unit = match[3]
    forms = [f"{count} {unit}" for count in counts(match[1])]
    forms += _DURATIONS.get((round(number, 2), unit.rstrip("s")), [])
    return forms + convert(number, unit.rstrip("s"))


_DURATIONS: dict[tuple[float, str], list[str]] = {
    (60, "second"): ["a minute", "one minute"],
    (15, "minute"): ["a quarter of an hour"], (30, "minute"): ["half an hour"], (45, "minute"): ["three quarters of an hour"],
    (60, "minute"): ["an hour", "one hour"], (90, "minute"): ["an hour and a half", "1.5 hours", "one and a half hours"],
    (120, "minute"): ["two hours"],
    (1, "hour"): ["60 minutes"], (2, "hour"): ["120 minutes"], (3, "hour"): ["180 minutes"],
    (24, "hour"): ["one day", "a full day"], (48, "hour"): ["two days"], (72, "hour"): ["three days"],
    (7, "day"): ["a week", "one week"], (14, "day"): ["two weeks", "a fortnight"], (21, "day"): ["three weeks"],
    (2, "week"): ["14 days", "a fortnight", "fourteen days"], (3, "week"): ["21 days"], (4, "week"): ["28 days"],
    (6, "month"): ["half a year"], (12, "month"): ["a year", "one year"],
    (18, "month"): ["a year and a half", "one and a half years"], (24, "month"): ["two years"], (36, "month"): ["three years"],
    (2, "year"): ["24 months"], (3, "year"): ["36 months"], (10, "year"): ["a decade"], (20, "year"): ["two decades"],
    (100, "year"): ["a century"],
}  # fmt: skip
_METRIC: dict[str, tuple[float, str]] = {
    "mile": (1.609, "kilometres"), "mi": (1.609, "km"), "km": (0.6214, "miles"), "kilometre": (0.6214, "miles"),
    "kilometer": (0.6214, "miles"), "feet": (0.3048, "metres"), "ft": (0.3048, "m"), "metre": (3.281, "feet"),
    "meter": (3.281, "feet"), "kg": (2.205, "lb"), "kilogram": (2.205, "pounds"), "inche": (2.54, "cm"), "cm": (0.3937, "inches"),
    "acre": (0.4047, "hectares"), "hectare": (2.471, "acres"), "gallon": (3.785, "litres"),
}  # fmt: skip


def convert(number: float, unit: str) -> list[str]:
    """The measure in the other system, rounded as people round."""
    if unit not in _METRIC:
        return []
    factor, other = _METRIC[unit]
    result = number * factor
    figure = f"{float(f'{result:.2g}'):,.0f}" if result >= 10 else f"{result:.1f}"
    return [f"about {figure} {other}", f"roughly {figure} {other}"]


_WRITERS: dict[str, Callable[[str], list[str]]] = {
    "date": dates, "day": dates, "time": times, "number": counts, "percent": percents, "money": amounts, "measure": measures,
}  # fmt: skip
