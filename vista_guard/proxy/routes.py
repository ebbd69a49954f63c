"""A request on its way: read, sent to upstream, judged, delivered. Everything that is not judged passes through."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Iterable
from contextlib import aclosing
from typing import TYPE_CHECKING, Final, Protocol, runtime_checkable

import httpx2
from starlette.responses import Response, StreamingResponse

from vista_guard.errors import InputError, StoreError, VistaGuardError
from vista_guard.openai_api import judging
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
from vista_guard.openai_api.routes import asks_about_passed, passed_by_default, passes, read_path
from vista_guard.openai_api.wire import (
    MAX_STREAM_EVENTS,
    Api,
    Json,
    Problem,
    ReadRequest,
    UnreadableError,
    UpstreamFailed,
    answer_headers,
    frame,
    is_stream,
    json_events,
    judged_api,
    read_answer,
    read_value,
)
from vista_guard.proxy import metrics
from vista_guard.proxy.identity import Conversations, Identity
from vista_guard.proxy.upstream import (
    Ask,
    Headers,
    Upstream,
    close_answer,
    open_answer,
    problem_of,
    raw,
    returned_headers,
    timeout_problem,
)
from vista_guard.reading.chat_json import read_json
from vista_guard.types import PartFailure

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Receive, Scope, Send

    from vista_guard.guard import Guard
    from vista_guard.proxy.settings import ProxySettings

logger = logging.getLogger("vista_guard.proxy")

_CLIENT_CLOSED = 499
_EVENTS_AT_A_TIME = 200
_REFUSED_REQUEST = frozenset({400, 404, 405, 413, 414, 415, 422})
"""Upstream's statuses for a request that is itself at fault: malformed, too long, for a model that does not exist."""
_NOT_PASSED = (
    "the guard judges chat/completions and responses, and passes only paths that are known to give out no model's words; to pass "
    "this one unjudged, name it in pass_paths in [proxy]"
)
_REROUTING = frozenset(
    {
        "x-http-method-override",
        "x-http-method",
        "x-method-override",
        "x-original-url",
        "x-rewrite-url",
        "x-forwarded-prefix",
    }
)
"""Headers that make some servers read another path or method than the guard judged."""


@runtime_checkable
class FailureSink(Protocol):
    """A sink that also keeps what broke without a report."""

    async def write_failure(self, failure: PartFailure) -> None: ...


Tell = Callable[[str], Awaitable[None]]
"""Stores a failed call to upstream by the code of its `Problem`."""

_KINDS: Final = {
    "upstream_unreachable": "connect",
    "upstream_timeout": "timeout",
    "upstream_status": "status",
    "upstream_key_refused": "status",
}
"""Classes of failures, as in `metrics.UpstreamError`; the others were cut off or could not be read."""


class Proxy:
    """Answers for upstream. `upstream` belongs to the loop that serves."""

    def __init__(self, guard: Guard, settings: ProxySettings, upstream: Upstream) -> None:
        self._settings = settings
        self._upstream = upstream
        self._conversations = Conversations(guard, settings)
        self._failures = [sink for sink in guard.parts.sinks if isinstance(sink, FailureSink)]

    async def answer(self, request: Request) -> Response:
        """The response to any request. Problem: what the caller is told instead. InputError: a request that cannot be read."""
        path = read_path(_raw_path(request))
        api = judged_api(path) if request.method == "POST" else None
        if api is None:
            return await self._pass_unjudged(request, path)
        body = _read_json(await request.body())
        parsed = DIALECTS[api].read(body, self._settings.context_patterns, user_context=self._settings.user_context)
        if self._settings.off:
            # The answer says so. What is meant for the guard still goes no further.
            return await _unless_caller_left(request, self._relay(request, path, _write_json(parsed.sent), judging.OFF))
        tenant: str = getattr(request.state, "tenant", "default")
        identity = await self._conversations.identify(tenant, request.headers, body, self._settings.conversation_header)
        exchange = self._exchange(api, parsed, identity)
        exchange.check_limits()
        return await _unless_caller_left(request, self._judge(request, path, exchange, self._teller(identity)))

    def _teller(self, identity: Identity) -> Tell:
        async def tell(code: str) -> None:
            if not code.startswith("upstream_"):
                return
            owner = {"tenant": identity.tenant, "conversation_id": identity.stored}
            failure = PartFailure(part="upstream", kind=_KINDS.get(code, "stream"), **owner)
            for sink in self._failures:
                try:
                    await sink.write_failure(failure)
                except StoreError as exc:
                    logger.error("a failed call to upstream was not stored: %s", exc)

        return tell

    def _exchange(self, api: Api, parsed: ReadRequest, identity: Identity) -> Exchange:
        async def make_known(judged: AnswerJudgement) -> None:
            next_time = parsed.followed_by(judged.report.response)
            stored_id = judged.response_id if judged.alone and parsed.sent.get("store") is not False else None
            owner = identity if judged.alone else Identity(identity.tenant)
            await self._conversations.make_known(owner, next_time, judged.report, response_id=stored_id)

        return Exchange(
            self._conversations.guard(identity.tenant),
            DIALECTS[api],
            parsed,
            parsed.conversation(identity.stored),
            parsed.grounds(),
            make_known,
            name=identity.name,
            gate=self._settings.gate,
            seconds=self._settings.request_timeout_s,
            on_drop=metrics.count_dropped_field,
        )

    async def _judge(self, request: Request, path: str, exchange: Exchange, tell: Tell) -> Response:
        try:
            return await self._judged(request, path, exchange, tell)
        except Problem as exc:
            await tell(exc.code)
            raise

    async def _judged(self, request: Request, path: str, exchange: Exchange, tell: Tell) -> Response:
        async def ask(sent: Json) -> httpx2.Response:
            return await self._ask(request, path, _write_json(sent))

        async def ask_whole(sent: Json) -> Json:
            retry = await open_answer(ask, sent, self._settings)
            return read_answer(await _read_whole(retry, self._settings))

        response = await ask(exchange.asked.sent)
        if is_stream(response.headers) and response.is_success:
            return GuardedStream(exchange, response, ask, self._settings, tell)
        body = await _read_whole(response, self._settings)
        if not response.is_success:
            if not _is_callers_fault(response.status_code, self._settings):
                metrics.count_upstream_error("status")
                await tell("upstream_status")
            return _failure(response, body)
        answer, reports, unjudged = await judge_answer(exchange, read_answer(body), ask_whole)
        headers = answer_headers(returned_headers(response))
        if reports:
            headers += judging.headers(worst(reports))
        headers += [*judging.unjudged_headers(unjudged), *judging.conversation_header(exchange.name)]
        return _respond(json.dumps(answer).encode(), response, headers)

    async def _pass_unjudged(self, request: Request, path: str) -> Response:
        method = request.method
        is_question = method == "OPTIONS" and (judged_api(path) is not None or asks_about_passed(path))
        if is_question or passed_by_default(method, path):
            extra_headers = []
        elif passes(method, path, self._settings.pass_paths):
            extra_headers = judging.unjudged_headers(["everything"])
        else:
            raise Problem(404, "path_not_passed", _NOT_PASSED)
        return await _unless_caller_left(request, self._relay(request, path, await request.body(), extra_headers))

    async def _relay(
        self, request: Request, path: str, body: bytes, extra_headers: Iterable[tuple[str, str]]
    ) -> Response:
        try:
            response = await self._ask(request, path, body)
        except Problem as exc:
            await self._teller(Identity(getattr(request.state, "tenant", "default")))(exc.code)
            raise
        if request.method != "OPTIONS":
            return RelayedAnswer(response, [*returned_headers(response), *extra_headers])
        await close_answer(response)  # the headers are the whole answer
        return _respond(b"", response, [*returned_headers(response), *extra_headers])

    async def _ask(self, request: Request, path: str, body: bytes) -> httpx2.Response:
        headers = [(name, value) for name, value in request.headers.items() if name not in _REROUTING]
        return await self._upstream.ask(request.method, path, request.url.query, headers, body)


async def _unless_caller_left(request: Request, work: Coroutine[object, None, Response]) -> Response:
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_wait_for_disconnect(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else Response(status_code=_CLIENT_CLOSED)
    except asyncio.CancelledError:  # only the end of the server cancels a request
        raise _stopping() from None
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _raw_path(request: Request) -> str:
    path: bytes | None = request.scope.get("raw_path")
    return path.decode("ascii", "replace") if path else str(request.scope["path"])


def _read_json(body: bytes) -> Json:
    try:
        content = read_json(body.decode(), parse_constant=_refuse_constant)
    except ValueError as exc:
        raise InputError(f"the request's body is not JSON: {exc}; send the API's request as a JSON object") from None
    if not isinstance(content, dict):
        raise InputError("the request's body is not a JSON object")
    if rb"\u" in body:
        try:
            json.dumps(content, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            raise InputError("the request's body holds half a surrogate pair; decode the text anew") from None
    return content


def _write_json(content: Json) -> bytes:
    # Serialized again, so that upstream reads the very request that was judged: readers disagree about duplicate keys.
    try:
        return json.dumps(content, allow_nan=False).encode()
    except ValueError:
        raise InputError("the request's body holds a number that JSON cannot hold") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


async def _read_whole(response: httpx2.Response, settings: ProxySettings) -> bytes:
    try:
        async with asyncio.timeout(settings.request_timeout_s):
            return await response.aread()
    except TimeoutError:
        raise timeout_problem(settings) from None
    except httpx2.HTTPError as exc:
        raise problem_of(exc, settings) from None
    finally:
        await close_answer(response)


def _is_callers_fault(status: int, settings: ProxySettings) -> bool:
    """True if upstream refused the request for what it is. Else upstream failed, or refused the operator's account."""
    return status in (_REFUSED_REQUEST if settings.upstream_key else _REFUSED_REQUEST | {401, 403})


def _failure(response: httpx2.Response, body: bytes) -> Response:
    """Upstream's error without a gateway's page or a broken server's quotes, which would leak internals."""
    error = json.dumps({"error": request_error(response.status_code, read_value(body))}).encode()
    return _respond(error, response, answer_headers(returned_headers(response)))


def _respond(body: bytes, response: httpx2.Response, headers: Headers) -> Response:
    answer = Response(body, response.status_code, media_type="application/json")
    answer.raw_headers += raw((name, value) for name, value in headers if name != "content-type")
    return answer


class RelayedAnswer(StreamingResponse):
    """Upstream's answer as it comes, unread."""

    def __init__(self, response: httpx2.Response, headers: Iterable[tuple[str, str]]) -> None:
        super().__init__(self._chunks(), response.status_code)
        self._response = response
        self.raw_headers = raw(headers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # A caller who goes away before the first byte leaves an iterator that never ran, and that closes nothing.
        try:
            await super().__call__(scope, receive, send)
        finally:
            await close_answer(self._response)

    async def _chunks(self) -> AsyncIterator[bytes]:
        async for chunk in self._response.aiter_bytes():
            yield chunk


def _stopping() -> Problem:
    return Problem(503, "guard_stopping", "the guard is shutting down and did not finish; send the request again")


class GuardedStream(RelayedAnswer):
    """Upstream's stream, of which nothing is shown before the gate released it."""

    def __init__(
        self, exchange: Exchange, response: httpx2.Response, ask: Ask, settings: ProxySettings, tell: Tell
    ) -> None:
        headers = [item for item in answer_headers(returned_headers(response)) if item[0] != "content-type"]
        self._answer = StreamedAnswer(exchange, self._ask_again)
        # Further unjudged kinds are known only when they come: the last event lists them.
        own_headers = [
            *judging.unjudged_headers(self._answer.stream.unjudged),
            *judging.conversation_header(exchange.name),
        ]
        super().__init__(response, [*headers, *own_headers, ("content-type", "text/event-stream; charset=utf-8")])
        self._ask, self._settings, self._tell = ask, settings, tell

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except (
            asyncio.CancelledError
        ):  # only the end of the server cancels a request: a caller who leaves ends it by itself
            last = frame(self._answer.stream.error(_stopping()))
            await send({"type": "http.response.body", "body": last, "more_body": False})

    async def _chunks(self) -> AsyncIterator[bytes]:
        try:
            async with aclosing(self._answer.shown(self._events(self._response))) as events:
                async for event in events:
                    yield frame(event)
        except UpstreamFailed as failed:
            metrics.count_upstream_error("stream")
            await self._tell("upstream_broken")
            yield frame(failed.event)
        except Problem as exc:
            if isinstance(exc, UnreadableError):
                metrics.count_upstream_error("stream")
            await self._tell(exc.code)
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
            received = received_events(response, settings.max_body_bytes, settings.max_stream_events)
            async with aclosing(received) as events:
                async for event in events:
                    count += 1
                    if count % _EVENTS_AT_A_TIME == 0:
                        await asyncio.sleep(0)  # thousands of tiny events may arrive at once: let other requests run
                    yield event
        except httpx2.ReadTimeout:
            raise timeout_problem(settings, "timed out mid-response") from None
        except httpx2.HTTPError as exc:
            raise problem_of(exc, settings, inside_stream=True) from None
        except ValueError:
            raise UnreadableError("upstream's stream cannot be read") from None
        finally:
            await close_answer(response)


def received_events(
    response: httpx2.Response, most: int, most_events: int = MAX_STREAM_EVENTS
) -> AsyncGenerator[Json | None, None]:
    """`json_events` of the response. ValueError: an event of more than `most` bytes."""
    return json_events(httpx2.EventSource(response, max_event_size=most), most_events)
