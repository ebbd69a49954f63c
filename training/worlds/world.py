"""A small world: a few entities that share attributes, each with its value; and worlds that differ in one place."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from training.worlds.domains import (
    Attribute,
    Domain,
    Part,
    domains,
    pools,
    section,
)
from training.worlds.values import Value, listed, pick, written

_SLOT = re.compile(r"\{(\w+)\}")
_CURRENCIES = ("euros", "pounds", "dollars", "euros", "crowns", "francs")


@dataclass(frozen=True)
class Entity:
    """A name and the pronouns that stand for it."""

    name: str
    pronoun: str = "it"

    @property
    def possessive(self) -> str:
        """its, her, his, their."""
        return {"it": "its", "she": "her", "he": "his", "they": "their"}[self.pronoun]

    @property
    def genitive(self) -> str:
        """The name with 's."""
        return f"{self.name}'" if self.name.endswith("s") else f"{self.name}'s"


@dataclass(frozen=True)
class World:
    """Rows are entities, columns attributes; None is a cell that the document does not give."""

    domain: Domain
    entities: tuple[Entity, ...]
    attributes: tuple[Attribute, ...]
    cells: tuple[tuple[Value | None, ...], ...]
    hidden: tuple[tuple[int, int, str], ...] = ()  # cells that are told by way of another entity: row, column, sentence

    def value(self, row: int, column: int) -> Value:
        """The value of a cell that is given."""
        cell = self.cells[row][column]
        assert cell is not None
        return cell

    def put(self, row: int, column: int, value: Value | None) -> World:
        """The world with another value in one cell."""
        rows = [list(r) for r in self.cells]
        rows[row][column] = value
        return replace(self, cells=tuple(tuple(r) for r in rows))

    def swap(self, column: int, row: int, other: int) -> World:
        """Two entities trade their values of one attribute."""
        return self.put(row, column, self.cells[other][column]).put(other, column, self.cells[row][column])

    def exchange(self, row: int, column: int, other: int) -> World:
        """Two attributes of one entity trade their values."""
        return self.put(row, column, self.cells[row][other]).put(row, other, self.cells[row][column])


def fill(template: str, part: Part, rng: random.Random) -> str:
    """A name pattern with its slots filled from the shared pools."""
    return _SLOT.sub(lambda m: pick(rng, section(pools()[m[1]], part)), template)


def entities(domain: Domain, count: int, part: Part, rng: random.Random) -> tuple[Entity, ...]:
    """Different names of one domain; people get the pronoun of their first name."""
    patterns, plain = [n for n in domain.names if "{" in n], [n for n in domain.names if "{" not in n]
    fixed = patterns + list(section(plain, part) if domain.part == "both" else plain)
    found: dict[str, Entity] = {}
    style = pick(rng, fixed)  # one world's names are of one pattern, or all from the fixed list
    choices = [style] if "{" in style else [n for n in fixed if "{" not in n]
    for _ in range(60):
        pronoun = domain.pronoun if domain.pronoun != "person" else pick(rng, ("she", "he"))
        pattern = pick(rng, choices).replace("{first}", f"{{{pronoun}}}")
        name = fill(pattern, part, rng)
        if domain.pronoun != "person" or not any(set(name.split()) & set(other.split()) for other in found):
            found.setdefault(name, Entity(name, pronoun))
        if len(found) == count:
            break
    return tuple(found.values())


def sample(part: Part, rng: random.Random, wants: Sequence[str] = ()) -> World:
    """A world with two to five entities and one to four attributes; ``wants`` are kinds of value that it should have."""
    source = _suitable(part, rng, wants)
    people = entities(source, pick(rng, (2, 2, 3, 3, 3, 4, 5)), part, rng)
    if len(people) < 2:
        return sample(part, rng, wants)
    first = [a for a in source.attributes if not wants or a.kind in wants]
    columns = [pick(rng, first)] if first else []
    others = [a for a in source.attributes if a not in columns]
    columns += rng.sample(others, min(len(others), pick(rng, (0, 1, 1, 2, 2, 3) if len(people) < 4 else (0, 0, 1, 1))))
    currency = pick(rng, _CURRENCIES)
    table = [column_values(a, len(people), currency, rng) for a in columns]
    order = rng.sample(range(len(columns)), len(columns))
    rows = tuple(tuple(table[c][r] for c in order) for r in range(len(people)))
    return World(source, people, tuple(columns[c] for c in order), rows)


def _suitable(part: Part, rng: random.Random, wants: Sequence[str]) -> Domain:
    fitting = [d for d in domains(part) if not wants or any(a.kind in wants for a in d.attributes)]
    return pick(rng, fitting)


def column_values(attribute: Attribute, count: int, currency: str, rng: random.Random) -> list[Value]:
    """One value for each entity: mostly all different; flags are on and off at least once each."""
    if attribute.kind == "list":
        return _lists(attribute, count, rng)
    if attribute.kind == "flag":
        on = rng.sample(range(count), rng.randint(1, count - 1))
        return [Value("flag", float(i in on)) for i in range(count)]
    pool = attribute.pool
    values = rng.sample(pool, count) if len(pool) >= count else [pick(rng, pool) for _ in range(count)]
    if len(set(values)) == 1 and len(pool) > 1:
        values[0] = pick(rng, [v for v in pool if v != values[0]])
    return [replace(v, unit=currency) if v.kind == "money" else v for v in values]


def _lists(attribute: Attribute, count: int, rng: random.Random) -> list[Value]:
    texts = [v.text for v in attribute.pool]
    size = max(1, min(3, len(texts) // count))
    drawn = rng.sample(texts, min(len(texts), size * count))
    groups = [drawn[i * size : (i + 1) * size] or [pick(rng, texts)] for i in range(count)]
    return [Value("list", items=tuple(group)) for group in groups]


def told(template: str, entity: Entity, value: Value | None, rng: random.Random, subject: str | None = None) -> str:
    """A template with its entity and value filled in."""
    shown = pick(rng, written(value)) if value is not None else ""
    name = subject or entity.name
    genitive = entity.possessive if subject else entity.genitive
    text = uncapitalised(template).replace("{s}", genitive).replace("{v}", shown)
    text = text.replace("{e}", name, 1).replace("{e}", entity.name if subject is None else name)
    return text.replace("{p}", entity.possessive).replace("{they}", entity.pronoun)


def uncapitalised(template: str) -> str:
    """The template as it reads inside a sentence."""
    return template if template.startswith(("Dr ", "Saturday", "Sunday")) else template[:1].lower() + template[1:]


def templates(attribute: Attribute, value: Value, document: bool = False) -> tuple[str, ...]:
    """The templates that fit the value: for a flag that is off, the denying ones; in documents with asides, too."""
    if value.kind == "flag" and not value.amount:
        return attribute.denies
    return (*attribute.says, *attribute.asides) if document else attribute.says


def say(
    world: World, row: int, column: int, rng: random.Random, value: Value | None = None, by: int | None = None
) -> str:
    """A sentence that gives a cell; ``value`` puts another value there, ``by`` fixes the template."""
    attribute, shown = world.attributes[column], value or world.value(row, column)
    options = templates(attribute, shown)
    template = options[by % len(options)] if by is not None else pick(rng, options)
    return told(template, world.entities[row], shown, rng)


def names(world: World, rows: Sequence[int]) -> str:
    """The names of some entities: ``A, B and C``."""
    return listed([world.entities[r].name for r in rows])
