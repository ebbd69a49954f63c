"""The process that runs Chroma's engine for one folder. It takes calls on standard input until that closes.

Chroma holds the interpreter's lock in every call. A call that never returns, as after a full disk, blocks every thread of
its process, and here no thread does anything else. The two processes exchange pickles over two pipes.
"""

from __future__ import annotations

import os
import pickle
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, BinaryIO

from vista_guard._private import make_file, make_folder


class CallFailure(StrEnum):
    """Reasons why a call failed."""

    MISSING = "missing"
    """There is no such collection."""
    REFUSED = "refused"
    """Chroma rejects the arguments."""
    BROKEN = "broken"
    """Anything else. An engine that failed once is not asked again: after a full disk it says "database is locked" for ever,
    or never answers."""


@dataclass(frozen=True)
class EngineCall:
    """A call of a method of the client, or of the named collection."""

    id: int
    method: str
    collection: str | None = None
    arguments: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class EngineReply:
    """A call's value, or its fault with the message. `id` is the call's; 0 announces that the engine is ready."""

    id: int
    value: object = None
    fault: CallFailure | None = None


def write(stream: IO[bytes], frame: object) -> None:
    """Sends one frame, whole or not at all."""
    stream.write(pickle.dumps(frame, protocol=5))
    stream.flush()


def read(stream: IO[bytes]) -> Any:
    """Receives the next frame.

    Raises:
        EOFError: the other side is gone.
    """
    try:
        return pickle.load(stream)  # from our own process, over a pipe that nobody else has
    except pickle.UnpicklingError as exc:
        raise EOFError("the other process is gone") from exc


_STUCK_S = 90
"""Seconds that Chroma may hold the interpreter's lock before the system ends this process, even when nobody is left to do it."""
_THREADS = 4
_OPENING_S = 120
"""Seconds to wait for other processes that open the folder."""


def main() -> None:
    """Answers calls until the other side closes. The first frame names the folder and says whether Chroma may send usage data."""
    calls, answers = _pipes()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the process that uses this one
    folder, telemetry = read(calls)
    writing = threading.Lock()

    def reply(answer: EngineReply) -> None:
        with writing, suppress(BrokenPipeError):
            write(answers, answer)

    try:
        engine = Engine(folder, telemetry=telemetry)
    except BaseException as exc:  # Chroma's Rust panics are no Exceptions
        reply(EngineReply(0, str(exc), CallFailure.BROKEN))
        return
    reply(EngineReply(0))
    threading.Thread(target=_stay_killable, daemon=True).start()
    threads = ThreadPoolExecutor(_THREADS)
    with suppress(EOFError):
        while True:
            threads.submit(engine.answer, read(calls)).add_done_callback(lambda done: reply(done.result()))
    engine.close()
    os._exit(0)  # a thread that hangs is not waited for


class Engine:
    """Chroma on a folder, called by method name."""

    def __init__(self, folder: Path, *, telemetry: bool) -> None:
        import chromadb
        from chromadb.config import Settings

        make_folder(folder)
        # A `.env` in the working directory belongs to the host application.
        settings = Settings(_env_file=None, anonymized_telemetry=telemetry)
        with _one_at_a_time(folder):
            _create_wal_database(folder / "chroma.sqlite3")
            self.client: Any = chromadb.PersistentClient(folder, settings=settings)
        self._collections: dict[str, Any] = {}

    def answer(self, call: EngineCall) -> EngineReply:
        """Calls Chroma."""
        try:
            return EngineReply(call.id, self._value(call))
        except BaseException as exc:
            return EngineReply(call.id, str(exc) or type(exc).__name__, _fault(exc, call))

    def close(self) -> None:
        """Closes the client, unless a call hangs."""
        with suppress(Exception):
            self.client.close()

    def _value(self, call: EngineCall) -> object:
        if call.collection is not None:
            result = getattr(self._collection(call.collection), call.method)(**call.arguments)
            return dict(result) if isinstance(result, Mapping) else result
        if call.method == "list_collections":
            return [entry.name for entry in self.client.list_collections()]
        if call.method in ("get_collection", "get_or_create_collection"):
            # Vectors are always passed in: Chroma's default embedding function downloads a model.
            collection = getattr(self.client, call.method)(embedding_function=None, **call.arguments)
            self._collections[collection.name] = collection
            return collection.metadata
        if call.method == "delete_collection":
            self._collections.pop(str(call.arguments["name"]), None)
        return getattr(self.client, call.method)(**call.arguments)

    def _collection(self, name: str) -> Any:
        if name not in self._collections:
            self._collections[name] = self.client.get_collection(name, embedding_function=None)
        return self._collections[name]


def _pipes() -> tuple[BinaryIO, BinaryIO]:
    """Takes over standard input for calls and standard output for answers; prints go to standard error."""
    calls, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with Path(os.devnull).open() as null:
        os.dup2(null.fileno(), 0)
    os.dup2(2, 1)
    sys.stdin = None  # nobody types here
    return calls, answers


def _stay_killable() -> None:
    """Resets the system's alarm clock again and again. A thread that holds the interpreter's lock for good lets it ring."""
    if not hasattr(signal, "setitimer"):  # Windows: whoever uses this process ends it
        return
    while True:
        signal.setitimer(signal.ITIMER_REAL, _STUCK_S)  # what it does when it rings is the system's default: the end
        time.sleep(_STUCK_S / 10)


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    """Lets one process at a time make Chroma's tables: two at once fail. SQLite's lock on a file ends with its process."""
    with ExitStack() as stack:
        with suppress(sqlite3.Error):  # a folder that may only be read
            lock = sqlite3.connect(folder / "opening.lock", timeout=_OPENING_S, isolation_level=None)
            stack.enter_context(closing(lock)).execute("BEGIN EXCLUSIVE").close()
        yield


def _create_wal_database(file: Path) -> None:
    """Creates a missing database with SQLite's write-ahead log: writes take half the time and do not wait for readers."""
    # Never a file that is there: Chroma has an SQLite of its own, and two of them in one process undo each other's locks.
    if not file.exists():
        make_file(file)
        with suppress(sqlite3.Error), closing(sqlite3.connect(file)) as database:
            database.execute("PRAGMA journal_mode=WAL").close()


def _fault(exc: BaseException, call: EngineCall) -> CallFailure:
    from chromadb.errors import ChromaError, InternalError, NotFoundError

    if isinstance(exc, NotFoundError):
        # A collection that existed a moment ago: its creation was never committed, or another process dropped it.
        return CallFailure.MISSING if call.collection is None else CallFailure.BROKEN
    refused = isinstance(exc, ValueError | TypeError | ChromaError) and not isinstance(exc, InternalError)
    return CallFailure.REFUSED if refused else CallFailure.BROKEN
