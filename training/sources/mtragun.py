"""MTRAG-UN train conversations: reference answers that people wrote, sentence by sentence beside their passages."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from training.pairs import Carrier, KindPair
from training.rewriting.windows import Window, best_sentences
from vista_lab.datasets.files import whole
from vista_lab.datasets.pairs import NOT_ENOUGH_CLASS, SUPPORTED_CLASS
from vista_lab.datasets.sets.mtrag import GenerationTask, tasks
from vista_lab.oasis.rewriters.carrier import sentences, stems

FILES = ("train/mtragun/reference.jsonl.gz",)
_NO_CLAIM = re.compile(
    r"\?$|^(?:i|i'm|sorry|unfortunately|however, i|yes|no|sure|the (?:documents?|passages?|context|provided))\b"
    r"|\b(?:i (?:do not|don't|cannot|can't)|let me know|not (?:have|find) (?:any )?(?:specific )?information|:$)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Turn:
    """One answered question of a train conversation with its passages."""

    conversation: str
    number: str
    question: str
    answer: str
    passages: tuple[tuple[str, tuple[str, ...]], ...]
    kind: str


def tidy(text: str) -> str:
    """A passage as a reader sees it: entities, links, mark-up and Treebank spacing undone."""
    text = html.unescape(text).replace("<br>", "\n").replace('""', '"')
    text = re.sub(r"!?\[([^\]\n]*)\]\([^)\s]*\)", r"\1", text)
    text = re.sub(r"(?m)^[ \t]*(?:[#>*•-]+|\d+\.)[ \t]+", "", text)
    text = re.sub(r"``\s*|\s*''", '"', text)
    text = re.sub(r"[ \t]+([,.;:!?)%])", r"\1", re.sub(r"\([ \t]+", "(", text))
    return re.sub(r"(?<=\w) ('s|n't)\b", r"\1", re.sub(r"[ \t]+", " ", text))


def turns(data: Path) -> list[Turn]:
    """Turns of train conversations: those whose id ends in 0–4 are development data and left out."""
    return [turn_of(task) for task in whole(tasks(data / FILES[0])) if not task.development]


def turn_of(task: GenerationTask) -> Turn:
    """From a task of the file."""
    passages = tuple(
        (re.sub(r"\s+", " ", one.title or "").strip(), tuple(sentences(tidy(one.text)))) for one in task.passages
    )
    return Turn(task.conversation, task.number, task.said[-1].text, task.answer, passages, task.answerability[0])


def statements(turn: Turn) -> list[str]:
    """Sentences of the answer that state something."""
    found = sentences(re.sub(r"(?m)^\s*(?:[-*•]|\d+[.)])\s+", "", turn.answer.replace("**", "").replace('""', '"')))
    found = [re.sub(r"\s+([,.;:])", r"\1", s) for s in found]
    return [s for s in found if len(s.split()) >= 5 and s[-1:] in ".!" and not _NO_CLAIM.search(s)]


def best_window(turn: Turn, sentence: str, words: int) -> tuple[str, Window] | None:
    """(title, stretch) of the passage that shares most with the sentence."""
    found = [(title, best_sentences(text, sentence, words)) for title, text in turn.passages if text]
    return max(found, key=lambda pair: pair[1].share, default=None)


def labelled(data: Path, rng: Random) -> Iterator[KindPair]:
    """Sentences against the stretch that they tell (supported) and against passages of other conversations."""
    rows = turns(data)
    answered = [t for t in rows if t.kind in ("ANSWERABLE", "PARTIAL")]
    for turn in answered:
        for number, sentence in enumerate(statements(turn)):
            found = best_window(turn, sentence, rng.choice([60, 120, 180]))
            if found and found[1].share > 0.45:
                twin = f"mtragun-{turn.conversation}-{turn.number}-{number}"
                yield KindPair(headed(*found, rng), sentence, (SUPPORTED_CLASS,), "mtragun", "mtragun", twin)
                other = elsewhere(turn, sentence, rows)
                if other:
                    yield KindPair(headed(*other, rng), sentence, (NOT_ENOUGH_CLASS,), "mtragun", "mtragun", twin)


def elsewhere(turn: Turn, sentence: str, rows: Sequence[Turn]) -> tuple[str, Window] | None:
    """The stretch of another turn's passages that comes nearest to the sentence without holding it."""
    wanted, known = stems(sentence), {text[:1] for _, text in turn.passages}
    others = [t for t in rows if t.conversation != turn.conversation and t.passages]
    near = sorted(others, key=lambda t: -len(wanted & stems(f"{t.question} {t.answer}")))[:8]
    found = [best_window(other, sentence, 150) for other in near]
    apart = [pair for pair in found if pair and pair[1].share < 0.4 and pair[1].best[:1] not in known]
    return max(apart, key=lambda pair: pair[1].share, default=None)


def headed(title: str, window: Window, rng: Random) -> str:
    """The stretch, sometimes under the passage's title."""
    return f"{title}\n{window.text}" if title and rng.random() < 0.5 else window.text


def carriers(data: Path) -> Iterator[Carrier]:
    """Sentences of answers with the neighbouring sentences that they tell."""
    for turn in turns(data):
        for sentence in statements(turn):
            found = best_window(turn, sentence, 140)
            if found and found[1].share > 0.5:
                title, window = found
                yield Carrier(sentence, window.best, "mtragun", title, window.before, window.after)


def passages(data: Path) -> Iterator[tuple[str, tuple[str, ...]]]:
    """(title, sentences) of each passage once."""
    seen: set[tuple[str, ...]] = set()
    for turn in turns(data):
        for title, text in turn.passages:
            if text[:2] not in seen:
                seen.add(text[:2])
                yield title, text
