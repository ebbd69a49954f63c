"""Chroma on a folder, in its own process (why: `docs/design/stores.md`), with the interface of Chroma's clients."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import threading
import weakref
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partialmethod
from itertools import count
from pathlib import Path
from time import monotonic
from typing import IO, Any, cast

from vista_guard._child import has_ended, start_python
from vista_guard.errors import StoreError
from vista_guard.stores.chroma import worker
from vista_guard.stores.chroma.worker import CallFailure, EngineCall, EngineReply, read, write

_STARTING_S = 180.0
"""A start takes a second, and many at once on a busy machine wait for each other."""
_CLOSING_S = 5.0
_LINES = 6
"""Lines of a process's log that an error tells."""


class NoCollectionError(LookupError):
    """No collection of that name exists."""


class GoneError(StoreError):
    """The process ended before it answered. A new one may answer."""


class StartError(StoreError):
    """The process ended before it had opened the folder; says how, with its last lines."""


class OpeningError(StoreError):
    """Chroma cannot open the folder. The message is Chroma's own."""


class ChromaProcess:
    """A running engine. Threads call it at the same time without waiting for each other.

    Raises:
        OpeningError: Chroma cannot open the folder.
    """

    def __init__(self, folder: Path, *, telemetry: bool) -> None:
        self._owner = os.getpid()
        self._numbers = count(1)
        self._waiting: dict[int, tuple[Future[EngineReply], float]] = {}
        self._writing = threading.Lock()
        self._ended = False
        self._process = start_python(worker.__name__, "main", own_session=True, hear=True)
        pipes = self._process.stdin, self._process.stdout, self._process.stderr
        self._input, self._answers, self._log = cast("tuple[IO[bytes], IO[bytes], IO[bytes]]", pipes)
        self._last_lines = deque[str](maxlen=_LINES)
        self._hearing = threading.Thread(target=self._hear, daemon=True, name="vista-guard-chroma-log")
        self._hearing.start()
        ready = self._wait_for(0)
        threading.Thread(target=self._read, daemon=True, name="vista-guard-chroma").start()
        try:
            self._send((folder, telemetry))
            answer = ready.result(_STARTING_S)
        except GoneError:
            raise StartError(self._how_it_ended()) from None
        except FutureTimeoutError:
            self.kill()
            raise StartError(f"Chroma did not start within {_STARTING_S:g} s{self._said()}") from None
        if answer.fault is not None:
            self.kill()
            raise OpeningError(str(answer.value))

    @property
    def usable(self) -> bool:
        """True while the process runs and this is not a fork of the process that started it."""
        return not self._ended and self._owner == os.getpid()

    def ask(self, method: str, collection: str | None, arguments: dict[str, object]) -> Any:
        """Calls a method and returns its result. Blocks.

        Raises:
            NoCollectionError: there is no such collection.
            ValueError: Chroma does not take the arguments.
            GoneError: the process is gone, or was ended because Chroma failed in it; do not call it again.
        """
        number = next(self._numbers)
        future = self._wait_for(number)
        try:
            self._send(EngineCall(number, method, collection, arguments))
            answer = future.result()
        finally:
            self._waiting.pop(number, None)
        if answer.fault is CallFailure.MISSING:
            raise NoCollectionError(str(answer.value))
        if answer.fault is CallFailure.REFUSED:
            raise ValueError(str(answer.value))
        if answer.fault is CallFailure.BROKEN:
            self.kill(str(answer.value))
            raise GoneError(str(answer.value))
        return answer.value

    def silent_for(self) -> float:
        """Returns the age in seconds of the oldest unanswered call."""
        return max((monotonic() - sent_at for _, sent_at in list(self._waiting.values())), default=0.0)

    def kill(self, why: str = "Chroma's process was stopped") -> None:
        """Ends the process at once. Written data stays; waiting calls fail."""
        self._ended = True
        if self._owner == os.getpid():
            self._process.kill()
            with suppress(OSError):
                self._input.close()
            has_ended(self._process, _CLOSING_S)
        self._fail(why)

    def close(self) -> None:
        """Ends the process, giving Chroma a few seconds to finish."""
        self._ended = True
        if self._owner != os.getpid():
            return
        if self.silent_for() < _CLOSING_S:  # else somebody may be writing into a pipe that nobody reads
            with suppress(OSError), self._writing:
                self._input.close()
            has_ended(self._process, _CLOSING_S)
        self.kill("the store was closed")

    def _wait_for(self, number: int) -> Future[EngineReply]:
        future: Future[EngineReply] = Future()
        self._waiting[number] = (future, monotonic())
        return future

    def _send(self, frame: object) -> None:
        try:
            with self._writing:
                write(self._input, frame)
        except (OSError, ValueError) as exc:  # a closed pipe is a ValueError
            self._ended = True  # the reading thread may not have noticed yet, and the caller tries again at once
            raise GoneError("Chroma's process is gone") from exc
        if self._ended:  # it may have ended between the two
            self._fail("Chroma's process is gone")

    def _read(self) -> None:
        with suppress(EOFError, OSError, ValueError), self._answers:
            while True:
                answer: EngineReply = read(self._answers)
                future, _ = self._waiting.pop(answer.id, (None, 0.0))
                if future is not None:
                    with suppress(InvalidStateError):
                        future.set_result(answer)
        self._ended = True
        self._fail("Chroma's process ended")

    def _hear(self) -> None:
        """Passes on what the process writes to standard error, and keeps its last lines."""
        with suppress(OSError, ValueError), self._log:
            for line in self._log:
                self._last_lines.append(line.decode(errors="replace").rstrip())
                with suppress(OSError):
                    os.write(2, line)

    def _how_it_ended(self) -> str:
        has_ended(self._process, _CLOSING_S)
        code = self._process.poll()
        self.kill()
        if code is None:
            return f"Chroma's process closed its pipes while it started{self._said()}"
        if code >= 0:
            return f"Chroma's process ended with exit code {code} while it started{self._said()}"
        memory = " (often for want of memory)" if code == -signal.SIGKILL else ""
        return f"Chroma's process was ended by signal {-code}{memory} while it started{self._said()}"

    def _said(self) -> str:
        self._hearing.join(_CLOSING_S)
        lines = [line for line in self._last_lines if line]
        return ". Its last lines: " + " | ".join(lines) if lines else ", without a word"

    def _fail(self, why: str) -> None:
        for future, _ in list(self._waiting.values()):
            with suppress(InvalidStateError):
                future.set_exception(GoneError(why))


FREE_BYTES = 64_000_000
"""Free disk space that a write must leave. A turn's claims take kilobytes, the largest batch of passages some 40 MB."""

_PAUSE_S = 5.0
"""Seconds before a failed start is tried again."""
_WRITES = frozenset({"add", "update"})


class FullError(StoreError):
    """The disk has too little space left for a write."""


class FolderClient:
    """A client for a folder. Clients of one folder share an engine, which restarts after a failure.

    Args:
        folder: the folder of the database.
        telemetry: whether Chroma may send its own usage data.
        free_bytes: free disk space required before a write.

    Raises:
        StoreError: Chroma cannot open the folder.
    """

    def __init__(self, folder: Path, *, telemetry: bool = False, free_bytes: int = FREE_BYTES) -> None:
        self.folder = folder
        self.telemetry = telemetry
        self._free_bytes = free_bytes
        self._engine = _share_engine(folder, telemetry=telemetry)
        self._release = weakref.finalize(self, _release_engine, self._engine, gently=False)
        self._release.atexit = False
        try:
            self._engine.start()
        except StoreError:
            self._release()
            raise

    def list_collections(self) -> list[FolderCollection]:
        """Returns all collections."""
        return [self.get_collection(name) for name in self._ask("list_collections")]

    def get_collection(self, name: str, embedding_function: None = None) -> FolderCollection:  # noqa: ARG002  # as Chroma's
        """Returns the collection.

        Raises:
            NoCollectionError: it was never made.
        """
        return FolderCollection(self, name, self._ask("get_collection", name=name))

    def get_or_create_collection(
        self,
        name: str,
        embedding_function: None,  # noqa: ARG002  # as Chroma's
        metadata: Mapping[str, str | int],
        configuration: Mapping[str, object],
    ) -> FolderCollection:
        """Returns the collection, created when missing. An existing one keeps its metadata."""
        try:
            return self.get_collection(name)
        except NoCollectionError:
            self._check_space()
        made = self._ask("get_or_create_collection", name=name, metadata=metadata, configuration=configuration)
        return FolderCollection(self, name, made)

    def delete_collection(self, name: str) -> None:
        """Deletes the collection and its rows."""
        self._ask("delete_collection", name=name)

    def get_max_batch_size(self) -> int:
        """Returns the most rows that one call may carry."""
        return int(self._ask("get_max_batch_size"))

    def close(self) -> None:
        """Closes the engine unless other clients use it. Closing again does nothing."""
        if self._release.detach() is not None:
            _release_engine(self._engine, gently=True)

    def give_up(self, seconds: float) -> None:
        """Ends an engine that left a call unanswered for this long. The next call starts another."""
        process = self._engine.process
        if process is not None and process.silent_for() >= seconds:
            process.kill(f"Chroma did not answer in {seconds:g} s and was stopped")

    def call(self, collection: str, method: str, arguments: Mapping[str, object]) -> Any:
        """Calls a collection's method and returns its result."""
        if method in _WRITES:
            self._check_space()
        return self._engine.ask(method, collection, arguments)

    def _ask(self, method: str, **arguments: object) -> Any:
        return self._engine.ask(method, None, arguments)

    def _check_space(self) -> None:
        """Raises `FullError` on a full disk. A write that runs out of space breaks Chroma's engine for good."""
        free = shutil.disk_usage(self.folder).free
        if free < self._free_bytes:
            raise FullError(
                f"the disk of {self.folder} has {free / 1e6:.1f} MB left, less than the {self._free_bytes / 1e6:g} MB that "
                "a write must leave (setting store_free_mb): free some space, or move the folder and set data_dir "
                "(VISTA_GUARD_DATA_DIR)"
            )


@dataclass(frozen=True)
class FolderCollection:
    """A collection of a folder, with the methods of Chroma's own, keywords only."""

    client: FolderClient
    name: str
    metadata: Mapping[str, Any] | None

    def _ask(self, method: str, /, **arguments: object) -> Any:
        return self.client.call(self.name, method, arguments)

    get = partialmethod(_ask, "get")
    query = partialmethod(_ask, "query")
    add = partialmethod(_ask, "add")
    update = partialmethod(_ask, "update")
    modify = partialmethod(_ask, "modify")
    delete = partialmethod(_ask, "delete")

    def count(self) -> int:
        """Returns the number of rows."""
        return int(self._ask("count"))


@dataclass
class _Engine:
    """The current process of a folder, and its number of clients."""

    folder: Path
    telemetry: bool
    users: int = 0
    process: ChromaProcess | None = None
    starting: threading.Lock = field(default_factory=threading.Lock)
    not_before: float = 0.0
    failure: StoreError = field(default_factory=StoreError)

    def start(self) -> ChromaProcess:
        """Returns the process, started if necessary."""
        process = self.process
        if process is not None and process.usable:
            return process
        with self.starting:
            if self.process is None or not self.process.usable:
                if self.process is not None:
                    self.process.kill()  # it may have ended unnoticed
                self.process = self._start_process()
            return self.process

    def _start_process(self) -> ChromaProcess:
        if not self.users:
            raise StoreError("the store is closed. Open a new one")
        if monotonic() < self.not_before:
            raise type(self.failure)(f"Chroma could not be started a moment ago: {self.failure}")
        try:
            process = ChromaProcess(self.folder, telemetry=self.telemetry)
        except StoreError as exc:
            # Whoever waited for this start shares its failure: on a broken disk each one may take its whole time.
            self.not_before, self.failure = monotonic() + _PAUSE_S, exc
            raise
        if not self.users:
            process.kill()
            raise StoreError("the store is closed. Open a new one")
        return process

    def ask(self, method: str, collection: str | None, arguments: Mapping[str, object]) -> Any:
        """Calls a method; retries in a new process when the first one died. All of Chroma's calls are safe to repeat."""
        try:
            return self.start().ask(method, collection, dict(arguments))
        except GoneError:
            return self.start().ask(method, collection, dict(arguments))

    def end(self, *, gently: bool) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.close() if gently else process.kill()


_engines: dict[tuple[Path, bool], _Engine] = {}
_engines_lock = threading.RLock()  # a collected client may be released while another one is made


def _share_engine(folder: Path, *, telemetry: bool) -> _Engine:
    with _engines_lock:
        engine = _engines.setdefault((folder, telemetry), _Engine(folder, telemetry))
        engine.users += 1
        return engine


def _release_engine(engine: _Engine, *, gently: bool) -> None:
    with _engines_lock:
        engine.users -= 1
        last = not engine.users
        if last:
            _engines.pop((engine.folder, engine.telemetry), None)
    if last:
        engine.end(gently=gently)


@atexit.register
def _end_all() -> None:
    for engine in list(_engines.values()):
        engine.end(gently=False)
