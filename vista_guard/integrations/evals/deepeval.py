"""A conversational metric for DeepEval. Needs the extra `deepeval`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vista_guard._extras import how_to_install
from vista_guard.errors import ConfigError
from vista_guard.integrations.evals.grader import Case, Grader, Turns, grader_of

try:
    from deepeval.metrics import BaseConversationalMetric
except ImportError as exc:
    raise ConfigError(f"the DeepEval metric needs deepeval 4.x ({exc}): {how_to_install('deepeval')}") from exc

if TYPE_CHECKING:
    from deepeval.test_case import ConversationalTestCase
    from deepeval.test_case import Turn as DeepEvalTurn

    from vista_guard.integrations.evals.grader import Verdict


class VistaMetric(BaseConversationalMetric):  # type: ignore[misc]  # untyped where DeepEval is not installed
    """The VISTA score of a conversation: the share of the assistant's claims that its evidence supports.

    Evidence of a turn are its `retrieval_context`, the outputs of its `tools_called`, the test case's `context`, and what the
    assistant established in earlier turns. Where nothing is judged, there is no score but an `error` that begins with "not
    judged": DeepEval counts the case as an error and leaves it out of averages.

    Args:
        judge: the judge's name; from the settings when not given.
        policy: a preset's name. It decides what the conversation remembers, and `verdict.passed`.
        threshold: least score in [0, 1] with which the case passes; 1.0 asks that every judged claim is safe.
        turns: assistant turns to judge.
        grader: your own grader, in place of judge and policy.
        async_mode: let DeepEval measure several metrics at once.

    Attributes:
        verdict: the verdict on the last measured case.

    Example:
        evaluate([ConversationalTestCase(turns=[…])], metrics=[VistaMetric(policy="strict")])
    """

    def __init__(
        self,
        *,
        judge: str | None = None,
        policy: str | None = None,
        threshold: float = 1.0,
        turns: Turns = "all",
        grader: Grader | None = None,
        async_mode: bool = True,
    ) -> None:
        # DeepEval copies a metric for each case: by the attributes that are named as these arguments are.
        self.judge, self.policy, self.threshold, self.turns = judge, policy, threshold, turns
        self.grader, self.async_mode = grader, async_mode
        self.verdict: Verdict | None = None

    def measure(self, test_case: ConversationalTestCase, *args: Any, **kwargs: Any) -> float | None:
        """Judges the conversation; the score, or None where nothing was judged.

        Raises:
            InputError: no assistant speaks in it, or it is over a limit.
        """
        return self._take(self._grader().grade(self.case(test_case)))

    async def a_measure(self, test_case: ConversationalTestCase, *args: Any, **kwargs: Any) -> float | None:
        """Async version of `measure`."""
        return self._take(await self._grader().agrade(self.case(test_case)))

    def is_successful(self) -> bool:
        """True if the last measured case passed. False if nothing was judged."""
        self.success = self.error is None and bool(self.verdict and self.verdict.holds(self.threshold))
        return self.success

    def case(self, test_case: ConversationalTestCase) -> Case:
        """The case of a DeepEval test case; override it if the evidence is elsewhere."""
        messages = [_message(turn) for turn in test_case.turns]
        return Case.of_transcript(messages, documents=test_case.context, turns=self.turns)

    @property
    def __name__(self) -> str:
        return "VISTA"

    def _grader(self) -> Grader:
        return grader_of(self.grader, self.judge, self.policy)

    def _take(self, verdict: Verdict) -> float | None:
        self.verdict, self.score, self.reason = verdict, verdict.score, verdict.details()
        self.error = None if verdict.judged else verdict.reason
        judge = verdict.reports[-1].judge
        self.evaluation_model = f"{judge.name} {judge.version}"
        self.is_successful()
        return verdict.score


def _message(turn: DeepEvalTurn) -> dict[str, object]:
    documents = [_document(context) for context in turn.retrieval_context or ()]
    calls = [call for call in turn.tools_called or () if call.output is not None]
    documents += [{"text": str(call.output), "title": call.name} for call in calls]
    return {"role": turn.role, "content": turn.content, "documents": documents}


def _document(context: object) -> Mapping[str, object]:
    if isinstance(context, str):
        return {"text": context}
    return {"text": getattr(context, "context", ""), "title": getattr(context, "source", None)}
