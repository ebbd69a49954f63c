"""Runs a system on every core of a Ray cluster, behind the same protocol as a local one: the loop is unchanged.

Each conversation goes to one worker, a process that builds its own system and writes nothing; reports come back one by one. A
lost worker is replaced, and another judges the unreported turns of its conversations. The run joins an existing cluster, or
starts one on this machine; a wrong address is reported before Ray tries it for minutes.
"""

from __future__ import annotations

import asyncio
import os
import platform
import secrets
import socket
import sysconfig
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Sequence
from contextlib import AsyncExitStack, aclosing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from vista_guard import __version__
from vista_guard._child import import_path
from vista_guard._extras import require
from vista_guard.errors import ConfigError, JudgeError, VistaGuardError
from vista_guard.inference.batching import THREADS, usable_cores
from vista_guard.stores.line_file import differing_fields
from vista_guard.types import TurnReport
from vista_lab.logs.source import LoggedConversation
from vista_lab.runs.folder import system_fields
from vista_lab.systems.metrics import command_folders
from vista_lab.systems.protocol import System, SystemInfo

SERVICE = "vista-guard-eval"
STORE_BYTES = 200_000_000
"""Shared memory of a cluster started here. Reports are small and don't use it."""
REACH_SECONDS = 5.0
START_SECONDS = 300.0
"""Time limit for a worker to find a core in the cluster and build its system."""
PATIENCE_SECONDS = 30.0
"""Wait for all workers; then those that are ready begin. Two runs that wait for all their cores would block each other."""
CLOSE_SECONDS = 10.0
LOSSES = 3
"""Workers that one conversation may lose: it may be the cause."""

GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes((0, 0, 0, 4, 0, 0, 0, 0, 0))
"""Preface of a gRPC client, with empty settings. A gRPC server answers with its own: the fourth byte is 4."""
WHICH_PORT = "Give the port of ray start --head, 6379 if it was told none; 8265 is its dashboard, 10001 is for ray://"

Build = Callable[[float | None], System]
"""Builds a system with a budget in US dollars, None for no limit. It is sent to the workers: it holds names and numbers,
no open files, models or clients."""


def ray_library() -> Any:
    """The Ray library, untyped: type checking must work without it installed."""
    import ray

    return ray


def connect(address: str | None, workers: int | None) -> bool:
    """Joins a cluster, or starts one here. Returns False if the process has already joined one.

    Raises ConfigError: see `RaySystem.start`.
    """
    require("--engine ray", "ray", extra="ray")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # No telemetry.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if ray_library().is_initialized():
        return False
    from ray.exceptions import RayError

    if address is not None and "://" in address:
        how = "Run vista-guard eval on its head node with --address auto, or by ray job submit"
        raise ConfigError(f"--address is {address}; reports stream back to a driver on the cluster itself. {how}")
    address = address or os.environ.get("RAY_ADDRESS") or "local"  # A job is told its cluster by the variable.
    options: dict[str, Any] = {"address": address, "logging_level": "error", "log_to_driver": False}
    if address == "local":
        if workers is not None and workers > (cores := usable_cores()):
            told = f"--workers is {workers}, and this machine has {cores} cores; each worker takes one"
            raise ConfigError(f"{told}. To judge more conversations at once, as for a model behind an API, give --each")
        if not os.environ.get("RAY_AUTH_TOKEN_PATH"):
            # Ray would write a token to the user's home, and every later `ray start` would require it of all nodes.
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))
        options |= {"num_cpus": workers, "include_dashboard": False, "object_store_memory": STORE_BYTES}
    elif address != "auto":
        _check_reachable(address)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ray_library().init(**options, job_config=_job())
        except (ConnectionError, RuntimeError, ValueError, RayError) as exc:
            raise ConfigError(f"no Ray cluster at {address}: {_why(exc)}") from exc
    return True


def _job() -> Any:
    """The job's settings: its workers import what this process can, after nothing else.

    Ray would put the working folder before the standard library of every worker, unless the job brings a folder of its own.
    """
    from ray.job_config import JobConfig

    # Nodes have libraries of their own.
    libraries = tuple(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    path = [folder for folder in import_path() if not folder.startswith(libraries)]
    job = JobConfig(_py_driver_sys_path=path[::-1])  # a worker puts each before the one that came before it
    vars(job)["_runtime_env_has_working_dir"] = lambda: True
    return job


def _why(exc: BaseException) -> str:
    """Ray's message, or advice about a missing token: Ray hides that in fifty lines of the error's cause."""
    if "token" in f"{exc} {exc.__cause__}".lower():
        return (
            "it asks for a token. Set RAY_AUTH_MODE=token, and give the token of its head node (ray get-auth-token) as "
            "RAY_AUTH_TOKEN or in ~/.ray/auth_token"
        )
    message = " ".join(str(exc).split())
    return f"{message}. {WHICH_PORT}" if message.startswith("Failed to connect") else message


def _check_reachable(address: str) -> None:
    """Checks the address first: Ray itself tries for minutes, and then ends the process."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdecimal():
        raise ConfigError(f"--address is {address!r}; give HOST:PORT of the cluster's head node, or auto")
    try:
        with socket.create_connection((host, int(port)), timeout=REACH_SECONDS) as server:
            server.sendall(GREETING)
            if server.makefile("rb").read(4)[3:] == b"\4":
                return
    except TimeoutError as exc:
        raise ConfigError(f"no Ray cluster at {address}: no answer within {REACH_SECONDS:g} seconds") from exc
    except (OSError, OverflowError) as exc:
        raise ConfigError(f"no Ray cluster at {address}: {getattr(exc, 'strerror', None) or exc}") from exc
    raise ConfigError(f"no Ray cluster at {address}: something else listens there. {WHICH_PORT}")


@dataclass(eq=False)
class Slot:
    """A worker's slot. When its worker is lost, another one takes it.

    `share` is the budget of all its workers in US dollars, `spent` the cost of their reports. No worker takes it any more once it
    is `exhausted` or `lost`: reasons why its budget is spent, or why nothing replaced its last worker.
    """

    number: int
    share: float | None = None
    spent: float = 0.0
    actor: Any = None
    away: bool = True
    """True while the worker of this slot is starting; others judge meanwhile."""
    judging: int = 0
    """Conversations that its worker judges now."""
    exhausted: str | None = None
    lost: str | None = None

    @property
    def closed(self) -> bool:
        """True once no worker will take this slot."""
        return self.exhausted is not None or self.lost is not None

    @property
    def left(self) -> float | None:
        """The budget left for a new worker in this slot."""
        return None if self.share is None else max(self.share - self.spent, 0.0)


class Places:
    """The slots, and `each` places of every one: a place is a conversation that its worker judges."""

    def __init__(self, slots: Sequence[Slot], each: int) -> None:
        self.slots = slots
        self._each = each
        self._changed = asyncio.Event()

    @property
    def why_exhausted(self) -> str | None:
        """Reason of a closed slot when all are closed and a budget was spent; None while one is open."""
        return next(filter(None, (slot.exhausted for slot in self.slots)), None) if self._all_closed else None

    @property
    def why_lost(self) -> str | None:
        """Reason of a closed slot when all workers were lost; None while one is open, or if a budget was spent."""
        reasons = (slot.lost for slot in self.slots)
        return next(filter(None, reasons), None) if self._all_closed and self.why_exhausted is None else None

    @property
    def _all_closed(self) -> bool:
        return all(slot.closed for slot in self.slots)

    async def take(self) -> Slot | None:
        """Waits for a place of the worker with the fewest conversations; None when all slots are closed."""
        while not self._all_closed:
            free = [slot for slot in self.slots if not (slot.away or slot.closed) and slot.judging < self._each]
            if free:
                slot = min(free, key=lambda slot: slot.judging)
                slot.judging += 1
                return slot
            self._changed.clear()
            await self._changed.wait()
        return None

    def give_back(self, slot: Slot) -> None:
        """Frees a place."""
        slot.judging -= 1
        self.tell()

    def tell(self) -> None:
        """Wakes waiting tasks: a slot has changed."""
        self._changed.set()


@dataclass(frozen=True)
class Ready:
    """Message of a worker whose system is built: its node, its version of vista-guard, and its settings."""

    node: str
    version: str
    info: SystemInfo


@dataclass(frozen=True)
class Exhausted:
    """Message of a worker whose budget is spent, in place of a report."""

    reason: str


class Worker:
    """Judges whole conversations, so that their knowledge stays in one process."""

    _system: System

    def __init__(self, build: Build, max_cost: float | None, folder: str) -> None:
        self._build = build
        self._folder = folder
        self._max_cost = max_cost
        self._open = AsyncExitStack()

    async def start(self) -> Ready:
        """Builds the system. It is not done in the constructor, so that errors come back as they are.

        Raises ConfigError if it cannot be built; names the node.
        """
        from vista_guard.telemetry.sdk import configured

        # With a worker per core, models that each use all cores would wait for one another.
        os.environ.setdefault(THREADS, "1")
        command_folders.append(self._folder)
        node = platform.node() or "of no name"
        try:
            self._open.enter_context(configured(SERVICE))
            self._system = self._build(self._max_cost)
        except ConfigError as exc:
            raise ConfigError(f"{exc} (on node {node})") from exc
        self._open.push_async_callback(self._system.aclose)
        return Ready(node, __version__, self._system.info)

    async def judge(
        self, entry: LoggedConversation, turns: Collection[int], done: Sequence[TurnReport]
    ) -> AsyncIterator[bytes | Exhausted]:
        """Judges the conversation and forgets it at the end. A turn left unjudged for lack of budget is not a result.

        Reports are JSON: they cost the receiver half the work of pickled objects.
        """
        system = self._system
        missing = len(set(turns) - {report.turn_index for report in done})
        async for report in system.judge(entry, turns, done):
            if (report.unchecked or report.unconfirmed) and system.why_exhausted is not None:
                break
            missing -= 1
            yield report.model_dump_json().encode()
        await system.forget(str(entry.conversation.id))
        if missing and system.why_exhausted is not None:
            yield Exhausted(system.why_exhausted)

    async def close(self) -> None:
        """Closes the system, and flushes telemetry."""
        await self._open.aclose()


class RaySystem:
    """Implements `System` on a cluster. `places` conversations can be judged at once."""

    info: SystemInfo

    def __init__(self, build: Build, slots: Sequence[Slot], each: int, *, ours: bool) -> None:
        self.places = len(slots) * each
        self._build = build
        self._each = each
        self._places = Places(slots, each)
        self._tell: Callable[[str], None] = lambda _message: None
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
        tell: Callable[[str], None] = lambda _message: None,
    ) -> RaySystem:
        """Connects, and has every worker build its system. Workers that wait long for a core join later.

        Args:
            build: builds a system on a worker.
            workers: number of workers, each on one core; all cores of the cluster when None.
            address: of a running cluster, `auto` for the one that this machine belongs to; one is started here when None.
            each: conversations that a worker judges at once. More than one pays off if judging waits, as for a model.
            max_cost: US dollars for all workers together; each gets an equal share.
            expected: settings that all workers must have; those of the first one when None.
            tell: called with a message for each worker that is late, lost, or not used.

        Raises:
            ConfigError: Ray is missing, the cluster is out of reach or too small, the workers' systems differ, or a system
                cannot be built.
        """
        ours = connect(address, workers)
        system = cls(build, [], each, ours=ours)
        try:
            count = _count(workers)
            share = None if max_cost is None else max_cost / count
            system = cls(build, [Slot(number, share) for number in range(count)], each, ours=ours)
            if expected is not None:
                system.info = expected
            await system._wait_for_workers(tell)
        except BaseException:
            system._end()
            raise
        system._tell = tell
        return system

    @property
    def why_exhausted(self) -> str | None:
        """Reason why no worker can judge any more; None while one can."""
        return self._places.why_exhausted

    async def judge(
        self, entry: LoggedConversation, turns: Collection[int], done: Sequence[TurnReport]
    ) -> AsyncIterator[TurnReport]:
        """Judges on some worker. Reports of a lost worker are kept; another worker continues after them.

        Raises JudgeError if the conversation lost `LOSSES` workers, or none is left.
        """
        reports, losses = list(done), 0
        while (slot := await self._places.take()) is not None:
            worker = slot.actor
            try:
                async with aclosing(_stream(worker, entry, turns, reports)) as answers:
                    async for event in answers:
                        if isinstance(event, Exhausted):
                            slot.exhausted = self._share_reason(slot, event.reason)
                            break
                        slot.spent += event.usage.cost
                        reports.append(event)
                        yield event
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
                self._places.give_back(slot)
        if self._places.why_lost is not None:
            raise JudgeError(self._places.why_lost)

    async def forget(self, conversation_id: str) -> None:
        """Does nothing: the worker that judged a conversation has forgotten it."""

    async def aclose(self) -> None:
        """Ends the workers, and the cluster if it was started here."""
        closing = [asyncio.ensure_future(_close(slot.actor)) for slot in self._places.slots if not slot.away]
        if closing:
            await asyncio.wait(closing, timeout=CLOSE_SECONDS)
        self._end()

    def _end(self) -> None:
        """Kills the workers, which frees their cores at once, and stops the cluster if we started it."""
        for task in self._coming:
            task.cancel()
        for slot in self._places.slots:
            _kill(slot)
        if self._ours:
            ray_library().shutdown()

    def _share_reason(self, slot: Slot, reason: str) -> str:
        """Adds the worker's share to its reason, which knows only its own budget."""
        if slot.share is None:
            return reason
        return f"each of the {len(self._places.slots)} workers had ${slot.share:g} of the budget, and the last one says: {reason}"

    def _replace(self, slot: Slot, worker: Any, lost: _Lost) -> None:
        """Starts another worker in the slot, once for all conversations of the lost one."""
        if slot.actor is worker and not slot.away and not slot.closed:
            self._tell(f"worker {slot.number} of the Ray cluster was lost, and another one takes its place: {lost}")
            ray_library().kill(worker)  # One that only could not be reached would keep its core.
            self._hire(slot)

    async def _wait_for_workers(self, tell: Callable[[str], None]) -> None:
        """Hires all workers, and waits for them; after `PATIENCE_SECONDS`, until one is ready."""
        tasks = [self._hire(slot) for slot in self._places.slots]
        done, late = await asyncio.wait(tasks, timeout=PATIENCE_SECONDS, return_when=asyncio.FIRST_EXCEPTION)
        if late and not any(task.exception() for task in done):
            late_told = f"{len(late)} of {len(tasks)} workers of the Ray cluster"
            tell(f"{late_told} are not there after {PATIENCE_SECONDS:g} seconds; each begins as soon as a core is free")
        if not done:
            done, _ = await asyncio.wait(late, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()

    def _hire(self, slot: Slot) -> asyncio.Task[None]:
        """Seats a new worker in the background, as the remaining nodes may have no core for it."""
        slot.away = True
        task = asyncio.ensure_future(self._seat(slot))
        self._coming.add(task)
        task.add_done_callback(partial(self._settle, slot))
        return task

    async def _seat(self, slot: Slot) -> None:
        """Has a worker build its system. Ray itself restarts none: a restarted one would have a new budget."""
        options: dict[str, Any] = {"num_cpus": 1, "max_concurrency": self._each + 1, "max_restarts": 0}
        slot.actor = ray_library().remote(**options)(Worker).remote(self._build, slot.left, str(Path.cwd()))
        try:
            async with asyncio.timeout(START_SECONDS):
                ready: Ready = await _answer(slot.actor.start.remote())
        except _Lost as lost:
            raise JudgeError(f"worker {slot.number} of the Ray cluster was lost before it was ready: {lost}") from lost
        except TimeoutError as exc:
            late = f"worker {slot.number} of the Ray cluster did not start within {START_SECONDS:g} seconds"
            raise ConfigError(f"{late}; ask for fewer --workers, or check what else runs on the cluster") from exc
        vars(self).setdefault("info", ready.info)
        check_alike(slot.number, ready, self.info)
        slot.away = False

    def _settle(self, slot: Slot, task: asyncio.Task[None]) -> None:
        """Closes the slot if its worker failed. Whatever fails on one node, the others continue."""
        self._coming.discard(task)
        if not task.cancelled() and (exc := task.exception()) is not None:
            _kill(slot)
            self._tell(str(exc))
            slot.lost = f"no worker of the Ray cluster is left: {exc}"
        self._places.tell()


class _Lost(Exception):
    """A worker did not answer to the end."""


def _count(workers: int | None) -> int:
    cores = int(ray_library().cluster_resources().get("CPU", 0))
    count = cores if workers is None else workers
    if not 1 <= count <= cores:
        raise ConfigError(f"--workers is {count}, and the Ray cluster has {cores} cores; each worker takes one")
    return count


def check_alike(number: int, ready: Ready, expected: SystemInfo) -> None:
    """Checks that a worker has the expected settings. Raises ConfigError if not; names the node and the differences."""
    if ready.version != __version__:
        differing = f"vista-guard {ready.version} instead of {__version__}"
    elif ready.info != expected:
        differences = differing_fields(system_fields(ready.info), system_fields(expected)).items()
        differing = ", ".join(f"{name} {here} instead of {wanted}" for name, (here, wanted) in differences)
    else:
        return
    where = f"worker {number} of the Ray cluster, on node {ready.node}, would judge differently: {differing}"
    how = "Give all nodes the same version of vista-guard, and the same settings as the command"
    raise ConfigError(f"{where}. {how}")


async def _stream(
    worker: Any, entry: LoggedConversation, turns: Collection[int], done: Sequence[TurnReport]
) -> AsyncGenerator[TurnReport | Exhausted, None]:
    """A worker's events on a conversation. When the caller leaves early, the worker stops too."""
    answers = worker.judge.options(num_returns="streaming").remote(entry, frozenset(turns), tuple(done))
    ended = False
    try:
        async for reference in answers:
            event = await _answer(reference)
            yield TurnReport.model_validate_json(event) if isinstance(event, bytes) else event
        ended = True
    finally:
        if not ended:
            with suppress(Exception):
                ray_library().cancel(answers)


async def _answer(reference: Any) -> Any:
    """The answer of a worker. Raises the worker's own VistaGuardError, or _Lost if it did not answer."""
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


async def _close(actor: Any) -> None:
    with suppress(Exception):
        await actor.close.remote()


def _kill(slot: Slot) -> None:
    if slot.actor is not None:
        ray_library().kill(slot.actor)
