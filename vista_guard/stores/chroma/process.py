"""One process that holds Chroma for a folder, from the side of those who ask it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from concurrent.futures import Future, InvalidStateError
from concurrent.futures import TimeoutError as FutureTimeoutError
from contextlib import suppress
from itertools import count
from pathlib import Path
from time import monotonic
from typing import IO

from vista_guard.errors import StoreError
from vista_guard.stores.chroma.frames import Answer, Call, Fault, read, write

_STARTING_S = 60.0
_CLOSING_S = 5.0
# The package is found as it was found here, whatever the child's working folder and environment.
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from vista_guard.stores.chroma.worker import main; main()"
)


class NoCollectionError(LookupError):
    """There is no collection of that name."""


class GoneError(StoreError):
    """The process ended before it answered; asking another one may help."""


class ChromaProcess:
    """A running engine. What one thread asks does not wait for another's answer.

    Raises:
        StoreError: Chroma cannot open the folder.
    """

    def __init__(self, folder: Path, *, telemetry: bool) -> None:
        self._owner = os.getpid()
        self._numbers = count(1)
        self._waiting: dict[int, tuple[Future[Answer], float]] = {}
        self._writing = threading.Lock()
        self._ended = False
        self._process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM, json.dumps(sys.path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        ready = self._wait_for(0)
        threading.Thread(target=self._read, daemon=True, name="vista-guard-chroma").start()
        opening = {"folder": str(folder), "telemetry": telemetry}
        try:
            self._send(Call(0, "open", arguments=dict(opening)))
            answer = ready.result(_STARTING_S)
        except (GoneError, FutureTimeoutError) as exc:
            self.kill()
            raise StoreError(str(exc) or f"Chroma did not start within {_STARTING_S:g} s") from None
        if answer.fault is not None:
            self.kill()
            raise StoreError(str(answer.value))

    @property
    def id(self) -> int:
        """The system's number for it."""
        return self._process.pid

    @property
    def usable(self) -> bool:
        """Whether it can be asked: it runs, and this is not a fork of the process that started it."""
        return not self._ended and self._owner == os.getpid()

    def ask(self, method: str, collection: str | None, arguments: dict[str, object]) -> object:
        """What the method returns. Blocks.

        Raises:
            NoCollectionError: there is no such collection.
            ValueError: Chroma does not take the arguments.
            GoneError: the process is gone, or Chroma failed in it: then it is ended, and is not to be asked again.
        """
        number = next(self._numbers)
        waiting = self._wait_for(number)
        try:
            self._send(Call(number, method, collection, arguments))
            answer = waiting.result()
        finally:
            self._waiting.pop(number, None)
        if answer.fault is Fault.MISSING:
            raise NoCollectionError(str(answer.value))
        if answer.fault is Fault.REFUSED:
            raise ValueError(str(answer.value))
        if answer.fault is Fault.BROKEN:
            self.kill(str(answer.value))
            raise GoneError(str(answer.value))
        return answer.value

    def silent_for(self) -> float:
        """Seconds since the oldest call was sent that has no answer."""
        return max((monotonic() - asked for _, asked in list(self._waiting.values())), default=0.0)

    def kill(self, why: str = "Chroma's process was stopped") -> None:
        """Ends the process at once. What was written stays, and calls that wait for an answer fail."""
        self._ended = True
        if self._owner == os.getpid():
            self._process.kill()
            self._bury()
        self._fail(why)

    def close(self) -> None:
        """Lets Chroma finish what it does, for some seconds."""
        self._ended = True
        if self._owner != os.getpid():
            return
        if self.silent_for() < _CLOSING_S:  # else somebody may be writing into a pipe that nobody reads
            with suppress(OSError), self._writing:
                self._input.close()
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_CLOSING_S)
        self.kill("the store was closed")

    @property
    def _input(self) -> IO[bytes]:
        if self._process.stdin is None:
            raise AssertionError("the process has a pipe")
        return self._process.stdin

    def _wait_for(self, number: int) -> Future[Answer]:
        waiting: Future[Answer] = Future()
        self._waiting[number] = (waiting, monotonic())
        return waiting

    def _send(self, call: Call) -> None:
        try:
            with self._writing:
                write(self._input, call)
        except (OSError, ValueError) as exc:  # a closed pipe is a ValueError
            raise GoneError("Chroma's process is gone") from exc
        if self._ended:  # it may have ended between the two
            self._fail("Chroma's process is gone")

    def _read(self) -> None:
        answers = self._process.stdout
        if answers is None:
            raise AssertionError("the process has a pipe")
        with suppress(EOFError, OSError, ValueError), answers:
            while isinstance(answer := read(answers), Answer):
                waiting, _ = self._waiting.pop(answer.id, (None, 0.0))
                if waiting is not None:
                    with suppress(InvalidStateError):
                        waiting.set_result(answer)
        self._ended = True
        self._fail("Chroma's process ended")

    def _fail(self, why: str) -> None:
        for waiting, _ in list(self._waiting.values()):
            with suppress(InvalidStateError):
                waiting.set_exception(GoneError(why))

    def _bury(self) -> None:
        with suppress(OSError):
            self._input.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_CLOSING_S)
