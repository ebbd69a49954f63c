"""The scripted server through the official client and through plain HTTP."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from typing import Any

import httpx2
import openai
import pytest
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response
from pydantic import BaseModel, TypeAdapter

from tests.pace import PATIENCE_S, auntil, waves
from tests.raising import raises
from vista_guard._extras import how_to_install
from vista_guard.errors import ConfigError
from vista_guard.testing import Answer, Fault, ReceivedRequest, ScriptedChatServer, count_tokens
from vista_guard.testing.server import Loopback
from vista_guard.types import Usage

ASK: list[Any] = [{"role": "user", "content": "Does the ferry run in winter?"}]
CHAT = {"model": "m", "messages": ASK}
Start = Callable[..., ScriptedChatServer]
HTTP = httpx2.Client(timeout=PATIENCE_S)
"""One for all tests: making one costs more than most of them."""


class Verdict(BaseModel):
    label: str
    reason: str


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as running:
        yield lambda *given, **options: running.enter_context(ScriptedChatServer(*given, **options))


@pytest.fixture(scope="module", autouse=True)
def _http() -> Iterator[None]:
    with HTTP:
        yield


def connect_to(server: ScriptedChatServer, key: str = "sk-test") -> openai.OpenAI:
    return openai.OpenAI(base_url=server.base_url, api_key=key, max_retries=0, timeout=PATIENCE_S, http_client=HTTP)


def post(server: ScriptedChatServer, body: Any, path: str = "/chat/completions") -> httpx2.Response:
    return HTTP.post(server.base_url + path, json=body)


def events(response: httpx2.Response) -> list[tuple[str | None, Any]]:
    """(event, data) of every frame of a stream."""
    found = []
    for frame in response.text.strip().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in frame.split("\n"))
        data = fields["data"]
        found.append((fields.get("event"), data if data == "[DONE]" else json.loads(data)))
    return found


def test_a_chat_completion_is_complete(start: Start) -> None:
    server = start("Yes, daily.")
    answer = connect_to(server).chat.completions.create(model="m", messages=ASK, seed=3)
    assert answer.choices[0].message.content == "Yes, daily."
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (9, 3)
    assert (server.calls, server.rejected, server.waves()) == (1, (), 1)
    received = server.requests[0]
    assert (received.api, received.model, received.user, received.seed) == ("chat", "m", ASK[0]["content"], 3)
    assert (received.status, received.usage) == (200, Usage(calls=1, input_tokens=9, output_tokens=3))


def test_bodies_are_what_the_sdk_declares(start: Start) -> None:
    """Read strictly: the SDK itself takes whatever comes."""
    server = start(
        ["text", Answer("{}", function="report"), Answer(refusal="I cannot."), "text", Answer(finish="length")]
    )
    for _ in range(3):
        TypeAdapter(ChatCompletion).validate_python(post(server, CHAT).json(), strict=True)
    for _ in range(2):
        TypeAdapter(Response).validate_python(post(server, {"model": "m", "input": "Hello"}, "/responses").json())


def test_a_stream_has_its_chunks_in_order(start: Start) -> None:
    server = start("Yes, daily.")
    body = {**CHAT, "stream": True, "stream_options": {"include_usage": True}}
    *chunks, last = [data for _, data in events(post(server, body))]
    assert last == "[DONE]"
    assert [chunk["choices"][0]["delta"] for chunk in chunks[:-1]] == [
        {"role": "assistant", "content": "", "refusal": None},
        {"content": "Yes,"},
        {"content": " dai"},
        {"content": "ly."},
        {},
    ]
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks[:-1]] == [None, None, None, None, "stop"]
    assert [chunk["usage"] for chunk in chunks[:-1]] == [None] * 5
    assert chunks[-1]["choices"] == []
    assert chunks[-1]["usage"]["total_tokens"] == 12
    for chunk in chunks:
        TypeAdapter(ChatCompletionChunk).validate_python(chunk, strict=True)


def test_without_being_asked_a_stream_tells_no_usage(start: Start) -> None:
    chunks = [data for _, data in events(post(start("Yes."), {**CHAT, "stream": True}))]
    assert all("usage" not in chunk for chunk in chunks[:-1])


def test_the_responses_api_streams_named_events(start: Start) -> None:
    server = start("Yes, daily.")
    named = events(post(server, {"model": "m", "input": "Hello", "stream": True}, "/responses"))
    assert [name for name, _ in named] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        *["response.output_text.delta"] * 3,
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [data["sequence_number"] for _, data in named] == list(range(len(named)))
    with connect_to(server).responses.stream(model="m", input="Hello", instructions="Be short.") as stream:
        told = stream.get_final_response()
    assert (told.output_text, told.status) == ("Yes, daily.", "completed")
    assert server.requests[1].messages == [("system", "Be short."), ("user", "Hello")]


def test_the_responses_api_tells_refusals_and_cut_answers(start: Start) -> None:
    client = connect_to(
        start([Answer(refusal="I cannot."), Answer("Ye", finish="length"), Fault.empty(), Answer(None)])
    )
    refused, cut, empty, null = (client.responses.create(model="m", input="Hello") for _ in range(4))
    assert refused.output[0].to_dict()["content"] == [{"type": "refusal", "refusal": "I cannot."}]
    assert cut.incomplete_details is not None
    assert (cut.status, cut.incomplete_details.reason) == ("incomplete", "max_output_tokens")
    assert (empty.output, null.output_text) == ([], "")


@pytest.mark.parametrize("stream", [False, True])
def test_functions_are_called(start: Start, stream: bool) -> None:
    client = connect_to(start([Answer('{"a": 1}', function="f")]))
    tools: list[Any] = [
        {"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}
    ]
    if stream:
        with client.chat.completions.stream(model="m", messages=ASK, tools=tools) as told:
            message = told.get_final_completion().choices[0].message
    else:
        message = client.chat.completions.create(model="m", messages=ASK, tools=tools).choices[0].message  # type: ignore[assignment]
    assert message.tool_calls is not None
    call = message.tool_calls[0]
    assert call.type == "function"
    assert (call.function.name, call.function.arguments) == ("f", '{"a": 1}')


def test_a_schema_of_the_sdk_is_taken_and_parsed(start: Start) -> None:
    client = connect_to(server := start('{"label": "VERIFIED", "reason": ""}'))
    parsed = client.chat.completions.parse(model="m", messages=ASK, response_format=Verdict).choices[0].message.parsed
    also = client.responses.parse(model="m", input="Hello", text_format=Verdict).output_parsed
    assert parsed == also == Verdict(label="VERIFIED", reason="")
    assert [request.schema_name for request in server.requests] == ["Verdict", "Verdict"]
    server.assert_accepted()


async def test_calls_at_once_are_one_wave(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Loopback, "pause", waves(5, 1, 2, 1))
    server = start("ok")
    async with openai.AsyncOpenAI(base_url=server.base_url, api_key="k", max_retries=0) as client:

        async def ask() -> None:
            await client.chat.completions.create(model="m", messages=ASK)

        await asyncio.gather(*(ask() for _ in range(5)))
        assert (server.calls, server.waves()) == (5, 1)
        server.reset()
        await ask()
        await asyncio.gather(ask(), ask())
        await ask()
    assert (server.calls, server.waves()) == (4, 3)


async def test_async_streams_come_piece_by_piece(start: Start) -> None:
    server = start("one two three", tokens_per_second=200)
    async with openai.AsyncOpenAI(base_url=server.base_url, api_key="k") as client:
        stream = await client.chat.completions.create(model="m", messages=ASK, stream=True)
        told = [chunk.choices[0].delta.content async for chunk in stream]
    assert told == ["", "one ", "two ", "thre", "e", None]


def test_latency_and_pace_are_kept(start: Start) -> None:
    """Lower bounds only: a slow machine may take longer, never shorter."""
    server = start("x" * 40, latency=0.1, tokens_per_second=40)
    post(server, CHAT)
    post(server, {**CHAT, "stream": True})
    whole, stream = (request.ended - request.started for request in server.requests if request.ended is not None)
    assert whole >= 0.1
    assert stream >= 0.1 + 10 / 40


ERRORS: list[tuple[int, type[openai.APIStatusError]]] = [
    (400, openai.BadRequestError),
    (401, openai.AuthenticationError),
    (403, openai.PermissionDeniedError),
    (404, openai.NotFoundError),
    (408, openai.APIStatusError),
    (409, openai.ConflictError),
    (422, openai.UnprocessableEntityError),
    (429, openai.RateLimitError),
    (500, openai.InternalServerError),
    (503, openai.InternalServerError),
]


@pytest.mark.parametrize(("status", "error"), ERRORS)
@pytest.mark.parametrize("api", ["chat", "responses"])
def test_error_statuses(start: Start, status: int, error: type[Exception], api: str) -> None:
    client = connect_to(server := start([Fault.http(status, message="no", code="because", retry_after=2)]))
    chat = partial(client.chat.completions.create, model="m", messages=ASK)
    ask = chat if api == "chat" else partial(client.responses.create, model="m", input="Hello")
    with pytest.raises(error) as raised:
        ask()
    assert isinstance(raised.value, openai.APIStatusError)
    assert (raised.value.status_code, raised.value.code, raised.value.response.headers["retry-after"]) == (
        status,
        "because",
        "2",
    )
    assert raised.value.body == {"message": "no", "type": raised.value.type, "param": None, "code": "because"}
    assert server.rejected == ()


@pytest.mark.parametrize("fault", [Fault.reset(), Fault.cut("Yes, daily.")], ids=["reset", "cut"])
def test_broken_connections(start: Start, fault: Fault) -> None:
    client = connect_to(start([fault, "fine"]))
    with pytest.raises(openai.APIConnectionError):
        client.chat.completions.create(model="m", messages=ASK)
    assert client.chat.completions.create(model="m", messages=ASK).choices[0].message.content == "fine"


def test_a_reset_is_a_reset(start: Start) -> None:
    with raises(httpx2.ReadError, "reset"):
        post(start([Fault.reset()]), CHAT)


@pytest.mark.parametrize("path", ["/chat/completions", "/responses"])
def test_streams_that_break_off(start: Start, path: str) -> None:
    body = {"model": "m", "stream": True, **({"messages": ASK} if path.startswith("/chat") else {"input": "Hello"})}
    server = start([Fault.cut("Yes, daily, and twice on Sundays."), Fault.cut("Yes, daily.", clean=True)])
    with pytest.raises(httpx2.RemoteProtocolError):
        post(server, body, path)
    ended = events(post(server, body, path))
    assert ended
    assert ended[-1][1] != "[DONE]"
    assert ended[-1][0] != "response.completed"


def test_a_body_that_ends_early_is_no_json(start: Start) -> None:
    answer = post(start([Fault.cut("Yes, daily.", clean=True)]), CHAT)
    assert answer.status_code == 200
    with raises(ValueError, "1"):
        answer.json()


def test_hanging_ends_with_the_caller_or_with_the_server() -> None:
    with ScriptedChatServer("fine", faults=lambda request: Fault.hang() if request.user == "Hang." else None) as server:
        client = connect_to(server)
        with pytest.raises(openai.APITimeoutError):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Hang."}], timeout=0.3)
        with pytest.raises(openai.APITimeoutError):
            client.responses.create(model="m", input="Hang.", timeout=0.3)
        assert client.chat.completions.create(model="m", messages=ASK).choices[0].message.content == "fine"


async def test_stopping_lets_go_of_waiting_callers() -> None:
    async with httpx2.AsyncClient(timeout=PATIENCE_S) as client:
        with ScriptedChatServer("late", latency=3600, faults={1: Fault.hang()}) as server:
            waiting = [asyncio.create_task(client.post(server.base_url + "/chat/completions", json=CHAT)) for _ in "ab"]
            await auntil(lambda: server.calls == 2)
        outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(outcome, httpx2.TransportError) for outcome in outcomes)


def test_odd_answers(start: Start) -> None:
    said = [Fault.html(502), Fault.html(200), Fault.empty(), Answer(None), Answer(refusal="I cannot."), "\ud800 {]"]
    client = connect_to(server := start([*said, Answer("Ye", finish="length"), Answer("", finish="content_filter")]))
    with pytest.raises(openai.InternalServerError):
        client.chat.completions.create(model="m", messages=ASK)
    assert post(server, CHAT).text.startswith("<html>")
    empty, null, refused, odd, cut, filtered = (
        client.chat.completions.create(model="m", messages=ASK).choices for _ in range(6)
    )
    assert empty == []
    assert null[0].message.content is None
    assert (refused[0].message.content, refused[0].message.refusal) == (None, "I cannot.")
    assert odd[0].message.content == "\ud800 {]"
    assert (cut[0].finish_reason, filtered[0].finish_reason) == ("length", "content_filter")


def test_faults_by_number_and_by_rule(start: Start) -> None:
    numbered = start(["a", "b"], faults={2: Fault.http(429)})
    assert [post(numbered, CHAT).status_code for _ in range(3)] == [200, 429, 200]

    def weary(request: ReceivedRequest) -> Fault | None:
        return Fault.http(503) if "winter" in request.user else None

    ruled = start("ok", faults=weary)
    summer = {"model": "m", "messages": [{"role": "user", "content": "In summer?"}]}
    assert [post(ruled, body).status_code for body in (CHAT, summer)] == [503, 200]


def test_a_key_is_checked_and_not_printed(start: Start) -> None:
    server = start("ok", key="sk-right", models=["small", "large"])
    with pytest.raises(openai.AuthenticationError) as raised:
        connect_to(server, "sk-wrong").chat.completions.create(model="small", messages=ASK)
    assert raised.value.code == "invalid_api_key"
    client = connect_to(server, "sk-right")
    assert [model.id for model in client.models.list()] == ["small", "large"]
    with pytest.raises(openai.AuthenticationError):
        connect_to(server, "sk-wrong").models.list()
    with pytest.raises(openai.NotFoundError) as unknown:
        client.responses.create(model="huge", input="Hello")
    assert unknown.value.code == "model_not_found"
    assert client.chat.completions.create(model="large", messages=ASK).model == "large"
    assert "sk-" not in repr(server.requests)
    assert server.requests[0].headers["authorization"] == "Bearer sk-wrong"


def test_a_context_window(start: Start) -> None:
    client = connect_to(server := start("ok", context_tokens=100))
    client.chat.completions.create(model="m", messages=ASK)
    for _ in "ab":
        with pytest.raises(openai.BadRequestError) as raised:
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "x" * 400}])
        assert (raised.value.code, raised.value.param) == ("context_length_exceeded", "messages")
    assert server.rejected == ()


def test_an_endpoint_without_json_schema(start: Start) -> None:
    client = connect_to(server := start('{"label": "VERIFIED", "reason": ""}', json_schema=False))
    with raises(openai.BadRequestError, "json_schema") as raised:
        client.chat.completions.parse(model="m", messages=ASK, response_format=Verdict)
    assert raised.value.param == "response_format"
    asked: list[Any] = [{"role": "user", "content": "Answer in JSON."}]
    client.chat.completions.create(model="m", messages=asked, response_format={"type": "json_object"})
    assert server.rejected == ()


def test_prefixes_are_cached(start: Start) -> None:
    server = start("ok", cache_block=10, echo_seed=True)

    def cached(prompt: str, model: str = "m") -> int:
        body = {"model": model, "messages": [{"role": "user", "content": prompt}], "seed": 7}
        told = post(server, body).json()
        assert told["system_fingerprint"] == "seed-7"
        return int(told["usage"]["prompt_tokens_details"]["cached_tokens"])

    prompt = "x" * 200
    assert cached(prompt) == 0
    assert cached(prompt + "and more") == 50
    assert cached("y" + prompt) == 0
    assert cached(prompt, "other") == 0
    assert server.usage.cached_tokens == 50


def test_given_numbers_are_reported(start: Start) -> None:
    counted = Answer("ok", input_tokens=1000, output_tokens=20, cached_tokens=900)
    server = start([counted, Answer("ok", usage=False)])
    told = post(server, CHAT).json()["usage"]
    assert (told["prompt_tokens"], told["completion_tokens"], told["prompt_tokens_details"]["cached_tokens"]) == (
        1000,
        20,
        900,
    )
    assert "usage" not in post(server, CHAT).json()
    assert server.usage == Usage(calls=1, input_tokens=1000, output_tokens=20, cached_tokens=900)
    assert [count_tokens(text) for text in ("", "a", "abcd", "abcde")] == [0, 1, 1, 2]


STRICT = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


def schema(given: Any, name: str = "vista_verify", **more: Any) -> dict[str, Any]:
    wanted = {"name": name, "strict": True, "schema": given, **more}
    return {**CHAT, "response_format": {"type": "json_schema", "json_schema": wanted}}


WRONG: list[tuple[str, dict[str, Any], str | None]] = [
    ("unknown parameter", {**CHAT, "guided_json": {}}, None),
    ("no messages", {"model": "m"}, "messages"),
    ("empty messages", {"model": "m", "messages": []}, "messages"),
    ("no model", {"messages": ASK}, "model"),
    ("unknown role", {"model": "m", "messages": [{"role": "judge", "content": "x"}]}, "messages.0.role"),
    ("number as content", {"model": "m", "messages": [{"role": "user", "content": 3}]}, "messages.0.content"),
    ("unknown key", {"model": "m", "messages": [{"role": "user", "content": "x", "mood": 1}]}, "messages.0.mood"),
    ("text as number", {**CHAT, "temperature": "0"}, "temperature"),
    ("too hot", {**CHAT, "temperature": 2.1}, "temperature"),
    ("both limits", {**CHAT, "max_tokens": 5, "max_completion_tokens": 5}, None),
    ("stream options alone", {**CHAT, "stream_options": {"include_usage": True}}, None),
    ("stream as text", {**CHAT, "stream": "yes"}, "stream"),
    ("json mode unsaid", {**CHAT, "response_format": {"type": "json_object"}}, None),
    ("bad format", {**CHAT, "response_format": {"type": "yaml"}}, "response_format.type"),
    ("bad name", schema(STRICT, "two words"), "response_format"),
    ("open object", schema({**STRICT, "additionalProperties": True}), "response_format"),
    ("optional property", schema({**STRICT, "required": []}), "response_format"),
    ("array on top", schema({"type": "array", "items": STRICT}), "response_format"),
    (
        "open object inside",
        schema({**STRICT, "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {}}}}}),
        "response_format",
    ),
    ("unsupported keyword", schema({**STRICT, "properties": {"a": {"allOf": [STRICT]}}}), "response_format"),
    ("stray key", schema(STRICT, extra=1), "response_format.json_schema.extra"),
]


@pytest.mark.parametrize(("body", "param"), [pytest.param(body, param, id=name) for name, body, param in WRONG])
def test_wrong_requests_are_refused_and_kept(wrong_server: ScriptedChatServer, body: Any, param: str | None) -> None:
    wrong_server.reset()
    answer = post(wrong_server, body)
    (rejected,) = wrong_server.rejected
    assert (answer.status_code, rejected.request.body) == (400, body)
    error = answer.json()["error"]
    assert error == {"message": rejected.message, "type": "invalid_request_error", "param": param, "code": None}
    with raises(AssertionError, "1"):
        wrong_server.assert_accepted()


@pytest.fixture(scope="module")
def wrong_server() -> Iterator[ScriptedChatServer]:
    with ScriptedChatServer("never said") as server:
        yield server


@pytest.mark.parametrize(
    "body",
    [
        schema(STRICT),
        schema({**STRICT, "required": []}, strict=False),
        {**CHAT, "temperature": 0, "seed": 1, "max_completion_tokens": 10, "n": 2, "stop": ["\n"], "user": "u"},
        {"model": "m", "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}]},
        {"model": "m", "messages": [{"role": "system", "content": "s"}, {"role": "assistant", "content": "a"}]},
    ],
)
def test_right_requests_are_taken(wrong_server: ScriptedChatServer, body: Any) -> None:
    wrong_server.reset()
    assert post(wrong_server, body).status_code == 200
    wrong_server.assert_accepted()


def test_wrong_responses_requests_are_refused(start: Start) -> None:
    server = start("never said")
    wrong: list[dict[str, Any]] = [
        {"model": "m", "messages": ASK},
        {"model": "m"},
        {"model": "m", "input": [{"role": "user", "content": 4}]},
        {"model": "m", "input": "x", "max_output_tokens": 1},
        {
            "model": "m",
            "input": "x",
            "text": {"format": {"type": "json_schema", "name": "a", "schema": {}, "strict": True}},
        },
    ]
    assert [post(server, body, "/responses").status_code for body in wrong] == [400] * 5
    assert len(server.rejected) == 5


def test_what_is_no_json_and_what_is_elsewhere(start: Start) -> None:
    server = start("never said")
    assert HTTP.post(server.base_url + "/chat/completions", content=b"{").json()["error"]["type"] == (
        "invalid_request_error"
    )
    assert post(server, [1]).status_code == 400
    lost = post(server, CHAT, "/completions")
    assert (lost.status_code, lost.json()["error"]["code"]) == (404, "unknown_url")
    assert HTTP.get(server.base_url + "/chat/completions").status_code == 405


def test_extra_parameters_can_be_let_through(start: Start) -> None:
    server = start("ok", extra_parameters=["guided_json"])
    assert post(server, {**CHAT, "guided_json": {}}).status_code == 200


def test_a_script_without_an_answer_rejects_the_call(start: Start) -> None:
    def lost(request: ReceivedRequest) -> str:
        raise KeyError(request.user)

    short, failing = start(["one"]), start(lost)
    assert [post(short, CHAT).status_code for _ in "ab"] == [200, 400]
    assert [rejected.message for rejected in short.rejected] == ["the script has no answer: all 1 are used up"]
    assert post(failing, CHAT).status_code == 400
    assert [rejected.message for rejected in failing.rejected] == [
        "the script has no answer: KeyError: 'Does the ferry run in winter?'"
    ]


def test_a_server_that_is_not_running_says_so() -> None:
    server = ScriptedChatServer("ok")
    with pytest.raises(ConfigError):
        _ = server.base_url
    with server, pytest.raises(ConfigError):
        server.__enter__()
    with server:
        assert post(server, CHAT).status_code == 200


def test_without_the_extra_the_import_works_and_the_start_says_what_is_missing() -> None:
    program = """
import sys
sys.modules["uvicorn"] = None
import vista_guard.testing as testing
assert not {"starlette", "openai", "httpx", "httpx2"} & sys.modules.keys()
try:
    testing.ScriptedChatServer("ok").__enter__()
except testing.server.ConfigError as exc:
    print(exc)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert ran.stdout == f"ScriptedChatServer needs uvicorn: {how_to_install('testing')}\n"
