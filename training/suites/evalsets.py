"""Evaluation sets as claims against one text each. Test files are opened by ``evaluate --final`` only."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from training.suites import loaders
from training.suites.loaders import clean as cleaned
from training.suites.loaders import faithdial_allowed, faithdial_rows, read_tsv
from vista_guard.types import Document
from vista_lab.datasets.files import whole
from vista_lab.datasets.sets import vista as vista_set

_NLI = {"entailment": "supported", "contradiction": "contradicted", "neutral": "not_enough"}


@dataclass(frozen=True)
class Claims:
    """Claims with their evidence texts; the gold labels are strings of the data set's own kind."""

    evidence: list[str]
    texts: list[str]
    gold: list[str]
    turns: list[int]

    def first(self, count: int) -> Claims:
        return Claims(self.evidence[:count], self.texts[:count], self.gold[:count], self.turns[:count])


def chunks(text: str, words: int = 110, step: int = 70) -> list[str]:
    """Overlapping stretches of a document; a short one stays whole."""
    tokens = text.split(" ")
    if len(tokens) <= words + 20:
        return [text]
    return [" ".join(tokens[i : i + words]) for i in range(0, len(tokens) - words + step, step)]


def _claims(rows: list[tuple[str, str, str]]) -> Claims:
    evidence, texts, gold = ([row[i] for row in rows] for i in range(3))
    return Claims(evidence, texts, gold, list(range(len(rows))))


def _evidence(documents: Iterable[Document]) -> str:
    return "\n".join(document.text for document in documents)


def begin(path: Path) -> Claims:
    """BEGIN: the whole response against its knowledge; only "Fully attributable" is supported (Dziri et al. 2022)."""
    words = {loaders.SUPPORTED: "supported", loaders.NOT_ENOUGH: "unsupported"}
    return _claims([(_evidence(one.documents), one.text, words[one.gold]) for one in loaders.begin(path)])


def faithdial_wow(folder: Path) -> Claims:
    """The audit's Wizard-of-Wikipedia files, entailment against the rest."""
    rows = []
    for path in sorted(folder.glob("*/*wow.csv")):
        for knowledge, response, label, _ in faithdial_rows(path):
            allowed = faithdial_allowed(label)
            if allowed is not None:
                rows.append((knowledge, response, "supported" if allowed == (0,) else "unsupported"))
    return _claims(rows)


def joined(load: Callable[[Path], list[loaders.GivenStatement]]) -> Callable[[Path], Claims]:
    """Statements, each with its documents as one text."""
    return lambda path: _claims([(_evidence(one.documents), one.text, one.gold) for one in load(path)])


fever = joined(loaders.fever)
"""FEVER three-way with its evidence sentences joined."""


def nli(path: Path) -> Claims:
    """Premise, hypothesis, label (gzipped TSV)."""
    rows = (row for row in read_tsv(path) if len(row) == 3 and row[2].lower() in _NLI)
    return _claims([(cleaned(premise), cleaned(claim), _NLI[label.lower()]) for premise, claim, label in rows])


def vista(path: Path) -> Claims:
    """The VISTA human evaluation: claims of annotated turns against the turn's document, five labels."""
    evidence, texts, gold, turns = [], [], [], []
    entries = list(whole(vista_set.read((path,))))
    annotated = [(turn, entry.labels) for entry in entries for turn in entry.conversation.turns if turn.claims]
    for number, (turn, labels) in enumerate(annotated):
        for claim in turn.claims or ():
            evidence.append(_evidence(turn.documents))
            texts.append(claim.text)
            gold.append(str(labels[claim.id]))
            turns.append(number)
    return Claims(evidence, texts, gold, turns)
