"""What honest servers answer passes the table of known fields as it is."""

from __future__ import annotations

from typing import Any

import pytest

from vista_guard.openai_api.fields import Sifting, request_error, sift_chunk, sift_completion, sift_response

SAID: dict[str, Any] = {"role": "assistant", "content": "It opened in 1925.", "refusal": None, "annotations": []}
CHOICE = {"index": 0, "message": SAID, "logprobs": None, "finish_reason": "stop"}
COMPLETION = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "org/model", "choices": [CHOICE]}
SAFE = {"hate": {"filtered": False, "severity": "safe"}, "jailbreak": {"filtered": False, "detected": False}}
TOKEN = {"token": "It opened in 1925.", "logprob": -0.1, "bytes": list(b"It opened in 1925."), "top_logprobs": []}
CALL = {"id": "call_1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}

COMPLETIONS: dict[str, dict[str, Any]] = {
    "OpenAI": {**COMPLETION, "usage": {"prompt_tokens": 1, "completion_tokens_details": {"reasoning_tokens": 0}}},
    "tokens": {**COMPLETION, "choices": [{**CHOICE, "logprobs": {"content": [TOKEN], "refusal": None}}]},
    "calls": {**COMPLETION, "choices": [{**CHOICE, "message": {**SAID, "content": None, "tool_calls": [CALL]}}]},
    "reasoning": {**COMPLETION, "choices": [{**CHOICE, "message": {**SAID, "reasoning_content": "Hm."}}]},
    "Azure": {
        **COMPLETION,
        "choices": [{**CHOICE, "content_filter_results": SAFE}],
        "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": SAFE}],
    },
    "llama.cpp": {**COMPLETION, "timings": {"prompt_n": 3, "predicted_per_second": 9.5}},
}

RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1,
    "status": "completed",
    "error": None,
    "incomplete_details": None,
    "instructions": "Be brief.",
    "model": "gpt-5",
    "output": [
        {"id": "rs_1", "type": "reasoning", "summary": []},
        {
            "id": "msg_1",
            "type": "message",
            "status": "completed",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "In 1925.", "annotations": [], "logprobs": []}],
        },
    ],
    "parallel_tool_calls": True,
    "reasoning": {"effort": "medium", "summary": None},
    "service_tier": "default",
    "temperature": 1.0,
    "text": {"format": {"type": "text"}, "verbosity": "medium"},
    "tool_choice": "auto",
    "tools": [{"type": "web_search"}],
    "truncation": "disabled",
    "usage": {"input_tokens": 1, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 2, "total_tokens": 3},
    "user": None,
    "metadata": {"topic": "whales"},
}


@pytest.mark.parametrize("name", COMPLETIONS)
def test_a_completion_passes_as_it_is(name: str) -> None:
    sifting = Sifting()
    assert (sift_completion(COMPLETIONS[name], sifting), sifting.dropped) == (COMPLETIONS[name], 0)


def test_a_response_passes_with_what_it_repeats_of_the_request() -> None:
    asked = {name: RESPONSE[name] for name in ("instructions", "tools", "metadata")}
    sifting = Sifting(asked)
    assert (sift_response(RESPONSE, sifting), sifting.dropped, sifting.told) == (RESPONSE, 0, [])
    assert sift_response(RESPONSE, Sifting()) == {**RESPONSE, "instructions": None, "tools": [], "metadata": {}}


def test_an_empty_finish_reason_ends_nothing() -> None:
    told = sift_chunk({"choices": [{"index": 0, "delta": {"content": "It"}, "finish_reason": ""}]}, Sifting())
    assert told == {"choices": [{"index": 0, "delta": {"content": "It"}, "finish_reason": None}]}


def test_the_message_of_a_refused_request_is_passed_on_and_not_told_as_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    message = "No such model. " * 99
    error = {"message": message, "type": "not_found", "param": "model", "code": 7}
    assert request_error(404, {"error": error}) == {**error, "message": message[:1000]}
    assert request_error(429, {"error": "slow down"})["message"] == "slow down"
    assert request_error(500, {"error": error})["message"] == "upstream answered with status 500"
    assert not caplog.records


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            [{"error": {"code": 400, "message": "API key not valid.", "status": "INVALID_ARGUMENT"}}],
            "API key not valid.",
        ),
        ({"detail": "Token expired"}, "Token expired"),
        (
            {"detail": [{"loc": ["body", "tools", 0], "msg": "Field required"}, {"loc": [], "msg": "Too long"}]},
            "body.tools.0: Field required; Too long",
        ),
        ({"object": "error", "message": {"detail": [{"msg": "Extra input", "loc": ["body"]}]}}, "body: Extra input"),
        ({"error": {"detail": 7}}, "upstream answered with status 422"),
        ([], "upstream answered with status 422"),
    ],
    ids=["Gemini", "FastAPI", "FastAPI's fields", "Mistral", "no words", "nothing"],
)
def test_a_refused_request_is_told_why_in_each_vendors_form(body: object, message: str) -> None:
    error = request_error(422, body)
    assert (error["message"], error["type"]) == (message, "invalid_request_error")


@pytest.mark.parametrize(
    ("told", "finish"),
    [
        ("max_tokens", "length"),
        ("MAX_TOKENS", "length"),
        ("error", "length"),
        ("content_filter: SAFETY", "content_filter"),
        ("STOP", "stop"),
        ("tool_use", "tool_calls"),
        ("end_turn", "stop"),
        ("The hall opened in 1850", "stop"),
    ],
)
def test_other_vendors_finish_reasons_become_openais(told: str, finish: str) -> None:
    sifted = sift_completion({"choices": [{**CHOICE, "finish_reason": told}]}, Sifting())
    assert sifted == {"choices": [{**CHOICE, "finish_reason": finish}]}


def test_each_name_is_told_once_and_no_value(caplog: pytest.LogCaptureFixture) -> None:
    places: list[str] = []
    for _ in range(3):
        sift_completion({**COMPLETION, "whisper": "It opened in 1850.", "In 1850": 1}, Sifting(on_drop=places.append))
    assert places == ["answer"] * 6
    assert ("1850" in caplog.text, caplog.text.count("whisper")) == (False, 1)
