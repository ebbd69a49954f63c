"""The metric in Ragas' own `evaluate`."""

from __future__ import annotations

import logging
import math
from typing import Any

import pytest

from tests.integrations.evals.grading import ASKED, BROKEN, FALSE, HALL, HELLO, TRUE, assert_apart, scripted
from tests.integrations.evals.page import assert_runs
from vista_guard.integrations.evals.grader import Verdict

pytest.importorskip("ragas", reason="ragas is not installed here: make test-plugins")

from ragas import EvaluationDataset, evaluate
from ragas.dataset_schema import MultiTurnSample
from ragas.messages import AIMessage, HumanMessage, ToolCall, ToolMessage

from vista_guard.integrations.evals.ragas import VistaMetric


@pytest.fixture(autouse=True)
def _silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGAS_DO_NOT_TRACK", "true")


def sample(answer: str) -> Any:
    """A conversation in which a tool was asked."""
    call = AIMessage(content="", tool_calls=[ToolCall(name="look", args={"what": "hall"})])
    return MultiTurnSample(
        user_input=[HumanMessage(content=ASKED), call, ToolMessage(content=HALL), AIMessage(content=answer)]
    )


def test_scores_averages_and_what_was_not_judged(caplog: pytest.LogCaptureFixture) -> None:
    grader, verdicts = scripted(), dict[str, Verdict]()

    def keep(judged: Any, verdict: Verdict) -> None:
        verdicts[judged.user_input[-1].content] = verdict

    answers = [TRUE, FALSE, HELLO, BROKEN]
    with caplog.at_level(logging.WARNING, "vista_guard"):
        found = evaluate(
            EvaluationDataset([sample(answer) for answer in answers]),
            metrics=[VistaMetric(grader=grader, on_verdict=keep)],
            show_progress=False,
        )
    scores = [row["vista_score"] for row in found.scores]
    assert scores[:2] == [1.0, 0.0]
    assert all(map(math.isnan, scores[2:]))
    assert repr(found) == "{'vista_score': 0.5000}"  # of the two that were judged
    assert "vista_score is NaN: not judged: no claim was found in what the assistant said" in caplog.messages
    assert [verdicts[answer].score for answer in answers] == [1.0, 0.0, None, None]
    assert [quote.title for quote in verdicts[TRUE].claims[0].quotes] == ["look"]
    assert_apart(grader, 4)


async def test_documents_in_a_messages_metadata() -> None:
    messages = [HumanMessage(content=ASKED), AIMessage(content=TRUE, metadata={"documents": [HALL]})]
    assert await VistaMetric(grader=scripted()).multi_turn_ascore(MultiTurnSample(user_input=messages)) == 1.0


def test_it_works_with_the_embedded_judge() -> None:
    metric = VistaMetric(turns="last")
    answers = ("The whale hall opened in 1925.", "The whale hall opened in 1850.")
    assert [metric.multi_turn_score(sample(answer)) for answer in answers] == [1.0, 0.0]


def test_the_example_of_the_page() -> None:
    assert_runs("Ragas")
