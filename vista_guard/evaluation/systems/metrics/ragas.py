"""Ragas' metrics (0.4): single-turn, multi-turn, and those of `ragas.metrics.collections`.

Ragas says how high a score is, not how high it must be: `at_least` or `at_most` does, and `passes` for a metric that answers
with a word. A binary metric, such as an aspect critic, needs none of them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import import_module
from inspect import Parameter, signature
from typing import Any

from vista_guard.errors import ConfigError, JudgeError
from vista_guard.evaluation.systems.metrics.judging import Case, Scored
from vista_guard.evaluation.systems.metrics.loading import load_library
from vista_guard.types import Role

OPTIONS = ("at_least", "at_most", "passes")


class RagasScorer:
    """Implements `Scorer` around a metric object of Ragas.

    Args:
        metric: with its model, where it asks one.
        options: one of `at_least`, `at_most` (numbers) and `passes` (a word); none for a binary metric.

    Raises:
        ConfigError: Ragas is not installed, this is no metric of it, or when it passes is not said.
    """

    def __init__(self, metric: Any, options: Mapping[str, str]) -> None:
        self._library = load_library("ragas")
        self._metric = metric
        self._bases = import_module("ragas.metrics.base")
        if not hasattr(metric, "ascore") and not isinstance(
            metric, self._bases.SingleTurnMetric | self._bases.MultiTurnMetric
        ):
            raise ConfigError(f"{metric!r} is no metric of Ragas; give one that scores single or multiple turns")
        self._bound = self._read(options)

    @property
    def name(self) -> str:
        return f"ragas:{type(self._metric).__name__}"

    @property
    def version(self) -> str:
        option, value = self._bound
        return f"{self._library}; {option} {value}"

    async def score(self, case: Case) -> Scored:
        """See `Scorer.score`."""
        value, why = await self._scored(case)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            raise JudgeError(f"{self.name} gave no score")
        option, bound = self._bound
        return Scored(self._passed(value), f"scored {value}, to pass {option} {bound}{f': {why}' if why else ''}")

    def _passed(self, value: Any) -> bool:
        option, bound = self._bound
        if option == "passes":
            return str(value).strip().casefold() == str(bound).casefold()
        if isinstance(value, str):
            raise JudgeError(
                f"{self.name} answers with a word ({value!r}); say which one passes with the option passes"
            )
        return float(value) >= float(bound) if option == "at_least" else float(value) <= float(bound)

    async def _scored(self, case: Case) -> tuple[Any, str | None]:
        metric, samples = self._metric, import_module("ragas.dataset_schema")
        texts = {"user_input": case.question, "response": case.answer, "retrieved_contexts": list(case.passages)}
        if isinstance(metric, self._bases.SingleTurnMetric):
            return await metric.single_turn_ascore(samples.SingleTurnSample(**texts)), None
        if isinstance(metric, self._bases.MultiTurnMetric):
            return await metric.multi_turn_ascore(samples.MultiTurnSample(user_input=_messages(case))), None
        asked = signature(metric.ascore).parameters
        takes_all = any(one.kind is Parameter.VAR_KEYWORD for one in asked.values())
        result = await metric.ascore(**{name: text for name, text in texts.items() if takes_all or name in asked})
        return result.value, result.reason

    def _read(self, options: Mapping[str, str]) -> tuple[str, str | float]:
        given = [name for name in OPTIONS if name in options]
        if len(given) > 1:
            raise ConfigError(f"{self.name} has the options {' and '.join(given)}; give one of them")
        if given == ["passes"]:
            return "passes", options["passes"]
        if given:
            return given[0], _number(given[0], options[given[0]])
        binary = getattr(self._bases.MetricOutputType, "BINARY", None)
        if getattr(self._metric, "output_type", None) is not binary or binary is None:
            raise ConfigError(
                f"Ragas does not say which score of {type(self._metric).__name__} is good enough; set at_least=0.8, "
                "at_most=0.2 or, for a metric that answers with a word, passes=WORD"
            )
        return "at_least", 1.0


def _messages(case: Case) -> list[object]:
    """The conversation as Ragas has it. The documents stand before the answer, as what a tool gave: there is no other place."""
    types = import_module("ragas.messages")
    made = {Role.USER: types.HumanMessage, Role.ASSISTANT: types.AIMessage}
    *before, answer = [made[role](content=text) for role, text in case.spoken]
    if not case.passages:
        return [*before, answer]
    call = types.AIMessage(content="", tool_calls=[types.ToolCall(name="documents", args={})])
    return [*before, call, types.ToolMessage(content="\n\n".join(case.passages)), answer]


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"the option {name} is {text!r}; it must be a number") from None
