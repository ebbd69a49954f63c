"""A sink that hands verdicts to a backend's own API from a bounded queue: one that is slow or down costs a turn nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from queue import Empty, Full, Queue
from threading import Lock, Thread
from time import monotonic
from typing import Protocol

from vista_guard.types import TurnReport

logger = logging.getLogger("vista_guard")

MOST_WAITING = 1000
AT_ONCE = 50
LAST_SECONDS = 3.0
_TOLD_EVERY_S = 60.0


class ScoreExporter(Protocol):
    """A backend that takes scores."""

    @property
    def name(self) -> str:
        """As the log calls it."""
        ...

    def send(self, reports: Sequence[TurnReport]) -> None:
        """Sends the scores of these turns. Called in a thread; what it raises is told in the log, and the turns are let go."""
        ...

    def close(self) -> None: ...


class ScoreSink:
    """Takes finished reports, as any sink: `Guard(judge, sinks=[ScoreSink(PhoenixScores("http://127.0.0.1:6006"))])`.

    Turns that were not traced are left out: a backend would not know where to put their scores. Where more than `most_waiting`
    wait, the new ones are dropped, which the log tells once a minute.

    Args:
        exporter: the backend.
        most_waiting: reports that may wait.
    """

    def __init__(self, exporter: ScoreExporter, *, most_waiting: int = MOST_WAITING) -> None:
        self._exporter = exporter
        self._waiting: Queue[TurnReport | None] = Queue(most_waiting)
        self._thread: Thread | None = None
        self._starting = Lock()
        self._told = -_TOLD_EVERY_S
        self.dropped = 0
        """Reports whose scores were never sent."""

    async def write(self, report: TurnReport) -> None:
        """Puts the report into the queue, and returns at once."""
        if report.span_id is None:
            return
        self._start()
        try:
            self._waiting.put_nowait(report)
        except Full:
            self._drop(1, f"{self._waiting.maxsize} reports are waiting already")

    async def aclose(self) -> None:
        """Sends what waits, for a few seconds at most."""
        await asyncio.to_thread(self.close)

    def close(self) -> None:
        """As `aclose`."""
        thread = self._thread
        if thread is None or not thread.is_alive():
            return
        try:
            self._waiting.put(None, timeout=LAST_SECONDS)
        except Full:
            return
        thread.join(LAST_SECONDS)

    def _start(self) -> None:
        with self._starting:
            # A forked child has none of its parent's threads.
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._run, name=f"vista-guard scores: {self._exporter.name}", daemon=True)
                self._thread.start()

    def _run(self) -> None:
        ended = False
        while not ended:
            batch, ended = self._next_batch()
            try:
                if batch:
                    self._exporter.send(batch)
            except Exception as exc:
                # A backend's failure is nobody's turn. What it answered may quote what was sent: only its class is told.
                self._drop(len(batch), type(exc).__name__)
        self._exporter.close()

    def _next_batch(self) -> tuple[list[TurnReport], bool]:
        """What waits, at least one; and whether that was the last."""
        batch: list[TurnReport] = []
        item = self._waiting.get()
        while item is not None:
            batch.append(item)
            if len(batch) == AT_ONCE:
                return batch, False
            try:
                item = self._waiting.get_nowait()
            except Empty:
                return batch, False
        return batch, True

    def _drop(self, count: int, why: str) -> None:
        self.dropped += count
        if monotonic() - self._told >= _TOLD_EVERY_S:
            self._told = monotonic()
            logger.warning("%s did not take the scores of %s turns so far: %s", self._exporter.name, self.dropped, why)
