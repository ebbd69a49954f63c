"""How an answer or a fault leaves the server: whole, streamed, late, broken off, or not at all."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vista_guard.testing.chat_wire import Event
from vista_guard.testing.script import ReceivedRequest

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from vista_guard.testing.connections import Loopback

_PAGE = b"<html><head><title>Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>"
_TYPES = {403: "permission_error", 429: "requests"}
_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}


def error_body(status: int, message: str | None = None, code: str | None = None, param: str | None = None) -> bytes:
    """OpenAI's shape of an error."""
    kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    told = message or f"scripted to answer {status}"
    content = {"message": told, "type": kind, "param": param, "code": code or _CODES.get(status)}
    return json.dumps({"error": content}).encode()


@dataclass(frozen=True)
class Whole:
    """A response that leaves in one piece. `share` below 1 stops after that share of its bytes."""

    request: ReceivedRequest
    server: Loopback
    body: bytes
    at: float
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    kind: str = "application/json"
    share: float = 1.0
    clean: bool = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.server.pause(self.at)
        sent = self.body[: int(len(self.body) * self.share)]
        length = len(sent) if self.clean else len(self.body)
        self.request.status = self.status
        self.request.ended = time.monotonic()
        await send(_start(self.status, {"content-type": self.kind, "content-length": str(length), **self.headers}))
        await send({"type": "http.response.body", "body": sent, "more_body": not self.clean})
        if not self.clean:
            await self.server.close(scope, receive, reset=False)


@dataclass(frozen=True)
class Streamed:
    """A stream of events, `pace` tokens a second. `stop_after` events it breaks off: cleanly, or by closing the connection."""

    request: ReceivedRequest
    server: Loopback
    events: Iterable[Event]
    at: float
    pace: float | None
    headers: Mapping[str, str] = field(default_factory=dict)
    stop_after: int | None = None
    clean: bool = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.server.pause(self.at)
        self.request.status = 200
        await send(_start(200, {"content-type": "text/event-stream; charset=utf-8", **self.headers}))
        tokens = 0
        for frame, paced in list(self.events)[: self.stop_after]:
            if paced and self.pace:
                tokens += 1
                await self.server.pause(self.at + tokens / self.pace)
            await send({"type": "http.response.body", "body": frame, "more_body": True})
        self.request.ended = time.monotonic()
        if self.clean:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            await self.server.close(scope, receive, reset=False)


@dataclass(frozen=True)
class Silence:
    """No response: the connection is reset at `at`, or with `at` None kept open until the caller goes away."""

    request: ReceivedRequest
    server: Loopback
    at: float | None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:  # noqa: ARG002
        if self.at is None:
            await self.server.gone(receive)
        else:
            await self.server.pause(self.at)
        self.request.ended = time.monotonic()
        if self.at is not None:
            await self.server.close(scope, receive, reset=True)


def page(request: ReceivedRequest, server: Loopback, status: int, at: float) -> Whole:
    """An HTML page instead of an answer."""
    return Whole(request, server, _PAGE, at, status, kind="text/html")


def _start(status: int, headers: Mapping[str, str]) -> dict[str, Any]:
    encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http.response.start", "status": status, "headers": encoded}
