"""DeepEval's metrics (4.x), single-turn and conversational: a turn passes where the metric says that it was successful."""

from __future__ import annotations

import copy
from importlib import import_module
from inspect import signature
from typing import Any

from vista_guard.errors import ConfigError, JudgeError
from vista_guard.evaluation.systems.metrics.judging import Case, Scored
from vista_guard.evaluation.systems.metrics.loading import load_library
from vista_guard.judges.metering import meter
from vista_guard.types import Usage

_QUIET = {"_show_indicator": False, "_log_metric_to_confident": False}
"""No progress bar for each turn, and nothing sent to DeepEval's service, where a metric's `a_measure` can be told so."""


class DeepEvalScorer:
    """Implements `Scorer` around a metric object of DeepEval.

    Args:
        metric: with a threshold; its model is the metric's own.

    Raises:
        ConfigError: DeepEval is not installed, or this is no metric of it, or one without a threshold.
    """

    def __init__(self, metric: Any) -> None:
        self._library = load_library("deepeval")
        bases = import_module("deepeval.metrics")
        self._conversational = isinstance(metric, bases.BaseConversationalMetric)
        if not self._conversational and not isinstance(metric, bases.BaseMetric):
            raise ConfigError(f"{metric!r} is no metric of DeepEval; give a BaseMetric or a BaseConversationalMetric")
        if metric.threshold is None:
            raise ConfigError(f"{type(metric).__name__} has no threshold, so nothing passes or fails; give it one")
        self._metric = metric
        asked = signature(metric.a_measure).parameters
        self._quiet = {name: value for name, value in _QUIET.items() if name in asked}

    @property
    def name(self) -> str:
        return f"deepeval:{type(self._metric).__name__}"

    @property
    def version(self) -> str:
        model = self._metric.evaluation_model
        return f"{self._library}; threshold {self._metric.threshold:g}" + (f"; {model}" if model else "")

    async def score(self, case: Case) -> Scored:
        """See `Scorer.score`."""
        metric = copy.copy(self._metric)  # it keeps its score in itself, and several turns are scored at once
        await metric.a_measure(self._test_case(case), **self._quiet)
        _book(metric)
        passed = None if metric.skipped or metric.score is None else metric.is_successful()
        if passed is None:
            raise JudgeError(f"{self.name} gave no score{f': {metric.error}' if metric.error else ''}")
        why = f": {metric.reason}" if metric.reason else ""
        return Scored(bool(passed), f"scored {metric.score:.2f} against the threshold {metric.threshold:g}{why}")

    def _test_case(self, case: Case) -> object:
        types = import_module("deepeval.test_case")
        passages = list(case.passages)
        if not self._conversational:
            texts = {"context": passages, "retrieval_context": passages}
            return types.LLMTestCase(input=case.question, actual_output=case.answer, **texts)
        *before, (role, answer) = [(str(role), text) for role, text in case.spoken]
        turns = [types.Turn(role=speaker, content=text) for speaker, text in before]
        last = types.Turn(role=role, content=answer, retrieval_context=passages)
        return types.ConversationalTestCase(turns=[*turns, last])


def _book(metric: Any) -> None:
    """Tells the turn's meter what the metric says it used. How many calls that were it does not say."""
    told = {"input_tokens": metric.input_tokens, "output_tokens": metric.output_tokens, "cost": metric.evaluation_cost}
    meter().add(Usage(**{name: value for name, value in told.items() if isinstance(value, int | float) and value > 0}))
