"""What every document store promises, wherever it lives."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from pathlib import Path

import pytest
import pytest_asyncio

from tests.raising import raises
from tests.stores.conftest import ALL_PLACES
from vista_guard.errors import StoreError
from vista_guard.reading.passages import passages
from vista_guard.stores.chroma.client import chroma_client
from vista_guard.stores.chroma.documents import ChromaDocuments
from vista_guard.stores.chroma.engine import FolderClient
from vista_guard.stores.entries import ListedDocument, Written
from vista_guard.stores.memory import MemoryDocuments
from vista_guard.stores.pgvector import PgvectorDocuments, Postgres
from vista_guard.stores.qdrant import Qdrant, QdrantDocuments
from vista_guard.testing import WordEmbedder
from vista_guard.types import Document, Passage, Retrieval, SearchMode

Store = MemoryDocuments | ChromaDocuments | PgvectorDocuments | QdrantDocuments

PIER = Document(id="pier", text="The pier opened in 1911.", title="Pier")
BOAT = Document(id="boat", text="  The ferry boat sails at noon.\n")
LONG = Document(id="long", text=" ".join(f"Room {n} of the museum shows object number {n * 7}." for n in range(200)))


@pytest_asyncio.fixture(params=ALL_PLACES)
async def store(request: pytest.FixtureRequest) -> AsyncIterator[Store]:
    store = open_store(request.param, request)
    yield store
    await store.aclose()


def open_store(place: str, request: pytest.FixtureRequest, *, search: SearchMode = "hybrid") -> Store:
    """An empty store. Qdrant's is the client's own folder, as no server of it can be installed with the tests."""
    embedder = WordEmbedder(4096)
    if place == "memory":
        return MemoryDocuments(embedder, search=search)
    if place == "pgvector":
        return PgvectorDocuments(Postgres(request.getfixturevalue("pgvector")), embedder, search=search)
    if place == "qdrant":
        return QdrantDocuments(Qdrant(request.getfixturevalue("tmp_path") / "qdrant"), embedder, search=search)
    location: Callable[[str], str] = request.getfixturevalue("running_location")
    return ChromaDocuments(chroma_client(location(place)), embedder, search=search)


@pytest.mark.parametrize("search", ["hybrid", "vectors", "words"])
async def test_postgres_answers_as_memory_does(search: SearchMode, request: pytest.FixtureRequest) -> None:
    memory, postgres = open_store("memory", request, search=search), open_store("pgvector", request, search=search)
    shelf = [LONG, PIER, BOAT, *(Document(id=f"n{n}", text=f"Pier {n} opened in {1900 + n}.") for n in range(40))]
    for one in (memory, postgres):
        await one.add(shelf)
    for query in ("the pier opened in 1917", "museum room 57 shows object 399", "does the boat sail from pier 3?"):
        found, expected = await postgres.search(query, 9), await memory.search(query, 9)
        assert (found, ways(found)) == (expected, ways(expected))
        assert await postgres.neighbours(found) == await memory.neighbours(expected)
    await postgres.aclose()


async def test_a_postgres_that_is_gone_is_named_by_an_address_alone() -> None:
    with raises(StoreError, "Postgres") as failed:
        Postgres("postgresql://me:secret@127.0.0.1:1/none?connect_timeout=1")
    assert "secret" not in str(failed.value)


def ways(found: Sequence[Passage]) -> list[object]:
    return [one.found and (one.found.by, one.found.rank, one.found.cosine, one.found.bm25) for one in found]


async def test_codes_are_found_by_words_with_headings_and_neighbours(store: Store) -> None:
    body = "".join(f"Step {n}: wait for the green lamp, then go on. " for n in range(60))
    await store.add([LONG, Document(id="manual", text=f"# Faults\n\n{body}\n\nZX-4410: the pump stops.", title="Pump")])
    (found,) = await store.search("zx4410", 1)
    assert (found.headings, found.found and found.found.by) == (("# Faults",), ("vectors", "words"))
    (before,) = await store.neighbours([found])
    assert before.found == Retrieval(by=("neighbour",), rank=1)
    assert before.span
    assert found.span
    assert before.span.start < found.span.start


async def test_tenants_see_only_their_own_documents_and_shared_ones(store: Store) -> None:
    if isinstance(store, MemoryDocuments):
        pytest.skip("memory has no tenants")
    own, sharing = store.of_tenant("acme"), store.of_tenant("acme", shared=True)
    await store.add([PIER])
    await own.add([BOAT])
    assert [one.source_id for one in await own.search("the pier opened", 5)] == ["boat"]
    assert {one.source_id for one in await sharing.search("the pier opened", 5)} == {"pier", "boat"}
    assert [one.source_id for one in await store.search("the ferry boat", 5)] == ["pier"]
    assert [one.id for one in await own.stored()] == ["boat"]


async def test_an_empty_store_finds_nothing(store: Store) -> None:
    assert list(await store.search("anything", 5)) == []
    assert await store.delete("nothing") == 0
    assert await store.add([]) == 0


async def test_the_nearest_come_first_with_title_and_span(store: Store) -> None:
    assert await store.add([PIER, BOAT]) == 2
    assert list(await store.search("when does the ferry boat sail", 5)) == [*passages(BOAT), *passages(PIER)]
    assert list(await store.search("the pier opened", 1)) == [*passages(PIER)]
    assert list(await store.search("the pier opened", 0)) == []


async def test_a_long_document_is_found_by_its_passages(store: Store) -> None:
    expected = passages(LONG)
    assert await store.add([LONG]) == len(expected) > 10
    found = await store.search(expected[7].text, 3)
    assert found[0] == expected[7]
    assert all(passage.text == LONG.text[passage.span.start : passage.span.end] for passage in found if passage.span)


async def test_adding_again_replaces(store: Store) -> None:
    await store.add([LONG, PIER])
    short = Document(id="long", text="The museum closed for good.")
    assert await store.add([short]) == 1
    assert set(await store.search("the museum shows room 12", 50)) == {*passages(short), *passages(PIER)}
    untitled = Document(id="pier", text=PIER.text)
    await store.add([untitled])
    assert list(await store.search("pier opened", 1)) == [*passages(untitled)]
    await store.add([untitled])
    assert len(await store.search("anything", 50)) == 2


async def test_a_document_that_became_blank_is_no_longer_found(store: Store) -> None:
    await store.add([PIER, BOAT])
    assert await store.add([Document(id="pier", text=" \n")]) == 0
    assert list(await store.search("the pier opened", 5)) == [*passages(BOAT)]


async def test_the_last_of_two_with_one_id_counts(store: Store) -> None:
    later = Document(id="pier", text="The pier burned in 1950.")
    assert await store.add([PIER, later]) == 1
    assert list(await store.search("pier", 5)) == [*passages(later)]


async def test_delete_drops_one_document_and_counts_its_passages(store: Store) -> None:
    await store.add([LONG, PIER])
    assert await store.delete("long") == len(passages(LONG))
    assert await store.delete("long") == 0
    assert list(await store.search("museum room", 50)) == [*passages(PIER)]


@pytest.mark.parametrize("identifier", ["", "a/b?c#d", "漢字🦊", "x" * 5000, "$and"])
async def test_ids_may_hold_anything(store: Store, identifier: str) -> None:
    odd = Document(id=identifier, text="The anchor weighs nine tons.")
    await store.add([PIER, odd])
    assert list(await store.search("how much weighs the anchor", 1)) == [*passages(odd)]
    assert await store.delete(identifier) == 1


async def test_what_is_stored_is_listed_by_id_with_what_it_was_added_with(store: Store) -> None:
    assert list(await store.stored()) == []
    boat = BOAT.model_copy(update={"metadata": {"pages": [0, 12], "format": "pdf", "of": {"né": None}}})
    await store.add([PIER, LONG, boat, Document(id="blank", text=" ")])
    assert list(await store.stored()) == [
        ListedDocument("boat", None, 1, boat.metadata),
        ListedDocument("long", None, len(passages(LONG)), {}),
        ListedDocument("pier", "Pier", 1, {}),
    ]


async def test_what_is_listed_follows_replacing_and_deleting(store: Store) -> None:
    await store.add([PIER, LONG, BOAT])
    await store.add([PIER.model_copy(update={"metadata": {"seen": 2}})])
    await store.add([Document(id="long", text="The museum closed for good.", title="Museum")])
    await store.delete("boat")
    assert list(await store.stored()) == [
        ListedDocument("long", "Museum", 1, {}),
        ListedDocument("pier", "Pier", 1, {"seen": 2}),
    ]
    await store.add([Document(id="pier", text="")])
    assert [one.id for one in await store.stored()] == ["long"]


async def test_many_at_once(store: Store) -> None:
    shelf = [Document(id=f"{n}", text=f"Ledger {n} belongs to captain number{n}.") for n in range(40)]
    assert await asyncio.gather(*(store.add([document]) for document in shelf)) == [1] * 40
    found = await asyncio.gather(*(store.search(document.text, 1) for document in shelf))
    assert [list(hits) for hits in found] == [[*passages(document)] for document in shelf]


async def test_what_was_stored_before_an_error_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shelf = [Document(id=f"{n:03}", text=f"Ledger {n} lists {n * 3} ships.") for n in range(120)]
    embedder = WordEmbedder(64)
    embed, store = embedder.embed, ChromaDocuments(chroma_client(tmp_path), embedder)

    def fails_at_the_last(texts: Sequence[str]) -> object:
        if any("Ledger 119" in text for text in texts):
            raise StoreError("the model is gone")
        return embed(texts)

    monkeypatch.setattr(embedder, "embed", fails_at_the_last)
    with pytest.raises(StoreError):
        await store.add(shelf)
    assert [one.id for one in await store.stored()] == [document.id for document in shelf[:100]]
    monkeypatch.undo()
    assert await store.add(shelf) == len(await store.stored()) == 120
    await store.aclose()


async def test_a_folder_opened_again_holds_the_documents(tmp_path: Path) -> None:
    store = ChromaDocuments(chroma_client(tmp_path), WordEmbedder())
    await store.add([PIER, LONG])
    await store.aclose()
    again = ChromaDocuments(chroma_client(tmp_path), WordEmbedder())
    assert list(await again.search("the pier opened", 1)) == [*passages(PIER)]
    await again.aclose()


async def test_two_stores_in_one_process_see_each_others_documents(tmp_path: Path) -> None:
    one, other = (ChromaDocuments(chroma_client(tmp_path), WordEmbedder()) for _ in range(2))
    await one.add([PIER])
    await other.add([BOAT])
    assert list(await one.search("ferry boat", 1)) == [*passages(BOAT)]
    assert await one.delete("boat") == 1
    assert list(await other.search("ferry boat", 5)) == [*passages(PIER)]
    await one.aclose()
    await other.aclose()


async def test_documents_of_another_embedding_model_are_refused(tmp_path: Path) -> None:
    store = ChromaDocuments(chroma_client(tmp_path), WordEmbedder())
    await store.add([PIER])
    for dimension in (64, 1024):
        other = ChromaDocuments(chroma_client(tmp_path), WordEmbedder(dimension))
        with raises(StoreError, "384", dimension):
            await other.search("pier", 1)
        await other.aclose()
    await store.aclose()


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = ChromaDocuments(chroma_client(tmp_path), WordEmbedder())
    await store.aclose()
    with raises(StoreError, "store"):
        await store.search("pier", 1)


OLD, FIRST, SECOND = (
    Document(id="plan", text=" ".join(f"Deck {n} of the {ship} has {n * 3} cabins." for n in range(60)), title=ship)
    for ship in ("Alma", "Brigid", "Clara")
)


class Interrupted:
    """Stands before a client: something else happens before its call of this number."""

    def __init__(self, client: object, number: int, other: Callable[[], object]) -> None:
        self._client, self._left, self._other = client, number, other

    def __getattr__(self, name: str) -> object:
        value = getattr(self._client, name)
        return partial(self._call, value) if callable(value) else value

    def _call(self, method: Callable[..., object], *given: object, **named: object) -> object:
        self._left -= 1
        if self._left == 0:
            self._other()
        return method(*given, **named)


def two_writers(place: str, request: pytest.FixtureRequest, number: int) -> tuple[Store, Store, list[Written]]:
    """Two stores in one place. The second one adds its document when the first one makes its call of that number."""
    embedder, done = WordEmbedder(4096), list[Written]()

    def write() -> None:
        done.append(asyncio.run(second.put([SECOND])))

    if place == "qdrant":
        one, two = Qdrant(":memory:"), Qdrant(":memory:")
        two._client = one._client
        second: Store = QdrantDocuments(two, embedder)
        one._client = Interrupted(one._client, number, write)  # type: ignore[assignment]
        return QdrantDocuments(one, embedder), second, done
    location: str = request.getfixturevalue("running_location")("folder")
    second = ChromaDocuments(chroma_client(location), embedder)
    client = FolderClient(Path(location))
    vars(client)["call"] = Interrupted(client, number, write).call
    return ChromaDocuments(client, embedder), second, done


@pytest.mark.parametrize("place", ["folder", "qdrant"])
@pytest.mark.parametrize("number", range(1, 16))
async def test_of_two_writers_the_last_one_wins_with_the_whole_document(
    place: str, number: int, request: pytest.FixtureRequest
) -> None:
    first, second, done = two_writers(place, request, number)
    await second.put([OLD])
    written = await first.put([FIRST])
    if not done:  # the first was through before
        done.append(await second.put([SECOND]))
    listed = await second.stored()
    found = await second.search("cabins of the deck", 500)
    winner = next(document for document in (FIRST, SECOND) if document.title == listed[0].title)
    assert [document.id for document in listed] == ["plan"]
    assert set(found) == set(passages(winner))
    # The later writer took a place. The earlier one took it before, or knows that it lost its own.
    last, earlier = (done[0], written) if winner is SECOND else (written, done[0])
    assert (set(last.replaced), set(last.outdone)) == ({"plan"}, set())
    assert {*earlier.replaced, *earlier.outdone} == {"plan"}
    await first.aclose()
    await second.aclose()
