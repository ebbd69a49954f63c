"""The text files: sections of lines, and domains, that is what entities there are and how their attributes are put into words.

A file's sections start with ``== name``. In those of ``domain_*.txt`` follow ``key: value`` lines and then attributes, each
``@ key; kind and range; header`` with one template a line. Marks: ``?`` question, ``~`` a sentence that says more than the
value, ``- `` the flag is off, ``*`` plural verb phrase, ``> < >> <<`` comparisons.
Templates, names and values fall into a *train* and a *development* part by a checksum, so that the two are disjoint.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path
from typing import Literal, TypeVar

from training.worlds.values import DURATIONS, Value

Part = Literal["train", "development"]
T = TypeVar("T")
TEXT = Path(__file__).parent / "text"
_MARKS = {
    "?": "questions", "-": "denies", "*": "plural", ">": "more", "<": "less", ">>": "most", "<<": "least", "~": "asides",
}  # fmt: skip
_RANGE = re.compile(r"(-?[\d.:]+)-([\d.:]+)(?:/([\d.]+))?\s*(.*)")


@dataclass(frozen=True)
class Attribute:
    """A column of a small world: its possible values and its phrasings; ``{e}`` is the entity, ``{v}`` the value."""

    key: str
    kind: str
    header: str
    pool: tuple[Value, ...]
    says: tuple[str, ...] = ()
    denies: tuple[str, ...] = ()
    questions: tuple[str, ...] = ()
    plural: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    less: tuple[str, ...] = ()
    most: tuple[str, ...] = ()
    least: tuple[str, ...] = ()
    asides: tuple[str, ...] = ()  # sentences that say more than the value: for documents only, never for claims


@dataclass(frozen=True)
class Domain:
    """A kind of entities with their attributes and what else its documents say."""

    name: str
    part: str = "both"
    noun: str = "entry"
    nouns: str = "entries"
    pronoun: str = "it"
    names: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    leads: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    attributes: tuple[Attribute, ...] = ()


def in_part(text: str, part: Part) -> bool:
    """Whether a template, name or value belongs to the part: a fifth is for development."""
    return (zlib.crc32(text.encode()) % 5 == 0) == (part == "development")


def section(options: Sequence[str], part: Part) -> tuple[str, ...]:
    """Those that belong to the part: of three or more a fifth, chosen by checksum, is for development."""
    ranked = sorted(options, key=lambda o: zlib.crc32(o.encode()))
    held = set(ranked[: max(1, round(len(ranked) / 5))]) if len(ranked) > 2 else set()
    return tuple(o for o in options if (o in held) == (part == "development"))


def split(text: str, mark: str) -> tuple[str, ...]:
    """The parts of a line between marks."""
    return tuple(part.strip() for part in text.split(mark))


def cut(options: Sequence[T], part: Part, least: int = 5) -> tuple[T, ...]:
    """The train or the development share of a list of things; one of fewer than ``least`` is shared."""
    if len(options) < least:
        return tuple(options)
    size = max(2, len(options) // 5)
    return tuple(options[-size:] if part == "development" else options[:-size])


def read(name: str) -> str:
    """A text file whole."""
    return (TEXT / f"{name}.txt").read_text(encoding="utf-8")


def _blocks(text: str) -> list[str]:
    return re.split(r"^== ", text, flags=re.M)[1:]


@cache
def sections(name: str) -> dict[str, tuple[str, ...]]:
    """The lines of each section of one file, comments left out."""
    found = {}
    for head, *rows in map(str.splitlines, _blocks(read(name))):
        found[head.strip()] = tuple(row.strip() for row in rows if row.strip() and not row.startswith("#"))
    return found


@cache
def lines(name: str, head: str, part: Part) -> tuple[str, ...]:
    """The lines of one section that belong to the part."""
    return section(sections(name)[head], part)


@cache
def pools() -> dict[str, tuple[str, ...]]:
    """Names that all domains may use: towns, people, streets."""
    rows = (line.split(": ", 1) for line in read("pools").splitlines() if ": " in line)
    return {key: tuple(v.strip() for v in values.split(";") if v.strip()) for key, values in rows}


def _values(spec: str) -> tuple[Value, ...]:
    kind, _, rest = spec.strip().partition(" ")
    if kind == "flag":
        return (Value("flag", 0), Value("flag", 1))
    if kind in ("choice", "list"):
        texts = pools()[rest[1:]] if rest.startswith("@") else split(rest, "|")
        return tuple(Value(kind, text=text) for text in texts)
    found = _RANGE.match(rest)
    if not found:
        raise ValueError(f"no range in {spec!r}")
    low, high, step, unit = found.groups()
    unit = unit or (kind if kind in DURATIONS else "")
    return tuple(Value(kind, n, unit=unit) for n in _steps(kind, low, high, step))


def _steps(kind: str, low: str, high: str, step: str | None) -> list[float]:
    if kind == "time":
        first, last = (int(t.split(":")[0]) * 60 + int(t.split(":")[1]) for t in (low, high))
        return [float(t) for t in range(first, last + 1, int(step or 15))]
    if kind == "date":
        first, last = date(int(low), 1, 1).toordinal(), date(int(high), 12, 31).toordinal()
        return [float(t) for t in range(first, last + 1, 3)]
    width, start, end = float(step or 1), float(low), float(high)
    return [round(start + i * width, 3) for i in range(int((end - start) / width + 1e-6) + 1)]


def _attribute(head: str, texts: dict[str, list[str]]) -> Attribute:
    key, spec, header = (part.strip() for part in head.split(";", 2))
    marked = {name: tuple(texts.get(mark, ())) for mark, name in _MARKS.items()}
    return Attribute(key, spec.split(" ", 1)[0], header, _values(spec), tuple(texts.get("", ())), **marked)


def _domain(block: str) -> Domain:
    head, *rows = block.strip().splitlines()
    texts: dict[str, list[str]] = defaultdict(list)
    attributes: list[tuple[str, dict[str, list[str]]]] = []  # the head of each, and its lines by mark
    for line in (raw.strip() for raw in rows):
        if not line or line.startswith("#"):
            continue
        if line.startswith("@ "):
            attributes.append((line[2:], defaultdict(list)))
        elif attributes:
            mark, _, rest = line.partition(" ")
            marked = mark in _MARKS
            parts = split(rest, ";") if marked and mark in "*>><<" else (rest if marked else line,)
            attributes[-1][1][mark if marked else ""] += [p.rstrip(".") for p in parts if p]
        else:
            key, _, rest = line.partition(": ")
            texts[key] += [rest] if key == "note" else [p for p in split(rest, ";") if p]
    noun, nouns = texts["nouns"][0].split("|")
    return Domain(
        head.strip(), texts.get("part", ["both"])[0], noun.strip(), nouns.strip(), texts.get("pronoun", ["it"])[0],
        tuple(texts["names"]), tuple(texts.get("title", ())), tuple(texts.get("lead", ())), tuple(texts.get("note", ())),
        tuple(_attribute(*found) for found in attributes),
    )  # fmt: skip


@cache
def all_domains() -> tuple[Domain, ...]:
    """Every domain of the text files, whole."""
    return tuple(_domain(block) for path in sorted(TEXT.glob("domain_*.txt")) for block in _blocks(read(path.stem)))


@cache
def domains(part: Part) -> tuple[Domain, ...]:
    """The domains of one part with only that part's templates, names and values."""
    kept = (_shared(d, part) if d.part == "both" else d for d in all_domains() if d.part in ("both", part))
    return tuple(d for d in kept if len(d.attributes) >= 2)


def _shared(domain: Domain, part: Part) -> Domain:
    attributes = (_narrowed(a, part) for a in domain.attributes)
    usable = tuple(a for a in attributes if a.says and len(a.pool) > 1 and (a.kind != "flag" or a.denies))
    titles, leads, notes = (section(t, part) for t in (domain.titles, domain.leads, domain.notes))
    return replace(domain, attributes=usable, titles=titles, leads=leads, notes=notes)


def _narrowed(attribute: Attribute, part: Part) -> Attribute:
    pool = attribute.pool
    if attribute.kind in ("choice", "list"):
        pool = cut(pool, part, least=6)  # small closed sets, say weekdays, cannot be split
    elif attribute.kind != "flag":
        split = tuple(v for v in pool if in_part(f"{v.amount:g}", part))
        pool = split if len(split) > 1 else pool
    a = attribute
    texts = (a.says, a.denies, a.questions, a.plural, a.more, a.less, a.most, a.least, a.asides)
    return Attribute(a.key, a.kind, a.header, pool, *(section(t, part) for t in texts))
