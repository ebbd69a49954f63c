"""Self-contradiction in small talk: what a speaker said earlier against what the same speaker says later.

``templates/stances_*.txt`` was written for this project. An entry has four lines, each with several statements:
``A`` ways to say one thing (any of them entails any other), ``X`` what cannot be true as well, ``N`` the same topic
but open either way, ``F`` what follows from ``A``. ``{city}`` is a value of ``stance_pools.json``, ``{city2}`` another.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from training.augment import read_json
from training.pairs import NOT_CONTRADICTED, Pair
from vista_guard.judges.embedded.english.speakers import name_speakers
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS

_FOLDER = Path(__file__).parent / "templates"
_SLOT = re.compile(r"\{([a-z]+)(2?)\}")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeioAEIO])")
_SENTENCE_START = re.compile(r"(^|[.!?] )([a-z])")
_REALMS = {
    **dict.fromkeys(("pets", "family", "home", "work", "travel", "hobbies"), "life"),
    **dict.fromkeys(("film facts", "music facts", "screen and music life"), "arts"),
    **dict.fromkeys(("sports facts", "sport life"), "sports"),
}
_FILLERS: dict[str, tuple[str, ...]] = {
    kind: tuple(lines) for kind, lines in read_json("stance_fillers").items()
}  # "before", "after" and "tags" carry no fact: they change no label


@dataclass(frozen=True)
class Stance:
    """One entry: statements that agree with each other, conflict with them, leave them open, or follow from them."""

    group: str
    same: tuple[str, ...]
    against: tuple[str, ...]
    near: tuple[str, ...]
    follows: tuple[str, ...]

    def filled(self, rng: random.Random) -> Stance:
        """The entry with one value for each slot."""
        text = " ".join(self.same + self.against + self.near + self.follows)
        pools = {kind: rng.sample(_pools()[kind], 2) for kind, _ in sorted(set(_SLOT.findall(text)))}

        def fill(statements: tuple[str, ...]) -> tuple[str, ...]:
            found = (_SLOT.sub(lambda m: pools[m[1]][bool(m[2])], statement) for statement in statements)
            return tuple(sentence_case(_ARTICLE.sub(r"\1n ", statement)) for statement in found)

        return Stance(self.group, fill(self.same), fill(self.against), fill(self.near), fill(self.follows))


@cache
def _pools() -> dict[str, list[str]]:
    pools: dict[str, list[str]] = read_json("stance_pools")
    return pools


def sentence_case(text: str) -> str:
    """Every sentence starts with a capital: names put for "I" come in lower case."""
    return _SENTENCE_START.sub(lambda match: match[1] + match[2].upper(), text)


@cache
def read_stances() -> tuple[Stance, ...]:
    """All entries of ``templates/stances_*.txt``, in file order."""
    stances = []
    for path in sorted(_FOLDER.glob("stances_*.txt")):
        group = ""
        for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
            rows = block.splitlines()
            if rows[0].startswith("## "):
                group = rows.pop(0)[3:]
            parts = {row[0]: tuple(part.strip() for part in row[3:].split(" | ")) for row in rows}
            stances.append(Stance(group, parts["A"], parts["X"], parts["N"], parts.get("F", ())))
    return tuple(stances)


def _elsewhere(used: set[str], rng: random.Random) -> str:
    """What an entry of an unused group says; ``used`` grows, so that no two extras of a pair can conflict."""
    stance = rng.choice([other for other in read_stances() if _realm(other) not in used])
    used.add(_realm(stance))
    return rng.choice(stance.filled(rng).same)


def _realm(stance: Stance) -> str:
    """The groups that may conflict with each other are one realm: who lives alone has no roommate at work either."""
    return _REALMS.get(stance.group, stance.group)


def _message(statement: str, rng: random.Random) -> str:
    """The statement as a whole chat message: a reaction before it, a question after it, a tag in front."""
    if rng.random() < 0.3:
        statement = f"{rng.choice(_FILLERS['tags'])} {_mid_sentence(statement)}"
    before, after = rng.choice([(True, False), (False, True), (True, True)])
    parts = [rng.choice(_FILLERS["before"])] * before + [statement] + [rng.choice(_FILLERS["after"])] * after
    return " ".join(parts)


def _mid_sentence(text: str) -> str:
    """First letter lowered when the first word is no name and no "I"."""
    first = text.split(" ", 1)[0]
    ordinary = first in _FILLERS["ordinary"]
    return text[:1].lower() + text[1:] if ordinary else text


def _earlier(statement: str, used: set[str], rng: random.Random) -> str:
    """The statement among what the speaker said before: alone, in a message, or with other statements."""
    roll = rng.random()
    if roll < 0.25:
        return statement
    message = _message(statement, rng) if roll < 0.75 else statement
    if roll < 0.5:
        return message
    parts = [_elsewhere(used, rng) for _ in range(rng.choice([1, 1, 2, 3]))]
    parts.insert(rng.randint(0, len(parts)), message)
    return " ".join(parts)


def _spelled(premise: str, hypothesis: str, rng: random.Random) -> tuple[str, str]:
    """Whole pair in lower case, in spaced lower case as some chats are stored, or as it is."""
    roll = rng.random()
    if roll < 0.27:
        return premise.lower(), hypothesis.lower()
    if roll < 0.37:
        premise, hypothesis = (re.sub(r"\s*([.,?!])(?=\s|$)", r" \1", text.lower()) for text in (premise, hypothesis))
    elif roll < 0.42:
        premise, hypothesis = premise.rstrip("."), hypothesis.replace("'", "")
    return premise, hypothesis


def _voiced(premise: str, hypothesis: str, rng: random.Random) -> tuple[str, str]:
    """First person on both sides, or the speaker named on one or both, as the judge writes it."""
    speaker, listener = rng.choice([("the assistant", "the user"), ("the user", "the assistant")])

    def named(text: str) -> str:
        return sentence_case(name_speakers(text, speaker, listener))

    roll = rng.random()
    if roll < 0.55:
        return premise, hypothesis
    if roll < 0.9:
        return named(premise), named(hypothesis)
    return (premise, named(hypothesis)) if roll < 0.95 else (named(premise), hypothesis)


def _sides(stance: Stance, used: set[str], rng: random.Random) -> tuple[str, str, tuple[int, ...]]:
    """Earlier statement, later statement and the labels that would be right."""
    roll = rng.random()
    first = rng.choice(stance.same)
    if roll < 0.42:
        against = rng.choice(stance.against)
        return (
            (first, against, (CONTRADICTED_CLASS,)) if rng.random() < 0.65 else (against, first, (CONTRADICTED_CLASS,))
        )
    if roll < 0.68:
        later = [s for s in stance.same if s != first] + list(stance.follows) * 2
        return first, rng.choice(later), (SUPPORTED_CLASS,)
    if roll < 0.86:
        near = rng.choice(stance.near)
        return (first, near, (NOT_ENOUGH_CLASS,)) if rng.random() < 0.7 else (near, first, (NOT_ENOUGH_CLASS,))
    if roll < 0.89 and stance.follows:  # the weaker statement first: no conflict, whatever else
        return rng.choice(stance.follows), first, NOT_CONTRADICTED
    return first, _elsewhere(used, rng), (NOT_ENOUGH_CLASS,)


def talk_pair(rng: random.Random) -> Pair:
    """One earlier and one later utterance of the same speaker."""
    stance = rng.choice(read_stances()).filled(rng)
    used = {_realm(stance)}
    first, later, allowed = _sides(stance, used, rng)
    if rng.random() < 0.5:
        if rng.random() < 0.25:  # something new beside it: a supported statement is one no more, a conflict stays one
            later = " ".join(rng.sample([later, _elsewhere(used, rng)], 2))
            allowed = allowed if allowed == (CONTRADICTED_CLASS,) else (NOT_ENOUGH_CLASS,)
        else:
            later = _message(later, rng)
    premise, hypothesis = _voiced(_earlier(first, used, rng), later, rng)
    return Pair(*_spelled(premise, hypothesis, rng), allowed, "talk")


def talk_pairs(count: int, rng: random.Random) -> Iterator[Pair]:
    """``count`` pairs: about 40 % contradicted, 25 % supported, 35 % open."""
    for _ in range(count):
        yield talk_pair(rng)
