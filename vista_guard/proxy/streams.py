"""A stream on its way from upstream to the caller, through the gate."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from contextlib import aclosing
from typing import TYPE_CHECKING

import httpx2
from starlette.responses import StreamingResponse

from vista_guard.errors import VistaGuardError
from vista_guard.openai_api import judging
from vista_guard.openai_api.dialect import (
    Problem,
    UnreadableError,
    UpstreamFailed,
    answer_headers,
    frame,
    is_stream,
    read_object,
)
from vista_guard.openai_api.judging import Events, Exchange, StreamedAnswer
from vista_guard.openai_api.requests import Json
from vista_guard.proxy import metrics
from vista_guard.proxy.settings import ProxySettings
from vista_guard.proxy.upstream import (
    Ask,
    TooLargeError,
    close_answer,
    open_answer,
    problem_of,
    raw,
    returned_headers,
    timed_out,
)

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

logger = logging.getLogger("vista_guard.proxy")

_EVENTS_AT_A_TIME = 200


class RelayedAnswer(StreamingResponse):
    """Upstream's answer as it comes, unread."""

    def __init__(self, response: httpx2.Response, headers: Iterable[tuple[str, str]] | None = None) -> None:
        super().__init__(self._chunks(), response.status_code)
        self._response = response
        told = returned_headers(response) if headers is None else headers
        self.raw_headers = raw(told)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A caller who goes away before the first byte leaves an iterator that never ran, and that closes nothing.
        try:
            await super().__call__(scope, receive, send)
        finally:
            await close_answer(self._response)

    async def _chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._response.aiter_bytes():
            yield chunk


class GuardedStream(RelayedAnswer):
    """Upstream's stream, of which nothing is shown before the gate released it."""

    def __init__(self, exchange: Exchange, response: httpx2.Response, ask: Ask, settings: ProxySettings) -> None:
        headers = [item for item in answer_headers(returned_headers(response)) if item[0] != "content-type"]
        self._answer = StreamedAnswer(exchange, self._ask_again)
        # What else will pass unjudged is not known before it comes: the last event tells it.
        told = [*judging.unjudged_headers(self._answer.stream.unjudged), *judging.conversation_header(exchange.name)]
        super().__init__(response, [*headers, *told, ("content-type", "text/event-stream; charset=utf-8")])
        self._ask, self._settings = ask, settings

    async def _chunks(self) -> AsyncIterator[bytes]:
        try:
            async with aclosing(self._answer.shown(self._events(self._response))) as shown:
                async for event in shown:
                    yield frame(event)
        except UpstreamFailed as failed:
            metrics.upstream_error("stream")
            yield frame(failed.event)
        except Problem as exc:
            if isinstance(exc, UnreadableError):
                metrics.upstream_error("stream")
            yield frame(self._answer.stream.error(exc))
        except VistaGuardError as exc:
            logger.error("a stream could not be judged: %s", exc)
            problem = Problem(503, "guard_unavailable", "the guard cannot judge this answer")
            yield frame(self._answer.stream.error(problem))
        else:
            yield self._answer.stream.closing()

    async def _ask_again(self, sent: Json) -> Events:
        response = await open_answer(self._ask, sent, self._settings)
        if not is_stream(response.headers):
            await close_answer(response)
            raise UnreadableError("upstream's answer is no stream")
        return self._events(response)

    async def _events(self, response: httpx2.Response) -> Events:
        settings, count = self._settings, 0
        try:
            async with aclosing(received_events(response, settings.max_body_bytes)) as received:
                async for event in received:
                    count += 1
                    if count > settings.max_stream_events:
                        raise TooLargeError(f"upstream's answer has more than {settings.max_stream_events:,} events")
                    if count % _EVENTS_AT_A_TIME == 0:
                        await asyncio.sleep(0)  # thousands of tiny ones may come in one piece: others get their turn
                    yield event
        except httpx2.ReadTimeout:
            raise timed_out(settings, "fell silent in the middle of its answer") from None
        except httpx2.HTTPError as exc:
            raise problem_of(exc, settings, inside_stream=True) from None
        except ValueError:
            raise UnreadableError("upstream's stream cannot be read") from None
        finally:
            await close_answer(response)


async def received_events(response: httpx2.Response, most: int) -> AsyncGenerator[Json | None, None]:
    """The events as JSON objects; None for `[DONE]`.

    Raises:
        ValueError: an event that is no JSON object.
        httpx2.TransportError: the stream broke off, was silent for too long, or has an event of more than `most` bytes.
    """
    async for event in httpx2.EventSource(response, max_event_size=most):
        if event.data.strip() == "[DONE]":
            yield None
            return
        if not event.data.strip():
            continue
        if (content := read_object(event.data)) is None:
            raise ValueError("an event of upstream is no JSON object")
        yield content
