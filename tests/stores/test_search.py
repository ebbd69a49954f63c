"""A search finds what is nearest, the same in every process and every place, to the end of every passage."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.stores.conftest import PLACES
from vista_guard.errors import StoreError
from vista_guard.reading.passages import passages
from vista_guard.stores.chroma import documents as chroma_documents
from vista_guard.stores.chroma.client import chroma_client
from vista_guard.stores.chroma.documents import ChromaDocuments
from vista_guard.stores.chroma.engine import FolderCollection
from vista_guard.stores.entries import OnnxEmbedder, best_rows, reads_of
from vista_guard.stores.memory import MemoryDocuments
from vista_guard.testing import WordEmbedder
from vista_guard.types import Document, Passage, SearchMode

Store = MemoryDocuments | ChromaDocuments

ODD = ("the lighthouse keeper sleeps", "violins need rosin", "a kiln burns at night", "nobody salted the soup")
"""A page that resembles none of the others: an approximate index of a catalogue loses it."""

ALIKE = [
    Document(id=f"note{n}", text=f"Station {n} opened in {1900 + n % 90} and has {n % 38} stands.") for n in range(160)
]
SHELF = [*ALIKE[:80], *(Document(id=f"odd{n}", text=text) for n, text in enumerate(ODD)), *ALIKE[80:]]
QUERIES = [*(f"{text} today" for text in ODD), *(f"When did station {n} open?" for n in range(0, 160, 40))]

FRESH = """
import asyncio, json, sys
from vista_guard.stores.chroma.client import chroma_client
from vista_guard.stores.chroma.documents import ChromaDocuments
from vista_guard.testing import WordEmbedder

async def main():
    store = ChromaDocuments(chroma_client(sys.argv[1]), WordEmbedder(), search=sys.argv[3])
    found = [[one.source_id for one in await store.search(query, 6)] for query in json.loads(sys.argv[2])]
    await store.aclose()
    print(json.dumps(found))

asyncio.run(main())
"""


def in_a_fresh_process(location: str, search: SearchMode = "vectors") -> Any:
    command = [sys.executable, "-c", FRESH, location, json.dumps(QUERIES), search]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout)


def exactly(queries: Sequence[str], limit: int) -> list[list[float]]:
    """The cosines of the nearest documents, by comparing each."""
    embedder = WordEmbedder()
    scores = embedder.embed(queries) @ embedder.embed([document.text for document in SHELF]).T
    return [sorted(row, reverse=True)[:limit] for row in scores.round(5).tolist()]


def cosines(query: str, found: Sequence[str]) -> list[float]:
    by_id = {document.id: document.text for document in SHELF}
    vectors = WordEmbedder().embed([query, *(by_id[name] for name in found)])
    return [float(score) for score in (vectors[1:] @ vectors[0]).round(5)]


@pytest.mark.parametrize("place", ["folder", "server"])
async def test_fresh_processes_find_the_nearest(place: str, location: Callable[[str], str]) -> None:
    store = ChromaDocuments(chroma_client(location(place)), WordEmbedder())
    await store.add(SHELF)
    await store.aclose()
    with ThreadPoolExecutor(2) as threads:
        answers = list(
            threads.map(in_a_fresh_process, [location(place)] * 4 if place == "folder" else [_url(store)] * 2)
        )
    assert all(answer == answers[0] for answer in answers)
    assert [cosines(query, found) for query, found in zip(QUERIES, answers[0], strict=True)] == exactly(QUERIES, 6)
    joined = [in_a_fresh_process(_url(store) if place == "server" else location(place), "hybrid") for _ in range(2)]
    memory = MemoryDocuments(WordEmbedder())
    await memory.add(SHELF[::-1])
    assert joined == [[[one.source_id for one in await memory.search(query, 6)] for query in QUERIES]] * 2


def _url(store: ChromaDocuments) -> str:
    return store._chroma.location


@pytest.mark.parametrize("search", ["hybrid", "vectors", "words"])
@pytest.mark.parametrize("place", ["folder", "server"])
async def test_memory_and_chroma_find_the_same_in_the_same_order(
    place: str, search: SearchMode, running_location: Callable[[str], str]
) -> None:
    twins = [*SHELF, *(document.model_copy(update={"id": f"copy of {document.id}"}) for document in SHELF[::7])]
    memory = MemoryDocuments(WordEmbedder(), search=search)
    chroma = ChromaDocuments(chroma_client(running_location(place)), WordEmbedder(), search=search)
    await memory.add(twins)
    await chroma.add(list(reversed(twins)))
    for query in QUERIES:
        stored, held = await chroma.search(query, 9), await memory.search(query, 9)
        assert (list(stored), _ways(stored)) == (list(held), _ways(held))
        assert list(await chroma.neighbours(stored)) == list(await memory.neighbours(held))
    await chroma.aclose()


def _ways(found: Sequence[Passage]) -> list[Any]:
    return [one.found.model_dump() for one in found if one.found]


MANUAL = [
    *ALIKE[:60],
    Document(id="fault", text="Fault ZX-4410: the pump of the fountain stops. Order spare part 18,250."),
    Document(id="other", text="Fault ZX-4411: the pump of the fountain leaks. Order spare part 18,260."),
    Document(id="chinese", text="灯台は一八五〇年に建てられました。"),
    Document(
        id="fees",
        title="Fees",
        text="# Fees\n\n"
        + "All fees are paid at the gate of the park. " * 20
        + "\n\n## Children\n\n"
        + "It is free. " * 60,
    ),
]


@pytest.mark.parametrize("place", PLACES)
async def test_codes_names_and_figures_are_found_by_words(place: str, running_location: Callable[[str], str]) -> None:
    """The shipped model puts one code beside another; words tell them apart."""
    store: Store = MemoryDocuments(OnnxEmbedder())
    if place != "memory":
        store = ChromaDocuments(chroma_client(running_location(place)), OnnxEmbedder())
    await store.add(MANUAL)
    for query, expected in {
        "What does zx4411 mean?": "other",
        "ZX-4410?": "fault",
        "Which fault needs part 18260?": "other",
        "灯台はいつ建てられましたか": "chinese",
    }.items():
        first = (await store.search(query, 1))[0]
        assert (first.source_id, first.found and "words" in first.found.by) == (expected, True)
    await store.aclose()


@pytest.mark.parametrize("place", PLACES)
async def test_headings_and_neighbours_come_along(place: str, running_location: Callable[[str], str]) -> None:
    store: Store = MemoryDocuments(WordEmbedder())
    if place != "memory":
        store = ChromaDocuments(chroma_client(running_location(place)), WordEmbedder())
    await store.add(MANUAL)
    cut = passages(MANUAL[-1])
    (found,) = await store.search("it is free " * 40, 1)
    assert (found, found.headings) == (
        cut[-1].model_copy(update={"headings": found.headings}),
        ("# Fees", "## Children"),
    )
    beside = await store.neighbours([found], 9)
    assert [one.text for one in reversed(beside)] == [one.text for one in cut[:-1]]
    assert all(one.found and one.found.by == ("neighbour",) and one.found.rank == 1 for one in beside)
    assert await store.neighbours([*beside, found], 9) == ()
    await store.aclose()


async def test_a_running_store_finds_what_another_process_adds_and_deletes(tmp_path: Path) -> None:
    script = (
        FRESH[: FRESH.index("    found")]
        + "    await eval(sys.argv[2])\n    await store.aclose()\n\nasyncio.run(main())"
    )
    script = script.replace(
        "from vista_guard.testing", "from vista_guard.types import Document\nfrom vista_guard.testing"
    )
    store = ChromaDocuments(chroma_client(tmp_path), WordEmbedder())
    await store.add([Document(id="pier", text="The pier opened in 1911."), Document(id="boat", text="The boat sails.")])
    assert [one.source_id for one in await store.search("the pier opened", 1)] == ["pier"]
    for change, expected in (
        ("store.add([Document(id='pier', text='The pier burned down.')])", "The pier burned down."),
        ("store.add([Document(id='gate', text='The pier opened at its gate.')])", "The pier opened at its gate."),
        ("store.delete('gate')", "The pier burned down."),
    ):
        command = [sys.executable, "-c", script, str(tmp_path), change, "vectors"]
        await asyncio.to_thread(subprocess.run, command, check=True, timeout=300)
        assert [one.text for one in await store.search("the pier opened at", 1)] == [expected]
    await store.aclose()


async def test_beyond_what_is_compared_exactly_nothing_is_missed_with_faiss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("faiss", reason="the extra `search` is not installed")
    monkeypatch.setattr(chroma_documents, "EXACT", 10)
    store = ChromaDocuments(chroma_client(tmp_path), WordEmbedder())
    memory = MemoryDocuments(WordEmbedder())
    for one in (store, memory):
        await one.add(SHELF)
    for query in QUERIES:
        assert list(await store.search(query, 6)) == list(await memory.search(query, 6))
    for one in (store, memory):  # what is changed, added and deleted is seen
        await one.add([Document(id=SHELF[0].id, text="The pier burned down."), Document(id="new", text="A new boat.")])
        await one.delete(SHELF[1].id)
    for query in (*QUERIES, "pier burned", "new boat"):
        assert list(await store.search(query, 6)) == list(await memory.search(query, 6))
    await store.aclose()


async def test_beyond_what_is_compared_exactly_the_index_misses_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chroma_documents, "EXACT", 10)
    monkeypatch.setattr(chroma_documents, "can_encode", lambda: False)
    store = ChromaDocuments(chroma_client(tmp_path), WordEmbedder(), search="vectors")
    await store.add(SHELF)
    answers = [[one.source_id for one in await store.search(query, 6)] for query in QUERIES]
    await store.aclose()
    wanted = exactly(QUERIES, 6)
    found = [cosines(query, answer) for query, answer in zip(QUERIES, answers, strict=True)]
    hits = [score >= least[-1] for scores, least in zip(found, wanted, strict=True) for score in scores]
    assert np.mean(hits) >= 0.95
    assert [scores[0] for scores in found] == [scores[0] for scores in wanted]


async def test_passages_whose_loading_failed_are_loaded_with_the_next_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ChromaDocuments(chroma_client(tmp_path), WordEmbedder())
    await store.add(SHELF)
    get, calls = FolderCollection.get, iter([None, OSError("the server is gone")])  # listing, then fetching

    def failing(self: FolderCollection, **arguments: Any) -> Any:
        failure = next(calls, None)
        if failure is not None:
            raise failure
        return get(self, **arguments)

    monkeypatch.setattr(FolderCollection, "get", failing)
    with pytest.raises(StoreError):
        await store.search(QUERIES[0], 6)
    assert [one.source_id for one in await store.search(QUERIES[0], 1)] == ["odd0"]
    await store.aclose()


def test_equal_rows_come_in_one_order_whatever_the_matrix() -> None:
    vectors = np.random.default_rng(5).normal(size=(999, 384)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[[40, 500, 998]] = vectors[7]
    for stop in (999, 1000):
        rows = [row for _, row in best_rows(vectors[:stop], vectors[7], 4)]
        assert rows == [7, 40, 500, 998]
    assert [row for _, row in best_rows(vectors, vectors[7], 2)] == [7, 40]
    assert best_rows(vectors, vectors[7], 0) == []


TEXTS = {
    "prose": "The museum shows ships, nets and lanterns; its keeper, Ada Brandt, wrote of them. " * 60,
    "figures": " ".join(f"{n * 7919},{n}.{n % 97}" for n in range(900)),
    "no spaces": "0123456789abcdef" * 300,
    "words without end": " ".join("un" * 40 + str(n) for n in range(90)),
    "Chinese": "博物館は九時に開きます。灯台は夜に光る。" * 120,
    "pictures": "🚲🛟⚓️ " * 500,
    "white space": ("Words." + " " * 900 + "\n\n" * 300) * 5,
    "signs": "-=*#|~" * 800,
    "half characters": "\ud83d a" * 700,
}


@pytest.mark.parametrize("kind", TEXTS)
def test_the_embedder_reads_every_passage_to_its_end(kind: str) -> None:
    document, reads = Document(id=kind, text=TEXTS[kind]), OnnxEmbedder().reads
    cut = passages(document, reads=reads)
    assert all(reads(passage.text) == len(passage.text) for passage in cut)
    covered = {place for one in cut if one.span for place in range(one.span.start, one.span.end)}
    assert all(place in covered or letter.isspace() for place, letter in enumerate(document.text))
    assert len(cut) < len(document.text) / 20


@pytest.mark.parametrize("place", PLACES)
async def test_what_stands_at_the_end_of_a_passage_is_found(place: str, running_location: Callable[[str], str]) -> None:
    ends = ["Ms Ode keeps the key of the workshop.", "Lost helmets go to the bin behind the kiosk."]
    filler = " ".join(f"Line {n % 70 + 11}/{n} stops here every {n * 7 % 50 + 3} minutes." for n in range(17))
    long = Document(id="long", text="\n\n".join(f"{filler} {end}" for end in ends))
    store: Store = MemoryDocuments(OnnxEmbedder())
    if place != "memory":
        store = ChromaDocuments(chroma_client(running_location(place)), OnnxEmbedder())
    await store.add([long, *ALIKE[:30]])
    for end in ends:
        assert end in (await store.search(end, 1))[0].text
    await store.aclose()


class Bounded(WordEmbedder):
    """Reads eighty characters."""

    def reads(self, text: str) -> int:
        return min(len(text), 80)


LONG = Document(
    id="long",
    text="\n\n".join(f"Room {n} shows object {n * 7}.\nIt is old." for n in range(99)),
    metadata={"pages": [0]},
)


async def test_a_document_that_is_cut_otherwise_is_replaced(tmp_path: Path) -> None:
    client = chroma_client(tmp_path)
    await ChromaDocuments(client, WordEmbedder()).add([LONG])
    store = ChromaDocuments(client, Bounded())
    await store.add([LONG])
    (listed,) = await store.stored()
    assert (listed.passages, listed.metadata) == (len(passages(LONG, reads=Bounded().reads)), {"pages": [0]})
    (found,) = await store.search("Room 57 shows object 399.", 1)
    assert found in passages(LONG, reads=Bounded().reads)
    await store.aclose()


def test_an_embedder_that_does_not_say_is_given_700_characters() -> None:
    assert reads_of(WordEmbedder()) is None
    cut: tuple[Passage, ...] = passages(LONG, reads=reads_of(WordEmbedder()))
    assert max(len(passage.text) for passage in cut) > 600


START = """
import asyncio, sys
from vista_guard.stores.chroma.client import chroma_client
from vista_guard.stores.chroma.documents import ChromaDocuments
from vista_guard.stores.chroma.knowledge import ChromaKnowledge
from vista_guard.testing import WordEmbedder
from vista_guard.types import Claim, Document

async def main(name):
    client = chroma_client(sys.argv[1])
    knowledge, store = ChromaKnowledge(client, WordEmbedder()), ChromaDocuments(client, WordEmbedder())
    await knowledge.remember("talk", name, [Claim(id="c1", text=f"Claim {name}.")])
    await store.add([Document(id=name, text=f"Text number {name}.")])
    await store.aclose()

asyncio.run(main(sys.argv[2]))
"""


def test_many_processes_start_at_once_on_a_new_folder(tmp_path: Path) -> None:
    starts = [
        subprocess.Popen([sys.executable, "-c", START, tmp_path, str(n)], stderr=subprocess.PIPE, text=True)
        for n in range(4)
    ]
    errors = [start.communicate(timeout=300)[1] for start in starts]
    assert [(start.returncode, error) for start, error in zip(starts, errors, strict=True)] == [(0, "")] * 4
    store = ChromaDocuments(chroma_client(tmp_path), WordEmbedder())
    assert sorted(one.id for one in asyncio.run(store.stored())) == sorted(map(str, range(4)))
    asyncio.run(store.aclose())
