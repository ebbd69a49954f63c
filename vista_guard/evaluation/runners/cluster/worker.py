"""One worker of a cluster: a process with a system of its own, which it builds itself. Writes nothing."""

from __future__ import annotations

import os
import platform
from collections.abc import AsyncIterator, Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from vista_guard import __version__
from vista_guard.errors import ConfigError
from vista_guard.evaluation.datasets.source import LoggedConversation
from vista_guard.evaluation.systems.protocol import System, SystemInfo
from vista_guard.inference.batching import THREADS
from vista_guard.types import TurnReport

Build = Callable[[float | None], System]
"""Builds a system that may spend so many US dollars, None for any amount. It is sent to the workers: it holds names and numbers,
no open files, models or clients."""

SERVICE = "vista-guard-eval"


@dataclass(frozen=True)
class Ready:
    """Said by a worker whose system is built: on which node, by which vista-guard, and how it judges."""

    node: str
    version: str
    info: SystemInfo


@dataclass(frozen=True)
class Exhausted:
    """Said in place of a report by a worker that will answer nothing more."""

    reason: str


class Worker:
    """Judges conversations, each as a whole: what a conversation established is known in one place."""

    def __init__(self, build: Build, max_cost: float | None) -> None:
        self._build = build
        self._max_cost = max_cost
        self._system: System | None = None
        self._open = ExitStack()

    async def start(self) -> Ready:
        """Builds the system. Not done when the worker is made, so that what is wrong comes back as the error that it is.

        Raises:
            ConfigError: it cannot be built; says on which node.
        """
        from vista_guard.telemetry.sdk import configured

        # There is a worker for each core: their models would otherwise take all cores each, and wait for one another.
        os.environ.setdefault(THREADS, "1")
        try:
            self._open.enter_context(configured(SERVICE))
            self._system = self._build(self._max_cost)
        except ConfigError as exc:
            raise ConfigError(f"{exc} (on node {node()})") from exc
        return Ready(node(), __version__, self._system.info)

    async def judge(
        self, entry: LoggedConversation, turns: Collection[int], done: Sequence[TurnReport]
    ) -> AsyncIterator[bytes | Exhausted]:
        """As `System.judge`, and forgets the conversation at the end. A turn that was left for want of means is no result.

        Reports are JSON: half the work of pickled objects for the one who takes them.
        """
        system = self._started
        missing = len(set(turns) - {report.turn_index for report in done})
        async for report in system.judge(entry, turns, done):
            if report.unchecked and system.why_exhausted is not None:
                break
            missing -= 1
            yield report.model_dump_json().encode()
        await system.forget(str(entry.conversation.id))
        if missing and system.why_exhausted is not None:
            yield Exhausted(system.why_exhausted)

    async def close(self) -> None:
        """Closes the system, and sends what telemetry still holds."""
        if self._system is not None:
            await self._system.aclose()
        self._open.close()

    @property
    def _started(self) -> System:
        if self._system is None:
            raise RuntimeError("the worker was not started")
        return self._system


def node() -> str:
    """The machine's name, for messages alone."""
    return platform.node() or "of no name"
