"""`python -m benchmarks.evaluation`: turns a second of `vista-guard eval` here and on Ray, its memory, and what kills leave.

The log is made up (`benchmarks.turns`): conversations of five turns of four claims, the judge is the embedded one. Each run is a
process of its own, watched from outside. A rate with start-up is turns over the whole wall time, models and cluster included;
one without is taken from the first report to the last. Efficiency is a rate over as many times that of one core as there are
cores: two workers that share nothing would have 1.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil  # type: ignore[import-untyped,import-not-found,unused-ignore]  # the bench extra brings it, dev does not

from benchmarks.measure import machine
from benchmarks.replaying import TURNS, conversation
from vista_guard.types import TurnReport

EVERY = 1000
"""Turns between two samples of memory; a tenth of a shorter log."""
VOLATILE = {"id", "created_at", "timings", "trace_id", "span_id"}
RAY = ("--engine", "ray", "--workers", "2")
ONE_CORE = {"VISTA_GUARD_THREADS": "1"}


@dataclass(frozen=True)
class Case:
    """A way to run: options of the command, and additions to its environment."""

    name: str
    cores: int
    options: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


CASES = (
    Case("local, 1 worker on one core", 1, ("--workers", "1"), ONE_CORE),
    Case("local, 2 workers on all cores", 2, ("--workers", "2")),
    Case("Ray, 2 workers", 2, RAY),
)


@dataclass
class Watched:
    """One run: seconds, and memory of its processes while it ran, in MB by turns done: the one that writes, then its workers."""

    name: str
    turns: int
    wall: float
    judging: float
    memory: dict[int, list[float]]
    start_cpu: float
    """Seconds of a core, of all processes of the run, until the first report."""
    turn_cpu: float
    """As above, for a turn after it. Unlike rates, it hardly changes with what else the machine does."""

    @property
    def rate(self) -> float:
        """Turns a second, start-up included."""
        return self.turns / self.wall

    @property
    def steady(self) -> float:
        """Turns a second, from the first report to the last."""
        return (self.turns - 1) / self.judging


def write_log(path: Path, turns: int) -> None:
    """A log of OpenAI messages, of as many turns or up to four more."""
    with path.open("w", encoding="utf-8") as file:
        for number in range(-(-turns // TURNS)):
            file.write(json.dumps(_chat(number)) + "\n")


def _chat(number: int) -> dict[str, object]:
    talk = conversation(number)
    messages = []
    for turn in talk.turns:
        documents = [document.model_dump(include={"id", "text", "title"}) for document in turn.documents]
        messages.append(
            {"role": turn.role.value, "content": turn.text, **({"documents": documents} if documents else {})}
        )
    return {"id": talk.id, "messages": messages}


def begin(case: Case, log: Path, out: Path) -> subprocess.Popen[str]:
    """Starts a run."""
    command = [sys.executable, "-m", "vista_guard", "eval", str(log), "--out", str(out), *case.options]
    environment = {**os.environ, **case.environment}
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def watch(case: Case, log: Path, out: Path, every: int) -> Watched:
    """A run to its end, with memory each time so many turns are done."""
    started = time.monotonic()
    running = begin(case, log, out)
    memory: dict[int, list[float]] = {}
    cpu_seconds: dict[int, float] = {}
    first = (0, 0.0)
    process, seen, offset = psutil.Process(running.pid), 0, 0
    while running.poll() is None:
        time.sleep(0.2)
        cpu_seconds |= _cpu(process)
        lines, offset = _new_lines(out, offset)
        seen += lines
        if seen and not first[0]:
            first = (seen, sum(cpu_seconds.values()))
        if seen // every > len(memory):
            memory[seen] = _memory(process)
    wall = time.monotonic() - started
    if running.returncode != 0:
        raise SystemExit(f"{case.name} failed: {running.stderr.read() if running.stderr else ''}")
    times = sorted(report.created_at for report in _reports(out))
    before, start_cpu = first
    turn_cpu = (sum(cpu_seconds.values()) - start_cpu) / max(len(times) - before, 1)
    return Watched(case.name, len(times), wall, _seconds(times), memory, start_cpu, turn_cpu)


def run_with_kill(case: Case, log: Path, out: Path, turns: int, kill: Callable[[subprocess.Popen[str]], bool]) -> str:
    """Kills something in a run at half of its turns, then completes the run."""
    running = begin(case, log, out)
    while running.poll() is None and _new_lines(out, 0)[0] < turns // 2:
        time.sleep(0.02)
    at = _new_lines(out, 0)[0]
    ended = kill(running)
    running.communicate()
    safe = _new_lines(out, 0)[0]
    if ended:
        begin(case, log, out).communicate()
    return f"killed at {at} of {turns} turns, {safe} were there" + (
        " when it was gone on with" if ended else " at the end"
    )


def kill_driver(running: subprocess.Popen[str]) -> bool:
    """Kills the process that writes. The run has to be started again."""
    running.send_signal(signal.SIGKILL)
    return True


def kill_worker(running: subprocess.Popen[str]) -> bool:
    """Kills one of Ray's workers. The run goes on by itself."""
    children = psutil.Process(running.pid).children(recursive=True)
    workers = [child for child in children if _is_worker(child)]
    workers[0].send_signal(signal.SIGKILL)
    return False


def count_differences(one: Path, other: Path) -> int:
    """Counts turns whose reports differ, are missing or are duplicated; ids and times aside."""
    first, second = _lasting(one), _lasting(other)
    twice = sum(len(list(_reports(out))) - len(lasting) for out, lasting in ((one, first), (other, second)))
    names = first.keys() | second.keys()
    return twice + sum(first.get(name) != second.get(name) for name in names)


def _lasting(out: Path) -> dict[tuple[str | None, int], str]:
    reports = _reports(out)
    return {(report.conversation_id, report.turn_index): report.model_dump_json(exclude=VOLATILE) for report in reports}


def _reports(out: Path) -> Iterator[TurnReport]:
    with (out / "reports.jsonl").open("rb") as file:
        yield from map(TurnReport.model_validate_json, file)


def _seconds(times: Sequence[datetime]) -> float:
    return (times[-1] - times[0]).total_seconds()


def _new_lines(out: Path, offset: int) -> tuple[int, int]:
    try:
        with (out / "reports.jsonl").open("rb") as file:
            file.seek(offset)
            block = file.read()
    except OSError:
        return 0, offset
    return block.count(b"\n"), offset + len(block)


def _memory(driver: psutil.Process) -> list[float]:
    """Resident MB: of the driver first, then of each worker."""
    workers = [child for child in driver.children(recursive=True) if _is_worker(child)]
    return [round(process.memory_info().rss / 1e6, 1) for process in (driver, *workers)]


def _cpu(driver: psutil.Process) -> dict[int, float]:
    """Seconds so far of each process of a run."""
    seconds = {}
    try:
        for process in (driver, *driver.children(recursive=True)):
            times = process.cpu_times()
            seconds[process.pid] = times.user + times.system
    except psutil.Error:  # it has just ended
        pass
    return seconds


def _is_worker(process: psutil.Process) -> bool:
    try:
        return "".join(process.cmdline()[:1]).startswith("ray::Worker")
    except psutil.Error:
        return False


def main() -> None:
    """Runs all cases and prints the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evaluation", description=__doc__.partition("\n")[0])
    parser.add_argument("--turns", type=int, default=10_000, help="turns of the log (default: %(default)s)")
    parser.add_argument("--kills", type=int, help="turns of the log that things are killed in (default: a fifth)")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the figures as JSON")
    chosen = parser.parse_args()
    where = machine()
    print(f"{where['cpu']}, {where['cores']} cores, load {where['load']}, Python {where['python']}")
    with TemporaryDirectory() as folder:
        runs = list(_rates(Path(folder), chosen.turns))
        kills = list(_kills(Path(folder), chosen.kills or max(chosen.turns // 5, 50)))
    if chosen.out is not None:
        content = {"machine": where, "runs": [asdict(run) for run in runs], "kills": kills}
        chosen.out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def _rates(folder: Path, turns: int) -> Iterator[Watched]:
    log, alone = folder / "log.jsonl", None
    write_log(log, turns)
    for number, case in enumerate(CASES):
        run = watch(case, log, folder / f"rate-{number}", max(min(EVERY, turns // 10), 1))
        alone = alone or run
        included, excluded = (rate / case.cores for rate in (run.rate / alone.rate, run.steady / alone.steady))
        print(f"{case.name}: {run.turns:,} turns in {run.wall:.1f} s")
        print(f"  turns a second: {run.rate:.1f} with start-up, {run.steady:.1f} without")
        print(f"  efficiency: {included:.2f} with start-up, {excluded:.2f} without")
        print(f"  of a core: {run.start_cpu:.1f} s to start, {1000 * run.turn_cpu:.0f} ms a turn")
        for at, sizes in run.memory.items():
            print(f"  at {at:6,} turns: {', '.join(f'{size:,.0f}' for size in sizes)} MB")
        if number:
            differences = count_differences(folder / "rate-0", folder / f"rate-{number}")
            print(f"  reports that differ from the first run's: {differences}")
        yield run


def _kills(folder: Path, turns: int) -> Iterator[str]:
    log, whole = folder / "kills.jsonl", folder / "whole"
    write_log(log, turns)
    begin(CASES[1], log, whole).communicate()
    ways = (("local, the process", CASES[1], kill_driver), ("Ray, the driver", CASES[2], kill_driver))
    for number, (name, case, kill) in enumerate((*ways, ("Ray, a worker", CASES[2], kill_worker))):
        out = folder / f"killed-{number}"
        line = f"{name}: {run_with_kill(case, log, out, turns, kill)}; reports that differ: {count_differences(whole, out)}"
        print(line)
        yield line


if __name__ == "__main__":
    main()
