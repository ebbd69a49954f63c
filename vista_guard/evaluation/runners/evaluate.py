"""A data set or a log through a system, into a run's folder: resumable, and enough for every table without judging again."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from vista_guard import __version__
from vista_guard.evaluation.metrics.labels import Summary
from vista_guard.evaluation.runners.folder import open_run, write_summary
from vista_guard.evaluation.runners.loop import ClaimsMode, Steering, judge_all
from vista_guard.evaluation.runners.manifest import Manifest
from vista_guard.evaluation.runners.plan import Plan
from vista_guard.evaluation.runners.summary import RunSummary, summarise
from vista_guard.evaluation.systems.protocol import System


@dataclass(frozen=True)
class Made:
    """What a run says of itself beside its rows and its system."""

    claims: ClaimsMode = ClaimsMode.JUDGE
    limit: int | None = None
    seed: int = 0
    engine: str = "local"


@dataclass(frozen=True)
class Evaluated:
    """How a run ended: `figures` of its whole folder, `session` of this call, `exhausted` where a budget ended it."""

    figures: RunSummary
    session: Summary


async def evaluate(system: System, plan: Plan, out: Path, made: Made, steering: Steering | None = None) -> Evaluated:
    """Judges every turn of the plan that `out` has no report on yet.

    Args:
        system: judges; the caller closes it.
        plan: from `planned`, with the claims, limit and seed of `made`.
        out: the run's folder. One that a run of the same system over the same rows left is gone on with.
        made: claims, limit and seed are held against an earlier run's; the engine is only told.
        steering: how the run is watched and stopped.

    When it is stopped or the system's budget is spent, the figures so far are written and say that they are not complete: the
    same call goes on from there.

    Raises:
        ConfigError: `out` is another run's, or a field of its manifest differs, which is named.
        StoreError: a report could not be written; says how many are safe.
        JudgeError: the judge could not be loaded, or cannot be asked.
    """
    steering = steering or Steering()
    began = time.monotonic()
    file = open_run(out, manifest(system, plan, made), plan.gold)
    try:
        tally, exhausted = await judge_all(system, plan.entries(), file, made.claims, steering)
    finally:
        file.close()
    session = tally.summary(seconds=time.monotonic() - began, interrupted=steering.stop.is_set())
    figures = summarise(out)
    write_summary(out, figures.model_dump_json(indent=2))
    return Evaluated(figures, replace(session, exhausted=exhausted))


def manifest(system: System, plan: Plan, made: Made) -> Manifest:
    """How a run that begins now is made."""
    return Manifest(
        made_by=f"vista-guard {__version__}",
        system=system.info,
        rows=plan.rows,
        claims=made.claims.value,
        limit=made.limit,
        seed=made.seed,
        engine=made.engine,
        machine=machine(),
        created=datetime.now(UTC),
    )


def machine() -> Mapping[str, str]:
    """Where it runs, as far as that explains speed: no name and no address."""
    return {
        "system": platform.system(),
        "architecture": platform.machine(),
        "cores": str(os.cpu_count() or 0),
        "python": platform.python_version(),
    }
