"""Replays a log into one file of reports, or resumes such a replay."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from vista_guard.errors import InputError
from vista_guard.guard import Guard
from vista_lab.logs.source import BrokenEntry, LoggedConversation
from vista_lab.metrics.labels import ReplaySummary
from vista_lab.runs.folder import REPORT_LINES, ReportFile, open_answers
from vista_lab.runs.loop import ClaimsMode, Event, RunSettings, Steering, judge_all, manifest
from vista_lab.systems.guarded import GuardSystem


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
    with closing(file), closing(open_answers(out)) as answers:
        tally, exhausted = await judge_all(system, log, file, claims, steering, answers)
    if claims is ClaimsMode.GIVEN and tally.conversations and not tally.turns and not steering.stop.is_set():
        raise InputError("no turn of the log carries claims; replay it with --claims judge")
    summary = tally.summary(seconds=time.monotonic() - began, interrupted=steering.stop.is_set())
    return replace(summary, exhausted=exhausted)
