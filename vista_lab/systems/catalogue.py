"""All systems by name, and orders for one: plain values that another process can build it from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

from vista_guard.errors import ConfigError
from vista_guard.judges.model import ChatModel, ModelJudge, ModelOptions
from vista_guard.protocols import Judge
from vista_guard.types import Label
from vista_lab.logs.source import Task
from vista_lab.registry import load, named
from vista_lab.systems.baselines import THRESHOLD, Majority, Overlap
from vista_lab.systems.evidence import ClaimEvidence, EvidenceOrder
from vista_lab.systems.fact_check import DEFAULTS as FACT_CHECK
from vista_lab.systems.fact_check import FactCheck, fact_check_limits, read_options
from vista_lab.systems.guarded import GuardSystem
from vista_lab.systems.metrics import OPTIONS as RAGAS_OPTIONS
from vista_lab.systems.metrics import DeepEvalScorer, MetricJudge, RagasScorer, load_library, load_metric
from vista_lab.systems.protocol import with_cost
from vista_lab.systems.recipes import Ablated, Order, SystemRecipe, build
from vista_lab.systems.turn_judges import FActScore, LLMJudge

_SUPPORT = frozenset({Task.UNVERIFIABLE, Task.UNSUPPORTED})


def make_system(
    name: str,
    *,
    task: Task = Task.UNVERIFIABLE,
    options: Mapping[str, str] | None = None,
    metric: object = None,
    evidence: EvidenceOrder | ClaimEvidence | None = None,
    **guard_settings: Any,
) -> GuardSystem:
    """A system by its name, as `vista-guard eval --system` takes it.

        system = make_system("factscore", judge="openai:gpt-4o-mini")

    Args:
        name: one of `names()`; `deepeval:METRIC` and `ragas:METRIC` name a class of the library's metrics, or `MODULE:NAME` for
            a metric of one's own.
        task: which turns the data set looks for. LLM-as-Judge asks another question for each.
        options: the system's own: `label` of `majority`; `threshold` of `overlap`, and `source`, which says where it is from;
            `at_least`, `at_most` or `passes` of a Ragas metric. `fit` finds those of `majority` and `overlap`.
        metric: the metric itself, with a name that is only `deepeval` or `ragas`.
        evidence: where the evidence of each claim is found; turns are held against their own documents when None.
        guard_settings: as of `Guard.from_settings`: `judge`, `verifier`, `decomposer`, `embedder`, `policy` (`monitor` when not
            given), `persona`, `documents`, `model`, `judge_cache` and the like. Systems that ask no judge take one and leave it
            alone.

    Examples:
        >>> make_system("majority", options={"label": "VERIFIED"}).info.name
        'majority'

    Raises:
        ConfigError: an unknown name, option or setting; a data set that it can say nothing about; a system that needs a model,
            and a judge that is none; a library that is not installed.
    """
    kind, colon, _ = name.partition(":")
    if name not in systems() and not (kind in METRICS and (bool(colon) or metric is not None)):
        raise ConfigError(f"system {name!r} is unknown; the systems are {', '.join(names())}")
    recipe = {**systems(), **METRICS}[kind]
    return build(recipe, name, task, dict(options or recipe.defaults), metric, guard_settings, evidence=evidence)


def names() -> list[str]:
    """The systems that there are; METRIC stands for the metrics of a library.

    Examples:
        >>> names()[:2]
        ['vista', 'vista+ctx']
    """
    return [*systems(), *(f"{library}:METRIC" for library in METRICS)]


def asks_judge(name: str) -> bool:
    """True when the system asks the configured judge. Others judge by themselves, or ask a model of their own."""
    recipe = {**systems(), **METRICS}.get(name.partition(":")[0])
    return recipe is None or recipe.asks_judge


def _zero_shot(model: ChatModel, options: ModelOptions) -> ModelJudge:
    return ModelJudge(model, options.model_copy(update={"shots": "zero"}))


def _majority(order: Order) -> Judge:
    label = order.options.get("label", "").upper()
    if label not in list(Label):
        raise ConfigError(
            f"system majority needs the most frequent label, and {f'label is {label!r}' if label else 'none is given'}: "
            f"set label to one of {', '.join(Label)}, or fit it on labelled data other than the measured ones"
        )
    return Majority(Label(label))


def _overlap(order: Order) -> Judge:
    text = order.options.get("threshold", str(THRESHOLD))
    try:
        threshold = float(text)
    except ValueError:
        threshold = -1.0
    if not 0.0 <= threshold <= 1.0:
        raise ConfigError(f"option threshold of system overlap is {text!r}; it must be a share of words in [0, 1]")
    return Overlap(threshold)


def _metric(order: Order, library: str, scorer: Callable[[Any], Any]) -> Judge:
    order.countable = False  # Nobody knows how often a metric asks its model.
    load_library(library)
    metric = order.metric if order.metric is not None else load_metric(library, order.name.partition(":")[2])
    return MetricJudge(scorer(metric), order.task)


def _fact_check(order: Order, *, evidence: bool) -> Judge:
    temperature, system_role = read_options(order.name, order.options)
    parameters = order.given.model.parameters if isinstance(order.given, ModelJudge) else {}
    configured = parameters.get("temperature", temperature)
    if configured != temperature:
        raise ConfigError(
            f"system {order.name} asks at temperature {temperature:g}, and the model of the judge that was given "
            f"has {configured}. Make it with that temperature, or give option temperature={configured}"
        )
    asking = order.settings.model.model_copy(update={"temperature": temperature})
    warm = replace(order, settings=order.settings.model_copy(update={"model": asking}))
    return warm.model(partial(FactCheck, evidence=evidence, system_role=system_role))


_FACT_CHECK = SystemRecipe(
    partial(_fact_check, evidence=False),
    knowledge=False,
    whole_turns=True,
    tasks=_SUPPORT,
    options=tuple(FACT_CHECK),
    defaults=FACT_CHECK,
)
_WHOLE_TURNS = partial(SystemRecipe, context="full", knowledge=False, whole_turns=True, asks_task=True)

SYSTEMS: Mapping[str, SystemRecipe] = {
    "vista": SystemRecipe(lambda order: order.judge()),
    "vista+ctx": SystemRecipe(lambda order: order.judge(), context="full"),
    "no-ac": SystemRecipe(lambda order: Ablated(order.judge(), knowledge=["categorize"])),
    "no-ac+ctx": SystemRecipe(lambda order: order.judge(), context="full", knowledge=False),
    "no-history": SystemRecipe(lambda order: Ablated(order.judge(), history=False)),
    "zero-shot": SystemRecipe(lambda order: order.model(_zero_shot)),
    "factscore": SystemRecipe(lambda order: order.model(FActScore), knowledge=False, tasks=_SUPPORT),
    "factscore+split": SystemRecipe(
        lambda order: order.model(partial(FActScore, by_sentence=True)), knowledge=False, tasks=_SUPPORT
    ),
    "llm-judge": _WHOLE_TURNS(lambda order: order.model(partial(LLMJudge, task=order.task))),
    "fact-check": _FACT_CHECK,
    "fact-check+evidence": replace(_FACT_CHECK, judge=partial(_fact_check, evidence=True), retrieval=fact_check_limits),
    "majority": SystemRecipe(_majority, knowledge=False, asks_judge=False, options=("label", "fitted on")),
    "overlap": SystemRecipe(
        _overlap,
        knowledge=False,
        asks_judge=False,
        tasks=_SUPPORT,
        options=("threshold", "source", "fitted on"),
        defaults={"threshold": str(THRESHOLD), "source": "half of the words, fitted on nothing"},
    ),
}
"""The systems of this room; `systems` has those of the tasks, too."""

METRICS: Mapping[str, SystemRecipe] = {
    "deepeval": _WHOLE_TURNS(lambda order: _metric(order, "deepeval", DeepEvalScorer), asks_judge=False),
    "ragas": _WHOLE_TURNS(
        lambda order: _metric(order, "ragas", lambda metric: RagasScorer(metric, order.options)),
        options=RAGAS_OPTIONS,
        asks_judge=False,
    ),
}
"""Libraries whose metrics are systems."""


@cache
def systems() -> Mapping[str, SystemRecipe]:
    """Every system by its name, with those that tasks add."""
    return {**SYSTEMS, **{name: load(recipe) for name, recipe in named("systems").items()}}


@dataclass(frozen=True)
class SystemOrder:
    """The arguments of `make_system`.

    `settings` are plain values; `kept_documents` says whether turns without documents are checked against those of
    `vista-guard documents add`, in the process that builds the system. With `evidence` each claim has its own.
    """

    name: str
    task: Task = Task.UNVERIFIABLE
    options: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    kept_documents: bool = False
    evidence: EvidenceOrder | None = None

    def __call__(self, max_cost: float | None = None) -> GuardSystem:
        """Builds the system.

        Args:
            max_cost: US dollars that it may spend; any amount when None.

        Raises:
            ConfigError: see `make_system`.
            StoreError: the documents cannot be opened.
        """
        settings = with_cost(self.settings, max_cost)
        if self.kept_documents if self.evidence is None else self.evidence.kind == "corpus":
            from vista_guard.assembly import kept_documents
            from vista_guard.settings.sources import Settings

            settings["documents"] = kept_documents(Settings.load(), settings.get("embedder"))
        return make_system(self.name, task=self.task, options=self.options, evidence=self.evidence, **settings)
