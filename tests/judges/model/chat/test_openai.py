"""A model behind an OpenAI-compatible endpoint: what is sent, what is read, and what is said when it fails."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from openai import AsyncAzureOpenAI, AsyncOpenAI

from tests.judges.model.conftest import Make, failure
from tests.judges.model.endpoint import (
    KEY,
    REQUEST,
    SCHEMA,
    Answered,
    Endpoint,
    Received,
    completion,
    refused,
    with_message,
)
from tests.pace import PATIENCE_S, Clock, auntil, others
from tests.raising import raises
from vista_guard import _aio
from vista_guard.errors import BudgetError, ConfigError, ContextTooLongError, JudgeError
from vista_guard.judges.contract import measure
from vista_guard.judges.model.chat.calling import ChatRequest, Message, Reply
from vista_guard.judges.model.chat.openai import OpenAIChat
from vista_guard.settings.model import ModelOptions
from vista_guard.testing import ScriptedChatServer
from vista_guard.types import Usage


async def test_a_call_sends_the_prompt_with_its_schema_and_reads_text_and_usage(endpoint: Endpoint, make: Make) -> None:
    chat = make(seed=7, prices={"m": {"input": 1, "output": 2, "cached_input": 0.5}})

    with measure() as meter:
        reply = await chat.complete(REQUEST)

    assert reply == Reply("fine", "stop")
    assert [received.body for received in endpoint.received] == [
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": "Answer in JSON."},
                {"role": "user", "content": "Is the sea salty?"},
            ],
            "temperature": 0.0,
            "seed": 7,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "verify", "strict": True, "schema": SCHEMA},
            },
        }
    ]
    assert endpoint.received[0].path == "/v1/chat/completions"
    assert endpoint.received[0].headers["authorization"] == f"Bearer {KEY}"
    cost = (6 * 1 + 4 * 0.5 + 5 * 2) / 1e6
    assert meter.usage == Usage(calls=1, input_tokens=10, output_tokens=5, cached_tokens=4, cost=cost)


@pytest.mark.parametrize("usage", [None, (0, 0, 0), (math.nan, math.inf, -1), (10**400, "5", None)])
async def test_a_call_without_token_numbers_is_counted_and_nothing_is_estimated(
    endpoint: Endpoint, make: Make, usage: tuple[Any, Any, Any] | None
) -> None:
    answered = completion(usage=None)
    if usage is not None:
        names = ("prompt_tokens", "completion_tokens", "total_tokens")
        answered.body["usage"] = dict(zip(names, usage, strict=True))
    endpoint.then(answered)
    with measure() as meter:
        await make(prices={"m": {"input": 1, "output": 2}}).complete(REQUEST)
    assert meter.usage == Usage(calls=1, unpriced_calls=1)


async def test_the_sync_and_the_async_door_share_one_connection(endpoint: Endpoint, make: Make) -> None:
    chat = make()
    await chat.complete(REQUEST)
    await asyncio.to_thread(lambda: _aio.run(chat.complete(REQUEST)))
    await asyncio.to_thread(lambda: asyncio.run(chat.complete(REQUEST)))
    assert len({received.port for received in endpoint.received}) == 1


async def test_text_with_half_a_character_is_sent_all_the_same(endpoint: Endpoint, make: Make) -> None:
    await make().complete(ChatRequest((Message("user", "salt \ud83d water"),), "verify"))
    assert endpoint.received[0].body["messages"] == [{"role": "user", "content": "salt ? water"}]


async def test_half_a_character_in_an_answer_is_replaced(endpoint: Endpoint, make: Make) -> None:
    endpoint.then(completion("salt \ud83d water"))
    assert await make().complete(REQUEST) == Reply("salt ? water")


def only(*taken: str | None, status: int = 400) -> Callable[[Received], Answered]:
    """An endpoint that takes only these kinds of structure."""

    def answer(received: Received) -> Answered:
        kind = received.body.get("response_format", {}).get("type")
        if kind in taken:
            return completion()
        return refused(status, f"This response_format type, {kind}, is unavailable here")

    return answer


@pytest.mark.parametrize(
    ("taken", "status", "asked"),
    [
        (("json_schema",), 400, ["json_schema"]),
        (("json_object", None), 400, ["json_schema", "json_object"]),
        ((None,), 422, ["json_schema", "json_object", None]),
        ((None,), 404, ["json_schema", "json_object", None]),
    ],
)
async def test_the_way_to_ask_for_structure_is_found_out_once(
    endpoint: Endpoint, make: Make, taken: tuple[str | None, ...], status: int, asked: list[str | None]
) -> None:
    endpoint.answer = only(*taken, status=status)
    chat = make()
    assert await asyncio.gather(*(chat.complete(REQUEST) for _ in range(5))) == [Reply("fine")] * 5
    await make().complete(REQUEST)  # another object in the same process knows it too
    assert endpoint.formats == asked + [asked[-1]] * 5


async def test_what_a_call_with_two_refusals_used_is_one_call(endpoint: Endpoint, make: Make) -> None:
    endpoint.answer = only(None)
    with measure() as meter:
        await make().complete(REQUEST)
    assert meter.usage == Usage(calls=1, input_tokens=10, output_tokens=5, cached_tokens=4, unpriced_calls=1)


async def test_a_first_call_that_fails_does_not_hold_up_the_others(endpoint: Endpoint, make: Make) -> None:
    endpoint.then(refused(403, "not you"), completion())
    chat = make()
    replies = await asyncio.gather(*(chat.complete(REQUEST) for _ in range(3)), return_exceptions=True)
    assert [isinstance(reply, JudgeError) for reply in replies].count(True) == 1
    assert [reply for reply in replies if not isinstance(reply, JudgeError)] == [Reply("fine")] * 2


@pytest.mark.parametrize(("wanted", "asked"), [("json_object", ["json_object"]), ("off", [None])])
async def test_a_named_way_is_the_only_one_tried(endpoint: Endpoint, make: Make, wanted: str, asked: list[Any]) -> None:
    await make(structured_output=wanted).complete(REQUEST)
    assert endpoint.formats == asked


async def test_a_named_way_that_is_refused_is_an_error(endpoint: Endpoint, make: Make) -> None:
    endpoint.answer = only(None)
    assert "json_schema, is unavailable" in str(await failure(make(structured_output="json_schema")))
    assert endpoint.formats == ["json_schema"]


async def test_parameters_that_a_reasoning_model_refuses_are_left_out_once(endpoint: Endpoint, make: Make) -> None:
    def answer(received: Received) -> Answered:
        if "max_tokens" in received.body:
            said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            return refused(400, said, "unsupported_parameter", param="max_tokens")
        if "temperature" in received.body:
            said = "Unsupported value: 'temperature' does not support 0 with this model."
            return refused(400, said, "unsupported_value", param="temperature")
        return completion()

    endpoint.answer = answer
    chat = make(max_output_tokens=99)
    await chat.complete(REQUEST)
    await chat.complete(REQUEST)

    sent = [{name for name in received.body if name not in ("model", "messages")} for received in endpoint.received]
    assert sent == [
        {"max_tokens", "temperature", "response_format"},
        {"max_completion_tokens", "temperature", "response_format"},
        {"max_completion_tokens", "response_format"},
        {"max_completion_tokens", "response_format"},
    ]
    assert endpoint.received[-1].body["max_completion_tokens"] == 99


async def test_a_limit_that_is_too_high_is_told_and_not_dropped(endpoint: Endpoint, make: Make) -> None:
    endpoint.then(refused(400, "max_tokens is too large: 99; this model writes at most 50 tokens"))
    assert "max_tokens is too large" in str(await failure(make(max_output_tokens=99)))
    assert len(endpoint.received) == 1


@pytest.mark.parametrize(
    ("answered", "reply"),
    [
        (completion("half an ans", "length"), Reply("half an ans", "length")),
        (completion(None, "length"), Reply("", "length")),
        (completion(None, "content_filter"), Reply("", "refusal")),
        (completion("", "stop"), Reply("", "stop")),
        (completion("odd", "eos_token"), Reply("odd", "other")),
        (with_message("stop", refusal="I will not."), Reply("I will not.", "refusal")),
        (refused(400, "The prompt was filtered", "content_filter"), Reply("", "refusal")),
    ],
)
async def test_how_an_answer_ended_is_told(endpoint: Endpoint, make: Make, answered: Answered, reply: Reply) -> None:
    endpoint.then(answered)
    assert await make().complete(REQUEST) == reply


async def test_calls_at_a_time_are_bounded(endpoint: Endpoint, make: Make) -> None:
    two = threading.Barrier(2)

    def answer(received: Received) -> Answered:
        two.wait(PATIENCE_S)
        return completion()

    chat = make(concurrency=2)
    await chat.complete(REQUEST)  # the first finds out alone what the endpoint takes
    endpoint.answer = answer
    await asyncio.gather(*(chat.complete(REQUEST) for _ in range(8)))
    assert endpoint.busiest == 2


async def test_waiting_for_a_place_does_not_count_against_the_deadline(endpoint: Endpoint, make: Make) -> None:
    clock, release = Clock(asyncio.get_running_loop()), threading.Semaphore(0)

    def answer(received: Received) -> Answered:
        release.acquire()
        return completion()

    chat = make(concurrency=1, timeout_s=1000)
    await chat.complete(REQUEST)  # the first finds out alone what the endpoint takes
    endpoint.answer = answer
    calls = [asyncio.create_task(chat.complete(REQUEST)) for _ in range(3)]
    for number in (2, 3, 4):
        await auntil(partial(lambda count: len(endpoint.received) == count, number))
        clock.turn(600)
        await others()
        release.release()
    assert [await call for call in calls] == [Reply("fine")] * 3


async def test_a_call_that_is_given_up_leaves_its_place(endpoint: Endpoint, make: Make) -> None:
    arrived, release = threading.Event(), threading.Event()

    def answer(received: Received) -> Answered:
        arrived.set()
        release.wait(PATIENCE_S)
        return completion()

    endpoint.answer = answer
    chat = make(concurrency=1)
    waiting = asyncio.create_task(chat.complete(REQUEST))
    await asyncio.to_thread(arrived.wait, PATIENCE_S)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    release.set()
    assert await chat.complete(REQUEST) == Reply("fine")


async def test_a_run_stops_at_its_calls_exactly(endpoint: Endpoint, make: Make) -> None:
    chat = make(budget={"run": {"calls": 3}})
    assert chat.why_exhausted is None
    replies = await asyncio.gather(*(chat.complete(REQUEST) for _ in range(6)), return_exceptions=True)
    assert [type(reply) for reply in replies].count(BudgetError) == 3
    assert len(endpoint.received) == 3
    assert chat.why_exhausted == "the run's budget of 3 calls is spent (3 made); raise budget.run.calls to go on"


async def test_a_turn_stops_at_its_tokens_and_the_next_one_goes_on(endpoint: Endpoint, make: Make) -> None:
    chat = make(budget={"turn": {"tokens": 20}})
    for _ in range(2):
        with measure():
            await chat.complete(REQUEST)
            await chat.complete(REQUEST)
            with raises(BudgetError, "20", "tokens", "30"):
                await chat.complete(REQUEST)
    assert len(endpoint.received) == 4
    assert chat.why_exhausted is None


def test_a_budget_of_money_needs_a_price(endpoint: Endpoint) -> None:
    options = ModelOptions.model_validate({"budget": {"run": {"cost": 1}}})
    with pytest.raises(ConfigError):
        OpenAIChat("m", base_url=endpoint.url, options=options)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        (None, "openai:m"),
        ("https://api.openai.com/v1/", "openai:m"),
        ("http://ann:s3cret@localhost:8000/v1", "openai:m@http://localhost:8000/v1"),
        ("http://[::1]:8000/v1", "openai:m@http://[::1]:8000/v1"),
    ],
)
def test_the_name_is_that_of_the_settings_without_secrets(url: str | None, name: str) -> None:
    chat = OpenAIChat("m", base_url=url)
    assert (chat.name, repr(chat)) == (name, f"OpenAIChat('{name}')")


@pytest.mark.parametrize(
    "url",
    ["ftp://host/v1", "localhost:8000", "http://", "http://host:port/v1", "https://host/v1?key=s3cret", "nonsense"],
)
def test_a_url_that_is_none_is_refused(url: str) -> None:
    with raises(ConfigError, "base_url") as caught:
        OpenAIChat("m", base_url=url)
    assert "s3cret" not in str(caught.value)


def test_openai_without_a_key_is_refused_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with raises(ConfigError, "openai:m", "OPENAI_API_KEY"):
        OpenAIChat("m")


async def test_a_login_in_the_url_is_sent_as_a_header_and_never_shown(
    endpoint: Endpoint, make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    echo = "s3cret is not the password; you sent authorization: 'Basic YW5uOnMzY3JldA=='"
    endpoint.then(completion(), refused(401, echo))
    chat = make(url=endpoint.url.replace("://", "://ann:s3cret@"))
    await chat.complete(REQUEST)
    error = await failure(chat)
    assert endpoint.received[0].headers["authorization"] == "Basic YW5uOnMzY3JldA=="
    assert not [one for one in ("s3cret", "YW5uOnMz") if one in f"{error} {chat.name} {caplog.text}"]
    assert KEY not in caplog.text


async def test_a_given_client_keeps_its_key_and_stays_open(endpoint: Endpoint, make: Make) -> None:
    client = AsyncOpenAI(api_key="sk-of-the-client", base_url=endpoint.url)
    chat = make(client=client)
    await chat.complete(REQUEST)
    await chat.aclose()
    assert (chat.name, client.is_closed()) == (f"openai:m@{endpoint.url}", False)
    assert endpoint.received[0].headers["authorization"] == "Bearer sk-of-the-client"
    await _aio.through(client.close())


async def test_an_azure_client_asks_its_deployment(endpoint: Endpoint, make: Make) -> None:
    root = endpoint.url.removesuffix("/v1")
    client = AsyncAzureOpenAI(api_key="azure-key", api_version="2024-10-21", azure_endpoint=root)
    chat = make(client=client, model="my-deployment")
    assert await chat.complete(REQUEST) == Reply("fine")
    assert endpoint.received[0].path == "/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21"
    assert chat.name == f"openai:my-deployment@{root}/openai"
    await _aio.through(client.close())


async def test_calls_after_closing_connect_anew(endpoint: Endpoint, make: Make) -> None:
    chat = make()
    await chat.complete(REQUEST)
    await chat.aclose()
    await chat.aclose()
    assert await chat.complete(REQUEST) == Reply("fine")
    assert len({received.port for received in endpoint.received}) == 2


def test_what_shapes_the_answers_is_told() -> None:
    told: Mapping[str, Any] = OpenAIChat("m", options=ModelOptions(seed=3)).parameters
    assert told == {"temperature": 0.0, "seed": 3, "max_output_tokens": None, "structured_output": "auto"}


async def test_a_strict_server_takes_what_is_sent(make: Make) -> None:
    with ScriptedChatServer('{"label": "VERIFIED"}', key=KEY, models=["m"]) as server:
        chat = make(url=server.base_url, seed=1, max_output_tokens=50)
        with measure() as meter:
            assert await chat.complete(REQUEST) == Reply('{"label": "VERIFIED"}')
        assert (server.rejected, server.requests[0].schema) == ((), SCHEMA)
        assert meter.usage == Usage(**server.usage.model_dump(exclude={"unpriced_calls"}), unpriced_calls=1)


async def test_a_strict_server_without_schemas_or_room(make: Make) -> None:
    with ScriptedChatServer("fine", json_schema=False, context_tokens=100) as server:
        chat = make(url=server.base_url)
        assert await chat.complete(REQUEST) == Reply("fine")
        assert server.requests[-1].body["response_format"] == {"type": "json_object"}
        long = ChatRequest((Message("user", "Is the sea salty? " * 200),), "verify")
        assert type(await failure(chat, long)) is ContextTooLongError


FORKING = """
import asyncio, os, sys
from tests.judges.model.endpoint import REQUEST
from vista_guard.judges.model.chat.openai import OpenAIChat

chat = OpenAIChat("m", base_url=sys.argv[1])
asyncio.run(chat.complete(REQUEST))
child = os.fork()
reply = asyncio.run(chat.complete(REQUEST))
if child == 0:
    os._exit(0 if reply.text == "fine" else 3)
asyncio.run(chat.aclose())
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_has_connections_of_its_own(endpoint: Endpoint) -> None:
    root = Path(__file__).parents[4]
    done = subprocess.run(
        [sys.executable, "-c", FORKING, endpoint.url],
        cwd=root,
        timeout=120,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert len({received.port for received in endpoint.received}) == 2
