"""`ScriptedChatServer`: an OpenAI-compatible server for tests, real HTTP on loopback and strict about its requests."""

from __future__ import annotations

import asyncio
import hmac
import json
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from threading import Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from vista_guard._extras import require
from vista_guard.errors import ConfigError, VistaGuardError
from vista_guard.reading.chat_json import read_json
from vista_guard.testing.script import (
    Answer,
    Api,
    Fault,
    Faults,
    ReceivedRequest,
    Rejected,
    Reply,
    Script,
    count_tokens,
)
from vista_guard.types import Usage

if TYPE_CHECKING:
    import uvicorn
    from pydantic_core import ErrorDetails, SchemaValidator
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.types import ASGIApp, Receive, Scope, Send


class ScriptedChatServer:
    """Answers `POST /v1/chat/completions`, `POST /v1/responses` and `GET /v1/models` from a script.

    A context manager: the server runs in a thread of its own from entry to exit, on `base_url`. Every request is checked
    against the API's own schema; a wrong one gets a 400 and is kept in `rejected`, and so is one that the script has no
    answer for. Needs the extra `testing`.

    Args:
        script: a text that answers every call, a sequence of answers in order of arrival, or a function of the request. The
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

    Examples:
        >>> from openai import OpenAI
        >>> with ScriptedChatServer("Hello.") as server:
        ...     client = OpenAI(base_url=server.base_url, api_key="none")
        ...     client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hi"}]).choices[0].message.content
        'Hello.'

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
        require("ScriptedChatServer", "openai", "starlette", "uvicorn", extra="testing")
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
        """The client's base URL: `http://127.0.0.1:PORT/v1`."""
        return f"http://127.0.0.1:{self._running.port}/v1"

    @property
    def requests(self) -> tuple[ReceivedRequest, ...]:
        """Every received call, in order."""
        with self._lock:
            return tuple(self._requests)

    @property
    def rejected(self) -> tuple[Rejected, ...]:
        """The calls that a real endpoint would refuse, or that the script has no answer for."""
        with self._lock:
            return tuple(self._rejected)

    @property
    def calls(self) -> int:
        """Number of received calls, including refused and failed ones."""
        return len(self.requests)

    @property
    def usage(self) -> Usage:
        """Total tokens of all answers; `calls` counts the answers that reported usage."""
        return sum((request.usage for request in self.requests if request.usage is not None), Usage())

    def waves(self) -> int:
        """The longest run of calls that had to wait for each other."""
        count, last_end = 0, float("-inf")
        ends = [(float("inf") if request.ended is None else request.ended, request) for request in self.requests]
        for end, request in sorted(ends, key=lambda pair: pair[0]):
            if request.started >= last_end:
                count, last_end = count + 1, end
        return count

    def reset(self) -> None:
        """Forgets all calls, the prefix cache and the position in the script."""
        with self._lock:
            self._requests: list[ReceivedRequest] = []
            self._rejected: list[Rejected] = []
            self._cache = PrefixCache(self._cache_block)
            self._answered = 0

    def assert_accepted(self) -> None:
        """Fails when any call was rejected."""
        if self.rejected:
            message = "; ".join(f"call {rejected.request.number}: {rejected.message}" for rejected in self.rejected)
            raise AssertionError(f"{len(self.rejected)} of {self.calls} calls were rejected: {message}")

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

        routes = [
            Route("/v1/chat/completions", partial(self._receive, "chat"), methods=["POST"]),
            Route("/v1/responses", partial(self._receive, "responses"), methods=["POST"]),
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
            reply = self._reply(request)
        except Refused as exc:
            return self._refuse(request, exc)
        if isinstance(reply, Fault):
            return self._fail(request, reply)
        return self._answer(request, Answer(reply) if isinstance(reply, str) else reply)

    def _reply(self, request: ReceivedRequest) -> Reply:
        fault = self._faults(request) if callable(self._faults) else self._faults.get(request.number)
        if fault is not None:
            return fault
        if isinstance(self._script, str):
            return self._script
        if callable(self._script):
            try:
                return self._script(request)
            except Exception as exc:  # The test sees it in `rejected`, and its client a 400, which is not retried.
                message = f"the script has no answer: {type(exc).__name__}: {exc}"
                raise Refused(400, message, wrong=True) from exc
        with self._lock:
            place, self._answered = self._answered, self._answered + 1
        if place >= len(self._script):
            raise Refused(400, f"the script has no answer: all {len(self._script)} are used up", wrong=True)
        return self._script[place]

    def _answer(self, request: ReceivedRequest, answer: Answer) -> ASGIApp:
        latency = self._latency(request) if callable(self._latency) else self._latency
        at = request.started + (latency if answer.latency is None else answer.latency)
        with self._lock:
            cached = self._cache.cached_tokens(request)
        usage = request.usage = count_usage(request, answer, cached)
        if request.stream:
            events = self._events(request, answer, usage)
            return self._with_cache(request, Streamed(request, self._running, events, at, self._tokens_per_second))
        body = self._body(request, answer, usage)
        return self._with_cache(request, Whole(request, self._running, json.dumps(body).encode(), at))

    def _with_cache(self, request: ReceivedRequest, response: ASGIApp) -> ASGIApp:
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
                return Whole(request, loopback, _HTML, at, fault.status, kind="text/html")
            case "hang" | "reset":
                return Silence(request, loopback, None if fault.kind == "hang" else at)
            case "empty":
                is_chat = request.api == "chat"
                chat = _completion(request, "chat.completion", None, [], {}) if is_chat else None
                return Whole(request, loopback, json.dumps(chat or _response(request, "completed")).encode(), at)
        return self._cut(request, fault, at)

    def _cut(self, request: ReceivedRequest, fault: Fault, at: float) -> ASGIApp:
        answer, loopback = Answer(fault.text), self._running
        usage = count_usage(request, answer, 0)
        if request.stream:
            events = list(self._events(request, answer, usage))
            stop_after, pace = int(len(events) * fault.share), self._tokens_per_second
            return Streamed(request, loopback, events, at, pace, stop_after=stop_after, clean=fault.clean)
        body = json.dumps(self._body(request, answer, usage)).encode()
        return Whole(request, loopback, body, at, share=fault.share, clean=fault.clean)

    def _body(self, request: ReceivedRequest, answer: Answer, usage: Usage | None) -> Mapping[str, Any]:
        if request.api == "chat":
            return chat_body(request, answer, usage, self._fingerprint(request))
        return responses_body(request, answer, usage)

    def _events(self, request: ReceivedRequest, answer: Answer, usage: Usage | None) -> Iterable[Event]:
        if request.api == "chat":
            return chat_events(request, answer, usage, self._fingerprint(request))
        return responses_events(request, answer, usage)

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
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "vista-guard"} for name in names]
        return JSONResponse({"object": "list", "data": models})


def _read(raw: bytes) -> tuple[Mapping[str, Any], str | None]:
    try:
        body = read_json(raw)
    except ValueError as exc:
        return {}, f"We could not parse the JSON body of your request: {exc}"
    return (body, None) if isinstance(body, dict) else ({}, "The body of the request must be a JSON object.")


def _refusal(refused: Refused) -> bytes:
    return error_body(refused.status, str(refused), refused.code, refused.param)


async def _no_route(http: Request, exc: Exception) -> Response:
    from starlette.responses import Response

    status = getattr(exc, "status_code", 404)
    message = f"Invalid URL ({http.method} {http.url.path})"
    return Response(error_body(status, message, "unknown_url"), status, media_type="application/json")


class Refused(Exception):
    def __init__(
        self, status: int, message: str, *, code: str | None = None, param: str | None = None, wrong: bool = False
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.param = param
        self.wrong = wrong


@dataclass(frozen=True)
class Endpoint:
    """Key, models, context window and abilities; the fields are explained at `ScriptedChatServer`."""

    key: str | None
    models: Collection[str] | None
    context_tokens: int | None
    json_schema: bool
    extra_parameters: Collection[str]

    def check_key(self, headers: Mapping[str, str]) -> None:
        authorization = headers.get("authorization", "").encode()
        if self.key is not None and not hmac.compare_digest(authorization, f"Bearer {self.key}".encode()):
            raise Refused(401, "Incorrect API key provided.", code="invalid_api_key")

    def check(self, request: ReceivedRequest) -> None:
        """Raises Refused when the request is wrong, or asks for something that this endpoint lacks."""
        self.check_key(request.headers)
        check_body(request, self.extra_parameters)
        if self.models is not None and request.model not in self.models:
            message = f"The model `{request.model}` does not exist or you do not have access to it."
            raise Refused(404, message, code="model_not_found")
        self._check_length(request)
        if not self.json_schema and request.schema_name is not None:
            param = "response_format" if request.api == "chat" else "text.format"
            message = f"Invalid parameter: '{param}' of type 'json_schema' is not supported with this model."
            raise Refused(400, message, param=param)

    def _check_length(self, request: ReceivedRequest) -> None:
        tokens = count_tokens(request.prompt)
        if self.context_tokens is not None and tokens > self.context_tokens:
            message = (
                f"This model's maximum context length is {self.context_tokens} tokens. "
                f"However, your messages resulted in {tokens} tokens. Please reduce the length of the messages."
            )
            param = "messages" if request.api == "chat" else "input"
            raise Refused(400, message, code="context_length_exceeded", param=param)


_RANGES = {
    "temperature": (0, 2),
    "top_p": (0, 1),
    "presence_penalty": (-2, 2),
    "frequency_penalty": (-2, 2),
    "n": (1, 128),
    "max_tokens": (1, 10**7),
    "max_completion_tokens": (1, 10**7),
    "max_output_tokens": (16, 10**7),
    "top_logprobs": (0, 20),
}
_UNSUPPORTED = ("allOf", "not", "dependentRequired", "dependentSchemas", "if", "then", "else", "patternProperties")


@cache
def validator(api: Api) -> SchemaValidator:
    """Reads a JSON body strictly: no unknown key at any depth, no number given as a text. Needs the openai SDK."""
    from openai.types.chat.completion_create_params import CompletionCreateParamsBase
    from openai.types.responses.response_create_params import ResponseCreateParamsBase
    from pydantic import TypeAdapter
    from pydantic_core import SchemaValidator

    adapter: TypeAdapter[Any] = TypeAdapter(CompletionCreateParamsBase if api == "chat" else ResponseCreateParamsBase)
    return SchemaValidator(_strict(adapter.core_schema))


def _invalid(message: str, param: str | None = None) -> Refused:
    """The error for a request that the API refuses; `param` is the path of the wrong part."""
    return Refused(400, message, param=param, wrong=True)


def check_body(request: ReceivedRequest, extra: Collection[str] = ()) -> None:
    """Checks the body against the API; `extra` names top-level parameters to ignore. Refused: it does not fit."""
    from pydantic import ValidationError

    body = request.body
    stream = body.get("stream")
    if stream not in (None, True, False):
        raise _invalid(f"Invalid type for 'stream': expected a boolean, but got {stream!r}.", "stream")
    checked = {key: value for key, value in body.items() if key != "stream" and key not in extra}
    try:
        validator(request.api).validate_json(json.dumps(checked), strict=True)
    except ValidationError as exc:
        raise _likeliest_error(exc.errors(include_url=False, include_context=False)) from None
    _check_rules(request)
    for problem in _schema_problems(request):
        raise _invalid(problem, "response_format" if request.api == "chat" else "text.format.schema")


def _strict(node: Any) -> Any:
    # The SDK types say Iterable, which pydantic would read lazily, and let unknown keys pass.
    if isinstance(node, list | tuple):
        return type(node)(_strict(part) for part in node)
    if not isinstance(node, dict):
        return node
    strict = {key: part if key in ("metadata", "cls") else _strict(part) for key, part in node.items()}
    if strict.get("type") == "generator":
        strict["type"] = "list"
    elif strict.get("type") == "typed-dict":
        strict["extra_behavior"] = "forbid"
    return strict


def _likeliest_error(errors: list[ErrorDetails]) -> Refused:
    """Returns the error of the union variant most likely meant: the one with fitting `role` and `type`, read deepest."""
    unknown = [error["loc"][0] for error in errors if error["type"] == "extra_forbidden" and len(error["loc"]) == 1]
    if unknown:
        return _invalid(f"Unrecognized request argument supplied: {unknown[0]}", None)
    wrong = [error["loc"][:-1] for error in errors if error["loc"][-1] in ("role", "type")]
    fitting = [error for error in errors if not any(error["loc"][: len(loc)] == loc for loc in wrong if loc)]
    error = max(fitting or errors, key=lambda error: len(error["loc"]))
    path = ".".join(str(part) for part in error["loc"] if isinstance(part, int) or _is_key(part))
    expected = {other["msg"] for other in errors if other["loc"][-1] == error["loc"][-1]} if not fitting else set()
    expectation = "; ".join(sorted(expected)) or error["msg"]
    return _invalid(f"Invalid value for '{path}': {expectation}.", path)


def _is_key(part: str) -> bool:
    # The rest are names of union members: classes, list[…], str.
    return re.fullmatch(r"[a-z_]+", part) is not None and part not in ("str", "int", "float", "bool", "list", "dict")


def _check_rules(request: ReceivedRequest) -> None:
    body = request.body
    for required in ("model", "messages") if request.api == "chat" else ("model", "input"):
        if not body.get(required):
            raise _invalid(f"Missing required parameter: '{required}'.", required)
    for name, (low, high) in _RANGES.items():
        value = body.get(name)
        if isinstance(value, int | float) and not low <= value <= high:
            raise _invalid(f"Invalid '{name}': {value} lies outside [{low}, {high}].", name)
    if body.get("max_tokens") is not None and body.get("max_completion_tokens") is not None:
        raise _invalid("Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.")
    if body.get("stream_options") is not None and body.get("stream") is not True:
        raise _invalid("The 'stream_options' parameter is only allowed when 'stream' is enabled.")
    if request.answer_format.get("type") == "json_object":
        texts = json.dumps([body.get("messages"), body.get("input"), body.get("instructions")])
        if "json" not in texts.lower():
            raise _invalid("'messages' must contain the word 'json' to use a format of type 'json_object'.")


def _schema_problems(request: ReceivedRequest) -> Iterator[str]:
    """Yields violations of strict structured output (closed objects, required properties), and bad names."""
    answer_format = request.answer_format
    if answer_format.get("type") != "json_schema":
        return
    schema_format = answer_format["json_schema"] if request.api == "chat" else answer_format
    name, schema = schema_format["name"], schema_format.get("schema")
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        yield f"Invalid name {name!r} of the schema: it must match [A-Za-z0-9_-]{{1,64}}."
    if schema is None:
        yield f"Missing required parameter: the schema of {name!r}."
    elif schema_format.get("strict"):
        prefix = f"Invalid schema for response_format '{name}': "
        if schema.get("type") != "object":
            yield f"{prefix}schema must be a JSON Schema of 'type: \"object\"', got 'type: {schema.get('type')!r}'."
        yield from (prefix + problem for problem in _node_problems(schema, ()))


def _node_problems(node: Any, context: tuple[str, ...]) -> Iterator[str]:
    if not isinstance(node, Mapping):
        yield f"In context={context}, a schema must be an object, got {node!r}."
        return
    here = f"In context={context}, "
    for keyword in _UNSUPPORTED:
        if keyword in node:
            yield f"{here}'{keyword}' is not permitted."
    if not {"type", "anyOf", "$ref", "enum", "const"} & node.keys():
        yield f"{here}schema must have a 'type' key."
    properties = node.get("properties", {})
    if node.get("type") == "object" or properties:
        if node.get("additionalProperties") is not False:
            yield f"{here}'additionalProperties' is required to be supplied and to be false."
        missing = [name for name in properties if name not in node.get("required", ())]
        unknown = [name for name in node.get("required", ()) if name not in properties]
        if missing:
            yield f"{here}'required' must include every key in properties. Missing {missing[0]!r}."
        if unknown:
            yield f"{here}'required' names {unknown[0]!r}, which is no property."
    if node.get("type") == "array" and "items" not in node:
        yield f"{here}array schema missing items."
    yield from _inner_problems(node, context)


def _inner_problems(node: Mapping[str, Any], context: tuple[str, ...]) -> Iterator[str]:
    for group in ("properties", "$defs", "definitions"):
        for name, inner in node.get(group, {}).items():
            yield from _node_problems(inner, (*context, group, name))
    if "items" in node:
        yield from _node_problems(node["items"], (*context, "items"))
    for number, inner in enumerate(node.get("anyOf", ())):
        yield from _node_problems(inner, (*context, "anyOf", str(number)))


class PrefixCache:
    """A prompt cache in blocks of `block` tokens, for each model.

    A prompt's leading blocks are cached if an earlier answered prompt began with them; concurrent calls do not help each other.
    """

    def __init__(self, block: int) -> None:
        self._block = block
        self._known: set[int] = set()

    def cached_tokens(self, request: ReceivedRequest) -> int:
        blocks = self._blocks(request)
        hits = next((number for number, block in enumerate(blocks) if block not in self._known), len(blocks))
        return hits * self._block

    def add(self, request: ReceivedRequest) -> None:
        self._known.update(self._blocks(request))

    def _blocks(self, request: ReceivedRequest) -> list[int]:
        prompt, size = request.prompt, 4 * self._block
        chained, blocks = hash(request.model), []
        for start in range(0, len(prompt) - size + 1, size):
            chained = hash((chained, prompt[start : start + size]))
            blocks.append(chained)
        return blocks


def count_usage(request: ReceivedRequest, answer: Answer, cached: int) -> Usage | None:
    """Returns the usage to report: given numbers, else estimates. None when the answer reports none."""
    if not answer.usage:
        return None
    text = answer.refusal if answer.refusal is not None else answer.text or ""
    choices = request.body.get("n") or 1
    output = answer.output_tokens if answer.output_tokens is not None else count_tokens(text) * choices
    input_tokens = answer.input_tokens if answer.input_tokens is not None else count_tokens(request.prompt)
    return Usage(
        calls=1,
        input_tokens=input_tokens,
        output_tokens=output,
        cached_tokens=min(cached if answer.cached_tokens is None else answer.cached_tokens, input_tokens),
    )


Event = tuple[bytes, bool]
"""A frame of a stream, and True if it carries a token: those are paced."""


def pieces(text: str) -> list[str]:
    return [text[start : start + 4] for start in range(0, len(text), 4)]


def chat_body(request: ReceivedRequest, answer: Answer, usage: Usage | None, fingerprint: str | None) -> dict[str, Any]:
    """A `chat.completion` object with `n` equal choices."""
    choices = [
        {
            "index": index,
            "message": _message(request, answer),
            "logprobs": _logprobs(request, answer),
            "finish_reason": _finish(answer),
        }
        for index in range(request.body.get("n") or 1)
    ]
    return _completion(request, "chat.completion", fingerprint, choices, _chat_usage(usage))


def chat_events(
    request: ReceivedRequest, answer: Answer, usage: Usage | None, fingerprint: str | None
) -> Iterator[Event]:
    """Role, content, finish reason for every choice; the usage when it was asked for; `[DONE]`."""
    wants_usage = bool((request.body.get("stream_options") or {}).get("include_usage"))
    unknown = {"usage": None} if wants_usage else {}

    def chunk(index: int, delta: Mapping[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
        return server_event(_completion(request, "chat.completion.chunk", fingerprint, [choice], unknown))

    for index in range(request.body.get("n") or 1):
        yield chunk(index, _first_delta(request, answer)), False
        for piece in pieces(answer.refusal if answer.refusal is not None else answer.text or ""):
            yield chunk(index, _delta(answer, piece)), True
        yield chunk(index, {}, _finish(answer)), False
    if wants_usage:
        yield server_event(_completion(request, "chat.completion.chunk", fingerprint, [], _chat_usage(usage))), False
    yield b"data: [DONE]\n\n", False


def server_event(content: Mapping[str, Any]) -> bytes:
    """A server-sent event, named by the content's `type` when it has one."""
    name = f"event: {content['type']}\n" if "type" in content else ""
    return f"{name}data: {json.dumps(content)}\n\n".encode()


def _finish(answer: Answer) -> str:
    return "tool_calls" if answer.function is not None else answer.finish


def _message(request: ReceivedRequest, answer: Answer) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": answer.text, "refusal": answer.refusal}
    message |= {"reasoning_content": answer.reasoning} if answer.reasoning else {}
    if answer.refusal is not None:
        message["content"] = None
    elif answer.function is not None:
        message["content"] = None
        message["tool_calls"] = [_call(request, answer.function, answer.text or "")]
    return message


def _logprobs(request: ReceivedRequest, answer: Answer) -> dict[str, Any] | None:
    if not answer.first or request.body.get("logprobs") is not True:
        return None
    most = request.body.get("top_logprobs") or 0
    tokens = [
        {"token": token, "logprob": likely, "bytes": list(token.encode())}
        for token, likely in sorted(answer.first.items(), key=lambda pair: -pair[1])
    ]
    return {"content": [{**tokens[0], "top_logprobs": tokens[:most]}], "refusal": None}


def _first_delta(request: ReceivedRequest, answer: Answer) -> dict[str, Any]:
    if answer.function is not None:
        calls = [{"index": 0, **_call(request, answer.function, "")}]
        return {"role": "assistant", "content": None, "tool_calls": calls}
    return {"role": "assistant", "content": None if answer.text is None else "", "refusal": None}


def _delta(answer: Answer, piece: str) -> dict[str, Any]:
    if answer.refusal is not None:
        return {"refusal": piece}
    if answer.function is not None:
        return {"tool_calls": [{"index": 0, "function": {"arguments": piece}}]}
    return {"content": piece}


def _call(request: ReceivedRequest, name: str, arguments: str) -> dict[str, Any]:
    return {"id": f"call_{request.number}", "type": "function", "function": {"name": name, "arguments": arguments}}


def _chat_usage(usage: Usage | None) -> dict[str, Any]:
    if usage is None:
        return {}
    counts = {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0},
    }
    return {"usage": counts}


def _completion(
    request: ReceivedRequest, kind: str, fingerprint: str | None, choices: list[Any], extra: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{request.number}",
        "object": kind,
        "created": int(time.time()),
        "model": request.model,
        "system_fingerprint": fingerprint,
        "choices": choices,
        **extra,
    }


_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}


def responses_body(request: ReceivedRequest, answer: Answer, usage: Usage | None) -> dict[str, Any]:
    """A `response` object with one output item."""
    reason = _REASONS.get(answer.finish)
    status = "completed" if reason is None else "incomplete"
    return {
        **_response(request, status),
        "incomplete_details": None if reason is None else {"reason": reason},
        "output": [_item(request, answer, status)],
        "usage": _responses_usage(usage),
    }


def responses_events(request: ReceivedRequest, answer: Answer, usage: Usage | None) -> Iterator[Event]:
    """From `response.created` to `response.completed` (or `.incomplete`), numbered from 0."""
    for number, (name, content, paced) in enumerate(_events(request, answer, usage)):
        yield server_event({"type": name, "sequence_number": number, **content}), paced


_Named = tuple[str, dict[str, Any], bool]


def _events(request: ReceivedRequest, answer: Answer, usage: Usage | None) -> Iterator[_Named]:
    response = responses_body(request, answer, usage)
    item = response["output"][0]
    begun = _response(request, "in_progress")
    yield "response.created", {"response": begun}, False
    yield "response.in_progress", {"response": begun}, False
    opened = {**item, "status": "in_progress", **({"content": []} if "content" in item else {"arguments": ""})}
    yield "response.output_item.added", {"output_index": 0, "item": opened}, False
    yield from _call_events(item) if answer.function is not None else _part_events(item)
    yield "response.output_item.done", {"output_index": 0, "item": item}, False
    yield f"response.{response['status']}", {"response": response}, False


def _part_events(item: dict[str, Any]) -> Iterator[_Named]:
    place = {"item_id": item["id"], "output_index": 0, "content_index": 0}
    for part in item["content"]:
        refused = part["type"] == "refusal"
        key, name = ("refusal", "response.refusal") if refused else ("text", "response.output_text")
        extra: dict[str, Any] = {} if refused else {"logprobs": []}
        yield "response.content_part.added", {**place, "part": {**part, key: ""}}, False
        for piece in pieces(part[key]):
            yield f"{name}.delta", {**place, "delta": piece, **extra}, True
        yield f"{name}.done", {**place, key: part[key], **extra}, False
        yield "response.content_part.done", {**place, "part": part}, False


def _call_events(item: dict[str, Any]) -> Iterator[_Named]:
    place = {"item_id": item["id"], "output_index": 0}
    for piece in pieces(item["arguments"]):
        yield "response.function_call_arguments.delta", {**place, "delta": piece}, True
    done = {**place, "arguments": item["arguments"], "name": item["name"]}
    yield "response.function_call_arguments.done", done, False


def _item(request: ReceivedRequest, answer: Answer, status: str) -> dict[str, Any]:
    if answer.function is not None:
        return {
            "type": "function_call",
            "id": f"fc_{request.number}",
            "call_id": f"call_{request.number}",
            "name": answer.function,
            "arguments": answer.text or "",
            "status": status,
        }
    content: list[dict[str, Any]] = []
    if answer.refusal is not None:
        content.append({"type": "refusal", "refusal": answer.refusal})
    elif answer.text is not None:
        content.append({"type": "output_text", "text": answer.text, "annotations": [], "logprobs": []})
    identity = f"msg_{request.number}"
    return {"type": "message", "id": identity, "role": "assistant", "status": status, "content": content}


def _response(request: ReceivedRequest, status: str) -> dict[str, Any]:
    body = request.body
    return {
        "id": f"resp_{request.number}",
        "object": "response",
        "created_at": int(time.time()),
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "metadata": body.get("metadata") or {},
        "model": request.model,
        "output": [],
        "parallel_tool_calls": True,
        "previous_response_id": body.get("previous_response_id"),
        "temperature": body.get("temperature", 1.0),
        "text": body.get("text") or {"format": {"type": "text"}},
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools", []),
        "top_p": body.get("top_p", 1.0),
        "truncation": body.get("truncation", "disabled"),
        "usage": None,
    }


def _responses_usage(usage: Usage | None) -> dict[str, Any] | None:
    if usage is None:
        return None
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input_tokens + usage.output_tokens,
    }


_HTML = b"<html><head><title>Bad Gateway</title></head><body><h1>Bad Gateway</h1></body></html>"
_TYPES = {403: "permission_error", 429: "requests"}
_CODES = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}


def error_body(status: int, message: str | None = None, code: str | None = None, param: str | None = None) -> bytes:
    kind = _TYPES.get(status, "server_error" if status >= 500 else "invalid_request_error")
    text = message or f"scripted to answer {status}"
    content = {"message": text, "type": kind, "param": param, "code": code or _CODES.get(status)}
    return json.dumps({"error": content}).encode()


@dataclass(frozen=True)
class Whole:
    """A response in one piece. A `share` below 1 cuts it off."""

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
    """A stream of events, `pace` tokens a second. After `stop_after` events it ends, cleanly or by closing the connection."""

    request: ReceivedRequest
    server: Loopback
    events: Iterable[Event]
    at: float
    pace: float | None
    stop_after: int | None = None
    clean: bool = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.server.pause(self.at)
        self.request.status = 200
        await send(_start(200, {"content-type": "text/event-stream; charset=utf-8"}))
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
    """No response: a reset at `at`, or with None an open connection until the caller leaves."""

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


def _start(status: int, headers: Mapping[str, str]) -> dict[str, Any]:
    encoded = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
    return {"type": "http.response.start", "status": status, "headers": encoded}


_STARTING_SECONDS = 30.0
_STOPPING_SECONDS = 30.0


def prompt_server(config: uvicorn.Config, stopping: asyncio.Event) -> uvicorn.Server:
    """A server that ends as soon as `stopping` is set. Uvicorn's own looks every 0.1 s, and rests as long before it ends."""
    import uvicorn

    class _Quick(uvicorn.Server):
        async def main_loop(self) -> None:
            await self.on_tick(0)
            await stopping.wait()

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            for listening in (*self.servers, *(sockets or ())):
                listening.close()
            for connection in list(self.server_state.connections):
                connection.shutdown()
            with suppress(TimeoutError):
                async with asyncio.timeout(self.config.timeout_graceful_shutdown):
                    while self.server_state.connections or self.server_state.tasks:  # noqa: ASYNC110 - uvicorn's plain sets
                        await asyncio.sleep(0.002)
            for task in self.server_state.tasks:
                task.cancel()
            await self.lifespan.shutdown()

    return _Quick(config)


class Loopback:
    """Serves an ASGI application on a free port of 127.0.0.1."""

    def __init__(self, app: ASGIApp) -> None:
        self._transports: dict[tuple[str, int], asyncio.Transport] = {}
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self.port: int = self._socket.getsockname()[1]
        self._loop = asyncio.new_event_loop()
        self._stopping = asyncio.Event()
        self._server = self._uvicorn(app)
        self._thread = threading.Thread(target=self._run, name=f"scripted-chat-{self.port}", daemon=True)
        self._thread.start()
        deadline = time.monotonic() + _STARTING_SECONDS
        while not self._server.started:
            if not self._thread.is_alive() or time.monotonic() > deadline:
                raise VistaGuardError(f"the scripted chat server did not start on 127.0.0.1:{self.port}; try again")
            time.sleep(0.002)

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._break_off)
        self._thread.join(_STOPPING_SECONDS)
        if self._thread.is_alive():
            raise VistaGuardError(
                f"the scripted chat server on 127.0.0.1:{self.port} did not stop: its script does not return"
            )

    async def pause(self, until: float) -> None:
        """Sleeps until this `time.monotonic()`, or until the server stops."""
        seconds = until - time.monotonic()
        if seconds > 0:
            try:
                await asyncio.wait_for(self._stopping.wait(), seconds)
            except TimeoutError:
                return

    async def gone(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    async def close(self, scope: Scope, receive: Receive, *, reset: bool) -> None:
        """Closes the caller's connection at once; `reset` sends RST."""
        transport = self._transports.get(tuple(scope["client"]))
        if transport is not None and reset:
            # Lingering for no time makes the kernel send RST instead of FIN.
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            transport.abort()
        elif transport is not None:
            transport.close()
        await self.gone(receive)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._server.serve(sockets=[self._socket]))

    def _break_off(self) -> None:
        self._stopping.set()
        for transport in list(self._transports.values()):
            transport.abort()

    def _uvicorn(self, app: ASGIApp) -> uvicorn.Server:
        import uvicorn
        from uvicorn.protocols.http.h11_impl import H11Protocol

        transports = self._transports

        class Kept(H11Protocol):
            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
                super().connection_made(transport)
                # Or a kept connection's answer waits 40 ms for the acknowledgement of its head.
                transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self.client is not None:
                    transports[self.client] = transport

            def connection_lost(self, exc: Exception | None) -> None:
                if self.client is not None:
                    transports.pop(self.client, None)
                super().connection_lost(exc)

        quiet: dict[str, Any] = {"access_log": False, "log_config": None, "log_level": "critical"}
        parts: dict[str, Any] = {"http": Kept, "ws": "none", "lifespan": "off", "loop": "none"}
        config = uvicorn.Config(app, **parts, **quiet, timeout_keep_alive=300, timeout_graceful_shutdown=10)
        return prompt_server(config, self._stopping)
