"""Sentence pairs that people labelled: MNLI, its and SNLI's negated twins (Hossain et al. 2020), HELP (Yanaka 2019)."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

from training.pairs import Carrier, KindPair
from training.suites.loaders import NLI_LABELS, clean, read_tsv

NEGATION = ("train/negation/MNLI.txt.gz", "train/negation/SNLI.txt.gz")
HELP = ("train/help/help_and.tsv.gz", "train/help/help_or.tsv.gz")
MNLI = ("train/docnli/binary-mnli.dev.tsv.gz", "train/docnli/binary-mnli.test.tsv.gz")
FILES = (*NEGATION, *HELP, *MNLI)


def negation(data: Path) -> Iterator[KindPair]:
    """Premise, hypothesis or both negated; one twin is the three negated forms of one pair."""
    for name in NEGATION:
        rows = gzip.decompress((data / name).read_bytes()).decode("cp1252", "replace").splitlines()
        for number, premise, hypothesis, label in (row.split("\t") for row in rows[1:] if row.count("\t") == 3):
            twin = f"{Path(name).name[:4]}-{int(number) // 3}"
            allowed = (NLI_LABELS[label],)
            yield KindPair(clean(premise), clean(hypothesis), allowed, "negation", "negation_people", twin)


def helped(data: Path) -> Iterator[KindPair]:
    """HELP: conjunctions and disjunctions, both directions."""
    for name in HELP:
        for row in read_tsv(data / name)[1:]:
            premise, hypothesis = (clean(text.replace("~", " ")) for text in row[8:10])
            if len(hypothesis.split()) > 2 and row[4] in NLI_LABELS:
                hypothesis = hypothesis if hypothesis[-1] in ".?!" else f"{hypothesis}."
                twin = f"{Path(name).stem}-{int(row[0]) // 2}"
                yield KindPair(premise, hypothesis, (NLI_LABELS[row[4]],), "help", "help", twin)


def carriers(data: Path) -> Iterator[Carrier]:
    """Entailed MNLI hypotheses beside one-sentence premises."""
    for name in MNLI:
        for label, premise, hypothesis in (row for row in read_tsv(data / name) if len(row) == 3):
            told, premise = clean(hypothesis), clean(premise)
            plain = "?" not in told + premise and told[:1].isupper() and told.endswith(".")
            if label == "entailment" and plain and len(premise.split()) <= 60 and 4 <= len(told.split()) <= 30:
                yield Carrier(told, (premise,), "mnli")
