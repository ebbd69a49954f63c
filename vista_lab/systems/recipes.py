"""How systems are built: a judge, the guard around it, and VISTA with parts left out (§6.3, Tables 4 and 5)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeVar

from vista_guard.assembly import MODELS, with_decomposer
from vista_guard.errors import ConfigError
from vista_guard.guard import Guard
from vista_guard.judges.composed import ensemble
from vista_guard.judges.composed.ensemble import JudgeAround
from vista_guard.judges.model import ChatModel, ModelJudge, ModelOptions
from vista_guard.judges.named import build_judge, names_model
from vista_guard.protocols import Decomposer, Embedder, Judge, Verifier
from vista_guard.settings.sources import Settings
from vista_guard.stores.embedders import build_embedder
from vista_guard.stores.entries import OnnxEmbedder
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.telemetry.config import Telemetry
from vista_guard.types import Check, Claim, EvidenceSet, Finding, JudgeInfo, SourceKind, Turn, Unchecked
from vista_lab.logs.source import Task
from vista_lab.systems.evidence import ClaimEvidence, EvidenceOrder, open_evidence
from vista_lab.systems.guarded import Around, GuardSystem

Sees = Literal["decompose", "verify", "categorize"]


class NoKnowledge(MemoryKnowledge):
    """A conversation that never establishes anything: no stage sees accumulated claims (−AC of Table 5)."""

    async def remember(self, conversation_id: str, turn_key: str, claims: Sequence[Claim]) -> None:
        """Records the turn without its claims."""
        await super().remember(conversation_id, turn_key, claims[:0])


class Ablated(JudgeAround):
    """Implements `TurnJudge` around a judge, hiding part of its input. Its version names what is hidden.

    Args:
        judge: the inner judge.
        history: whether decomposition sees the turns before (Stage 1).
        knowledge: the stages that see accumulated claims. A judge that gives verdict and label at once sees none of them
            where `verify` is left out. The persona, which is not accumulated, always stays.
    """

    def __init__(
        self, judge: Judge, *, history: bool = True, knowledge: Collection[Sees] = ("verify", "categorize")
    ) -> None:
        super().__init__(judge)
        self._history = history
        self._knowledge = frozenset(knowledge)

    @property
    def info(self) -> JudgeInfo:
        """The inner judge's info, with what it does not see."""
        inner = self._judge.info
        hidden = [] if self._history else ["no history in decompose"]
        hidden += [f"no knowledge in {stage}" for stage in ("verify", "categorize") if stage not in self._knowledge]
        return JudgeInfo(name=inner.name, version="; ".join([inner.version, *hidden]))

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        claims = await self._judge.decompose(turn, history if self._history else ())
        return claims if self._history else [_with_place(claim, history) for claim in claims]

    async def judge_turn(
        self, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet
    ) -> Sequence[Check | Unchecked] | None:
        visible_history = history if self._history else ()
        answers = await ensemble.judge_turn(self._judge, turn, visible_history, self._visible("verify", evidence))
        if answers is None or self._history:
            return answers
        return [_answer_with_place(answer, history) for answer in answers]

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        return await self._judge.verify(claims, self._visible("verify", evidence))

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        return await self._judge.categorize(checks, self._visible("categorize", evidence))

    def _visible(self, stage: Sees, evidence: EvidenceSet) -> EvidenceSet:
        if stage in self._knowledge:
            return evidence
        kinds = (SourceKind.PERSONA, SourceKind.CHANNEL)
        persona = tuple(passage for passage in evidence.knowledge if passage.source in kinds)
        return evidence.model_copy(update={"knowledge": persona})


def _with_place(claim: Claim, history: Sequence[Turn]) -> Claim:
    """The claim under the id that it has in its conversation: a judge that sees no history takes each turn for the first."""
    return claim.model_copy(update={"id": f"t{len(history)}.{claim.id.rpartition('.')[2]}"})


def _answer_with_place(answer: Check | Unchecked, history: Sequence[Turn]) -> Check | Unchecked:
    claim = _with_place(answer.claim, history)
    if isinstance(answer, Unchecked) or answer.finding is None:
        return answer.model_copy(update={"claim": claim})
    finding = answer.finding.model_copy(update={"claim": claim})
    return answer.model_copy(update={"claim": claim, "finding": finding})


AskingJudge = TypeVar("AskingJudge", bound=Judge)


@dataclass
class Order:
    """Everything that one system is made from.

    Attributes:
        name: the system's, as it was given.
        task: which turns are looked for.
        options: the system's own.
        settings: the guard's; they name the judge where no object was given.
        given: a judge, where an object was given.
        verifier: a verifier, where an object was given.
        decomposer: a decomposer, where an object was given.
        embedder: finds passages in the document store.
        metric: a metric, where an object was given.
        around: what stands before every model.
        made: the judges that were made of models.
        countable: whether all calls to models go through `around`.
        evidence: of each claim, for the judges that verify.
        has_evidence: whether such a judge was given it.
    """

    name: str
    task: Task
    options: Mapping[str, str]
    settings: Settings
    given: Judge | None
    verifier: Verifier | None
    decomposer: Decomposer | None
    embedder: Embedder
    metric: object
    around: Around
    made: list[Any] = field(default_factory=list)
    countable: bool = True
    evidence: ClaimEvidence | None = None
    has_evidence: bool = False

    def judge(self) -> Judge:
        """The judge that was given or named, behind the decomposer."""
        self.countable &= self.decomposer is None and "openai:" not in (self.settings.verifier or "")
        if self.given is None:
            self.countable &= self.verifier is None
            return build_judge(
                self.settings,
                OnnxEmbedder(),
                verifier=self.verifier,
                asking=self._asking(partial(ModelJudge, net=not self.settings.strict_reference)),
                retriever=self.embedder,
                behind=self._behind_decomposer,
            )
        if isinstance(self.given, ModelJudge):
            judge = self.given.with_model(self.around(self.given.model))
            self.made.append(judge)
            return self._behind_decomposer(judge)
        self.countable = False
        return self._behind_decomposer(self.given)

    def with_evidence(self, judge: Judge) -> Judge:
        """The judge with evidence by claim, where there is some."""
        if self.evidence is None:
            return judge
        self.has_evidence = True
        return self.evidence.around(judge)

    def _behind_decomposer(self, judge: Judge) -> Judge:
        # The evidence is found behind the decomposer: one that verifies what it splits has it too.
        made = partial(with_decomposer, around=self.around, on_made=self._note)
        return made(self.with_evidence(judge), self.decomposer, self.settings, OnnxEmbedder())

    def _note(self, decomposer: Decomposer) -> None:
        """Keeps a decomposer that asks a model, for the prompts in the manifest."""
        if hasattr(decomposer, "prompts"):
            self.made.append(decomposer)

    def model(self, asking: Callable[[ChatModel, ModelOptions], AskingJudge]) -> Judge:
        """A judge of another kind around the model of the judge that was configured.

        Raises ConfigError if that judge is not simply a model.
        """
        if isinstance(self.given, ModelJudge):
            return self.with_evidence(self._asking(asking)(self.given.model, self.given.options))
        if self.given is None and names_model(self.settings.judge):
            return self.with_evidence(build_judge(self.settings, OnnxEmbedder(), asking=self._asking(asking)))
        judge_name = self.given.info.name if self.given is not None else self.settings.judge
        how = "Name a model: openai:MODEL, openai:MODEL@http://host/v1 or langchain:PROVIDER:MODEL"
        raise ConfigError(f"system {self.name} needs a chat model as judge, not {judge_name!r}. {how}")

    def _asking(
        self, asking: Callable[[ChatModel, ModelOptions], AskingJudge]
    ) -> Callable[[ChatModel, ModelOptions], AskingJudge]:
        def make(model: ChatModel, options: ModelOptions) -> AskingJudge:
            judge = asking(self.around(model), options)
            self.made.append(judge)
            return judge

        return make


@dataclass(frozen=True)
class SystemRecipe:
    """One kind of system.

    Attributes:
        judge: makes the judge.
        context: whether verification sees the turns before (`full`).
        knowledge: whether conversations establish anything.
        retrieval: settings of the guard that say how passages are found, where the system has its own.
        whole_turns: whether a turn is judged as it is, whatever claims it brings.
        tasks: what it can look for; everything when empty.
        asks_judge: whether it asks the configured judge.
        asks_task: whether what it asks, or what its verdicts are called, depends on the task.
        options: names of the options that it takes.
        defaults: its options where none is given.
    """

    judge: Callable[[Order], Judge]
    context: Literal["none", "full"] = "none"
    knowledge: bool = True
    retrieval: Callable[[Order], Mapping[str, Any]] = lambda order: {}
    whole_turns: bool = False
    tasks: frozenset[Task] = frozenset()
    asks_judge: bool = True
    asks_task: bool = False
    options: tuple[str, ...] = ()
    defaults: Mapping[str, str] = field(default_factory=dict)


def build(
    recipe: SystemRecipe,
    name: str,
    task: Task,
    options: Mapping[str, str],
    metric: object,
    given: Mapping[str, Any],
    around: Around = lambda model: model,
    evidence: EvidenceOrder | ClaimEvidence | None = None,
) -> GuardSystem:
    """The system that `make_system` describes; `given` are the guard's settings, and `around` stands before its models.

    Raises ConfigError: see `make_system`.
    """
    _check(recipe, name, task, options, given)
    if evidence is not None and (recipe.whole_turns or name == "majority"):
        raise ConfigError(
            f"system {name} checks no claims, so it takes no evidence by claim; choose vista, factscore or oasis"
        )
    settings, objects = _settings_and_objects(given)
    if recipe.context == "full" and settings.strict_reference:
        raise ConfigError(
            f"system {name} verifies with the history, which strict_reference forbids; turn strict_reference off"
        )
    embedder = build_embedder(objects.get("embedder") or settings.embedder, settings.embedder_options)
    models = (objects.get("judge"), objects.get("verifier"), objects.get("decomposer"), embedder)
    if isinstance(evidence, EvidenceOrder):
        evidence, given = open_evidence(evidence, embedder, given.get("documents")), {**given, "documents": None}
    order = Order(name, task, options, settings, *models, metric, around, evidence=evidence)
    judge = recipe.judge(order)
    judge = judge if order.has_evidence else order.with_evidence(judge)

    def rehearse(around: Around) -> GuardSystem:
        unrecorded = {**given, **_UNKEPT}
        system = build(recipe, name, task, options, metric, unrecorded, around, evidence and evidence.rehearsal())
        # Rehearsed turns must reach no tracer and no sink.
        system.guard.parts = replace(system.guard.parts, telemetry=Telemetry.silent(), sinks=())
        return system

    return GuardSystem(
        name=name,
        guard=_guard(recipe, judge, {**given, "embedder": embedder, **recipe.retrieval(order)}),
        more={
            **({"embedder": settings.embedder} if settings.embedder else {}),
            **({"task": str(task)} if recipe.asks_task else {}),
            **({} if recipe.knowledge else {"knowledge": "none"}),
            **options,
        },
        prompts={stage: prompt for asker in order.made for stage, prompt in asker.prompts.items()},
        whole_turns=recipe.whole_turns,
        establishes=recipe.knowledge,
        rehearse=rehearse if order.countable else None,
        evidence=evidence,
    )


def _settings_and_objects(given: Mapping[str, Any]) -> tuple[Settings, Mapping[str, Any]]:
    """Splits the guard's settings: what is named, as `Guard.from_settings` takes it, and objects. A folder is a name."""
    objects = {key: given[key] for key in _OBJECTS if key in given and not isinstance(given[key], str | Path)}
    named = {key: value for key, value in given.items() if key not in objects}
    return Settings.load(**named | {key: str(named[key]) for key in MODELS if key in named}), objects


_UNKEPT: Mapping[str, Any] = {"judge_cache": None, "judge_recording": None}
"""Made-up answers must not be kept for real ones."""


_OBJECTS = (*MODELS, "judge", "policy", "persona", "documents")
"""Settings that may be objects."""
_FIXED = {
    "context": "choose vista or vista+ctx",
    "knowledge": "every system keeps its own in memory",
    "store": "every system keeps its knowledge in memory",
    "reports": "a run keeps its reports in its own folder",
}
"""Settings of the guard that each system fixes."""


def _guard(recipe: SystemRecipe, judge: Judge, guard_settings: Mapping[str, Any]) -> Guard:
    own = ("judge", "verifier", "decomposer", "policy")
    other_settings = {key: value for key, value in guard_settings.items() if key not in own}
    if not recipe.knowledge:
        other_settings["knowledge"] = NoKnowledge(OnnxEmbedder())
    return Guard.from_settings(
        judge=judge,
        policy=guard_settings.get("policy") or "monitor",
        store="memory",
        reports=None,
        context=recipe.context,
        **other_settings,
    )


def _check(
    recipe: SystemRecipe, name: str, task: Task, options: Mapping[str, str], guard_settings: Mapping[str, Any]
) -> None:
    if recipe.tasks and task not in recipe.tasks:
        tasks = " or ".join(sorted(recipe.tasks))
        raise ConfigError(
            f"system {name} detects turns that are {tasks}, not the task {str(task)!r}; choose another system"
        )
    unknown = [option for option in options if option not in recipe.options]
    if unknown:
        takes = f"takes {', '.join(recipe.options)}" if recipe.options else "takes none"
        raise ConfigError(f"system {name} has no option {unknown[0]!r}; it {takes}")
    for key, why in _FIXED.items():
        if key in guard_settings:
            raise ConfigError(f"{key} cannot be set for a system: {why}")
