"""The little of WordNet (Princeton, as Debian's `wordnet-base` installs it) that is needed: antonyms, synonyms, kinds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

FOLDER = Path("/usr/share/wordnet")
_NAMES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
_LEXNAMES = {
    4: "act", 5: "animal", 6: "artifact", 8: "body", 10: "communication", 11: "event", 14: "group", 15: "location", 18: "person",
    28: "time",
}  # fmt: skip


@dataclass(frozen=True)
class Synset:
    """A set of words with one meaning; ``antonyms`` holds (number of the word, offset, number of its antonym)."""

    words: tuple[str, ...]
    lexname: str
    antonyms: tuple[tuple[int, int, int], ...]


@lru_cache(maxsize=4)
def index(pos: str) -> dict[str, tuple[int, ...]]:
    """Offsets of each word's synsets, commonest sense first."""
    found: dict[str, tuple[int, ...]] = {}
    for line in (FOLDER / f"index.{_NAMES[pos]}").read_text(encoding="utf-8").splitlines():
        if not line.startswith(" "):
            parts = line.split()
            found[parts[0]] = tuple(int(offset) for offset in parts[-int(parts[2]) :])
    return found


@lru_cache(maxsize=4)
def _data(pos: str) -> bytes:
    return (FOLDER / f"data.{_NAMES[pos]}").read_bytes()


@lru_cache(maxsize=50_000)
def synset(pos: str, offset: int) -> Synset:
    """One line of the data file."""
    raw = _data(pos)
    parts = raw[offset : raw.index(b"\n", offset)].decode().split(" | ")[0].split()
    count = int(parts[3], 16)
    words = tuple(parts[4 + 2 * i].split("(")[0] for i in range(count))
    at = 4 + 2 * count
    pointers = [parts[at + 1 + 4 * i : at + 5 + 4 * i] for i in range(int(parts[at]))]
    antonyms = tuple((int(p[3][:2], 16), int(p[1]), int(p[3][2:], 16)) for p in pointers if p[0] == "!")
    return Synset(words, _LEXNAMES.get(int(parts[1]), "other"), antonyms)


def senses(word: str, pos: str) -> Iterator[Synset]:
    """The word's synsets, commonest first."""
    for offset in index(pos).get(word.lower().replace(" ", "_"), ()):
        yield synset(pos, offset)


def antonym(word: str, pos: str) -> str | None:
    """The antonym of the word's first sense, when it has one and nearly no other senses."""
    found = list(senses(word, pos))
    for own in found[:1] if len(found) <= 6 else ():
        for number, offset, target in own.antonyms:
            if own.words[number - 1].lower() == word.lower():
                other = synset(pos, offset).words[target - 1]
                return None if "_" in other else other.lower()
    return None


def synonyms(word: str, pos: str) -> tuple[str, ...]:
    """Other words of the only sense of a word that has one sense."""
    found = list(senses(word, pos))
    if len(found) != 1:
        return ()
    return tuple(w for w in found[0].words if "_" not in w and w.islower() and w != word.lower())


@lru_cache(maxsize=50_000)
def noun_kind(noun: str) -> str:
    """What a noun's first sense is: person, location, group, communication, …"""
    return next((s.lexname for s in senses(noun, "n")), "")


def install() -> None:
    """Widens the rewriters' opposites, and lets names have the kinds of their nouns. Without WordNet nothing changes."""
    from vista_lab.oasis.rewriters.names import read_kinds_with
    from vista_lab.oasis.rewriters.wording import widen_opposites

    if FOLDER.exists():
        read_kinds_with(noun_kind)
        widen_opposites(_adjective_opposites())


def _adjective_opposites() -> Iterator[tuple[str, str]]:
    """Adjectives with the same word denied by its first letters: aware, unaware."""
    for word in index("a"):
        other = antonym(word, "a")
        negative = other and re.fullmatch(rf"(?:un|in|im|il|ir|dis){re.escape(word)}", other)
        if other and negative and len(word) > 4 and not re.search(r"(?:ed|ing)$", word):
            yield word, other
