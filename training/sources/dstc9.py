"""DSTC9 track 1 (Kim et al. 2020): FAQ snippets of places, and what agents answered from them."""

from __future__ import annotations

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from training.pairs import Carrier, KindPair
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS
from vista_lab.oasis.rewriters.carrier import sentences, stems

FILES = tuple(
    f"train/dstc9/{name}.json.gz"
    for name in ("data_knowledge", "data_val_labels", "data_eval_knowledge", "data_eval_test_labels")
)
_NO = re.compile(r"\b(?:no|not|never|none|cannot|unfortunately|unavailable|without|neither)\b|n't\b", re.IGNORECASE)
_POLITE = re.compile(
    r"^(?:(?:oh|ok|okay|well|great|sure|thanks?|thank you|i(?:'| a)m sorry|sorry|unfortunately|yes|no|yeah|yep"
    r"|nope)\b[^.!?]{0,25}?"
    r"[,.!]\s*)+",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"\b(?:let me know|can i help|shall i|should i|would you|do you (?:need|want|have)|anything else)\b", re.I
)


@dataclass(frozen=True)
class Snippet:
    """One question and answer of a place's FAQ."""

    place: str
    domain: str
    key: str
    question: str
    answer: str

    @property
    def faq(self) -> str:
        """Question and answer as a FAQ page has them."""
        return f"{self.question} {self.answer}"


def load(path: Path) -> object:
    """One gzipped JSON file."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def snippets(path: Path) -> dict[tuple[str, str, str], Snippet]:
    """Snippets by (domain, entity, document)."""
    found: dict[tuple[str, str, str], Snippet] = {}
    for domain, entities in load(path).items():  # type: ignore[attr-defined]
        for entity, place in entities.items():
            name = (place["name"] or "").strip()
            for number, doc in place["docs"].items():
                question, answer = doc["title"].strip(), doc["body"].strip()
                found[domain, entity, number] = Snippet(name, domain, f"{domain}/{entity}", question, answer)
    return found


def answers(data: Path) -> Iterator[tuple[Snippet, str, dict[str, list[Snippet]]]]:
    """(snippet, the agent's statement, all snippets by place); every tenth answer is development data and left out."""
    for knowledge, labels in (FILES[:2], FILES[2:]):
        table = snippets(data / knowledge)
        places: dict[str, list[Snippet]] = defaultdict(list)
        for snippet in table.values():
            places[snippet.key].append(snippet)
        targets = [row for row in load(data / labels) if row["target"]]  # type: ignore[attr-defined]
        for index, row in enumerate(targets):
            told = statement(row["response"])
            if index % 10 and told:
                ref = row["knowledge"][0]
                yield table[ref["domain"], str(ref["entity_id"]), str(ref["doc_id"])], told, places


def statement(response: str) -> str:
    """The agent's turn without the follow-up question."""
    kept = [s for s in sentences(response) if not s.endswith("?") and not _OFFER.search(s)]
    text = " ".join(kept)
    return text if len(_POLITE.sub("", text).split()) >= 4 else ""


def denies(text: str) -> bool:
    """Whether a snippet or an answer says no."""
    return bool(_NO.search(text))


def topic(snippet: Snippet) -> frozenset[str]:
    """What an answer speaks of: its content words without the place's name."""
    plain = stems(re.sub(re.escape(snippet.place), " ", snippet.answer, flags=re.IGNORECASE))
    return frozenset(w for w in plain if not re.search(r"\d", w)) - {"provide", "offer", "available", "avail", "have"}


def renamed(text: str, old: str, new: str) -> str | None:
    """``text`` told of another place, or None when it does not name its own."""
    changed, count = re.subn(re.escape(old), new, text, flags=re.IGNORECASE)
    return changed if old and new and count else None


def labelled(data: Path, rng: Random) -> Iterator[KindPair]:
    """Answers against their own snippet, a snippet that says the opposite, and other snippets of the place."""
    twins: dict[tuple[str, frozenset[str]], list[Snippet]] = defaultdict(list)
    rows = list(answers(data))
    for places in {id(p): p for _, _, p in rows}.values():
        for snippet in (s for group in places.values() for s in group):
            twins[snippet.domain, topic(snippet)].append(snippet)
    for number, (snippet, told, places) in enumerate(rows):
        twin = f"dstc9-{number}"
        yield KindPair(page([snippet], snippet, rng), told, (SUPPORTED_CLASS,), "dstc9", "dstc9", twin)
        opposite = contrary(snippet, told, twins[snippet.domain, topic(snippet)], rng)
        if opposite:
            yield KindPair(page([opposite], opposite, rng), told, (CONTRADICTED_CLASS,), "dstc9", "dstc9", twin)
        others = strangers(snippet, told, places[snippet.key])
        if others and rng.random() < 0.6:
            picked = rng.sample(others, min(len(others), rng.randint(1, 5)))
            yield KindPair(page(picked, snippet, rng), told, (NOT_ENOUGH_CLASS,), "dstc9", "dstc9", twin)


def contrary(snippet: Snippet, told: str, same: Sequence[Snippet], rng: Random) -> Snippet | None:
    """The same thing of another place with the other answer, told of this place: no against yes."""
    if denies(snippet.answer) != denies(told) or re.search(r"\b(?:only|but|however|depend)", snippet.answer):
        return None
    against = [s for s in same if denies(s.answer) != denies(snippet.answer)]
    if not snippet.place or not against:
        return None
    other = rng.choice(against)
    question = renamed(other.question, other.place, snippet.place) or other.question
    answer = renamed(other.answer, other.place, snippet.place)
    return Snippet(snippet.place, snippet.domain, snippet.key, question, answer) if answer else None


def strangers(snippet: Snippet, told: str, place: Sequence[Snippet]) -> list[Snippet]:
    """Snippets of the same place about something else."""
    wanted = stems(snippet.faq + " " + told) - stems(snippet.place)
    return [s for s in place if not wanted & (stems(s.faq) - stems(snippet.place) - {"offer", "provide", "avail"})]


def page(picked: Sequence[Snippet], about: Snippet, rng: Random) -> str:
    """Snippets as text: answers alone or with their questions, with or without the place's name above."""
    with_question = rng.random() < 0.6
    lines = [s.faq if with_question or len(s.answer.split()) < 5 else s.answer for s in picked]
    head = [f"{about.place}"] if about.place and rng.random() < 0.4 else []
    return "\n".join([*head, *lines])


def carriers(data: Path, rng: Random) -> Iterator[Carrier]:
    """Answers with their snippet among others of the place."""
    for snippet, told, places in answers(data):
        others = strangers(snippet, told, places[snippet.key])
        picked = [s.faq for s in rng.sample(others, min(len(others), 4))]
        cut = rng.randint(0, len(picked))
        evidence = snippet.faq if rng.random() < 0.5 or len(snippet.answer.split()) < 5 else snippet.answer
        yield Carrier(told, (evidence,), "dstc9", snippet.place, tuple(picked[:cut]), tuple(picked[cut:]))


def pages(data: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(place, its FAQ's answers that name it or stand alone)."""
    for knowledge in (FILES[0], FILES[2]):
        places: dict[str, list[Snippet]] = defaultdict(list)
        for snippet in snippets(data / knowledge).values():
            places[snippet.key].append(snippet)
        for group in places.values():
            yield (
                group[0].place,
                tuple(re.sub(r"^(?:Yes|No),? (?=\w)", "", s.answer) for s in group if len(s.answer.split()) > 4),
            )
