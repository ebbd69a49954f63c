"""What an endpoint may do wrong, and what is then said: the endpoint, the cause, the next step, and never a key."""

from __future__ import annotations

import socket
import threading
import time
from types import SimpleNamespace

import pytest

from tests.judges.model.conftest import Make, failure
from tests.judges.model.endpoint import KEY, REQUEST, Answered, Endpoint, Received, completion, refused, with_message
from vista_guard.errors import ContextTooLongError
from vista_guard.judges.contract import measure
from vista_guard.judges.model.chat.calling import Reply
from vista_guard.testing import Fault, ScriptedChatServer
from vista_guard.types import Usage


@pytest.mark.parametrize(
    "answered",
    [
        Answered({"choices": []}),
        Answered({"choices": None}),
        Answered({}),
        Answered([]),
        Answered({"choices": ["fine"]}),
        Answered({"choices": [{"message": None}]}),
        Answered({"error": {"message": "no \ud83d capacity"}}),
        with_message("stop"),
        with_message("stop", content=["fine"]),
        Answered(b"<html><body>Sign in</body></html>", headers={"content-type": "text/html"}),
        Answered(b'{"choices": [', headers={"content-type": "application/json"}),
        Answered(b"\xff\xfe\x00", headers={"content-type": "application/json"}),
        Answered(b""),
        Answered(b"null"),
    ],
)
async def test_an_answer_that_is_none_is_an_error(endpoint: Endpoint, make: Make, answered: Answered) -> None:
    endpoint.then(answered)
    error = await failure(make())
    assert str(error).startswith(f"openai:m@{endpoint.url} returned an unreadable answer: ")
    assert "chat completions" in str(error)


@pytest.mark.parametrize(
    ("answered", "parts"),
    [
        (refused(401, f"Wrong key: {KEY}", "invalid_api_key"), ["401", "Wrong key: ***", "set OPENAI_API_KEY"]),
        (refused(403, "Not in your plan"), ["403", "Not in your plan", "may not use m"]),
        (refused(404, "No model m here", "model_not_found"), ["404", "check the model's name, m", "/v1"]),
        (Answered({"detail": "Not Found"}, 404), ["404: Not Found", "/v1"]),
        (Answered({"error": "model 'm' is not there"}, 404), ["404: model 'm' is not there"]),
        (refused(429, "You exceeded your current quota", "insufficient_quota"), ["429", "no credit left"]),
        (refused(402, "Insufficient Balance"), ["402", "no credit left"]),
        (refused(429, "Too many requests"), ["429", "requests_per_minute"]),
        (refused(503, "Overloaded"), ["503: Overloaded", "try again later"]),
        (Answered(b"<html>Bad gateway</html>", 502, {"content-type": "text/html"}), ["502", "Bad gateway"]),
        (refused(400, "Two system messages"), ["400: Two system messages"]),
        (Answered({"error": {"message": "x" * 9000}}, 400), ["x" * 200 + "x"]),
    ],
)
async def test_a_refusal_of_the_endpoint_says_what_and_what_to_do(
    endpoint: Endpoint, make: Make, answered: Answered, parts: list[str]
) -> None:
    endpoint.then(answered)
    error = str(await failure(make(max_retries=0)))
    assert error.startswith(f"openai:m@{endpoint.url} answered ")
    assert [part for part in parts if part not in error] == []
    assert len(error) < 600


@pytest.mark.parametrize(
    "answered",
    [
        refused(400, "Your messages have 9000 tokens", "context_length_exceeded"),
        refused(400, "This model's maximum context length is 8192 tokens, and your messages have 9001."),
        refused(400, "The decoder prompt (length 9001) is longer than the maximum model length of 8192."),
        refused(400, "the request exceeds the available context size", "exceed_context_size_error"),
        refused(400, "input length exceeds the context length"),
        refused(400, "prompt too long; exceeded max context length by 809 tokens"),
        refused(500, "the request exceeds the available context size. try increasing it"),
        refused(413, "Payload too large"),
        refused(429, "Request too large for m on tokens per min: limit 8000, requested 9001"),
    ],
)
async def test_a_prompt_that_does_not_fit_is_told_as_such(endpoint: Endpoint, make: Make, answered: Answered) -> None:
    endpoint.then(answered)
    error = await failure(make(max_retries=0))
    assert type(error) is ContextTooLongError
    assert "fewer or shorter documents" in str(error)


async def test_without_a_key_a_local_server_is_asked_and_a_refusal_names_the_variable(
    endpoint: Endpoint, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    endpoint.then(completion(), refused(401, "Who are you?"))
    chat = make()
    assert await chat.complete(REQUEST) == Reply("fine")
    assert "OPENAI_API_KEY is not set" in str(await failure(chat))


async def test_a_host_that_is_not_there_is_named(make: Make) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    error = str(await failure(make(url=f"http://127.0.0.1:{port}/v1", max_retries=0)))
    assert error.startswith(f"openai:m@http://127.0.0.1:{port}/v1 cannot be reached: ")
    assert "check that it runs" in error


@pytest.mark.parametrize("retries", [0, 2])
async def test_a_call_ends_at_its_deadline_with_all_of_its_retries(
    endpoint: Endpoint, make: Make, retries: int
) -> None:
    release = threading.Event()

    def answer(received: Received) -> Answered:
        release.wait()
        return completion()

    endpoint.answer = answer
    with measure() as meter:
        error = str(await failure(make(timeout_s=0.2, max_retries=retries)))
    release.set()
    assert "did not answer within 0.2 s, retries included" in error
    assert meter.usage == Usage(calls=1)


async def test_faults_that_pass_are_tried_again_and_count_as_one_call(endpoint: Endpoint, make: Make) -> None:
    soon = {"retry-after-ms": "1"}
    endpoint.then(Answered({}, 429, soon), Answered({}, 500, soon), Answered({}, 409, soon), completion())
    with measure() as meter:
        assert await make(max_retries=3).complete(REQUEST) == Reply("fine")
    assert len(endpoint.received) == 4
    assert meter.usage == Usage(calls=1, input_tokens=10, output_tokens=5, cached_tokens=4, unpriced_calls=1)


async def test_an_endpoint_that_keeps_failing_is_left_alone_and_tried_again(
    endpoint: Endpoint, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    endpoint.then(refused(500, "Out of memory"))
    chat = make(max_retries=0, breaker={"failures": 2, "cool_down_s": 600})
    await failure(chat)
    await failure(chat)

    with measure() as meter:
        error = str(await failure(chat))
    assert "failed 2 times in a row" in error
    assert "500: Out of memory" in error
    assert (len(endpoint.received), meter.usage) == (2, Usage())

    later = SimpleNamespace(time=lambda: time.time() + 601)
    monkeypatch.setattr("purgatory.domain.model.time", later)
    endpoint.then(completion())
    assert await chat.complete(REQUEST) == Reply("fine")
    assert await chat.complete(REQUEST) == Reply("fine")


async def test_requests_that_are_our_own_fault_do_not_shut_the_endpoint_out(endpoint: Endpoint, make: Make) -> None:
    endpoint.then(refused(400, "Two system messages"))
    chat = make(breaker={"failures": 2})
    for _ in range(4):
        await failure(chat)
    assert len(endpoint.received) == 4


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault.http(429, retry_after=0.01), None),
        (Fault.http(503, retry_after=0.01), None),
        (Fault.reset(), None),
        (Fault.cut('{"label": "VERIFIED"}'), None),
        (Fault.cut('{"label": "VERIFIED"}', clean=True), "returned an unreadable answer"),
        (Fault.empty(), "returned an unreadable answer"),
        (Fault.html(200), "returned an unreadable answer"),
    ],
)
async def test_a_fault_is_got_over_or_told(make: Make, fault: Fault, said: str | None) -> None:
    with ScriptedChatServer("fine", faults={1: fault}) as server:
        chat = make(url=server.base_url, timeout_s=600)
        if said is None:
            assert await chat.complete(REQUEST) == Reply("fine")
        else:
            assert said in str(await failure(chat))
        assert server.calls == (2 if said is None else 1)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_told_and_not_followed(endpoint: Endpoint, make: Make, status: int) -> None:
    moved = Fault.http(status, headers={"location": f"{endpoint.url}/chat/completions"})
    with ScriptedChatServer("fine", faults={1: moved}) as server:
        said = str(await failure(make(url=server.base_url)))
        assert f"{server.base_url} redirects ({status})" in said
    assert endpoint.received == []


async def test_an_unknown_model_is_not_asked_in_other_ways(endpoint: Endpoint, make: Make) -> None:
    endpoint.then(refused(404, "The model toolbox does not exist", "model_not_found"))
    assert "check the model's name" in str(await failure(make()))
    assert len(endpoint.received) == 1
