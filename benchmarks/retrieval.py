"""Retrieval: whether a claim's evidence is among the nearest passages, and what large document stores cost.

    python -m benchmarks.retrieval wice data/train/wice --embedder shipped --vectors windows.npy
    python -m benchmarks.retrieval store --sizes 10000 100000 1000000

`wice` ranks all windows of five sentences of WiCE's train and dev pages (Kamoi et al., 2023) for the 306 claims of dev that
people found support for. A window is relevant when it holds a supporting sentence of the claim's own page: neighbours overlap,
so that one sentence makes up to five windows relevant, and R@k (LLM-OASIS, Eq. 10) stays low for small k. `found@k` is the share
of claims of which some supporting sentence is in one of the first k windows. `store` searches stand-in vectors in the two ways
of the document store: half of them lie in groups around common centres, as passages of one page do, the others anywhere.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vista_guard.stores.chroma.codes import CodedVectors
from vista_guard.stores.chroma.documents import _exactly
from vista_guard.stores.embedders import build_embedder
from vista_guard.stores.entries import best_rows, query_vector
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
            if name == PAGES[0] and row["label"] != "not_supported":
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
    places = defaultdict[str, list[int]](list)
    for number, window in enumerate(windows):
        for word in words(window):
            places[word].append(number)
    found = []
    for claim in claims:
        scores = np.zeros(len(windows))
        for word in words(claim.text):
            if word in places:
                scores[places[word]] += log(1 + len(windows) / len(places[word])) if rare else 1.0
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


def wice(folder: Path, name: str, kept: Path | None) -> None:
    """Prints R@k and found@k of an embedder and of word overlap."""
    windows, claims = read_wice(folder)
    embedder = build_embedder(name)
    if kept is not None and kept.exists():
        vectors = np.load(kept)
    else:
        vectors = np.concatenate([embedder.embed(windows[at : at + 500]) for at in range(0, len(windows), 500)])
        if kept is not None:
            np.save(kept, vectors)
    queries = np.stack([query_vector(embedder, claim.text) for claim in claims])
    print(f"{len(windows):,} windows, {len(claims)} claims")
    ways = {
        f"embedder {name}": by_vectors(vectors, queries),
        "shared words": by_words(windows, claims, rare=False),
        "shared words, rare ones weigh more": by_words(windows, claims, rare=True),
    }
    for way, ranked in ways.items():
        print(
            way, *(f"k={k} R {share:.3f} found {found:.3f}" for k, share, found in recall(claims, ranked)), sep="\n  "
        )


class StandIn:
    """A collection of made-up vectors, with as much of Chroma's surface as a search asks for."""

    name = "stand-in"
    metadata: Mapping[str, str] = {}

    def __init__(self, size: int, dimension: int = 384) -> None:
        self.ids = [f"{row:08}" for row in range(size)]
        self.vectors = np.empty((size, dimension), np.float32)
        rng = np.random.default_rng(1)
        centres = _unit(rng.standard_normal((max(size // 100, 1), dimension), np.float32))
        for first in range(0, size, 20_000):
            rows = rng.standard_normal((min(20_000, size - first), dimension), np.float32) / np.sqrt(dimension)
            half = len(rows) // 2
            rows[:half] = centres[rng.integers(len(centres), size=half)] + 0.8 * rows[:half]
            self.vectors[first : first + len(rows)] = _unit(rows)
        noise = rng.standard_normal((SEARCHES, dimension), np.float32) / np.sqrt(dimension)
        self.queries = _unit(self.vectors[rng.integers(size, size=SEARCHES)] + 0.5 * noise)

    def get(
        self,
        ids: list[str] | None = None,
        include: Sequence[str] = (),  # noqa: ARG002  as Chroma has it
        limit: int | None = None,
        offset: int = 0,
    ) -> dict[str, Any]:
        """Rows, as a collection gives them."""
        if ids is None:
            return {"ids": self.ids[offset : None if limit is None else offset + limit]}
        return {"ids": ids, "embeddings": self.vectors[[int(one) for one in ids]]}


SEARCHES, WANTED = 20, 30


def _unit(rows: Vectors) -> Vectors:
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def store(sizes: Sequence[int]) -> None:
    """Prints what comparing with every float and with every byte take, and what the latter finds."""
    for size in sizes:
        collection: Any = StandIn(size)
        queries = collection.queries
        floats, exact = _timed(
            lambda one, made=collection: [row for _, row in best_rows(made.vectors, one, WANTED)], queries
        )
        codes = CodedVectors()
        began, used = perf_counter(), process_time()
        while not codes.step(collection, size):
            pass
        built = f"codes made in {perf_counter() - began:.1f} s ({process_time() - used:.1f} s of one core)"
        bytes_, coded = _timed(lambda one, made=collection, by=codes: _coded(made, by, one), queries)
        hits = [len(set(one) & set(other)) / WANTED for one, other in zip(exact, coded, strict=True)]
        print(f"{size:>9,}  floats {floats}  bytes {bytes_}  recall {np.mean(hits):.4f}  {built}", flush=True)


def _coded(collection: Any, codes: CodedVectors, query: Vectors) -> list[int]:
    return [int(key) for _, key in _exactly(collection, codes.candidates(query, WANTED), query, WANTED)]


def _timed(search: Any, queries: Vectors) -> tuple[str, list[list[int]]]:
    """The least time of a search, of the clock and of all cores, and what was found."""
    found, clock, cores = [], [], []
    for query in queries:
        began, used = perf_counter(), process_time()
        found.append(search(query))
        clock.append(perf_counter() - began)
        cores.append(process_time() - used)
    return f"{min(clock) * 1e3:.1f} ms ({np.median(cores) * 1e3:.1f} of cores)", found


def main() -> None:
    """Parses the arguments and measures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retrieval", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    pages = commands.add_parser("wice")
    pages.add_argument("data", type=Path, help="folder of WiCE's files")
    pages.add_argument("--embedder", default="shipped", help="as the setting (default: %(default)s)")
    pages.add_argument("--vectors", type=Path, help="keep the windows' vectors in this file (.npy)")
    stores = commands.add_parser("store")
    stores.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    chosen = parser.parse_args()
    if chosen.command == "wice":
        wice(chosen.data, chosen.embedder, chosen.vectors)
    else:
        store(chosen.sizes)


if __name__ == "__main__":
    main()
