"""Pairs of every kind: ``build(kind, count, seed, part)``."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import islice

from training.pairs import KindPair
from training.worlds import (  # fmt: skip
    amounts,
    calendars,
    claims,
    comparing,
    extras,
    frames,
    hops,
    limits,
    order,
    procedures,
    quantifying,
    roles,
    rules,
)
from training.worlds.case import SUPPORT, Allowed, Case, TextCase
from training.worlds.domains import (
    Part,
)
from training.worlds.forms import GRID, TELLING, WHOLE
from training.worlds.style import claimed, surrounded
from training.worlds.values import pick
from training.worlds.world import World

Maker = Callable[[Part, random.Random], Case | TextCase | None]
_PATIENCE = 200  # so many failures in a row mean that the part has no words for the kind
_WORDS = 130  # longer premises would lose their end in training

KINDS: dict[str, tuple[Maker, float]] = {
    "neighbour": (claims.neighbour, 3),
    "own_value": (claims.own_value, 1.5),
    "reworded": (claims.reworded, 3),
    "negation": (claims.negation, 2),
    "flag": (claims.flag, 3),
    "joined": (claims.joined, 1.5),
    "two_entities": (claims.two_entities, 1.5),
    "unstated": (claims.unstated, 2),
    "listing": (claims.listing, 1.5),
    "alike": (claims.alike, 1),
    "comparison": (comparing.comparison, 3),
    "superlative": (comparing.superlative, 1.5),
    "quantifier": (quantifying.quantifier, 2),
    "counting": (quantifying.counting, 1.5),
    "detour": (comparing.detour, 1),
    "roles": (roles.roles, 3),
    "chain": (roles.chain, 1),
    "order": (order.order, 1.5),
    "cause": (order.cause, 1.5),
    "triple": (order.triple, 1),
    "which_cause": (order.which_cause, 0.5),
    "mention": (frames.mention, 3),
    "contrast": (frames.contrast, 1.5),
    "mentioned_roles": (frames.mentioned_roles, 1),
    "modality": (rules.modality, 2),
    "condition": (rules.condition, 1.5),
    "dropped": (rules.dropped, 1.5),
    "exception": (rules.exception, 1.5),
    "limit": (limits.limit, 1.5),
    "hop": (hops.hop, 1.5),
    "lead": (procedures.lead, 1),
    "extra": (extras.extra, 1.5),
    "procedure": (procedures.procedure, 1),
    "step_order": (procedures.step_order, 1),
    "advice": (procedures.advice, 1),
    "calendar": (calendars.calendar, 1.5),
    "amount": (amounts.amount, 1.5),
}


def rendered(world: World, part: Part, seed: int) -> str:
    """One world as a document; the same seed gives the same form, templates and surroundings."""
    rng = random.Random(seed)
    grid = rng.random() < 0.28 and not world.hidden
    form = pick(rng, GRID) if grid else pick(rng, TELLING)
    text = form(world, part, rng)
    return text if form in WHOLE else surrounded(text, world.domain, part, rng)


def _texts(case: Case | TextCase, part: Part, rng: random.Random) -> TextCase:
    if isinstance(case, TextCase):
        return case
    seed = rng.randrange(1 << 30)
    first, second = rendered(case.first, part, seed), rendered(case.second, part, seed)
    claim, counter = claimed((case.claim, case.counter), part, rng)
    return TextCase(first, second, claim, counter, case.wrong)


def _members(case: TextCase, rng: random.Random) -> list[tuple[str, str, Allowed]]:
    """Two pairs that share the claim or the premise, with different labels."""
    sides = [(case.first, case.claim, case.second, case.counter), (case.second, case.counter, case.first, case.claim)]
    premise, claim, other, counter = pick(rng, sides) if case.counter else sides[0]
    if rng.random() < 0.5 or not case.counter:
        return [(premise, claim, SUPPORT), (other, claim, case.wrong)]
    return [(premise, claim, SUPPORT), (premise, counter, case.wrong)]


def _usable(case: TextCase) -> bool:
    short = all(len(text.split()) <= _WORDS for text in (case.first, case.second))
    return short and case.first != case.second and case.claim != case.counter and case.claim not in ("", case.first)


def minimal_pairs(kind: str, part: Part, rng: random.Random, tag: str) -> Iterator[tuple[KindPair, KindPair]]:
    """Minimal pairs of one kind, as many as can be made."""
    number = idle = 0
    while idle < _PATIENCE:
        case = KINDS[kind][0](part, rng)
        text = _texts(case, part, rng) if case else None
        if text is None or not _usable(text):
            idle += 1
            continue
        twin = f"{kind}-{tag}-{number}"
        one, two = (KindPair(p, h, allowed, "worlds", kind, twin) for p, h, allowed in _members(text, rng))
        yield one, two
        number, idle = number + 1, 0


def quotas(count: int) -> dict[str, int]:
    """How many minimal pairs of each kind make ``count`` pairs."""
    total = sum(weight for _, weight in KINDS.values())
    return {kind: max(1, round(count / 2 * weight / total)) for kind, (_, weight) in KINDS.items()}


def build(kind: str | None, count: int, seed: int, part: Part) -> Iterator[KindPair]:
    """``count`` pairs of one kind, or of all kinds by their weights; the same seed gives the same pairs."""
    wanted = {kind: count // 2} if kind else quotas(count)
    seen: set[tuple[str, str]] = set()
    for name, many in wanted.items():
        source = minimal_pairs(name, part, random.Random(f"{seed}-{part}-{name}"), f"{part[:1]}{seed}")
        for pair in islice(source, 20 * many):  # a kind that runs out of new pairs gives fewer
            if many == 0:
                break
            keys = {(p.premise, p.hypothesis) for p in pair}
            if not keys & seen:
                seen |= keys
                many -= 1
                yield from pair
