"""Prometheus metrics of this process at `/metrics`. No label holds a text, a conversation, a tenant or a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, get_args

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from starlette.responses import Response

from vista_guard.openai_api.fields import Place
from vista_guard.telemetry.config import Telemetry
from vista_guard.telemetry.instruments import TurnFigures
from vista_guard.types import STORE_WARNINGS, Action, Label

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

REGISTRY = CollectorRegistry()
"""Separate from a host application's own metrics."""

GATES = ("none", "sentence", "turn")
UpstreamError = Literal["connect", "timeout", "status", "stream"]
"""Upstream could not be reached, was too slow, answered with an error, or closed a stream early."""

UPSTREAM_ERRORS: tuple[UpstreamError, ...] = get_args(UpstreamError)

_turns = Counter("vista_guard_turns", "Turns judged.", ("action", "gate"), registry=REGISTRY)
_claims = Counter("vista_guard_claims", "Claims judged.", ("label",), registry=REGISTRY)
_unchecked = Counter("vista_guard_unchecked_claims", "Claims that could not be judged.", registry=REGISTRY)
_stores = Counter(
    "vista_guard_store_failures",
    "Turns whose evidence could not be read, or whose knowledge or report was not written at once.",
    ("kind",),
    registry=REGISTRY,
)
_seconds = Histogram(
    "vista_guard_gate_seconds",
    "Time that the guard took for a turn: its stages, without upstream.",
    ("gate",),
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
    registry=REGISTRY,
)
_upstream = Counter("vista_guard_upstream_errors", "Failed calls to upstream.", ("kind",), registry=REGISTRY)
_streams = Gauge("vista_guard_streams_open", "Streams being delivered.", registry=REGISTRY)
_refused = Counter("vista_guard_refused_requests", "Requests refused before any route.", ("code",), registry=REGISTRY)

_dropped = Counter(
    "vista_guard_dropped_fields",
    "Fields of answers that are not known and did not pass.",
    ("place",),
    registry=REGISTRY,
)

for _gate in GATES:
    _seconds.labels(_gate)
    for _action in Action:
        _turns.labels(_action.value, _gate)
for _label in Label:
    _claims.labels(_label.value)
for _failed in STORE_WARNINGS:
    _stores.labels(_failed)
for _kind in UPSTREAM_ERRORS:
    _upstream.labels(_kind)


def install(app: FastAPI, telemetry: Telemetry) -> None:
    """Serves `/metrics`, counts open streams and the turns of guards with this telemetry."""
    telemetry.subscribe(count_turn)
    app.add_middleware(StreamCounter)
    app.add_route("/metrics", _page, include_in_schema=False)


def count_turn(turn: TurnFigures) -> None:
    _turns.labels(turn.action.value, turn.gate).inc()
    _seconds.labels(turn.gate).observe(turn.seconds)
    for label, count in turn.labels.items():
        _claims.labels(label).inc(count)
    _unchecked.inc(sum(turn.unchecked.values()))
    for kind in turn.failed_stores:
        _stores.labels(kind).inc()


def count_upstream_error(kind: UpstreamError) -> None:
    _upstream.labels(kind).inc()


def upstream_errors() -> float:
    return sum(
        REGISTRY.get_sample_value("vista_guard_upstream_errors_total", {"kind": kind}) or 0 for kind in UPSTREAM_ERRORS
    )


def count_refusal(code: str) -> None:
    """Counts a refused request; `code` is one of ours, never the client's."""
    _refused.labels(code).inc()


def count_dropped_field(place: Place) -> None:
    """Counts a field of an answer that did not pass; `place` is one of the table's, never upstream's."""
    _dropped.labels(place).inc()


class StreamCounter:
    """Counts event streams from their first byte to their last, however they end."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        streaming = False

        async def counting_send(message: Message) -> None:
            nonlocal streaming
            if message["type"] == "http.response.start" and _is_stream(message):
                streaming = True
                _streams.inc()
            await send(message)

        try:
            await self._app(scope, receive, counting_send)
        finally:
            if streaming:
                _streams.dec()


def _is_stream(message: Message) -> bool:
    kinds = [value for name, value in message.get("headers", ()) if name.lower() == b"content-type"]
    return any(kind.startswith(b"text/event-stream") for kind in kinds)


async def _page(_request: Request) -> Response:
    return Response(generate_latest(REGISTRY), headers={"content-type": CONTENT_TYPE_LATEST})
