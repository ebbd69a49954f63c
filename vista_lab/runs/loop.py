"""The one loop: conversations through a system, many at once, each report on disk as soon as it is made.

Replay and evaluation share it; it resumes after a kill. With `claims=GIVEN` only turns that carry claims are judged and
reported, as in the paper's human evaluation; other assistant turns stay in the history and establish nothing. With
`claims=JUDGE` the log's claims and labels are dropped.
"""

from __future__ import annotations

import asyncio
import os
import platform
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum

from vista_guard.errors import ConfigError, InputError
from vista_guard.types import Action, Conversation, Role, Turn, TurnReport
from vista_lab.logs.source import BrokenEntry, LoggedConversation
from vista_lab.metrics.labels import Tally
from vista_lab.runs.folder import AnswerFile, AnswerKey, Manifest, ReportFile, Rows, begin
from vista_lab.runs.workers import run_all
from vista_lab.systems.protocol import System

Entry = LoggedConversation | BrokenEntry
Event = TurnReport | BrokenEntry | LoggedConversation
"""A turn was judged, an entry could not be read or judged, or a conversation is done."""


class ClaimsMode(StrEnum):
    """Source of the claims to judge: the log or the judge."""

    GIVEN = "given"
    JUDGE = "judge"


@dataclass(frozen=True)
class RunSettings:
    """A run's settings, apart from its rows and its system."""

    claims: ClaimsMode = ClaimsMode.JUDGE
    limit: int | None = None
    seed: int = 0
    engine: str = "local"


@dataclass
class Steering:
    """Concurrency, progress and stopping of a run.

    `concurrency` is the number of conversations judged at once; turns of one keep their order. When `stop` is set, turns in
    progress are finished and no other is begun. `on_progress` gets each event of this run.
    """

    concurrency: int = 4
    on_progress: Callable[[Event], None] = lambda _event: None
    stop: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ConfigError(f"concurrency is {self.concurrency}; it must be at least 1")


async def judge_all(
    system: System,
    entries: Iterable[Entry],
    file: ReportFile,
    claims: ClaimsMode,
    steering: Steering,
    answers: AnswerFile | None = None,
) -> tuple[Tally, str | None]:
    """Judges every turn without a report in the file. Only this process writes, wherever the system judges.

    `answers` are those that the reports judged; None if the manifest has the rows themselves.

    Returns:
        The tally of all reports, including those of earlier runs, and the reason if the system's budget ran out: the turn that
        it then left unjudged has no report, and no other one is begun.

    Raises:
        ConfigError: the file reports on another log.
        StoreError: a report could not be written; says how many are safe.
        JudgeError: the judge cannot be reached at all.
    """
    run = _Run(system, iter(entries), file, claims, steering, answers)
    await run_all(run.work() for _ in range(steering.concurrency))
    return run.tally, run.exhausted


def manifest(system: System, rows: Rows | None, made: RunSettings) -> Manifest:
    """The manifest of a run that begins now."""
    how = {"limit": made.limit, "seed": made.seed, "engine": made.engine, "machine": machine()}
    return begin(system.info, rows, made.claims.value, **how)


def machine() -> Mapping[str, str]:
    """The machine, as far as it explains speed: no name and no address."""
    cores = str(os.cpu_count() or 0)
    told = {"system": platform.system(), "architecture": platform.machine()}
    return {**told, "cores": cores, "python": platform.python_version()}


def prepare(entry: LoggedConversation, claims: ClaimsMode) -> LoggedConversation:
    """The conversation to judge: without the log's claims and labels, if the judge makes its own claims."""
    if claims is ClaimsMode.GIVEN:
        return entry
    turns = tuple(turn.model_copy(update={"claims": None}) for turn in entry.conversation.turns)
    return replace(entry, conversation=entry.conversation.model_copy(update={"turns": turns}), labels={})


def wanted_turns(entry: LoggedConversation, claims: ClaimsMode) -> frozenset[int]:
    """Indices of the turns to report on.

    With given claims, those that have some. Else every assistant turn of a log that is no mere history, labelled or not, and of
    a data set those with gold.
    """

    def reported(index: int, turn: Turn) -> bool:
        if turn.role is not Role.ASSISTANT or index < entry.history:
            return False
        if claims is ClaimsMode.GIVEN:
            return turn.claims is not None
        return entry.every_turn or not entry.gold or index in entry.gold

    return frozenset(index for index, turn in enumerate(entry.conversation.turns) if reported(index, turn))


class _Run:
    def __init__(
        self,
        system: System,
        entries: Iterator[Entry],
        file: ReportFile,
        claims: ClaimsMode,
        steering: Steering,
        answers: AnswerFile | None,
    ) -> None:
        self.system = system
        self.entries = entries
        self.file = file
        self.claims = claims
        self.answers = answers
        self.on_progress = steering.on_progress
        self.stop = steering.stop
        self.tally = Tally()
        self.exhausted: str | None = None

    async def work(self) -> None:
        """Takes conversations until there are none left."""
        while not self.stop.is_set():
            entry = next(self.entries, None)
            if entry is None:
                return
            if isinstance(entry, BrokenEntry):
                self._report_broken(entry)
            else:
                await self._judge_conversation(prepare(entry, self.claims))
            await asyncio.sleep(0)  # A long stretch of finished conversations must not hold up a signal.

    async def _judge_conversation(self, entry: LoggedConversation) -> None:
        wanted = wanted_turns(entry, self.claims)
        done = sorted(self.file.of_group(str(entry.conversation.id)), key=lambda report: report.turn_index)
        judged_answers = self.answers.of_group(str(entry.conversation.id)) if self.answers else []
        _check_same_log(self.file, entry.conversation, done, judged_answers)
        for report in done:
            self.tally.add(report, entry.labels, resumed=True)
        missing = wanted - {report.turn_index for report in done}
        if missing:
            try:
                judged = await self._judge(entry, wanted, done)
            except InputError as exc:
                place = f"line {entry.line}, " if entry.line else ""
                self._report_broken(BrokenEntry(f"{place}conversation {entry.conversation.id}", str(exc)))
                return
            if judged < len(missing) and self.stop.is_set():
                return
        self.tally.conversations += 1
        self.on_progress(entry)

    async def _judge(self, entry: LoggedConversation, wanted: frozenset[int], done: list[TurnReport]) -> int:
        """Judges the missing turns, until the run is stopped or the system is exhausted; returns the number judged."""
        judged = 0
        async with _closing(self.system.judge(entry, wanted, done)) as reports:
            async for report in reports:
                if (report.unchecked or report.unconfirmed) and self._is_exhausted():
                    return judged
                self._note_answer(entry.conversation, report)  # First: a kill leaves no report without its answer.
                self.file.append(report)
                self.tally.add(report, entry.labels)
                self.on_progress(report)
                judged += 1
                if self.stop.is_set():
                    return judged
        if len(done) + judged < len(wanted):
            self._is_exhausted()
        await self.system.forget(str(entry.conversation.id))  # Else the knowledge of a long log fills the memory.
        return judged

    def _note_answer(self, conversation: Conversation, report: TurnReport) -> None:
        if self.answers is not None:
            key = conversation.turn_key(report.turn_index)
            name = str(conversation.id)
            self.answers.append(AnswerKey(conversation_id=name, report_id=report.id, turn_key=key))

    def _is_exhausted(self) -> bool:
        """True if the system has no budget left in this run. A turn left unjudged for that is not a result."""
        reason = self.system.why_exhausted
        if reason is None:
            return False
        self.exhausted = reason
        self.stop.set()
        return True

    def _report_broken(self, entry: BrokenEntry) -> None:
        self.tally.broken += 1
        self.on_progress(entry)


@asynccontextmanager
async def _closing(reports: AsyncIterator[TurnReport]) -> AsyncIterator[AsyncIterator[TurnReport]]:
    """Closes the generator at once when the run stops, so that no further turn is judged."""
    try:
        yield reports
    finally:
        close = getattr(reports, "aclose", None)
        if close is not None:
            await close()


def _check_same_log(
    file: ReportFile, conversation: Conversation, done: list[TurnReport], answers: list[AnswerKey]
) -> None:
    """Checks that the reported turns are the log's, by their keys; without one, by the text if it was delivered unchanged."""
    keys = {answer.report_id: answer.turn_key for answer in answers}
    for report in done:
        unchanged = report.decision.action in (Action.ALLOW, Action.FLAG) and not report.attempts
        turn = conversation.turns[report.turn_index] if report.turn_index < len(conversation.turns) else None
        same = turn is not None and keys.get(report.id) in (None, conversation.turn_key(report.turn_index))
        if turn is None or not same or (unchanged and turn.text != report.response):
            place = f"turn {report.turn_index} of conversation {conversation.id}"
            raise ConfigError(f"{file.path} reports {place} with another text than this log. Choose another --out")
