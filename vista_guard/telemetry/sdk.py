"""The SDK for commands, which are processes of their own, from the standard `OTEL_*` variables. The library sets up none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from threading import Thread
from time import monotonic
from urllib.parse import urlsplit

from vista_guard._extras import require
from vista_guard.errors import ConfigError

EXTRA = "opentelemetry.exporter.otlp.proto.http"

LAST_SECONDS = 3.0
"""Seconds that an exporter may take to flush at the end. One that hangs must not hold the command."""


@contextmanager
def configured(service: str) -> Iterator[None]:
    """Sends traces, metrics and events inside the block, where the environment names an endpoint.

    `OTEL_EXPORTER_OTLP_ENDPOINT` takes all three, `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` and its like one each, over HTTP with
    protobuf. `OTEL_SDK_DISABLED`, `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES`, headers, timeouts, samplers and batches are
    read by the SDK. A signal whose exporter (`OTEL_TRACES_EXPORTER` and its like) is `none` is not sent. A process in
    which somebody set providers already (`opentelemetry-instrument`) keeps them.

    Args:
        service: the service's name, where the environment gives none.

    Raises:
        ConfigError: an endpoint is no URL over HTTP, or the extra `otel` is not installed.
    """
    signals = wanted_signals()
    if not signals:
        yield
        return
    require("sending traces (OTEL_EXPORTER_OTLP_ENDPOINT is set)", EXTRA, extra="otel")
    shutdowns = _set_providers(service, signals)
    try:
        yield
    finally:
        # A hanging exporter is left in a daemon thread.
        threads = [Thread(target=close, daemon=True) for close in shutdowns]
        for thread in threads:
            thread.start()
        deadline = monotonic() + LAST_SECONDS
        for thread in threads:
            thread.join(max(deadline - monotonic(), 0.0))


def _set_providers(service: str, signals: frozenset[str]) -> list[Callable[[], object]]:
    """Sets the process's providers for these signals, unless it has some; returns what shuts them down."""
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

    has_name = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    resource = Resource.create({} if has_name else {"service.name": service})
    shutdowns: list[Callable[[], object]] = []
    if "traces" in signals and isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        tracers = TracerProvider(resource=resource, shutdown_on_exit=False)
        tracers.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        trace.set_tracer_provider(tracers)
        shutdowns.append(tracers.shutdown)
    if "metrics" in signals and not isinstance(metrics.get_meter_provider(), MeterProvider):
        reader = PeriodicExportingMetricReader(OTLPMetricExporter())
        meters = MeterProvider([reader], resource, shutdown_on_exit=False)
        metrics.set_meter_provider(meters)
        shutdowns.append(partial(meters.shutdown, LAST_SECONDS * 1000))
    if "logs" in signals and not isinstance(_logs.get_logger_provider(), LoggerProvider):
        loggers = LoggerProvider(resource, shutdown_on_exit=False)
        loggers.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter()))
        _logs.set_logger_provider(loggers)
        shutdowns.append(loggers.shutdown)
    return shutdowns


def wanted_signals() -> frozenset[str]:
    """Returns the signals (traces, metrics, logs) with an endpoint that are not switched off.

    Raises:
        ConfigError: an endpoint is no URL over HTTP. The SDK would try it with each batch, and log a trace of its own.
    """
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return frozenset()
    return frozenset(signal for signal in ("traces", "metrics", "logs") if _is_wanted(signal))


def _is_wanted(signal: str) -> bool:
    name = signal.upper()
    if os.environ.get(f"OTEL_{name}_EXPORTER", "otlp").strip().lower() == "none":
        return False
    for_all = _is_endpoint("OTEL_EXPORTER_OTLP_ENDPOINT")
    return _is_endpoint(f"OTEL_EXPORTER_OTLP_{name}_ENDPOINT") or for_all


def _is_endpoint(variable: str) -> bool:
    endpoint = os.environ.get(variable, "").strip()
    if not endpoint:
        return False
    with suppress(ValueError):  # such as http://[
        parts = urlsplit(endpoint)
        if parts.scheme in ("http", "https") and parts.hostname:
            return True
    raise ConfigError(
        f"{variable} is {endpoint!r}; give the URL of a collector over HTTP, such as http://localhost:4318"
    )
