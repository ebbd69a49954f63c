"""Every set that people wrote or labelled, and the claims written for this project (`labelled.csv`): readers, files, shares."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path

from training.pairs import KindPair
from training.sources import (
    answers,
    close_up,
    evidence,
    neighbours,
    questions,
    reasoning,
    sentence_pairs,
    spoken,
    summaries,
    tables,
    unsaid,
    written,
)
from training.sources.parts import Part

Reader = Callable[[Path, Part], Iterable[KindPair]]
_MODULES = (
    answers, close_up, evidence, neighbours, questions, reasoning, sentence_pairs, spoken, summaries, tables, unsaid, written,
)  # fmt: skip
FILES = tuple(name for module in _MODULES for name in module.FILES)
"""Training files; development files are known to the readers alone."""
_ROWS = list(csv.DictReader(Path(__file__).with_name("labelled.csv").read_text(encoding="utf-8").splitlines()))
READERS: Mapping[str, Reader] = {
    row["set"]: getattr(import_module(f"training.sources.{row['module']}"), row["set"]) for row in _ROWS
}
"""A set's reader is the function of its name in its module."""
SHARES = {row["set"]: int(row["pairs"]) for row in _ROWS if row["pairs"]}
"""Pairs of each set in the mix `labelled`."""
