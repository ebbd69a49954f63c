"""Upstream asked again, the way the caller asked: same path, same headers, the draft and a note on it added."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import TYPE_CHECKING

from vista_guard.integrations.openai_api import Json, ending_report, judge_or_ask_again, summed
from vista_guard.proxy.http.upstream import Problem
from vista_guard.stream.gates import Again, Delta, Found, Passed
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
    dialect = exchange.dialect

    async def ask_again(draft: str, note: str, before: Json) -> Json:
        following = await ask(exchange.request_again(draft, note))
        if len(dialect.texts(following)) != 1:
            raise Problem(502, "upstream_unreadable", "upstream's answer has no choice, or several")
        if before.get("usage"):
            following["usage"] = summed(before["usage"], following.get("usage"))
        return following

    async def judge(parts: AsyncGenerator[Delta, None], again: Again) -> TurnReport:
        conversation = exchange.asked.conversation(exchange.identity.stored)
        documents = exchange.asked.grounds()
        return await ending_report(
            exchange.guard.gated(conversation, parts, gate="turn", documents=documents, again=again)
        )

    return await judge_or_ask_again(answer, lambda answer: _parts(dialect, answer), ask_again, judge)


async def _parts(dialect: Dialect, answer: Json) -> AsyncGenerator[Delta, None]:
    yield Found(dialect.documents(answer))
    for text in dialect.texts(answer):
        if text.strip():
            yield text
    yield Passed(None, binding=dialect.acts(answer))
