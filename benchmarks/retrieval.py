"""Retrieval: whether a claim's evidence is among the nearest passages, and what large document stores cost.

    python -m benchmarks.retrieval wice data/train/wice --embedder shipped --vectors windows.npy
    python -m benchmarks.retrieval search data
    python -m benchmarks.retrieval verdicts data --twins twins.jsonl
    python -m benchmarks.retrieval turns --sizes 1000 10000
    python -m benchmarks.retrieval words --sizes 1000 10000 50000
    python -m benchmarks.retrieval store --sizes 10000 100000 1000000

`wice` ranks all windows of five sentences of WiCE's train and dev pages (Kamoi et al., 2023) for the 306 claims of dev that
people found support for. A window is relevant when it holds a supporting sentence of the claim's own page: neighbours overlap,
so that one sentence makes up to five windows relevant, and R@k (LLM-OASIS, Eq. 10) stays low for small k. `found@k` is the share
of claims of which some supporting sentence is in one of the first k windows. `search` looks for the passages that people
answered from: MTRAG-UN's conversations (dev: ids that end in 0 to 4), ClapNQ's questions, INSCIT's dialogues (Wu et al., 2023)
and codes of a made-up manual; by turn (question and answer, as the guard asks), by claim (each sentence of the answer), and
both. `verdicts` judges MTRAG-UN's answers, and their falsified twins, with the passages they were written from and with what a
store of all passages finds. `turns` times a turn against a Chroma folder beside the same turn with its passages given. `words`
times BM25 beside the vectors. `store` searches stand-in vectors in the two ways of the document store: half of them lie in
groups around common centres, as passages of one page do, the others anywhere.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from training.suites import faithful
from vista_guard.guard import Guard
from vista_guard.policy.label_policy import PRESETS
from vista_guard.protocols import Embedder
from vista_guard.reading.passages import sentence_spans
from vista_guard.stores.chroma.client import chroma_client
from vista_guard.stores.chroma.codes import CodedVectors
from vista_guard.stores.chroma.documents import ChromaDocuments
from vista_guard.stores.embedders import build_embedder
from vista_guard.stores.entries import best_rows, query_vector
from vista_guard.stores.memory import MemoryDocuments
from vista_guard.stores.words import WordRanking, fused
from vista_guard.types import Action, Conversation, Document, Role, Turn

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
                supporting = [
                    frozenset(range(max(first, first + place - SENTENCES + 1), min(last, first + place) + 1))
                    for place in places
                ]
                claims.append(Claim(row["claim"], frozenset().union(*supporting), tuple(supporting)))
    return windows, claims


def _rows(file: Path) -> Iterator[Mapping[str, Any]]:
    with gzip.open(file, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def by_vectors(vectors: Vectors, queries: Vectors) -> list[list[int]]:
    """For each query its nearest rows."""
    scores = queries @ vectors.T
    return [list(map(int, np.argsort(-row, kind="stable")[: max(KS)])) for row in scores]


def by_words(texts: Sequence[str], queries: Sequence[str]) -> list[list[int]]:
    """For each query the texts that share most with it, by BM25."""
    ranking = WordRanking()
    ranking.update([f"{place:08}" for place in range(len(texts))], lambda key: texts[int(key)])
    return [[int(key) for _, key in ranking.best(query, max(KS))] for query in queries]


def both(near: Sequence[Sequence[int]], shared: Sequence[Sequence[int]]) -> list[list[int]]:
    """Fuses two rankings, as the stores do."""
    rankings = []
    for one, other in zip(near, shared, strict=True):
        ranked = fused([[f"{place:08}" for place in places] for places in (one, other)])
        rankings.append([int(key) for key in ranked[: max(KS)]])
    return rankings


def recall(claims: Sequence[Claim], ranked: Sequence[Sequence[int]]) -> list[tuple[int, float, float]]:
    """For each k: R@k by windows, and the share of claims with a supporting sentence among them."""
    rows = []
    for k in KS:
        tops = [set(ranking[:k]) for ranking in ranked]
        share = [len(claim.relevant & top) / len(claim.relevant) for claim, top in zip(claims, tops, strict=True)]
        rows.append((k, float(np.mean(share)), float(np.mean([value > 0 for value in share]))))
    return rows


def wice(folder: Path, name: str, kept: Path | None, most: int | None) -> None:
    """Prints R@k and found@k of an embedder, of words and of both."""
    windows, claims = read_wice(folder)
    windows = windows[:most]
    claims = [claim for claim in claims if max(claim.relevant) < len(windows)]
    embedder = build_embedder(name)
    if kept is not None and kept.exists():
        vectors = np.load(kept)
    else:
        vectors = np.concatenate([embedder.embed(windows[at : at + 500]) for at in range(0, len(windows), 500)])
        if kept is not None:
            np.save(kept, vectors)
    queries = np.stack([query_vector(embedder, claim.text) for claim in claims])
    print(f"{len(windows):,} windows, {len(claims)} claims")
    near, shared = by_vectors(vectors, queries), by_words(windows, [claim.text for claim in claims])
    ways = {f"embedder {name}": near, "words": shared, "both, ranks fused": both(near, shared)}
    for way, ranked in ways.items():
        print(
            way, *(f"k={k} R {share:.3f} found {found:.3f}" for k, share, found in recall(claims, ranked)), sep="\n  "
        )


@dataclass(frozen=True)
class Search:
    """A turn, and the texts that people answered it from."""

    part: str
    question: str
    answer: str
    relevant: frozenset[int]


def read_mtragun(file: Path) -> tuple[list[str], list[Search]]:
    """All passages of MTRAG-UN's reference tasks, and the answerable turns with the last question and people's answer."""
    places: dict[str, int] = {}
    searches = []
    for row in _rows(file):
        relevant = frozenset(places.setdefault(context["text"].strip(), len(places)) for context in row["contexts"])
        if row["targets"] and relevant:
            part = "dev" if row["conversation_id"][-1] in "01234" else "rest"
            searches.append(Search(part, row["input"][-1]["text"], row["targets"][0]["text"], relevant))
    return list(places), searches


def read_clapnq(folder: Path) -> tuple[list[str], list[Search]]:
    """ClapNQ's passages, answerable or not, and its answerable questions."""
    texts, searches = [], []
    for kind in ("answerable", "unanswerable"):
        for row in _rows(folder / f"clapnq_dev_{kind}.jsonl.gz"):
            passage = row["passages"][0]
            texts.append(f"{passage['title']}\n{passage['text']}")
            if kind == "answerable":
                place = frozenset([len(texts) - 1])
                searches.append(Search("all", row["input"], row["output"][0]["answer"], place))
    return texts, searches


def read_inscit(file: Path) -> tuple[list[str], list[Search]]:
    """The passages that people used in INSCIT's dialogues, and each of their answers with the user's last message."""
    places: dict[str, int] = {}
    searches = []
    with gzip.open(file, "rt", encoding="utf-8") as dialogues:
        turns = [turn for dialogue in json.load(dialogues).values() for turn in dialogue["turns"]]
    for turn in turns:
        for label in turn["labels"]:
            passages = [
                " > ".join(evidence["passage_titles"]) + "\n" + evidence["passage_text"]
                for evidence in label["evidence"]
            ]
            if passages:
                relevant = frozenset(places.setdefault(text, len(places)) for text in passages)
                searches.append(Search("dev", turn["context"][-1], label["response"], relevant))
    return list(places), searches


def made_codes() -> tuple[list[str], list[Search]]:
    """Entries of a made-up manual that differ by a code and a figure, and questions for the code or the figure."""
    rng = np.random.default_rng(7)
    parts = ("pump", "valve", "boiler", "belt", "sensor", "door")
    texts, searches = [], []
    for place in range(1000):
        code, figure = f"{'QXZKV'[place % 5]}-{4000 + place}", int(rng.integers(1_000, 90_000))
        part = parts[place % len(parts)]
        texts.append(
            f"Fault {code}: the {part} stops. Reset it and order spare part {figure:,}. See the log of the {part}."
        )
        if place % 5 == 0:
            searches.append(
                Search("codes", f"What does {code} mean?", f"{code} says that the {part} stops.", frozenset([place]))
            )
            searches.append(
                Search("figures", f"Which fault needs part {figure}?", f"Part {figure}.", frozenset([place]))
            )
    return texts, searches


def search(folder: Path, embedder: Embedder) -> None:
    """Prints recall at 6 and 20 of the passages that people answered from, by way of searching and of asking."""
    sets = {
        "MTRAG-UN": read_mtragun(folder / faithful.REFERENCE),
        "ClapNQ": read_clapnq(folder / "train" / "clapnq"),
        "INSCIT": read_inscit(folder / "eval" / "inscit" / "dev.json.gz"),
        "made-up manual": made_codes(),
    }
    for name, (texts, searches) in sets.items():
        vectors = np.concatenate([embedder.embed(texts[at : at + 200]) for at in range(0, len(texts), 200)])
        for part in sorted({item.part for item in searches}):
            chosen = [item for item in searches if item.part == part]
            print(f"{name}, {part}: {len(texts):,} passages, {len(chosen)} turns")
            _print_recall(texts, vectors, chosen, embedder)


def _print_recall(texts: Sequence[str], vectors: Vectors, searches: Sequence[Search], embedder: Embedder) -> None:
    query_sets = {
        "question": [[item.question] for item in searches],
        "turn": [[f"{item.question}\n{item.answer}"] for item in searches],
        "claim": [[item.answer[span.start : span.end] for span in sentence_spans(item.answer)] for item in searches],
    }
    query_sets["both"] = [turn + claims for turn, claims in zip(query_sets["turn"], query_sets["claim"], strict=True)]
    for how, queries in query_sets.items():
        flat = list(dict.fromkeys(query for some in queries for query in some))
        near = by_vectors(vectors, np.stack([query_vector(embedder, query) for query in flat]))
        shared = by_words(texts, flat)
        for way, ranked in {"vectors": near, "words": shared, "fused": both(near, shared)}.items():
            places = dict(zip(flat, ranked, strict=True))
            shares = [
                np.mean(
                    [
                        len(_first(places, some, k) & item.relevant) / len(item.relevant)
                        for some, item in zip(queries, searches, strict=True)
                    ]
                )
                for k in (1, 6, 20)
            ]
            mean_count = np.mean([len(_first(places, some, 6)) for some in queries])
            print(
                f"  by {how:8} {way:8} R@1 {shares[0]:.3f}  R@6 {shares[1]:.3f}  R@20 {shares[2]:.3f}  "
                f"({mean_count:.1f} passages at 6)"
            )


def _first(places: Mapping[str, Sequence[int]], queries: Sequence[str], k: int) -> set[int]:
    return {place for query in queries for place in places[query][:k]}


def verdicts(folder: Path, twins: Path) -> None:
    """Prints how many claims are held and answers flagged of MTRAG-UN dev, by where the evidence comes from."""
    path = folder / faithful.REFERENCE
    texts, _ = read_mtragun(path)
    stored = [Document(id=str(place), text=text) for place, text in enumerate(texts)]
    turns = {
        "answers": list(faithful.answerable(path)),
        "twins": list(faithful.falsified_twins(path, twins)),
    }
    asyncio.run(_print_verdicts("given passages", None, stored, turns, "turn"))
    for mode in ("vectors", "hybrid"):
        for how in ("turn", "claim", "both"):
            asyncio.run(_print_verdicts(f"{mode} by {how}", mode, stored, turns, how))


async def _print_verdicts(
    name: str, mode: Any, stored: Sequence[Document], turns: Mapping[str, Sequence[Conversation]], how: Any
) -> None:
    documents = None if mode is None else MemoryDocuments(build_embedder("shipped"), search=mode)
    if documents is not None:
        await documents.add(stored)
    figures = []
    guard = Guard.from_settings(policy="monitor", store="memory", documents=documents, retrieve_by=how)
    risk = guard.parts.turn_risk
    for kind, conversations in turns.items():
        inputs = [
            _without_documents(conversation) if documents is not None else conversation
            for conversation in conversations
        ]
        reports = await faithful.judge(guard, inputs)
        balanced = PRESETS["balanced"].fitted_to(risk)
        flagged = np.mean([faithful.reaches(report, balanced, Action.FLAG) for report in reports])
        claims_held = faithful.claims_held(reports)
        figures.append(f"{kind}: claims held {claims_held}, flagged or blocked {100 * flagged:.1f} %")
    await guard.aclose()
    print(f"{name:16} {' · '.join(figures)}", flush=True)


def _without_documents(conversation: Conversation) -> Conversation:
    turns = [turn.model_copy(update={"documents": ()}) for turn in conversation.turns]
    return conversation.model_copy(update={"turns": tuple(turns)})


def turn_times(sizes: Sequence[int]) -> None:
    """Prints a turn's time with its passages given, and with those that a Chroma folder finds, measured alternately."""
    for size in sizes:
        texts = [
            f"{text} The hall of Vale {place} opened in {1800 + place % 200}."
            for place, text in enumerate(_pages(size))
        ]
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(_timed_turns(size, texts, folder))


def _pages(size: int) -> Iterator[str]:
    rng = np.random.default_rng(11)
    words = [word for line in (__doc__ or "").splitlines() for word in line.split() if word.isalpha()]
    for _ in range(size):
        yield " ".join(words[place] for place in rng.integers(len(words), size=70)) + "."


async def _timed_turns(size: int, texts: Sequence[str], folder: str) -> None:
    store = ChromaDocuments(chroma_client(folder), build_embedder("shipped"))
    given, kept = Guard.from_settings(store="memory"), Guard.from_settings(store="memory", documents=store)
    began = perf_counter()
    pages = [Document(id=str(first), text="\n\n".join(texts[first : first + 100])) for first in range(0, size, 100)]
    passages = await store.add(pages)
    print(f"{passages:>7,} passages added in {perf_counter() - began:.0f} s", flush=True)
    times: dict[str, list[float]] = {"given": [], "found": []}
    for turn in range(SEARCHES + 2):
        # About different halls: the caches of one turn must not help the other.
        for name, guard, place in (("given", given, 6 * turn), ("found", kept, size // 2 + 6 * turn)):
            first, second = (f"hall of Vale {number} opened in {1800 + number % 200}" for number in (place, place + 1))
            question = Turn(role=Role.USER, text=f"When did the halls {place} and {place + 1} open?")
            around = [
                Document(id=str(number), text=texts[number]) for number in range(place, place + 6) if name == "given"
            ]
            answer = Turn(role=Role.ASSISTANT, text=f"The {first}. The {second}.", documents=tuple(around))
            began = perf_counter()
            await guard.acheck(Conversation(turns=(question, answer)))
            times[name].append(1e3 * (perf_counter() - began))
    given_ms, found_ms = (float(np.median(times[name][2:])) for name in ("given", "found"))
    print(
        f"{size:>7,}  given {given_ms:.1f} ms  found {found_ms:.1f} ms  more {found_ms - given_ms:.1f} ms", flush=True
    )
    await given.aclose()
    await kept.aclose()


def word_times(sizes: Sequence[int]) -> None:
    """Prints BM25's time beside that of comparing with every vector, for the words of a turn."""
    texts, searches = made_texts(max(sizes))
    for size in sizes:
        ranking = WordRanking()
        began = process_time()
        ranking.update([f"{place:08}" for place in range(size)], lambda key: texts[int(key)])
        read, began = process_time() - began, process_time()
        ranking.best("the", 1)
        built = process_time() - began
        collection: Any = StandIn(size)
        vectors, _ = _timed(
            lambda query, made=collection: [row for _, row in best_rows(made.vectors, query, 50)], collection.queries
        )
        shared, _ = _timed(lambda query, by=ranking: [int(key) for _, key in by.best(query, 50)], searches)
        print(
            f"{size:>7,}  vectors {vectors}  words {shared}  words read in {read:.2f} s, sorted in {built:.2f} s",
            flush=True,
        )


def made_texts(size: int) -> tuple[list[str], list[str]]:
    """Passages of 110 words by Zipf's law, and turns of 60."""
    rng = np.random.default_rng(3)
    names = [f"{chr(97 + n % 26)}{chr(97 + n // 26 % 26)}{n}".replace("0", "o") for n in range(60_000)]
    drawn = np.minimum(rng.zipf(1.25, (size, 110)), len(names)) - 1
    turns = np.minimum(rng.zipf(1.25, (SEARCHES, 60)), len(names)) - 1
    return [[" ".join(names[word] for word in row) for row in rows] for rows in (drawn, turns)]  # type: ignore[return-value]


class StandIn:
    """A collection of made-up vectors, with the part of Chroma's interface that a search uses."""

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
        return {"ids": ids, "embeddings": self.vectors[[int(key) for key in ids]]}


SEARCHES, WANTED = 20, 30


def _unit(rows: Vectors) -> Vectors:
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return rows


def store(sizes: Sequence[int]) -> None:
    """Prints the times of comparing with every float and with every byte, and the latter's recall."""
    for size in sizes:
        collection: Any = StandIn(size)
        queries = collection.queries
        floats, exact = _timed(
            lambda query, made=collection: [row for _, row in best_rows(made.vectors, query, WANTED)], queries
        )
        codes = CodedVectors()
        began, used = perf_counter(), process_time()
        while not codes.step(collection, size):
            pass
        built = f"codes made in {perf_counter() - began:.1f} s ({process_time() - used:.1f} s of one core)"
        bytes_, coded = _timed(
            lambda query, made=collection, by=codes: [int(key) for _, key in by.nearest(made, query, WANTED)], queries
        )
        hits = [len(set(one) & set(other)) / WANTED for one, other in zip(exact, coded, strict=True)]
        print(f"{size:>9,}  floats {floats}  bytes {bytes_}  recall {np.mean(hits):.4f}  {built}", flush=True)


def _timed(search: Any, queries: Any) -> tuple[str, list[list[int]]]:
    """The least time of a search, of the clock and of all cores, and the results."""
    results, clock, cores = [], [], []
    for query in queries:
        began, used = perf_counter(), process_time()
        results.append(search(query))
        clock.append(perf_counter() - began)
        cores.append(process_time() - used)
    return f"{min(clock) * 1e3:.1f} ms ({np.median(cores) * 1e3:.1f} of cores)", results


def main() -> None:
    """Parses the arguments and measures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.retrieval", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    pages = commands.add_parser("wice")
    pages.add_argument("data", type=Path, help="folder of WiCE's files")
    pages.add_argument("--embedder", default="shipped", help="as the setting (default: %(default)s)")
    pages.add_argument("--vectors", type=Path, help="keep the windows' vectors in this file (.npy)")
    pages.add_argument("--windows", type=int, help="only so many windows, and the claims whose pages are among them")
    sets = commands.add_parser("search")
    sets.add_argument("data", type=Path, help="folder with train/mtragun, train/clapnq and eval/inscit")
    sets.add_argument("--embedder", default="shipped", help="as the setting (default: %(default)s)")
    judged = commands.add_parser("verdicts")
    judged.add_argument("data", type=Path, help="folder with train/mtragun")
    judged.add_argument("--twins", type=Path, required=True, help="as training.suites.faithful takes them")
    turns = commands.add_parser("turns")
    turns.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000])
    times = commands.add_parser("words")
    times.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 50_000])
    stores = commands.add_parser("store")
    stores.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    chosen = parser.parse_args()
    if chosen.command == "wice":
        wice(chosen.data, chosen.embedder, chosen.vectors, chosen.windows)
    elif chosen.command == "search":
        search(chosen.data, build_embedder(chosen.embedder))
    elif chosen.command == "verdicts":
        verdicts(chosen.data, chosen.twins)
    elif chosen.command == "turns":
        turn_times(chosen.sizes)
    elif chosen.command == "words":
        word_times(chosen.sizes)
    else:
        store(chosen.sizes)


if __name__ == "__main__":
    main()
