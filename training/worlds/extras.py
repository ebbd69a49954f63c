"""Extra details: a claim adds to a fact what the document says of another entity, or of this one."""

from __future__ import annotations

import random
from dataclasses import replace

from training.worlds.case import OPEN, TextCase
from training.worlds.claims import VALUED, columns
from training.worlds.domains import (
    Part,
    lines,
)
from training.worlds.forms import by_entity, by_pairs, shuffled
from training.worlds.grammar import clause, filled, sentence
from training.worlds.style import phrase, relative, surrounded
from training.worlds.values import pick
from training.worlds.world import World, sample, say


def extra(part: Part, rng: random.Random) -> TextCase | None:
    """The claim's detail is told of its entity in one document, of another entity in the twin."""
    for _ in range(20):
        world = sample(part, rng, VALUED)
        if world.domain.pronoun == "they" or world.domain.name == "setting" or len(world.entities) > 4:
            continue
        column = pick(rng, columns(world, VALUED))
        details = lines("extras", "person" if world.domain.pronoun == "person" else "thing", part)
        if len(details) < 2:
            return None
        detail, other = rng.sample(details, 2)
        i, j = rng.sample(range(len(world.entities)), 2)
        claims = _claim(world, i, column, detail, part, rng), _claim(world, i, column, other, part, rng)
        if claims[0] and claims[1]:
            seed = rng.randrange(1 << 30)
            texts = [_told(world, pair, part, seed) for pair in ({i: detail, j: other}, {j: detail, i: other})]
            return TextCase(texts[0], texts[1], claims[0], claims[1], OPEN)
    return None


def _told(world: World, details: dict[int, str], part: Part, seed: int) -> str:
    rng = random.Random(seed)
    form = pick(rng, (by_entity, by_pairs, shuffled))
    order = sorted(details) if rng.random() < 0.5 else sorted(details, reverse=True)
    text = form(world, part, rng)
    told = [sentence(details[row].replace("{e}", world.entities[row].name)) for row in order]
    parts = [told[0], text, told[1]] if rng.random() < 0.5 else [text, *told]
    return surrounded(" ".join(parts), replace(world.domain, notes=()), part, rng)


def _claim(world: World, row: int, column: int, detail: str, part: Part, rng: random.Random) -> str:
    entity, join = world.entities[row], pick(rng, lines("extras", "joins", part))
    if rng.random() < 0.3:
        return sentence(detail.replace("{e}", entity.name))
    fact = clause(say(world, row, column, rng))
    verbal = phrase(world, row, column, rng) if "{f}" in join else ""
    if verbal is None or ("{f}" in join and world.attributes[column].asides):
        return ""
    predicate = detail.replace("{e} ", "")
    subject = "" if "{w}" in join else f"{entity.pronoun} "
    slots = {"{F}": fact, "{E}": entity.name, "{w}": relative(entity), "{f}": verbal, "{p}": subject + predicate}
    return filled(join, slots)
