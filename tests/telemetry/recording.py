"""What a guard told OpenTelemetry, kept in memory and shown as trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import Sampler

from vista_guard import Telemetry

Tree = dict[str, "Tree"]


class Recording:
    """Providers of its own, so that no test meets another's."""

    def __init__(self, *, sampler: Sampler | None = None, **options: Any) -> None:
        self._spans = InMemorySpanExporter()
        self._logs = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
        self._reader = InMemoryMetricReader()
        self.tracers, self._loggers = TracerProvider(sampler), LoggerProvider()
        self._meters = MeterProvider([self._reader])
        self.tracers.add_span_processor(SimpleSpanProcessor(self._spans))
        self._loggers.add_log_record_processor(SimpleLogRecordProcessor(self._logs))
        self.telemetry = Telemetry(
            tracer_provider=self.tracers, meter_provider=self._meters, logger_provider=self._loggers, **options
        )

    @property
    def spans(self) -> Sequence[ReadableSpan]:
        return self._spans.get_finished_spans()

    def named(self, name: str) -> ReadableSpan:
        (span,) = (span for span in self.spans if span.name == name)
        return span

    @property
    def events(self) -> list[Any]:
        return [record.log_record for record in self._logs.get_finished_logs()]

    def metrics(self) -> dict[str, list[tuple[dict[str, Any], Any]]]:
        """By name: attributes and the value of each point; of a histogram the count."""
        data = self._reader.get_metrics_data()
        if data is None:
            return {}
        found = [metric for one in data.resource_metrics for scope in one.scope_metrics for metric in scope.metrics]
        return {
            metric.name: [
                (dict(point.attributes or {}), getattr(point, "value", getattr(point, "count", None)))
                for point in metric.data.data_points
            ]
            for metric in found
        }

    def tree(self) -> Tree:
        """Names below names, each once: how often a stage runs in a stream depends on how its words come."""
        below: dict[int | None, list[ReadableSpan]] = {}
        known = {span.context.span_id for span in self.spans if span.context}
        for span in sorted(self.spans, key=lambda span: span.start_time or 0):
            parent = span.parent.span_id if span.parent and span.parent.span_id in known else None
            below.setdefault(parent, []).append(span)

        def grown(spans: Sequence[ReadableSpan]) -> Tree:
            tree: Tree = {}
            for span in spans:
                tree.setdefault(span.name, {}).update(grown(below.get(span.context.span_id if span.context else 0, [])))
            return tree

        return grown(below.get(None, []))

    def all_told(self) -> str:
        """Everything that would leave the process, as one text."""
        spans = [
            (
                span.name,
                dict(span.attributes or {}),
                span.status.description,
                [(e.name, dict(e.attributes or {})) for e in span.events],
            )
            for span in self.spans
        ]
        events = [(one.event_name, one.body, dict(one.attributes or {})) for one in self.events]
        return repr((spans, events, self.metrics()))
