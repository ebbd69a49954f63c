"""A system on every core of a Ray cluster, behind the seam of one: the loop that judges here and writes is the same.

Conversations are dealt out whole, to one worker each, and their reports come back one by one. A worker that is lost, with its
node or by itself, is replaced, and what it had not reported of its conversations is judged by another one.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import aclosing, suppress
from functools import partial
from typing import Any

from vista_guard import __version__
from vista_guard.errors import ConfigError, JudgeError, VistaGuardError
from vista_guard.evaluation.datasets.source import LoggedConversation
from vista_guard.evaluation.runners.cluster.joining import connect, ray_library
from vista_guard.evaluation.runners.cluster.places import Places, Slot
from vista_guard.evaluation.runners.cluster.worker import Build, Exhausted, Ready, Worker
from vista_guard.evaluation.runners.identity import differences, system_fields
from vista_guard.evaluation.systems.protocol import SystemInfo
from vista_guard.types import TurnReport

START_SECONDS = 300.0
"""Within which a worker finds a place in the cluster and builds its system."""
PATIENCE_SECONDS = 30.0
"""After which those that are there begin. Two runs that each wait for all their cores would wait for one another."""
CLOSE_SECONDS = 10.0
LOSSES = 3
"""Workers that one conversation may lose: it may be what kills them."""


def _to_nobody(_message: str) -> None: ...


class RaySystem:
    """See `System`. `places` conversations can be judged at once."""

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
                            slot.why_retired = self._shared(slot, said.reason)
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
                self._replace(slot, worker, lost)
            finally:
                await self._places.give_back(slot)
        if self._places.why_lost is not None:
            raise JudgeError(self._places.why_lost)

    async def forget(self, conversation_id: str) -> None:
        """See `System`: the worker that judged a conversation has forgotten it."""

    async def aclose(self) -> None:
        """Ends the workers, and the cluster if it was started here."""
        slots = self._places.slots
        for task in self._coming:
            task.cancel()
        closing = [asyncio.ensure_future(_closed(slot.actor)) for slot in slots if not slot.away]
        if closing:
            await asyncio.wait(closing, timeout=CLOSE_SECONDS)
        _end(slots, cluster=self._ours)

    def _shared(self, slot: Slot, reason: str) -> str:
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
            f"worker {slot.number} of the Ray cluster was not there within {START_SECONDS:g} seconds; ask for fewer "
            "--workers, or see what else runs on the cluster"
        ) from exc


def check_alike(number: int, ready: Ready, expected: SystemInfo) -> None:
    """Passes when a worker judges as expected.

    Raises:
        ConfigError: it does not; says on which node, and in what.
    """
    # What a worker of an older version says has neither of both.
    version, node = getattr(ready, "version", "of another version"), getattr(ready, "node", "of no name")
    if version != __version__:
        differing = f"vista-guard {version} instead of {__version__}"
    elif ready.info != expected:
        found = differences(system_fields(ready.info), system_fields(expected)).items()
        differing = ", ".join(f"{name} {here} instead of {wanted}" for name, (here, wanted) in found)
    else:
        return
    raise ConfigError(
        f"worker {number} of the Ray cluster, on node {node}, would judge in another way: {differing}. Give all nodes the "
        "same version of vista-guard, and the same settings as the command"
    )


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
                ray_library().cancel(answers)


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
        raise _Lost(_said(exc)) from exc


def _said(exc: Exception) -> str:
    """What Ray says of a worker that it lost: the first line, or the last one where a traceback lies between them."""
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
