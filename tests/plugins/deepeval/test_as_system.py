"""DeepEval's metrics as systems: its own base classes, and what of them comes into a report."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

from tests.lab.systems.rows import run
from tests.raising import raises
from vista_guard.errors import ConfigError
from vista_guard.testing import assistant, conversation, user
from vista_guard.types import Label
from vista_lab.logs.source import LoggedConversation, Task
from vista_lab.systems.catalogue import make_system

pytest.importorskip("deepeval", reason="deepeval is not installed here: make test-plugins")

TALK = conversation(
    user("How high is it?"),
    assistant("It is 38 metres high.", "The tower: 38 metres."),
    user("And how old?"),
    assistant("It is quite new.", "The tower: built in 1888."),
    id="talk",
)
ENTRY = LoggedConversation(TALK, {})


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DEEPEVAL_TELEMETRY_OPT_OUT", "YES")
    monkeypatch.chdir(tmp_path)  # it writes a folder where it runs


def saying(words: dict[str, float | None], **more: Any) -> Any:
    """A metric that scores by words of the answer; `fails` raises."""
    from deepeval.metrics import BaseMetric

    class Saying(BaseMetric):  # type: ignore[misc,unused-ignore]
        threshold = more.get("threshold", 0.5)
        seen: ClassVar[list[Any]] = []

        def measure(self, test_case: Any, *args: Any, **kwargs: Any) -> float:
            raise AssertionError("it is asked asynchronously")

        async def a_measure(self, test_case: Any, *args: Any, **kwargs: Any) -> float:
            self.seen.append(test_case)
            self.score = next(score for word, score in words.items() if word in test_case.actual_output)
            if self.score is not None and self.score < 0:
                raise ValueError("no model")
            self.reason = "because"
            return self.score  # type: ignore[return-value]

    return Saying()


def test_a_turn_passes_where_the_metric_was_successful() -> None:
    metric = saying({"38": 0.5, "new": 0.49})
    system = make_system("deepeval", metric=metric)
    reports = run(system, [ENTRY], turns=[1, 3])
    assert [report.findings[0].label for report in reports] == [Label.VERIFIED, Label.LACKING_EVIDENCE]
    assert reports[1].findings[0].reason == "scored 0.49 against the threshold 0.5: because"
    assert reports[1].findings[0].claim.text == "It is quite new."
    assert system.info.judge.name == "deepeval:Saying"
    assert system.info.judge.version.endswith("; threshold 0.5")
    assert [case.input for case in metric.seen] == ["How high is it?", "And how old?"]
    assert [case.retrieval_context for case in metric.seen] == [
        ["The tower: 38 metres."],
        ["The tower: built in 1888."],
    ]
    assert metric.score is None


def test_what_fails_means_is_what_the_task_looks_for() -> None:
    system = make_system("deepeval", metric=saying({"38": 1.0, "new": 0.0}), task=Task.CONTRADICTS)
    assert [report.findings[0].label for report in run(system, [ENTRY], turns=[3])] == [Label.CONTRADICTED]


@pytest.mark.parametrize(("score", "error"), [(None, "gave no score"), (-1.0, "failed: ValueError: no model")])
def test_what_is_not_scored_is_unchecked(score: float | None, error: str) -> None:
    (report,) = run(make_system("deepeval", metric=saying({"38": score})), [ENTRY], turns=[1])
    assert error in report.unchecked[0].error
    assert report.findings == ()


def test_a_class_of_the_library_is_found_by_its_name() -> None:
    system = make_system("deepeval:ExactMatchMetric")
    (report,) = run(system, [ENTRY], turns=[1])  # It wants an expected output, which nobody has.
    assert "deepeval:ExactMatchMetric failed" in report.unchecked[0].error


def test_a_conversational_metric_sees_the_conversation() -> None:
    from deepeval.metrics import BaseConversationalMetric

    class Turns(BaseConversationalMetric):  # type: ignore[misc,unused-ignore]
        threshold = 1

        def measure(self, test_case: Any, *args: Any, **kwargs: Any) -> float:
            raise AssertionError("it is asked asynchronously")

        async def a_measure(self, test_case: Any, *args: Any, **kwargs: Any) -> float:
            self.score = len(test_case.turns)
            self.reason = test_case.turns[-1].retrieval_context[0]
            return self.score

    (report,) = run(make_system("deepeval", metric=Turns(), options=None), [ENTRY], turns=[3])
    assert report.findings[0].label is Label.VERIFIED
    assert report.findings[0].claim.text == "It is quite new."


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("deepeval:NoSuchMetric", ("deepeval", "metric", "NoSuchMetric")),
        ("deepeval:no.such.module:metric", ("deepeval", "metric", "no.such.module:metric")),
        ("deepeval:PatternMatchMetric", ()),
        ("deepeval:builtins:object", ("metric", "DeepEval")),
    ],
)
def test_what_is_no_metric_is_told(name: str, said: tuple[str, ...]) -> None:
    with raises(ConfigError, *said):
        make_system(name)


def test_a_metric_without_a_threshold_neither_passes_nor_fails() -> None:
    with raises(ConfigError, "Saying", "threshold"):
        make_system("deepeval", metric=saying({}, threshold=None))


def test_nobody_is_told_of_scores_unless_the_user_says_so() -> None:
    make_system("deepeval:ExactMatchMetric")
    assert os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] == "YES"


def test_a_metric_of_ones_own_lies_where_the_command_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [one for one in sys.path if one])
    text = "from deepeval.metrics import ExactMatchMetric\nstrict = ExactMatchMetric(threshold=0.9)\nmade = ExactMatchMetric\n"
    (tmp_path / "our_metrics.py").write_text(text, encoding="utf-8")
    assert make_system("deepeval:our_metrics:strict").info.judge.version.endswith("threshold 0.9")
    assert make_system("deepeval:our_metrics:made").info.judge.version.endswith("threshold 1")
