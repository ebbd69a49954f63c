"""The metrics of turns. OpenTelemetry and the proxy's `/metrics` record the same figures, computed once a turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from opentelemetry.metrics import MeterProvider, get_meter

from vista_guard.telemetry import attributes
from vista_guard.types import Action, TurnReport, Unchecked, Usage, failed_stores


@dataclass(frozen=True)
class TurnFigures:
    """The figures of one turn. They hold no text, conversation or tenant.

    `seconds` is the time that the guard took: its stages, without the agent. `confidences` are (label, confidence) pairs,
    `unchecked` counts claims by `error_type`, `failed_stores` has the keys of `types.STORE_WARNINGS`.
    """

    action: Action
    gate: str
    policy: str
    judge: str
    repair: str
    seconds: float
    stages: Mapping[str, float]
    labels: Mapping[str, int]
    confidences: tuple[tuple[str, float], ...]
    unchecked: Mapping[str, int]
    failed_stores: tuple[str, ...]
    evidence_missing: bool
    usage: Usage


def figures_of(report: TurnReport, repair: str | None) -> TurnFigures:
    """Computes a turn's figures; `repair` is the kind of its repair, if any."""
    timings = report.timings.model_dump(exclude={"agent", "total"})
    confidences = [(finding.label.value, finding.confidence) for finding in report.findings]
    return TurnFigures(
        action=report.decision.action,
        gate=report.gate or "turn",
        policy=report.policy,
        judge=report.judge.name,
        repair=repair or "none",
        seconds=sum(timings.values()) / 1000,
        stages={stage: milliseconds / 1000 for stage, milliseconds in timings.items() if milliseconds},
        labels=Counter(label for label, _ in confidences),
        confidences=tuple(confidences),
        unchecked=Counter(map(error_type, report.unchecked)),
        failed_stores=tuple(failed_stores(report.warnings)),
        evidence_missing=report.evidence_missing,
        usage=report.usage,
    )


def error_types(report: TurnReport) -> set[str]:
    """Classes of everything that the judge failed to do in this turn."""
    return {*map(error_type, report.unchecked), *("judge" for _ in report.unconfirmed)}


def error_type(unchecked: Unchecked) -> str:
    """Classifies an unjudged claim: code, encoded, unreadable, timeout, limit, budget or judge. Never a message."""
    if unchecked.what != "claim":
        return unchecked.what
    if unchecked.raw is not None:
        return "unreadable"
    known = {"limits.judge_seconds": "timeout", "limits.": "limit", "budget": "budget"}
    return next((kind for sign, kind in known.items() if sign in unchecked.error), "judge")


_Recorder = Callable[..., None]


class Instruments:
    """The metrics of one provider."""

    def __init__(self, provider: MeterProvider | None) -> None:
        meter = get_meter(attributes.SCOPE, meter_provider=provider)
        metrics = {metric.name: metric for metric in (*attributes.METRICS, *attributes.LATEST_METRICS)}

        def of(name: str) -> dict[str, str]:
            return {"name": name, "unit": metrics[name].kind.partition(", ")[2], "description": metrics[name].says}

        def histogram(name: str, bounds: tuple[float, ...]) -> _Recorder:
            return meter.create_histogram(**of(name), explicit_bucket_boundaries_advisory=bounds).record

        def counter(name: str) -> _Recorder:
            return meter.create_counter(**of(name)).add

        self._turn_seconds = histogram(attributes.TURN_SECONDS, attributes.SECONDS)
        self._stage_seconds = histogram(attributes.STAGE_SECONDS, attributes.SECONDS)
        self._hold_seconds = histogram(attributes.HOLD_SECONDS, attributes.SECONDS)
        self._confidence = histogram(attributes.CONFIDENCE, attributes.CONFIDENCES)
        self._turns = counter(attributes.TURNS_COUNTED)
        self._claims = counter(attributes.CLAIMS_COUNTED)
        self._unchecked = counter(attributes.UNCHECKED)
        self._missing = counter(attributes.MISSING)
        self._sink_errors = counter(attributes.SINK_ERRORS)
        self._tokens = counter(attributes.JUDGE_TOKENS)
        self._cost = counter(attributes.JUDGE_COST)
        self._streams = meter.create_up_down_counter(**of(attributes.STREAMS)).add
        self._inference_seconds = histogram(attributes.INFERENCE_SECONDS, attributes.INFERENCE_BOUNDS)
        self._inference_tokens = (counter(attributes.INFERENCE_INPUT), counter(attributes.INFERENCE_OUTPUT))

    def record(self, turn: TurnFigures) -> None:
        """Records one turn."""
        names = {"action": turn.action.value, "gate": turn.gate, "policy": turn.policy, "judge": turn.judge}
        self._turn_seconds(turn.seconds, names)
        self._turns(1, {"action": turn.action.value, "repair": turn.repair})
        for stage, seconds in turn.stages.items():
            self._stage_seconds(seconds, {"stage": stage})
        for label, count in turn.labels.items():
            self._claims(count, {"label": label})
        for label, confidence in turn.confidences:
            self._confidence(confidence, {"label": label})
        for kind, count in turn.unchecked.items():
            self._unchecked(count, {attributes.ERROR_TYPE: kind})
        if turn.evidence_missing:
            self._missing(1)
        for kind, tokens in (("input", turn.usage.input_tokens), ("output", turn.usage.output_tokens)):
            if tokens:
                self._tokens(tokens, {"type": kind, "model": turn.judge})
        if turn.usage.cost:
            self._cost(turn.usage.cost, {"model": turn.judge})

    def record_hold(self, seconds: float, outcome: str) -> None:
        """Records how long a sentence was held, and its outcome."""
        self._hold_seconds(seconds, {"outcome": outcome})

    def record_sink_error(self, exc: BaseException) -> None:
        """Counts a report that a sink refused."""
        self._sink_errors(1, {attributes.ERROR_TYPE: type(exc).__name__})

    def record_inference(self, seconds: float, tokens: tuple[int, int], names: Mapping[str, str]) -> None:
        """Records a call of a model judge by the newest GenAI conventions; `tokens` are those of input and output."""
        self._inference_seconds(seconds, names)
        for counted, add in zip(tokens, self._inference_tokens, strict=True):
            if counted:
                add(counted, {**names, attributes.MODALITY: "text"})

    def stream_opened(self, gate: str, change: int) -> None:
        """Counts a stream that begins (1) or ends (-1)."""
        self._streams(change, {"gate": gate})


@lru_cache(maxsize=32)
def instruments_of(provider: MeterProvider | None) -> Instruments:
    """Returns the metrics of this provider, or of the process's own. Creating them twice logs warnings."""
    return Instruments(provider)
