"""A system on every core of a Ray cluster, behind the same protocol: the loop that judges here and writes is unchanged.

Each conversation goes to one worker, a process that builds its own system and writes nothing; reports come back one by one. A
lost worker is replaced, and the unreported turns of its conversations are judged by another. An existing cluster is joined,
or one is started on this machine; a wrong address is reported before Ray tries it for minutes.
"""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
import socket
import warnings
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import ExitStack, aclosing, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from vista_guard import __version__
from vista_guard._extras import require
from vista_guard.errors import ConfigError, JudgeError, VistaGuardError
from vista_guard.inference.batching import THREADS
from vista_guard.types import TurnReport
from vista_lab.logs.source import LoggedConversation
from vista_lab.runs.line_file import differing_fields, system_fields
from vista_lab.systems.protocol import System, SystemInfo

REACH_SECONDS = 5.0
STORE_BYTES = 200_000_000
"""Shared memory of a cluster that is started here. Reports are small and travel outside of it."""

GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""How a client of gRPC begins, with settings that change nothing."""
HEADER = 9
SETTINGS = 4
"""Length of a frame's header, and what stands in the fourth byte of the one that a server of gRPC begins with."""
WHICH_PORT = "Give the port of ray start --head, 6379 if it was told none; 8265 is its dashboard, 10001 is for ray://"


def ray_library() -> Any:
    """The library. Its own types would make a checked module of one that is to be checked without it."""
    import ray

    return ray


def connect(address: str | None, workers: int | None) -> bool:
    """Joins a cluster, or starts one here; does nothing in a process that has joined one. Whether one was started or joined.

    Raises ConfigError: see `RaySystem.start`.
    """
    require("--engine ray", "ray", extra="ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Nothing is told to anybody.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if ray_library().is_initialized():
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
        _keep_token_to_ourselves()
        options |= {"num_cpus": workers, "include_dashboard": False, "object_store_memory": STORE_BYTES}
    elif address != "auto":
        _check_reachable(address)
    _init(address, options)
    return True


def _init(address: str, options: dict[str, Any]) -> None:
    from ray.exceptions import RayError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ray_library().init(**options)
        except (ConnectionError, RuntimeError, ValueError, RayError) as exc:
            raise ConfigError(f"no Ray cluster at {address}: {_why(exc)}") from exc


def _why(exc: BaseException) -> str:
    """Ray's message, and what to do about a token: Ray puts that into the cause of its error, in fifty lines."""
    if "token" in f"{exc} {exc.__cause__}".lower():
        return (
            "it asks for a token. Set RAY_AUTH_MODE=token, and give the token of its head node (ray get-auth-token) as "
            "RAY_AUTH_TOKEN or in ~/.ray/auth_token"
        )
    told = " ".join(str(exc).split())
    return f"{told}. {WHICH_PORT}" if told.startswith("Failed to connect") else told


def _keep_token_to_ourselves() -> None:
    """Guards a cluster that is started here by a token of its own.

    Ray would write one to the user's home, and every `ray start` that finds one there asks all nodes and drivers for it.
    """
    if not os.environ.get("RAY_AUTH_TOKEN_PATH"):
        os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


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
        with socket.create_connection((host, int(port)), timeout=REACH_SECONDS) as open_socket:
            if _speaks_grpc(open_socket):
                return
    except TimeoutError as exc:
        raise ConfigError(f"no Ray cluster at {address}: no answer within {REACH_SECONDS:g} seconds") from exc
    except (OSError, OverflowError) as exc:
        raise ConfigError(f"no Ray cluster at {address}: {getattr(exc, 'strerror', None) or exc}") from exc
    raise ConfigError(f"no Ray cluster at {address}: something else listens there. {WHICH_PORT}")


def _speaks_grpc(open_socket: socket.socket) -> bool:
    open_socket.sendall(GREETING)
    answer = b""
    while len(answer) < HEADER and (more := open_socket.recv(HEADER - len(answer))):
        answer += more
    return len(answer) == HEADER and answer[3] == SETTINGS


@dataclass(eq=False)
class Slot:
    """A worker's seat. When its worker is lost, another one takes it.

    `share` is what its workers may spend in all, in US dollars, `spent` what their reports say they did.
    """

    number: int
    actor: Any = None
    share: float | None = None
    spent: float = 0.0
    why_retired: str | None = None
    """Why nobody sits here any more: what its workers may spend is spent."""
    why_lost: str | None = None
    """Why nobody sits here any more: no worker could take the place of a lost one."""
    away: bool = False
    """True while the worker of this seat is starting; others judge meanwhile."""

    @property
    def closed(self) -> bool:
        """True once no worker will take this seat."""
        return self.why_retired is not None or self.why_lost is not None

    @property
    def left(self) -> float | None:
        """The budget left for a worker that takes the seat now."""
        return None if self.share is None else max(self.share - self.spent, 0.0)


class Places:
    """Each slot has as many places as a worker judges conversations at once. All are handed out in turn."""

    def __init__(self, slots: list[Slot], each: int) -> None:
        self.slots = slots
        self._free = deque(slot for _ in range(each) for slot in slots)
        self._changed = asyncio.Condition()

    @property
    def why_exhausted(self) -> str | None:
        """Why no slot is left, when what there was to spend is; None while one is left."""
        reasons = (slot.why_retired for slot in self.slots)
        return next(filter(None, reasons), None) if self._all_closed else None

    @property
    def why_lost(self) -> str | None:
        """Why no slot is left, when workers are lost and nothing else ended it; None while one is left."""
        if not self._all_closed or self.why_exhausted is not None:
            return None
        return next(filter(None, (slot.why_lost for slot in self.slots)), None)

    @property
    def _all_closed(self) -> bool:
        return all(slot.closed for slot in self.slots)

    async def take(self) -> Slot | None:
        """The next free place, waited for; None when no slot is left."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._next() is not None or self._all_closed)
            slot = self._next()
            if slot is not None:
                self._free.remove(slot)
            return slot

    async def give_back(self, slot: Slot) -> None:
        """Frees the place, and wakes those who wait."""
        async with self._changed:
            self._free.append(slot)
            self._changed.notify_all()

    async def arrived(self, slot: Slot) -> None:
        """The worker that was away is there, or will never be."""
        async with self._changed:
            slot.away = False
            self._changed.notify_all()

    def _next(self) -> Slot | None:
        return next((slot for slot in self._free if not slot.away and not slot.closed), None)


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

        Raises ConfigError if it cannot be built; says on which node.
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
        """Judges the conversation and forgets it at the end. A turn left unjudged for lack of budget is no result.

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
    return platform.node() or "of no name"


START_SECONDS = 300.0
"""Within which a worker finds a place in the cluster and builds its system."""
PATIENCE_SECONDS = 30.0
"""After which those that are there begin. Two runs that each wait for all their cores would wait for one another."""
CLOSE_SECONDS = 10.0
LOSSES = 3
"""Workers that one conversation may lose: it may be what kills them."""


def _to_nobody(_message: str) -> None: ...


class RaySystem:
    """Implements `System` on a cluster. `places` conversations can be judged at once."""

    def __init__(
        self,
        info: SystemInfo,
        slots: list[Slot],
        each: int,
        seat: Callable[[Slot], Coroutine[Any, Any, Ready]],
        tell: Callable[[str], None],
        *,
        ours: bool,
    ) -> None:
        self.info = info
        self.places = len(slots) * each
        self._places = Places(slots, each)
        self._seat = seat
        self._tell = tell
        self._ours = ours
        self._coming: set[asyncio.Task[None]] = set()

    @classmethod
    async def start(
        cls,
        build: Build,
        *,
        workers: int | None = None,
        address: str | None = None,
        each: int = 1,
        max_cost: float | None = None,
        expected: SystemInfo | None = None,
        tell: Callable[[str], None] = _to_nobody,
    ) -> RaySystem:
        """Connects, and has every worker build its system. One that waits for a core for long comes in when the others judge.

        Args:
            build: builds a system on a worker.
            workers: how many; one a core of the cluster when None. Each takes one core.
            address: of a running cluster, `auto` for the one that this machine belongs to; one is started here when None.
            each: conversations that a worker judges at once. More than one pays where judging is waiting, as for a model.
            max_cost: US dollars for all workers together; each gets an equal share, so that no two of them exceed it together.
            expected: how they are to judge; as one another when None.
            tell: is told of workers that are waited for, lost, or not used, a sentence each.

        Raises:
            ConfigError: Ray is missing, the cluster is out of reach or too small, the workers' systems differ, or a system
                cannot be built.
        """
        ours = connect(address, workers)
        slots: list[Slot] = []
        coming: dict[Slot, asyncio.Task[Ready]] = {}
        try:
            count = _count(workers)
            share = None if max_cost is None else max_cost / count
            slots += (Slot(number, share=share) for number in range(count))
            seat = partial(_seat, partial(_hire, build, each))
            coming |= {slot: asyncio.ensure_future(seat(slot)) for slot in slots}
            there = await _there(coming, tell)
            info = expected or next(iter(there.values())).info
            for slot, ready in there.items():
                check_alike(slot.number, ready, info)
        except BaseException:
            for task in coming.values():
                task.cancel()
            _end(slots, cluster=ours)
            raise
        system = cls(info, slots, each, seat, tell, ours=ours)
        for slot in coming.keys() - there.keys():
            system._await(slot, coming[slot])
        return system

    @property
    def why_exhausted(self) -> str | None:
        """The reason of the last worker that could still judge."""
        return self._places.why_exhausted

    async def judge(
        self, entry: LoggedConversation, turns: Collection[int], done: Sequence[TurnReport]
    ) -> AsyncIterator[TurnReport]:
        """Judges on some worker. Reports of a lost worker are kept; another worker continues behind them.

        Raises JudgeError if the conversation lost `LOSSES` workers, or none is left.
        """
        known, losses = list(done), 0
        while (slot := await self._places.take()) is not None:
            worker = slot.actor
            try:
                async with aclosing(_stream(worker, entry, turns, known)) as answers:
                    async for said in answers:
                        if isinstance(said, Exhausted):
                            slot.why_retired = self._share_reason(slot, said.reason)
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
                    raise JudgeError(
                        f"{losses} workers of the Ray cluster were lost while judging {where}: {lost}"
                    ) from lost
                self._replace(slot, worker, lost)
            finally:
                await self._places.give_back(slot)
        if self._places.why_lost is not None:
            raise JudgeError(self._places.why_lost)

    async def forget(self, conversation_id: str) -> None:
        """Does nothing: the worker that judged a conversation has forgotten it."""

    async def aclose(self) -> None:
        """Ends the workers, and the cluster if it was started here."""
        slots = self._places.slots
        for task in self._coming:
            task.cancel()
        closing = [asyncio.ensure_future(_closed(slot.actor)) for slot in slots if not slot.away]
        if closing:
            await asyncio.wait(closing, timeout=CLOSE_SECONDS)
        _end(slots, cluster=self._ours)

    def _share_reason(self, slot: Slot, reason: str) -> str:
        """A worker speaks of what it was given, and knows of no other."""
        if slot.share is None:
            return reason
        return f"each of the {len(self._places.slots)} workers had ${slot.share:g} of the budget, and the last one says: {reason}"

    def _replace(self, slot: Slot, worker: Any, lost: _Lost) -> None:
        """Another worker takes the slot, once for all conversations that were with the lost one."""
        if slot.actor is worker and not slot.away and not slot.closed:
            self._tell(f"worker {slot.number} of the Ray cluster was lost, and another one takes its place: {lost}")
            ray_library().kill(worker)  # One that only could not be reached would keep its core.
            self._await(slot, self._seat(slot))

    def _await(self, slot: Slot, seated: Awaitable[Ready]) -> None:
        """Nobody waits for a worker while others are there: the nodes that are left may have no core for it."""
        slot.away = True
        task = asyncio.ensure_future(self._settle(slot, seated))
        self._coming.add(task)
        task.add_done_callback(self._coming.discard)

    async def _settle(self, slot: Slot, seated: Awaitable[Ready]) -> None:
        try:
            check_alike(slot.number, await seated, self.info)
        except Exception as exc:  # Whatever is wrong with one node, the others go on.
            slot.why_lost = f"no worker of the Ray cluster is left: {exc}"
            ray_library().kill(slot.actor)
            self._tell(str(exc))
        finally:
            await self._places.arrived(slot)


class _Lost(Exception):
    """A worker did not answer to the end."""


async def _there(coming: Mapping[Slot, asyncio.Task[Ready]], tell: Callable[[str], None]) -> dict[Slot, Ready]:
    """All workers; where some are waited for in vain, those that are there, at least one."""
    _, late = await asyncio.wait(coming.values(), timeout=PATIENCE_SECONDS, return_when=asyncio.FIRST_EXCEPTION)
    if late and not any(task.done() and task.exception() for task in coming.values()):
        tell(
            f"{len(late)} of {len(coming)} workers of the Ray cluster are not there after {PATIENCE_SECONDS:g} seconds; each "
            "begins as soon as a core is free"
        )
    if len(late) == len(coming):
        await asyncio.wait(late, return_when=asyncio.FIRST_COMPLETED)
    return {slot: task.result() for slot, task in coming.items() if task.done()}


def _count(workers: int | None) -> int:
    cores = int(ray_library().cluster_resources().get("CPU", 0))
    count = cores if workers is None else workers
    if not 1 <= count <= cores:
        raise ConfigError(f"--workers is {count}, and the Ray cluster has {cores} cores; each worker takes one")
    return count


def _hire(build: Build, each: int, slot: Slot) -> Any:
    """A worker for a slot. Ray itself restarts none: a restarted one would have a new budget."""
    options: dict[str, Any] = {"num_cpus": 1, "max_concurrency": each + 1, "max_restarts": 0}
    return ray_library().remote(**options)(Worker).remote(build, slot.left)


async def _seat(hire: Callable[[Slot], Any], slot: Slot) -> Ready:
    slot.actor = hire(slot)
    try:
        async with asyncio.timeout(START_SECONDS):
            found: Ready = await _answer(slot.actor.start.remote())
            return found
    except _Lost as lost:
        raise JudgeError(f"worker {slot.number} of the Ray cluster was lost before it was ready: {lost}") from lost
    except TimeoutError as exc:
        ray_library().kill(slot.actor)
        raise ConfigError(
            f"worker {slot.number} of the Ray cluster did not start within {START_SECONDS:g} seconds; ask for fewer "
            "--workers, or check what else runs on the cluster"
        ) from exc


def check_alike(number: int, ready: Ready, expected: SystemInfo) -> None:
    """Passes when a worker judges as expected. Raises ConfigError if it does not; says on which node, and in what."""
    # What a worker of an older version says has neither of both.
    version, node = getattr(ready, "version", "of another version"), getattr(ready, "node", "of no name")
    if version != __version__:
        differing = f"vista-guard {version} instead of {__version__}"
    elif ready.info != expected:
        found = differing_fields(system_fields(ready.info), system_fields(expected)).items()
        differing = ", ".join(f"{name} {here} instead of {wanted}" for name, (here, wanted) in found)
    else:
        return
    raise ConfigError(
        f"worker {number} of the Ray cluster, on node {node}, would judge differently: {differing}. Give all nodes the "
        "same version of vista-guard, and the same settings as the command"
    )


async def _stream(
    worker: Any, entry: LoggedConversation, turns: Collection[int], done: Sequence[TurnReport]
) -> AsyncGenerator[TurnReport | Exhausted, None]:
    """A worker's events on a conversation. When the caller leaves early, the worker stops too."""
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
                ray_library().cancel(answers)


async def _answer(reference: Any) -> Any:
    """The answer of a worker. Raises VistaGuardError as the worker raised it; _Lost if it did not answer."""
    from ray.exceptions import RayError, RayTaskError

    try:
        return await reference
    except RayTaskError as exc:
        if isinstance(exc.cause, VistaGuardError):
            raise exc.cause from None
        raise
    except RayError as exc:
        raise _Lost(_loss_message(exc)) from exc


def _loss_message(exc: Exception) -> str:
    """Ray's message about a lost worker: the first line, or the last one after a traceback."""
    lines = [line for line in str(exc).splitlines() if line.strip()] or [type(exc).__name__]
    return lines[-1].strip() if "creation task" in lines[0] else lines[0]


async def _closed(actor: Any) -> None:
    with suppress(Exception):
        await actor.close.remote()


def _end(slots: Sequence[Slot], *, cluster: bool) -> None:
    """Ends the workers, which free their cores at once, and the cluster too where it is ours."""
    for slot in slots:
        if slot.actor is not None:
            ray_library().kill(slot.actor)
    if cluster:
        ray_library().shutdown()
