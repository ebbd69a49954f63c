"""A scorer for Inspect. Needs the extra `inspect`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from vista_guard._extras import how_to_install
from vista_guard.errors import ConfigError
from vista_guard.integrations.evals.grader import Case, Grader, Turns, grader_of

try:
    from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
except ImportError as exc:
    raise ConfigError(f"the Inspect scorer needs inspect_ai 0.3.x ({exc}): {how_to_install('inspect')}") from exc

if TYPE_CHECKING:
    from inspect_ai.solver import TaskState

    from vista_guard.integrations.evals.grader import Verdict


@scorer(metrics=[mean(), stderr()])  # type: ignore[untyped-decorator]  # untyped where Inspect is not installed
def vista(
    judge: str | None = None, policy: str | None = None, turns: Turns = "all", grader: Grader | None = None
) -> Scorer:
    """The VISTA score of a sample: the share of the assistant's claims that its evidence supports.

    Evidence are `documents` (or `context`) in the sample's metadata, what tools answered, and what the assistant established in
    earlier turns. Where nothing is judged the sample is unscored: Inspect keeps explanation and reason, leaves it out of its
    metrics and counts it among `unscored_samples`.

    Args:
        judge: the judge's name; from the settings when not given.
        policy: a preset's name. It decides what the conversation remembers, and `passed` in the score's metadata.
        turns: assistant turns to judge.
        grader: your own grader, in place of judge and policy. Inspect's log shows it only as the word Grader.

    Example:
        Task(dataset=[Sample(input="When did it open?", metadata={"documents": [HALL]})], scorer=vista(policy="strict"))
    """

    async def score(state: TaskState, target: Target) -> Score:
        verdict = await grader_of(grader, judge, policy).agrade(_case(state, turns))
        return _score(verdict, state)

    return score


def _score(verdict: Verdict, state: TaskState) -> Score:
    fields: dict[str, Any] = {
        "answer": state.output.completion or None,
        "explanation": verdict.details(),
        "metadata": verdict.metadata(),
    }
    if verdict.score is None:
        return Score.unscored(reason="grader_failed" if verdict.claims else "no_claims", **fields)
    return Score(value=verdict.score, **fields)


def _case(state: TaskState, turns: Turns) -> Case:
    messages = [_message(message) for message in state.messages]
    if state.output.completion and all(message["role"] != "assistant" for message in messages):
        # A solver that sets the output alone.
        messages.append({"role": "assistant", "content": state.output.completion})
    documents = state.metadata.get("documents") or state.metadata.get("context")
    return Case.of_transcript(messages, documents=documents, turns=turns)


def _message(message: Any) -> Mapping[str, object]:
    fields: dict[str, object] = {"role": message.role, "content": message.text}
    if message.role == "tool":
        return {**fields, "name": message.function, "tool_call_id": message.tool_call_id}
    if message.role == "assistant" and message.tool_calls:
        calls = [{"id": call.id, "function": {"name": call.function}} for call in message.tool_calls]
        return {**fields, "tool_calls": calls}
    return fields
