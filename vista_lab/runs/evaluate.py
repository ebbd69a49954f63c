"""Starts a run over a data set or a log into a folder, or resumes one."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

from vista_lab.metrics.labels import ReplaySummary
from vista_lab.runs.folder import open_run, write_summary
from vista_lab.runs.loop import RunSettings, Steering, judge_all, manifest
from vista_lab.runs.plan import Plan
from vista_lab.runs.summary import RunSummary, summarise
from vista_lab.systems.protocol import System


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
