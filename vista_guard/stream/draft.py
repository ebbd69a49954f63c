"""A turn of which only the beginning is known, taken through the stages."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from vista_guard.errors import InputError
from vista_guard.stream.memo import Memo
from vista_guard.stream.source import joined
from vista_guard.telemetry.turns import TurnTrace
from vista_guard.turn import stages
from vista_guard.turn.limits import check_limits
from vista_guard.turn.stages import StageName
from vista_guard.turn.work import Parts, Work, silent
from vista_guard.types import Action, Conversation, Document, Outcome, RepairMode, Role, Span, Turn, TurnReport

_JUDGING: tuple[StageName, ...] = ("decompose", "verify", "categorize")


class Draft:
    """Judges one draft of a turn, as often as there is more of it.

    Args:
        parts: the guard's collaborators.
        before: what was said before the turn.
        documents: of the turn, or what finds them.
        trace: of the turn, whichever of its drafts is delivered.
        earlier: the draft that this one takes the place of.
        found: documents that were found for it.
        on_outcome: is told of each claim once.
    """

    def __init__(
        self,
        parts: Parts,
        before: Conversation,
        documents: Sequence[Document] | Callable[[Conversation], Sequence[Document]],
        *,
        trace: TurnTrace,
        earlier: Work | None = None,
        found: tuple[Document, ...] = (),
        on_outcome: Callable[[Outcome], None] | None = None,
    ) -> None:
        self.parts = parts
        self.trace = trace
        self._before = before
        self._given = documents
        self._found = found
        self._documents: tuple[Document, ...] = () if callable(documents) else tuple(documents)
        self._find = documents if callable(documents) else None
        self._memo = Memo(parts.judge)
        self._asking = replace(parts, judge=self._memo)
        self._on_outcome = on_outcome
        self._told: set[Span | str] = set()
        self._prepared = False
        self._fixed: Work | None = None
        self._spent = earlier or Work(conversation=before)

    def conversation(self, text: str) -> Conversation:
        """The conversation that ends with the turn, as far as it is known."""
        turn = Turn(role=Role.ASSISTANT, text=text, documents=joined(self._documents, self._found))
        return self._before.model_copy(update={"turns": (*self._before.turns, turn)})

    def learn(self, found: Sequence[Document]) -> bool:
        """Takes in documents that were found while the turn is being said; whether any was new."""
        known = len(self._found)
        self._found = joined(self._found, found)
        if len(self._found) == known:
            return False
        self._memo.renew()
        self._prepared, self._fixed = False, None
        return True

    @property
    def may_regenerate(self) -> bool:
        """Whether the policy would have the agent asked again."""
        policy = self.parts.policy
        return policy.repair is RepairMode.REGENERATE and len(self._spent.attempts) < policy.max_attempts

    async def as_attempt(self, decided: Work) -> Work:
        """The draft as one of the attempts before the next."""
        known = self._spent.attempts
        attempt = await self.run_stage("repair", decided.with_(can_regenerate=True))
        # As long as no other answer is there, the draft is none of the attempts before it.
        self._spent = self._spent.with_(attempts=known)
        return attempt

    def next_draft(self, rejected: Work) -> Draft:
        """For the next draft. What was found for this one is still evidence."""
        earlier = self.with_spent(rejected).with_(attempts=rejected.attempts)
        return Draft(
            self.parts,
            self._before,
            self._given,
            trace=self.trace,
            earlier=earlier,
            found=self._found,
            on_outcome=self._on_outcome,
        )

    def tell(self, outcomes: Sequence[Outcome]) -> None:
        """Of the claims in text that is about to go out."""
        for outcome in outcomes:
            place = outcome.claim.span or outcome.claim.text
            if self._on_outcome is not None and place not in self._told:
                self._told.add(place)
                self._on_outcome(outcome)

    def warn(self, text: str) -> None:
        """Says something about the turn in its report."""
        self._spent = self._spent.with_(warnings=(*self._spent.warnings, text))

    def with_spent(self, work: Work) -> Work:
        """The work with all that was spent and said of the turn by now."""
        spent = self._spent
        return work.with_(
            attempts=spent.attempts, usage=spent.usage, warnings=spent.warnings, timings=dict(spent.timings)
        )

    async def find_documents(self, text: str) -> None:
        """Asks for the turn's documents, once, off the event loop: it may well read from a network."""
        if self._find is not None:
            self._documents = tuple(await asyncio.to_thread(self._find, self.conversation(text)))
            self._find = None
            check_limits(self.conversation(text), self.parts.limits)

    async def prepare(self) -> None:
        """Gathers what can be gathered before the turn is known: its documents, its history, its knowledge."""
        self._prepared = True
        await self.find_documents("")
        work = await self.run_stage("gather", self._begun(""))
        if work.evidence is not None and self._is_all(work):
            self._fixed = work

    async def judge_so_far(self, text: str, *, complete: bool) -> Work:
        """The outcomes of the turn as far as it is known."""
        if not self._prepared and not complete:
            await self.prepare()
        work = self._begun(text)
        if complete:
            self._memo.complete()
        if self._fixed is None or complete:
            work = await self.run_stage("gather", work)
        else:
            work = self._with_fixed(work, self._fixed)
        for name in _JUDGING:
            work = await self.run_stage(name, work)
        return work

    async def whole(self, text: str) -> Work:
        """The whole turn, judged and decided. One without a word, such as one that only calls a tool, nobody is asked about."""
        work = await self.judge_so_far(text, complete=True) if text else self._begun("")
        return await self.run_stage("decide", work)

    async def repair(self, decided: Work) -> Work:
        """The turn as it is delivered."""
        return await self.run_stage("repair", decided) if decided.decided.action is Action.REPAIR else decided

    async def store(self, work: Work) -> TurnReport:
        """The report on a turn that was delivered; knows and keeps what `Guard.acheck` would."""
        if not work.turn.text:
            return (await stages.run("report", work, replace(self.parts, sinks=()), silent)).finished
        return await self.write_report(await self.run_stage("remember", work))

    async def write_report(self, work: Work) -> TurnReport:
        """The report, written."""
        return (await self.run_stage("report", work)).finished

    async def nothing_said(self) -> TurnReport:
        """The report on a turn without a word. Nothing is stored."""
        return await self.store(await self.whole(""))

    async def run_stage(self, name: StageName, work: Work) -> Work:
        """Runs one stage. What it took is added to what the turn took so far."""
        # Earlier turns are judged while evidence is gathered; what is known of this one's claims is not for them.
        parts = self._asking if name in _JUDGING else self.parts
        self._spent = await stages.run(name, work, parts, silent)
        return self._spent

    def _begun(self, text: str) -> Work:
        return self.with_spent(Work(conversation=self.conversation(text), gate=self.trace.gate, trace=self.trace))

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
        return self.parts.documents is None or self.parts.trusts_ungrounded
