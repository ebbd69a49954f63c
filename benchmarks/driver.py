"""`python -m benchmarks.driver`: how many workers one driver can write for, measured with workers that only send.

A thousand workers are tasks in this process, each of which sends reports of real size at the rate of a real worker; what they
send is taken apart, written and counted by the loop of `vista-guard eval`, as bytes that came over a wire are. With `--rate 0`
they send as fast as the driver takes: that is the most it can write. With `--ray N` the reports come from N real workers of a
Ray cluster here, as fast as they can: what a driver takes over Ray's own wire.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import resource
import time
from collections.abc import AsyncIterator, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil  # type: ignore[import-untyped,import-not-found,unused-ignore]  # the bench extra brings it, dev does not

from benchmarks.measure import machine
from benchmarks.turns import turn
from vista_guard import Guard
from vista_guard.types import Conversation, JudgeInfo, Role, Turn, TurnReport
from vista_lab.logs.formats import LoggedConversation
from vista_lab.runs.evaluate import evaluate
from vista_lab.runs.loop import ClaimsMode, RunSettings, Steering
from vista_lab.runs.plan import Source, make_plan
from vista_lab.systems.protocol import System, SystemInfo

TURNS = 5
MEASURED_RATE = 20.0
"""Turns a second of the embedded judge on one core (`python -m benchmarks.evaluation`); a model behind an API has fewer."""


@dataclass
class Sending:
    """Implements `System`: sends one real report again and again, under the requested names."""

    line: bytes
    text: str
    rate: float
    """Turns a second of one worker; 0 for as many as are taken."""
    late: list[float] = field(default_factory=list)
    """Seconds by which the driver took each report too late."""
    why_exhausted: None = None

    @property
    def info(self) -> SystemInfo:
        """See `System`."""
        return SystemInfo(name="sending", judge=JudgeInfo(name="sending", version="1"))

    async def judge(
        self, entry: LoggedConversation, turns: Collection[int], _done: Sequence[TurnReport]
    ) -> AsyncIterator[TurnReport]:
        """See `System`. What comes over a wire is bytes: they are read here as they would be."""
        for index in sorted(turns):
            if self.rate:
                due = time.monotonic() + random.expovariate(self.rate)
                await asyncio.sleep(due - time.monotonic())
                self.late.append(time.monotonic() - due)
            report = TurnReport.model_validate_json(self.line)
            update = {"conversation_id": entry.conversation.id, "turn_index": index, "response": self.text}
            yield report.model_copy(update=update)

    async def forget(self, conversation_id: str) -> None:
        """See `System`."""

    async def aclose(self) -> None:
        """See `System`."""


def sending(line: bytes, text: str, _max_cost: float | None) -> System:
    """Makes the system of a worker of Ray."""
    return Sending(line, text, 0.0)


def talks(count: int, text: str) -> Iterator[LoggedConversation]:
    """Conversations of five turns each."""
    exchange = (Turn(role=Role.USER, text="?"), Turn(role=Role.ASSISTANT, text=text))
    return (
        LoggedConversation(Conversation(turns=exchange * TURNS, id=f"talk-{number}"), {}) for number in range(count)
    )


def real_report() -> TurnReport:
    """The embedded judge's report on a turn of four claims."""
    with Guard.from_settings(policy="monitor", store="memory") as guard:
        return guard.check(turn(1, given=False))


async def measured(system: System, count: int, text: str, at_once: int, out: Path) -> dict[str, float]:
    """One run: reports written a second, their cost in core time, and memory after each fifth, in MB."""
    plan = make_plan(Source("sent", lambda: talks(count, text), {}), ClaimsMode.JUDGE)
    seen, fifth, marks = 0, count * TURNS // 5, [(time.monotonic(), 0.0)]

    def look(event: object) -> None:
        nonlocal seen
        seen += isinstance(event, TurnReport)
        if seen // fifth >= len(marks):
            marks.append((time.monotonic(), psutil.Process().memory_info().rss / 1e6))

    used = _cpu()
    done = await evaluate(system, plan, out, RunSettings(), Steering(at_once, look))
    reports = done.figures.reported
    # The first fifth begins with nobody sending, the last ends with a few: between them all workers send.
    steady = 3 * fifth / (marks[4][0] - marks[1][0])
    memory = {f"MB at {20 * number} %": mark[1] for number, mark in enumerate(marks[1:], 1)}
    busy = 1000 * (_cpu() - used) / reports
    return {"reports": reports, "reports/s, all workers sending": steady, "ms of a core a report": busy, **memory}


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def over_ray(workers: int, line: bytes, count: int, text: str, out: Path) -> dict[str, float]:
    """Like `measure_run`, with reports from workers of Ray."""
    from vista_lab.runs.cluster import RaySystem

    system = await RaySystem.start(partial(sending, line, text), workers=workers, each=8)
    try:
        return await measured(system, count, text, system.places, out)
    finally:
        await system.aclose()


def main() -> None:
    """Measures, and prints a line for each figure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.driver", description=__doc__.partition("\n")[0])
    parser.add_argument("--workers", type=int, default=1000, help="workers that send (default: %(default)s)")
    parser.add_argument(
        "--rate", type=float, default=MEASURED_RATE, help="turns a second of each (default: %(default)s)"
    )
    parser.add_argument("--reports", type=int, default=50_000, help="reports in all (default: %(default)s)")
    parser.add_argument("--ray", type=int, metavar="N", help="reports come from N workers of Ray instead")
    parser.add_argument("--json", action="store_true", help="print JSON")
    chosen = parser.parse_args()
    report = real_report()
    line, text, count = report.model_dump_json().encode(), report.response, max(chosen.reports // TURNS, 1)
    with TemporaryDirectory() as folder:
        out = Path(folder) / "run"
        if chosen.ray:
            figures = asyncio.run(over_ray(chosen.ray, line, count, text, out))
        else:
            system = Sending(line, text, chosen.rate)
            figures = asyncio.run(measured(system, count, text, chosen.workers, out))
            if system.late:
                late = sorted(system.late)
                figures["asked for, reports/s"] = chosen.workers * chosen.rate
                figures["waited for the driver, median s"] = late[len(late) // 2]
                figures["95 %"] = late[len(late) * 95 // 100]
    figures = {"bytes of a report": len(line), **figures}
    if chosen.json:
        print(json.dumps({"machine": machine(), **figures}))
        return
    for name, value in figures.items():
        print(f"{name:32} {value:12,.3f}")


if __name__ == "__main__":
    main()
