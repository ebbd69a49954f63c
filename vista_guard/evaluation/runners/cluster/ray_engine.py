"""A system on every core of a Ray cluster, behind the seam of one: the loop that judges here and writes is the same.

Conversations are dealt out whole, to one worker each, and their reports come back one by one. A worker that is lost, with its
node or by itself, is replaced, and what it had not reported of its conversations is judged by another one.
"""

from __future__ import annotations

import asyncio
import os
import socket
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import Any

from vista_guard._extras import require
from vista_guard.errors import ConfigError, JudgeError, VistaGuardError
from vista_guard.evaluation.datasets.source import LoggedConversation
from vista_guard.evaluation.runners.cluster.places import Places, Slot
from vista_guard.evaluation.runners.cluster.worker import Build, Exhausted, Worker
from vista_guard.evaluation.systems.protocol import SystemInfo
from vista_guard.types import TurnReport

START_SECONDS = 300.0
"""Within which a worker finds a place in the cluster and builds its system."""
CLOSE_SECONDS = 10.0
REACH_SECONDS = 5.0
LOSSES = 3
"""Workers that one conversation may lose: it may be what kills them."""
STORE_BYTES = 200_000_000
"""Shared memory of a cluster that is started here. Reports are small and travel outside of it."""


class RaySystem:
    """See `System`. `places` conversations can be judged at once."""

    def __init__(
        self, info: SystemInfo, slots: list[Slot], each: int, hire: Callable[[Slot], Any], *, ours: bool
    ) -> None:
        self.info = info
        self.places = len(slots) * each
        self._places = Places(slots, each)
        self._hire = hire
        self._ours = ours

    @classmethod
    async def start(
        cls,
        build: Build,
        *,
        workers: int | None = None,
        address: str | None = None,
        each: int = 1,
        max_cost: float | None = None,
    ) -> RaySystem:
        """Connects, and has every worker build its system.

        Args:
            build: builds a system on a worker.
            workers: how many; one a core of the cluster when None. Each takes one core.
            address: of a running cluster, `auto` for the one that this machine belongs to; one is started here when None.
            each: conversations that a worker judges at once. More than one pays where judging is waiting, as for a model.
            max_cost: US dollars for all workers together; each gets an equal share, so that no two of them exceed it together.

        Raises:
            ConfigError: Ray is missing, the cluster is out of reach or too small, the workers' systems differ, or a system
                cannot be built.
        """
        ours = connect(address, workers)
        slots: list[Slot] = []
        try:
            count = _count(workers)
            share = None if max_cost is None else max_cost / count
            slots += (Slot(number, share=share) for number in range(count))
            hire = partial(_hire, build, each)
            infos = await asyncio.gather(*(_seat(slot, hire) for slot in slots))
            return cls(same_info(infos), slots, each, hire, ours=ours)
        except BaseException:
            _end(slots, cluster=ours)
            raise

    @property
    def why_exhausted(self) -> str | None:
        """See `System`: of the last worker that could still judge."""
        return self._places.why_exhausted

    async def judge(
        self, entry: LoggedConversation, turns: Collection[int], done: Sequence[TurnReport]
    ) -> AsyncIterator[TurnReport]:
        """See `System`. Reports that a lost worker had made stay: another one goes on behind them.

        Raises:
            JudgeError: the conversation lost `LOSSES` workers, or none is left.
        """
        known, losses = list(done), 0
        while (slot := await self._places.take()) is not None:
            worker = slot.actor
            try:
                async with aclosing(_stream(worker, entry, turns, known)) as answers:
                    async for said in answers:
                        if isinstance(said, Exhausted):
                            slot.why_retired = said.reason
                            break
                        slot.spent += said.usage.cost
                        known.append(said)
                        yield said
                    else:
                        return
            except _Lost as lost:
                losses += 1
                if losses >= LOSSES:
                    where = f"conversation {entry.conversation.id}"
                    raise JudgeError(f"{where} lost {losses} workers of the Ray cluster: {lost}") from lost
                await self._replace(slot, worker)
            finally:
                await self._places.give_back(slot)
        if self._places.why_lost is not None:
            raise JudgeError(self._places.why_lost)

    async def forget(self, conversation_id: str) -> None:
        """See `System`: the worker that judged a conversation has forgotten it."""

    async def aclose(self) -> None:
        """Ends the workers, and the cluster if it was started here."""
        slots = self._places.slots
        await asyncio.wait([asyncio.ensure_future(_closed(slot.actor)) for slot in slots], timeout=CLOSE_SECONDS)
        _end(slots, cluster=self._ours)

    async def _replace(self, slot: Slot, lost: Any) -> None:
        """Another worker takes the slot, once for all conversations that were with the lost one."""
        async with slot.replacing:
            if slot.actor is not lost or slot.closed:
                return
            try:
                await _seat(slot, self._hire)
            except VistaGuardError as exc:
                slot.why_lost = f"no worker of the Ray cluster is left: {exc}"


def _ray() -> Any:
    """The library. Its own types would make a checked module of one that is to be checked without it."""
    import ray

    return ray


class _Lost(Exception):
    """A worker did not answer to the end."""


def connect(address: str | None, workers: int | None) -> bool:
    """Joins a cluster, or starts one here; does nothing in a process that has joined one. Whether one was started or joined.

    Raises:
        ConfigError: see `RaySystem.start`.
    """
    require("--engine ray", "ray", extra="ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Nothing is told to anybody.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if _ray().is_initialized():
        return False
    if address is not None and "://" in address:
        raise ConfigError(
            f"--address is {address}; reports stream back to a driver on the cluster itself. Run vista-guard eval on its head "
            "node with --address auto, or by ray job submit"
        )
    address = address or os.environ.get("RAY_ADDRESS") or "local"  # A job is told its cluster by the variable.
    options: dict[str, Any] = {"address": address, "logging_level": "error", "log_to_driver": False}
    if address == "local":
        _check_cores(workers)
        options |= {"num_cpus": workers, "include_dashboard": False, "object_store_memory": STORE_BYTES}
    elif address != "auto":
        _check_reachable(address)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _ray().init(**options)
        except (ConnectionError, RuntimeError, ValueError) as exc:
            raise ConfigError(f"no Ray cluster at {address}: {exc}") from exc
    return True


def _check_cores(workers: int | None) -> None:
    """A cluster that is started here has the cores of this machine, whatever Ray would be told."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if workers is not None and workers > cores:
        raise ConfigError(
            f"--workers is {workers}, and this machine has {cores} cores; each worker takes one. To judge more conversations at "
            "once, as for a model behind an API, give --each"
        )


def _check_reachable(address: str) -> None:
    """Ray itself tries for minutes, and then ends the process."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise ConfigError(f"--address is {address!r}; give HOST:PORT of the cluster's head node, or auto")
    try:
        with socket.create_connection((host, int(port)), timeout=REACH_SECONDS):
            pass
    except OSError as exc:
        raise ConfigError(f"no Ray cluster at {address}: {exc.strerror or exc}") from exc


def _count(workers: int | None) -> int:
    cores = int(_ray().cluster_resources().get("CPU", 0))
    count = cores if workers is None else workers
    if not 1 <= count <= cores:
        raise ConfigError(f"--workers is {count}, and the Ray cluster has {cores} cores; each worker takes one")
    return count


def _hire(build: Build, each: int, slot: Slot) -> Any:
    """A worker for a slot. Ray itself restarts none: a restarted one would have a new budget."""
    options: dict[str, Any] = {"num_cpus": 1, "max_concurrency": each + 1, "max_restarts": 0}
    return _ray().remote(**options)(Worker).remote(build, slot.left)


async def _seat(slot: Slot, hire: Callable[[Slot], Any]) -> SystemInfo:
    slot.actor = hire(slot)
    try:
        async with asyncio.timeout(START_SECONDS):
            found: SystemInfo = await _answer(slot.actor.start.remote())
            return found
    except _Lost as lost:
        raise JudgeError(f"worker {slot.number} of the Ray cluster was lost before it was ready: {lost}") from lost
    except TimeoutError as exc:
        _ray().kill(slot.actor)
        raise ConfigError(
            f"worker {slot.number} of the Ray cluster was not there within {START_SECONDS:g} seconds; ask for fewer "
            "--workers, or see what else runs on the cluster"
        ) from exc


def same_info(infos: Sequence[SystemInfo]) -> SystemInfo:
    """What all workers say of their systems.

    Raises:
        ConfigError: they do not say the same.
    """
    for info in infos:
        if info != infos[0]:
            raise ConfigError(
                f"the workers of the Ray cluster judge in different ways: {infos[0]!r} and {info!r}. Give all nodes the same "
                "version of vista-guard, and the same settings"
            )
    return infos[0]


async def _stream(
    worker: Any, entry: LoggedConversation, turns: Collection[int], done: Sequence[TurnReport]
) -> AsyncGenerator[TurnReport | Exhausted, None]:
    """What a worker says of a conversation. Left in the middle, the worker stops too."""
    answers = worker.judge.options(num_returns="streaming").remote(entry, frozenset(turns), tuple(done))
    ended = False
    try:
        async for reference in answers:
            said = await _answer(reference)
            yield TurnReport.model_validate_json(said) if isinstance(said, bytes) else said
        ended = True
    finally:
        if not ended:
            with suppress(Exception):
                _ray().cancel(answers)


async def _answer(reference: Any) -> Any:
    """What a worker answered.

    Raises:
        VistaGuardError: as the worker raised it.
        _Lost: it did not answer.
    """
    from ray.exceptions import RayError, RayTaskError

    try:
        return await reference
    except RayTaskError as exc:
        if isinstance(exc.cause, VistaGuardError):
            raise exc.cause from None
        raise
    except RayError as exc:
        raise _Lost(str(exc).partition("\n")[0]) from exc


async def _closed(actor: Any) -> None:
    with suppress(Exception):
        await actor.close.remote()


def _end(slots: Sequence[Slot], *, cluster: bool) -> None:
    """Ends the workers, which free their cores at once, and the cluster too where it is ours."""
    for slot in slots:
        if slot.actor is not None:
            _ray().kill(slot.actor)
    if cluster:
        _ray().shutdown()
