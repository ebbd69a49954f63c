"""Longer sentences: two facts in one, by relative clause or coordination, and words that frame a fact without changing it."""

from __future__ import annotations

import random

from training.worlds.domains import Part
from training.worlds.grammar import clause, sentence
from training.worlds.textfiles import lines
from training.worlds.values import pick
from training.worlds.world import Entity, World, templates, told

_LINKS = (
    " and ",
    " and ",
    ", and ",
    ", and {it} ",
    "; {it} ",
    "; besides, {it} ",
    " and, besides, ",
    ", and at the same time {it} ",
)


def phrase(world: World, row: int, column: int, rng: random.Random) -> str | None:
    """The verb phrase of a sentence about a cell whose subject is the entity; None where no wording starts with it."""
    roll, value, entity = rng.random(), world.value(row, column), world.entities[row]
    options = [
        t
        for t in templates(world.attributes[column], value)
        if t.startswith("{e} ") and t.count("{e}") == 1 and "{s}" not in t
    ]
    text = told(options[int(roll * len(options))], entity, value, rng) if options else told("{e}", entity, None, rng)
    return clause(text)[len(entity.name) + 1 :] or None


def relative(entity: Entity) -> str:
    """who or which."""
    return (
        "who"
        if entity.pronoun in ("she", "he") or entity.name.split()[0] in ("patients", "people", "children", "older")
        else "which"
    )


def merged(world: World, row: int, columns: tuple[int, int], rng: random.Random) -> str | None:
    """Two cells of one entity in one sentence."""
    entity, roll, link = world.entities[row], rng.random(), pick(rng, _LINKS)
    one, two = (phrase(world, row, c, rng) for c in columns)
    if not one or not two:
        return None
    if roll < 0.45:
        return sentence(f"{entity.name}, {relative(entity)} {one}, {two}")
    if "{it}" in link:
        link = link.replace("{it}", entity.pronoun)
    return sentence(f"{entity.name} {one}{link}{two}")


def dressed(text: str, part: Part, rng: random.Random) -> str:
    """A clause as a sentence, now and then with an opener or a tail; ``text`` starts in lower case unless it is a name."""
    roll, opener, tail = (
        rng.random(),
        pick(rng, lines("style", "openers", part)),
        pick(rng, lines("style", "tails", part)),
    )
    if roll < 0.1:
        return sentence(f"{opener} {text}")
    if roll < 0.16 and not text.endswith("."):
        return sentence(text + tail)
    return sentence(text)


def claimed(claims: tuple[str, str], part: Part, rng: random.Random) -> tuple[str, str]:
    """Both claims of a minimal pair with the same opener, now and then."""
    if rng.random() > 0.06 or not all(c and c[0].isupper() and c.startswith(_SAFE) for c in claims):
        return claims
    opener = pick(rng, lines("style", "claim_openers", part))
    one, two = (sentence(f"{opener} {c[:1].lower()}{c[1:]}") for c in claims)
    return one, two


_SAFE = ("The ", "It ", "All ", "Most ", "None ", "A ", "Only the ", "Guests ", "In ", "There ", "At ")
