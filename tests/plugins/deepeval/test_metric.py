"""The metric in DeepEval's own `evaluate` and `assert_test`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integrations.evals.grading import ASKED, BROKEN, FALSE, HALL, HELLO, MIXED, TRUE, assert_apart, scripted
from tests.integrations.evals.page import assert_runs
from tests.raising import raises
from vista_guard import InputError, Label

pytest.importorskip("deepeval", reason="deepeval is not installed here: make test-plugins")

from deepeval import assert_test, evaluate
from deepeval.evaluate import AsyncConfig, DisplayConfig
from deepeval.test_case import ConversationalTestCase, RetrievedContextData, ToolCall, Turn

from vista_guard.integrations.evals.deepeval import VistaMetric

QUIET = DisplayConfig(show_indicator=False, print_results=False)


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
    monkeypatch.chdir(tmp_path)  # it writes a folder where it runs


def case(answer: str, **turn: Any) -> Any:
    evidence = turn or {"retrieval_context": [HALL]}
    return ConversationalTestCase(
        turns=[Turn(role="user", content=ASKED), Turn(role="assistant", content=answer, **evidence)]
    )


@pytest.mark.parametrize("at_once", [True, False])
def test_scores_and_cases_that_were_not_judged(at_once: bool) -> None:
    grader = scripted()
    answers = [TRUE, FALSE, MIXED, HELLO, BROKEN]
    found = evaluate(
        [case(answer) for answer in answers],
        metrics=[VistaMetric(grader=grader, threshold=0.5)],
        async_config=AsyncConfig(run_async=at_once),
        display_config=QUIET,
    )
    told = {result.turns[-1].content: result.metrics_data[0] for result in found.test_results}
    assert {answer: (told[answer].score, told[answer].success) for answer in answers} == {
        TRUE: (1.0, True),
        FALSE: (0.0, False),
        MIXED: (0.5, True),
        HELLO: (None, False),
        BROKEN: (None, False),
    }
    assert told[HELLO].error == "not judged: no claim was found in what the assistant said"
    assert "the model timed out" in told[BROKEN].error
    assert HALL in told[FALSE].reason
    assert told[TRUE].evaluation_model == "scripted 1"
    assert [told[answer].error for answer in (TRUE, FALSE, MIXED)] == [None] * 3
    assert_apart(grader, 5)


def test_no_average_takes_in_what_was_not_judged(capsys: pytest.CaptureFixture[str]) -> None:
    cases = [case(TRUE), case(FALSE), case(HELLO)]
    shown = DisplayConfig(show_indicator=False)
    evaluate(cases, metrics=[VistaMetric(grader=scripted())], display_config=shown)
    said = capsys.readouterr().out
    assert "0.50" in said.partition("Average Score")[2]
    assert "ERROR" in said
    assert "N/A" in said


def test_assert_test_says_what_is_wrong() -> None:
    assert_test(case(TRUE), [VistaMetric(grader=scripted())])
    with raises(AssertionError, "CONTRADICTED", "1.00", "1850"):
        assert_test(case(FALSE), [VistaMetric(grader=scripted())])
    with pytest.raises(AssertionError, match="error: not judged: no claim was found"):
        assert_test(case(HELLO), [VistaMetric(grader=scripted())])


EVIDENCE = {
    "with its source": {"retrieval_context": [RetrievedContextData(context=HALL, source="guide")]},
    "of a tool": {"tools_called": [ToolCall(name="look", output=HALL)]},
}


@pytest.mark.parametrize("evidence", EVIDENCE.values(), ids=EVIDENCE)
def test_evidence_of_a_turn(evidence: Any) -> None:
    metric = VistaMetric(grader=scripted())
    assert metric.measure(case(TRUE, **evidence)) == 1.0
    assert metric.verdict is not None
    assert [quote.title for quote in metric.verdict.claims[0].quotes] == [
        "guide" if "retrieval_context" in evidence else "look"
    ]


async def test_evidence_of_the_case_and_of_earlier_turns() -> None:
    turns = [Turn(role="assistant", content=said) for said in (TRUE, HELLO, TRUE)]
    metric = VistaMetric(grader=scripted())
    assert await metric.a_measure(ConversationalTestCase(turns=turns, context=[HALL])) == 1.0
    assert metric.verdict is not None
    assert [(claim.turn, claim.label) for claim in metric.verdict.claims] == [(0, Label.VERIFIED), (2, Label.VERIFIED)]
    assert metric.is_successful()


def test_a_metric_that_is_used_again_forgets_its_last_error() -> None:
    metric = VistaMetric(grader=scripted())
    found = [(metric.measure(case(answer)), metric.is_successful(), metric.error) for answer in (HELLO, TRUE)]
    assert found == [(None, False, "not judged: no claim was found in what the assistant said"), (1.0, True, None)]


def test_a_case_without_an_assistant_is_an_error() -> None:
    with pytest.raises(InputError):
        VistaMetric(grader=scripted()).measure(ConversationalTestCase(turns=[Turn(role="user", content=ASKED)]))


def test_it_works_with_the_embedded_judge() -> None:
    metrics = {
        answer: VistaMetric(turns="last")
        for answer in ("The whale hall opened in 1925.", "The whale hall opened in 1850.")
    }
    assert [metric.measure(case(answer)) for answer, metric in metrics.items()] == [1.0, 0.0]


def test_the_example_of_the_page() -> None:
    assert_runs("DeepEval")
