"""Exporters of traces, metrics and logs, in batches from bounded queues. Loads the OpenTelemetry SDK."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from threading import Thread
from time import monotonic

from opentelemetry import _logs, metrics, trace
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import BatchLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

LAST_SECONDS = 3.0
"""What an exporter may take for what is left at the end. One that hangs must not hold the command."""


class Pipelines:
    """Sets the process's providers for these signals, unless it has some.

    Args:
        service: the service's name, where the environment gives none.
        signals: of traces, metrics, logs.
    """

    def __init__(self, service: str, signals: frozenset[str]) -> None:
        resource = Resource.create({} if _is_named() else {"service.name": service})
        self._closing: list[Callable[[], object]] = []
        if "traces" in signals and isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            self._set_tracer(resource)
        if "metrics" in signals and not isinstance(metrics.get_meter_provider(), MeterProvider):
            self._set_meter(resource)
        if "logs" in signals and not isinstance(_logs.get_logger_provider(), LoggerProvider):
            self._set_logger(resource)

    def close(self) -> None:
        """Sends what is left, for at most a few seconds. A hanging exporter is left in a daemon thread."""
        threads = [Thread(target=close, daemon=True) for close in self._closing]
        for thread in threads:
            thread.start()
        deadline = monotonic() + LAST_SECONDS
        for thread in threads:
            thread.join(max(deadline - monotonic(), 0.0))

    def _set_tracer(self, resource: Resource) -> None:
        provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(provider)
        self._closing.append(provider.shutdown)

    def _set_meter(self, resource: Resource) -> None:
        provider = MeterProvider(
            [PeriodicExportingMetricReader(OTLPMetricExporter())], resource, shutdown_on_exit=False
        )
        metrics.set_meter_provider(provider)
        self._closing.append(partial(provider.shutdown, LAST_SECONDS * 1000))

    def _set_logger(self, resource: Resource) -> None:
        provider = LoggerProvider(resource, shutdown_on_exit=False)
        provider.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
        _logs.set_logger_provider(provider)
        self._closing.append(provider.shutdown)


def _is_named() -> bool:
    return "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
