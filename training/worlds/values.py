"""Typed values of small worlds: how a document writes them and how else the same thing can be said."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import TypeVar

from num2words import num2words  # type: ignore[import-untyped]

T = TypeVar("T")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SHARES = {10: "one in ten", 20: "a fifth", 25: "a quarter", 50: "half", 75: "three quarters", 80: "four fifths"}
_LONG = {
    "g": "grams", "kg": "kilograms", "mg": "milligrams", "ml": "millilitres", "l": "litres", "cm": "centimetres",
    "m": "metres", "km": "kilometres", "mm": "millimetres", "°C": "degrees Celsius", "W": "watts", "V": "volts",
    "GB": "gigabytes", "MB": "megabytes", "t": "tonnes", "ha": "hectares", "km/h": "kilometres per hour", "dB": "decibels",
    "kWh": "kilowatt hours", "ms": "milliseconds", "s": "seconds", "MW": "megawatts", "kcal": "kilocalories",
}  # fmt: skip
_UP = {"g": ("kg", 1000), "mg": ("g", 1000), "ml": ("l", 1000), "cm": ("m", 100), "m": ("km", 1000), "mm": ("cm", 10)}
_LONGER = {"days": ("weeks", 7), "hours": ("days", 24), "months": ("years", 12), "seconds": ("minutes", 60)}
DURATIONS = ("seconds", "minutes", "hours", "days", "weeks", "months", "years")
ORDERED = ("money", "count", "percent", "time", "date", "year", "unit", *DURATIONS)


@dataclass(frozen=True)
class Value:
    """One value; ``amount`` orders the ordered kinds, ``unit`` is a currency or a measure."""

    kind: str
    amount: float = 0
    text: str = ""
    unit: str = ""
    items: tuple[str, ...] = ()


def pick(rng: random.Random, options: Sequence[T]) -> T:
    """A random option that always uses up one random number, so that two worlds are rendered alike."""
    return options[int(rng.random() * len(options))]


def number(amount: float) -> str:
    """Digits: 1,200 or 12.50."""
    if amount != int(amount):
        return f"{amount:.2f}" if round(amount * 100) % 10 == 0 and amount < 1000 else f"{amount:g}"
    return f"{int(amount):,}"


def words(amount: float) -> str:
    """A whole number in words."""
    return str(num2words(int(amount))).replace(",", "")


def listed(items: Sequence[str], last: str = "and") -> str:
    """``a, b and c``."""
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} {last} {items[-1]}"


def written(value: Value) -> list[str]:
    """The ways in which a document writes the value; the first is the plainest."""
    n = number(value.amount)
    match value.kind:
        case "money":
            sign = {"euros": "€", "pounds": "£", "dollars": "$"}.get(value.unit)
            return [f"{n} {value.unit}", f"{sign}{n}" if sign else f"{n} {value.unit}"]
        case "count":
            small = value.amount == int(value.amount) and value.amount <= 10
            return [n, words(value.amount) if small else n]
        case "percent":
            return [f"{n}%", f"{n} percent", f"{n} per cent"]
        case "time":
            return clock(value.amount)[:3]
        case "date":
            return dates(value.amount)[:3]
        case "year":
            return [str(int(value.amount))]
        case "unit":
            shown = f"{value.amount:g}" if value.amount < 1000 else n
            return [f"{shown} {value.unit}", f"{shown} {_LONG.get(value.unit, value.unit)}"]
        case "list":
            return [listed(value.items)]
        case "flag":
            return ["yes" if value.amount else "no"]
        case kind if kind in DURATIONS:
            return [f"{n} {singular(kind, value.amount)}", f"{spelled(value.amount)} {singular(kind, value.amount)}"]
    return [value.text]


def spelled(amount: float) -> str:
    """Words up to twelve, digits beyond."""
    return words(amount) if amount == int(amount) and amount <= 12 else number(amount)


def singular(noun: str, amount: float) -> str:
    """``1 day``, ``2 days``."""
    return noun[:-1] if amount == 1 else noun


def clock(minutes: float) -> list[str]:
    """19:30 as documents write it, and then as people say it."""
    hour, minute = divmod(int(minutes), 60)
    twelve, half = (hour - 1) % 12 + 1, "a.m." if hour < 12 else "p.m."
    short = f"{twelve}" if minute == 0 else f"{twelve}:{minute:02}"
    when = "in the morning" if hour < 12 else "in the afternoon" if hour < 18 else "in the evening"
    following = words(hour % 12 + 1)
    said = {0: f"{words(twelve)} o'clock", 15: f"quarter past {words(twelve)}", 30: f"half past {words(twelve)}",
            45: f"quarter to {following}"}.get(minute)  # fmt: skip
    forms = [f"{hour}:{minute:02}", f"{short} {half}", f"{twelve}:{minute:02} {half.replace('.', '')}"]
    if hour == 12 and minute == 0:
        return [*forms, "noon", "midday"]
    return [*forms, f"{said} {when}"] if said else forms


def dates(ordinal: float) -> list[str]:
    """A date as documents write it, and then in other words."""
    day = date.fromordinal(int(ordinal))
    month = MONTHS[day.month - 1]
    forms = [f"{day.day} {month} {day.year}", f"{month} {day.day}, {day.year}", day.isoformat()]
    said = f"the {num2words(day.day, to='ordinal')} of {month} {day.year}"
    return [*forms, f"{day.day:02}/{month[:3]}/{day.year}", said]


def weekday(ordinal: float) -> str:
    """The name of the day."""
    return _WEEKDAYS[date.fromordinal(int(ordinal)).weekday()]


def said(value: Value) -> list[str]:
    """The same value in other words than ``written`` has: numbers in words, larger units, halves, times as spoken."""
    amount, whole = value.amount, value.amount == int(value.amount)
    match value.kind:
        case "money" if whole:
            return [f"{words(amount)} {value.unit}"]
        case "count" if whole:
            return [*([words(amount)] if amount > 10 else []), *_dozens(amount), *_hundreds(amount)]
        case "percent" if whole:
            return [f"{words(amount)} percent", *([_SHARES[int(amount)]] if int(amount) in _SHARES else [])]
        case "time":
            return clock(amount)[3:]
        case "date":
            return dates(amount)[4:]
        case "unit":
            return _larger_unit(value)
        case kind if kind in DURATIONS:
            return _longer(kind, amount)
    return []


def _dozens(amount: float) -> list[str]:
    return {6: ["half a dozen"], 12: ["a dozen"], 24: ["two dozen"], 36: ["three dozen"]}.get(int(amount), [])


def _hundreds(amount: float) -> list[str]:
    fits = 1100 <= amount < 2000 and amount % 100 == 0
    return [f"{words(amount // 100)} hundred"] if fits else []


def _larger_unit(value: Value) -> list[str]:
    forms = []
    if value.unit in _UP:
        unit, factor = _UP[value.unit]
        if value.amount % (factor / 20) == 0:
            many = value.amount / factor
            forms.append(f"{many:g} {unit}")
            if many == 0.5:
                forms.append(f"half a {_LONG[unit][:-1]}")
            if many == int(many) and many > 1:
                forms.append(f"{words(many)} {_LONG[unit]}")
    if value.amount == int(value.amount) and value.amount < 1000:
        forms.append(f"{words(value.amount)} {_LONG.get(value.unit, value.unit)}")
    return forms


def _longer(unit: str, amount: float) -> list[str]:
    forms = [f"{words(amount)} {singular(unit, amount)}"] if amount > 12 and amount == int(amount) else []
    if unit == "minutes":
        return forms + hours_of(amount)
    if (unit, amount) == ("months", 6):
        return ["half a year"]
    if unit in _LONGER:
        longer, factor = _LONGER[unit]
        if amount % factor == 0:
            many = amount / factor
            forms.append(f"{'a' if many == 1 else words(many)} {singular(longer, many)}")
            if (unit, many) == ("days", 2):
                forms.append("a fortnight")
    return forms


def hours_of(minutes: float) -> list[str]:
    """Minutes in hours: an hour and a half, two and a quarter hours."""
    hours, rest = divmod(int(minutes), 60)
    fixed = {15: ["a quarter of an hour"], 30: ["half an hour"], 45: ["three quarters of an hour"], 60: ["an hour", "one hour"],
             90: ["an hour and a half", "one and a half hours", "1.5 hours"]}.get(int(minutes))  # fmt: skip
    if fixed:
        return fixed
    if hours == 0:
        return []
    many = f"{words(hours)} {singular('hours', hours)}"
    if rest == 0:
        return [many]
    said_rest = {15: "a quarter", 30: "a half", 45: "three quarters"}.get(rest)
    forms = [f"{hours} h {rest} min", f"{many} and {spelled(rest)} minutes"]
    return [*forms, f"{words(hours)} and {said_rest} hours"] if said_rest and hours > 1 else forms


def difference(value: Value, other: Value) -> str | None:
    """How far two values lie apart, in words that go before ``more than``; None where that cannot be said."""
    gap = abs(value.amount - other.amount)
    if value.kind in ("money", "unit"):
        return f"{number(gap)} {value.unit}"
    if value.kind == "time":
        return "an hour" if gap == 60 else (hours_of(gap) or [f"{int(gap)} minutes"])[0]
    if value.kind == "percent":
        return f"{number(gap)} percentage points"
    if value.kind == "date":
        return f"{int(gap)} {singular('days', gap)}"
    if value.kind == "year":
        return f"{int(gap)} {singular('years', gap)}"
    if value.kind in DURATIONS:
        return f"{spelled(gap)} {singular(value.kind, gap)}"
    return spelled(gap) if value.kind == "count" else None
