"""Forms: one small world as prose, list, table, FAQ, e-mail, minutes and so on.

Each form reads random numbers in the same order whatever the values are, so two worlds that differ in one place are
rendered alike when the generator starts from the same seed.
"""

# ruff: noqa: ARG001 - every form has the same signature

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product

from training.worlds.domains import (
    Part,
    pools,
    section,
)
from training.worlds.grammar import clause, filled, negated_phrase, sentence, singular_phrase
from training.worlds.style import dressed, merged
from training.worlds.values import Value, listed, pick, written
from training.worlds.world import World, templates, told

Form = Callable[[World, Part, random.Random], str]
_TURNS = ("", "", "", "", "By contrast, ", "Meanwhile, ", "In turn, ")


def _given(world: World) -> list[tuple[int, int]]:
    places = product(range(len(world.entities)), range(len(world.attributes)))
    return [(r, c) for r, c in places if world.cells[r][c] is not None or _detour(world, r, c)]


def _detour(world: World, row: int, column: int) -> str | None:
    return next((text for r, c, text in world.hidden if (r, c) == (row, column)), None)


def _raw(world: World, row: int, column: int, rng: random.Random, pronoun: bool = False) -> str:
    detour, roll = _detour(world, row, column), rng.random()
    if detour:
        return clause(detour)
    value, entity = world.value(row, column), world.entities[row]
    options = templates(world.attributes[column], value, document=True)
    template = options[int(roll * len(options))]
    standing = template.startswith(("{e} ", "{s} ")) and template.count("{e}") < 2
    return clause(told(template, entity, value, rng, entity.pronoun if pronoun and standing else None))


def by_entity(world: World, part: Part, rng: random.Random) -> str:
    """Prose that goes through the entities; after the first sentence on each a pronoun may stand for it."""
    pronouns, sentences, last = rng.random() < 0.6, [], -1
    for row, column in _given(world):
        turn = pick(rng, _TURNS) if row != last and last >= 0 else ""
        text = _raw(world, row, column, rng, pronouns and row == last)
        sentences.append(sentence(turn + text) if turn else dressed(text, part, rng))
        last = row
    return " ".join(sentences)


def by_pairs(world: World, part: Part, rng: random.Random) -> str:
    """Prose with two facts a sentence, by relative clause or coordination."""
    told_so_far = []
    for row in range(len(world.entities)):
        mine = [c for r, c in _given(world) if r == row]
        while mine:
            first, rest = mine[0], mine[1:]
            pair = bool(rest) and not any(_detour(world, row, c) for c in mine[:2])
            both = merged(world, row, (first, rest[0]), rng) if pair else None
            told_so_far.append(both or dressed(_raw(world, row, first, rng), part, rng))
            mine = rest[1:] if both else rest
    return " ".join(told_so_far)


def by_attribute(world: World, part: Part, rng: random.Random) -> str:
    """Prose that goes through the attributes, by ellipsis where that can be."""
    paragraphs = []
    for column in range(len(world.attributes)):
        rows = [r for r, c in _given(world) if c == column]
        order, compact = rng.sample(rows, len(rows)), rng.random() < 0.6
        text = _compact(world, order, column, rng) if compact else None
        paragraphs.append(text or " ".join(sentence(_raw(world, r, column, rng)) for r in order))
    return " ".join(paragraphs)


def _compact(world: World, rows: list[int], column: int, rng: random.Random) -> str | None:
    attribute, roll = world.attributes[column], rng.random()
    if any(_detour(world, r, column) for r in rows) or len(rows) < 2:
        return None
    if attribute.kind == "flag":
        return _grouped(world, rows, column, rng) if attribute.plural else None
    fitting = [t for t in attribute.says if t.startswith("{e} ") and "{v}" in t and "{s}" not in t and "{p}" not in t]
    if not fitting:
        return None
    template = fitting[int(roll * len(fitting))]
    first = told(template, world.entities[rows[0]], world.value(rows[0], column), rng)
    style = int(rng.random() * len(written(world.value(rows[0], column))))
    rest = [f"{world.entities[r].name} {_written(world.value(r, column), style)}" for r in rows[1:]]
    comma = pick(rng, (", ", ", while for ", "; "))
    if comma == ", while for " and attribute.kind == "choice":
        comma = ", "
    elif comma == ", while for ":
        rest = [f"{world.entities[r].name} it is {_written(world.value(r, column), style)}" for r in rows[1:]]
    return sentence(f"{first.rstrip('.')}{comma}{listed(rest)}")


def _written(value: Value, style: int) -> str:
    forms = written(value)
    return forms[style % len(forms)]


def _grouped(world: World, rows: list[int], column: int, rng: random.Random) -> str:
    """``A and C allow pets, B does not allow pets``: the entities of each side of a flag together."""
    phrase = pick(rng, world.attributes[column].plural)
    sides = [[r for r in rows if bool(world.value(r, column).amount) == on] for on in (True, False)]
    parts = []
    for on, side in zip((True, False), sides, strict=True):
        verb = singular_phrase(phrase) if len(side) == 1 and world.domain.pronoun != "they" else phrase
        if side:
            named = listed([world.entities[r].name for r in side])
            parts.append(f"{named} {verb if on else negated_phrase(verb)}")
    joiner = pick(rng, (", ", ", but ", ". ", "; ", ", whereas "))
    joined = joiner.join(parts[::-1] if rng.random() < 0.4 else parts)
    return " ".join(sentence(p) for p in joined.split(". "))


def shuffled(world: World, part: Part, rng: random.Random) -> str:
    """Prose in no order."""
    cells = _given(world)
    return " ".join(sentence(_raw(world, r, c, rng)) for r, c in rng.sample(cells, len(cells)))


def bullets(world: World, part: Part, rng: random.Random) -> str:
    """A list with a lead-in, a sentence or ``Header: value`` an item."""
    lead = lead_in(world, rng)
    mark, pairs = pick(rng, ("- ", "* ", "• ")), rng.random() < 0.4
    if pairs and not world.hidden:
        lines = [f"{mark}{_bold(world, r, rng)}: {_fields(world, r, rng)}" for r in range(len(world.entities))]
    else:
        lines = [f"{mark}{sentence(_raw(world, r, c, rng))}" for r, c in _given(world)]
    return "\n".join([lead, *lines])


def lead_in(world: World, rng: random.Random) -> str:
    """The line above a list."""
    leads = world.domain.leads or ("The following applies:",)
    text = pick(rng, leads).replace("{n}", str(len(world.entities)))
    return text if text.endswith(":") else text.rstrip(".") + ":"


def _bold(world: World, row: int, rng: random.Random) -> str:
    name = _label(world.entities[row].name)
    return f"**{name}**" if rng.random() < 0.3 else name


def _label(name: str) -> str:
    bare = name[4:] if name.startswith("the ") else name
    return bare[:1].upper() + bare[1:]


def _cell(world: World, row: int, column: int, rng: random.Random) -> str:
    value, roll = world.cells[row][column], rng.random()
    if value is None:
        return "–"
    forms = written(value)
    return forms[int(roll * len(forms))] if value.kind != "count" else forms[0]


def _fields(world: World, row: int, rng: random.Random) -> str:
    texts = [f"{a.header}: {_cell(world, row, c, rng)}" for c, a in enumerate(world.attributes)]
    return "; ".join(t for t in texts if not t.endswith(": –"))


def table(world: World, part: Part, rng: random.Random) -> str:
    """A Markdown table."""
    head = [_label(world.domain.noun), *(a.header for a in world.attributes)]
    rows = [
        [_label(e.name), *(_cell(world, r, c, rng) for c in range(len(world.attributes)))]
        for r, e in enumerate(world.entities)
    ]
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def row_lines(world: World, part: Part, rng: random.Random) -> str:
    """Rows of a table as the product reads them: ``Header: value; Header: value``."""
    noun = _label(world.domain.noun)
    return "\n".join(f"{noun}: {_label(e.name)}; {_fields(world, r, rng)}" for r, e in enumerate(world.entities))


def key_values(world: World, part: Part, rng: random.Random) -> str:
    """Blocks of fields under each name."""
    blocks = []
    for row, entity in enumerate(world.entities):
        fields = _fields(world, row, rng).split("; ")
        blocks.append("\n".join([_label(entity.name), *fields]))
    return "\n\n".join(blocks)


def faq(world: World, part: Part, rng: random.Random) -> str:
    """Questions and answers."""
    marks = pick(rng, (("Q: ", "A: "), ("", ""), ("**", ""), ("Question: ", "Answer: ")))
    cells = _given(world)
    blocks = []
    for row, column in rng.sample(cells, len(cells)):
        asked = question(world, row, column, rng)
        answer = sentence(_raw(world, row, column, rng, pronoun=rng.random() < 0.3))
        blocks.append(f"{marks[0]}{asked}{'**' if marks[0] == '**' else ''}\n{marks[1]}{answer}")
    return "\n".join(blocks)


def question(world: World, row: int, column: int, rng: random.Random) -> str:
    """A question that a cell answers."""
    attribute = world.attributes[column]
    header, entity = attribute.header[:1].lower() + attribute.header[1:], world.entities[row]
    options = attribute.questions or (f"What should I know about {{e}}: {header}?",)
    return filled(pick(rng, options), {"{e}": entity.name, "{s}": entity.genitive})


def email(world: World, part: Part, rng: random.Random) -> str:
    """A message with greeting and signature."""
    people = section(pools()["she"] + pools()["he"], part)
    hello = pick(rng, ("Dear {x},", "Hi {x},", "Hello {x},", "Dear {x}, thank you for your message."))
    hello = hello.replace("{x}", pick(rng, people))
    bye = pick(rng, ("Best wishes,", "Kind regards,", "Thanks,", "See you soon,"))
    intros = "as promised, here are the details. ", "a quick answer to your question. ", "I have looked it up for you. "
    intro = pick(rng, ("", *intros))
    body = by_entity(world, part, rng) if rng.random() < 0.5 else by_attribute(world, part, rng)
    return f"{hello}\n{sentence(intro) + ' ' if intro else ''}{body}\n{bye}\n{pick(rng, people)}"


def dialogue(world: World, part: Part, rng: random.Random) -> str:
    """A customer asks, the staff answer."""
    speakers = pick(rng, (("Customer", "Agent"), ("Caller", "Desk"), ("Visitor", "Staff"), ("User", "Support")))
    cells = _given(world)
    turns = []
    for row, column in rng.sample(cells, len(cells)):
        turns.append(f"{speakers[0]}: {question(world, row, column, rng)}")
        turns.append(f"{speakers[1]}: {sentence(_raw(world, row, column, rng))}")
    return "\n".join(turns)


def minutes(world: World, part: Part, rng: random.Random) -> str:
    """Minutes or a record: numbered items that note the facts."""
    people = section(pools()["surname"], part)
    noted = ("It was noted that", "The chair confirmed that", "It was recorded that", "{x} informed the meeting that")
    lines = []
    for i, (row, column) in enumerate(_given(world), 1):
        frame = pick(rng, noted).replace("{x}", pick(rng, ("Ms ", "Mr ")) + pick(rng, people))
        lines.append(f"{i}. {sentence(f'{frame} {_raw(world, row, column, rng)}')}")
    return "\n".join(lines)


def clauses(world: World, part: Part, rng: random.Random) -> str:
    """Numbered clauses of a policy or a contract."""
    chapter, start = 1 + int(rng.random() * 12), 1 + int(rng.random() * 4)
    texts = [sentence(_raw(world, r, c, rng)) for r, c in _given(world)]
    return "\n".join(f"{chapter}.{start + i} {text}" for i, text in enumerate(texts))


TELLING: tuple[Form, ...] = (
    by_entity, by_entity, by_entity, by_pairs, by_pairs, by_pairs, by_attribute, by_attribute, by_attribute,
    shuffled, bullets, faq, email, dialogue, minutes, clauses,
)  # fmt: skip
GRID: tuple[Form, ...] = (table, table, row_lines, row_lines, key_values)
WHOLE = (email, dialogue)  # forms that stand alone, with nothing before or after
