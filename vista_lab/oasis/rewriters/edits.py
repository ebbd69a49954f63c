"""Changes a value of the evidence to a similar one; the claims state both in words the evidence does not use."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from vista_lab.oasis.rewriters.values import MONTHS, NUMBER_WORDS, WORD_VALUES, Value, magnitude

EDITABLE = frozenset({"date", "day", "time", "number", "percent", "money", "measure", "month_year", "year"})
_DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")


def another(value: Value, rng: Random) -> str | None:
    """Another value of the same kind and format; None if there is none."""
    maker = _MAKERS.get(value.kind)
    changed = maker(value.text, rng) if maker else None
    if changed and value.kind == "percent" and (magnitude(value.text) or 0) <= 100 < (magnitude(changed) or 0):
        return None
    if value.kind == "measure" and re.match(r"(?:1|one)[ -]", value.text):
        return None
    return changed if changed and changed != value.text else None


def another_number(text: str, rng: Random) -> str | None:
    """The text with another number: a neighbour, or a multiple between half and double."""
    match = _DIGITS.search(text)
    if not match:
        words = [w for w in re.findall(r"[a-z]+", text.lower()) if w in NUMBER_WORDS]
        others = [w for w, n in WORD_VALUES.items() if words and w != words[0] and abs(n - WORD_VALUES[words[0]]) <= 12]
        return re.sub(words[0], rng.choice(others), text, flags=re.IGNORECASE) if others else None
    number = magnitude(match.group()) or 0.0
    places = len(match.group().split(".")[1]) if "." in match.group() else 0
    if number <= 0:
        return None
    if number < 20 and not places:
        near = [n for n in range(2, 25) if n != number and abs(n - number) <= 8]
        changed = float(rng.choice(near))
    else:
        factor = rng.choice([0.5, 0.6, 0.75, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0])
        changed = round(rounded_like(number * factor, match.group()), places)
    digits = f"{changed:,.{places}f}" if "," in match.group() or changed >= 10_000 else f"{changed:.{places}f}"
    return text[: match.start()] + digits + text[match.end() :]


def rounded_like(number: float, model: str) -> float:
    """The number, rounded to as many trailing zeros as `model` has."""
    zeros = len(re.search(r"0*$", model.replace(",", "").split(".")[0])[0])  # type: ignore[index]
    return float(max(1, round(number / 10**zeros)) * 10**zeros)


def another_date(text: str, rng: Random) -> str | None:
    """Another day, month or year."""
    months = [m for m in MONTHS if m in text]
    roll = rng.random()
    day, year = re.search(r"\b\d{1,2}(?!\d)", text), re.search(r"\b\d{4}\b", text)
    if roll < 0.4 and day:
        changed = rng.choice([d for d in range(1, 29) if d != int(day.group())])
        text = text[: day.start()] + str(changed) + text[day.end() :]
        return re.sub(r"(\d{1,2})(?:st|nd|rd|th)", lambda m: nth(int(m[1])), text)
    if (roll < 0.75 or not year) and months:
        return text.replace(months[0], rng.choice([m for m in MONTHS if m != months[0] and m != "May"]))
    return text.replace(year.group(), another_year(year.group(), rng)) if year else None


def nth(number: int) -> str:
    """1st, 2nd, 3rd, 4th …"""
    ending = "th" if 10 <= number % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def another_year(text: str, rng: Random) -> str:
    """A nearby year."""
    year = int(text) + rng.choice([-30, -20, -12, -11, -10, -6, -4, -2, -1, 1, 2, 3, 5, 9, 10, 11, 20])
    return str(year if year < 2020 else int(text) - rng.choice([3, 7, 12]))


def another_time(text: str, rng: Random) -> str | None:
    """Another hour, half of the day, or minute."""
    match = re.match(r"(\d{1,2})(?:([:.])(\d\d))?", text)
    if not match or int(match[1]) > 24:
        return None
    half = re.search(r"[ap](?=\.?m)", text[match.end() :], re.IGNORECASE)
    if half and rng.random() < 0.35:
        at = match.end() + half.start()
        letter = {"a": "p", "p": "a", "A": "P", "P": "A"}[text[at]]
        return text[:at] + letter + text[at + 1 :]
    hours = range(1, 13) if half else range(0, 24)
    hour = rng.choice([h for h in hours if h != int(match[1]) and abs(h - int(match[1])) <= 4])
    digits = f"{hour:02}" if len(match[1]) == 2 and match[1][0] == "0" else str(hour)
    return digits + text[match.end(1) :]


_MAKERS: dict[str, Callable[[str, Random], str | None]] = {
    **dict.fromkeys(("date", "day", "month_year"), another_date),
    **dict.fromkeys(("number", "percent", "money", "measure"), another_number),
    "time": another_time,
    "year": another_year,
}
