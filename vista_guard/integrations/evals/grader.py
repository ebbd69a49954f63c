"""A guard that grades the cases of tests and evaluations, each apart from all others."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from vista_guard._aio import loop
from vista_guard.integrations.evals.case import Case
from vista_guard.integrations.evals.verdict import NotGrounded, NotJudged, Verdict

if TYPE_CHECKING:
    from vista_guard.graph.host_objects import GivenDocuments
    from vista_guard.guard import Guard
    from vista_guard.protocols import Judge, Policy
    from vista_guard.types import TurnReport


class Grader:
    """Judges cases: each under a conversation id of its own, and all that was established is forgotten afterwards.

    Cases may be graded at once, from threads and tasks.

    Args:
        guard: judges. Where it has sinks that keep reports, those of a case are deleted with the rest of it.
        risk_table: the guard's, for policies that single cases are graded by.

    Example:
        grader = Grader.from_settings(policy="strict")
        verdict = grader.grade(Case.of_answer("When?", "In 1850.", documents="The hall opened in 1925."))
    """

    def __init__(self, guard: Guard, *, risk_table: str | Path | None = None) -> None:
        self.guard = guard
        self._risk_table = risk_table
        self._others: dict[str, Guard] = {}

    @classmethod
    def from_settings(
        cls, *, judge: Judge | str | None = None, policy: Policy | str | None = None, **settings: Any
    ) -> Self:
        """A grader as environment and settings file say, except that tests leave nothing behind.

        Knowledge is in memory, no reports are kept, and no scores are sent, unless `settings` say otherwise. Documents that were
        stored for the product are not looked up; a grader of `Guard.from_settings()` does.

        Args:
            judge: a judge, or its name.
            policy: a policy, or the name of a preset.
            settings: any field of `Settings`.

        Raises:
            ConfigError: an unknown name, or a value that makes no sense.
        """
        from vista_guard.guard import Guard
        from vista_guard.settings.sources import Settings

        apart: dict[str, Any] = {"store": "memory", "reports": None, "otel": {"scores": ()}}
        chosen = {**apart, **settings}
        guard = Guard.from_settings(judge=judge, policy=policy, **chosen)
        return cls(guard, risk_table=Settings.load(**chosen).risk_table)

    async def agrade(self, case: Case, *, policy: Policy | str | None = None) -> Verdict:
        """The verdict on a case.

        Args:
            case: what is judged.
            policy: decides in place of the guard's own.

        Raises:
            InputError: the case is over a limit.
            ConfigError: an unknown policy.
        """
        # Tools make loops as they please, some of them patched; the guard and its clients live in one.
        return await loop.through(self._graded(case, policy))

    async def _graded(self, case: Case, policy: Policy | str | None) -> Verdict:
        guard = self.guard if policy is None else self._under(policy)
        own = case.conversation.model_copy(update={"id": f"case-{uuid4().hex}"})
        try:
            return Verdict.of(await _reports(guard, case.model_copy(update={"conversation": own})))
        finally:
            await guard.aforget(own.id or "")

    def grade(self, case: Case, *, policy: Policy | str | None = None) -> Verdict:
        """Sync version of `agrade`."""
        return loop.run(self._graded(case, policy))

    def assert_grounded(
        self,
        answer: object,
        *,
        documents: GivenDocuments | None = (),
        conversation: object = None,
        policy: Policy | str | None = None,
        min_score: float | None = None,
    ) -> Verdict:
        """Fails a test whose answer its evidence does not carry.

        Args:
            answer: what the agent said, in any form that `Case.of_answer` reads.
            documents: what it leans on: a text, a Document, a mapping with `text`, or a list of these.
            conversation: what was said before: the user's words, messages, or a Conversation.
            policy: decides in place of the grader's own. The answer passes when the policy lets it through as it is.
            min_score: a least VISTA score in [0, 1], which decides in place of the policy.

        Raises:
            NotGrounded: it does not; an AssertionError whose text shows each claim with its label and quotes.
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
        loop.run(self.aclose())

    def _under(self, policy: Policy | str) -> Guard:
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
            risk_table=self._risk_table,
            telemetry=parts.telemetry,
            host_tracing=parts.host_tracing,
        )
        if name is not None:
            self._others[name] = guard
        return guard


def shared_grader(judge: str | None = None, policy: str | None = None) -> Grader:
    """The process's grader for a judge and a policy, by their names: tools that copy their metrics load no model twice.

    Raises:
        ConfigError: an unknown name.
    """
    with _making:
        return _made_grader(judge, policy)


_making = Lock()  # threads that ask at once would each make one


@lru_cache(maxsize=8)
def _made_grader(judge: str | None, policy: str | None) -> Grader:
    return Grader.from_settings(judge=judge, policy=policy)


def grader_of(grader: Grader | None, judge: str | None, policy: str | None) -> Grader:
    """The grader that was given, else the one shared by all that name the same judge and policy.

    Raises:
        ConfigError: both are given, or an unknown name.
    """
    if grader is None:
        return shared_grader(judge, policy)
    if judge is not None or policy is not None:
        from vista_guard.errors import ConfigError

        raise ConfigError(
            "both a grader and the name of a judge or policy are given; the grader has both. Leave one out"
        )
    return grader


async def _reports(guard: Guard, case: Case) -> list[TurnReport]:
    if case.turns == "last":
        return [await guard.acheck(case.conversation)]
    return [report async for report in guard.areplay(case.conversation)]


def _require_judged(verdict: Verdict, min_score: float | None) -> Verdict:
    __tracebackhide__ = True
    if not verdict.judged:
        raise NotJudged(verdict)
    if not verdict.holds(min_score):
        raise NotGrounded(verdict)
    return verdict
