"""The scorer in Inspect's own `eval`, with answers that were recorded: a model would fetch a table of tokens."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from tests.integrations.evals.grading import ASKED, BROKEN, FALSE, HALL, HELLO, TRUE, assert_apart, scripted
from tests.integrations.evals.page import assert_runs

pytest.importorskip("inspect_ai", reason="inspect-ai is not installed here: make test-plugins")

from inspect_ai import Task, eval_async
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import ChatMessageAssistant, ChatMessageTool, ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver
from inspect_ai.tool import ToolCall

from vista_guard.integrations.evals.inspect_ai import vista

ANSWERS = {"true": TRUE, "false": FALSE, "hello": HELLO, "broken": BROKEN}


@solver  # type: ignore[untyped-decorator]  # untyped where Inspect is not installed
def recorded(tool: bool = False, speaks: bool = True) -> Solver:
    """Says what the sample has recorded, after it asked a tool."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if tool:
            call = ToolCall(id="c1", function="look", arguments={})
            state.messages.append(ChatMessageAssistant(content="", tool_calls=[call]))
            state.messages.append(ChatMessageTool(content=HALL, tool_call_id="c1", function="look"))
        answer = state.metadata["recorded"]
        if speaks:
            state.messages.append(ChatMessageAssistant(content=answer))
        state.output = ModelOutput.from_content("recorded", answer)
        return state

    return solve


async def run(folder: Path, *solvers: Any, scorer: Any, documents: Any = (HALL,), answers: Any = None) -> EvalLog:
    samples = [
        Sample(id=name, input=ASKED, metadata={"recorded": answer, "documents": list(documents)})
        for name, answer in (answers or ANSWERS).items()
    ]
    task = Task(dataset=samples, solver=list(solvers or (recorded(),)), scorer=scorer)
    [log] = await eval_async(task, model="none/none", log_dir=str(folder))
    assert log.status == "success", log.error
    return log


async def test_scores_metrics_and_unscored_samples(tmp_path: Path) -> None:
    grader = scripted()
    log = await run(tmp_path, scorer=vista(grader=grader))
    found = {sample.id: sample.scores["vista"] for sample in log.samples or [] if sample.scores}
    assert (found["true"].value, found["false"].value) == (1.0, 0.0)
    assert [math.isnan(found[name].as_float()) for name in ("hello", "broken")] == [True, True]
    assert (found["hello"].reason, found["broken"].reason) == ("no_claims", "grader_failed")
    assert HALL in str(found["false"].explanation)
    assert found["true"].metadata is not None
    assert found["true"].metadata["claims"][0]["label"] == "VERIFIED"
    assert log.results is not None
    [total] = log.results.scores
    assert (total.scored_samples, total.unscored_samples, total.metrics["mean"].value) == (2, 2, 0.5)
    assert_apart(grader, 4)
    kept = read_eval_log(log.location)
    assert kept.samples is not None
    again = {sample.id: sample.scores["vista"] for sample in kept.samples if sample.scores}
    assert math.isnan(again["hello"].as_float())  # not 0.0, as it once came back from JSON


async def test_tools_are_evidence(tmp_path: Path) -> None:
    log = await run(
        tmp_path, recorded(tool=True), scorer=vista(grader=scripted()), documents=(), answers={"true": TRUE}
    )
    assert log.samples is not None
    assert log.samples[0].scores is not None
    score = log.samples[0].scores["vista"]
    assert score.value == 1.0
    assert score.metadata is not None
    assert score.metadata["claims"][0]["quotes"][0]["title"] == "look"


async def test_a_solver_that_only_sets_the_output(tmp_path: Path) -> None:
    log = await run(tmp_path, recorded(speaks=False), scorer=vista(grader=scripted()), answers={"true": TRUE})
    assert log.results is not None
    assert log.results.scores[0].metrics["mean"].value == 1.0


async def test_names_of_judge_and_policy_are_in_the_log(tmp_path: Path) -> None:
    answers = {"true": "The whale hall opened in 1925.", "false": "The whale hall opened in 1850."}
    log = await run(tmp_path, scorer=vista(policy="strict", turns="last"), answers=answers)
    assert log.eval.scorers is not None
    assert log.eval.scorers[0].options == {"policy": "strict", "turns": "last"}
    assert log.results is not None
    assert log.results.scores[0].metrics["mean"].value == 0.5


def test_the_example_of_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert_runs("Inspect")
