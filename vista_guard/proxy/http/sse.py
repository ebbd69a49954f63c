"""Server-sent events of upstream in, of the proxy out. The parser is httpx2's."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing

import httpx2

from vista_guard.integrations.openai_api import Json

DONE = b"data: [DONE]\n\n"
"""How a stream of chat completions ends."""


def frame(content: Mapping[str, object]) -> bytes:
    """An event, named by its content's `type` when it has one, as the Responses API does."""
    kind = content.get("type")
    name = f"event: {kind}\n" if isinstance(kind, str) else ""
    return f"{name}data: {json.dumps(content, separators=(',', ':'))}\n\n".encode()


async def events(response: httpx2.Response, *, most: int) -> AsyncGenerator[Json | None, None]:
    """The events of a stream as JSON objects; None for `[DONE]`, after which nothing is read.

    Raises:
        ValueError: an event that is no JSON object.
        httpx2.TransportError: the stream broke off, was silent for too long, or has an event of more than `most` bytes.
    """
    async with aclosing(_received(response, most)) as received:
        async for event in received:
            if event.data.strip() == "[DONE]":
                yield None
                return
            if not event.data.strip():
                continue
            content = json.loads(event.data)
            if not isinstance(content, dict):
                raise ValueError("an event of upstream is no JSON object")
            yield content


async def _received(response: httpx2.Response, most: int) -> AsyncGenerator[httpx2.ServerSentEvent, None]:
    async for event in httpx2.EventSource(response, max_event_size=most):
        yield event
