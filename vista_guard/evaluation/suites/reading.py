"""Reading the data sets: files to rows, Treebank text to plain text, source labels to verifier labels."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from vista_guard.evaluation.datasets.published.treebank import clean as clean  # handed on: training reads with it

SUPPORTED, CONTRADICTED, NOT_ENOUGH = 0, 1, 2
UNSUPPORTED = (CONTRADICTED, NOT_ENOUGH)
NOT_CONTRADICTED = (SUPPORTED, NOT_ENOUGH)
FEVER_LABELS = {"SUPPORTS": SUPPORTED, "REFUTES": CONTRADICTED, "NOT ENOUGH INFO": NOT_ENOUGH}
NLI_LABELS = {"entailment": SUPPORTED, "contradiction": CONTRADICTED, "neutral": NOT_ENOUGH}


@dataclass(frozen=True)
class Pair:
    """One training example; ``allowed`` holds the label ids that would be right."""

    premise: str
    hypothesis: str
    allowed: tuple[int, ...]
    source: str


@dataclass(frozen=True)
class FeverRow:
    """A row of FEVER, its texts cleaned; the label is the publisher's word."""

    claim: str
    sentences: tuple[str, ...]
    label: str


@dataclass(frozen=True)
class FeverClaim:
    """A FEVER claim with cleaned evidence sentences."""

    claim: str
    evidence: tuple[str, ...]
    label: int
    title: str


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Rows of a gzipped JSONL file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read_tsv(path: Path) -> list[list[str]]:
    """Rows of a gzipped, unquoted TSV file."""
    with gzip.open(path, "rt", encoding="utf-8-sig") as lines:
        return [line.rstrip("\n").split("\t") for line in lines]


def read_csv(path: Path, delimiter: str = ",", quoting: Literal[0, 3] = csv.QUOTE_MINIMAL) -> list[dict[str, str]]:
    """Rows of a CSV file with a header; absent values become empty strings."""
    with path.open(encoding="utf-8-sig", newline="") as lines:
        return [
            {k: v or "" for k, v in row.items() if k}
            for row in csv.DictReader(lines, delimiter=delimiter, quoting=quoting)
        ]


def title_of(claim: str) -> str:
    """The entity a FEVER claim opens with: its leading run of capitalised words, or nothing."""
    match = re.match(r"(?:The |A )?((?:[A-Z0-9][\w'’.&-]*)(?: (?:of|the|and|de|in|[A-Z0-9(][\w'’.&)-]*))*)", claim)
    words = (match.group(0) if match else "").split()
    while words and words[-1] in {"of", "the", "and", "de", "in"}:
        words.pop()
    return " ".join(words) if words not in (["The"], ["There"], ["A"]) else ""


def fever_rows(path: Path) -> Iterator[FeverRow]:
    """FEVER's rows, in the file's order."""
    for row in read_jsonl(path):
        yield FeverRow(clean(str(row["claim"])), tuple(clean(str(one)) for one in row["evidence"]), str(row["label"]))


def read_fever(path: Path) -> list[FeverClaim]:
    """FEVER rows, evidence de-duplicated and cleaned."""
    claims = []
    for row in fever_rows(path):
        sentences = tuple(dict.fromkeys(s for s in row.sentences if s))
        label = FEVER_LABELS[row.label]
        if sentences or label == NOT_ENOUGH:  # a few judged claims carry no evidence text
            claims.append(FeverClaim(row.claim, sentences[:4], label, title_of(row.claim)))
    return claims


def best_window(text: str, query: str, words: int = 80) -> str:
    """The stretch of ``text`` of about ``words`` words that shares most distinct words with ``query``."""
    tokens = text.split()
    if len(tokens) <= words:
        return text
    wanted = set(re.findall(r"\w{3,}", query.lower()))
    starts = range(0, len(tokens) - words + 20, 20)
    best = max(starts, key=lambda i: len(wanted & set(re.findall(r"\w{3,}", " ".join(tokens[i : i + words]).lower()))))
    return " ".join(tokens[best : best + words])


def faithdial_allowed(label: str) -> tuple[int, ...] | None:
    """BEGIN labels of the audit (Dziri et al. 2022): only a response that is entailed and nothing else is supported."""
    parts = {p.strip() for p in re.split(r"[,.\n]", label.lower()) if p.strip()}
    if not parts:
        return None
    if parts == {"generic"}:
        return (NOT_ENOUGH,)
    return (
        (SUPPORTED,)
        if any(p.startswith("entail") for p in parts) and not any("halluc" in p for p in parts)
        else UNSUPPORTED
    )


def faithdial_rows(path: Path) -> Iterator[tuple[str, str, str, str]]:
    """(knowledge, response, BEGIN, VRM) of one audit file, whatever its column names."""
    for row in read_csv(path):
        knowledge, _, response, begin, vrm = list(row.values())[:5]
        yield clean(knowledge), clean(response), begin, vrm
