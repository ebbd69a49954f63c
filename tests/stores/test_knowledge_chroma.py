"""Knowledge in Chroma: what outlives the process, what processes share, and what is said when it fails."""

from __future__ import annotations

import asyncio
import socket
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.raising import raises
from vista_guard.errors import StoreError
from vista_guard.stores.chroma.client import ChromaConnection, chroma_client
from vista_guard.stores.chroma.knowledge import ChromaKnowledge
from vista_guard.stores.chroma.worker import Engine
from vista_guard.testing import WordEmbedder
from vista_guard.types import Claim, Persona

MIRA = Persona(name="Mira", facts=("Mira is a guide.",))


NEWER = {"source_id": "k1", "text": "The pier is old.", "label": "SUPERSEDED"}
"""A claim with a label that does not exist yet."""


def knowledge(location: str | Path, *, buckets: int = 16) -> ChromaKnowledge:
    return ChromaKnowledge(chroma_client(location), WordEmbedder(), buckets=buckets)


async def texts(store: ChromaKnowledge, conversation: str) -> list[str]:
    return [
        passage.text for passage in await store.recall(conversation, persona=MIRA, query="anything at all", limit=50)
    ]


async def test_a_folder_opened_again_holds_what_was_written(tmp_path: Path) -> None:
    store = knowledge(tmp_path)
    await store.seed(MIRA)
    await store.remember("a", "k1", [Claim(id="c1", text="The pier is old.")])
    await store.aclose()
    again = knowledge(tmp_path)
    assert await texts(again, "a") == ["Mira is a guide.", "The pier is old."]
    assert await again.delivered("a") == {"k1"}
    await again.aclose()


async def test_a_label_of_a_newer_version_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = knowledge(tmp_path)
    with monkeypatch.context() as newer:
        passage = SimpleNamespace(model_dump=lambda **_: NEWER)
        newer.setattr("vista_guard.stores.served.claim_passages", lambda key, claims: [passage])
        await store.remember("a", "k1", [Claim(id="c1", text="The pier is old.")])
    with raises(StoreError, "SUPERSEDED", "Label"):
        await texts(store, "a")
    await store.aclose()


@pytest.mark.parametrize("place", ["folder", "server"])
async def test_two_stores_see_each_others_writes(place: str, location: Callable[[str], str]) -> None:
    where = location(place)
    one, other = knowledge(where), knowledge(where)
    await one.seed(MIRA)
    await one.remember("a", "k1", [Claim(id="c1", text="The pier is old.")])
    assert await texts(other, "a") == ["Mira is a guide.", "The pier is old."]
    await other.remember("a", "k2", [Claim(id="c1", text="The pier is long.")])
    assert await texts(one, "a") == ["Mira is a guide.", "The pier is old.", "The pier is long."]
    assert await one.forget("a") == 2
    assert await other.delivered("a") == frozenset()
    await one.aclose()
    assert await texts(other, "a") == ["Mira is a guide."]
    await other.aclose()


OTHER_PROCESS = """
    import asyncio, sys
    from vista_guard.stores.chroma.client import chroma_client
    from vista_guard.stores.chroma.knowledge import ChromaKnowledge
    from vista_guard.testing import WordEmbedder
    from vista_guard.types import Claim

    async def main() -> None:
        store = ChromaKnowledge(chroma_client(sys.argv[1]), WordEmbedder())
        for number in range(30):
            await store.remember("shared", f"{sys.argv[2]}{number}", [Claim(id="c", text=f"{sys.argv[2]} said {number}.")])
        print(len(await store.recall("shared", persona=None, query="", limit=1000)))
        await store.aclose()

    asyncio.run(main())
"""


async def test_processes_share_a_folder(tmp_path: Path) -> None:
    store = knowledge(tmp_path)
    await store.remember("shared", "first", [Claim(id="c", text="This process was first.")])
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-c", textwrap.dedent(OTHER_PROCESS), str(tmp_path), name, stdout=asyncio.subprocess.PIPE
        )
        for name in ("left", "right")
    ]
    for process in processes:
        await process.communicate()
    assert [process.returncode for process in processes] == [0, 0]
    expected = {f"{name}{number}" for name in ("left", "right") for number in range(30)} | {"first"}
    assert await store.delivered("shared") == expected
    assert len(await texts(store, "shared")) == 50
    await store.aclose()


async def test_a_location_keeps_its_number_of_buckets(tmp_path: Path) -> None:
    store = knowledge(tmp_path)
    await store.remember("a", "k1", [])
    other = knowledge(tmp_path, buckets=4)
    with raises(StoreError, "16", "4"):
        await other.delivered("a")
    await store.aclose()
    await other.aclose()


async def test_conversations_are_spread_over_the_buckets_and_no_further(tmp_path: Path) -> None:
    store = knowledge(tmp_path, buckets=4)
    for number in range(40):
        await store.remember(f"talk {number}", "k1", [])
    client = chroma_client(tmp_path)
    names = sorted(collection.name for collection in client.list_collections())
    assert names == [*(f"vista_guard.knowledge.{number:03}" for number in range(4)), "vista_guard.personas"]
    client.close()
    await store.aclose()


def content(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


async def test_ids_are_kept_as_hashes_only(tmp_path: Path) -> None:
    store = knowledge(tmp_path)
    await store.remember("ada@example.org", "k1", [Claim(id="c", text="The pier is old.")])
    await store.aclose()
    stored = content(tmp_path)
    assert b"The pier is old." in stored
    assert b"ada@example.org" not in stored


async def test_more_entries_than_one_call_carries(tmp_path: Path) -> None:
    store = knowledge(tmp_path)
    await store.remember("a", "k1", [Claim(id=f"c{number}", text=f"Fact {number}.") for number in range(6000)])
    assert len(await store.recall("a", persona=None, query="", limit=10_000)) == 6000
    assert await store.forget("a") == 6000
    await store.aclose()


@pytest.mark.parametrize("kind", ["file", "parent"])
def test_a_folder_that_cannot_be_one_is_named(tmp_path: Path, kind: str) -> None:
    file = tmp_path / "taken"
    file.write_text("not a folder")
    place = file if kind == "file" else file / "below"
    with raises(StoreError, "Chroma", place):
        chroma_client(place)


def test_a_damaged_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "chroma.sqlite3").write_bytes(b"this is no database" * 500)
    with raises(StoreError, "Chroma", tmp_path):
        chroma_client(tmp_path)


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with raises(StoreError, "Chroma", "http://127.0.0.1", port, "chroma", "--host"):
        chroma_client(f"http://127.0.0.1:{port}")


async def test_a_folder_lost_while_open_is_an_error_and_no_empty_answer(tmp_path: Path) -> None:
    store = knowledge(tmp_path / "chroma")
    await store.remember("a", "k1", [])
    client = chroma_client(tmp_path / "chroma")
    for collection in client.list_collections():
        client.delete_collection(collection.name)
    with raises(StoreError, "chroma"):
        await store.recall("a", persona=None, query="", limit=5)
    client.close()
    await store.aclose()


async def test_a_closed_store_says_so(tmp_path: Path) -> None:
    store = knowledge(tmp_path)
    await store.aclose()
    await store.aclose()
    with raises(StoreError, "store", tmp_path):
        await store.remember("a", "k1", [])


async def test_a_call_that_takes_too_long_ends(tmp_path: Path) -> None:
    connection = ChromaConnection(chroma_client(tmp_path))
    release = asyncio.Event()
    loop = asyncio.get_running_loop()

    def hang() -> None:
        asyncio.run_coroutine_threadsafe(release.wait(), loop).result()

    with raises(StoreError, tmp_path, "0.05"):
        await connection.run("test", hang, timeout_s=0.05)
    release.set()
    await connection.aclose()


def test_a_hosts_own_env_file_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".env").write_text("CHROMA_SERVER_HOST=elsewhere\nALLOW_RESET=true\n")
    monkeypatch.chdir(tmp_path)
    engine = Engine(tmp_path / "chroma", telemetry=False)
    settings = engine.client.get_settings()
    assert (settings.chroma_server_host, settings.allow_reset, settings.anonymized_telemetry) == (None, False, False)
    engine.close()
