"""Can a bag of words guess the labels? ``python -m training.shortcuts worlds.jsonl``.

Two logistic regressions are cross-validated on each kind of pair, twins in the same fold: one sees only the claim, one sees the
words of claim and premise as sets and how they overlap. Data from which either learns more than the limit has a shortcut.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix, hstack  # type: ignore[import-untyped]
from sklearn.feature_extraction.text import CountVectorizer  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.model_selection import GroupKFold  # type: ignore[import-untyped]

CLAIM_LIMIT, SETS_LIMIT = 0.55, 0.60
_ENOUGH = 400  # pairs of a kind below which a figure says little
_FOLDS = 5
_TOKEN = re.compile(r"\w+")


@dataclass(frozen=True)
class Row:
    """What the check reads of a pair."""

    premise: str
    claim: str
    supported: bool
    kind: str
    twin: str


@dataclass(frozen=True)
class Result:
    """Accuracy of both models on one kind, with its standard error."""

    kind: str
    count: int
    claim: float
    sets: float

    @property
    def error(self) -> float:
        """Standard error of an accuracy near one half; twins are not independent, so half the rows are counted."""
        return float(0.5 / np.sqrt(self.count / 2))

    @property
    def fails(self) -> bool:
        """Whether a limit is exceeded by more than chance."""
        over = max(self.claim - CLAIM_LIMIT, self.sets - SETS_LIMIT)
        return self.count >= _ENOUGH and over > 2 * self.error


def read(path: Path) -> list[Row]:
    """The pairs of one JSONL file."""
    raw = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        Row(r["premise"], r["hypothesis"], r["allowed"] == [0], r.get("kind", r["source"]), r.get("twin") or f"row {i}")
        for i, r in enumerate(raw)
    ]


def overlap(row: Row) -> list[float]:
    """How many words of the claim the premise has, and how many numbers."""
    premise, claim = (set(_TOKEN.findall(text.lower())) for text in (row.premise, row.claim))
    numbers = {word for word in claim if any(c.isdigit() for c in word)}
    share = len(claim & premise) / max(1, len(claim))
    return [
        share,
        float(share == 1),
        len(numbers & premise) / max(1, len(numbers)),
        float(bool(numbers - premise)),
        len(claim - premise),
    ]


def words(texts: Sequence[str], pairs: bool) -> csr_matrix:
    """Which words, and pairs of neighbouring words, a text has."""
    counter = CountVectorizer(binary=True, min_df=3, ngram_range=(1, 2) if pairs else (1, 1), token_pattern=r"\w+")
    return counter.fit_transform(texts)


def features(rows: Sequence[Row], premise: bool) -> csr_matrix:
    """Claim words; with ``premise`` also its words, the words that both have, and the overlap."""
    claims = [row.claim for row in rows]
    if not premise:
        return words(claims, pairs=True)
    shared = [
        " ".join(set(_TOKEN.findall(r.claim.lower())) & set(_TOKEN.findall(r.premise.lower()))) + " x" for r in rows
    ]
    parts = [words(claims, False), words([r.premise for r in rows], False), words(shared, False)]
    return csr_matrix(hstack([*parts, csr_matrix(np.array([overlap(r) for r in rows]))]))


def accuracy(rows: Sequence[Row], premise: bool) -> float:
    """Cross-validated accuracy of supported-or-not."""
    x, y = features(rows, premise), np.array([row.supported for row in rows])
    groups = np.array([row.twin for row in rows])
    right = []
    for train, test in GroupKFold(_FOLDS).split(x, y, groups):
        model = LogisticRegression(C=0.1, max_iter=300)
        model.fit(x[train], y[train])
        right.append(model.predict(x[test]) == y[test])
    return float(np.concatenate(right).mean())


def check(rows: Sequence[Row]) -> list[Result]:
    """Both models on each kind with enough pairs to fold, and on all kinds together."""
    by_kind: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_kind[row.kind].append(row)
    groups = {**dict(sorted(by_kind.items())), "all": list(rows)}
    fit = {k: g for k, g in groups.items() if len({r.twin for r in g}) >= _FOLDS and len({r.supported for r in g}) == 2}
    return [Result(k, len(g), accuracy(g, False), accuracy(g, True)) for k, g in fit.items()]


def main() -> None:
    """Entry point; exits 1 when a kind has a shortcut."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    results = check(read(parser.parse_args().file))
    print(f"{'kind':20} {'pairs':>7} {'claim':>7} {'sets':>7}")
    for r in results:
        print(f"{r.kind:20} {r.count:7} {r.claim:7.3f} {r.sets:7.3f}{'  SHORTCUT' if r.fails else ''}")
    sys.exit(any(r.fails for r in results))


if __name__ == "__main__":
    main()
