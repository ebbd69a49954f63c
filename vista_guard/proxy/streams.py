"""A stream on its way from upstream to the caller, through the gate.

Upstream asked again, the way the caller asked: same path, same headers, the draft and a note on it added.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING, cast

import httpx2
from starlette.responses import StreamingResponse

from vista_guard.errors import VistaGuardError
from vista_guard.integrations.openai_api import Json, ending_report, judge_or_ask_again, summed
from vista_guard.integrations.openai_api.fields import NOTHING_LEFT
from vista_guard.proxy import exchange as verdict
from vista_guard.proxy import metrics
from vista_guard.proxy.dialects.protocol import EventStream, UpstreamFailed
from vista_guard.proxy.exchange import Exchange
from vista_guard.proxy.upstream import (
    Ask,
    Problem,
    TooLargeError,
    answer_headers,
    close_answer,
    events,
    frame,
    is_stream,
    open_answer,
    problem_of,
    returned_headers,
    timed_out,
)
from vista_guard.stream.delivery import Opening
from vista_guard.stream.gates import Again, Delta, Found, Passed
from vista_guard.types import TurnReport

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

    from vista_guard.proxy.dialects.protocol import Dialect


AskWhole = Callable[[Json], Awaitable[Json]]
"""Sends a body to upstream and reads the answer."""


async def judge_again(exchange: Exchange, answer: Json, ask: AskWhole) -> tuple[Json, TurnReport]:
    """The answer that is delivered, which may be another one than was given, and its report.

    Raises:
        InputError: the answer is over a limit.
    """
    dialect = exchange.dialect

    async def ask_again(draft: str, note: str, before: Json) -> Json:
        following = await ask(exchange.request_again(draft, note))
        if len(dialect.texts(following)) != 1:
            raise Problem(502, "upstream_unreadable", "upstream's answer has no choice, or several")
        if before.get("usage"):
            following["usage"] = summed(before["usage"], following.get("usage"))
        return following

    async def judge(parts: AsyncGenerator[Delta, None], again: Again) -> TurnReport:
        conversation = exchange.asked.conversation(exchange.identity.stored)
        documents = exchange.asked.grounds()
        return await ending_report(
            exchange.guard.gated(conversation, parts, gate="turn", documents=documents, again=again)
        )

    return await judge_or_ask_again(answer, lambda answer: _parts(dialect, answer), ask_again, judge)


async def _parts(dialect: Dialect, answer: Json) -> AsyncGenerator[Delta, None]:
    yield Found(dialect.documents(answer))
    for text in dialect.texts(answer):
        if text.strip():
            yield text
    yield Passed(None, binding=dialect.acts(answer))


logger = logging.getLogger("vista_guard.proxy")

_END = object()
_EVENTS_AT_A_TIME = 200


class RelayedAnswer(StreamingResponse):
    """Upstream's answer as it comes, unread."""

    def __init__(self, response: httpx2.Response, headers: Iterable[tuple[str, str]] | None = None) -> None:
        super().__init__(self._chunks(), response.status_code)
        self._response = response
        told = returned_headers(response) if headers is None else headers
        self.raw_headers = [(name.encode(), value.encode()) for name, value in told]

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

    def __init__(self, exchange: Exchange, response: httpx2.Response, ask: Ask) -> None:
        headers = [item for item in answer_headers(returned_headers(response)) if item[0] != "content-type"]
        self._stream = exchange.dialect.stream(exchange.sifting())
        # What else will pass unjudged is not known before it comes: the last event tells it.
        told = [*verdict.unjudged_headers(self._stream.unjudged), *verdict.conversation_header(exchange.identity)]
        super().__init__(response, [*headers, *told, ("content-type", "text/event-stream; charset=utf-8")])
        self._exchange = exchange
        self._ask = ask

    async def _chunks(self) -> AsyncIterator[bytes]:
        try:
            async with aclosing(self._events()) as shown:
                async for event in shown:
                    yield frame(event)
        except UpstreamFailed as failed:
            metrics.upstream_error("stream")
            yield frame(failed.event)
        except Problem as exc:
            yield frame(self._stream.error(exc))
        except VistaGuardError as exc:
            logger.error("a stream could not be judged: %s", exc)
            yield frame(self._stream.error(Problem(503, "guard_unavailable", "the guard cannot judge this answer")))
        else:
            yield self._stream.closing()

    async def _events(self) -> AsyncGenerator[Json, None]:
        """What goes before the first text passes at once, unless all may be asked for again; without any text there is nothing
        to judge."""
        again = self._again if self._exchange.may_ask_again else None
        async with aclosing(self._parts(self._response, self._stream)) as parts:
            if self._exchange.asked.structured:
                async for part in parts:
                    if isinstance(part, str | Passed):
                        for event in self._events_for(part):
                            yield event
                for event in self._stream.end(verdict.unjudged_field(None, self._stream.unjudged), blocked=False):
                    yield event
                return
            called = False
            opening = Opening(parts, hold=again is not None)
            async with aclosing(opening.before_text()) as passing:
                async for passed in passing:
                    called = called or (isinstance(passed, Passed) and passed.binding)
                    for event in self._events_for(passed):
                        yield event
            if opening.spoken:
                async with aclosing(self._guarded_events(opening.rest(), again if opening.hold else None)) as guarded:
                    async for event in guarded:
                        yield event
                return
        if self._stream.lost and not called:
            metrics.upstream_error("stream")
            raise Problem(502, "upstream_unreadable", NOTHING_LEFT)
        for event in self._stream.end(verdict.unjudged_field(None, self._stream.unjudged), blocked=False):
            yield event

    async def _guarded_events(
        self, parts: AsyncGenerator[Delta, None], again: Again | None
    ) -> AsyncGenerator[Json, None]:
        exchange = self._exchange
        gated = exchange.guard.gated(
            exchange.asked.conversation(exchange.identity.stored),
            parts,
            gate=exchange.settings.gate,
            documents=exchange.asked.grounds(),
            again=again,
        )
        async with aclosing(gated):
            async for item in gated:
                if not isinstance(item, TurnReport):
                    for event in self._events_for(item):
                        yield event
                    continue
                await exchange.make_known(item, self._stream.response_id)
                field = verdict.unjudged_field(verdict.field(item, exchange.identity), self._stream.unjudged)
                for event in self._stream.end(field, blocked=item.blocked):
                    yield event

    def _events_for(self, item: str | Passed) -> Iterator[Json]:
        return self._stream.text(item) if isinstance(item, str) else self._stream.passed(item.item)

    async def _again(self, draft: str, note: str) -> AsyncGenerator[Delta, None]:
        """Another answer of upstream's, which takes the stream's place once it speaks."""
        exchange = self._exchange
        response = await open_answer(self._ask, exchange.request_again(draft, note), exchange.settings)
        following = exchange.dialect.stream(exchange.sifting(), self._stream.usage)
        async with aclosing(self._parts(response, following)) as parts:
            async for part in parts:
                if isinstance(part, str) and part.strip():
                    self._stream = following
                yield part
        if following.finished:
            self._stream = following

    async def _parts(self, response: httpx2.Response, stream: EventStream) -> AsyncGenerator[Delta, None]:
        """Upstream's text and what is not text."""
        done = False
        try:
            if not is_stream(response.headers):
                raise Problem(502, "upstream_unreadable", "upstream's answer is no stream")
            async with aclosing(self._upstream_events(response)) as received:
                async for event in received:
                    if event is None:
                        done = True
                        break
                    for part in _parts_of(stream, event):
                        yield part
            if not done and not stream.finished:
                metrics.upstream_error("stream")
                raise Problem(502, "upstream_broken", "upstream broke off its answer")
        finally:
            await close_answer(response)

    async def _upstream_events(self, response: httpx2.Response) -> AsyncGenerator[Json | None, None]:
        settings, count = self._exchange.settings, 0
        try:
            async with aclosing(events(response, most=settings.max_body_bytes)) as received:
                while True:
                    event = await anext(received, _END)
                    if event is _END:
                        return
                    count += 1
                    if count > settings.max_stream_events:
                        raise TooLargeError(f"upstream's answer has more than {settings.max_stream_events:,} events")
                    if count % _EVENTS_AT_A_TIME == 0:
                        await asyncio.sleep(
                            0
                        )  # thousands of tiny ones come in one piece, and others have to get between them
                    yield cast("Json | None", event)
        except httpx2.ReadTimeout:
            raise timed_out(settings, "fell silent in the middle of its answer") from None
        except httpx2.HTTPError as exc:
            raise problem_of(exc, settings, inside_stream=True) from None
        except (ValueError, RecursionError):
            metrics.upstream_error("stream")
            raise Problem(502, "upstream_unreadable", "upstream's stream cannot be read") from None


def _parts_of(stream: EventStream, event: Json) -> Iterator[Delta]:
    """What the event holds.

    Raises:
        Problem: it is of no form that the API has.
    """
    try:
        yield from stream.read(event)
    except (TypeError, ValueError, AttributeError, LookupError):
        metrics.upstream_error("stream")
        raise Problem(502, "upstream_unreadable", "upstream's stream cannot be read") from None
