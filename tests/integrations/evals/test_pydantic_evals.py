"""The evaluator in data sets of Pydantic Evals: score, assertion, label, and cases that nothing was judged in."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pytest

from tests.integrations.evals.grading import (
    ASKED,
    BROKEN,
    FALSE,
    HALL,
    HELLO,
    MIXED,
    TRUE,
    assert_apart,
    scripted,
)
from vista_guard.integrations.evals import grader as ours
from vista_guard.integrations.evals.grader import Grader

if not os.environ.get("VISTA_GUARD_REQUIRE_ALL"):
    pytest.importorskip("pydantic_evals", reason="it is not installed: pip install 'vista-guard[pydantic-evals]'")

from pydantic_evals import Case, Dataset
from pydantic_evals.reporting import EvaluationReport

from vista_guard.integrations.evals.pydantic_evals import VistaEvaluator

ANSWERS = {"true": TRUE, "false": FALSE, "hello": HELLO, "broken": BROKEN}


@dataclass(repr=False)
class Scripted(VistaEvaluator):
    """With a grader of its own."""

    def grader(self) -> Grader:
        return GRADER


GRADER = scripted()


@pytest.fixture(autouse=True)
def _own_grader() -> None:
    global GRADER
    GRADER = scripted()


def data_set(evaluator: VistaEvaluator, **cases: Any) -> Dataset[Any, Any, Any]:
    made: list[Case[Any, Any, Any]] = [
        Case(name=name, inputs={"question": ASKED, "answer": answer}, metadata={"documents": HALL})
        for name, answer in (cases or ANSWERS).items()
    ]
    return Dataset[Any, Any, Any](name="museum", cases=made, evaluators=[evaluator])


async def task(inputs: dict[str, Any]) -> Any:
    return inputs["answer"]


def told(report: EvaluationReport[Any, Any, Any]) -> dict[str, Any]:
    return {
        case.name: (
            {name: found.value for name, found in case.scores.items()},
            {name: found.value for name, found in case.assertions.items()},
            {name: found.value for name, found in case.labels.items()},
        )
        for case in report.cases
    }


async def test_scores_assertions_and_labels() -> None:
    report = await data_set(Scripted()).evaluate(task, progress=False)
    assert told(report) == {
        "true": ({"vista_score": 1.0}, {"grounded": True}, {"vista": "grounded"}),
        "false": ({"vista_score": 0.0}, {"grounded": False}, {"vista": "not grounded"}),
        "hello": ({}, {}, {"vista": "not judged"}),
        "broken": ({}, {}, {"vista": "not judged"}),
    }
    found = {case.name: case for case in report.cases}
    assert HALL in str(found["false"].assertions["grounded"].reason)
    assert "the model timed out" in str(found["broken"].labels["vista"].reason)
    averages = report.averages()
    assert averages is not None
    assert (averages.scores, averages.assertions) == ({"vista_score": 0.5}, 0.5)  # of the two that were judged
    assert_apart(GRADER, 4)


@pytest.fixture
def own_loop() -> Iterator[None]:
    """The sync door leaves open the loop that it makes where there is none."""
    with closing(asyncio.new_event_loop()) as loop:
        asyncio.set_event_loop(loop)
        yield
        asyncio.set_event_loop(None)


@pytest.mark.usefixtures("own_loop")
def test_the_sync_door_and_a_least_score() -> None:
    report = data_set(Scripted(min_score=0.5), mixed=MIXED).evaluate_sync(task, progress=False)
    assert told(report) == {"mixed": ({"vista_score": 0.5}, {"grounded": True}, {"vista": "grounded"})}
    assert {score.evaluator_version for score in report.cases[0].scores.values()} == {"scripted 1"}


async def test_a_task_that_answers_with_a_conversation() -> None:
    talk = [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": TRUE},
        {"role": "assistant", "content": FALSE},
    ]
    report = await data_set(Scripted(), talk=talk).evaluate(task, progress=False)
    assert told(report)["talk"][0] == {"vista_score": 0.5}


async def test_what_cannot_be_read_is_the_evaluators_failure() -> None:
    report = await data_set(Scripted(), five=5).evaluate(task, progress=False)
    [failure] = report.cases[0].evaluator_failures
    assert "the agent answered with int" in failure.error_message


async def test_types_of_your_own_are_read_by_a_subclass() -> None:
    @dataclass(repr=False)
    class Own(Scripted):
        def case(self, ctx: Any) -> ours.Case:
            return ours.Case.of_answer(ctx.inputs["question"], ctx.output.text, documents=HALL)

    @dataclass
    class Answer:
        text: str

    report = await data_set(Own(), own=Answer(TRUE)).evaluate(task, progress=False)
    assert told(report)["own"][0] == {"vista_score": 1.0}


def test_it_is_written_into_a_data_set_and_read_again(tmp_path: Any) -> None:
    file = tmp_path / "museum.yaml"
    data_set(VistaEvaluator(policy="strict")).to_file(file, custom_evaluator_types=[VistaEvaluator])
    read: Dataset[Any, Any, Any] = Dataset[Any, Any, Any].from_file(file, custom_evaluator_types=[VistaEvaluator])
    assert read.evaluators == [VistaEvaluator(policy="strict")]
