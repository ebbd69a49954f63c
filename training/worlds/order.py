"""What came first and what caused what, both ways round."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

from training.worlds.case import REFUTE, WRONG, TextCase
from training.worlds.domains import (
    Part,
    lines,
    read,
    section,
    split,
)
from training.worlds.grammar import sentence
from training.worlds.values import pick


@dataclass(frozen=True)
class Event:
    """Something that happened, as a clause and as a noun phrase."""

    clause: str
    noun: str


@cache
def events(part: Part) -> tuple[Event, ...]:
    """The events of one part."""
    rows = [split(line, "|") for line in read("events").splitlines() if "|" in line and not line.startswith("#")]
    kept = section([row[0] for row in rows], part)
    return tuple(Event(row[0], row[1]) for row in rows if row[0] in kept)


def tell(template: str, story: list[Event], years: list[int]) -> str:
    """A template with the events of a story, told in its order."""
    text = template.replace("\\n", "\n")
    for i, event in enumerate(story, 1):
        text = text.replace(f"{{s{i}}}", event.clause).replace(f"{{n{i}}}", event.noun)
        text = text.replace(f"{{S{i}}}", event.clause[:1].upper() + event.clause[1:])
        text = text.replace(f"{{y{i}}}", str(years[i - 1])).replace(f"{{Y{i}}}", str(years[i - 1]))
    return sentence(text) if "\n" not in text else text


def _years(rng: random.Random) -> list[int]:
    start = 1900 + int(rng.random() * 110)
    return [start, start + 1 + int(rng.random() * 5), start + 7 + int(rng.random() * 5)]


def _around(part: Part, rng: random.Random, text: str, used: list[Event]) -> str:
    extra = [e for e in rng.sample(events(part), 3) if e not in used][: int(rng.random() * 3)]
    told = [sentence(e.clause) for e in extra]
    cut = int(rng.random() * (len(told) + 1))
    return ("\n" if "\n" in text else " ").join([*told[:cut], text, *told[cut:]])


def order(part: Part, rng: random.Random) -> TextCase:
    """Before and after: one of two events first."""
    return _turned(part, rng, ("before", "before_story"), "before")


def cause(part: Part, rng: random.Random) -> TextCase:
    """Cause and effect; at times the claim only says which was first."""
    return _turned(part, rng, ("cause", "cause_story"), pick(rng, ("cause", "cause", "cause", "before")))


def _turned(part: Part, rng: random.Random, heads: tuple[str, str], claim_head: str) -> TextCase:
    one, two = rng.sample(events(part), 2)
    years = _years(rng)
    document = pick(rng, lines("order", heads[0], part) + lines("order", heads[1], part))
    said = pick(rng, lines("order", claim_head, part))
    seed, orders = rng.randrange(1 << 30), ([one, two], [two, one])
    texts = [_around(part, random.Random(seed), tell(document, pair, years), [one, two]) for pair in orders]
    claims = [tell(said, pair, years) for pair in orders]
    return TextCase(texts[0], texts[1], claims[0], claims[1], REFUTE)


def triple(part: Part, rng: random.Random) -> TextCase:
    """Three events in a row, in prose, steps, a table or a list; the claim orders two of them."""
    story = rng.sample(events(part), 3)
    i, j = sorted(rng.sample(range(3), 2))
    turned = story[:]
    turned[i], turned[j] = story[j], story[i]
    years = _years(rng)
    document, said = (pick(rng, lines("order", head, part)) for head in ("triple", "before"))
    claim, counter = tell(said, [story[i], story[j]], years), tell(said, [story[j], story[i]], years)
    return TextCase(tell(document, story, years), tell(document, turned, years), claim, counter, REFUTE)


def which_cause(part: Part, rng: random.Random) -> TextCase:
    """Two things before an effect, only one of which caused it."""
    reason, effect, other = rng.sample(events(part), 3)
    document, said = pick(rng, lines("order", "mixed", part)), pick(rng, lines("order", "cause", part))
    years = _years(rng)
    first, second = (tell(document, [a, effect, b], years) for a, b in ((reason, other), (other, reason)))
    return TextCase(first, second, tell(said, [reason, effect], years), tell(said, [other, effect], years), WRONG)
