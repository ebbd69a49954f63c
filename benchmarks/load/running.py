"""One run: starts a proxy, warms it up, puts it under load, and checks it at the end."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import psutil  # type: ignore[import-untyped,import-not-found,unused-ignore]  # the bench extra brings it, dev does not

from benchmarks.load import servers
from benchmarks.load.callers import TIMEOUT_S, Callers, Tally, probe
from benchmarks.load.checking import storage_fault
from benchmarks.load.hostile import Attacks, attack

if TYPE_CHECKING:
    import httpx2

    from benchmarks.load.servers import Server

SAMPLE_EVERY = 1000
"""Turns between two samples of the proxy's memory."""
WARM_UP = 200
"""Turns before anything is measured: models are loaded, threads and connections made. They are checked as all others."""
SETTLE_S = 3.0

_COUNTED = re.compile(r"^(vista_guard_\w+_total)(?:\{([^}]*)\})? (\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Plan:
    """The options of a run. Times in seconds."""

    streams: int
    seconds: float
    turns: int
    limit: float
    sample: int
    off: bool = False
    options: tuple[str, ...] = ()
    hostile: float = 0.0
    """Share of the callers who ask for hostile answers, beside those who are counted."""


@dataclass
class Outcome:
    """The results of a run. `rate` and the processors' seconds are those of the timed phase."""

    tally: Tally
    rate: float = 0.0
    timed_turns: int = 0
    cores: dict[str, float] = field(default_factory=dict)
    memory: list[tuple[int, dict[str, float]]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    metrics: dict[str, float] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    looked_at: int = 0
    troubles: list[str] = field(default_factory=list)
    seconds: float = 0.0
    complete: bool = True
    attacks: Attacks = field(default_factory=Attacks)


def run(plan: Plan, model: Server, folder: Path) -> Outcome:
    """Runs the plan on a proxy of its own."""
    folder.mkdir()
    with servers.proxy(model, folder, *plan.options, *(("--off",) if plan.off else ())) as server:
        return asyncio.run(_run_load(plan, server, model))


async def _run_load(plan: Plan, server: Server, model: Server) -> Outcome:
    import httpx2

    # Below the five seconds after which the proxy closes a connection that nobody uses.
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=None, keepalive_expiry=3.0)
    async with httpx2.AsyncClient(base_url=server.url, timeout=TIMEOUT_S, limits=limits) as client:
        warm = Callers(client, streams=min(plan.streams, 20), turns=WARM_UP, off=plan.off)
        await warm.run()
        run = _Run(plan, client, server, model)
        outcome = await run.run()
        for fault, count in warm.tally.faults.items():
            outcome.tally.faults[fault] += count
        outcome.tally.examples += warm.tally.examples
        outcome.metrics = await _metrics(client)
        if not plan.off:
            await _look_at_stores(client, plan.sample, outcome)
        outcome.troubles = server.troubles()
        return outcome


class _Run:
    def __init__(self, plan: Plan, client: httpx2.AsyncClient, server: Server, model: Server) -> None:
        self._plan, self._client, self._server, self._model = plan, client, server, model
        turns = plan.turns if not plan.off else 10**9
        self._callers = Callers(
            client, streams=plan.streams, turns=turns, off=plan.off, first=WARM_UP, heard=self._heard
        )
        self._outcome = Outcome(self._callers.tally)

    async def run(self) -> Outcome:
        outcome, started = self._outcome, monotonic()
        outcome.memory.append((0, self._server.usage()))
        side_tasks = [asyncio.create_task(probe(self._client, outcome.waits)), asyncio.create_task(self._time_phase())]
        if self._plan.hostile and not self._plan.off:
            hostile = max(1, round(self._plan.streams * self._plan.hostile))
            side_tasks.append(asyncio.create_task(attack(self._client, hostile, outcome.attacks)))
        await self._callers.run()
        outcome.seconds = monotonic() - started
        if not outcome.rate:  # all turns were done before the timed phase was over
            outcome.timed_turns, outcome.rate = outcome.tally.turns, outcome.tally.turns / outcome.seconds
        outcome.complete = self._plan.off or outcome.tally.turns >= self._plan.turns
        for task in side_tasks:
            task.cancel()
        await asyncio.wait(side_tasks)
        await asyncio.sleep(SETTLE_S)
        outcome.memory.append((outcome.tally.turns, self._server.usage()))
        return outcome

    async def _time_phase(self) -> None:
        before, started = self._processors(), monotonic()
        await asyncio.sleep(self._plan.seconds)
        took, outcome = monotonic() - started, self._outcome
        outcome.timed_turns = outcome.tally.turns
        outcome.rate = outcome.timed_turns / took
        outcome.cores = {name: (spent - before[name]) / took for name, spent in self._processors().items()}
        if not self._plan.off:
            await asyncio.sleep(max(self._plan.limit - took, 0))
        self._callers.stop()

    def _processors(self) -> dict[str, float]:
        own = psutil.Process().cpu_times()
        return {
            "proxy": self._server.usage()["cpu_s"],
            "model": self._model.usage()["cpu_s"],
            "callers": own.user + own.system,
        }

    def _heard(self, tally: Tally) -> None:
        if tally.turns % SAMPLE_EVERY == 0:
            usage = self._server.usage()
            self._outcome.memory.append((tally.turns, usage))
            print(f"{tally.turns:,} turns, {usage['rss_mb']:.0f} MB", file=sys.stderr, flush=True)


async def _metrics(client: httpx2.AsyncClient) -> dict[str, float]:
    page = (await client.get(client.base_url.copy_with(path="/metrics"))).text
    return {f"{name}{{{labels or ''}}}": float(value) for name, labels, value in _COUNTED.findall(page)}


async def _look_at_stores(client: httpx2.AsyncClient, sample: int, outcome: Outcome) -> None:
    finished = outcome.tally.finished
    step = max(len(finished) // sample, 1)
    for talk in finished[::step][:sample]:
        path = f"/guard/conversations/{talk.code}"
        view: Mapping[str, Any] = (await client.get(client.base_url.copy_with(path=path))).json()
        outcome.looked_at += 1
        problem = storage_fault(talk, view) if "knowledge" in view else f"{talk.code}: {view}"
        if problem is not None:
            outcome.kept.append(problem)
