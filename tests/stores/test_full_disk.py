"""A disk that is full, and then has space again: a real one, and an engine that hangs."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest

from tests.pace import PATIENCE_S, auntil
from tests.raising import raises
from tests.stores.conftest import missing
from vista_guard.errors import StoreError
from vista_guard.guard import Guard
from vista_guard.stores.chroma.client import ChromaConnection, chroma_client
from vista_guard.stores.chroma.engine import FolderClient
from vista_guard.stores.chroma.knowledge import ChromaKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder, assistant, conversation
from vista_guard.types import Claim, Label

SIZE_MB = 48


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own; mounting takes rights that not every machine gives, and those that do must not skip this."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(folder)]
    try:
        subprocess.run(mount, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as exc:
        if hasattr(os, "geteuid") and os.geteuid() == 0 and not Path("/.dockerenv").exists():
            missing(f"a tmpfs cannot be mounted: {exc}")
        pytest.skip("mounting a disk takes root")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """A file that takes all the space there is."""
    file = disk / "filler"
    with file.open("ab", buffering=0) as filler:
        for size in (1_000_000, 4096, 1):
            try:
                while filler.write(b"0" * size) == size:
                    pass
            except OSError:
                continue
    return file


@asynccontextmanager
async def pulse() -> AsyncIterator[list[int]]:
    """Turns of the event loop while the context lasts."""
    turns: list[int] = []

    async def beat() -> None:
        while True:
            await asyncio.sleep(0.01)
            turns.append(len(turns))

    task = asyncio.create_task(beat())
    try:
        yield turns
    finally:
        task.cancel()


def claims(text: str) -> list[Claim]:
    return [Claim(id=f"c{number}", text=f"{text} {number} {'x' * 400}") for number in range(3)]


async def write(
    store: ChromaKnowledge, disk_life: asyncio.Event, name: str, kept: list[tuple[str, str]], refused: list[str]
) -> None:
    """Remembers turn after turn until it is told to stop, and notes what the store took and what not."""
    number = 0
    while not disk_life.is_set():
        number += 1
        owner, turn = f"{name}-{number % 5}", f"k{number}"
        try:
            await store.remember(owner, turn, claims(turn))
            kept.append((owner, turn))
        except StoreError:
            refused.append(turn)
            await asyncio.sleep(0.05)


async def recovered(store: ChromaKnowledge) -> None:
    """Returns when the store takes writes again."""
    async with asyncio.timeout(PATIENCE_S):
        while True:
            try:
                return await store.remember("after", "k", claims("after"))
            except StoreError:
                await asyncio.sleep(0.5)


@pytest.mark.parametrize("free_bytes", [0, 20_000_000])
async def test_a_full_disk_costs_writes_and_nothing_else(small_disk: Path, free_bytes: int) -> None:
    """With no space kept free, engines break and are replaced; with some, no write ever meets the end."""
    folder = small_disk / "chroma"
    store = ChromaKnowledge(chroma_client(folder, free_bytes=free_bytes), WordEmbedder())
    over, kept, refused = asyncio.Event(), list[tuple[str, str]](), list[str]()
    writers = [asyncio.create_task(write(store, over, f"w{number}", kept, refused)) for number in range(4)]
    for _ in range(2):
        await auntil(partial(lambda most: len(kept) >= most, len(kept) + 6))
        filler = fill(small_disk)
        await auntil(partial(lambda most: len(refused) > most, len(refused)))
        filler.unlink()
    over.set()
    await asyncio.gather(*writers)
    await recovered(store)
    await store.aclose()
    again = ChromaKnowledge(chroma_client(folder, free_bytes=free_bytes), WordEmbedder())
    delivered = {owner: await again.delivered(owner) for owner, _ in kept}
    assert [(owner, turn) for owner, turn in kept if turn not in delivered[owner]] == []
    assert await again.delivered("after") == {"k"}
    await again.aclose()


async def test_a_turn_on_a_full_disk_is_judged_and_warned_of(small_disk: Path) -> None:
    judge = ScriptedJudge({"The pier is old.": [Verdict("The pier is old.", Label.VERIFIED)]})
    store = ChromaKnowledge(chroma_client(small_disk / "chroma", free_bytes=20_000_000), WordEmbedder())
    talk = conversation(assistant("The pier is old.", "The pier is old."), id="talk")
    with Guard(judge, knowledge=store) as guard:
        filler = fill(small_disk)
        report = await guard.acheck(talk)
        assert report.response == "The pier is old."
        assert [warning.partition("MB")[0] for warning in report.warnings] == [
            f"knowledge was not stored: cannot remember a turn: the disk of {small_disk / 'chroma'} has 0.0 "
        ]
        filler.unlink()
        assert (await guard.acheck(talk)).warnings == ()
        assert len(await store.recall("talk", persona=None, query="", limit=5)) == 1


def process_of(client: FolderClient) -> int:
    return client._engine.start()._process.pid


async def test_an_engine_that_hangs_is_replaced(tmp_path: Path) -> None:
    client = chroma_client(tmp_path)
    assert isinstance(client, FolderClient)
    connection = ChromaConnection(client)
    made = await connection.run("make", lambda: connection.collection("some", {"a": 1}))
    process = process_of(client)
    os.kill(process, signal.SIGSTOP)
    async with pulse() as turns:
        with raises(StoreError, "count", "1"):
            await connection.run("count", lambda: made.count(), timeout_s=1)
        assert await connection.run("count", lambda: made.count(), timeout_s=PATIENCE_S) == 0
    assert process_of(client) != process
    assert len(turns) > 3
    await connection.aclose()


async def test_an_engine_that_was_killed_is_replaced_within_the_call(tmp_path: Path) -> None:
    client = chroma_client(tmp_path)
    assert isinstance(client, FolderClient)
    store = ChromaKnowledge(client, WordEmbedder())
    await store.remember("a", "k1", claims("first"))
    os.kill(process_of(client), signal.SIGKILL)
    await store.remember("a", "k2", claims("second"))
    assert await store.delivered("a") == {"k1", "k2"}
    await store.aclose()


async def test_engines_end_with_their_last_client(tmp_path: Path) -> None:
    one, other = chroma_client(tmp_path), chroma_client(tmp_path)
    assert isinstance(one, FolderClient)
    assert isinstance(other, FolderClient)
    process = process_of(one)
    assert process_of(other) == process
    one.close()
    assert other.list_collections() == []
    other.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
