"""Claims about single cells of a small world: own and neighbour's values, other words, negation, two facts at once."""

from __future__ import annotations

import random
from collections.abc import Sequence

from training.worlds.case import OPEN, WRONG, Case
from training.worlds.domains import Part
from training.worlds.grammar import clause, negated, sentence
from training.worlds.values import ORDERED, Value, pick, said
from training.worlds.world import World, sample, say, told

VALUED = (*ORDERED, "choice")


def plain(world: World, row: int, column: int, rng: random.Random, value: Value | None = None) -> str:
    """A claim that gives a cell as a document would."""
    return sentence(say(world, row, column, rng, value))


def columns(world: World, kinds: Sequence[str]) -> list[int]:
    """Columns whose values are of one of the kinds."""
    return [c for c, a in enumerate(world.attributes) if a.kind in kinds]


def two_rows(world: World, column: int, rng: random.Random) -> tuple[int, int] | None:
    """Two entities with different values of one attribute."""
    order = rng.sample(range(len(world.entities)), len(world.entities))
    return next(
        ((i, j) for i in order for j in order if i != j and world.cells[i][column] != world.cells[j][column]), None
    )


def neighbour(part: Part, rng: random.Random) -> Case | None:
    """Whose value is it: the values of two entities are exchanged."""
    world = sample(part, rng, VALUED)
    column = pick(rng, columns(world, VALUED))
    found = two_rows(world, column, rng)
    if not found:
        return None
    i, j = found
    claim = plain(world, i, column, rng)
    if rng.random() < 0.5:
        return Case(world, world.swap(column, i, j), claim, plain(world, i, column, rng, world.value(j, column)))
    other = world.swap(column, i, j)
    return Case(world, other, claim, plain(other, j, column, rng))


def own_value(part: Part, rng: random.Random) -> Case | None:
    """Which attribute's value is it: two attributes of one entity are exchanged."""
    for _ in range(30):
        world = sample(part, rng, VALUED)
        if len(world.entities) > 3:
            continue
        mates = [
            (a, b)
            for a in columns(world, VALUED)
            for b in columns(world, VALUED)
            if a != b
            and _alike(world, a, b)
            and world.cells[0][a] != world.cells[0][b]
            and _fits(world, a, b)
            and _fits(world, b, a)
        ]
        if mates:
            a, b = pick(rng, mates)
            other = world.exchange(0, a, b)
            return Case(world, other, plain(world, 0, a, rng), plain(other, 0, pick(rng, (a, b)), rng))
    return None


def _alike(world: World, a: int, b: int) -> bool:
    first, second = world.attributes[a], world.attributes[b]
    units = {first.pool[0].unit, second.pool[0].unit}
    return first.kind == second.kind and first.kind != "choice" and len(units) == 1


def _fits(world: World, a: int, b: int) -> bool:
    pool, value = world.attributes[a].pool, world.value(0, b)
    return pool[0].amount <= value.amount <= pool[-1].amount


def reworded(part: Part, rng: random.Random) -> Case | None:
    """The value in other words: numbers spelled out, other units, spoken times; against another value in the same way."""
    for _ in range(20):
        world = sample(part, rng, ORDERED)
        column = pick(rng, columns(world, ORDERED))
        rows = two_rows(world, column, rng)
        if not rows:
            continue
        i, j = rows
        near = _near(world, i, column, rng)
        other = world.put(i, column, near) if near and rng.random() < 0.5 else world.swap(column, i, j)
        forms, counters = said(world.value(i, column)), said(other.value(i, column))
        if forms and counters:
            by = rng.randrange(100)
            claim = _with(world, i, column, pick(rng, forms), by)
            return Case(world, other, claim, _with(world, i, column, pick(rng, counters), by))
    return None


def _near(world: World, row: int, column: int, rng: random.Random) -> Value | None:
    value, pool = world.value(row, column), world.attributes[column].pool
    unit = value.unit
    others = [v for v in pool if v.amount != value.amount and said(v)]
    if not others:
        return None
    chosen = pick(rng, sorted(others, key=lambda v: abs(v.amount - value.amount))[:6])
    return Value(chosen.kind, chosen.amount, unit=unit)


def _with(world: World, row: int, column: int, text: str, by: int) -> str:
    options = world.attributes[column].says
    return sentence(told(options[by % len(options)].replace("{v}", text), world.entities[row], None, random.Random(by)))


def negation(part: Part, rng: random.Random) -> Case | None:
    """Negated claims, as often true as false: ``A does not cost 12`` where B does."""
    for _ in range(20):
        world = sample(part, rng, VALUED)
        column = pick(rng, columns(world, VALUED))
        found = two_rows(world, column, rng)
        if not found:
            continue
        i, j = found
        claims = [_not(world, i, column, value, rng) for value in (world.value(j, column), world.value(i, column))]
        if claims[0] and claims[1]:
            return Case(world, world.swap(column, i, j), claims[0], claims[1])
    return None


def _not(world: World, row: int, column: int, value: Value, rng: random.Random) -> str | None:
    fitting = [t for t in world.attributes[column].says if t.startswith("{e} ")]
    if not fitting:
        return None
    name = world.entities[row].name
    text = told(pick(rng, fitting), world.entities[row], value, rng)
    if rng.random() < 0.2:
        return sentence(
            f"{pick(rng, ('It is not true that', 'It is not the case that', 'It is wrong that'))} {clause(text)}"
        )
    denied = negated(name, text, contracted=rng.random() < 0.3)
    return sentence(denied) if denied else None


def flag(part: Part, rng: random.Random) -> Case | None:
    """Yes-or-no properties, in positive and negative words and their opposites."""
    world = sample(part, rng, ("flag",))
    column = pick(rng, columns(world, ("flag",)))
    rows = two_rows(world, column, rng)
    if not rows:
        return None
    i, j = rows
    other = world.swap(column, i, j)
    return Case(world, other, _flag_claim(world, i, column, rng), _flag_claim(other, i, column, rng))


def _flag_claim(world: World, row: int, column: int, rng: random.Random) -> str:
    text = plain(world, row, column, rng)
    opposite = world.put(row, column, Value("flag", 1 - world.value(row, column).amount))
    roll = rng.random()
    if roll < 0.12:
        return sentence(f"It is not true that {clause(say(opposite, row, column, rng))}")
    if roll < 0.3:
        denied = negated(world.entities[row].name, say(opposite, row, column, rng), contracted=rng.random() < 0.4)
        return sentence(denied) if denied and "not" not in denied.replace("not", "", 1) else text
    return text


def unstated(part: Part, rng: random.Random) -> Case | None:
    """A detail that the document gives in one version only; elsewhere the same value is another entity's."""
    for _ in range(20):
        world = sample(part, rng, VALUED)
        usable = columns(world, VALUED)
        if len(world.entities) < 2 or len(world.attributes) < 2:
            continue
        column = pick(rng, usable)
        i, j = rng.sample(range(len(world.entities)), 2)
        value, other = world.cells[i][column], world.cells[j][column]
        if value == other:
            continue
        first = world.put(j, column, None)
        second = world.put(j, column, value).put(i, column, None)
        claim = plain(world, i, column, rng)
        counter = plain(second, j, column, rng)
        return Case(first, second, claim, counter, OPEN)
    return None


def listing(part: Part, rng: random.Random) -> Case | None:
    """Lists: an item that belongs to another entity's list, alone or among right ones."""
    for _ in range(20):
        world = sample(part, rng, ("list",))
        usable = columns(world, ("list",))
        column = pick(rng, usable)
        rows = two_rows(world, column, rng)
        if not rows:
            continue
        i, j = rows
        mine, theirs = world.value(i, column).items, world.value(j, column).items
        if set(mine) & set(theirs):
            continue
        k = rng.randrange(min(len(mine), len(theirs)))
        wrong = (*mine[:k], theirs[k], *mine[k + 1 :])
        second = world.put(i, column, Value("list", items=wrong)).put(
            j, column, Value("list", items=(*theirs[:k], mine[k], *theirs[k + 1 :]))
        )
        return Case(world, second, *_list_claims(world, i, column, mine, wrong, k, rng), WRONG)
    return None


def _list_claims(
    world: World, row: int, column: int, mine: tuple[str, ...], wrong: tuple[str, ...], k: int, rng: random.Random
) -> tuple[str, str]:
    if rng.random() < 0.5:
        mine, wrong = (mine[k],), (wrong[k],)
    order = rng.sample(range(len(mine)), len(mine))
    by = rng.randrange(100)
    claims = [
        sentence(say(world, row, column, rng, Value("list", items=tuple(items[o] for o in order)), by))
        for items in (mine, wrong)
    ]
    return claims[0], claims[1]
