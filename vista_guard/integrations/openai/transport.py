"""The HTTP client under a guarded OpenAI client: requests and answers go through `openai_api`, as they do in the proxy.

All that the SDK sends comes through here, so this is where a route is judged, passes, or is refused before anything is sent.

The SDK retries after an exception here, so errors and withheld answers are left in `AnswerFacts`, and the client raises them.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import json
import logging
import re
import socket
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, Literal, cast, get_args

from openai import APIConnectionError, APIError, APITimeoutError

from vista_guard import _aio
from vista_guard._aio import Bridged, holding, in_thread
from vista_guard.errors import Blocked, ConfigError, InputError
from vista_guard.guard import Guard
from vista_guard.openai_api import judging as verdict
from vista_guard.openai_api.fields import request_error
from vista_guard.openai_api.judging import (
    DIALECTS,
    AnswerJudgement,
    Events,
    Exchange,
    StreamedAnswer,
    judge_answer,
    worst,
)
from vista_guard.openai_api.routes import check_pattern, passed_by_default, passes, read_path
from vista_guard.openai_api.wire import (
    MAX_EVENT_LINES,
    MAX_STREAM_EVENTS,
    Api,
    Json,
    Problem,
    TooManyEventsError,
    UpstreamFailed,
    answer_headers,
    as_object,
    frame,
    is_stream,
    json_events,
    judged_api,
    line_ends,
    read_answer,
    read_object,
    read_value,
    with_answer,
)
from vista_guard.reading.chat_json import PATTERNS, FoundDocuments, given_documents
from vista_guard.stream.gates import Gate
from vista_guard.turn.work import Recent, check_id
from vista_guard.types import Conversation, Document, TurnReport

Finder = Callable[[Conversation], FoundDocuments | Awaitable[FoundDocuments]]
"""Gives the documents of an answer from the conversation that ends with it; with the gate `sentence`, it is still empty."""

ConversationId = str | Callable[[Mapping[str, Any]], str | None]
"""The conversation's id, or a function that finds it in a request's arguments."""

OnBlock = Literal["raise", "replace"]

logger = logging.getLogger("vista_guard.openai")

TOLD: Final = "vista_guard"
"""The extension of a response that holds its `AnswerFacts`, and of a request that holds the SDK's client."""

_KEPT_CHAINS: Final = 1024
_NOT_READ: Final = ("background", "n")
"""Fields of a request that only the proxy refuses: there, nobody would judge what comes of them."""
_NOT_REPEATED: Final = re.compile("content-length|host|idempotency-key|x-stainless-(retry-count|raw-response)")
_asking_again: ContextVar[bool] = ContextVar("vista_guard_asking_again", default=False)

Http = Any
"""`httpx2`, or `httpx` under an SDK before 3.0: their names are the same."""


@dataclass
class AnswerFacts:
    """Facts about an answer that its bytes do not carry."""

    reports: dict[int, TurnReport] = field(default_factory=dict)
    """By the index of the choice."""
    kinds: Sequence[str] = ()
    """Kinds of fields of a whole answer that passed unjudged by design."""
    stream: StreamedAnswer | None = None
    final: object = None
    """The response that ended a stream, as it was delivered."""
    error: Exception | None = None
    """Raised in place of the answer."""

    @property
    def unjudged(self) -> tuple[str, ...]:
        return tuple(self.kinds if self.stream is None else self.stream.stream.unjudged)

    def is_withheld(self, choice: int = 0) -> bool:
        """True if the policy's message stands in place of this choice."""
        report = self.reports.get(choice)
        return report is not None and report.blocked


@dataclass(frozen=True)
class ClientGuard:
    """A guard with the options of `guarded`; see there."""

    guard: Guard
    gate: Gate = "sentence"
    on_block: OnBlock = "raise"
    find: Finder | None = None
    on_report: Callable[[TurnReport], object] | None = None
    conversation_id: ConversationId | None = None
    allow_unjudged: Sequence[str] = ()
    max_stream_events: int = MAX_STREAM_EVENTS
    chains: Recent[Conversation] = field(default_factory=lambda: Recent(_KEPT_CHAINS))
    """Turns behind the ids that OpenAI keeps, in this process: pass the history yourself where another one goes on."""
    said: set[str] = field(default_factory=set)
    """Patterns of `allow_unjudged` that the log has named."""

    def __post_init__(self) -> None:
        for name, value, allowed in (("gate", self.gate, Gate), ("on_block", self.on_block, OnBlock)):
            if value not in get_args(allowed):
                raise ConfigError(f"{name} is {value!r}; choose {', '.join(get_args(allowed))}")
        if isinstance(self.allow_unjudged, str):
            raise ConfigError(f"allow_unjudged is {self.allow_unjudged!r}; give a list of routes")
        try:
            list(map(check_pattern, self.allow_unjudged))
        except ValueError as exc:
            raise ConfigError(f"allow_unjudged: {exc}") from None
        if type(self.max_stream_events) is not int or self.max_stream_events < 1:
            raise ConfigError(f"max_stream_events is {self.max_stream_events!r}; it must be a whole number above 0")

    def read(self, request: Http) -> Call | None:
        """The call, when its answer is judged; None when its answer passes.

        Raises:
            InputError: messages or documents that cannot be read, or are over a limit.
            ConfigError: a route that is neither judged nor known to hold no model's text, and that nobody opened.
        """
        if _asking_again.get():
            return None
        api = judged_api(request.url.path) if request.method == "POST" else None
        if api is not None:
            return Call(self, api, request)
        self._check_route(request)
        return None

    def _check_route(self, request: Http) -> None:
        route = _route_of(request)
        try:
            path = read_path(route)
        except Problem:
            raise ConfigError(f"the path {route!r} is read differently by servers; use the SDK's own methods") from None
        if passed_by_default(request.method, path):
            return
        pattern = next((pattern for pattern in self.allow_unjudged if passes(request.method, path, [pattern])), None)
        if pattern is None:
            raise ConfigError(
                f"{request.method} {path} may answer with a model's text, which the guarded client does not judge: ask by "
                f'chat.completions or responses, or open the route with guarded(…, allow_unjudged=["{request.method} {path}"])'
            )
        if pattern not in self.said:
            self.said.add(pattern)
            logger.warning("answers of %s pass the guarded client unjudged, as allow_unjudged says", pattern)

    def tell(self, reports: Iterable[TurnReport]) -> None:
        """Passes every report to `on_report`. Blocked: an answer was withheld, and `on_block` is raise."""
        report_list = list(reports)
        if self.on_report is not None:
            for report in report_list:
                self.on_report(report)
        blocked = next((report for report in report_list if report.blocked), None)
        if blocked is not None and self.on_block == "raise":
            raise Blocked(blocked)


class Call:
    def __init__(self, guarding: ClientGuard, api: Api, request: Http) -> None:
        body = read_object(request.content)
        if body is None:
            raise InputError("the request's body is not a JSON object; the guard cannot judge the answer to it")
        readable = {name: value for name, value in body.items() if name not in _NOT_READ}
        parsed = DIALECTS[api].read(readable, PATTERNS)
        # `documents` on messages are for the guard, and no API takes them there; those of the body are sent as they are.
        self.sent: Json = {name: parsed.sent.get(name, value) for name, value in body.items()}
        self.is_changed = self.sent != body
        self.streamed = body.get("stream") is True
        self.told = AnswerFacts()
        self.client: Any = request.extensions[TOLD]
        self._guarding, self._request = guarding, request
        self._chain = _id_of(body.get("conversation"))
        self._past = self._read_past(parsed.conversation(), body)
        self._exchange = Exchange(
            guarding.guard,
            DIALECTS[api],
            replace(parsed, sent=self.sent),
            self._past,
            parsed.grounds(),
            self._on_judged,
            name=self._past.id,
            find=None if guarding.find is None else self._find_in_thread,
            gate=guarding.gate,
            choices=count if type(count := body.get("n")) is int and count > 0 else 1,
            show_message=guarding.on_block == "replace",
        )
        self._exchange.check_limits()

    def _read_past(self, conversation: Conversation, body: Json) -> Conversation:
        chains, find = self._guarding.chains, self._guarding.conversation_id
        earlier = chains.get(_id_of(body.get("previous_response_id"))) or chains.get(self._chain)
        headers, query = self._request.headers, dict(self._request.url.params)
        arguments = {**body, "extra_body": body, "extra_headers": headers, "extra_query": query}
        name = find(arguments) if callable(find) else find
        check_id(name)
        name = name or _id_of(as_object(body.get("metadata")).get("conversation_id"))
        identity = name or self._chain or (earlier.id if earlier else None)
        turns = conversation.turns if earlier is None else (*earlier.turns, *conversation.turns)
        return Conversation(turns=turns, id=identity)

    def _find_in_thread(self, conversation: Conversation) -> Sequence[Document]:
        """Calls the user's finder; an async one runs on the loop of the request."""
        if self._guarding.find is None:
            return ()
        documents = self._guarding.find(conversation)
        if inspect.isawaitable(documents):
            documents = asyncio.run_coroutine_threadsafe(_await_documents(documents), self._loop).result()
        return given_documents(documents)

    async def _on_judged(self, judged: AnswerJudgement) -> None:
        report = judged.report
        if report.conversation_id != self._past.id:
            report = report.model_copy(update={"conversation_id": self._past.id})
        self.told.reports[judged.choice] = report
        past = with_answer(self._past, report.response, judged.documents) if report.response else self._past
        self._keep(judged.response_id, past)
        if self.streamed:
            self._guarding.tell([report])

    def _keep(self, response_id: str | None, conversation: Conversation) -> None:
        self._guarding.chains.put(response_id, conversation)
        self._guarding.chains.put(self._chain, conversation)

    async def judge_whole(
        self, body: bytes, ask: Callable[[Json], Awaitable[Http]]
    ) -> tuple[bytes, list[tuple[str, str]]]:
        """The answer to deliver, and headers with its verdict. InputError: it cannot be read."""
        self._loop = asyncio.get_running_loop()

        async def ask_whole(sent: Json) -> Json:
            return read_answer((await ask(sent)).content)

        try:
            answer, reports, unjudged = await judge_answer(self._exchange, read_answer(body), ask_whole)
        except Problem as exc:
            raise InputError(str(exc)) from None
        if not reports:
            self._keep(self._exchange.dialect.response_id(answer), self._past)
        self.told.kinds = unjudged
        self._guarding.tell(self.told.reports[index] for index in reports)
        headers = verdict.headers(worst(reports)) if reports else []
        return json.dumps(answer).encode(), [*headers, *verdict.unjudged_headers(unjudged)]

    async def frames(
        self,
        response: Http,
        ask: Callable[[Json], Awaitable[Http]],
        read: Callable[[Any, Http, int], AsyncGenerator[Any, None]],
    ) -> AsyncGenerator[bytes, None]:
        """The stream as it may be shown; `read` gives the SDK's events of a response, up to a limit of its lines.

        Raises:
            Blocked: an answer was withheld, and `on_block` is raise.
            InputError: the answer cannot be read, or says nothing where the API has its words.
            APIError: upstream failed, or sends too many events; of its error only the kind is told, since its words may be the
                draft's.
        """
        self._loop = asyncio.get_running_loop()
        http = _http_of(self._request)

        most = self._guarding.max_stream_events

        async def ask_events(sent: Json) -> Events:
            return _json_events(read(self.client, await ask(sent), most), most)

        answer = self.told.stream = StreamedAnswer(self._exchange, ask_events)
        failure: Mapping[str, object] = {}
        try:
            async with aclosing(answer.shown(_json_events(read(self.client, response, most), most))) as events:
                async for event in events:
                    yield frame(event)
        except UpstreamFailed as exc:
            failure = exc.event
        except http.RequestError as exc:  # newer SDKs turn it into their own error, older ones let it through
            kind = APITimeoutError if isinstance(exc, http.TimeoutException) else APIConnectionError
            raise kind(request=self._request) from exc
        except Problem as exc:
            if exc.code == "upstream_broken" or isinstance(exc, TooManyEventsError):
                failure = {"message": str(exc), "code": exc.code}
            else:
                raise InputError(str(exc)) from None
        if "response" in failure:
            yield frame(failure)
        elif failure:
            error = cast("Json", failure.get("error", failure))
            raise APIError(str(error["message"]), self._request, body=error)
        if not self.told.reports:
            self._keep(answer.stream.response_id, self._past)
        yield answer.stream.closing()

    def again_options(self, *, stream: bool) -> dict[str, Any]:
        """Options with which the SDK sends a request again: like the first one, with its retries."""
        # Only the HTTP client's own headers can have other than ASCII; it adds them again.
        headers = {
            name: value
            for name, value in self._request.headers.items()
            if value.isascii() and not _NOT_REPEATED.fullmatch(name)
        }
        raw = {"x-stainless-raw-response": "stream"} if stream else {}
        timeout = _http_of(self._request).Timeout(**self._request.extensions["timeout"])
        return {
            "path": str(self._request.url),
            "cast_to": _http_of(self._request).Response,
            "options": {"headers": {**headers, **raw}, "timeout": timeout},
        }


class _Sender:
    """The common part of both HTTP clients; everything but sending belongs to the user's own client."""

    def __init__(self, inner: Http, guarding: ClientGuard) -> None:
        self.inner, self.guarding = inner, guarding

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)

    def _outgoing(self, call: Call, request: Http) -> Http:
        """The request without what is meant for the guard."""
        if not call.is_changed:
            return request
        headers = [(name, value) for name, value in request.headers.raw if name.lower() != b"content-length"]
        content = json.dumps(call.sent, ensure_ascii=False, separators=(",", ":")).encode()
        return _http_of(request).Request(
            request.method, request.url, headers=headers, content=content, extensions=request.extensions
        )


class _SyncSender(_Sender):
    def send(self, request: Http, *, stream: bool = False, **options: Any) -> Http:
        try:
            call = self.guarding.read(request)
        except Exception as exc:
            return _error_response(request, exc)
        if call is None:
            return self.inner.send(request, stream=stream, **options)
        response = self.inner.send(self._outgoing(call, request), stream=call.streamed, **options)
        if not response.is_success:
            response.read()
            return _without_quotes(response)
        if call.streamed and is_stream(response.headers):
            body = _subclass(_SyncFrames, _http_of(response).SyncByteStream)(call, response)
            return _judged_response(response, call.told, stream=body)
        response.read()
        try:
            body, headers = _aio.run(call.judge_whole(response.content, _sync_asking(call, stream=False)))
        except Exception as exc:
            return _error_response(request, exc)
        return _judged_response(response, call.told, headers, content=body)

    def close(self) -> None:
        self.inner.close()

    def __enter__(self) -> _SyncSender:
        self.inner.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.inner.__exit__(*exc)


class _AsyncSender(_Sender):
    async def send(self, request: Http, *, stream: bool = False, **options: Any) -> Http:
        try:
            call = self.guarding.read(request)
        except Exception as exc:
            return _error_response(request, exc)
        if call is None:
            return await self.inner.send(request, stream=stream, **options)
        response = await self.inner.send(self._outgoing(call, request), stream=call.streamed, **options)
        if not response.is_success:
            await response.aread()
            return _without_quotes(response)
        if call.streamed and is_stream(response.headers):
            body = _subclass(_AsyncFrames, _http_of(response).AsyncByteStream)(call, response)
            return _judged_response(response, call.told, stream=body)
        await response.aread()
        try:
            body, headers = await call.judge_whole(response.content, _async_asking(call, stream=False))
        except Exception as exc:
            return _error_response(request, exc)
        return _judged_response(response, call.told, headers, content=body)

    async def aclose(self) -> None:
        await self.inner.aclose()

    async def __aenter__(self) -> _AsyncSender:
        await self.inner.__aenter__()
        return self

    async def __aexit__(self, *exc: Any) -> None:
        await self.inner.__aexit__(*exc)


def over(inner: Http, guarding: ClientGuard) -> Http:
    http = _http_of(inner)
    is_async = isinstance(inner, http.AsyncClient)
    sender = _subclass(_AsyncSender, http.AsyncClient) if is_async else _subclass(_SyncSender, http.Client)
    return sender(inner, guarding)


@lru_cache
def _subclass(own: type, base: type) -> Any:
    """Our class as a subclass of the HTTP package's: the SDK and the package check with `isinstance`."""
    return type(f"Guarded{base.__name__}", (own, base), {})


def _http_of(value: object) -> Http:
    """The package that a client, a request or a response is of: httpx2 or httpx."""
    packages = [base.__module__.partition(".")[0] for base in type(value).__mro__]
    return sys.modules[next(name for name in packages if name in ("httpx", "httpx2"))]


class _SyncFrames:
    """The body of a guarded stream. It is judged on the background loop, and upstream is read in a thread of its own."""

    def __init__(self, call: Call, response: Http) -> None:
        self._response = response
        self._items = Bridged(call.frames(response, _sync_asking(call, stream=True), _read_in_thread))

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._items)

    def close(self) -> None:
        """Ends the judging and closes upstream: at once, or when the read that is under way comes back."""
        self._items.close()
        if not self._items.started:
            self._response.close()


class _AsyncFrames:
    def __init__(self, call: Call, response: Http) -> None:
        self._response = response
        self._items = call.frames(response, _async_asking(call, stream=True), _read)

    def __aiter__(self) -> AsyncGenerator[bytes, None]:
        return self._items

    async def aclose(self) -> None:
        try:
            await self._items.aclose()
        except RuntimeError:  # Another task is reading: it meets a closed connection.
            pass
        finally:
            await self._response.aclose()


class _Closable:
    """A response whose stream, once closed, is at its end, also when nothing of it was read."""

    is_closed: bool
    is_stream_consumed: bool

    def iter_raw(self, chunk_size: int | None = None) -> Iterator[bytes]:
        inner: Any = super()
        return inner.iter_raw(chunk_size) if self.is_stream_consumed or not self.is_closed else iter(())

    async def aiter_raw(self, chunk_size: int | None = None) -> AsyncGenerator[bytes, None]:
        inner: Any = super()
        if self.is_stream_consumed or not self.is_closed:
            async for chunk in inner.aiter_raw(chunk_size):
                yield chunk


def _judged_response(response: Http, told: AnswerFacts, headers: Iterable[tuple[str, str]] = (), **body: Any) -> Http:
    delivered = _subclass(_Closable, _http_of(response).Response)(
        response.status_code,
        headers=[*answer_headers(response.headers.multi_items()), *headers],
        request=response.request,
        extensions={**response.extensions, TOLD: told},
        history=response.history,
        **body,
    )
    with contextlib.suppress(RuntimeError):  # of a stream that goes on it is not known
        delivered.elapsed = response.elapsed
    return delivered


def _error_response(request: Http, error: Exception) -> Http:
    """Carries an error for the client to raise: the SDK would retry if it were raised here."""
    return _http_of(request).Response(200, json={}, request=request, extensions={TOLD: AnswerFacts(error=error)})


def _without_quotes(response: Http) -> Http:
    """The failure; a broken server's loses its words, which may quote the answer that it could not read."""
    if response.status_code < 500:
        return response
    headers = [item for item in response.headers.raw if not item[0].lower().startswith(b"content-")]
    return _http_of(response).Response(
        response.status_code,
        headers=headers,
        json={"error": request_error(response.status_code, read_value(response.content))},
        request=response.request,
        extensions=response.extensions,
    )


def _sync_asking(call: Call, *, stream: bool) -> Callable[[Json], Awaitable[Http]]:
    def send(sent: Json) -> Http:
        _asking_again.set(True)  # in the context of this thread's call alone
        return call.client.post(body=sent, **call.again_options(stream=stream))

    async def ask(sent: Json) -> Http:
        sending = asyncio.ensure_future(asyncio.to_thread(send, sent))
        try:
            return await asyncio.shield(sending)
        except asyncio.CancelledError:
            sending.add_done_callback(_drop)
            raise

    return ask


def _drop(sending: asyncio.Future[Http]) -> None:
    if not sending.cancelled() and sending.exception() is None:
        sending.result().close()


def _async_asking(call: Call, *, stream: bool) -> Callable[[Json], Awaitable[Http]]:
    async def ask(sent: Json) -> Http:
        with holding(_asking_again, True):
            return await call.client.post(body=sent, **call.again_options(stream=stream))

    return ask


async def _read_in_thread(client: Any, response: Http, most_events: int) -> AsyncGenerator[Any, None]:
    """The SDK's events of a sync client's stream, whose bytes are read by a thread that also closes the stream.

    A read that is under way is ended with its connection; over HTTP/2, which others share, when upstream sends more.
    """
    chunks = in_thread(
        lambda: map(_line_limit(most_events), response.iter_bytes()),
        copy_context(),
        close=response.close,
        interrupt=lambda: _end_connection(response),
    )
    async with aclosing(chunks), aclosing(client._make_sse_decoder().aiter_bytes(chunks)) as events:
        async for event in events:
            yield event


def _end_connection(response: Http) -> None:
    stream = response.extensions.get("network_stream")
    connection = None if stream is None else stream.get_extra_info("socket")
    if connection is not None and not response.is_closed and response.http_version.startswith("HTTP/1"):
        with contextlib.suppress(OSError):  # The other side may have been faster.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)


async def _read(client: Any, response: Http, most_events: int) -> AsyncGenerator[Any, None]:
    count = _line_limit(most_events)
    try:
        async for event in client._make_sse_decoder().aiter_bytes(
            count(chunk) async for chunk in response.aiter_bytes()
        ):
            yield event
    finally:
        await response.aclose()


def _line_limit(most_events: int) -> Callable[[bytes], bytes]:
    """Gives back each chunk. TooManyEventsError: all chunks have more lines than so many events take."""
    lines = 0

    def count(chunk: bytes) -> bytes:
        nonlocal lines
        lines += line_ends(chunk)
        if lines > most_events * MAX_EVENT_LINES:
            raise TooManyEventsError(most_events)
        return chunk

    return count


async def _json_events(events: AsyncGenerator[Any, None], most: int) -> Events:
    async with aclosing(events), aclosing(json_events(events, most)) as contents:
        async for content in contents:
            yield content


def _route_of(request: Http) -> str:
    """The quoted path below the client's base URL."""
    path: str = request.url.raw_path.partition(b"?")[0].decode("ascii", "replace")
    client = request.extensions.get(TOLD)
    base = b"" if client is None else client.base_url.raw_path.partition(b"?")[0]
    return path.removeprefix(base.decode("ascii", "replace"))


def _id_of(value: object) -> str | None:
    """An id, given by itself or as an object that has it."""
    identity = value.get("id") if isinstance(value, Mapping) else value
    return str(identity) if identity else None


async def _await_documents(documents: Awaitable[FoundDocuments]) -> FoundDocuments:
    return await documents
