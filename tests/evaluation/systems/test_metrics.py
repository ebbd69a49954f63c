"""Metrics of other libraries as systems, held against the real libraries where they are installed."""

from __future__ import annotations

import importlib.util
import os
from typing import Any, ClassVar

import pytest

from tests.evaluation.systems.rows import run
from vista_guard.errors import ConfigError
from vista_guard.evaluation.datasets.published.dataset import Task
from vista_guard.evaluation.datasets.source import LoggedConversation
from vista_guard.evaluation.systems.catalogue import make_system
from vista_guard.evaluation.systems.metrics.loading import INSTALL
from vista_guard.testing import assistant, conversation, user
from vista_guard.types import Label

TALK = conversation(
    user("How high is it?"),
    assistant("It is 38 metres high.", "The tower: 38 metres."),
    user("And how old?"),
    assistant("It is quite new.", "The tower: built in 1888."),
    id="talk",
)
ENTRY = LoggedConversation(TALK, {})


def needs(library: str) -> None:
    """The test is skipped where the library is not installed."""
    pytest.importorskip(library, reason=f"{library} is not installed: {INSTALL[library]}")


@pytest.mark.parametrize("library", INSTALL)
def test_a_library_that_is_not_installed_is_told_with_what_installs_it(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "vista_guard.evaluation.systems.metrics.loading.find_spec",
        lambda name: None if name == library else find(name),
    )
    with pytest.raises(ConfigError) as caught:
        make_system(f"{library}:Faithfulness")
    assert str(caught.value) == f"a {library} metric needs {library}, which is not installed: {INSTALL[library]}"


class TestDeepEval:
    """DeepEval's own base classes and metrics."""

    @pytest.fixture(autouse=True)
    def _deepeval(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("DEEPEVAL_TELEMETRY_OPT_OUT", raising=False)
        monkeypatch.setenv(
            "DEEPEVAL_TELEMETRY_OPT_OUT", "YES"
        )  # as the system sets it, before the library is imported here
        needs("deepeval")

    def _saying(self, words: dict[str, float | None], **more: Any) -> Any:
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

    def test_a_turn_passes_where_the_metric_was_successful(self) -> None:
        metric = self._saying({"38": 0.5, "new": 0.49})
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

    def test_what_fails_means_is_what_the_task_looks_for(self) -> None:
        system = make_system("deepeval", metric=self._saying({"38": 1.0, "new": 0.0}), task=Task.CONTRADICTS)
        assert [report.findings[0].label for report in run(system, [ENTRY], turns=[3])] == [Label.CONTRADICTED]

    @pytest.mark.parametrize(("score", "error"), [(None, "gave no score"), (-1.0, "failed: ValueError: no model")])
    def test_what_is_not_scored_is_unchecked(self, score: float | None, error: str) -> None:
        (report,) = run(make_system("deepeval", metric=self._saying({"38": score})), [ENTRY], turns=[1])
        assert error in report.unchecked[0].error
        assert report.findings == ()

    def test_a_class_of_the_library_is_found_by_its_name(self) -> None:
        system = make_system("deepeval:ExactMatchMetric")
        (report,) = run(system, [ENTRY], turns=[1])  # It wants an expected output, which nobody has.
        assert "deepeval:ExactMatchMetric failed" in report.unchecked[0].error

    def test_a_conversational_metric_sees_the_conversation(self) -> None:
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
            ("deepeval:NoSuchMetric", "there is no deepeval metric 'NoSuchMetric'"),
            ("deepeval:no.such.module:metric", "there is no deepeval metric 'no.such.module:metric'"),
            ("deepeval:PatternMatchMetric", "cannot be made without arguments"),
            ("deepeval:builtins:object", "is no metric of DeepEval"),
        ],
    )
    def test_what_is_no_metric_is_told(self, name: str, said: str) -> None:
        with pytest.raises(ConfigError, match=said):
            make_system(name)

    def test_a_metric_without_a_threshold_neither_passes_nor_fails(self) -> None:
        with pytest.raises(ConfigError, match="Saying has no threshold"):
            make_system("deepeval", metric=self._saying({}, threshold=None))

    def test_nobody_is_told_of_scores_unless_the_user_says_so(self) -> None:
        make_system("deepeval:ExactMatchMetric")
        assert os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] == "YES"


# Ragas leaves the file open in which it keeps an id of the machine.
@pytest.mark.filterwarnings("ignore:Exception ignored in.*FileIO:pytest.PytestUnraisableExceptionWarning")
class TestRagas:
    """Ragas' own base classes and metrics."""

    @pytest.fixture(autouse=True)
    def _ragas(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RAGAS_DO_NOT_TRACK", "true")
        needs("ragas")

    def _single(self, value: Any) -> Any:
        from dataclasses import dataclass, field

        from ragas.metrics.base import MetricOutputType, MetricType, SingleTurnMetric

        @dataclass
        class Single(SingleTurnMetric):  # type: ignore[misc,unused-ignore]
            name: str = "single"
            output_type: Any = MetricOutputType.CONTINUOUS
            _required_columns: Any = field(
                default_factory=lambda: {MetricType.SINGLE_TURN: {"user_input", "response", "retrieved_contexts"}}
            )

            def init(self, run_config: Any) -> None:
                """Nothing to set up."""

            async def _single_turn_ascore(self, sample: Any, callbacks: Any) -> Any:
                assert sample.user_input == "How high is it?"
                assert sample.retrieved_contexts == ["The tower: 38 metres."]
                return value

        return Single()

    @pytest.mark.parametrize(
        ("value", "options", "label"),
        [
            (0.7, {"at_least": "0.7"}, Label.VERIFIED),
            (0.7, {"at_least": "0.71"}, Label.LACKING_EVIDENCE),
            (0.7, {"at_most": "0.3"}, Label.LACKING_EVIDENCE),
            (0.2, {"at_most": "0.3"}, Label.VERIFIED),
            ("Pass", {"passes": "pass"}, Label.VERIFIED),
            ("fail", {"passes": "pass"}, Label.LACKING_EVIDENCE),
        ],
    )
    def test_a_score_passes_as_the_user_says(self, value: Any, options: dict[str, str], label: Label) -> None:
        system = make_system("ragas", metric=self._single(value), options=options)
        (report,) = run(system, [ENTRY], turns=[1])
        assert [finding.label for finding in report.findings] == [label]
        assert next(iter(options)) in system.info.judge.version

    @pytest.mark.parametrize("value", [None, float("nan")])
    def test_what_is_not_scored_is_unchecked(self, value: float | None) -> None:
        system = make_system("ragas", metric=self._single(value), options={"at_least": "0.5"})
        (report,) = run(system, [ENTRY], turns=[1])
        assert "ragas:Single gave no score" in report.unchecked[0].error

    def test_a_multi_turn_metric_sees_conversation_and_documents(self) -> None:
        from dataclasses import dataclass, field

        from ragas.metrics.base import MetricOutputType, MetricType, MultiTurnMetric

        @dataclass
        class Multi(MultiTurnMetric):  # type: ignore[misc,unused-ignore]
            name: str = "multi"
            output_type: Any = MetricOutputType.BINARY
            _required_columns: Any = field(default_factory=lambda: {MetricType.MULTI_TURN: {"user_input"}})

            def init(self, run_config: Any) -> None:
                """Nothing to set up."""

            async def _multi_turn_ascore(self, sample: Any, callbacks: Any) -> float:
                return float(
                    sample.user_input[-2].content == "The tower: built in 1888." and len(sample.user_input) == 6
                )

        (report,) = run(make_system("ragas", metric=Multi()), [ENTRY], turns=[3])
        assert [finding.label for finding in report.findings] == [Label.VERIFIED]

    def test_a_metric_of_the_collections_gets_what_it_names(self) -> None:
        from ragas.metrics.collections.base import BaseMetric
        from ragas.metrics.result import MetricResult

        class Shared(BaseMetric):  # type: ignore[misc,unused-ignore]
            async def ascore(self, response: str, retrieved_contexts: list[str]) -> Any:
                return MetricResult(value=0.4, reason=f"{response} {retrieved_contexts[0]}")

        (report,) = run(make_system("ragas", metric=Shared(), options={"at_least": "0.5"}), [ENTRY], turns=[1])
        assert report.findings[0].reason == (
            "scored 0.4, to pass at_least 0.5: It is 38 metres high. The tower: 38 metres."
        )

    @pytest.mark.parametrize(
        ("options", "said"),
        [
            ({}, "Ragas does not say which score of Single is good enough; set at_least=0.8"),
            ({"at_least": "high"}, "the option at_least is 'high'; it must be a number"),
            ({"at_least": "1", "passes": "yes"}, "has the options at_least and passes; give one of them"),
        ],
    )
    def test_when_it_passes_must_be_said(self, options: dict[str, str], said: str) -> None:
        with pytest.raises(ConfigError, match=said):
            make_system("ragas", metric=self._single(1.0), options=options)

    def test_what_is_no_metric_is_told(self) -> None:
        with pytest.raises(ConfigError, match="is no metric of Ragas"):
            make_system("ragas:builtins:object", options={"at_least": "1"})
