"""Ragas' metrics as systems: its own base classes, and what of them comes into a report."""

from __future__ import annotations

from typing import Any

import pytest

from tests.lab.systems.rows import run
from tests.raising import raises
from vista_guard.errors import ConfigError
from vista_guard.testing import assistant, conversation, user
from vista_guard.types import Label
from vista_lab.logs.source import LoggedConversation
from vista_lab.systems.catalogue import make_system

pytest.importorskip("ragas", reason="ragas is not installed here: make test-plugins")

TALK = conversation(
    user("How high is it?"),
    assistant("It is 38 metres high.", "The tower: 38 metres."),
    user("And how old?"),
    assistant("It is quite new.", "The tower: built in 1888."),
    id="talk",
)
ENTRY = LoggedConversation(TALK, {})


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAGAS_DO_NOT_TRACK", "true")


def single(value: Any) -> Any:
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
def test_a_score_passes_as_the_user_says(value: Any, options: dict[str, str], label: Label) -> None:
    system = make_system("ragas", metric=single(value), options=options)
    (report,) = run(system, [ENTRY], turns=[1])
    assert [finding.label for finding in report.findings] == [label]
    assert next(iter(options)) in system.info.judge.version


@pytest.mark.parametrize("value", [None, float("nan")])
def test_what_is_not_scored_is_unchecked(value: float | None) -> None:
    system = make_system("ragas", metric=single(value), options={"at_least": "0.5"})
    (report,) = run(system, [ENTRY], turns=[1])
    assert "ragas:Single gave no score" in report.unchecked[0].error


def test_a_multi_turn_metric_sees_conversation_and_documents() -> None:
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
            return float(sample.user_input[-2].content == "The tower: built in 1888." and len(sample.user_input) == 6)

    (report,) = run(make_system("ragas", metric=Multi()), [ENTRY], turns=[3])
    assert [finding.label for finding in report.findings] == [Label.VERIFIED]


def test_a_metric_of_the_collections_gets_what_it_names() -> None:
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
        ({}, ("Single", "at_least")),
        ({"at_least": "high"}, ("at_least", "high")),
        ({"at_least": "1", "passes": "yes"}, ("at_least", "passes")),
    ],
)
def test_when_it_passes_must_be_said(options: dict[str, str], said: tuple[str, ...]) -> None:
    with raises(ConfigError, *said):
        make_system("ragas", metric=single(1.0), options=options)


def test_what_is_no_metric_is_told() -> None:
    with raises(ConfigError, "Ragas"):
        make_system("ragas:builtins:object", options={"at_least": "1"})
