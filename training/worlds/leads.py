"""The lead-in of a list, twice: in which of two lists an item stands."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

from training.worlds.case import WRONG, TextCase
from training.worlds.domains import Part, section
from training.worlds.grammar import sentence
from training.worlds.textfiles import cut, sections
from training.worlds.values import listed, pick


@dataclass(frozen=True)
class Lead:
    """A lead-in, what it can be about, what can stand in its list, and claims about one item."""

    text: str
    subjects: tuple[str, ...]
    items: tuple[str, ...]
    claims: tuple[str, ...]


@cache
def leads(part: Part) -> tuple[Lead, ...]:
    """The lead-ins of one part; the last is for development."""
    found = []
    for head, rows in sections("lists").items():
        text, _, rest = (field.strip() for field in head.split("||"))
        subjects = tuple(s.strip() for s in rest.split("|")[1].split(";"))
        items = tuple(i.strip() for i in rows[0].removeprefix("items:").split(";"))
        found.append(Lead(text.rstrip(":"), subjects, items, tuple(c.strip() for c in rows[1].split("|"))))
    chosen = found[-2:] if part == "development" else found[:-1]
    return tuple(Lead(x.text, cut(x.subjects, part), cut(x.items, part), section(x.claims, part)) for x in chosen)


def lead(part: Part, rng: random.Random) -> TextCase | None:
    """Two lead-ins with their lists; one item of each trades places."""
    chosen = pick(rng, leads(part))
    size = min(3, len(chosen.items) // 2)
    if len(chosen.subjects) < 2 or size < 1:
        return None
    subjects = rng.sample(chosen.subjects, 2)
    drawn = rng.sample(chosen.items, 2 * size)
    here, there = drawn[:size], drawn[size:]
    k, inline, mark = rng.randrange(size), rng.random() < 0.3, pick(rng, ("- ", "* ", "• ", "1. "))
    turned = [[*here[:k], there[k], *here[k + 1 :]], [*there[:k], here[k], *there[k + 1 :]]]
    texts = [_laid(chosen.text, subjects, lists, mark, inline) for lists in ([here, there], turned)]
    said = pick(rng, chosen.claims)
    claims = [sentence(said.replace("{x}", subjects[0]).replace("{i}", item)) for item in (here[k], there[k])]
    return TextCase(texts[0], texts[1], claims[0], claims[1], WRONG)


def _laid(text: str, subjects: list[str], lists: list[list[str]], mark: str, inline: bool) -> str:
    blocks = []
    for subject, items in zip(subjects, lists, strict=True):
        head = sentence(text.replace("{x}", subject)).rstrip(".")
        numbered = [f"{i}. {item}" if mark == "1. " else f"{mark}{item}" for i, item in enumerate(items, 1)]
        blocks.append(f"{head}: {listed(items)}." if inline else "\n".join([f"{head}:", *numbered]))
    return ("\n" if inline else "\n\n").join(blocks)
