"""Claims about cells of a small world: own and neighbour's values, other words, negation, two facts at once, what two share."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import permutations

from training.worlds.case import OPEN, WRONG, Case
from training.worlds.domains import (
    Part,
)
from training.worlds.grammar import clause, negated, sentence, singular_phrase
from training.worlds.values import ORDERED, Value, pick, said, written
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
    return next(((i, j) for i in order for j in order if world.cells[i][column] != world.cells[j][column]), None)


def neighbour(part: Part, rng: random.Random) -> Case | None:
    """Whose value is it: the values of two entities are exchanged."""
    world = sample(part, rng, VALUED)
    column = pick(rng, columns(world, VALUED))
    found = two_rows(world, column, rng)
    if not found:
        return None
    i, j = found
    claim, other = plain(world, i, column, rng), world.swap(column, i, j)
    if rng.random() < 0.5:
        return Case(world, other, claim, plain(world, i, column, rng, world.value(j, column)))
    return Case(world, other, claim, plain(other, j, column, rng))


def own_value(part: Part, rng: random.Random) -> Case | None:
    """Which attribute's value is it: two attributes of one entity are exchanged."""
    for _ in range(30):
        world = sample(part, rng, VALUED)
        if len(world.entities) > 3:
            continue
        mates = [p for p in permutations(columns(world, VALUED), 2) if _exchangeable(world, *p)]
        if mates:
            a, b = pick(rng, mates)
            other = world.exchange(0, a, b)
            return Case(world, other, plain(world, 0, a, rng), plain(other, 0, pick(rng, (a, b)), rng))
    return None


def _exchangeable(world: World, a: int, b: int) -> bool:
    """Two attributes of one kind and unit, whose different values lie in the range of either."""
    first, second = world.attributes[a], world.attributes[b]
    alike = first.kind == second.kind != "choice" and first.pool[0].unit == second.pool[0].unit
    return alike and world.cells[0][a] != world.cells[0][b] and _fits(world, a, b) and _fits(world, b, a)


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
    value = world.value(row, column)
    others = [v for v in world.attributes[column].pool if v.amount != value.amount and said(v)]
    if not others:
        return None
    chosen = pick(rng, sorted(others, key=lambda v: abs(v.amount - value.amount))[:6])
    return Value(chosen.kind, chosen.amount, unit=value.unit)


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
        denial = pick(rng, ("It is not true that", "It is not the case that", "It is wrong that"))
        return sentence(f"{denial} {clause(text)}")
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
        if len(world.entities) < 2 or len(world.attributes) < 2:
            continue
        column = pick(rng, columns(world, VALUED))
        i, j = rng.sample(range(len(world.entities)), 2)
        value = world.cells[i][column]
        if value != world.cells[j][column]:
            first, second = world.put(j, column, None), world.put(j, column, value).put(i, column, None)
            return Case(first, second, plain(world, i, column, rng), plain(second, j, column, rng), OPEN)
    return None


def listing(part: Part, rng: random.Random) -> Case | None:
    """Lists: an item that belongs to another entity's list, alone or among right ones."""
    for _ in range(20):
        world = sample(part, rng, ("list",))
        column = pick(rng, columns(world, ("list",)))
        rows = two_rows(world, column, rng)
        if not rows:
            continue
        i, j = rows
        mine, theirs = world.value(i, column).items, world.value(j, column).items
        if set(mine) & set(theirs):
            continue
        k = rng.randrange(min(len(mine), len(theirs)))
        wrong, right = (*mine[:k], theirs[k], *mine[k + 1 :]), (*theirs[:k], mine[k], *theirs[k + 1 :])
        second = world.put(i, column, Value("list", items=wrong)).put(j, column, Value("list", items=right))
        return Case(world, second, *_list_claims(world, i, column, mine, wrong, k, rng), WRONG)
    return None


def _list_claims(
    world: World, row: int, column: int, mine: tuple[str, ...], wrong: tuple[str, ...], k: int, rng: random.Random
) -> tuple[str, str]:
    if rng.random() < 0.5:
        mine, wrong = (mine[k],), (wrong[k],)
    order = rng.sample(range(len(mine)), len(mine))
    by = rng.randrange(100)
    lists = (Value("list", items=tuple(items[o] for o in order)) for items in (mine, wrong))
    claim, counter = (sentence(say(world, row, column, rng, value, by)) for value in lists)
    return claim, counter


def joined(part: Part, rng: random.Random) -> Case | None:
    """Two facts in one claim, one of which another entity's value makes wrong."""
    for _ in range(20):
        world = sample(part, rng)
        usable = columns(world, (*VALUED, "flag"))
        if len(usable) < 2:
            continue
        a, b = rng.sample(usable, 2)
        rows = two_rows(world, a, rng)
        if rows:
            i, j = rows
            other = world.swap(a, i, j)
            return Case(world, other, _both(world, i, a, b, rng), _both(other, i, a, b, rng))
    return None


def _both(world: World, row: int, a: int, b: int, rng: random.Random) -> str:
    entity = world.entities[row]
    first, second = (a, b) if rng.random() < 0.5 else (b, a)
    text = say(world, row, second, rng)
    if text.startswith(f"{entity.name} "):
        text = entity.pronoun + text[len(entity.name) :]
    link = pick(rng, (" and ", ", and ", "; "))
    return sentence(f"{clause(say(world, row, first, rng))}{link}{text}")


def two_entities(part: Part, rng: random.Random) -> Case | None:
    """One claim with the values of two entities: ``A costs 12 and B 15``, right or the wrong way round."""
    for _ in range(20):
        world = sample(part, rng, VALUED)
        column = pick(rng, columns(world, VALUED))
        fitting = [t for t in world.attributes[column].says if t.startswith("{e} ")]
        rows = two_rows(world, column, rng)
        if rows and fitting:
            other = world.swap(column, *rows)
            template = pick(rng, fitting)
            claim, counter = (_pairwise(w, rows, column, template, rng) for w in (world, other))
            return Case(world, other, claim, counter)
    return None


def _pairwise(world: World, rows: tuple[int, int], column: int, template: str, rng: random.Random) -> str:
    i, j = rows if rng.random() < 0.5 else rows[::-1]
    first, second = (clause(told(template, world.entities[r], world.value(r, column), rng)) for r in (i, j))
    roll = rng.random()
    if roll < 0.35:
        return sentence(f"{first}, {world.entities[j].name} {written(world.value(j, column))[0]}")
    return sentence(f"{first}{pick(rng, (' and ', ', while ', ', but ', ', whereas '))}{second}")


def alike(part: Part, rng: random.Random) -> Case | None:
    """Two entities with the same value beside a third with another."""
    for _ in range(20):
        world = sample(part, rng, VALUED)
        usable = [c for c in columns(world, VALUED) if world.attributes[c].plural]
        if len(world.entities) < 3 or not usable:
            continue
        column = pick(rng, usable)
        i, j, k = rng.sample(range(len(world.entities)), 3)
        world = world.put(j, column, world.cells[i][column])
        if world.cells[k][column] == world.cells[i][column]:
            continue
        other = world.swap(column, j, k)
        return Case(world, other, _same(world, i, j, column, rng), _same(other, i, k, column, rng))
    return None


def _same(world: World, i: int, j: int, column: int, rng: random.Random) -> str:
    a, b = (world.entities[r].name for r in ((i, j) if rng.random() < 0.5 else (j, i)))
    phrase = pick(rng, world.attributes[column].plural).replace("{v}", written(world.value(i, column))[0])
    single = singular_phrase(phrase) if world.domain.pronoun != "they" else phrase
    options = (
        f"both {a} and {b} {phrase}",
        f"{a} and {b} both {phrase}",
        f"like {a}, {b} {single}",
        f"{a} {single}, just like {b}",
        f"{a} and {b} are alike in that they {phrase}",
        f"what holds for {a} holds for {b} as well: they {phrase}",
    )
    return sentence(pick(rng, options))
