"""Metrics of DeepEval (4.x) and Ragas (0.4), found by name, as judges of whole turns: a turn passes or fails.

What a metric cannot score is unchecked.
"""

from __future__ import annotations

import copy
import math
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from inspect import Parameter, signature
from pathlib import Path
from typing import Any, Protocol

from vista_guard._extras import how_to_install, require
from vista_guard.errors import ConfigError, JudgeError
from vista_guard.judges.contract import meter
from vista_guard.types import Check, Claim, EvidenceSet, JudgeInfo, Label, Role, Turn, Unchecked, Usage
from vista_lab.logs.source import Task
from vista_lab.systems.protocol import POSITIVE, LabellingJudge, labelled_check


@dataclass(frozen=True)
class MetricCase:
    """The input of a metric: the answer, the passages of its documents, and the turns before it."""

    answer: str
    passages: tuple[str, ...]
    history: tuple[Turn, ...]

    @property
    def question(self) -> str:
        """The user's last message before the answer; empty when there is none."""
        return next((turn.text for turn in reversed(self.history) if turn.role is Role.USER), "")

    @property
    def messages(self) -> list[tuple[Role, str]]:
        """The user's and the assistant's messages, with the answer at the end."""
        earlier = [(turn.role, turn.text) for turn in self.history if turn.role in (Role.USER, Role.ASSISTANT)]
        return [*earlier, (Role.ASSISTANT, self.answer)]


class Scorer(Protocol):
    """A metric behind its library's API."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str:
        """The library's version, with the metric's threshold and model."""
        ...

    async def score(self, case: MetricCase) -> tuple[bool, str]:
        """True if an answer passes, and the reason with its score. Any exception makes the turn unchecked."""
        ...


class MetricJudge(LabellingJudge):
    """Implements `Judge`: the one claim is the turn, and a turn that fails is what the task looks for.

    A guard shows it the conversation with `context="full"`.
    """

    def __init__(self, scorer: Scorer, task: Task) -> None:
        self._scorer = scorer
        self._label = POSITIVE[task]
        self.info = JudgeInfo(name=scorer.name, version=scorer.version)

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """Scores the turn, its only claim."""
        return [await self._score_turn(claim, evidence) for claim in claims]

    async def _score_turn(self, claim: Claim, evidence: EvidenceSet) -> Check | Unchecked:
        case = MetricCase(claim.text, tuple(passage.text for passage in evidence.documents), evidence.history)
        try:
            passed, why = await self._scorer.score(case)
        except JudgeError as exc:
            return Unchecked(claim=claim, error=str(exc))
        except Exception as exc:
            # Third-party code: whatever it raises, the turn was not scored.
            return Unchecked(claim=claim, error=f"{self.info.name} failed: {type(exc).__name__}: {exc}")
        return labelled_check(claim, Label.VERIFIED if passed else self._label, why)


_UNTRACKED: Mapping[str, tuple[str, str]] = {
    "deepeval": ("DEEPEVAL_TELEMETRY_OPT_OUT", "YES"),
    "ragas": ("RAGAS_DO_NOT_TRACK", "true"),
}
"""Variables that turn off a library's telemetry. A user's own values are kept."""


def load_library(library: str) -> str:
    """Imports the library with its telemetry off, and returns its version.

    Raises ConfigError if it is not installed, or cannot be imported; says what installs it.
    """
    require(f"a {library} metric", library, extra=library)
    os.environ.setdefault(*_UNTRACKED[library])
    try:
        import_module(library)
    except ImportError as exc:
        raise ConfigError(f"{library} cannot be imported: {exc}. Try: {how_to_install(library)}") from exc
    return version(library)


def load_metric(library: str, name: str) -> object:
    """A metric of `deepeval` or `ragas`, which is imported already.

    `name` is a class of `LIBRARY.metrics`, or `MODULE:NAME` for a metric, its class, or a function that makes one. Raises
    ConfigError if there is none, or it cannot be made without arguments.
    """
    module, _, attribute = name.rpartition(":")
    try:
        candidate = import_named(module or f"{library}.metrics", attribute)
    except (ImportError, AttributeError, ValueError) as exc:
        how = f"Name a class of {library}.metrics, or MODULE:NAME for a metric of your own"
        raise ConfigError(f"{library} metric {name!r} does not exist: {exc}. {how}") from exc
    if not isinstance(candidate, type) and _is_metric(candidate):
        return candidate
    try:
        metric: object = candidate()  # type: ignore[operator]  # a class, or a function of the user's
    except Exception as exc:
        how = f"Write a module that makes it, and name it {library}:MODULE:NAME"
        why = f"cannot be made without arguments: {type(exc).__name__}: {exc}"
        raise ConfigError(f"the {library} metric {name!r} {why}. {how}") from exc
    return metric


command_folders: list[str] = []
"""Where the command was run that this process works for, if it works elsewhere."""


def import_named(module: str, attribute: str) -> object:
    """An object of a library, or of a user's module in the folder where the command is run.

    Raises ImportError, AttributeError, ValueError if there is none.
    """
    for folder in (str(Path.cwd()), *command_folders):
        if folder not in sys.path:
            sys.path.append(folder)  # behind the libraries: a file of the folder must not take the place of one
    target: object = import_module(module)
    for part in attribute.split("."):
        target = getattr(target, part)
    return target


def _is_metric(candidate: object) -> bool:
    return any(hasattr(candidate, name) for name in ("a_measure", "single_turn_ascore", "multi_turn_ascore", "ascore"))


_QUIET = {"_show_indicator": False, "_log_metric_to_confident": False}
"""No progress bar for each turn, and nothing sent to DeepEval's service, where a metric's `a_measure` can be told so."""


class DeepEvalScorer:
    """Implements `Scorer` around a metric object of DeepEval, with a threshold and a model of its own.

    Raises ConfigError if DeepEval is not installed, or this is no metric of it, or one without a threshold.
    """

    def __init__(self, metric: Any) -> None:
        self._library = load_library("deepeval")
        bases = import_module("deepeval.metrics")
        self._conversational = isinstance(metric, bases.BaseConversationalMetric)
        if not self._conversational and not isinstance(metric, bases.BaseMetric):
            raise ConfigError(f"{metric!r} is not a DeepEval metric; give a BaseMetric or a BaseConversationalMetric")
        if metric.threshold is None:
            raise ConfigError(f"{type(metric).__name__} has no threshold; set one, so that turns can pass or fail")
        self._metric = metric
        parameters = signature(metric.a_measure).parameters
        self._quiet = {name: value for name, value in _QUIET.items() if name in parameters}

    @property
    def name(self) -> str:
        return f"deepeval:{type(self._metric).__name__}"

    @property
    def version(self) -> str:
        model = self._metric.evaluation_model
        return f"{self._library}; threshold {self._metric.threshold:g}" + (f"; {model}" if model else "")

    async def score(self, case: MetricCase) -> tuple[bool, str]:
        metric = copy.copy(self._metric)  # it keeps its score in itself, and several turns are scored at once
        await metric.a_measure(self._test_case(case), **self._quiet)
        _book(metric)
        passed = None if metric.skipped or metric.score is None else metric.is_successful()
        if passed is None:
            raise JudgeError(f"{self.name} gave no score{f': {metric.error}' if metric.error else ''}")
        why = f": {metric.reason}" if metric.reason else ""
        return bool(passed), f"scored {metric.score:.2f} against the threshold {metric.threshold:g}{why}"

    def _test_case(self, case: MetricCase) -> object:
        types = import_module("deepeval.test_case")
        passages = list(case.passages)
        if not self._conversational:
            texts = {"context": passages, "retrieval_context": passages}
            return types.LLMTestCase(input=case.question, actual_output=case.answer, **texts)
        *before, (role, answer) = [(str(role), text) for role, text in case.messages]
        turns = [types.Turn(role=speaker, content=text) for speaker, text in before]
        last = types.Turn(role=role, content=answer, retrieval_context=passages)
        return types.ConversationalTestCase(turns=[*turns, last])


def _book(metric: Any) -> None:
    """Adds the metric's usage to the turn's meter. The number of calls is not known."""
    usage = {"input_tokens": metric.input_tokens, "output_tokens": metric.output_tokens, "cost": metric.evaluation_cost}
    meter().add(Usage(**{name: value for name, value in usage.items() if isinstance(value, int | float) and value > 0}))


OPTIONS = ("at_least", "at_most", "passes")


class RagasScorer:
    """Implements `Scorer` around a metric object of Ragas, which brings its model where it asks one.

    `options` has one of `at_least`, `at_most` (numbers) and `passes` (a word); none for a binary metric. Raises ConfigError if
    Ragas is not installed, this is no metric of it, or when it passes is not said.
    """

    def __init__(self, metric: Any, options: Mapping[str, str]) -> None:
        self._library = load_library("ragas")
        self._metric = metric
        self._bases = import_module("ragas.metrics.base")
        kinds = (self._bases.SingleTurnMetric, self._bases.MultiTurnMetric)
        if not hasattr(metric, "ascore") and not isinstance(metric, kinds):
            raise ConfigError(f"{metric!r} is not a Ragas metric; give one that scores single or multiple turns")
        self._bound = self._read(options)

    @property
    def name(self) -> str:
        return f"ragas:{type(self._metric).__name__}"

    @property
    def version(self) -> str:
        option, value = self._bound
        return f"{self._library}; {option} {value}"

    async def score(self, case: MetricCase) -> tuple[bool, str]:
        value, why = await self._ask_metric(case)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            raise JudgeError(f"{self.name} gave no score")
        option, bound = self._bound
        return self._passes(value), f"scored {value}, to pass {option} {bound}{f': {why}' if why else ''}"

    def _passes(self, value: Any) -> bool:
        option, bound = self._bound
        if option == "passes":
            return str(value).strip().casefold() == str(bound).casefold()
        if isinstance(value, str):
            raise JudgeError(f"{self.name} answers with a word ({value!r}); set passes=WORD to the word that passes")
        return float(value) >= float(bound) if option == "at_least" else float(value) <= float(bound)

    async def _ask_metric(self, case: MetricCase) -> tuple[Any, str | None]:
        metric, samples = self._metric, import_module("ragas.dataset_schema")
        texts = {"user_input": case.question, "response": case.answer, "retrieved_contexts": list(case.passages)}
        if isinstance(metric, self._bases.SingleTurnMetric):
            return await metric.single_turn_ascore(samples.SingleTurnSample(**texts)), None
        if isinstance(metric, self._bases.MultiTurnMetric):
            return await metric.multi_turn_ascore(samples.MultiTurnSample(user_input=_messages(case))), None
        parameters = signature(metric.ascore).parameters
        takes_all = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values())
        result = await metric.ascore(**{name: text for name, text in texts.items() if takes_all or name in parameters})
        return result.value, result.reason

    def _read(self, options: Mapping[str, str]) -> tuple[str, str | float]:
        names = [name for name in OPTIONS if name in options]
        if len(names) > 1:
            raise ConfigError(f"{self.name} has the options {' and '.join(names)}; give one of them")
        if names == ["passes"]:
            return "passes", options["passes"]
        if names:
            try:
                return names[0], float(options[names[0]])
            except ValueError:
                raise ConfigError(f"the option {names[0]} is {options[names[0]]!r}; it must be a number") from None
        binary = getattr(self._bases.MetricOutputType, "BINARY", None)
        if getattr(self._metric, "output_type", None) is not binary or binary is None:
            how = "set at_least=0.8, at_most=0.2 or, for a metric that answers with a word, passes=WORD"
            raise ConfigError(f"Ragas does not say which score of {type(self._metric).__name__} is good enough; {how}")
        return "at_least", 1.0


def _messages(case: MetricCase) -> list[object]:
    """The conversation as Ragas has it. The documents precede the answer as a tool's output, their only place there."""
    types = import_module("ragas.messages")
    classes = {Role.USER: types.HumanMessage, Role.ASSISTANT: types.AIMessage}
    *before, answer = [classes[role](content=text) for role, text in case.messages]
    if not case.passages:
        return [*before, answer]
    call = types.AIMessage(content="", tool_calls=[types.ToolCall(name="documents", args={})])
    return [*before, call, types.ToolMessage(content="\n\n".join(case.passages)), answer]
