"""Kinds of named entities, learnt from sentences that say "X is a …" and from the words around names."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable

from lemminflect import getLemma  # type: ignore[import-untyped]

from vista_lab.oasis.rewriters.carrier import word_list
from vista_lab.oasis.rewriters.values import Value, name_spans

_DEFINES = re.compile(r"\b(?:is|was|are|were) (?:an?|the|one of the) ([^,.;()]+)")
_STOPS = re.compile(r"\b(?:of|in|from|by|that|who|which|for|with|and|on|at|to|based|located|set|written|directed)\b")
_PLACE_WORDS = re.compile(r"\b(?:County|Island|River|Valley|Province)$")
_GROUP_WORDS = re.compile(
    r"\b(?:University|College|School|Company|Records|Television|Studios?|Pictures|Party|League|Club|Group|Network)\b"
)
_NO_PERSON = re.compile(
    r"\b(?:of|the|University|College|Award|Awards|Music|Company|Festival|Show|Park|Records|Film|Films|School|Island)\b"
)
_NO_PLACE = {
    "West", "East", "North", "South", "Northern", "Southern", "Western", "Eastern", "Street", "City", "Home", "House", "Church",
    "River", "Wall Street", "Earth", "Mark", "Troy", "Heaven", "Paradise", "Hell", "Georgia", "Washington", "Lincoln",
}  # fmt: skip
_DEMONYMS = word_list("demonyms")
_KINDS = {
    "person": "person", "location": "place", "group": "group", "communication": "work", "artifact": "work", "act": "act",
}  # fmt: skip


_lexicon: list[Callable[[str], str]] = []


def read_kinds_with(noun_kind: Callable[[str], str]) -> None:
    """Sets the lexicon of noun kinds: person, location, group, communication. Without one few names have a kind."""
    _lexicon[:] = [noun_kind]


def _noun_kind(noun: str) -> str:
    return _lexicon[0](noun) if _lexicon else ""


class NameKinds:
    """A register of names and first names."""

    def __init__(self, definitions: Iterable[tuple[str, str]]) -> None:
        """``definitions``: (title of a page, a sentence of it)."""
        votes: dict[str, Counter[str]] = defaultdict(Counter)
        for title, sentence in definitions:
            for name in (title, opening_name(sentence)):
                kind = defined_kind(name, sentence)
                if kind:
                    votes[re.sub(r" \(.*\)$", "", name)][kind] += 1
        self.known = {name: count.most_common(1)[0][0] for name, count in votes.items()}
        people = (name for name, kind in self.known.items() if kind == "person" and " " in name)
        first = Counter(name.split()[0] for name in people)
        self.first_names = {name for name, count in first.items() if count >= 2 and len(name) > 2}

    def kind(self, value: Value, text: str) -> str:
        """person, place, group, work, demonym, or other where it is not sure."""
        name = value.text
        if name in _DEMONYMS:
            return "demonym"
        if " " in name and name.split()[0] in self.first_names and not _NO_PERSON.search(name):
            return "person"
        if _PLACE_WORDS.search(name) or (_noun_kind(name) == "location" and len(name) > 3 and name not in _NO_PLACE):
            return "place"
        if _GROUP_WORDS.search(name) and " " in name:
            return "group"
        if re.match(r"[ -]?(?:for|of|to|in|and|with|the)\b|'s", text[value.end :].lstrip()) or " " not in name:
            return "other"
        known = self.known.get(name, "other")
        return known if known in {"person", "work", "group"} else "other"

    def names(self, text: str) -> list[Value]:
        """The names of a text with their kinds."""
        return [Value(f"name:{self.kind(v, text)}", v.text, v.start, v.end) for v in name_spans(text)]


def opening_name(sentence: str) -> str:
    """The name that a sentence opens with, as its subject."""
    match = re.match(r"(?:The )?((?:[A-Z][\w.'-]+ ?)+)(?= ?\(| is | was )", sentence)
    return match.group(1).strip() if match else ""


def defined_kind(title: str, sentence: str) -> str:
    """The kind that "Title is a … noun" gives."""
    match = _DEFINES.search(sentence)
    core = re.sub(r" \(.*\)$", "", title).split()
    if not core or not match or core[-1] not in sentence[: match.start()] or match.start() > 140:
        return ""
    words = _STOPS.split(match.group(1))[0].split()
    return _KINDS.get(_noun_kind(getLemma(words[-1], upos="NOUN")[0].lower()), "") if words else ""
