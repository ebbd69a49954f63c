"""A log through the guard, into one file of reports: an evaluation of a log by VISTA, without a folder around it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from vista_guard.errors import InputError
from vista_guard.evaluation.datasets.source import BrokenEntry, LoggedConversation
from vista_guard.evaluation.metrics.labels import Summary
from vista_guard.evaluation.runners.identity import RunIdentity
from vista_guard.evaluation.runners.loop import ClaimsMode, Event, Steering, judge_all
from vista_guard.evaluation.runners.report_file import ReportFile
from vista_guard.evaluation.systems.guarded import GuardSystem
from vista_guard.policy.rules import rules_key

if TYPE_CHECKING:
    from vista_guard.guard import Guard

__all__ = ["ClaimsMode", "Event", "replay"]


async def replay(
    guard: Guard,
    log: Iterable[LoggedConversation | BrokenEntry],
    out: Path,
    *,
    claims: ClaimsMode = ClaimsMode.JUDGE,
    concurrency: int = 4,
    on_progress: Callable[[Event], None] = lambda _event: None,
    stop: asyncio.Event | None = None,
) -> Summary:
    """Judges every turn that `out` has no report on yet, and adds its report there.

    Args:
        guard: judges the turns. Its knowledge should be its own: what is replayed is remembered there.
        log: from `read_log`.
        out: JSON lines; made by this run or by an earlier one of the same judge, policy, persona and claims.
        claims: whose claims are judged.
        concurrency: how many conversations are replayed at once, at least 1. Turns of one keep their order.
        on_progress: called with each event of this run.
        stop: when set, the turns that are being judged are finished and no other is begun.

    When the judge's budget is spent, the turns that it left unjudged get no report, no other turn is begun, and the summary
    says so: the same call goes on from there with a new budget.

    Raises:
        ConfigError: `out` was made in another way, or from another log.
        InputError: the log as a whole cannot be read, or no turn of it carries claims though `claims` is GIVEN.
        StoreError: a report could not be written; says how many are safe.
        JudgeError: the judge could not be loaded.
    """
    steering = Steering(concurrency, on_progress, stop or asyncio.Event())
    began = time.monotonic()
    file = ReportFile.open(out, _identity(guard, claims))
    try:
        tally, exhausted = await judge_all(
            GuardSystem("vista", guard, more={}, prompts={}), log, file, claims, steering
        )
    finally:
        file.close()
    if claims is ClaimsMode.GIVEN and tally.conversations and not tally.turns and not steering.stop.is_set():
        raise InputError("no turn of the log carries claims; replay it with --claims judge")
    summary = tally.summary(seconds=time.monotonic() - began, interrupted=steering.stop.is_set())
    return replace(summary, exhausted=exhausted)


def _identity(guard: Guard, claims: ClaimsMode) -> RunIdentity:
    parts = guard.parts
    return RunIdentity(
        judge=parts.judge.info,
        policy=parts.policy.name,
        rules=rules_key(parts.policy),
        persona=None if parts.persona is None else parts.persona.key,
        context=parts.context,
        ungrounded=parts.ungrounded,
        claims=claims,
    )
