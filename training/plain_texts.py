"""Plain facts, as services and guides state them, beside what people say of the same things: for the claim-type head.

``templates/plain.txt`` was written for this project. A section names its things and their parts; ``+`` opens a fact, ``-`` an
opinion, an experience, a piece of advice or a remark. Both kinds speak of the same things, with the same subjects and
figures, so that neither a topic nor a figure decides. The section *any* goes with the things of all sections but *people*.
Whether a sentence is true does not matter here: "The drum has 40 windows" is for documents to judge.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from training import augment

FACT, OPINION = "+", "-"
SEPARATE = "people"
"""The section that *any* does not speak of."""
_SLOT = re.compile(r"\{(\w+)\}")
_SUBJECTS = ("The {x}", "The {x}", "The {x}", "The {x}", "The {x}", "This {x}", "Our {x}", "It", "It", "{c}'s {x}")
_PERSONS = (
    "She", "He", "{name}", "{name}", "The {job}", "The {job}", "The {job} from {c}", "Her brother", "His mother",
)  # fmt: skip
_HEDGES = ("I think ", "I believe ", "According to the assistant, ", "The assistant said that ")
_TIMES = ("{h}:{m}", "{h}:{m}", "{h} am", "{h12} pm", "{h} o'clock", "noon", "midnight", "half past {hour}", "{hour}")
_PRICES = ("{n} {currency}", "{n} {currency}", "${n}", "£{n}", "€{n}", "{n}.50 {currency}", "{word} {currency}")
_SHARE_OF_ANY, _SHARE_LOWER, _SHARE_HEDGED = 0.2, 0.12, 0.06


@dataclass(frozen=True)
class Section:
    """Things of one kind, their parts, and templates of what is said of them, by kind."""

    name: str
    things: tuple[str, ...]
    parts: tuple[str, ...]
    forms: dict[str, tuple[str, ...]]


@cache
def sections() -> dict[str, Section]:
    """The file's sections by name."""
    found: dict[str, Section] = {}
    for block in re.split(r"^= ", "\n".join(augment.lines("plain")), flags=re.MULTILINE)[1:]:
        head, *rows = block.splitlines()
        name, _, things = head.partition(": ")
        told = (row.removeprefix("parts: ") for row in rows if row.startswith("parts: "))
        parts = next(told, "rooms; doors; windows")
        forms = {kind: tuple(row[2:] for row in rows if row.startswith(f"{kind} ")) for kind in (FACT, OPINION)}
        found[name] = Section(name, tuple(things.split("; ")), tuple(parts.split("; ")), forms)
    return found


@cache
def words() -> dict[str, list[str]]:
    """Values of the slots that mean the same in every section."""
    values: dict[str, list[str]] = augment.read_json("plain")
    return values | {"name": list(augment.FIRST_NAMES), "c": list(augment.CITIES)}


def plural(noun: str) -> str:
    """Of a thing of the file."""
    if noun.endswith(("s", "ch", "sh", "x")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if noun[-1] == "y" and noun[-2] not in "aeiou" else f"{noun}s"


def _figure(slot: str, rng: random.Random) -> str | None:
    """A number, or what is written with one; None for any other slot."""
    few, word = str(rng.randint(2, 60)), rng.choice(words()["words"])
    made: dict[str, Callable[[], str]] = {
        "n": lambda: rng.choice((few, few, word, word, str(rng.randint(60, 900)), f"{rng.randint(1, 90)},000")),
        "h": lambda: str(rng.randint(5, 23)),
        "h12": lambda: str(rng.randint(1, 11)),
        "hour": lambda: rng.choice(words()["words"][:10]),
        "m": lambda: rng.choice(("00", "00", "15", "30", "40", "45")),
        "word": lambda: word,
        "year": lambda: str(rng.randint(1200, 2025)),
        "date": lambda: rng.choice((f"{rng.randint(1, 28)} {{month}}", "the {nth} of {month}", "{month} {year}")),
        "time": lambda: rng.choice(_TIMES),
        "price": lambda: rng.choice(_PRICES),
        "dur": lambda: rng.choice(
            (f"{few} {{unit}}", f"{word} {{unit}}", "an hour", "a week", "half an hour", "a year")
        ),
        "dist": lambda: f"{rng.choice((few, word))} {rng.choice(('kilometres', 'miles', 'km'))}",
        "height": lambda: f"{rng.choice((few, word))} {rng.choice(('metres', 'feet', 'centimetres', 'inches'))}",
        "weight": lambda: f"{rng.choice((few, word))} {rng.choice(('kilos', 'grams', 'pounds', 'tonnes'))}",
        "weight2": lambda: f"{few}0 milligrams",
        "pct": lambda: rng.choice((f"{few}%", f"{few} percent", f"{word} percent")),
        "temp": lambda: rng.choice((f"{few} degrees", f"{few} °C", f"{few}0 degrees")),
    }
    return made[slot]() if slot in made else None


class Filler:
    """One sentence: slots are filled from left to right, and what they hold in turn."""

    def __init__(self, section: Section, rng: random.Random) -> None:
        self._rng, self._section = rng, section
        self._thing, self._other = rng.sample(section.things, 2) if len(section.things) > 1 else ("", "")

    def _value(self, slot: str) -> str:
        rng, things = self._rng, {"x": self._thing, "y": self._other}
        if slot in things:
            return things[slot]
        if slot == "xs":
            return plural(self._thing)
        if slot in {"X", "P"}:
            return rng.choice(_SUBJECTS if slot == "X" else _PERSONS)
        if slot == "P2":
            return rng.choice(("she", "he"))
        if slot == "name2":
            return rng.choice(words()["name"])
        if slot == "X2":
            return f"the {self._thing}"
        if slot == "parts":
            return rng.choice(self._section.parts)
        return _figure(slot, rng) or rng.choice(words()[slot])

    def fill(self, form: str) -> str:
        """The sentence of a template of the section, as it stands."""
        while slot := _SLOT.search(form):
            form = form[: slot.start()] + self._value(slot[1]) + form[slot.end() :]
        form = re.sub(r"\b([Aa]) (?=[aeioAEIO](?!ne\b))", r"\1n ", form)
        return form[:1].upper() + form[1:]


def _host(section: Section, rng: random.Random) -> Section:
    """Whose things a template speaks of."""
    if section.name != "any":
        return section
    return rng.choice([one for name, one in sections().items() if name not in {SEPARATE, "any"}])


def _said(text: str, kind: str, rng: random.Random) -> str:
    """As it may come: a fact hedged or reported now and then, either in lower case now and then."""
    if kind == FACT and rng.random() < _SHARE_HEDGED:
        text = rng.choice(_HEDGES) + augment.uncapitalised(text)
    return text.lower().rstrip(".") if rng.random() < _SHARE_LOWER else text


def sentences(kind: str, count: int, seed: int) -> list[str]:
    """``count`` sentences of one kind, every template at least once where ``count`` allows it."""
    rng = random.Random(f"{seed} {kind}")
    forms = {name: section.forms[kind] for name, section in sections().items()}
    once = [(name, form) for name, found in forms.items() for form in found]
    others = [name for name in forms if name != "any"]
    more = []
    for _ in range(max(count - len(once), 0)):
        name = "any" if rng.random() < _SHARE_OF_ANY else rng.choice(others)
        more.append((name, rng.choice(forms[name])))
    picked = [(_host(sections()[name], rng), form) for name, form in (once + more)[:count]]
    return [_said(Filler(host, rng).fill(form), kind, rng) for host, form in picked]
