"""A turn of which only the beginning is known, taken through the stages of the graph."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import perf_counter

from vista_guard import metering
from vista_guard.errors import InputError
from vista_guard.graph.build import STAGES
from vista_guard.graph.limits import check_limits
from vista_guard.graph.state import Parts, Work, silent
from vista_guard.graph.stream_memo import Memo
from vista_guard.types import Action, Conversation, Document, Role, Turn, TurnReport

_JUDGING = ("decompose", "verify", "categorize")


class Judging:
    """Judges one turn, as often as there is more of it.

    Args:
        parts: the guard's collaborators.
        before: what was said before the turn.
        documents: of the turn, or what finds them.
    """

    def __init__(
        self,
        parts: Parts,
        before: Conversation,
        documents: Sequence[Document] | Callable[[Conversation], Sequence[Document]],
    ) -> None:
        self.parts = parts
        self._before = before
        self._documents: tuple[Document, ...] = () if callable(documents) else tuple(documents)
        self._find = documents if callable(documents) else None
        self._memo = Memo(parts.judge)
        self._asking = replace(parts, judge=self._memo)
        self._fixed: Work | None = None
        self._spent = Work(conversation=before)

    def draft(self, text: str) -> Conversation:
        """The conversation that ends with the turn, as far as it is known."""
        turn = Turn(role=Role.ASSISTANT, text=text, documents=self._documents)
        return self._before.model_copy(update={"turns": (*self._before.turns, turn)})

    async def find_documents(self, text: str) -> None:
        """Asks for the turn's documents, once, off the event loop: it may well read from a network."""
        if self._find is not None:
            self._documents = tuple(await asyncio.to_thread(self._find, self.draft(text)))
            self._find = None
            check_limits(self.draft(text), self.parts.limits)

    async def prepare(self) -> None:
        """Gathers what can be gathered before the turn is known: its documents, its history, its knowledge."""
        await self.find_documents("")
        work = await self.stage("gather", self._begun(""))
        if work.evidence is not None and self._is_all(work):
            self._fixed = work

    async def judged(self, text: str, *, complete: bool) -> Work:
        """The outcomes of the turn as far as it is known."""
        work = self._begun(text)
        if complete:
            self._memo.complete()
        if self._fixed is None or complete:
            work = await self.stage("gather", work)
        else:
            work = self._with_fixed(work, self._fixed)
        for name in _JUDGING:
            work = await self.stage(name, work)
        return work

    async def whole(self, text: str, *, deliver: bool = False) -> TurnReport:
        """The report on the whole turn, as `Guard.acheck` makes it; with `deliver`, of a turn that was read already."""
        if not text:
            return await self.nothing_said()
        work = await self.stage("decide", await self.judged(text, complete=True))
        if deliver:
            work = work.with_(response=text)
        elif work.decided.action is Action.REPAIR:
            work = await self.stage("repair", work)
        return await self.reported(await self.stage("remember", work))

    async def reported(self, work: Work) -> TurnReport:
        """The report, written."""
        return (await self.stage("report", work)).finished

    async def nothing_said(self) -> TurnReport:
        """The report on a turn without a word, such as one that only calls a tool. Nobody is asked, nothing is stored."""
        work = await self.stage("decide", self._begun(""))
        return (await STAGES["report"](work, replace(self.parts, sinks=()), silent)).finished

    async def stage(self, name: str, work: Work) -> Work:
        """Runs one stage. What it took is added to what the turn took so far."""
        # Earlier turns are judged while evidence is gathered; what is known of this one's claims is not for them.
        parts = self._asking if name in _JUDGING else self.parts
        started = perf_counter()
        with metering.measured(work.usage) as meter:
            work = await STAGES[name](work, parts, silent)
        warnings = tuple(dict.fromkeys((*work.warnings, *meter.warnings)))
        timings = {**work.timings, name: work.timings.get(name, 0.0) + (perf_counter() - started) * 1000}
        self._spent = work.with_(usage=meter.usage, warnings=warnings, timings=timings)
        return work if name == "report" else self._spent

    def _begun(self, text: str) -> Work:
        spent = self._spent
        return Work(
            conversation=self.draft(text), usage=spent.usage, warnings=spent.warnings, timings=dict(spent.timings)
        )

    def _with_fixed(self, work: Work, fixed: Work) -> Work:
        try:
            check_limits(work.conversation, self.parts.limits)
        except InputError as exc:
            return work.unjudged(str(exc))
        return work.with_(evidence=fixed.evidence)

    def _is_all(self, work: Work) -> bool:
        """Whether no other text of the turn would bring other evidence: nothing had to be left out, or looked for."""
        evidence, limits = work.evidence, self.parts.limits
        if evidence is None or len(evidence.knowledge) >= limits.knowledge:
            return False
        if work.turn.documents:
            return len(evidence.documents) < limits.passages
        return self.parts.documents is None or self.parts.ungrounded == "trust"
