"""Rule-based sentences and edits. ``templates/`` was written for this project: no text of any data set is in it."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

Rng = random.Random

_FOLDER = Path(__file__).parent / "templates"


def lines(name: str) -> tuple[str, ...]:
    """The templates of one file, one a line."""
    return tuple((_FOLDER / f"{name}.txt").read_text(encoding="utf-8").splitlines())


def read_json(name: str) -> Any:
    """One JSON file of the templates folder."""
    return json.loads((_FOLDER / f"{name}.json").read_text(encoding="utf-8"))


LEXICON = read_json("lexicon")
OPENERS, REPORTS = (tuple(f"{line} " for line in lines(name)) for name in ("openers", "reports"))
REMARKS, GENERIC = lines("remarks"), lines("generic")
FIRST_NAMES, CITIES = tuple(LEXICON["first_names"]), tuple(LEXICON["cities"])
SUBJECTS = tuple(LEXICON["subjects"])

_NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*(?![\w-]|\.\d)")
NAME = re.compile(r"\b[A-Z][\w'’-]*(?: (?:of |the |de )?[A-Z][\w'’-]*)*")
_WORD_NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve")
_OPPOSITES: dict[str, str] = LEXICON["opposites"]
_AUXILIARY = re.compile(r"\b(is|was|are|were|has|had|can|will|did|does|could)\b(?! not|n't)")


def lower(text: str) -> str:
    """Chat style: lower case, some final stops gone."""
    return text.lower().rstrip(".") if len(text) % 2 else text.lower()


def uncapitalised(text: str) -> str:
    """First letter lowered when the sentence starts with a function word, so that an opener can go before it."""
    opens = text.split(" ", 1)[0] in {"The", "It", "He", "She", "They", "There", "In", "A", "An", "This"}
    return text[:1].lower() + text[1:] if opens else text


def opened(text: str, rng: Rng) -> str:
    """The claim as a chat answer: content and label unchanged."""
    return rng.choice(OPENERS) + uncapitalised(text)


def reported(text: str, rng: Rng) -> str:
    """The claim as somebody's statement: label unchanged."""
    return rng.choice(REPORTS) + uncapitalised(text)


def change_number(text: str, rng: Rng) -> str | None:
    """Another year, count or amount."""
    found = list(_NUMBER.finditer(text))
    if not found:
        words = [w for w in _WORD_NUMBERS if re.search(rf"\b{w}\b", text)]
        if not words:
            return None
        other = rng.choice([w for w in _WORD_NUMBERS if w not in words])
        return re.sub(rf"\b{words[0]}\b", other, text, count=1)
    match = rng.choice(found)
    value = int(match.group().replace(",", ""))
    is_year = 1000 < value < 2100
    shift = rng.choice([1, 2, 3, 7, 10, 12, 20, 40] if is_year else [0.3, 0.5, 1, 2])
    shift = int(shift) if is_year else max(1, round(value * shift))
    changed = value + shift * rng.choice([-1, 1])
    return f"{text[: match.start()]}{changed if changed > 0 else value + shift}{text[match.end() :]}"


def swap_names(text: str, rng: Rng) -> str | None:
    """Two names of the sentence trade places: roles reversed."""
    names = [m for m in NAME.finditer(text) if m.start() > 0 or " " in m.group()]
    if len(names) < 2:
        return None
    a, b = sorted(rng.sample(names, 2), key=lambda m: m.start())
    return text[: a.start()] + b.group() + text[a.end() : b.start()] + a.group() + text[b.end() :]


def replace_name(text: str, rng: Rng, others: Sequence[str]) -> str | None:
    """The last name of the sentence (the object, mostly) becomes a name from elsewhere."""
    names = [m for m in NAME.finditer(text) if m.start() > 0]
    choices = [n for n in others if n not in text]
    if not names or not choices:
        return None
    last = names[-1]
    return text[: last.start()] + rng.choice(choices) + text[last.end() :]


def negate(text: str, rng: Rng) -> str | None:
    """Insert or drop a negation at the first auxiliary."""
    if re.search(r"\b(not|never)\b", text):
        return re.sub(r"\b(not|never) ", "", text, count=1)
    match = _AUXILIARY.search(text)
    if match is None:
        return None
    word = rng.choice(["not", "not", "never"]) if match.group() in {"has", "had", "was"} else "not"
    return f"{text[: match.end()]} {word}{text[match.end() :]}"


def flip_word(text: str, rng: Rng) -> str | None:
    """An opposite or another kind in place of one word."""
    words = [w for w in _OPPOSITES if re.search(rf"\b{w}\b", text)]
    if not words:
        return None
    word = rng.choice(words)
    return re.sub(rf"\b{word}\b", _OPPOSITES[word], text, count=1)


def falsified(text: str, rng: Rng, others: Sequence[str]) -> str | None:
    """A supported claim made false by one small edit, or None where no edit is safe."""
    edits: list[Callable[[str, Rng], str | None]] = [
        change_number, flip_word, partial(replace_name, others=others), swap_names, negate,
    ]  # fmt: skip
    for edit in rng.sample(edits, len(edits)) if rng.random() < 0.5 else edits:
        changed = edit(text, rng)
        if changed and changed != text:
            return changed
    return None


# --- people: what a speaker says of itself, of somebody else, and across turns -------------------------------------


@dataclass(frozen=True)
class Trait:
    """A fact about a person that has one value at a time: ``forms`` say the same, ``denials`` the opposite."""

    forms: tuple[str, ...]
    values: tuple[str, ...]
    denials: tuple[str, ...]
    exclusive: bool


# {s}: subject; {v}: value; <a|b>: first person | third person.
TRAITS = tuple(
    Trait(tuple(raw["forms"]), tuple(raw["values"]), tuple(raw["denials"]), raw["exclusive"])
    for raw in read_json("traits")
)


def render(form: str, subject: str, value: str = "") -> str:
    """Fill a persona form for a subject: ``<first|third>`` picks the verb, {s} {p} {o} {o2} the pronouns."""
    first = subject == "I"
    text = re.sub(r"<([^|>]*)\|([^>]*)>", r"\1" if first else r"\2", form)
    owner, again, other = ("My", "I", "me") if first else (f"{subject}'s", "they", "them")
    slots = {"{s}": subject, "{p}": owner, "{o2}": again, "{o}": other, "{v}": value}
    for slot, word in (slots | {f" a {vowel}": f" an {vowel}" for vowel in "aeo"}).items():
        text = text.replace(slot, word)
    return text


def person(rng: Rng) -> str:
    """A subject for a persona sentence."""
    return rng.choice(SUBJECTS).replace("{name}", rng.choice(FIRST_NAMES))


def persona_pair(rng: Rng) -> tuple[str, str, int]:
    """A premise about a person, a hypothesis about the same person, and the verifier label (0, 1 or 2).

    Premise and hypothesis may use different grammatical persons for the same speaker ("I", "The assistant").
    """
    trait = rng.choice(TRAITS)
    subject = person(rng)
    other = rng.choice(["The assistant", "The wizard"]) if subject == "I" and rng.random() < 0.4 else subject
    value = rng.choice(trait.values)
    first = render(rng.choice(trait.forms), subject, value)
    label = rng.choice([0, 1, 1, 2])
    if label == 0:
        second = render(rng.choice(trait.forms), other, value)
    elif label == 1:
        second = _opposite(trait, other, value, rng)
        if second is None:
            return persona_pair(rng)
        if rng.random() < 0.5 and subject == other:  # contradiction is symmetric
            first, second = second, first
    else:
        stranger = rng.choice([t for t in TRAITS if t is not trait])
        second = render(rng.choice(stranger.forms + stranger.denials), other, rng.choice(stranger.values))
        if set(trait.values) & set(stranger.values):
            return persona_pair(rng)
        return with_company(first, subject, (trait, stranger), rng), spoken(second, rng), label
    return with_company(first, subject, (trait,), rng), spoken(second, rng), label


def _opposite(trait: Trait, subject: str, value: str, rng: Rng) -> str | None:
    if trait.denials and (rng.random() < 0.6 or not trait.exclusive):
        return render(rng.choice(trait.denials), subject, value)
    others = [v for v in trait.values if v != value]
    return render(rng.choice(trait.forms), subject, rng.choice(others)) if trait.exclusive and others else None


def with_company(premise: str, subject: str, avoid: Sequence[Trait], rng: Rng) -> str:
    """Other facts about the same person around the premise, as a knowledge list would have them."""
    parts = [premise]
    for _ in range(rng.choice([0, 0, 1, 2, 3])):
        extra = rng.choice([t for t in TRAITS if all(not set(t.values) & set(a.values) for a in avoid)])
        parts.append(render(rng.choice(extra.forms), subject, rng.choice(extra.values)))
    rng.shuffle(parts)
    return " ".join(parts)


def spoken(text: str, rng: Rng) -> str:
    """Now and then an opener, a report frame or lower case."""
    roll = rng.random()
    if roll < 0.12:
        return opened(text, rng)
    if roll < 0.2:
        return reported(text, rng)
    return lower(text) if roll < 0.35 else text
