"""Upstream asked again, the way the caller asked: same path, same headers, the draft and a note on it added."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING

from vista_guard.integrations.openai_api import Json, summed
from vista_guard.proxy.http.upstream import Problem
from vista_guard.stream.gates import Delta, Found, Passed
from vista_guard.types import TurnReport

if TYPE_CHECKING:
    from vista_guard.proxy.dialects.protocol import Dialect
    from vista_guard.proxy.exchange import Exchange

AskWhole = Callable[[Json], Awaitable[Json]]
"""Sends a body to upstream and reads the answer."""


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
