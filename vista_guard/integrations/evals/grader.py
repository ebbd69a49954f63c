"""A grader for tests and evaluations: a case in, a verdict out, each case apart from all others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, Self, get_args
from uuid import uuid4

from vista_guard import _aio
from vista_guard.errors import ConfigError, InputError
from vista_guard.policy.turn_risk import SAFE, micro_score
from vista_guard.reading.chat_json import distinct
from vista_guard.reading.visible import visible
from vista_guard.types import (
    Action,
    Conversation,
    Document,
    Finding,
    Label,
    Noun,
    Outcome,
    Probability,
    Role,
    SourceKind,
    Turn,
    TurnReport,
    source_name,
)

if TYPE_CHECKING:
    from vista_guard.guard import Guard
    from vista_guard.protocols import Judge, Policy
    from vista_guard.reading.chat_json import GivenDocuments


Turns = Literal["all", "last"]
"""Which assistant turns of a case are judged: each, or only the last one."""


class Case(Noun):
    """A conversation, and which of its assistant turns are to be judged.

    The conversation's own id is ignored: each case is judged under a fresh one.

    Examples:
        >>> Case.of_answer("When did it open?", "In 1925.", documents="The hall opened in 1925.").turns
        'last'
    """

    conversation: Conversation
    turns: Turns = "all"

    @classmethod
    def of_answer(cls, asked: object, answer: object, *, documents: GivenDocuments | None = ()) -> Self:
        """One answer, with what was said before it.

        Args:
            asked: the user's words, messages (chat JSON or LangChain's), a Conversation, or a mapping with `messages`, or with
                `input`, `question` or `query` (and `chat_history`). None or empty: the answer stands alone.
            answer: a text, a message, a list of messages, or a mapping with `messages`, or with `answer`, `output`, `response`,
                `result` or `text` (and `documents`, `context` or `source_documents`).
            documents: evidence for the answer, besides that in `asked` and `answer`.

        Raises:
            InputError: one of them is of another kind, or the answer says nothing.
        """
        from vista_guard.graph.host_objects import read_reply, read_request
        from vista_guard.reading.chat_json import given_documents

        past = read_request(asked).turns if asked else ()
        draft = read_reply(asked, {"messages": answer} if isinstance(answer, list | tuple) else answer)
        if draft.text is None:
            raise InputError("the answer has no text for the user; there is nothing to judge")
        evidence = distinct((*draft.documents, *given_documents(documents)))
        turn = Turn(role=Role.ASSISTANT, text=draft.text, documents=evidence)
        return cls(conversation=Conversation(turns=(*past, turn)), turns="last")

    @classmethod
    def of_transcript(cls, messages: object, *, documents: GivenDocuments | None = (), turns: Turns = "all") -> Self:
        """A whole conversation.

        Args:
            messages: chat messages (chat JSON or LangChain's), a mapping that has them under `messages`, or a Conversation.
                Tool answers and the messages' `documents` are evidence.
            documents: further evidence for every assistant turn.
            turns: turns to judge.

        Raises:
            InputError: the messages cannot be read, or no assistant speaks among them.
            ConfigError: `turns` is something else.
        """
        from vista_guard.graph.host_objects import read_request
        from vista_guard.reading.chat_json import given_documents

        if turns not in get_args(Turns):
            raise ConfigError(f"turns is {turns!r}; choose one of {', '.join(get_args(Turns))}")
        talk = read_request(messages)
        if all(turn.role is not Role.ASSISTANT for turn in talk.turns):
            raise InputError("the conversation has no assistant message; there is nothing to judge")
        return cls(conversation=_with_documents(talk, given_documents(documents)), turns=turns)

    @classmethod
    def of_run(
        cls, inputs: object, outputs: object, *, documents: GivenDocuments | None = (), turns: Turns = "all"
    ) -> Self:
        """The case of an agent's inputs and outputs, in the form evaluation tools keep them.

        Outputs that hold a user's message are a whole conversation (`of_transcript`); all others are one answer (`of_answer`).

        Raises:
            InputError: as for these.
            ConfigError: as for these.
        """
        from vista_guard.reading.chat_json import given_documents, read_documents

        if _is_transcript(outputs):
            input_documents = read_documents(inputs) if isinstance(inputs, Mapping) else ()
            return cls.of_transcript(outputs, documents=(*input_documents, *given_documents(documents)), turns=turns)
        return cls.of_answer(inputs, outputs, documents=documents)


def _is_transcript(outputs: object) -> bool:
    messages = outputs.get("messages") if isinstance(outputs, Mapping) else outputs
    if isinstance(messages, Conversation):
        return True
    if not isinstance(messages, list | tuple):
        return False
    return any(_role(message) in ("user", "human") for message in messages)


def _role(message: object) -> str:
    if isinstance(message, Mapping):
        return str(message.get("role", ""))
    return str(getattr(message, "type", ""))


def _with_documents(talk: Conversation, documents: tuple[Document, ...]) -> Conversation:
    if not documents:
        return talk
    turns = [
        turn.model_copy(update={"documents": distinct((*turn.documents, *documents))})
        if turn.role is Role.ASSISTANT
        else turn
        for turn in talk.turns
    ]
    return talk.model_copy(update={"turns": tuple(turns)})


class Quote(Noun):
    """A quote of the evidence for or against a claim. `score` is the judge's probability that it does."""

    text: str
    source: SourceKind
    source_id: str
    title: str | None = None
    score: Probability


class JudgedClaim(Noun):
    """A claim of a judged turn. `label` and `confidence` are None where it could not be judged; `reason` then says why.

    `turn` is the turn's place in the conversation, counted from 0, `quotes` are the strongest first as the judge gave them.
    """

    turn: int
    text: str
    label: Label | None
    confidence: Probability | None
    quotes: tuple[Quote, ...] = ()
    reason: str

    @property
    def safe(self) -> bool:
        """True for safe labels: VERIFIED, OUT_OF_SCOPE or ABSTENTION."""
        return self.label in SAFE


class Verdict(Noun):
    """A case, judged.

    `score` is the VISTA score, safe over judged claims of all judged turns, in [0, 1]; `passed` is whether the policy lets each
    of these turns through as it is. Both are None where nothing was judged: that is neither a 0 nor a 1, and `reason` says why.
    `reports` are the turns' whole reports.
    """

    score: Probability | None
    passed: bool | None
    claims: tuple[JudgedClaim, ...]
    reports: tuple[TurnReport, ...]
    reason: str

    @classmethod
    def of(cls, reports: Sequence[TurnReport]) -> Self:
        claims = tuple(_claim(report, outcome) for report in reports for outcome in report.outcomes)
        score = micro_score(reports)
        passed = None if score is None else all(report.decision.action is Action.ALLOW for report in reports)
        reason = _unjudged_reason(claims) if score is None else _reason(score, claims, reports)
        return cls(score=score, passed=passed, claims=claims, reports=tuple(reports), reason=reason)

    @property
    def judged(self) -> bool:
        return self.score is not None

    @property
    def unjudged_claims(self) -> int:
        """Number of claims that could not be judged. They count neither for nor against the score."""
        return sum(claim.label is None for claim in self.claims)

    def holds(self, threshold: float | None = None) -> bool | None:
        """True if the case passes: by the policy, or by a minimum score in [0, 1] if one is given. None: nothing was judged."""
        if threshold is not None and not (isinstance(threshold, int | float) and 0 <= threshold <= 1):
            raise ConfigError(f"the least score is {threshold!r}; give a number from 0 to 1")
        if threshold is None or self.score is None:
            return self.passed
        return self.score >= threshold

    def metadata(self) -> dict[str, Any]:
        """The verdict as JSON types, for tools' metadata: counts, claims with quotes, the judge."""
        judge = self.reports[-1].judge if self.reports else None
        return {
            "vista_score": self.score,
            "passed": self.passed,
            "judged_claims": len(self.claims) - self.unjudged_claims,
            "unjudged_claims": self.unjudged_claims,
            "decisions": [report.decision.action.value for report in self.reports],
            "claims": [claim.model_dump(mode="json") for claim in self.claims],
            "judge": None if judge is None else f"{judge.name} {judge.version}",
            "policy": self.reports[-1].policy if self.reports else None,
        }

    def details(self) -> str:
        """The verdict in several lines: what failed first, with its quotes. Safe to show on a terminal."""
        alarming = [claim for claim in self.claims if not claim.safe]
        lines = [self.reason, *(line for claim in alarming for line in _lines(claim))]
        lines += [_head(claim) for claim in self.claims if claim.safe]
        if self.reports:
            last = self.reports[-1]
            lines.append(f"judge {last.judge.name} {last.judge.version}, policy {last.policy}")
        return visible("\n".join(lines))


class NotGrounded(AssertionError):
    """The evidence does not support a test's answer; `verdict` has the details."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(f"not grounded: {verdict.details()}" if verdict.judged else verdict.details())
        self.verdict = verdict


class NotJudged(NotGrounded):
    """No claim of a test's answer was judged, so the test proves nothing."""


def _claim(report: TurnReport, outcome: Outcome) -> JudgedClaim:
    where = {"turn": report.turn_index, "text": outcome.claim.text}
    if not isinstance(outcome, Finding):
        return JudgedClaim(**where, label=None, confidence=None, reason=outcome.error)
    quotes = tuple(
        Quote(text=piece.quote, source=piece.source, source_id=piece.source_id, title=piece.title, score=piece.score)
        for piece in outcome.evidence
    )
    return JudgedClaim(
        **where, label=outcome.label, confidence=outcome.confidence, quotes=quotes, reason=outcome.reason
    )


def _unjudged_reason(claims: Sequence[JudgedClaim]) -> str:
    if not claims:
        return "not judged: no claim was found in what the assistant said"
    what = "the claim" if len(claims) == 1 else f"none of {len(claims)} claims"
    return f"not judged: {what} could {'not ' if len(claims) == 1 else ''}be judged: {claims[0].reason}"


def _reason(score: float, claims: Sequence[JudgedClaim], reports: Sequence[TurnReport]) -> str:
    judged = [claim for claim in claims if claim.label is not None]
    unjudged = len(claims) - len(judged)
    parts = [f"VISTA score {score:.2f}: {sum(claim.safe for claim in judged)} of {len(judged)} judged claims safe"]
    if unjudged:
        parts.append(f"{unjudged} could not be judged")
    not_allowed = [report for report in reports if report.decision.action is not Action.ALLOW]
    parts += [f"turn {report.turn_index}: {report.decision.action}, {report.decision.reason}" for report in not_allowed]
    return "; ".join(parts)


def _lines(claim: JudgedClaim) -> list[str]:
    quotes = [
        f'      "{quote.text.strip()}" ({quote.source} {source_name(quote.title, quote.source_id)}, {quote.score:.2f})'
        for quote in claim.quotes
    ]
    return [_head(claim), *quotes, f"      {claim.reason}"]


def _head(claim: JudgedClaim) -> str:
    label = "NOT JUDGED" if claim.label is None else f"{claim.label} {claim.confidence:.2f}"
    return f"  turn {claim.turn}  {label}  {claim.text}"


class Grader:
    """Judges cases, each under its own conversation id, and forgets what they established afterwards.

    Cases may be graded at once, from threads and tasks.

    Args:
        guard: the guard that judges. A case's reports are deleted from its sinks with the rest of it.
        risk_table: the guard's, for cases that are graded by another policy.

    Examples:
        >>> grader = Grader.from_settings(policy="strict")
        >>> verdict = grader.grade(Case.of_answer("When?", "The hall opened in 1850.", documents="The hall opened in 1925."))
        >>> print(verdict.passed, verdict.claims[0].label)
        False CONTRADICTED
        >>> grader.close()
    """

    def __init__(self, guard: Guard, *, risk_table: str | Path | None = None) -> None:
        self.guard = guard
        self._risk_table = risk_table
        self._others: dict[str, Guard] = {}

    @classmethod
    def from_settings(
        cls, *, judge: Judge | str | None = None, policy: Policy | str | None = None, **settings: Any
    ) -> Self:
        """Makes a grader from environment and settings file that leaves nothing behind.

        Knowledge is in memory, no reports are kept, and no scores are sent, unless `settings` (any field of `Settings`) say
        otherwise. Documents stored for the product are not retrieved; `Grader(Guard.from_settings())` does.

        Raises:
            ConfigError: an unknown name, or a value that makes no sense.
        """
        from vista_guard.guard import Guard
        from vista_guard.settings.sources import Settings

        defaults: dict[str, Any] = {"store": "memory", "reports": None, "otel": {"scores": ()}}
        chosen = {**defaults, **settings}
        guard = Guard.from_settings(judge=judge, policy=policy, **chosen)
        return cls(guard, risk_table=Settings.load(**chosen).risk_table)

    async def agrade(self, case: Case, *, policy: Policy | str | None = None) -> Verdict:
        """The verdict on a case; `policy` decides in place of the guard's own.

        Raises:
            InputError: the case is over a limit.
            ConfigError: an unknown policy.
        """
        # Tools run loops of their own, some of them patched; the guard and its clients live in one.
        return await _aio.through(self._grade_case(case, policy))

    async def _grade_case(self, case: Case, policy: Policy | str | None) -> Verdict:
        guard = self.guard if policy is None else self._guard_with(policy)
        conversation = case.conversation.model_copy(update={"id": f"case-{uuid4().hex}"})
        try:
            if case.turns == "last":
                return Verdict.of([await guard.acheck(conversation)])
            return Verdict.of([report async for report in guard.areplay(conversation)])
        finally:
            await guard.aforget(conversation.id or "")

    def grade(self, case: Case, *, policy: Policy | str | None = None) -> Verdict:
        """Sync version of `agrade`."""
        return _aio.run(self._grade_case(case, policy))

    def assert_grounded(
        self,
        answer: object,
        *,
        documents: GivenDocuments | None = (),
        conversation: object = None,
        policy: Policy | str | None = None,
        min_score: float | None = None,
    ) -> Verdict:
        """Fails a test whose answer the evidence does not support.

        Args:
            answer: the agent's answer, in any form that `Case.of_answer` reads.
            documents: its evidence: a text, a Document, a mapping with `text`, or a list of these.
            conversation: the turns before it: the user's words, messages, or a Conversation.
            policy: decides in place of the grader's own. The answer passes when the policy lets it through as it is.
            min_score: a least VISTA score in [0, 1], which decides in place of the policy.

        Examples:
            >>> from vista_guard import Guard
            >>> from vista_guard.testing import ScriptedJudge, Verdict
            >>> grader = Grader(Guard(ScriptedJudge({"In 1925.": [Verdict("It opened in 1925.")]})))
            >>> grader.assert_grounded("In 1925.", documents="The hall opened in 1925.").score
            1.0

        Raises:
            NotGrounded: it fails; an AssertionError whose text shows each claim with its label and quotes.
            NotJudged: nothing of it was judged: no claim was found, or the judge failed.
            InputError: answer, documents or conversation cannot be read.
        """
        __tracebackhide__ = True  # pytest shows the line of the test
        verdict = self.grade(Case.of_answer(conversation, answer, documents=documents), policy=policy)
        return _require_judged(verdict, min_score)

    async def aassert_grounded(
        self,
        answer: object,
        *,
        documents: GivenDocuments | None = (),
        conversation: object = None,
        policy: Policy | str | None = None,
        min_score: float | None = None,
    ) -> Verdict:
        """Async version of `assert_grounded`."""
        __tracebackhide__ = True
        verdict = await self.agrade(Case.of_answer(conversation, answer, documents=documents), policy=policy)
        return _require_judged(verdict, min_score)

    async def aclose(self) -> None:
        """Closes the guard."""
        await self.guard.aclose()

    def close(self) -> None:
        """Sync version of `aclose`."""
        _aio.run(self.aclose())

    def _guard_with(self, policy: Policy | str) -> Guard:
        """A guard with another policy over the same judge and stores."""
        from vista_guard.guard import Guard

        name = policy if isinstance(policy, str) else None
        if name in self._others:
            return self._others[name]
        parts = self.guard.parts
        guard = Guard(
            parts.judge,
            policy,
            knowledge=parts.knowledge,
            documents=parts.documents,
            persona=parts.persona,
            sinks=parts.sinks,
            limits=parts.limits,
            context=parts.context,
            ungrounded=parts.ungrounded,
            retrieve_by=parts.retrieve_by,
            risk_table=self._risk_table,
            telemetry=parts.telemetry,
            host_tracing=parts.host_tracing,
        )
        if name is not None:
            self._others[name] = guard
        return guard


def shared_grader(judge: str | None = None, policy: str | None = None) -> Grader:
    """The process's grader for a judge and a policy, by their names: tools that copy their metrics load no model twice."""
    with _making:
        return _build_grader(judge=judge, policy=policy)


_making = Lock()  # threads that ask at once would each make one
_build_grader = lru_cache(maxsize=8)(Grader.from_settings)


def grader_of(grader: Grader | None, judge: str | None, policy: str | None) -> Grader:
    """Returns the given grader, else the one shared for this judge and policy. ConfigError: both are given."""
    if grader is None:
        return shared_grader(judge, policy)
    if judge is not None or policy is not None:
        raise ConfigError(
            "both a grader and the name of a judge or policy are given; the grader has both. Leave one out"
        )
    return grader


def _require_judged(verdict: Verdict, min_score: float | None) -> Verdict:
    __tracebackhide__ = True
    if not verdict.judged:
        raise NotJudged(verdict)
    if not verdict.holds(min_score):
        raise NotGrounded(verdict)
    return verdict
