"""A scripted OpenAI-compatible server for tests: real HTTP on loopback, strict about what it is sent."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from vista_guard.errors import ConfigError
from vista_guard.testing import chat_wire, responses_wire
from vista_guard.testing.connections import Loopback, require_extra
from vista_guard.testing.counting import PrefixCache, counted, waves
from vista_guard.testing.delivery import Silence, Streamed, Whole, error_body, page
from vista_guard.testing.endpoint import Endpoint, Refused
from vista_guard.testing.script import Answer, Api, Fault, Faults, ReceivedRequest, Rejected, Script, Told
from vista_guard.testing.validation import validator
from vista_guard.types import Usage

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp


class ScriptedChatServer:
    """Answers `POST /v1/chat/completions`, `POST /v1/responses` and `GET /v1/models` from a script.

    A context manager: the server runs in a thread of its own from entry to exit, on `base_url`. Every request is held
    against the API's own schema; a wrong one gets a 400 and is kept in `rejected`, and so is one that the script has no
    answer for. Needs the extra `testing`.

    Args:
        script: a text said to every call, a sequence of answers in order of arrival, or a function of the request. The
            function runs on the server's one thread.
        latency: seconds from the arrival of a request to its answer (streamed: to its first byte), or a function of the request.
        tokens_per_second: pace of streams, in tokens of 4 characters.
        faults: by number of the call, from 1, or a function of the request; they come before the script, which then
            isn't asked.
        key: the key that callers must have; 401 otherwise.
        models: names that are served; 404 for others. Any name when None.
        context_tokens: longer prompts (4 characters a token) get a 400 `context_length_exceeded`.
        json_schema: False refuses `json_schema` answer formats, as many endpoints do.
        extra_parameters: top-level request parameters to let through besides the API's own.
        cache_block: tokens in a block of the prefix cache that `cached_tokens` are counted by.
        echo_seed: puts the request's seed into `system_fingerprint`, as `seed-7`.

    Raises:
        ConfigError: on entry, when the extra is not installed.
    """

    def __init__(
        self,
        script: Script,
        *,
        latency: float | Callable[[ReceivedRequest], float] = 0.0,
        tokens_per_second: float | None = None,
        faults: Faults | None = None,
        key: str | None = None,
        models: Collection[str] | None = None,
        context_tokens: int | None = None,
        json_schema: bool = True,
        extra_parameters: Collection[str] = (),
        cache_block: int = 16,
        echo_seed: bool = False,
    ) -> None:
        self._script = script
        self._latency = latency
        self._tokens_per_second = tokens_per_second
        self._faults: Faults = {} if faults is None else faults
        self._endpoint = Endpoint(key, models, context_tokens, json_schema, extra_parameters)
        self._cache_block = cache_block
        self._echo_seed = echo_seed
        self._lock = Lock()
        self._loopback: Loopback | None = None
        self.reset()

    def __enter__(self) -> Self:
        if self._loopback is not None:
            raise ConfigError("this ScriptedChatServer is running already; make another one")
        require_extra()
        validator("chat")  # Built here, so that the first call does not wait for it.
        self._loopback = Loopback(self._app())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        loopback, self._loopback = self._running, None
        loopback.stop()

    @property
    def base_url(self) -> str:
        """What a client calls its base URL: `http://127.0.0.1:PORT/v1`."""
        return f"http://127.0.0.1:{self._running.port}/v1"

    @property
    def requests(self) -> tuple[ReceivedRequest, ...]:
        """Every call received, in order of arrival."""
        with self._lock:
            return tuple(self._requests)

    @property
    def rejected(self) -> tuple[Rejected, ...]:
        """The calls that no endpoint would have taken, or that the script has no answer for."""
        with self._lock:
            return tuple(self._rejected)

    @property
    def calls(self) -> int:
        """How many calls were received, those refused or answered with a fault included."""
        return len(self.requests)

    @property
    def usage(self) -> Usage:
        """Tokens reported in all answers together; `calls` are the answers that reported some."""
        return sum((request.usage for request in self.requests if request.usage is not None), Usage())

    def waves(self) -> int:
        """How many calls had to wait for each other: the longest run in which each began after the one before had ended."""
        return waves(list(self.requests))

    def reset(self) -> None:
        """Forgets all calls, the prefix cache, and how far a sequence of answers was used up."""
        with self._lock:
            self._requests: list[ReceivedRequest] = []
            self._rejected: list[Rejected] = []
            self._cache = PrefixCache(self._cache_block)
            self._answered = 0

    def assert_accepted(self) -> None:
        """Fails when any call was rejected."""
        if self.rejected:
            told = "; ".join(f"call {rejected.request.number}: {rejected.message}" for rejected in self.rejected)
            raise AssertionError(f"{len(self.rejected)} of {self.calls} calls were rejected: {told}")

    @property
    def _running(self) -> Loopback:
        if self._loopback is None:
            raise ConfigError(
                "this ScriptedChatServer is not running; enter it first: with ScriptedChatServer(…) as server"
            )
        return self._loopback

    def _app(self) -> Starlette:
        from starlette.applications import Starlette
        from starlette.routing import Route

        async def chat(request: Request) -> ASGIApp:
            return await self._receive("chat", request)

        async def responses(request: Request) -> ASGIApp:
            return await self._receive("responses", request)

        routes = [
            Route("/v1/chat/completions", chat, methods=["POST"]),
            Route("/v1/responses", responses, methods=["POST"]),
            Route("/v1/models", self._list_models, methods=["GET"]),
        ]
        return Starlette(routes=routes, exception_handlers={404: _no_route, 405: _no_route})

    async def _receive(self, api: Api, http: Request) -> ASGIApp:
        started = time.monotonic()
        raw = await http.body()
        body, problem = _read(raw)
        headers = {name.lower(): value for name, value in http.headers.items()}
        with self._lock:
            request = ReceivedRequest(len(self._requests) + 1, api, body, started, headers)
            self._requests.append(request)
        try:
            if problem is not None:
                raise Refused(400, problem, wrong=True)
            self._endpoint.check(request)
            told = self._told(request)
        except Refused as exc:
            return self._refuse(request, exc)
        if isinstance(told, Fault):
            return self._fail(request, told)
        return self._say(request, Answer(told) if isinstance(told, str) else told)

    def _told(self, request: ReceivedRequest) -> Told:
        fault = self._faults(request) if callable(self._faults) else self._faults.get(request.number)
        if fault is not None:
            return fault
        if isinstance(self._script, str):
            return self._script
        if callable(self._script):
            try:
                return self._script(request)
            except Exception as exc:  # The test sees it in `rejected`, and its client a 400, which is not retried.
                told = f"the script has no answer: {type(exc).__name__}: {exc}"
                raise Refused(400, told, wrong=True) from exc
        with self._lock:
            place, self._answered = self._answered, self._answered + 1
        if place >= len(self._script):
            raise Refused(400, f"the script has no answer: all {len(self._script)} are used up", wrong=True)
        return self._script[place]

    def _say(self, request: ReceivedRequest, answer: Answer) -> ASGIApp:
        latency = self._latency(request) if callable(self._latency) else self._latency
        at = request.started + (latency if answer.latency is None else answer.latency)
        with self._lock:
            cached = self._cache.cached_tokens(request)
        usage = request.usage = counted(request, answer, cached)
        if request.stream:
            events = self._events(request, answer, usage)
            return self._keeping(request, Streamed(request, self._running, events, at, self._tokens_per_second))
        body = self._body(request, answer, usage)
        return self._keeping(request, Whole(request, self._running, json.dumps(body).encode(), at))

    def _keeping(self, request: ReceivedRequest, response: ASGIApp) -> ASGIApp:
        async def deliver(scope: Any, receive: Any, send: Any) -> None:
            await response(scope, receive, send)
            with self._lock:
                self._cache.add(request)

        return deliver

    def _fail(self, request: ReceivedRequest, fault: Fault) -> ASGIApp:
        at, loopback = request.started + fault.latency, self._running
        match fault.kind:
            case "http":
                body = error_body(fault.status, fault.message, fault.code)
                return Whole(request, loopback, body, at, fault.status, fault.headers)
            case "html":
                return page(request, loopback, fault.status, at)
            case "hang" | "reset":
                return Silence(request, loopback, None if fault.kind == "hang" else at)
            case "empty":
                empty = chat_wire.chat_empty if request.api == "chat" else responses_wire.responses_empty
                return Whole(request, loopback, json.dumps(empty(request)).encode(), at)
        return self._cut(request, fault, at)

    def _cut(self, request: ReceivedRequest, fault: Fault, at: float) -> ASGIApp:
        answer, loopback = Answer(fault.text), self._running
        usage = counted(request, answer, 0)
        if request.stream:
            events = list(self._events(request, answer, usage))
            stop_after, pace = int(len(events) * fault.share), self._tokens_per_second
            return Streamed(request, loopback, events, at, pace, stop_after=stop_after, clean=fault.clean)
        body = json.dumps(self._body(request, answer, usage)).encode()
        return Whole(request, loopback, body, at, share=fault.share, clean=fault.clean)

    def _body(self, request: ReceivedRequest, answer: Answer, usage: Usage | None) -> Mapping[str, Any]:
        if request.api == "chat":
            return chat_wire.chat_body(request, answer, usage, self._fingerprint(request))
        return responses_wire.responses_body(request, answer, usage)

    def _events(self, request: ReceivedRequest, answer: Answer, usage: Usage | None) -> Iterable[chat_wire.Event]:
        if request.api == "chat":
            return chat_wire.chat_events(request, answer, usage, self._fingerprint(request))
        return responses_wire.responses_events(request, answer, usage)

    def _fingerprint(self, request: ReceivedRequest) -> str | None:
        return f"seed-{request.seed}" if self._echo_seed and request.seed is not None else None

    def _refuse(self, request: ReceivedRequest, refused: Refused) -> ASGIApp:
        if refused.wrong:
            with self._lock:
                self._rejected.append(Rejected(request, str(refused)))
        return Whole(request, self._running, _refusal(refused), request.started, refused.status)

    async def _list_models(self, http: Request) -> Response:
        from starlette.responses import JSONResponse, Response

        try:
            self._endpoint.check_key(http.headers)
        except Refused as exc:
            return Response(_refusal(exc), exc.status, media_type="application/json")
        names = ["scripted"] if self._endpoint.models is None else list(self._endpoint.models)
        listed = [{"id": name, "object": "model", "created": 0, "owned_by": "vista-guard"} for name in names]
        return JSONResponse({"object": "list", "data": listed})


def _read(raw: bytes) -> tuple[Mapping[str, Any], str | None]:
    try:
        body = json.loads(raw)
    except ValueError as exc:
        return {}, f"We could not parse the JSON body of your request: {exc}"
    return (body, None) if isinstance(body, dict) else ({}, "The body of the request must be a JSON object.")


def _refusal(refused: Refused) -> bytes:
    return error_body(refused.status, str(refused), refused.code, refused.param)


async def _no_route(http: Request, exc: Exception) -> Response:
    from starlette.responses import Response

    status = getattr(exc, "status_code", 404)
    told = f"Invalid URL ({http.method} {http.url.path})"
    return Response(error_body(status, told, "unknown_url"), status, media_type="application/json")
