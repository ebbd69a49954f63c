"""The draft of an unfinished turn, judged as it grows: each claim once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from math import inf

from vista_guard.errors import InputError
from vista_guard.judges import contract
from vista_guard.protocols import Judge, Policy
from vista_guard.stream.source import Delta, Resumed, close, join_documents
from vista_guard.telemetry.spans import TurnTrace
from vista_guard.turn import stages
from vista_guard.turn.repair import feedback
from vista_guard.turn.stages import StageName
from vista_guard.turn.work import Parts, Work, check_limits, silent
from vista_guard.types import (
    Action,
    Check,
    Claim,
    Conversation,
    Document,
    EvidenceSet,
    Finding,
    JudgeInfo,
    Outcome,
    RepairMode,
    Role,
    Span,
    Turn,
    TurnReport,
    Unchecked,
    UncheckedClaim,
)

Again = Callable[[str, str], AsyncIterator[Delta]]
"""Asks the agent again: takes the draft that was withheld and a note on it, gives the next answer as it comes."""

_CODE = re.compile(r"[a-z_]{1,40}")


class NoAnswer(Exception):
    """The agent was asked again and gave no text. The message is for the report's warnings."""


async def ask_again(again: Again, draft: str, rejected: Work) -> AsyncIterator[Delta]:
    """Returns the next answer, once its text has begun or it has ended without any: called a tool, refused.

    NoAnswer: upstream failed before the first word, or its answer was empty.
    """
    opening = list[Delta]()
    deltas = again(draft, feedback(rejected))
    try:
        async for delta in deltas:
            opening.append(delta)
            if isinstance(delta, str) and delta.strip():
                break
    except Exception as exc:
        await close(deltas)
        raise NoAnswer(
            f"the agent was asked again and failed ({_error_name(exc)}); its draft was not let through"
        ) from exc
    except BaseException:
        await close(deltas)
        raise
    if not opening:
        raise NoAnswer("the agent was asked again and answered nothing; its draft was not let through")
    return Resumed(opening, deltas)


def broken_off_warning(exc: BaseException) -> str:
    """The warning for an answer that was asked for again and failed after its first word."""
    return f"the agent was asked again and its answer broke off ({_error_name(exc)}); none of it was shown"


def regenerates(policy: Policy) -> bool:
    return policy.repair is RepairMode.REGENERATE and policy.max_attempts > 0 and policy.repairs


def _error_name(exc: BaseException) -> str:
    # An error's text may quote the request, and with it the draft.
    code = getattr(exc, "code", None)
    return code if isinstance(code, str) and _CODE.fullmatch(code) else type(exc).__name__


_NEVER = -1


class Memo:
    """Implements `TurnJudge` over any judge, for one turn. Claims are recognised by their words.

    While the turn is written an answer holds, whatever other evidence the longer text brings to light. Once it is complete
    only verdicts on the evidence of the whole turn hold, and what could not be judged is asked again.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._evidence: EvidenceSet | None = None
        self._gathered = 0
        self._turn = contract.Growing()
        self._checks: dict[str, tuple[int, Check | Unchecked]] = {}
        self._findings: dict[str, tuple[Check, Finding | Unchecked]] = {}
        self._claims: tuple[str, Sequence[Claim]] | None = None
        self._verdicts: tuple[str, EvidenceSet, Sequence[Check | Unchecked] | None] | None = None

    @property
    def info(self) -> JudgeInfo:
        return self._judge.info

    def complete(self) -> None:
        """Judges the whole turn from now on."""
        self._turn.complete = True
        # What a decomposer failed on, or waited with, is asked about again; the last sentence was judged before it was the last.
        if self._claims is not None and any(isinstance(claim, UncheckedClaim) for claim in self._claims[1]):
            self._claims = None
        self._turn.known = {
            key: answer for key, answer in self._turn.known.items() if not getattr(answer, "failed", False)
        }
        self._findings = {text: known for text, known in self._findings.items() if isinstance(known[1], Finding)}

    def hurry(self) -> None:
        """No sentence waits for those behind it any more."""
        self._turn.hurried = True
        self._claims = None

    def follow(self, *, more: bool) -> None:
        """Says whether text follows the part that is judged next."""
        self._turn.more = more

    def renew(self) -> None:
        """Forgets verdicts: new evidence may support what lacked support, and contradict what had it."""
        self._checks.clear()
        self._findings.clear()

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        if self._claims is None or self._claims[0] != turn.text:
            with contract.grow(self._turn):
                self._claims = (turn.text, await contract.decompose(self._judge, turn, history))
        return self._claims[1]

    async def judge_turn(
        self, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet
    ) -> Sequence[Check | Unchecked] | None:
        cached = self._verdicts
        if cached is None or cached[0] != turn.text or cached[1] != evidence:
            with contract.grow(self._turn):
                cached = (turn.text, evidence, await contract.judge_turn(self._judge, turn, history, evidence))
            self._verdicts = cached
        return cached[2]

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        if evidence is not self._evidence and evidence != self._evidence:
            self._gathered += 1
        self._evidence = evidence
        cached = [self._known_check(claim) for claim in claims]
        new = [claim for claim, answer in zip(claims, cached, strict=True) if answer is None]
        fresh = iter(await contract.verify(self._judge, new, evidence))
        return [self._keep_check(next(fresh)) if answer is None else answer for answer in cached]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        cached = [self._known_finding(check) for check in checks]
        new = [check for check, answer in zip(checks, cached, strict=True) if answer is None]
        fresh = zip(new, await contract.categorize(self._judge, new, evidence), strict=True)
        return [self._keep_finding(*next(fresh)) if answer is None else answer for answer in cached]

    def _keep_check(self, answer: Check | Unchecked) -> Check | Unchecked:
        gathered = self._gathered if isinstance(answer, Check) else _NEVER
        self._checks[answer.claim.text] = (gathered, answer)
        return answer

    def _keep_finding(self, check: Check, answer: Finding | Unchecked) -> Finding | Unchecked:
        self._findings[check.claim.text] = (check, answer)
        return answer

    def _known_check(self, claim: Claim) -> Check | Unchecked | None:
        gathered, answer = self._checks.get(claim.text, (_NEVER, None))
        if answer is None or (self._turn.complete and gathered != self._gathered):
            return None
        if isinstance(answer, Unchecked):
            return answer.model_copy(update={"claim": claim})
        return _with_claim(answer, claim)

    def _known_finding(self, check: Check) -> Finding | Unchecked | None:
        cached, answer = self._findings.get(check.claim.text, (None, None))
        if cached is None or answer is None or _with_claim(cached, check.claim) != check:
            return None
        return answer.model_copy(update={"claim": check.claim})


def _with_claim(check: Check, claim: Claim) -> Check:
    """The verdict on the same words at their present place in the turn."""
    finding = check.finding and check.finding.model_copy(update={"claim": claim})
    return check.model_copy(update={"claim": claim, "finding": finding})


_JUDGING: tuple[StageName, ...] = ("decompose", "verify", "categorize")


class Draft:
    """Judges one draft of a turn, again and again as it grows.

    `documents` are the turn's, or find them; `earlier` is the draft that this one replaces; `found` are documents found for it.
    `trace` is that of the turn, whichever draft is delivered, and `on_outcome` is called once for each claim.
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
        self._memo = Memo(parts.judging)
        self._asking = replace(parts, judge=self._memo, retrieve_by="turn")  # passages of a claim are found behind it
        self._on_outcome = on_outcome
        self._told: set[Span | str] = set()
        self._prepared = False
        self._fixed: Work | None = None
        self._spent = earlier or Work(conversation=before)

    def conversation(self, text: str) -> Conversation:
        turn = Turn(role=Role.ASSISTANT, text=text, documents=join_documents(self._documents, self._found))
        return self._before.model_copy(update={"turns": (*self._before.turns, turn)})

    def learn(self, found: Sequence[Document]) -> bool:
        """Adds documents found while the turn is written; True if any was new."""
        count = len(self._found)
        self._found = join_documents(self._found, found)
        if len(self._found) == count:
            return False
        self._memo.renew()
        self._prepared, self._fixed = False, None
        return True

    @property
    def may_regenerate(self) -> bool:
        policy = self.parts.policy
        return policy.repair is RepairMode.REGENERATE and len(self._spent.attempts) < policy.max_attempts

    async def as_attempt(self, decided: Work) -> Work:
        """The draft as one of the attempts before the next."""
        attempts = self._spent.attempts
        attempt = await self.run_stage("repair", decided.with_(can_regenerate=True))
        # Until another answer arrives, the draft is not one of the attempts before it.
        self._spent = self._spent.with_(attempts=attempts)
        return attempt

    def next_draft(self, rejected: Work) -> Draft:
        """The next draft. Documents found for this one stay evidence."""
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
        """Reports the claims of text that is about to go out."""
        for outcome in outcomes:
            place = outcome.claim.span or outcome.claim.text
            if self._on_outcome is not None and place not in self._told:
                self._told.add(place)
                self._on_outcome(outcome)

    def warn(self, text: str) -> None:
        self._spent = self._spent.with_(warnings=(*self._spent.warnings, text))

    def with_spent(self, work: Work) -> Work:
        """The work with the turn's attempts, usage, warnings and timings so far."""
        spent = self._spent
        return work.with_(
            attempts=spent.attempts, usage=spent.usage, warnings=spent.warnings, timings=dict(spent.timings)
        )

    async def find_documents(self, text: str) -> None:
        """Finds the turn's documents, once, off the event loop: it may read from a network."""
        if self._find is not None:
            self._documents = tuple(await asyncio.to_thread(self._find, self.conversation(text)))
            self._find = None
            check_limits(self.conversation(text), self.parts.limits)

    async def prepare(self) -> None:
        """Gathers what can be gathered before the turn is known: its documents, its history, its knowledge."""
        self._prepared = True
        await self.find_documents("")
        work = await self.run_stage("gather", self._new_work(""))
        if work.evidence is not None and self._is_all(work):
            self._fixed = work

    async def judge_so_far(self, text: str, *, complete: bool, more: bool = False) -> Work:
        """Judges the turn up to here. `more`: text follows already."""
        self._memo.follow(more=more)
        if not self._prepared and not complete:
            await self.prepare()
        work = self._new_work(text)
        if complete:
            self._memo.complete()
        if self._fixed is None or complete:
            work = await self.run_stage("gather", work)
        else:
            work = self._with_fixed(work, self._fixed)
        for name in _JUDGING:
            work = await self.run_stage(name, work)
        return work

    def hurry(self) -> None:
        """From now on no sentence of the turn waits for those behind it."""
        self._memo.hurry()

    @staticmethod
    def judged_until(work: Work) -> float:
        """The character up to which the claims are known: a decomposer may wait for the sentences behind one."""
        waiting = (claim.span for claim in work.claims if isinstance(claim, UncheckedClaim) and claim.pending)
        return min((span.start for span in waiting if span is not None), default=inf)

    async def whole(self, text: str) -> Work:
        """The whole turn, judged and decided. One without text, such as one that only calls a tool, is not judged."""
        work = await self.judge_so_far(text, complete=True) if text else self._new_work("")
        return await self.run_stage("decide", work)

    async def repair(self, decided: Work) -> Work:
        return await self.run_stage("repair", decided) if decided.decided.action is Action.REPAIR else decided

    async def store(self, work: Work) -> TurnReport:
        """Stores a delivered turn as `Guard.acheck` would; returns its report."""
        if not work.turn.text:
            return (await stages.run("report", work, replace(self.parts, sinks=()), silent)).finished
        return await self.write_report(await self.run_stage("remember", work))

    async def write_report(self, work: Work) -> TurnReport:
        return (await self.run_stage("report", work)).finished

    async def run_stage(self, name: StageName, work: Work) -> Work:
        """Runs one stage and adds its cost to the turn's."""
        # Earlier turns are judged while evidence is gathered; what is known of this one's claims is not for them.
        parts = self._asking if name in _JUDGING else self.parts
        self._spent = await stages.run(name, work, parts, silent)
        return self._spent

    def _new_work(self, text: str) -> Work:
        return self.with_spent(Work(conversation=self.conversation(text), gate=self.trace.gate, trace=self.trace))

    def _with_fixed(self, work: Work, fixed: Work) -> Work:
        try:
            check_limits(work.conversation, self.parts.limits)
        except InputError as exc:
            return work.as_unchecked(str(exc))
        return work.with_(evidence=fixed.evidence)

    def _is_all(self, work: Work) -> bool:
        """True if the evidence is complete for any text of the turn: nothing was left out or retrieved."""
        evidence, limits = work.evidence, self.parts.limits
        if evidence is None or len(evidence.knowledge) >= limits.knowledge:
            return False
        if work.turn.documents:
            return len(evidence.documents) < limits.passages
        return self.parts.documents is None or self.parts.trusts_ungrounded
