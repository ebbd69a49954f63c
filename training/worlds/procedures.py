"""Instructions and lists: which step belongs to which task, in what order, what not to do; in which list an item stands."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from training.worlds.case import REFUTE, WRONG, TextCase
from training.worlds.domains import (
    Part,
    cut,
    lines,
    section,
    sections,
    split,
)
from training.worlds.grammar import filled, sentence
from training.worlds.values import T, listed, pick

_SCAFFOLD = ("step", "dont", "order")


@dataclass(frozen=True)
class Task:
    """Something to do, its gerund, and steps that may belong to it."""

    name: str
    gerund: str
    steps: tuple[str, ...]


@cache
def tasks(part: Part) -> tuple[tuple[Task, Task], ...]:
    """The tasks of one part, two by two as they share their steps."""
    found = []
    for head, rows in sections("procedures").items():
        if head not in _SCAFFOLD:
            names, steps = split(head, "|"), split(rows[0], ";")
            found.append((Task(names[0], names[1], steps), Task(names[2], names[3], steps)))
    return cut(found, part)


def upper(text: str) -> str:
    """First letter up."""
    return text[:1].upper() + text[1:]


def put(template: str, task: Task, step: str, later: str = "") -> str:
    """A claim about one or two steps."""
    slots = {"{t}": task.name, "{g}": task.gerund, "{G}": upper(task.gerund), "{s}": step, "{S}": upper(step),
             "{s1}": step, "{S1}": upper(step), "{s2}": later, "{S2}": upper(later)}  # fmt: skip
    return filled(template, slots)


def _block(task: Task, steps: list[str], style: float) -> str:
    if style < 0.45:
        return "\n".join([f"{upper(task.gerund)}:", *(f"{i}. {sentence(s)}" for i, s in enumerate(steps, 1))])
    if style < 0.6:
        return "\n".join([f"## How to {task.name}", *(f"- {sentence(s)}" for s in steps)])
    if style < 0.8:
        first, *rest = steps
        return " ".join([sentence(f"To {task.name}, {first}"), *(sentence(f"then {s}") for s in rest)])
    if style < 0.9:
        return f"Q: How do I {task.name}?\nA: " + " ".join(sentence(s) for s in steps)
    return sentence(f"When you {task.name}, {'; '.join(steps)}")


def traded(here: Sequence[T], there: Sequence[T], k: int) -> tuple[list[T], list[T]]:
    """Both lists with their k-th members exchanged."""
    return [*here[:k], there[k], *here[k + 1 :]], [*there[:k], here[k], *there[k + 1 :]]


def procedure(part: Part, rng: random.Random) -> TextCase:
    """Two procedures; one step of each trades places."""
    one, two = rng.sample(pick(rng, tasks(part)), 2)
    size, style = rng.randint(2, 4), rng.random()
    drawn = rng.sample(one.steps, 2 * size)
    here, there = drawn[:size], drawn[size:]
    k = rng.randrange(size)
    both = (here, there), traded(here, there, k)
    texts = ["\n\n".join(_block(t, s, style) for t, s in zip((one, two), pair, strict=True)) for pair in both]
    said = pick(rng, lines("procedures", "step", part))
    return TextCase(texts[0], texts[1], put(said, one, here[k]), put(said, one, there[k]), WRONG)


def step_order(part: Part, rng: random.Random) -> TextCase:
    """One procedure; two of its steps trade places."""
    task = pick(rng, pick(rng, tasks(part)))
    steps = rng.sample(task.steps, rng.randint(3, 5))
    i, j = sorted(rng.sample(range(len(steps)), 2))
    turned = steps[:]
    turned[i], turned[j] = steps[j], steps[i]
    style = pick(rng, (0.1, 0.3, 0.7))
    said = pick(rng, lines("procedures", "order", part))
    claims = put(said, task, steps[i], steps[j]), put(said, task, steps[j], steps[i])
    return TextCase(_block(task, steps, style), _block(task, turned, style), claims[0], claims[1], REFUTE)


def advice(part: Part, rng: random.Random) -> TextCase:
    """What to do and what not to do; one of each trades places."""
    task = pick(rng, pick(rng, tasks(part)))
    steps = rng.sample(task.steps, 4)
    positive, negative = (pick(rng, lines("procedures", head, part)) for head in ("step", "dont"))
    texts = []
    seed = rng.randrange(1 << 30)
    for do, avoid in ((steps[0], steps[1]), (steps[1], steps[0])):
        parts = [put(positive, task, do), put(negative, task, avoid), *(sentence(s) for s in steps[2:])]
        order = random.Random(seed).sample(range(4), 4)
        texts.append((" " if seed % 3 else "\n").join(parts[o] for o in order))
    claims = [put(pick(rng, lines("procedures", head, part)), task, steps[0]) for head in ("step", "dont")]
    return TextCase(texts[0], texts[1], claims[0], claims[1], REFUTE)


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
        text, _, rest = split(head, "||")
        subjects, items = split(rest.split("|")[1], ";"), split(rows[0].removeprefix("items:"), ";")
        found.append(Lead(text.rstrip(":"), subjects, items, split(rows[1], "|")))
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
    both = (here, there), traded(here, there, k)
    texts = [_laid(chosen.text, subjects, lists, mark, inline) for lists in both]
    said = pick(rng, chosen.claims)
    claims = [filled(said, {"{x}": subjects[0], "{i}": item}) for item in (here[k], there[k])]
    return TextCase(texts[0], texts[1], claims[0], claims[1], WRONG)


def _laid(text: str, subjects: list[str], lists: Sequence[Sequence[str]], mark: str, inline: bool) -> str:
    blocks = []
    for subject, items in zip(subjects, lists, strict=True):
        head = sentence(text.replace("{x}", subject)).rstrip(".")
        numbered = [f"{i}. {item}" if mark == "1. " else f"{mark}{item}" for i, item in enumerate(items, 1)]
        blocks.append(f"{head}: {listed(items)}." if inline else "\n".join([f"{head}:", *numbered]))
    return ("\n" if inline else "\n\n").join(blocks)
