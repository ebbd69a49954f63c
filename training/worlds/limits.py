"""Limits: up to, at least, no more than; the claim is a case that one of two limits lets pass and the other does not."""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import cache

from training.worlds.case import REFUTE, TextCase
from training.worlds.domains import (
    Part,
    read,
    section,
    split,
)
from training.worlds.grammar import sentence
from training.worlds.values import pick, spelled

_PAIRS, _ANY = 2, 10  # the last so many qualifiers also suit things
_PERSONS = (
    "readers", "passengers", "guests", "patients", "members", "pupils", "employees", "users", "applicants", "tenants", "children",
)  # fmt: skip


@dataclass(frozen=True)
class Limit:
    """A rule with a number; ``upward`` means that the number must be reached, ``open`` that it is itself outside."""

    people: str
    rule: str
    passes: str
    fails: str
    low: int
    high: int
    upward: bool
    open: bool

    def allows(self, bound: int, case: int) -> bool:
        """Whether a case is inside the limit."""
        if case == bound:
            return not self.open
        return (case > bound) == self.upward


@cache
def limits(part: Part) -> tuple[Limit, ...]:
    """The limits of one part."""
    rows = [row for row in read("limits").splitlines() if row.count(" | ") == 4 and row[0] != "#"]
    found = []
    for row in section(rows, part):
        people, rule, passes, fails, span = split(row, " | ")
        low, high = (int(n) for n in span.split("-"))
        upward, outside = "*" in passes, passes.endswith("-")
        found.append(Limit(people, rule, passes.rstrip("*-"), fails.rstrip("*-"), low, high, upward, outside))
    return tuple(found)


@cache
def qualifiers() -> tuple[tuple[str, ...], ...]:
    """Pairs of groups that a rule may tell apart."""
    words = split(read("limits").split("== qualifiers\n")[1], ";")
    return tuple(tuple(words[i : i + _PAIRS]) for i in range(0, len(words), _PAIRS))


def limit(part: Part, rng: random.Random) -> TextCase | None:
    """Two groups with a limit each; the limits trade places."""
    rule = pick(rng, limits(part))
    pair = pick(rng, qualifiers() if rule.people in _PERSONS else qualifiers()[-_ANY // _PAIRS :])
    low, high = sorted(rng.sample(range(rule.low, rule.high + 1), 2))
    cases = [k for k in range(max(1, low - 1), high + 2) if rule.allows(low, k) != rule.allows(high, k)]
    if not cases:
        return None
    case = pick(rng, cases)
    loose, tight = (low, high) if rule.allows(low, case) else (high, low)
    group, other = rng.sample(pair, 2)
    style = rng.random() < 0.5
    orders = (loose, tight), (tight, loose)
    texts = [_told(rule, [(group, a), (other, b)], random.Random(17 + case), style) for a, b in orders]
    shown = spelled(case) if rng.random() < 0.5 else str(case)
    claims = [sentence(f"{rule.people} {group} {text.replace('{k}', shown)}") for text in (rule.passes, rule.fails)]
    return TextCase(texts[0], texts[1], claims[0], claims[1], REFUTE)


def _told(rule: Limit, bounds: list[tuple[str, int]], rng: random.Random, words: bool) -> str:
    texts = [
        f"{rule.people} {group} {rule.rule.replace('{n}', spelled(n) if words else str(n))}" for group, n in bounds
    ]
    order = rng.sample(texts, 2)
    joint = pick(rng, (". ", "; ", ", while ", ", whereas ", "\n- "))
    if joint == "\n- ":
        return "Please note:\n" + "\n".join(f"- {sentence(t)}" for t in order)
    return " ".join(sentence(part) for part in joint.join(order).split(". "))
