"""Chroma clients and collections for the two stores, with every Chroma error as a `StoreError`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast
from urllib.parse import urlsplit

from vista_guard._extras import require, require_chroma
from vista_guard._private import make_folder
from vista_guard.errors import StoreError
from vista_guard.stores.chroma.engine import (
    FREE_BYTES,
    FolderClient,
    FolderCollection,
    FullError,
    NoCollectionError,
    StartError,
)
from vista_guard.stores.folders import disk_advice

if TYPE_CHECKING:
    from chromadb.api.client import Client
    from chromadb.api.models.Collection import Collection as ServerCollection

    AnyClient = FolderClient | Client
    AnyCollection = FolderCollection | ServerCollection

T = TypeVar("T")

TIMEOUT_S = 30.0
"""Time limit of a call in seconds. Chroma's own HTTP client waits forever, and a turn would wait with it."""

_THREADS = 16
"""Threads of each store, apart from those that judge turns: a store that hangs must not block them."""


def chroma_client(location: str | Path, *, telemetry: bool = False, free_bytes: int = FREE_BYTES) -> AnyClient:
    """A client for a folder (created when missing) or for a server (`http://host:port`).

    A folder's engine is a process of its own, which all clients of that folder in this process share. Chroma's own telemetry is
    off unless `telemetry` is on. Give each location one owner: closing a store closes its client.

    Args:
        location: the folder, or the server's address.
        telemetry: whether Chroma may send its own usage data.
        free_bytes: space on the folder's disk below which nothing is written.

    Raises:
        ConfigError: Chroma is not installed, or only its client for servers.
        StoreError: the folder cannot be used, or no Chroma server answers at the address.
    """
    text = str(location)
    if is_server := text.startswith(("http://", "https://")):
        require(f"the store at {text}", "chromadb", extra="chroma-client")
    else:
        require_chroma(f"the store at {text}")
    try:
        if is_server:
            return _server(text, telemetry=telemetry)
        folder = Path(text).expanduser().resolve()
        make_folder(folder)
        return FolderClient(folder, telemetry=telemetry, free_bytes=free_bytes)
    except StartError as exc:  # which says why: the folder is not to blame
        raise StoreError(f"cannot open Chroma at {text}: {exc}") from exc
    except Exception as exc:  # besides its own errors Chroma raises ValueError, OSError and bare Exception
        raise StoreError(f"cannot open Chroma at {text}: {exc}. {_advice(text, exc)}") from exc


def close_client(client: AnyClient) -> None:
    """Closes the client, its sockets included. Closing again does nothing."""
    client.close()
    # Chroma 1.5 leaves the two HTTP sessions of a server's client open.
    for owner in (client, getattr(client, "_admin_client", None)):
        session = getattr(getattr(owner, "_server", None), "_session", None)
        if session is not None:
            session.close()


class ChromaConnection:
    """A client for the stores: runs blocking calls in threads, caches collections, raises every failure as `StoreError`."""

    def __init__(self, client: AnyClient) -> None:
        self._client = client
        self.location = _location(client)
        self._collections: dict[str, AnyCollection] = {}
        self._threads = ThreadPoolExecutor(_THREADS, "vista-guard-chroma")
        self._closed = False
        self._batch: int | None = None

    async def run(self, operation: str, call: Callable[[], T], *, timeout_s: float = TIMEOUT_S) -> T:
        """Runs `call` in a thread. `operation` completes "cannot ..." in the error.

        Raises:
            StoreError: Chroma failed, or did not answer within `timeout_s` seconds.
        """
        if self._closed:
            raise StoreError(f"cannot {operation}: the store at {self.location} is closed. Open a new one")
        future = asyncio.get_running_loop().run_in_executor(self._threads, copy_context().run, call)
        try:
            async with asyncio.timeout(timeout_s):
                return await future
        except TimeoutError as exc:
            if isinstance(self._client, FolderClient):  # ends an engine that hangs, and the threads that wait for it
                self._client.give_up(0.9 * timeout_s)  # some of the time may have been spent before the call reached it
            raise StoreError(
                f"cannot {operation}: no answer from {self.location} in {timeout_s:g} s. {_advice(self.location)}"
            ) from exc
        except (FullError, StartError) as exc:
            raise StoreError(f"cannot {operation}: {exc}") from exc
        except Exception as exc:  # Chroma raises bare Exception for an HTTP error that it does not know
            self._collections.clear()  # what a failed engine made may never have reached the disk
            if type(exc) is StoreError:
                raise
            raise StoreError(
                f"cannot {operation} in Chroma at {self.location}: {exc}. {_advice(self.location, exc)}"
            ) from exc

    def collection(
        self, name: str, metadata: Mapping[str, str | int], index: Mapping[str, str | int] | None = None
    ) -> AnyCollection:
        """The collection, created with `metadata` and `index` when missing; an existing one keeps its own. Blocks."""
        if name not in self._collections:
            # Vectors are always passed in: Chroma's default embedding function downloads a model.
            hnsw: Any = dict(index or {"space": "cosine"})
            self._collections[name] = self._client.get_or_create_collection(
                name, embedding_function=None, metadata=dict(metadata), configuration={"hnsw": hnsw}
            )
        return self._collections[name]

    def existing(self, name: str, *, anew: bool = False) -> AnyCollection | None:
        """The collection if it exists; `anew` bypasses the cache. Blocks."""
        if anew or name not in self._collections:
            try:
                self._collections[name] = self._client.get_collection(name, embedding_function=None)
            except Exception as exc:
                if isinstance(exc, NoCollectionError) or type(exc).__name__ == "NotFoundError":  # the server's client's
                    return None
                raise
        return self._collections[name]

    def batches(self, rows: Sequence[T]) -> Iterator[Sequence[T]]:
        """Splits `rows` into batches that one call may carry."""
        if self._batch is None:
            self._batch = self._client.get_max_batch_size()
        size = self._batch
        return (rows[start : start + size] for start in range(0, len(rows), size))

    async def aclose(self) -> None:
        """Closes the client. Further calls raise `StoreError`; closing again does nothing."""
        self._closed = True
        self._collections.clear()
        await asyncio.to_thread(close_client, self._client)
        self._threads.shutdown(wait=False, cancel_futures=True)


def _server(url: str, *, telemetry: bool) -> Client:
    import chromadb
    from chromadb.config import Settings

    parts = urlsplit(url)
    secure = parts.scheme == "https"
    port = parts.port or (443 if secure else 8000)
    # A `.env` in the working directory belongs to the host application.
    settings = Settings(_env_file=None, anonymized_telemetry=telemetry)
    return cast("Client", chromadb.HttpClient(parts.hostname or "", port, ssl=secure, settings=settings))


def _location(client: AnyClient) -> str:
    if isinstance(client, FolderClient):
        return str(client.folder)
    settings = client.get_settings()
    if settings.chroma_server_host is None:
        return str(settings.persist_directory)
    scheme = "https" if settings.chroma_server_ssl_enabled else "http"
    return f"{scheme}://{settings.chroma_server_host}:{settings.chroma_server_http_port}"


def _advice(location: str, why: object = "") -> str:
    if location.startswith(("http://", "https://")):
        return "Check the address, and that the server runs: chroma run --host HOST --port PORT"
    return disk_advice(why, Path(location) / "chroma.sqlite3") or (
        "Check that the folder is writable, has space left and was made by this version of Chroma, or give another one"
    )
