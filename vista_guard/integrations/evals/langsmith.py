"""An evaluator for LangSmith and openevals: a plain function, which needs neither of them.

The guard's own runs are no runs of LangSmith: nothing of a conversation is sent but the evaluator's answer, with its quotes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from vista_guard.errors import InputError
from vista_guard.integrations.evals.grader import Case, Grader, Turns, grader_of

if TYPE_CHECKING:
    from vista_guard.integrations.evals.grader import Verdict
    from vista_guard.reading.chat_json import GivenDocuments

KEY = "vista_score"

Read = Callable[[Any, Any, Any], Case]
"""Makes a case of a run's inputs, its outputs and the data set's reference outputs."""


RunEvaluator = Callable[..., dict[str, Any]]
"""An evaluator as LangSmith and openevals call it: with the keywords `outputs`, and maybe `inputs` and `reference_outputs`."""

AsyncRunEvaluator = Callable[..., Awaitable[dict[str, Any]]]


def vista_evaluator(
    *,
    judge: str | None = None,
    policy: str | None = None,
    turns: Turns = "all",
    documents: GivenDocuments | None = None,
    read: Read | None = None,
    grader: Grader | None = None,
) -> RunEvaluator:
    """A function for `langsmith.evaluate(…, evaluators=[…])` and `run_multiturn_simulation(trajectory_evaluators=[…])`.

    It answers with `key`, `score`, `comment` and `metadata`. Where nothing was judged `score` is None, which averages leave out,
    and `comment` begins with "not judged". So it does for unreadable runs: openevals prints an evaluator's exception and
    goes on without it.

    Args:
        judge: the judge's name; from the settings when not given.
        policy: a preset's name; it decides `passed` in the metadata.
        turns: assistant turns of a trajectory to judge.
        documents: evidence for every case, besides tool answers and the `documents` or `context` of inputs, outputs and
            reference outputs.
        read: reads a run in place of `Case.of_run`.
        grader: your own grader, in place of judge and policy.

    Examples:
        >>> evaluator = vista_evaluator(policy="strict", documents="The hall opened in 1925.")
        >>> evaluator(inputs="When did the hall open?", outputs="The hall opened in 1925.")["score"]
        1.0
    """
    get_grader, make_case = partial(grader_of, grader, judge, policy), read or _reader(documents, turns)

    def vista(*, inputs: Any = None, outputs: Any, reference_outputs: Any = None) -> dict[str, Any]:
        try:
            return _result(get_grader().grade(make_case(inputs, outputs, reference_outputs)))
        except InputError as exc:
            return _unreadable_result(exc)

    return vista


def async_vista_evaluator(
    *,
    judge: str | None = None,
    policy: str | None = None,
    turns: Turns = "all",
    documents: GivenDocuments | None = None,
    read: Read | None = None,
    grader: Grader | None = None,
) -> AsyncRunEvaluator:
    """Async version of `vista_evaluator`, for `langsmith.aevaluate` and `run_multiturn_simulation_async`."""
    get_grader, make_case = partial(grader_of, grader, judge, policy), read or _reader(documents, turns)

    async def vista(*, inputs: Any = None, outputs: Any, reference_outputs: Any = None) -> dict[str, Any]:
        try:
            return _result(await get_grader().agrade(make_case(inputs, outputs, reference_outputs)))
        except InputError as exc:
            return _unreadable_result(exc)

    return vista


def _reader(documents: GivenDocuments | None, turns: Turns) -> Read:
    from vista_guard.reading.chat_json import given_documents, read_documents

    shared_documents = given_documents(documents)

    def read(inputs: Any, outputs: Any, reference_outputs: Any) -> Case:
        reference = read_documents(reference_outputs) if isinstance(reference_outputs, Mapping) else ()
        return Case.of_run(inputs, outputs, documents=(*shared_documents, *reference), turns=turns)

    return read


def _result(verdict: Verdict) -> dict[str, Any]:
    # No `value` where there is no score: LangSmith puts either into one column, and words in it have no mean.
    return {"key": KEY, "score": verdict.score, "comment": verdict.details(), "metadata": verdict.metadata()}


def _unreadable_result(error: InputError) -> dict[str, Any]:
    return {"key": KEY, "score": None, "comment": f"not judged: {error}", "metadata": None}
