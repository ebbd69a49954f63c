"""SummEdits (Laban et al. 2023): summaries and their one-edit falsifications beside the stretch of document they tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from training.pairs import Carrier, KindPair
from training.rewriting.windows import Window, best_sentences
from training.suites.loaders import edited_summaries, summedits_file
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, SUPPORTED_CLASS, UNSUPPORTED
from vista_lab.oasis.rewriters.carrier import sentences

DOMAINS = ("qmsumm", "sales_email", "scitldr")  # `podcast` and `ectsum` are development data
FILES = tuple(summedits_file(name) for name in DOMAINS)


@dataclass(frozen=True)
class Summary:
    """One summary: ``original`` is the consistent one it was edited from."""

    document: tuple[str, ...]
    text: str
    original: str
    consistent: bool
    edits: tuple[str, ...]
    identifier: str


def tidy(text: str) -> str:
    """Transcript spacing undone, fillers left out."""
    text = re.sub(r"\b(?:uh|um|Uh|Um|mm|hmm)\b[ ,]*", "", text)
    text = re.sub(r" +([.,?!;:])", r"\1", text)
    return re.sub(r"(?<=\w) (n't|'(?:s|re|ve|ll|d|m))\b", r"\1", re.sub(r"[ \t]+", " ", text)).strip()


def read(data: Path) -> Iterator[Summary]:
    """The summaries of the training domains."""
    for name in FILES:
        for row in edited_summaries(data / name):
            document = tuple(sentences(tidy(row.document)))
            yield Summary(document, row.text, row.original, row.consistent, row.edits, row.identity)


def allowed_of(edits: tuple[str, ...]) -> tuple[int, ...]:
    """Added facts may be merely unmentioned; a negation or an antonym contradicts."""
    sure = bool(edits) and set(edits) <= {"antonym_swap", "negation_insertion_removal"}
    return (CONTRADICTED_CLASS,) if sure else UNSUPPORTED


def aligned(changed: list[str], original: list[str]) -> list[tuple[str, str]]:
    """Each sentence of an edited summary with the one it was edited from."""
    nearest = [(s, max(original, key=lambda o: SequenceMatcher(None, s, o).ratio())) for s in changed]
    return [(s, o) for s, o in nearest if SequenceMatcher(None, s, o).ratio() > 0.5]


def labelled(data: Path) -> Iterator[KindPair]:
    """Sentence by sentence: consistent ones are supported; of an edited summary only what was edited is not."""
    for summary in read(data):
        source, changed = "summedits", sentences(summary.text)
        if summary.consistent:
            for sentence in changed:
                window = near(summary, sentence)
                if window.share > 0.35:
                    yield KindPair(window.text, sentence, (SUPPORTED_CLASS,), source, "summedits", summary.identifier)
            continue
        edited = [(s, o) for s, o in aligned(changed, sentences(summary.original)) if s != o]
        if len(edited) == 1:  # with several edited sentences it is unknown which of them breaks the truth
            sentence, original = edited[0]
            premise = near(summary, original).text
            yield KindPair(premise, sentence, allowed_of(summary.edits), source, "summedits", summary.identifier)
            yield KindPair(premise, original, (SUPPORTED_CLASS,), source, "summedits", summary.identifier)
        elif len(edited) > 1:
            premise = near(summary, summary.original, 200).text
            yield KindPair(premise, summary.text, UNSUPPORTED, source, "summedits_whole", summary.identifier)
            yield KindPair(premise, summary.original, (SUPPORTED_CLASS,), source, "summedits_whole", summary.identifier)


def near(summary: Summary, sentence: str, words: int = 180) -> Window:
    """The stretch of the document that the sentence tells."""
    return best_sentences(summary.document, sentence, words, core=5)


def carriers(data: Path) -> Iterator[Carrier]:
    """Sentences of consistent summaries."""
    for summary in read(data):
        if summary.consistent:
            for sentence in sentences(summary.text):
                window = near(summary, sentence, 120)
                if window.share > 0.4:
                    yield Carrier(sentence, window.best, "summedits", "", window.before, window.after)
