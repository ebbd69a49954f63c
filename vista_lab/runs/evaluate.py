"""Starts a run, or resumes one.

`evaluate` judges a data set or log into a folder, `replay` a log into one file of reports.
"""

from __future__ import annotations

import asyncio
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from vista_guard import __version__
from vista_guard.errors import InputError
from vista_lab.logs.source import BrokenEntry, LoggedConversation
from vista_lab.metrics.labels import ReplaySummary
from vista_lab.runs.folder import REPORT_LINES, Manifest, ReportFile, Rows, open_run, write_summary
from vista_lab.runs.loop import ClaimsMode, Event, Steering, judge_all
from vista_lab.runs.plan import Plan
from vista_lab.runs.summary import RunSummary, summarise
from vista_lab.systems.guarded import GuardSystem
from vista_lab.systems.protocol import System

if TYPE_CHECKING:
    from vista_guard.guard import Guard


@dataclass(frozen=True)
class RunSettings:
    """A run's settings, apart from its rows and its system."""

    claims: ClaimsMode = ClaimsMode.JUDGE
    limit: int | None = None
    seed: int = 0
    engine: str = "local"


@dataclass(frozen=True)
class Evaluation:
    """Results of an evaluation: `figures` of the whole folder, `session` of this call."""

    figures: RunSummary
    session: ReplaySummary


async def evaluate(
    system: System, plan: Plan, out: Path, made: RunSettings, steering: Steering | None = None
) -> Evaluation:
    """Judges every turn of the plan that has no report in `out` yet.

    Args:
        system: judges; the caller closes it.
        plan: from `make_plan`, with the claims, limit and seed of `made`.
        out: the run's folder. A run of the same system over the same rows is resumed.
        made: claims, limit and seed must be those of an earlier run; the engine is only recorded.
        steering: concurrency, progress and stopping.

    When it is stopped or the system's budget is spent, the figures so far are written and marked as incomplete: the
    same call resumes.

    Raises:
        ConfigError: `out` belongs to another run, or a field of its manifest differs, which is named.
        StoreError: a report could not be written; says how many are safe.
        JudgeError: the judge could not be loaded or reached.
    """
    steering = steering or Steering()
    began = time.monotonic()
    file = open_run(out, manifest(system, plan.rows, made), plan.gold)
    try:
        tally, exhausted = await judge_all(system, plan.entries(), file, made.claims, steering)
    finally:
        file.close()
    session = tally.summary(seconds=time.monotonic() - began, interrupted=steering.stop.is_set())
    figures = summarise(out)
    write_summary(out, figures.model_dump_json(indent=2))
    return Evaluation(figures, replace(session, exhausted=exhausted))


def manifest(system: System, rows: Rows | None, made: RunSettings) -> Manifest:
    """The manifest of a run that begins now."""
    return Manifest(
        made_by=f"vista-guard {__version__}",
        system=system.info,
        rows=rows,
        claims=made.claims.value,
        limit=made.limit,
        seed=made.seed,
        engine=made.engine,
        machine=machine(),
        created=datetime.now(UTC),
    )


def machine() -> Mapping[str, str]:
    """The machine, as far as it explains speed: no name and no address."""
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": str(os.cpu_count() or 0),
        "python": platform.python_version(),
    }


async def replay(
    guard: Guard,
    log: Iterable[LoggedConversation | BrokenEntry],
    out: Path,
    *,
    claims: ClaimsMode = ClaimsMode.JUDGE,
    concurrency: int = 4,
    on_progress: Callable[[Event], None] = lambda _event: None,
    stop: asyncio.Event | None = None,
) -> ReplaySummary:
    """Judges every turn that has no report in `out` yet, and adds its report there.

    Args:
        guard: judges the turns. Give it a knowledge store of its own, as it remembers the replayed turns.
        log: from `read_log`.
        out: JSON lines of this run, or of an earlier one with the same judge, policy, persona and claims.
        claims: the source of the claims to judge.
        concurrency: conversations replayed at once, at least 1. Turns of one keep their order.
        on_progress: called with each event of this run.
        stop: when set, turns in progress are finished and no other is begun.

    When the judge's budget is spent, the turns that it left unjudged get no report, no other turn is begun, and the summary
    has the reason: the same call resumes with a new budget.

    Examples:
        >>> from tempfile import TemporaryDirectory
        >>> from vista_guard import Guard
        >>> from vista_guard.testing import ScriptedJudge, Verdict, assistant, conversation
        >>> guard = Guard(ScriptedJudge({"It is old.": [Verdict("The pier is old.")]}))
        >>> talk = LoggedConversation(conversation(assistant("It is old.", "The pier is old."), id="1"), labels={}, line=1)
        >>> with TemporaryDirectory() as folder:
        ...     asyncio.run(replay(guard, [talk], Path(folder, "reports.jsonl"))).turns
        1

    Raises:
        ConfigError: `out` was made with other settings, or from another log.
        InputError: the log as a whole cannot be read, or no turn of it carries claims though `claims` is GIVEN.
        StoreError: a report could not be written; says how many are safe.
        JudgeError: the judge could not be loaded.
    """
    steering = Steering(concurrency, on_progress, stop or asyncio.Event())
    began = time.monotonic()
    system = GuardSystem("vista", guard)
    file = ReportFile.open(out, REPORT_LINES, manifest(system, None, RunSettings(claims)))
    try:
        tally, exhausted = await judge_all(system, log, file, claims, steering)
    finally:
        file.close()
    if claims is ClaimsMode.GIVEN and tally.conversations and not tally.turns and not steering.stop.is_set():
        raise InputError("no turn of the log carries claims; replay it with --claims judge")
    summary = tally.summary(seconds=time.monotonic() - began, interrupted=steering.stop.is_set())
    return replace(summary, exhausted=exhausted)
