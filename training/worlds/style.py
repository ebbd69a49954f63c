"""Around the facts: two in one sentence, words that frame one, headings, sentences about other things."""

from __future__ import annotations

import random

from training.worlds.domains import (
    Domain,
    Part,
    domains,
    lines,
)
from training.worlds.grammar import clause, sentence
from training.worlds.values import pick
from training.worlds.world import Entity, World, templates, told

_LINKS = (
    " and ", " and ", ", and ", ", and {it} ", "; {it} ", "; besides, {it} ", " and, besides, ", ", and at the same time {it} ",
)  # fmt: skip
_SAFE = ("The ", "It ", "All ", "Most ", "None ", "A ", "Only the ", "Guests ", "In ", "There ", "At ")


def phrase(world: World, row: int, column: int, rng: random.Random) -> str | None:
    """The verb phrase of a sentence about a cell whose subject is the entity; None where no wording starts with it."""
    roll, value, entity = rng.random(), world.value(row, column), world.entities[row]
    every = templates(world.attributes[column], value)
    options = [t for t in every if t.startswith("{e} ") and t.count("{e}") == 1 and "{s}" not in t]
    text = told(options[int(roll * len(options))], entity, value, rng) if options else told("{e}", entity, None, rng)
    return clause(text)[len(entity.name) + 1 :] or None


def relative(entity: Entity) -> str:
    """who or which."""
    people = entity.name.split()[0] in ("patients", "people", "children", "older")
    return "who" if people or entity.pronoun in ("she", "he") else "which"


def merged(world: World, row: int, columns: tuple[int, int], rng: random.Random) -> str | None:
    """Two cells of one entity in one sentence."""
    entity, roll, link = world.entities[row], rng.random(), pick(rng, _LINKS)
    one, two = (phrase(world, row, c, rng) for c in columns)
    if not one or not two:
        return None
    if roll < 0.45:
        return sentence(f"{entity.name}, {relative(entity)} {one}, {two}")
    return sentence(f"{entity.name} {one}{link.replace('{it}', entity.pronoun)}{two}")


def dressed(text: str, part: Part, rng: random.Random) -> str:
    """A clause as a sentence, now and then with an opener or a tail; ``text`` starts in lower case unless it is a name."""
    roll = rng.random()
    opener, tail = (pick(rng, lines("style", head, part)) for head in ("openers", "tails"))
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


def heading(domain: Domain, rng: random.Random) -> str:
    """A heading or a heading path, or nothing."""
    roll, titles = rng.random(), domain.titles or ("Information",)
    title = pick(rng, titles)
    if roll < 0.62:
        return ""
    if roll < 0.74:
        return f"## {title}\n"
    if roll < 0.88:
        return f"{title}\n"
    top = pick(rng, ("Help", "Handbook", "Information", "Service", "Guide", "About us"))
    return f"{top}{pick(rng, (' > ', ' › ', ' / '))}{title}:\n"


def others(domain: Domain, part: Part, rng: random.Random, most: int = 3) -> list[str]:
    """Sentences about other things, of this domain and now and then of another."""
    count = pick(rng, (0, 0, 0, 1, 1, 2, most))
    notes = list(domain.notes)
    if rng.random() < 0.2:
        notes += list(pick(rng, domains(part)).notes)
    return [sentence(n) for n in rng.sample(notes, min(count, len(notes)))]


def surrounded(text: str, domain: Domain, part: Part, rng: random.Random) -> str:
    """The text with a heading above and other sentences before and after."""
    extra = others(domain, part, rng)
    cut = int(rng.random() * (len(extra) + 1))
    joint = "\n" if "\n" in text else " "
    body = joint.join([*extra[:cut], text, *extra[cut:]])
    return heading(domain, rng) + body
