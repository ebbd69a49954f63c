"""A log through the guard: many conversations at once, every report on disk as soon as it is there, resumable.

With `claims=GIVEN` only turns that carry claims are judged and reported, as in the paper's human evaluation; another
assistant turn stays in the history and establishes nothing. With `claims=JUDGE` the log's claims and labels are dropped
and every assistant turn is judged.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from vista_guard.errors import ConfigError, InputError, VistaGuardError
from vista_guard.evaluation.datasets.source import BrokenEntry, LoggedConversation
from vista_guard.evaluation.metrics.labels import Summary, Tally
from vista_guard.evaluation.runners.report_file import ReportFile, RunIdentity
from vista_guard.policy.rules import rules_key
from vista_guard.types import Action, Conversation, Label, Role, Turn, TurnReport

if TYPE_CHECKING:
    from vista_guard.guard import Guard

Event = TurnReport | BrokenEntry | LoggedConversation
"""What happened: a turn was judged, an entry could not be read or judged, a conversation is through."""


class ClaimsMode(StrEnum):
    """Whose claims are judged."""

    GIVEN = "given"
    JUDGE = "judge"


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
    if concurrency < 1:
        raise ConfigError(f"concurrency is {concurrency}; at least one conversation is replayed at a time")
    began = time.monotonic()
    file = ReportFile.open(out, _identity(guard, claims))
    run = _Run(guard, iter(log), file, claims, on_progress, stop or asyncio.Event())
    try:
        await _all(run.work() for _ in range(concurrency))
    finally:
        file.close()
    if claims is ClaimsMode.GIVEN and run.tally.conversations and not run.tally.turns and not run.stop.is_set():
        raise InputError("no turn of the log carries claims; replay it with --claims judge")
    summary = run.tally.summary(seconds=time.monotonic() - began, interrupted=run.stop.is_set())
    return replace(summary, exhausted=run.exhausted)


class _Run:
    """One pass over the log, shared by its workers."""

    def __init__(
        self,
        guard: Guard,
        entries: Iterator[LoggedConversation | BrokenEntry],
        file: ReportFile,
        claims: ClaimsMode,
        on_progress: Callable[[Event], None],
        stop: asyncio.Event,
    ) -> None:
        self.guard = guard
        self.entries = entries
        self.file = file
        self.claims = claims
        self.on_progress = on_progress
        self.stop = stop
        self.tally = Tally()
        self.exhausted: str | None = None

    async def work(self) -> None:
        """Takes conversations until there are none left."""
        while not self.stop.is_set():
            entry = next(self.entries, None)
            if entry is None:
                return
            if isinstance(entry, BrokenEntry):
                self._broken(entry)
            else:
                await self._conversation(entry)
            await asyncio.sleep(0)  # A long stretch of finished conversations must not hold up a signal.

    async def _conversation(self, entry: LoggedConversation) -> None:
        conversation = _with_claims(entry.conversation, self.claims)
        wanted = _wanted(conversation, self.claims)
        labels = entry.labels if self.claims is ClaimsMode.GIVEN else {}
        done = self.file.reports(str(conversation.id))
        _check_same_log(self.file.path, conversation, done)
        for report in done:
            self.tally.add(report, labels, resumed=True)
        if wanted - {report.turn_index for report in done}:
            try:
                await self._judge(conversation, wanted, done, labels)
            except InputError as exc:
                place = f"line {entry.line}, " if entry.line else ""
                self._broken(BrokenEntry(f"{place}conversation {conversation.id}", str(exc)))
                return
        self.tally.conversations += 1
        self.on_progress(entry)

    async def _judge(
        self, conversation: Conversation, wanted: set[int], done: list[TurnReport], labels: Mapping[str, Label]
    ) -> None:
        reports = self.guard.areplay(conversation, done=done, turns=wanted)
        async with aclosing(reports):
            async for report in reports:
                if report.unchecked and self._is_exhausted():
                    return
                self.file.append(report)
                self.tally.add(report, labels)
                self.on_progress(report)
                if self.stop.is_set():
                    return
        await self.guard.aforget(str(conversation.id))  # Else the knowledge of a long log fills the memory.

    def _is_exhausted(self) -> bool:
        """Whether the judge will answer nothing more in this run. A turn that it therefore left is no result."""
        reason = getattr(self.guard.parts.judge, "why_exhausted", None)
        if reason is None:
            return False
        self.exhausted = reason
        self.stop.set()
        return True

    def _broken(self, entry: BrokenEntry) -> None:
        self.tally.broken += 1
        self.on_progress(entry)


def _with_claims(conversation: Conversation, claims: ClaimsMode) -> Conversation:
    """The conversation, without the log's claims when they are to be the judge's."""
    if claims is ClaimsMode.GIVEN:
        return conversation
    turns = tuple(turn.model_copy(update={"claims": None}) for turn in conversation.turns)
    return conversation.model_copy(update={"turns": turns})


def _wanted(conversation: Conversation, claims: ClaimsMode) -> set[int]:
    """Indices of the turns to report on."""

    def reported(turn: Turn) -> bool:
        return turn.role is Role.ASSISTANT and (claims is ClaimsMode.JUDGE or turn.claims is not None)

    return {index for index, turn in enumerate(conversation.turns) if reported(turn)}


def _check_same_log(path: Path, conversation: Conversation, done: list[TurnReport]) -> None:
    """A turn that was delivered as it was reads the same in its report: else these are reports on another log."""
    for report in done:
        unchanged = report.decision.action in (Action.ALLOW, Action.FLAG) and not report.attempts
        turn = conversation.turns[report.turn_index] if report.turn_index < len(conversation.turns) else None
        if turn is None or (unchanged and turn.text != report.response):
            raise ConfigError(
                f"{path} reports on turn {report.turn_index} of conversation {conversation.id}, which reads "
                "differently in this log. Choose another --out"
            )


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


async def _all(workers: Iterable[Coroutine[None, None, None]]) -> None:
    """Runs them to the end; when one fails, the others are cancelled and its error is raised as it was."""
    try:
        async with asyncio.TaskGroup() as group:
            for worker in workers:
                group.create_task(worker)
    except BaseExceptionGroup as failed:
        known, unknown = failed.split(VistaGuardError)
        if unknown is not None or known is None:
            raise
        raise known.exceptions[0] from None
