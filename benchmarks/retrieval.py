"""Retrieval: whether a claim's evidence is among the nearest passages, and what large document stores cost.

    python -m benchmarks.retrieval wice data/train/wice --embedder shipped --vectors windows.npy
    python -m benchmarks.retrieval store --sizes 10000 100000 1000000

`wice` ranks all windows of five sentences of WiCE's train and dev pages (Kamoi et al., 2023) for the 306 claims of dev that
people found support for. A window is relevant when it holds a supporting sentence of the claim's own page: neighbours overlap,
so that one sentence makes up to five windows relevant, and R@k (LLM-OASIS, Eq. 10) stays low for small k. `found@k` is the share
of claims of which some supporting sentence is in one of the first k windows. `store` fills the document store with stand-in
vectors: half of them in groups around common centres, as passages of one page are, the others anywhere.
"""

from __future__ import annotations

import argparse
import gzip
import json
import resource
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vista_guard.stores.entries import OnnxEmbedder
from vista_lab.systems.baselines import words

PAGES = ("entailment_retrieval.claim.dev.jsonl.gz", "non_supported_tokens.train.jsonl.gz")
SENTENCES = 5
KS = (1, 5, 10, 30, 100)
Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Claim:
    """A claim of people, and the windows that hold a sentence which supports it."""

    text: str
    relevant: frozenset[int]
    sentences: tuple[frozenset[int], ...]
    """For each supporting sentence the windows that hold it."""


def read_wice(folder: Path) -> tuple[list[str], list[Claim]]:
    """All windows of the pages, and the claims of dev with support."""
    windows: list[str] = []
    claims: list[Claim] = []
    for name in PAGES:
        seen: dict[tuple[str, ...], int] = {}
        for row in _rows(folder / name):
            page = tuple(row["evidence"])
            first = seen.setdefault(page, len(windows))
            if first == len(windows):
                windows += [" ".join(page[at : at + SENTENCES]) for at in range(max(1, len(page) - SENTENCES + 1))]
            places = sorted({sentence for group in row["supporting_sentences"] for sentence in group})
            if name == PAGES[0] and places:
                last = first + max(0, len(page) - SENTENCES)
                held = [
                    frozenset(range(max(first, first + one - SENTENCES + 1), min(last, first + one) + 1))
                    for one in places
                ]
                claims.append(Claim(row["claim"], frozenset().union(*held), tuple(held)))
    return windows, claims


def _rows(file: Path) -> Iterator[Mapping[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def by_vectors(vectors: Vectors, queries: Vectors) -> list[list[int]]:
    """For each query its nearest rows."""
    scores = queries @ vectors.T
    return [list(map(int, np.argsort(-row, kind="stable")[: max(KS)])) for row in scores]


def by_words(windows: Sequence[str], claims: Sequence[Claim], *, rare: bool) -> list[list[int]]:
    """For each claim the windows that share most content words with it; with `rare`, rare words weigh more."""
    said = [words(window) for window in windows]
    counts = Counter(word for one in said for word in one)
    found = []
    for claim in claims:
        weights = {
            word: log(1 + len(windows) / counts[word]) if rare else 1.0 for word in words(claim.text) if counts[word]
        }
        scores = np.array([sum(weights[word] for word in weights.keys() & one) for one in said])
        found.append(list(map(int, np.argsort(-scores, kind="stable")[: max(KS)])))
    return found


def recall(claims: Sequence[Claim], ranked: Sequence[Sequence[int]]) -> list[tuple[int, float, float]]:
    """For each k: R@k by windows, and the share of claims with a supporting sentence among them."""
    rows = []
    for k in KS:
        tops = [set(one[:k]) for one in ranked]
        share = [len(claim.relevant & top) / len(claim.relevant) for claim, top in zip(claims, tops, strict=True)]
        rows.append((k, float(np.mean(share)), float(np.mean([one > 0 for one in share]))))
    return rows
