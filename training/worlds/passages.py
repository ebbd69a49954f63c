"""What stands around the facts: headings, sentences about other things, other passages, changes of style."""

from __future__ import annotations

import random

from training.worlds.domains import Domain, Part, domains
from training.worlds.grammar import sentence
from training.worlds.values import pick

_PATH_MARKS = (" > ", " › ", " / ")


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
    return f"{top}{pick(rng, _PATH_MARKS)}{title}:\n"


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
