"""The telemetry of a guard: providers, content capture and redaction, shared by all its turns."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Literal, cast, get_args

from vista_guard.errors import ConfigError
from vista_guard.telemetry.attributes import SCOPE

if TYPE_CHECKING:
    from opentelemetry._logs import Logger, LoggerProvider
    from opentelemetry.metrics import MeterProvider
    from opentelemetry.trace import Tracer, TracerProvider

    from vista_guard.telemetry.instruments import Instruments, TurnFigures

Content = Literal["no_content", "span_only", "event_only", "span_and_event"]
Events = Literal["logs", "span", "both"]
ModelSpans = Literal["auto", "on", "off"]
Redact = Callable[[str], str]

VARIABLE = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
OPT_IN, LATEST = "OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental"

logger = logging.getLogger("vista_guard")


class Telemetry:
    """Traces and counts a guard's turns. Sends nothing without an OpenTelemetry SDK in the process.

        Guard(judge, telemetry=Telemetry(content="span_only", redact=lambda text: PHONE.sub("[phone]", text)))

    Args:
        content: the signals that may carry conversation text: `no_content`, `span_only`, `event_only`, `span_and_event`. From
            OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT by default, else no content.
        redact: replaces every text before it is sent. Where it fails, the text is left out.
        events: evaluations as log records (`logs`), as events of the turn's span (`span`, where only traces are taken), or both.
        model_spans: a `chat` span for each call of a model judge: `auto` leaves them to the model's client where that is
            instrumented already.
        tracer_provider: replaces the one of the process; this package never sets any.
        meter_provider: likewise, for metrics.
        logger_provider: likewise, for log records.

    Raises:
        ConfigError: an unknown value.
    """

    def __init__(
        self,
        *,
        content: Content | None = None,
        redact: Redact | None = None,
        events: Events = "logs",
        model_spans: ModelSpans = "auto",
        tracer_provider: TracerProvider | None = None,
        meter_provider: MeterProvider | None = None,
        logger_provider: LoggerProvider | None = None,
    ) -> None:
        _check("content", content, (None, *get_args(Content)))
        _check("events", events, get_args(Events))
        _check("model_spans", model_spans, get_args(ModelSpans))
        self.events: Events = events
        self.model_spans: ModelSpans = model_spans
        self._content = content
        self._redact = redact
        self._providers = (tracer_provider, meter_provider, logger_provider)
        self._listeners: dict[Callable[[TurnFigures], None], None] = {}

    @classmethod
    def silent(cls) -> Telemetry:
        """Returns a telemetry that sends nothing, whatever SDK the process has: for trial runs."""
        from opentelemetry._logs import NoOpLoggerProvider
        from opentelemetry.metrics import NoOpMeterProvider
        from opentelemetry.trace import NoOpTracerProvider

        return cls(
            content="no_content",
            tracer_provider=NoOpTracerProvider(),
            meter_provider=NoOpMeterProvider(),
            logger_provider=NoOpLoggerProvider(),
        )

    @cached_property
    def content(self) -> Content:
        """The signals that may carry conversation text."""
        return self._content or content_of_environment()

    @property
    def content_in_spans(self) -> bool:
        """True when spans may carry conversation text."""
        return self.content in ("span_only", "span_and_event")

    @property
    def content_in_events(self) -> bool:
        """True when log records may carry conversation text."""
        return self.content in ("event_only", "span_and_event")

    @cached_property
    def latest(self) -> bool:
        """True when the environment opts in to the newest GenAI conventions, which may still change."""
        return LATEST in {word.strip() for word in os.environ.get(OPT_IN, "").split(",")}

    @cached_property
    def tracer(self) -> Tracer:
        """The tracer for spans."""
        from opentelemetry.trace import get_tracer

        return get_tracer(SCOPE, tracer_provider=self._providers[0])

    @cached_property
    def event_logger(self) -> Logger:
        """The logger for events."""
        from opentelemetry._logs import get_logger

        return get_logger(SCOPE, logger_provider=self._providers[2])

    @cached_property
    def instruments(self) -> Instruments:
        """The metrics."""
        from vista_guard.telemetry.instruments import instruments_of

        return instruments_of(self._providers[1])

    def redacted(self, text: str) -> str | None:
        """Returns the text after redaction; None when the redactor failed."""
        if self._redact is None:
            return text
        try:
            return self._redact(text)
        except Exception as exc:
            # Foreign code, and the turn is judged already: leave the text out, and change nothing else.
            logger.error("the redaction of telemetry failed (%s); the text was left out", type(exc).__name__)
            return None

    def subscribe(self, listener: Callable[[TurnFigures], None]) -> None:
        """Calls the listener with every turn's figures; once, however often it subscribes."""
        self._listeners[listener] = None

    def record(self, figures: TurnFigures) -> None:
        """Sends a turn's figures to the metrics and to all subscribers."""
        self.instruments.record(figures)
        for listener in tuple(self._listeners):
            listener(figures)


def content_of_environment() -> Content:
    """Reads the standard variable. An unknown value means no content, and is logged."""
    value = os.environ.get(VARIABLE, "").strip().lower()
    if value in get_args(Content):
        return cast("Content", value)
    if value not in ("", "false"):
        logger.warning("%s is %r; it takes %s. No content is recorded", VARIABLE, value, ", ".join(get_args(Content)))
    return "no_content"


def _check(name: str, value: object, known: tuple[object, ...]) -> None:
    if value not in known:
        words = ", ".join(str(word) for word in known if word is not None)
        raise ConfigError(f"telemetry {name} is {value!r}; choose {words}")
