"""A request on its way: read, sent to upstream, judged, delivered. Everything that is not judged passes through."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Coroutine, Mapping
from typing import TYPE_CHECKING, cast

import httpx2
from starlette.responses import Response

from vista_guard.errors import InputError
from vista_guard.integrations.openai_api import Json, ending_report, with_answer
from vista_guard.integrations.openai_api.fields import NOTHING_LEFT, Sifting, is_lost, request_error
from vista_guard.proxy import exchange as verdict
from vista_guard.proxy import metrics
from vista_guard.proxy.dialects.chat import Chat
from vista_guard.proxy.dialects.protocol import FIELD, Dialect
from vista_guard.proxy.dialects.responses import Responses
from vista_guard.proxy.exchange import Exchange
from vista_guard.proxy.identity import Conversations
from vista_guard.proxy.paths import judged_api, passed_by_default, read_path
from vista_guard.proxy.settings import passes
from vista_guard.proxy.streams import GuardedStream, RelayedAnswer, judge_again
from vista_guard.proxy.upstream import (
    Ask,
    Headers,
    Problem,
    Upstream,
    answer_headers,
    close_answer,
    is_stream,
    open_answer,
    problem_of,
    returned_headers,
    timed_out,
)
from vista_guard.stream.source import join_documents
from vista_guard.types import Conversation, TurnReport

if TYPE_CHECKING:
    from starlette.requests import Request

    from vista_guard.guard import Guard
    from vista_guard.proxy.settings import ProxySettings

DIALECTS: Mapping[str, Dialect] = {"chat": Chat(), "responses": Responses()}

_CLIENT_CLOSED = 499
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
"""Headers by which some servers take a request for one of another path or method than it was judged by."""


class Proxy:
    """Answers for upstream. `upstream` belongs to the loop that serves."""

    def __init__(self, guard: Guard, settings: ProxySettings, upstream: Upstream) -> None:
        self._settings = settings
        self._upstream = upstream
        self._conversations = Conversations(guard, settings)

    async def answer(self, request: Request) -> Response:
        """The response to any request.

        Raises:
            Problem: there is none, and what the caller is told instead.
            InputError: a request that cannot be read.
        """
        path = read_path(_raw_path(request))
        api = judged_api(path) if request.method == "POST" else None
        if api is None:
            return await self._pass_unjudged(request, path)
        body = _read_json(await request.body())
        asked = DIALECTS[api].read(body, self._settings.context_patterns, user_context=self._settings.user_context)
        if self._settings.off:
            return await _unless_caller_left(request, self._relay_while_off(request, path, asked.sent))
        tenant: str = getattr(request.state, "tenant", "default")
        identity = await self._conversations.identify(tenant, request.headers, body, self._settings.conversation_header)
        exchange = Exchange(DIALECTS[api], asked, identity, self._conversations, self._settings)
        exchange.check_limits()
        return await _unless_caller_left(request, self._exchange(request, path, exchange))

    async def _exchange(self, request: Request, path: str, exchange: Exchange) -> Response:
        asked = exchange.asked

        async def ask(sent: Json) -> httpx2.Response:
            return await self._ask(request, path, _write_json(sent))

        response = await ask(asked.sent)
        if is_stream(response.headers) and response.is_success:
            return GuardedStream(exchange, response, ask)
        try:
            body = await _read_whole(response, self._settings)
        finally:
            await close_answer(response)
        if not response.is_success:
            return _failure(response, body)
        sifting = exchange.sifting()
        answer = exchange.dialect.sift(_read_answer(body), sifting)
        if is_lost(answer, sifting):
            raise Problem(502, "upstream_unreadable", NOTHING_LEFT)
        return await self._judge(exchange, response, answer, ask)

    async def _judge(self, exchange: Exchange, response: httpx2.Response, answer: Json, ask: Ask) -> Response:
        dialect, headers = exchange.dialect, answer_headers(returned_headers(response))
        try:
            texts = dialect.texts(answer)
        except (TypeError, ValueError, AttributeError, LookupError):
            raise Problem(502, "upstream_unreadable", "upstream's answer cannot be read") from None
        reports: list[TurnReport] = []
        if exchange.asked.structured:
            pass
        elif len(texts) == 1 and texts[0].strip() and exchange.may_ask_again:
            answer, report = await self._judge_again(exchange, answer, ask)
            reports = [report]
        else:
            reports = [
                await self._judge_text(exchange, answer, choice, text, alone=len(texts) == 1)
                for choice, text in enumerate(texts)
                if text.strip()
            ]
        if reports:
            # Several choices are one answer: what is told of it is the worst.
            worst = min(
                reports, key=lambda report: (not report.blocked, report.score if report.score is not None else 1.0)
            )
            answer[FIELD] = verdict.field(worst, exchange.identity)
            headers += verdict.headers(worst)
        # Said of what is delivered: a withheld answer brings nothing but the policy's words.
        delivered = Sifting(exchange.asked.sent, structured=exchange.asked.structured)
        dialect.sift(answer, delivered)
        if (told := verdict.unjudged_field(cast("Json | None", answer.get(FIELD)), delivered.told)) is not None:
            answer[FIELD] = told
        headers += [*verdict.unjudged_headers(delivered.told), *verdict.conversation_header(exchange.identity)]
        return _respond(json.dumps(answer).encode(), response, headers)

    async def _judge_again(self, exchange: Exchange, answer: Json, ask: Ask) -> tuple[Json, TurnReport]:
        """As `_judge_text`, of the only text of an answer that may be asked for again."""
        dialect, seconds = exchange.dialect, self._settings.request_timeout_s

        async def ask_whole(sent: Json) -> Json:
            judging.reschedule(None)  # upstream has its own time
            try:
                response = await open_answer(ask, sent, self._settings)
                try:
                    following = _read_answer(await _read_whole(response, self._settings))
                    return dialect.sift(following, exchange.sifting())
                finally:
                    await close_answer(response)
            finally:
                judging.reschedule(asyncio.get_running_loop().time() + seconds)

        try:
            async with asyncio.timeout(seconds) as judging:
                answer, report = await judge_again(exchange, answer, ask_whole)
        except TimeoutError:
            raise Problem(504, "guard_timeout", "the guard did not judge the answer in time") from None
        except InputError:
            report = await self._judge_text(exchange, answer, 0, dialect.texts(answer)[0], alone=True)
            return answer, report
        text = dialect.texts(answer)[0]
        if text.strip() and (report.response != text or report.blocked):
            dialect.deliver(answer, 0, report.response, blocked=report.blocked)
        await exchange.make_known(report, dialect.response_id(answer))
        return answer, report

    async def _judge_text(self, exchange: Exchange, answer: Json, choice: int, text: str, *, alone: bool) -> TurnReport:
        dialect = exchange.dialect
        # Which of several choices the caller takes is not known: none becomes knowledge before it comes back as history.
        name = exchange.identity.stored if alone else None
        documents = join_documents(exchange.asked.grounds(), dialect.documents(answer))
        conversation = with_answer(exchange.asked.conversation(name), text, documents)
        try:
            async with asyncio.timeout(self._settings.request_timeout_s):
                report = await _check(exchange.guard, conversation)
        except TimeoutError:
            raise Problem(504, "guard_timeout", "the guard did not judge the answer in time") from None
        if report.response != text or report.blocked:
            dialect.deliver(answer, choice, report.response, blocked=report.blocked)
        await exchange.make_known(report, dialect.response_id(answer), alone=alone)
        return report

    async def _pass_unjudged(self, request: Request, path: str) -> Response:
        method = request.method
        if passed_by_default(method, path) or (method == "OPTIONS" and judged_api(path)):
            more = []
        elif passes(method, path, self._settings.pass_paths):
            more = verdict.unjudged_headers(["everything"])
        else:
            raise Problem(404, "path_not_passed", _NOT_PASSED)
        return await _unless_caller_left(request, self._relay(request, path, await request.body(), more))

    async def _relay(self, request: Request, path: str, body: bytes, more: Headers) -> Response:
        response = await self._ask(request, path, body)
        if request.method != "OPTIONS":
            return RelayedAnswer(response, [*returned_headers(response), *more])
        await close_answer(response)  # what may be asked is said in the headers
        return _respond(b"", response, [*returned_headers(response), *more])

    async def _relay_while_off(self, request: Request, path: str, sent: Json) -> Response:
        """The proxy is switched off, and the answer says so. What is meant for the guard still goes no further."""
        response = await self._ask(request, path, _write_json(sent))
        return RelayedAnswer(response, [*returned_headers(response), *verdict.OFF])

    async def _ask(self, request: Request, path: str, body: bytes) -> httpx2.Response:
        headers = [(name, value) for name, value in request.headers.items() if name not in _REROUTING]
        return await self._upstream.ask(request.method, path, request.url.query, headers, body)


async def _check(guard: Guard, conversation: Conversation) -> TurnReport:
    *past, turn = conversation.turns
    try:
        return await guard.acheck(conversation)
    except InputError:
        # The request was within limits, so it is the answer that is not. That is for the policy to decide, as in a stream,
        # and no fault of the caller's.
        before = conversation.model_copy(update={"turns": tuple(past)})
        return await ending_report(guard.gated(before, _once(turn.text), documents=turn.documents))


async def _once(text: str) -> AsyncIterator[str]:
    yield text


async def _unless_caller_left(request: Request, work: Coroutine[object, None, Response]) -> Response:
    """Awaits the work, or cancels it when the caller goes away."""
    working, leaving = asyncio.ensure_future(work), asyncio.ensure_future(_caller_left(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
        return working.result() if working.done() else Response(status_code=_CLIENT_CLOSED)
    finally:
        for task in (working, leaving):
            task.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _caller_left(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _raw_path(request: Request) -> str:
    raw: bytes | None = request.scope.get("raw_path")
    return raw.decode("ascii", "replace") if raw else str(request.scope["path"])


def _read_json(body: bytes) -> Json:
    try:
        content = json.loads(body.decode(), parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise InputError("the request's body is not JSON; send the API's request as a JSON object") from None
    if not isinstance(content, dict):
        raise InputError("the request's body is not a JSON object")
    if rb"\u" in body:
        _refuse_half_characters(content)
    return content


def _refuse_half_characters(content: Json) -> None:
    try:
        json.dumps(content, ensure_ascii=False).encode()
    except (UnicodeEncodeError, RecursionError):
        raise InputError("the request's body holds half a surrogate pair; decode the text anew") from None


def _write_json(content: Json) -> bytes:
    # What was read is written anew, so that upstream reads the very request that was judged: a key that stands there twice
    # means different things to different readers.
    try:
        return json.dumps(content, allow_nan=False).encode()
    except (ValueError, RecursionError):
        raise InputError("the request's body holds a number or a depth that JSON cannot hold") from None


def _refuse_constant(name: str) -> None:
    raise ValueError(name)


def _read_answer(body: bytes) -> Json:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        content = None
    if not isinstance(content, dict):
        raise Problem(502, "upstream_unreadable", "upstream's answer is not a JSON object")
    return content


async def _read_whole(response: httpx2.Response, settings: ProxySettings) -> bytes:
    try:
        async with asyncio.timeout(settings.request_timeout_s):
            return await response.aread()
    except TimeoutError:
        raise timed_out(settings) from None
    except httpx2.HTTPError as exc:
        raise problem_of(exc, settings) from None


def _failure(response: httpx2.Response, body: bytes) -> Response:
    """Upstream's own error; a gateway's page is not passed on, it tells about the inside, nor what a broken server quotes."""
    metrics.upstream_error("status")
    try:
        told: object = json.loads(body)
    except (ValueError, RecursionError):
        told = None
    error = json.dumps({"error": request_error(response.status_code, told)}).encode()
    return _respond(error, response, answer_headers(returned_headers(response)))


def _respond(body: bytes, response: httpx2.Response, headers: Headers) -> Response:
    answer = Response(body, response.status_code, media_type="application/json")
    answer.raw_headers += [(name.encode(), value.encode()) for name, value in headers if name != "content-type"]
    return answer
