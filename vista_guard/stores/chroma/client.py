"""Chroma for the two stores that use it: clients, collections, and its errors in words of this package."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

import chromadb
from chromadb.api.client import Client
from chromadb.api.models.Collection import Collection
from chromadb.config import Settings
from chromadb.errors import NotFoundError

from vista_guard.errors import StoreError

T = TypeVar("T")

TIMEOUT_S = 30.0
"""Longest that one call may take. Chroma's own HTTP client waits for ever, and a turn would wait with it."""

_opening = Lock()  # clients of one folder share an engine, and Chroma builds it without a lock


def chroma_client(location: str | Path, *, telemetry: bool = False) -> Client:
    """A client for a folder (created when missing) or for a server (`http://host:port`).

    Chroma's own telemetry is off unless `telemetry` is on.

    Give each location one owner: closing a store closes its client. Clients of one folder in one process share an engine.

    Raises:
        StoreError: the folder cannot be used, or no Chroma server answers at the address.
    """
    text = str(location)
    # A `.env` in the working directory belongs to the host application.
    settings = Settings(_env_file=None, anonymized_telemetry=telemetry)
    try:
        with _opening:
            if text.startswith(("http://", "https://")):
                return _server(text, settings)
            folder = Path(text).expanduser().resolve()
            folder.mkdir(parents=True, exist_ok=True)
            _log_ahead(folder / "chroma.sqlite3")
            return cast(Client, chromadb.PersistentClient(folder, settings=settings))
    except Exception as exc:  # besides its own errors Chroma raises ValueError, OSError and bare Exception
        raise StoreError(f"cannot open Chroma at {text}: {exc}. {_advice(text)}") from exc


def close_client(client: Client) -> None:
    """Closes the client, its sockets included. Closing again does nothing."""
    client.close()
    # Chroma 1.5 leaves the two HTTP sessions of a server's client open.
    for owner in (client, getattr(client, "_admin_client", None)):
        session = getattr(getattr(owner, "_server", None), "_session", None)
        if session is not None:
            session.close()


class ChromaConnection:
    """A client as the stores use it: blocking calls in a thread, collections looked up once, every failure a `StoreError`."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._location = _location(client)
        self._collections: dict[str, Collection] = {}
        self._closed = False

    async def run(self, operation: str, call: Callable[[], T], *, timeout_s: float = TIMEOUT_S) -> T:
        """`call()`, in a thread. `operation` completes "cannot ..." in the error.

        Raises:
            StoreError: Chroma failed, or did not answer within `timeout_s` seconds.
        """
        if self._closed:
            raise StoreError(f"cannot {operation}: the store at {self._location} is closed. Open a new one")
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.to_thread(call)
        except StoreError:
            raise
        except TimeoutError as exc:
            raise StoreError(
                f"cannot {operation}: no answer from {self._location} in {timeout_s:g} s. {_advice(self._location)}"
            ) from exc
        except Exception as exc:  # Chroma raises bare Exception for an HTTP error that it does not know
            raise StoreError(
                f"cannot {operation} in Chroma at {self._location}: {exc}. {_advice(self._location)}"
            ) from exc

    def collection(self, name: str, metadata: Mapping[str, str | int]) -> Collection:
        """The collection, created with `metadata` when missing; an existing one keeps its own. Blocks."""
        if name not in self._collections:
            # Vectors are always passed in: Chroma's default embedding function downloads a model.
            self._collections[name] = self._client.get_or_create_collection(
                name, embedding_function=None, metadata=dict(metadata), configuration={"hnsw": {"space": "cosine"}}
            )
        return self._collections[name]

    def existing(self, name: str) -> Collection | None:
        """The collection, if it was ever made. Blocks."""
        if name not in self._collections:
            try:
                self._collections[name] = self._client.get_collection(name, embedding_function=None)
            except NotFoundError:
                return None
        return self._collections[name]

    def expect(self, collection: Collection, key: str, value: int, advice: str) -> None:
        """Checks what the collection was made with.

        Raises:
            StoreError: it was made with another value.
        """
        found = (collection.metadata or {}).get(key)
        if found != value:
            raise StoreError(
                f"{collection.name} at {self._location} was made with {key} = {found}, not {value}. {advice}"
            )

    def batches(self, rows: Sequence[T]) -> Iterator[Sequence[T]]:
        """`rows` in pieces that one call may carry."""
        size = self._client.get_max_batch_size()
        return (rows[start : start + size] for start in range(0, len(rows), size))

    async def aclose(self) -> None:
        """Closes the client. Further calls raise `StoreError`; closing again does nothing."""
        self._closed = True
        self._collections.clear()
        await asyncio.to_thread(close_client, self._client)


def _log_ahead(file: Path) -> None:
    """Makes the database, when there is none, with SQLite's write-ahead log; the file remembers the mode.

    Chroma holds the interpreter's lock while it writes, so every thread waits for the disk with it. With the log a write takes
    half the time or less, and does not wait for readers.
    """
    # Never a file that is there: Chroma has an SQLite of its own, and two of them in one process undo each other's locks.
    if not file.exists():
        with suppress(sqlite3.Error), closing(sqlite3.connect(file)) as database:
            database.execute("PRAGMA journal_mode=WAL").close()


def _server(url: str, settings: Settings) -> Client:
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 8000)
    return cast(Client, chromadb.HttpClient(parts.hostname or "", port, ssl=secure, settings=settings))


def _location(client: Any) -> str:
    settings = client.get_settings()
    if settings.chroma_server_host is None:
        return str(settings.persist_directory)
    scheme = "https" if settings.chroma_server_ssl_enabled else "http"
    return f"{scheme}://{settings.chroma_server_host}:{settings.chroma_server_http_port}"


def _advice(location: str) -> str:
    if location.startswith(("http://", "https://")):
        return "Check the address, and that the server runs: chroma run --host HOST --port PORT"
    return (
        "Check that the folder is writable, has space left and was made by this version of Chroma, or give another one"
    )
