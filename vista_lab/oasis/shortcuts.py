"""Can a bag of words guess the labels? ``python -m vista_lab.oasis.shortcuts worlds.jsonl``, or ``--generate``.

Two logistic regressions are cross-validated on each kind of pair, twins in the same fold: one sees only the claim, one sees the
words of claim and premise as sets and how they overlap. Data from which either learns more than the limit has a shortcut.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, hstack  # type: ignore[import-untyped]
from sklearn.feature_extraction.text import CountVectorizer  # type: ignore[import-untyped]
from sklearn.linear_model import LogisticRegression  # type: ignore[import-untyped]
from sklearn.metrics import roc_auc_score  # type: ignore[import-untyped]
from sklearn.model_selection import GroupKFold  # type: ignore[import-untyped]

CLAIM_LIMIT, SETS_LIMIT = 0.55, 0.60
_ENOUGH = 100  # pairs of a kind below which a figure says nothing; between, its error is large
_FOLDS = 5
SEED = 17
_TOKEN = re.compile(r"\w+")


@dataclass(frozen=True)
class Row:
    """The fields of a pair that the check reads."""

    premise: str
    claim: str
    supported: bool
    kind: str
    twin: str


@dataclass(frozen=True)
class Result:
    """Accuracy of both models on one kind, with its standard error, and their areas under the ROC curve."""

    kind: str
    count: int
    claim: float
    sets: float
    claim_auc: float = float("nan")
    sets_auc: float = float("nan")

    @property
    def error(self) -> float:
        """Standard error of an accuracy near one half; twins are not independent, so half the rows are counted."""
        return float(0.5 / np.sqrt(self.count / 2))

    @property
    def fails(self) -> bool:
        """True if a limit is exceeded by more than chance."""
        over = max(self.claim - CLAIM_LIMIT, self.sets - SETS_LIMIT)
        return self.count >= _ENOUGH and over > 2 * self.error


def read(path: Path, by: str = "kind") -> list[Row]:
    """The pairs of one JSONL file, sorted by kind or by source."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [row_of(json.loads(line), i, by) for i, line in enumerate(lines)]


def row_of(raw: Mapping[str, Any], number: int, by: str = "kind") -> Row:
    """The row of a pair's fields; a pair without a twin stands alone."""
    kind, twin = raw.get(by, raw["source"]), raw.get("twin") or f"row {number}"
    return Row(raw["premise"], raw["hypothesis"], list(raw["allowed"]) == [0], kind, twin)


def overlap(row: Row) -> list[float]:
    """Overlap features: the claim's words and numbers that the premise has or lacks."""
    premise, claim = (set(_TOKEN.findall(text.lower())) for text in (row.premise, row.claim))
    numbers = {word for word in claim if any(c.isdigit() for c in word)}
    share = len(claim & premise) / max(1, len(claim))
    known = len(numbers & premise) / max(1, len(numbers))
    return [share, float(share == 1), known, float(bool(numbers - premise)), len(claim - premise)]


def words(texts: Sequence[str], pairs: bool) -> csr_matrix:
    """Binary features of each text: its words, with `pairs` also pairs of neighbouring words."""
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


def cross_validate(rows: Sequence[Row], premise: bool) -> tuple[float, float]:
    """Cross-validated accuracy of supported-or-not, and the area under the ROC curve."""
    x, y = features(rows, premise), np.array([row.supported for row in rows])
    groups, odds = np.array([row.twin for row in rows]), np.zeros(len(rows))
    for train, test in GroupKFold(_FOLDS).split(x, y, groups):
        model = LogisticRegression(C=0.1, max_iter=300)
        model.fit(x[train], y[train])
        odds[test] = model.decision_function(x[test])
    return float(((odds > 0) == y).mean()), float(roc_auc_score(y, odds))


def check(rows: Sequence[Row], most: int = 0) -> list[Result]:
    """Both models on each kind with enough pairs to fold, and on all kinds together; ``most`` pairs of each, 0 for all."""
    by_kind: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_kind[row.kind].append(row)
    groups = {**dict(sorted(by_kind.items())), "all": list(rows)}
    fit = {k: g for k, g in groups.items() if len({r.twin for r in g}) >= _FOLDS and len({r.supported for r in g}) == 2}
    return [result(kind, thin(group, most)) for kind, group in fit.items()]


def thin(rows: Sequence[Row], most: int) -> Sequence[Row]:
    """About ``most`` pairs, twins together."""
    if not 0 < most < len(rows):
        return rows
    twins = sorted({row.twin for row in rows})
    drawn = set(Random(SEED).sample(twins, max(_FOLDS, len(twins) * most // len(rows))))
    return [row for row in rows if row.twin in drawn]


def result(kind: str, rows: Sequence[Row]) -> Result:
    """Accuracy and AUC of both models for a kind."""
    (claim, claim_auc), (sets, sets_auc) = cross_validate(rows, False), cross_validate(rows, True)
    return Result(kind, len(rows), claim, sets, claim_auc, sets_auc)


def shown(name: str, results: Sequence[Result]) -> str:
    """One line a kind."""
    head = f"{name:28} {'pairs':>7} {'claim':>7} {'sets':>7} {'AUC':>7} {'AUC':>7}"
    return "\n".join(
        [
            head,
            *(
                f"{r.kind:28} {r.count:7} {r.claim:7.3f} {r.sets:7.3f} {r.claim_auc:7.3f} {r.sets_auc:7.3f}"
                f"{'  SHORTCUT' if r.fails else ''}"
                for r in results
            ),
        ]
    )
