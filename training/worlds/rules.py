"""Rules: must and may, conditions, exceptions; each document has two rules that trade what makes them differ."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

from training.worlds.case import REFUTE, WRONG, Allowed, TextCase
from training.worlds.domains import (
    Part,
    cut,
    lines,
    section,
    sections,
    split,
)
from training.worlds.grammar import filled, negated_phrase, singular_phrase
from training.worlds.values import pick

_SCAFFOLD = (
    "modes", "duties", "only_if", "claims_if", "claims_unless", "claims_free", "free", "except", "all_in", "claims_group",
    "claims_group_not",
)  # fmt: skip
# what a claim of one modality is where the document has another; pairs that agree or leave it open are not asked
_CLASH: dict[tuple[str, str], Allowed] = {
    ("must", "need not"): REFUTE, ("must", "must not"): REFUTE, ("may", "must"): WRONG, ("may", "must not"): REFUTE,
    ("need not", "must"): REFUTE, ("need not", "must not"): WRONG, ("must not", "must"): REFUTE, ("must not", "may"): REFUTE,
}  # fmt: skip


@dataclass(frozen=True)
class People:
    """Whom a set of rules is about, what they may do, on what conditions, and which groups are special."""

    plural: str
    one: str
    acts: tuple[str, ...]
    conditions: tuple[str, ...]
    groups: tuple[str, ...]


@cache
def peoples(part: Part) -> tuple[People, ...]:
    """The people of one part."""
    found = []
    for name, rows in sections("rules").items():
        fields = dict(row.split(": ", 1) for row in rows if ": " in row and not row.startswith(("{", "there")))
        if name in _SCAFFOLD or "acts" not in fields or fields.get("part", part) != part:
            continue
        shares = [split(fields[key], ";") for key in ("acts", "conditions", "groups")]
        if "part" not in fields:
            shares = [cut(share, part) for share in shares]
        found.append(People(name, fields["one"], *shares))
    return tuple(found)


def wordings(part: Part) -> dict[str, tuple[str, ...]]:
    """The wordings of each modality."""
    rows = (row.split(" = ", 1) for row in sections("rules")["modes"])
    return {mode: section(split(texts, "|"), part) for mode, texts in rows}


def put(template: str, people: People, act: str, condition: str = "", group: str = "") -> str:
    """A rule or a claim about it."""
    single = singular_phrase(condition) if condition else ""
    slots = {
        "{A}": people.plural, "{a}": people.one, "{d}": act, "{g}": group, "{c}": condition, "{C}": single,
        "{n}": negated_phrase(condition) if condition else "", "{N}": negated_phrase(single) if single else "",
    }  # fmt: skip
    return filled(template, slots)


def _document(rules: list[str], people: People, part: Part, rng: random.Random) -> str:
    """Two rules among others, as prose, clauses or a list."""
    duties, modes = cut(split(sections("rules")["duties"][0], "|"), part), wordings(part)
    extra = [put(pick(rng, modes[pick(rng, tuple(modes))]), people, act) for act in rng.sample(duties, 2)]
    texts = [*rules, *extra[: int(rng.random() * 3)]]
    texts = rng.sample(texts, len(texts))
    style = rng.random()
    if style < 0.25:
        start = 1 + int(rng.random() * 8)
        return "\n".join(f"{start}.{i} {t}" for i, t in enumerate(texts, 1))
    if style < 0.45:
        head = pick(rng, ("House rules:", "Please note:", "The rules:", f"What {people.plural} should know:"))
        return "\n".join([head, *(f"- {t}" for t in texts)])
    if style < 0.55:
        return "\n".join(f"{i}. {t}" for i, t in enumerate(texts, 1))
    return " ".join(texts)


def _twins(first: list[str], second: list[str], people: People, part: Part, seed: int) -> list[str]:
    """Two documents alike but for their rules."""
    return [_document(rules, people, part, random.Random(seed)) for rules in (first, second)]


def modality(part: Part, rng: random.Random) -> TextCase | None:
    """Must, may, need not and must not: the two rules of the document trade their modality."""
    people, modes = pick(rng, peoples(part)), wordings(part)
    duties = cut(split(sections("rules")["duties"][0], "|"), part)
    one, two = rng.sample(duties, 2)
    here, there = rng.sample(list(modes), 2)
    wrong = _CLASH.get((there, here)), _CLASH.get((here, there))
    if None in wrong or wrong[0] != wrong[1]:
        return None
    seed = rng.randrange(1 << 30)
    words = [pick(rng, modes[mode]) for mode in (here, there)]
    first, second = ([put(a, people, one), put(b, people, two)] for a, b in (words, words[::-1]))
    texts = _twins(first, second, people, part, seed)
    claims = [put(pick(rng, modes[mode]), people, one) for mode in (here, there)]
    return TextCase(texts[0], texts[1], claims[0], claims[1], wrong[0] or WRONG)


def condition(part: Part, rng: random.Random) -> TextCase:
    """Two acts with a condition each; the conditions trade places."""
    people = pick(rng, peoples(part))
    acts, conditions = rng.sample(people.acts, 2), rng.sample(people.conditions, 2)
    frames, seed = [pick(rng, lines("rules", "only_if", part)) for _ in range(2)], rng.randrange(1 << 30)
    orders = conditions, conditions[::-1]
    first, second = ([put(f, people, a, c) for f, a, c in zip(frames, acts, o, strict=True)] for o in orders)
    texts = _twins(first, second, people, part, seed)
    said = pick(rng, lines("rules", pick(rng, ("claims_if", "claims_unless")), part))
    claims = [put(said, people, acts[0], c) for c in conditions]
    return TextCase(texts[0], texts[1], claims[0], claims[1], WRONG)


def dropped(part: Part, rng: random.Random) -> TextCase:
    """One act has a condition and another has none; the claim drops it, or says what happens without it."""
    people = pick(rng, peoples(part))
    (one, two), needed = rng.sample(people.acts, 2), pick(rng, people.conditions)
    bound, free = pick(rng, lines("rules", "only_if", part)), pick(rng, lines("rules", "free", part))
    orders = (one, two), (two, one)
    first, second = ([put(bound, people, a, needed), put(free, people, b)] for a, b in orders)
    texts = _twins(first, second, people, part, rng.randrange(1 << 30))
    if rng.random() < 0.5:
        claims = [put(pick(rng, lines("rules", "claims_unless", part)), people, act, needed) for act in (one, two)]
        return TextCase(texts[0], texts[1], claims[0], claims[1], REFUTE)
    claims = [put(pick(rng, lines("rules", "claims_free", part)), people, act) for act in (two, one)]
    return TextCase(texts[0], texts[1], claims[0], claims[1], REFUTE)


def exception(part: Part, rng: random.Random) -> TextCase:
    """One act is open to all and the other to all but a group; the claim is about the group."""
    people = pick(rng, peoples(part))
    (one, two), group = rng.sample(people.acts, 2), pick(rng, people.groups)
    bar, open_ = pick(rng, lines("rules", "except", part)), pick(rng, lines("rules", "all_in", part))
    orders = (one, two), (two, one)
    first, second = ([put(bar, people, a, group=group), put(open_, people, b, group=group)] for a, b in orders)
    texts = _twins(first, second, people, part, rng.randrange(1 << 30))
    heads = ("claims_group", "claims_group_not")
    yes, no = (put(pick(rng, lines("rules", head, part)), people, one, group=group) for head in heads)
    return TextCase(texts[0], texts[1], no, yes, REFUTE)
