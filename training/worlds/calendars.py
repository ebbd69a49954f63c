"""Dates and weekdays: on which day something is, the day after, a week later, in which month."""

from __future__ import annotations

import random
from datetime import date

from training.worlds.case import REFUTE, TextCase
from training.worlds.domains import (
    Part,
    cut,
    lines,
    sections,
    split,
)
from training.worlds.grammar import filled
from training.worlds.values import MONTHS, dates, pick, weekday

_START = date(2024, 1, 1).toordinal()


def put(template: str, event: str, day: int, other: str = "", style: int = 0) -> str:
    """A template with its events and day."""
    shown = dates(day)[style]
    slots = {"{E}": event[:1].upper() + event[1:], "{e}": event, "{F}": other[:1].upper() + other[1:], "{f}": other,
             "{d}": shown, "{D}": shown, "{w}": weekday(day), "{m}": MONTHS[date.fromordinal(day).month - 1]}  # fmt: skip
    return filled(template, slots)


def calendar(part: Part, rng: random.Random) -> TextCase | None:
    """Two or three dated events; two of them trade dates."""
    kind = pick(rng, ("weekday", "month", "next", "week", "earlier"))
    names = rng.sample(cut(split(sections("calendar")["events"][0], ";"), part), pick(rng, (2, 3, 3)))
    first = _START + rng.randrange(1200)
    gap = {"next": 1, "week": 7}.get(kind) or rng.randrange(9, 80)
    days = [first, first + gap, first + gap + rng.randrange(2, 25)][: len(names)]
    if kind == "weekday" and weekday(days[0]) == weekday(days[1]):
        return None
    if kind == "month" and (
        days[1] - days[0] > 200 or date.fromordinal(days[0]).month == date.fromordinal(days[1]).month
    ):
        return None
    if kind == "earlier" and date.fromordinal(days[0]).year != date.fromordinal(days[1]).year:
        return None
    turned = [days[1], days[0], *days[2:]]
    seed = rng.randrange(1 << 30)
    texts = [_told(names, order, part, random.Random(seed)) for order in (days, turned)]
    return TextCase(texts[0], texts[1], *_claims(kind, names, days, part, rng), REFUTE)


def _claims(kind: str, names: list[str], days: list[int], part: Part, rng: random.Random) -> tuple[str, str]:
    said = pick(rng, lines("calendar", kind, part))
    if kind in ("weekday", "month"):
        return put(said, names[0], days[0]), put(said, names[0], days[1])
    return put(said, names[1], days[1], names[0]), put(said, names[0], days[1], names[1])


def _told(names: list[str], days: list[int], part: Part, rng: random.Random) -> str:
    style, layout = int(rng.random() * 2), rng.random()
    if layout < 0.2:
        rows = [
            f"| {n[4:].capitalize()} | {weekday(d)} | {dates(d)[style]} |" for n, d in zip(names, days, strict=True)
        ]
        return "\n".join(["| Event | Day | Date |", "| --- | --- | --- |", *rng.sample(rows, len(rows))])
    if layout < 0.35:
        rows = [f"{n[4:].capitalize()}: {weekday(d)}, {dates(d)[style]}" for n, d in zip(names, days, strict=True)]
        return "\n".join(rng.sample(rows, len(rows)))
    texts = [
        put(pick(rng, lines("calendar", "tells", part)), n, d, style=style) for n, d in zip(names, days, strict=True)
    ]
    return ("\n" if layout < 0.55 else " ").join(rng.sample(texts, len(texts)))
