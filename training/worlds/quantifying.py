"""How many of the entities have a property: all, most, some, none, only, all but one, and counts."""

from __future__ import annotations

import operator
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from training.worlds.case import Case
from training.worlds.claims import two_rows
from training.worlds.domains import (
    Attribute,
    Part,
)
from training.worlds.grammar import negated_phrase, sentence, singular_phrase
from training.worlds.values import ORDERED, Value, pick, written
from training.worlds.world import World, names, sample

_UNBOUNDED = re.compile(r"\b(up to|within|after|until|every|platform|age limit)\b")
_SMALL = ("no", "one", "two", "three", "four", "five")


@dataclass(frozen=True)
class Property:
    """What a verb phrase says of a value, plural: ``cost more than 50 euros``."""

    phrase: str
    holds: Callable[[Value], bool]
    negative: bool = False


def _properties(world: World, column: int, rng: random.Random) -> list[Property]:
    attribute: Attribute = world.attributes[column]
    phrases = list(attribute.plural)
    if attribute.kind == "flag":
        pairs = (
            (Property(p, lambda v: bool(v.amount)), Property(negated_phrase(p), lambda v: not v.amount, True))
            for p in phrases
        )
        return [side for pair in pairs for side in pair]
    values = list({world.value(r, column) for r in range(len(world.entities))})
    found = [Property(p.replace("{v}", written(v)[0]), partial(operator.eq, v)) for p in phrases for v in values]
    if attribute.kind in ORDERED:
        found += [bound for p in phrases for bound in _bounds(p, values, attribute, rng)]
    return found


def _bounds(phrase: str, values: list[Value], attribute: Attribute, rng: random.Random) -> list[Property]:
    dated = attribute.kind in ("time", "date", "year")
    if dated or len(values) < 2 or _UNBOUNDED.search(phrase) or "{v}" not in phrase:
        return []
    bound = pick(rng, sorted(values, key=lambda v: v.amount)[1:])
    low, shown = bound.amount, written(bound)[0]
    return [
        Property(phrase.replace("{v}", f"at least {shown}"), lambda v: v.amount >= low),
        Property(phrase.replace("{v}", f"less than {shown}"), lambda v: v.amount < low),
    ]


def quantifier(part: Part, rng: random.Random) -> Case | None:
    """All, most, some, none, only, both, at least, exactly: over yes-or-no properties and values."""
    return _counted(part, rng, False)


def counting(part: Part, rng: random.Random) -> Case | None:
    """How many of the entities have a property."""
    return _counted(part, rng, True)


def _counted(part: Part, rng: random.Random, numbers: bool) -> Case | None:
    for _ in range(40):
        world = sample(part, rng, ("flag", "flag", *ORDERED, "choice"))
        usable = [c for c, a in enumerate(world.attributes) if a.plural and a.kind != "list"]
        if len(world.entities) < 2 + numbers or not usable:
            continue
        column = pick(rng, usable)
        other, options = _changed(world, column, rng), _properties(world, column, rng)
        statements = _counts if numbers else _statements
        claims = [s for p in options for s in statements(world, p) if s.differs(world, other, column)]
        good = [s for s in claims if s.true(world, column)]
        bad = [s for s in claims if not s.true(world, column)]
        if good and bad:
            claim = pick(rng, good)
            counters = [s for s in bad if s.form == claim.form] or bad
            return Case(world, other, claim.text, pick(rng, counters).text)
    return None


def _changed(world: World, column: int, rng: random.Random) -> World:
    attribute, roll = world.attributes[column], rng.random()
    if attribute.kind == "flag":
        for row in rng.sample(range(len(world.entities)), 1 if roll < 0.6 else len(world.entities) - 1):
            world = world.put(row, column, Value("flag", 1 - world.value(row, column).amount))
        return world
    rows = two_rows(world, column, rng)
    assert rows is not None
    return world.put(rows[0], column, world.cells[rows[1]][column]) if roll < 0.6 else world.swap(column, *rows)


@dataclass(frozen=True)
class Statement:
    """A claim about how many entities have a property, with its truth for any number of them and for each row."""

    text: str
    form: str
    prop: Property
    test: Callable[[list[bool]], bool]
    limit: int = 99  # "two of them" is said only where no more than two do

    def holding(self, world: World, column: int) -> list[bool]:
        """Which rows have the property."""
        return [self.prop.holds(world.value(r, column)) for r in range(len(world.entities))]

    def true(self, world: World, column: int) -> bool:
        """Whether the claim holds."""
        return self.test(self.holding(world, column))

    def differs(self, world: World, other: World, column: int) -> bool:
        """Whether exactly one of two worlds makes the claim true."""
        clear = max(sum(self.holding(w, column)) for w in (world, other)) <= self.limit
        return clear and self.true(world, column) != self.true(other, column)


def _statements(world: World, prop: Property) -> list[Statement]:
    n, nouns, noun, phrase = len(world.entities), world.domain.nouns, world.domain.noun, prop.phrase
    single = singular_phrase(phrase)
    found = [
        Statement(f"All {nouns} {phrase}", "all", prop, all),
        Statement(f"All of the {nouns} {phrase}", "all", prop, all),
        Statement(f"Every {noun} {single}", "all", prop, all),
        Statement(f"Not all {nouns} {phrase}", "not all", prop, lambda h: not all(h)),
        Statement(f"Not every {noun} {single}", "not all", prop, lambda h: not all(h)),
        Statement(f"None of the {nouns} {phrase}", "none", prop, lambda h: not any(h)),
        Statement(f"No {noun} {single}", "none", prop, lambda h: not any(h)),
        Statement(f"At least one of the {nouns} {single}", "some", prop, any),
        Statement(f"There is at least one {noun} that {single}", "some", prop, any),
        Statement(f"There is no {noun} that {single}", "none", prop, lambda h: not any(h)),
    ]
    if n >= 3:
        found.append(Statement(f"Most of the {nouns} {phrase}", "most", prop, lambda h: 2 * sum(h) > len(h)))
    if n == 2:
        both = names(world, range(2))
        found.append(Statement(f"Both {nouns} {phrase}", "all", prop, all))
        neither = both.replace(" and ", " nor ", 1)
        found.append(Statement(f"Neither {neither} {single}", "none", prop, lambda h: not any(h)))
    if prop.negative:  # "all rooms do not" can be read in two ways
        found = [s for s in found if s.form in ("some", "most")]
    return [replace(s, text=sentence(s.text)) for s in found + _onlys(world, prop)]


def _onlys(world: World, prop: Property) -> list[Statement]:
    phrase, found = prop.phrase, []
    single = singular_phrase(phrase) if world.domain.pronoun != "they" else phrase
    for r, entity in enumerate(world.entities):
        found.append(Statement(f"Only {entity.name} {single}", "only", prop, lambda h, r=r: h[r] and sum(h) == 1))  # type: ignore[misc]
    for r, entity in enumerate(world.entities) if len(world.entities) > 2 and not prop.negative else ():
        text = f"All {world.domain.nouns} except {entity.name} {phrase}"
        found.append(Statement(text, "except", prop, lambda h, r=r: not h[r] and sum(h) == len(h) - 1))  # type: ignore[misc]
    return found


def _counts(world: World, prop: Property) -> list[Statement]:
    nouns, phrase, found = world.domain.nouns, prop.phrase, []
    for k in range(1, len(world.entities) + 1):
        verb = singular_phrase(phrase) if k == 1 else phrase
        for lead, form, test in (
            (f"Exactly {_SMALL[k]}", "exactly", lambda h, k=k: sum(h) == k),
            (f"{_SMALL[k]}", "exactly", lambda h, k=k: sum(h) == k),
            (f"At least {_SMALL[k]}", "least", lambda h, k=k: sum(h) >= k),
            (f"More than {_SMALL[k]}", "least", lambda h, k=k: sum(h) > k),
            (f"Fewer than {_SMALL[k]}", "most", lambda h, k=k: sum(h) < k),
        ):
            bare = lead[0].islower()
            if not (bare and k == len(world.entities)):
                text = sentence(f"{lead} of the {nouns} {verb}")
                found.append(Statement(text, form, prop, test, k if bare else 99))
    return found
