"""The SDK for commands, which are processes of their own, from the standard `OTEL_*` variables. The library sets up none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from vista_guard._extras import require
from vista_guard.errors import ConfigError

EXTRA = "opentelemetry.exporter.otlp.proto.http"


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
        ConfigError: an endpoint is named that is no URL over HTTP, or the extra `otel` is not installed.
    """
    signals = wanted_signals()
    if not signals:
        yield
        return
    require("sending traces (OTEL_EXPORTER_OTLP_ENDPOINT is set)", EXTRA, extra="otel")
    from vista_guard.telemetry.pipelines import Pipelines

    pipelines = Pipelines(service, signals)
    try:
        yield
    finally:
        pipelines.close()


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
