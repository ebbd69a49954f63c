"""Upstream asked again, the way the caller asked: same path, same headers, the draft and a note on it added."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING

import httpx2

from vista_guard.graph.stream import Delta, Found, Passed
from vista_guard.integrations.asking import summed
from vista_guard.integrations.proxy import metrics
from vista_guard.integrations.proxy.evidence import Json
from vista_guard.integrations.proxy.upstream import Problem, close
from vista_guard.types import TurnReport

if TYPE_CHECKING:
    from vista_guard.integrations.proxy.dialect import Dialect
    from vista_guard.integrations.proxy.streams import Exchange

Ask = Callable[[Json], Awaitable[httpx2.Response]]
"""Sends a body to upstream; the answer's body is unread."""

AskWhole = Callable[[Json], Awaitable[Json]]
"""Sends a body to upstream and reads the answer."""


async def opened(ask: Ask, sent: Json, seconds: float) -> httpx2.Response:
    """The beginning of an answer.

    Raises:
        Problem: upstream does not answer in time, or with an error.
    """
    try:
        async with asyncio.timeout(seconds):
            response = await ask(sent)
    except TimeoutError:
        metrics.upstream_error("timeout")
        raise Problem(504, "upstream_timeout", "upstream did not answer in time") from None
    if not response.is_success:
        metrics.upstream_error("status")
        await close(response)
        raise Problem(502, "upstream_status", f"upstream answered with status {response.status_code}")
    return response


async def judge_again(exchange: Exchange, answer: Json, ask: AskWhole) -> tuple[Json, TurnReport]:
    """The answer that is delivered, which may be another one than was given, and its report.

    Raises:
        InputError: the answer is over a limit.
    """
    dialect, last = exchange.dialect, answer

    async def again(draft: str, note: str) -> AsyncGenerator[Delta, None]:
        nonlocal last
        following = await ask(exchange.asked_again(draft, note))
        if len(dialect.texts(following)) != 1:
            raise Problem(502, "upstream_unreadable", "upstream's answer has no choice, or several")
        if last.get("usage"):
            following["usage"] = summed(last["usage"], following.get("usage"))
        last = following
        async for part in _parts(dialect, following):
            yield part

    gated = exchange.guard.gated(
        exchange.asked.conversation(exchange.identity.stored),
        _parts(dialect, answer),
        gate="turn",
        documents=exchange.asked.grounds(),
        again=again,
    )
    *_, report = [item async for item in gated]
    if not isinstance(report, TurnReport):
        raise AssertionError("a gated stream ends with its report")
    return last, report


async def _parts(dialect: Dialect, answer: Json) -> AsyncGenerator[Delta, None]:
    yield Found(dialect.documents(answer))
    for text in dialect.texts(answer):
        if text.strip():
            yield text
    yield Passed(None, binding=dialect.acts(answer))
