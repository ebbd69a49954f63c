"""The stages of a turn, and the one place that runs them, for the graph and for streams alike (VISTA §3, steps 1 to 3)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext
from time import monotonic, perf_counter
from typing import Literal, TypeVar

from vista_guard.errors import JudgeError, UnreadableError
from vista_guard.judges import contract
from vista_guard.judges.contract import claim_of, judge_turn, with_support
from vista_guard.telemetry.config import Telemetry
from vista_guard.telemetry.spans import TurnTrace, mark_unchecked, untraced
from vista_guard.turn.evidence import gather
from vista_guard.turn.repair import decide, repair
from vista_guard.turn.report import remember, report
from vista_guard.turn.work import Emit, Parts, Work, silent
from vista_guard.types import Action, Check, Claim, Evidence, Finding, Label, Unchecked

Item = TypeVar("Item", Claim, Check)
Answer = TypeVar("Answer")

AT_ONCE = 128
"""Claims judged together. Most turns have fewer; a longer one's first claims are known before its last are judged."""

_JUDGING = ("decompose", "verify", "categorize")


async def judge_in_time(
    work: Work,
    parts: Parts,
    items: Sequence[Item],
    ask: Callable[[Sequence[Item]], Awaitable[Sequence[Answer]]],
    on_answers: Callable[[Sequence[Answer | Unchecked]], None],
) -> list[Answer | Unchecked]:
    """Returns one answer an item, in order; items that run out of time are unchecked.

    `ask` asks the judge about some of them; `on_answers` gets each piece's answers as they come.
    """
    deadline = monotonic() + seconds_left(work, parts)
    answers: list[Answer | Unchecked] = []
    for start in range(0, len(items), AT_ONCE):
        piece = items[start : start + AT_ONCE]
        try:
            left = max(deadline - monotonic(), 0)
            with contract.due_in(left):
                async with asyncio.timeout(left):
                    new: Sequence[Answer | Unchecked] = await ask(piece)
        except TimeoutError:
            late: list[Answer | Unchecked] = [
                Unchecked(claim=claim_of(item), error=too_late(parts)) for item in items[start:]
            ]
            on_answers(late)
            return [*answers, *late]
        on_answers(new)
        answers += new
    return answers


def seconds_left(work: Work, parts: Parts) -> float:
    """Seconds left in which the turn may be judged."""
    spent = sum(work.timings.get(stage, 0.0) for stage in _JUDGING) / 1000
    return max(parts.limits.judge_seconds - spent, 0.0)


def too_late(parts: Parts) -> str:
    return f"not judged within {parts.limits.judge_seconds:g} s (limits.judge_seconds)"


async def categorize(work: Work, parts: Parts, emit: Emit) -> Work:
    """Labels the unsupported claims and puts all outcomes into the order of the claims."""
    evidence = work.evidence
    if evidence is None:
        return work

    answers = await judge_in_time(
        work,
        parts,
        work.checks,
        lambda checks: contract.categorize(parts.judging, checks, evidence),
        lambda outcomes: _emit_outcomes(emit, outcomes),
    )
    place = {claim.id: position for position, claim in enumerate(work.claims)}
    outcomes = sorted((*work.outcomes, *answers), key=lambda outcome: place.get(outcome.claim.id, len(place)))
    return work.with_(outcomes=tuple(outcomes))


async def decompose(work: Work, parts: Parts, emit: Emit) -> Work:
    """The turn's own claims when it carries some, else the judge's; with the verdicts, from a judge that gives both at once."""
    if work.outcomes:
        return work
    left = seconds_left(work, parts)
    try:
        with contract.due_in(left):
            async with asyncio.timeout(left):
                return await _decompose_work(work, parts)
    except TimeoutError:
        return work.as_unchecked(too_late(parts))
    except JudgeError as exc:
        return work.as_unchecked(str(exc), exc.raw if isinstance(exc, UnreadableError) else None)


async def _decompose_work(work: Work, parts: Parts) -> Work:
    if work.turn.claims is not None:
        return _within_limit(work, work.turn.claims, parts.limits.claims)
    answers = None
    if work.evidence is not None and not parts.trusts(work.turn):
        answers = await judge_turn(parts.judging, work.turn, work.history, work.evidence)
    limit = parts.limits.claims
    if answers is None:
        return _within_limit(work, await contract.decompose(parts.judging, work.turn, work.history), limit)
    work = _within_limit(work, tuple(answer.claim for answer in answers), limit)
    return work.with_(answers=tuple(answers[:limit]))


def _within_limit(work: Work, claims: tuple[Claim, ...], limit: int) -> Work:
    error = (
        f"the turn makes {len(claims)} claims, more than limits.claims = {limit}; raise the limit to have all judged"
    )
    unchecked = tuple(Unchecked(claim=claim, error=error) for claim in claims[limit:])
    return work.with_(claims=claims[:limit], outcomes=(*work.outcomes, *unchecked))


async def verify(work: Work, parts: Parts, emit: Emit) -> Work:
    """Supported claims become VERIFIED findings at once; the others go on to be categorised."""
    evidence = work.evidence
    if evidence is None or parts.trusts(work.turn):
        return work

    def tell(answers: Sequence[Check | Unchecked]) -> None:
        _emit_outcomes(emit, _final_outcomes(answers))

    if work.answers is not None:
        answers: Sequence[Check | Unchecked] = work.answers
        tell(answers)
    else:
        answers = await judge_in_time(
            work, parts, work.claims, lambda claims: contract.verify(parts.judging, claims, evidence), tell
        )
    open_checks = tuple(answer for answer in answers if isinstance(answer, Check) and not answer.supported)
    return work.with_(checks=open_checks, outcomes=(*work.outcomes, *_final_outcomes(answers)))


def _emit_outcomes(emit: Emit, outcomes: Sequence[Finding | Unchecked]) -> None:
    for outcome in outcomes:
        emit({"event": outcome.kind, outcome.kind: outcome.model_dump(mode="json")})


def _final_outcomes(answers: Sequence[Check | Unchecked]) -> tuple[Finding | Unchecked, ...]:
    """Outcomes that need no category."""
    return tuple(_outcome(answer) for answer in answers if isinstance(answer, Unchecked) or answer.supported)


def _outcome(answer: Check | Unchecked) -> Finding | Unchecked:
    if isinstance(answer, Unchecked):
        return answer
    if answer.finding is not None and answer.finding.label is Label.VERIFIED:
        return with_support(answer, answer.finding)  # The judge said why by itself.
    reason = f"supported by {source_name(answer.evidence[0])}" if answer.evidence else "supported by the evidence"
    return Finding(
        claim=answer.claim,
        label=Label.VERIFIED,
        confidence=answer.confidence,
        evidence=answer.evidence,
        reason=reason,
        judged_by=answer.judged_by,
        support=answer.support,
    )


def source_name(evidence: Evidence) -> str:
    if evidence.source == "document":
        return f"document “{evidence.name}”"
    return f"the agent's {evidence.source}"


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

    The returned work has the stage's usage and warnings, and its milliseconds added to the timing. A stage that fails says so
    in the work (`Unchecked` outcomes, a warning); what it raises instead is a bug, or something that the caller must see, such
    as a limit that the request is over.
    """
    work = with_trace(work, parts.telemetry)
    trace = work.trace
    assert trace is not None
    try:
        with trace.stage(name) as span, nullcontext() if parts.host_tracing else untraced():
            earlier = work.outcomes
            work = await _run_metered(name, work, parts, emit)
            mark_unchecked(span, earlier, work.outcomes)
    except BaseException as exc:
        trace.abandon(exc)
        raise
    if name == "report":
        _finish(work)
    return work


async def run_all(work: Work, parts: Parts) -> Work:
    """Takes a turn without an agent through all stages, in the order of the graph.

    No engine runs the stages of `check`: LangGraph's steps took longer than all stages without the judge.
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
    if name == "report":  # already written, with the usage of the stages before it
        return work
    milliseconds = work.timings.get(name, 0.0) + (perf_counter() - started) * 1000
    warnings = tuple(dict.fromkeys((*work.warnings, *meter.warnings)))
    return work.with_(usage=meter.usage, warnings=warnings, timings={**work.timings, name: milliseconds})


def with_trace(work: Work, telemetry: Telemetry, *, agent: bool = False) -> Work:
    """The work with a trace: its own, where it has one already. `agent`: its draft is not in the conversation yet."""
    if work.trace is not None:
        return work
    return work.with_(trace=TurnTrace(telemetry, work.conversation.id, work.index + agent, agent=agent))


def _finish(work: Work) -> None:
    """Ends the turn's trace with its report. A turn without a word is none: nothing was judged."""
    if work.trace is not None and work.turn.text:
        work.trace.finish(work.finished, work.conversation, repair=work.repair and work.repair.value)
    elif work.trace is not None:
        work.trace.end_unspoken()
