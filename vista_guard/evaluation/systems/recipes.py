"""How a system is made of a guard: who judges, and what the judge gets to see."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from vista_guard.errors import ConfigError
from vista_guard.evaluation.datasets.published.dataset import Task
from vista_guard.evaluation.systems.ablations import NoKnowledge
from vista_guard.evaluation.systems.guarded import Around, GuardSystem
from vista_guard.guard import Guard
from vista_guard.judges.model import ChatModel, ModelJudge, ModelOptions
from vista_guard.judges.named import build_judge, names_model
from vista_guard.protocols import Judge, Verifier
from vista_guard.settings.sources import Settings
from vista_guard.stores.embeddings import OnnxEmbedder
from vista_guard.telemetry.config import Telemetry

AskingJudge = TypeVar("AskingJudge", bound=Judge)


@dataclass
class Order:
    """What one system is to be made from.

    Attributes:
        name: the system's, as it was given.
        task: which turns are looked for.
        options: the system's own.
        settings: the guard's; they name the judge where no object was given.
        given: a judge, where an object was given.
        verifier: a verifier, where an object was given.
        metric: a metric, where an object was given.
        around: what stands before every model.
        made: the judges that were made of models.
        countable: whether all calls to models go through `around`.
    """

    name: str
    task: Task
    options: Mapping[str, str]
    settings: Settings
    given: Judge | None
    verifier: Verifier | None
    metric: object
    around: Around
    made: list[Any] = field(default_factory=list)
    countable: bool = True

    def judge(self) -> Judge:
        """The judge that was configured."""
        if self.given is None:
            self.countable = self.verifier is None and "openai:" not in (self.settings.verifier or "")
            return build_judge(self.settings, OnnxEmbedder(), verifier=self.verifier, asking=self._asking(ModelJudge))
        if isinstance(self.given, ModelJudge):
            judge = self.given.with_model(self.around(self.given.model))
            self.made.append(judge)
            return judge
        self.countable = False
        return self.given

    def model(self, asking: Callable[[ChatModel, ModelOptions], AskingJudge]) -> Judge:
        """A judge of another kind around the model of the judge that was configured.

        Raises:
            ConfigError: that judge is not simply a model.
        """
        if isinstance(self.given, ModelJudge):
            return self._asking(asking)(self.given.model, self.given.options)
        if self.given is None and names_model(self.settings.judge):
            return build_judge(self.settings, OnnxEmbedder(), asking=self._asking(asking))
        named = self.given.info.name if self.given is not None else self.settings.judge
        raise ConfigError(
            f"the system {self.name} asks a chat model, and the judge is {named!r}. Name a model: openai:MODEL, "
            "openai:MODEL@http://host/v1 or langchain:PROVIDER:MODEL"
        )

    def _asking(
        self, asking: Callable[[ChatModel, ModelOptions], AskingJudge]
    ) -> Callable[[ChatModel, ModelOptions], AskingJudge]:
        def make(model: ChatModel, options: ModelOptions) -> AskingJudge:
            judge = asking(self.around(model), options)
            self.made.append(judge)
            return judge

        return make


@dataclass(frozen=True)
class Recipe:
    """One kind of system.

    Attributes:
        judge: who judges.
        context: whether verification sees what was said before (`full`).
        knowledge: whether conversations establish anything.
        whole_turns: whether a turn is judged as it is, whatever claims it brings.
        tasks: what it can look for; everything when empty.
        asks_task: whether what it asks, or what its verdicts are called, depends on the task.
        options: names of the options that it takes.
        defaults: its options where none is given.
    """

    judge: Callable[[Order], Judge]
    context: Literal["none", "full"] = "none"
    knowledge: bool = True
    whole_turns: bool = False
    tasks: frozenset[Task] = frozenset()
    asks_task: bool = False
    options: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)


def build(
    recipe: Recipe,
    name: str,
    task: Task,
    options: Mapping[str, str],
    metric: object,
    given: Mapping[str, Any],
    around: Around = lambda model: model,
) -> GuardSystem:
    """The system that `make_system` describes; `given` are the guard's settings, and `around` stands before its models.

    Raises:
        ConfigError: see `make_system`.
    """
    _check(recipe, name, task, options, given)
    # Asked for by name, as `Guard.from_settings` takes them; objects are no settings.
    named = {key: value for key, value in given.items() if key not in _OBJECTS or isinstance(value, str | Path)}
    if "verifier" in named:
        named["verifier"] = str(named["verifier"])  # a folder's path is a name like others
    settings = Settings.load(**named)
    if recipe.context == "full" and settings.strict_reference:
        raise ConfigError(
            f"the system {name} shows verification what was said before; strict_reference does not allow it"
        )
    objects = {key: given[key] for key in _OBJECTS if key in given and key not in named}
    order = Order(name, task, options, settings, objects.get("judge"), objects.get("verifier"), metric, around)
    judge = recipe.judge(order)
    return GuardSystem(
        name=name,
        guard=_guard(recipe, judge, given),
        more={
            **({"task": str(task)} if recipe.asks_task else {}),
            **({} if recipe.knowledge else {"knowledge": "none"}),
            **options,
        },
        prompts={stage: prompt for one in order.made for stage, prompt in one.prompts.items()},
        whole_turns=recipe.whole_turns,
        rehearse=(
            (lambda around: _tried_out(build(recipe, name, task, options, metric, {**given, **_UNKEPT}, around)))
            if order.countable
            else None
        ),
    )


_UNKEPT: Mapping[str, Any] = {"judge_cache": None, "judge_recording": None}
"""Made-up answers must not be kept for real ones."""


def _tried_out(system: GuardSystem) -> GuardSystem:
    """The system, heard by nobody: turns that are only tried out are no turns to a tracer or a sink."""
    system.guard.parts = replace(system.guard.parts, telemetry=Telemetry.silent(), sinks=())
    return system


_OBJECTS = ("judge", "verifier", "policy", "persona", "documents")
"""Settings that may be objects."""
_FIXED = {
    "context": "choose vista or vista+ctx",
    "knowledge": "every system keeps its own in memory",
    "store": "every system keeps its knowledge in memory",
    "reports": "a run keeps its reports in its own folder",
}
"""What a system says of its guard by itself."""


def _guard(recipe: Recipe, judge: Judge, given: Mapping[str, Any]) -> Guard:
    rest = {key: value for key, value in given.items() if key not in ("judge", "verifier", "policy")}
    if not recipe.knowledge:
        rest["knowledge"] = NoKnowledge(OnnxEmbedder())
    return Guard.from_settings(
        judge=judge,
        policy=given.get("policy") or "monitor",
        store="memory",
        reports=None,
        context=recipe.context,
        **rest,
    )


def _check(recipe: Recipe, name: str, task: Task, options: Mapping[str, str], given: Mapping[str, Any]) -> None:
    if recipe.tasks and task not in recipe.tasks:
        known = " or ".join(recipe.tasks)
        raise ConfigError(f"the system {name} finds turns that are {known}, and the task here is {str(task)!r}")
    unknown = [option for option in options if option not in recipe.options]
    if unknown:
        takes = f"takes {', '.join(recipe.options)}" if recipe.options else "takes none"
        raise ConfigError(f"the system {name} has no option {unknown[0]!r}; it {takes}")
    for key, why in _FIXED.items():
        if key in given:
            raise ConfigError(f"{key} is no setting of a system: {why}")
