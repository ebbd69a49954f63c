"""How hard an endpoint is pressed. Time is asked of the limits themselves, never of a clock."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.raising import raises
from vista_guard.errors import JudgeError
from vista_guard.judges.contract import due_in
from vista_guard.judges.model.chat.calling import Gate, OnLoop
from vista_guard.judges.model.chat.faults import EndpointError
from vista_guard.settings.model import ModelOptions


def gate(**options: Any) -> Gate:
    return Gate("openai:m", ModelOptions.model_validate(options))


async def waits(gate: Gate, tokens: int = 0) -> bool:
    """Whether a call would have to wait now."""
    turn = asyncio.ensure_future(gate.turn_to_send(tokens))
    for _ in range(20):  # whoever has to wait sets a timer
        await asyncio.sleep(0)
    return turn.cancel()


async def test_without_rates_nothing_waits() -> None:
    free = gate()
    assert [await waits(free, 10**9) for _ in range(50)] == [False] * 50


async def test_requests_a_minute() -> None:
    limited = gate(requests_per_minute=3)
    assert [await waits(limited) for _ in range(4)] == [False, False, False, True]


async def test_tokens_a_minute_are_made_good_when_the_answer_is_longer() -> None:
    limited = gate(tokens_per_minute=100)
    assert not await waits(limited, 10)
    limited.settle(10, 95)
    assert await waits(limited, 10)


async def test_a_prompt_above_the_rate_still_gets_its_turn() -> None:
    assert not await waits(gate(tokens_per_minute=100), 5000)


async def test_places_are_bounded_and_given_back_after_an_error() -> None:
    narrow = gate(concurrency=1)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            async with asyncio.timeout(60), narrow.places:
                raise ZeroDivisionError


async def fails(gate: Gate, error: Exception | None) -> str:
    """What comes out of a call that fails so."""
    try:
        async with gate.circuit():
            if error is not None:
                raise error
    except JudgeError as exc:
        return str(exc)
    return "answered"


async def test_failures_in_a_row_open_the_breaker_and_others_do_not() -> None:
    breaking = gate(breaker={"failures": 2, "cool_down_s": 600})
    down, wrong = EndpointError("no answer"), JudgeError("wrong key")
    assert [await fails(breaking, error) for error in (down, wrong, down, None, down)] == [
        "no answer",
        "wrong key",
        "no answer",
        "answered",
        "no answer",
    ]
    assert await fails(breaking, down) == "no answer"
    assert await fails(breaking, None) == (
        "openai:m failed 2 times in a row; calls resume in 600 s; the last failure: no answer"
    )


async def test_a_call_that_is_given_up_is_no_failure_of_the_endpoint() -> None:
    breaking = gate(breaker={"failures": 1, "cool_down_s": 600})
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01), breaking.circuit():
            await asyncio.Event().wait()
    assert await fails(breaking, None) == "answered"


async def test_an_endpoint_that_is_silent_until_the_turns_time_is_over_has_failed() -> None:
    breaking = gate(breaker={"failures": 2, "cool_down_s": 600})
    for _ in range(2):
        with pytest.raises(TimeoutError), due_in(0.01):
            async with asyncio.timeout(0.01), breaking.circuit():
                await asyncio.Event().wait()
    with raises(JudgeError, "openai:m", "600", "limits.judge_seconds"):
        async with breaking.circuit():
            raise AssertionError("it was called")


def test_each_loop_has_its_own_and_the_others_is_kept() -> None:
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    own = OnLoop(make)

    async def twice() -> bool:
        return own.get() is own.get()

    async def take() -> object:
        return own.take()

    assert len(made) == 1
    assert asyncio.run(twice())
    assert len(made) == 1
    assert asyncio.run(take()) is None  # of another loop: not this one's to close
    assert asyncio.run(twice())
    assert len(made) == 2
