"""Who did what to whom: active, passive and converse verbs, with the two roles exchanged."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

from training.worlds.case import REFUTE, WRONG, Allowed, TextCase
from training.worlds.domains import (
    Part,
    cut,
    pools,
    section,
    sections,
    split,
)
from training.worlds.grammar import sentence
from training.worlds.values import pick

_MUTUAL = ("visit", "invite", "accuse", "sue", "praise", "nominate", "rescue", "supply", "owe")  # both ways can be true
_FIRMS = ("acquire", "supply", "sue")
_WOMEN = ("parent",)


@dataclass(frozen=True)
class Relation:
    """An act between two, with the wordings that keep the roles."""

    name: str
    things: tuple[str, ...]
    wordings: tuple[str, ...]

    @property
    def wrong(self) -> Allowed:
        """The label of the claim with exchanged roles."""
        return WRONG if self.name in _MUTUAL else REFUTE


@cache
def relations(part: Part) -> tuple[Relation, ...]:
    """The relations of one part; some are for development alone."""
    found = []
    for name, lines in sections("roles").items():
        own = next((line[6:] for line in lines if line.startswith("part: ")), "both")
        listed = next((line[7:] for line in lines if line.startswith("things:")), "")
        wordings = tuple(line for line in lines if "{a}" in line or "{s:a}" in line)
        if own == "both":
            things, wordings = cut(split(listed, "|"), part), section(wordings, part)
        elif own == part:
            things = split(listed, "|")
        if own in ("both", part) and wordings:
            found.append(Relation(name, things, wordings))
    return tuple(found)


def people(relation: Relation, part: Part, rng: random.Random, count: int) -> list[str]:
    """Different names that suit a relation: firms, women, or people with or without a first name."""
    if relation.name in _FIRMS and rng.random() < 0.8:
        return rng.sample(section(pools()["company"], part), count)
    surnames = rng.sample(section(pools()["surname"], part), count)
    firsts = rng.sample(section(pools()["she"] + (() if relation.name in _WOMEN else pools()["he"]), part), count)
    style = rng.random()
    if style < 0.35:
        return firsts
    if style < 0.75:
        return [f"{f} {s}" for f, s in zip(firsts, surnames, strict=True)]
    titles = ("Ms",) if relation.name in _WOMEN else ("Ms", "Mr", "Dr", "Professor")
    return [f"{pick(rng, titles)} {s}" for s in surnames]


def worded(template: str, a: str, b: str, thing: str) -> str:
    """A wording with its two parts and its thing."""
    text = template.replace("{a}", a).replace("{b}", b).replace("{t}", thing)
    for slot, name in (("{s:a}", a), ("{s:b}", b)):
        text = text.replace(slot, f"{name}'" if name.endswith("s") else f"{name}'s")
    return sentence(text)


def roles(part: Part, rng: random.Random) -> TextCase:
    """Roles exchanged in the document, or in the claim; often beside another act between other people."""
    relation = pick(rng, relations(part))
    a, b, c, d = people(relation, part, rng, 4)
    thing = pick(rng, relation.things)
    document, said = pick(rng, relation.wordings), pick(rng, relation.wordings)
    other, second_thing = pick(rng, relations(part)), rng.random()
    around = []
    for x, y in ((c, d), (b, c), (d, a))[: int(second_thing * 4)]:
        if other.name not in (relation.name, *_FIRMS, *_WOMEN):
            around.append(worded(pick(rng, other.wordings), x, y, pick(rng, other.things)))
    where = rng.randrange(len(around) + 1)
    texts = [" ".join([*around[:where], worded(document, *pair, thing), *around[where:]]) for pair in ((a, b), (b, a))]
    return TextCase(texts[0], texts[1], worded(said, a, b, thing), worded(said, b, a, thing), relation.wrong)


def chain(part: Part, rng: random.Random) -> TextCase | None:
    """The same thing passes from hand to hand; the claim names one step."""
    relation = pick(rng, [r for r in relations(part) if r.name in ("sell", "lend", "give", "teach", "beat", "succeed")])
    a, b, c = people(relation, part, rng, 3)
    thing = pick(rng, relation.things)
    plain = [w for w in relation.wordings if w.startswith(("{a} ", "{b} "))] or list(relation.wordings)
    wordings = [pick(rng, plain) for _ in range(2)]
    then = pick(rng, ("", "Later, ", "Some time afterwards, ", "The next year, "))

    def story(x: str, y: str, z: str) -> str:
        step = worded(wordings[1], y, z, thing)
        return f"{worded(wordings[0], x, y, thing)} {then + _inner(step) if then else step}"

    said = pick(rng, relation.wordings)
    claim, counter = worded(said, b, c, thing), worded(said, b, a, thing)
    return TextCase(story(a, b, c), story(c, b, a), claim, counter, WRONG)


def _inner(text: str) -> str:
    return text[:1].lower() + text[1:] if text.startswith(("The ", "It ", "A ", "Two ", "An ")) else text
