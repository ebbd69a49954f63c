"""The metrics, and what is recorded in them. One set a provider, however many guards there are."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from opentelemetry.metrics import MeterProvider, get_meter

from vista_guard.telemetry import names
from vista_guard.telemetry.figures import TurnFigures

_Recorder = Callable[..., None]


class Instruments:
    """What a turn is counted in."""

    def __init__(self, provider: MeterProvider | None) -> None:
        meter = get_meter(names.SCOPE, meter_provider=provider)
        told = {metric.name: metric for metric in names.METRICS}

        def of(name: str) -> dict[str, str]:
            return {"name": name, "unit": told[name].kind.partition(", ")[2], "description": told[name].says}

        def histogram(name: str, bounds: tuple[float, ...]) -> _Recorder:
            return meter.create_histogram(**of(name), explicit_bucket_boundaries_advisory=bounds).record

        self._turn_seconds = histogram(names.TURN_SECONDS, names.SECONDS)
        self._stage_seconds = histogram(names.STAGE_SECONDS, names.SECONDS)
        self._hold_seconds = histogram(names.HOLD_SECONDS, names.SECONDS)
        self._confidence = histogram(names.CONFIDENCE, names.CONFIDENCES)
        self._turns = meter.create_counter(**of(names.TURNS_COUNTED)).add
        self._claims = meter.create_counter(**of(names.CLAIMS_COUNTED)).add
        self._unchecked = meter.create_counter(**of(names.UNCHECKED)).add
        self._missing = meter.create_counter(**of(names.MISSING)).add
        self._sink_errors = meter.create_counter(**of(names.SINK_ERRORS)).add
        self._tokens = meter.create_counter(**of(names.JUDGE_TOKENS)).add
        self._cost = meter.create_counter(**of(names.JUDGE_COST)).add
        self._streams = meter.create_up_down_counter(**of(names.STREAMS)).add

    def record(self, turn: TurnFigures) -> None:
        """Counts one turn."""
        told = {"action": turn.action.value, "gate": turn.gate, "policy": turn.policy, "judge": turn.judge}
        self._turn_seconds(turn.seconds, told)
        self._turns(1, {"action": turn.action.value, "repair": turn.repair})
        for stage, seconds in turn.stages.items():
            self._stage_seconds(seconds, {"stage": stage})
        for label, count in turn.labels.items():
            self._claims(count, {"label": label})
        for label, confidence in turn.confidences:
            self._confidence(confidence, {"label": label})
        for kind, count in turn.unchecked.items():
            self._unchecked(count, {names.ERROR_TYPE: kind})
        if turn.evidence_missing:
            self._missing(1)
        self._record_usage(turn)

    def _record_usage(self, turn: TurnFigures) -> None:
        used = turn.usage
        for kind, tokens in (("input", used.input_tokens), ("output", used.output_tokens)):
            if tokens:
                self._tokens(tokens, {"type": kind, "model": turn.judge})
        if used.cost:
            self._cost(used.cost, {"model": turn.judge})

    def record_hold(self, seconds: float, outcome: str) -> None:
        """Counts one sentence: how long it was held back, and what became of it."""
        self._hold_seconds(seconds, {"outcome": outcome})

    def record_sink_error(self, exc: BaseException) -> None:
        """Counts a report that a sink did not take."""
        self._sink_errors(1, {names.ERROR_TYPE: type(exc).__name__})

    def stream_opened(self, gate: str, change: int) -> None:
        """Counts a stream that begins (1) or ends (-1)."""
        self._streams(change, {"gate": gate})


@lru_cache(maxsize=32)
def instruments_of(provider: MeterProvider | None) -> Instruments:
    """The set of this provider, or of the process's own. A second set of the same names would only be warned of."""
    return Instruments(provider)
