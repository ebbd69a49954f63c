"""W3C trace context over HTTP: a request continues its caller's trace, and upstream continues it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from opentelemetry import context as contexts
from opentelemetry.propagate import extract, inject
from opentelemetry.trace import SpanKind, Status, StatusCode, use_span

from vista_guard.telemetry import attributes as names
from vista_guard.telemetry.config import Telemetry
from vista_guard.telemetry.spans import _request, mark

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class TracedRequests:
    """ASGI middleware that runs each request in its caller's trace, with a span for each judged one.

    Args:
        app: the wrapped app.
        telemetry: that of the guard.
        is_judged: True for the scope of a request whose answer is judged.
    """

    def __init__(self, app: App, telemetry: Telemetry, is_judged: Callable[[Scope], bool]) -> None:
        self._app, self._telemetry, self._is_judged = app, telemetry, is_judged

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        token = contexts.attach(extract(headers))
        try:
            await (self._run_in_span if self._is_judged(scope) else self._app)(scope, receive, send)
        finally:
            contexts.detach(token)

    async def _run_in_span(self, scope: Scope, receive: Receive, send: Send) -> None:
        values = {names.KIND: "CHAIN", names.HTTP_METHOD: str(scope["method"])}
        span = self._telemetry.tracer.start_span(names.PROXY, kind=SpanKind.SERVER, attributes=values)
        if not span.is_recording():
            await self._app(scope, receive, send)
            return

        async def watched(message: Any) -> None:
            if message["type"] == "http.response.start":
                span.set_attribute(names.HTTP_STATUS, message["status"])
                if message["status"] >= 500:
                    span.set_status(Status(StatusCode.ERROR))
            await send(message)

        token = _request.set(span)
        try:
            with use_span(span, record_exception=False, set_status_on_exception=False):
                await self._app(scope, receive, watched)
        except BaseException as exc:
            mark(span, exc)
            raise
        finally:
            _request.reset(token)
            span.end()


def trace_headers() -> list[tuple[str, str]]:
    """Returns the headers that continue the current trace; none without a trace."""
    carrier: dict[str, str] = {}
    inject(carrier)
    return list(carrier.items())


def without_trace_headers(headers: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Removes the headers that `trace_headers` replaces."""
    replaced = {name for name, _ in trace_headers()}
    return [(name, value) for name, value in headers if name.lower() not in replaced]
