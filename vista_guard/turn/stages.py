"""The stages of a turn, and the one place that runs them: for the graph and for streams alike."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from time import perf_counter
from typing import Literal

from vista_guard.judges import contract
from vista_guard.telemetry.config import Telemetry
from vista_guard.telemetry.propagation import untraced
from vista_guard.telemetry.spans import TurnTrace, mark_unchecked
from vista_guard.turn.evidence import gather
from vista_guard.turn.judging import categorize, decompose, verify
from vista_guard.turn.repair import decide, repair
from vista_guard.turn.report import remember, report
from vista_guard.turn.work import Emit, Parts, Work, silent
from vista_guard.types import Action

Stage = Callable[[Work, Parts, Emit], Awaitable[Work]]

StageName = Literal["gather", "decompose", "verify", "categorize", "decide", "repair", "remember", "report"]

STAGES: Mapping[StageName, Stage] = {
    "gather": gather,
    "decompose": decompose,
    "verify": verify,
    "categorize": categorize,
    "decide": decide,
    "repair": repair,
    "remember": remember,
    "report": report,
}

_JUDGED: tuple[StageName, ...] = ("gather", "decompose", "verify", "categorize", "decide")
_DELIVERED: tuple[StageName, ...] = ("remember", "report")


async def run(name: StageName, work: Work, parts: Parts, emit: Emit) -> Work:
    """Takes a turn through one stage.

    What the stage used and warned of is in the work that comes back, and the milliseconds that it took are added to its
    timing. A stage that fails says so in the work (`Unchecked` outcomes, a warning); what it raises instead is a bug, or
    something that the caller must see, such as a limit that the request is over.

    Args:
        name: of the stage.
        work: the turn so far.
        parts: the guard's collaborators.
        emit: takes the stage's events.
    """
    work = with_trace(work, parts.telemetry)
    trace = work.trace
    assert trace is not None
    try:
        with trace.stage(name) as span, nullcontext() if parts.host_tracing else untraced():
            known = work.outcomes
            work = await _run_metered(name, work, parts, emit)
            mark_unchecked(span, known, work.outcomes)
    except BaseException as exc:
        trace.abandon(exc)
        raise
    if name == "report":
        _finish(work)
    return work


async def run_all(work: Work, parts: Parts) -> Work:
    """Takes a turn that no agent can try again through all stages, in the order of the graph.

    Between the stages of `check` stands no engine: LangGraph's steps took longer than all stages without the judge.
    """
    for name in _JUDGED:
        work = await run(name, work, parts, silent)
    if work.decided.action is Action.REPAIR:
        work = await run("repair", work, parts, silent)
    for name in _DELIVERED:
        work = await run(name, work, parts, silent)
    return work


async def _run_metered(name: StageName, work: Work, parts: Parts, emit: Emit) -> Work:
    started = perf_counter()
    with contract.measure(work.usage) as meter:
        work = await STAGES[name](work, parts, emit)
    if name == "report":  # It is written by then, with what the stages before it used.
        return work
    milliseconds = work.timings.get(name, 0.0) + (perf_counter() - started) * 1000
    warnings = tuple(dict.fromkeys((*work.warnings, *meter.warnings)))
    return work.with_(usage=meter.usage, warnings=warnings, timings={**work.timings, name: milliseconds})


def with_trace(work: Work, telemetry: Telemetry) -> Work:
    """The work of a draft, with a trace: its own, where it has one already."""
    if work.trace is not None:
        return work
    return work.with_(trace=TurnTrace(telemetry, work.conversation.id, work.index))


def with_agent_trace(work: Work, telemetry: Telemetry) -> Work:
    """Like `with_trace`, for a turn whose agent has not answered yet."""
    if work.trace is not None:
        return work
    index = len(work.conversation.turns)
    return work.with_(trace=TurnTrace(telemetry, work.conversation.id, index, agent=True))


def _finish(work: Work) -> None:
    """Ends the turn's trace with its report. A turn without a word is none: nothing was judged."""
    trace = work.trace
    if trace is None:
        return
    if not work.turn.text:
        trace.end_unspoken()
        return
    trace.finish(work.finished, work.conversation, repair=work.repair and work.repair.value)
