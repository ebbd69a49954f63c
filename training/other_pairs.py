"""Training pairs from the other sources, each in a few lines."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

from training import augment
from training.pairs import NOT_CONTRADICTED, Pair
from training.suites.loaders import (
    NLI_LABELS,
    best_window,
    clean,
    faithdial_allowed,
    faithdial_rows,
    read_csv,
    read_jsonl,
    read_tsv,
)
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, SUPPORTED_CLASS, UNSUPPORTED


def docnli_pairs(paths: Sequence[Path], source: str) -> Iterator[Pair]:
    """DocNLI (Yin et al. 2021): entailment or not."""
    for path in paths:
        for label, premise, hypothesis in (row for row in read_tsv(path) if len(row) == 3):
            allowed = (SUPPORTED_CLASS,) if label == "entailment" else UNSUPPORTED
            yield Pair(best_window(clean(premise), hypothesis), clean(hypothesis), allowed, source)


def nli_pairs(path: Path, source: str) -> Iterator[Pair]:
    """Three-way NLI as premise, hypothesis, label (ConjNLI, Saha et al. 2020; DNLI over spoken dialogue)."""
    for row in read_tsv(path):
        if len(row) == 3 and row[2].lower() in NLI_LABELS:
            yield Pair(clean(row[0]), clean(row[1]), (NLI_LABELS[row[2].lower()],), source)


def faithdial_pairs(paths: Sequence[Path]) -> Iterator[Pair]:
    """Audited responses on CMU-DoG and TopicalChat."""
    for path in paths:
        for knowledge, response, begin, _ in faithdial_rows(path):
            allowed = faithdial_allowed(begin)
            if allowed is not None:
                yield Pair(best_window(knowledge, response, 90), response, allowed, "faithdial")


def prosecco_pairs(path: Path) -> Iterator[Pair]:
    """Self-contradiction in debates: contradicted, or merely not contradicted."""
    for row in read_csv(path):
        allowed = (CONTRADICTED_CLASS,) if row["label"] == "self-contradiction" else NOT_CONTRADICTED
        yield Pair(row["proposition_1"], row["proposition_2"], allowed, "prosecco")


def wice_pairs(path: Path) -> Iterator[Pair]:
    """WiCE (Kamoi et al. 2023) sub-claims that their supporting sentences support only in part: not supported."""
    for row in read_jsonl(path):
        evidence, support = row["evidence"], row["supporting_sentences"]
        picked = sorted({i for group in support for i in group})  # type: ignore[attr-defined]
        text = " ".join(evidence[i] for i in picked)  # type: ignore[index]
        yield Pair(best_window(text, str(row["claim"])), str(row["claim"]), UNSUPPORTED, "wice")


def persona_pairs(count: int, rng: random.Random) -> Iterator[Pair]:
    """Statements about people against each other."""
    for _ in range(count):
        premise, hypothesis, label = augment.persona_pair(rng)
        yield Pair(premise, hypothesis, (label,), "persona")
