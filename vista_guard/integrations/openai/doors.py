"""The guarded methods: a request is read, sent, answered, and the answer judged before the caller has it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from openai import AsyncStream, Stream, omit

from vista_guard._aio import loop
from vista_guard.integrations.openai import chat, response_stream, responses
from vista_guard.integrations.openai.requests import Api, Asked, given, read, settled, without_documents
from vista_guard.integrations.openai.streams import (
    AsyncManager,
    GuardedAsyncChatStream,
    GuardedAsyncResponseStream,
    GuardedAsyncStream,
    GuardedChatStream,
    GuardedResponseStream,
    GuardedStream,
    Manager,
    read_async,
)
from vista_guard.integrations.openai.surface import Surface
from vista_guard.integrations.openai.threads import read_in_thread
from vista_guard.integrations.openai_api import asked_again, repeatable
from vista_guard.types import TurnReport


class Over:
    """Stands before a part of the client: what is not guarded is that part's own."""

    def __init__(self, inner: Any, surface: Surface) -> None:
        self._inner, self._surface = inner, surface

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __repr__(self) -> str:
        return f"guarded({self._inner!r})"

    @property  # type: ignore[misc]  # other libraries ask whether they were given a part of the SDK
    def __class__(self) -> Any:
        return type(self._inner)


@dataclass(frozen=True)
class _Call:
    """One request: as it is sent, and as the guard reads it."""

    api: Api
    surface: Surface
    sent: Mapping[str, Any]
    asked: Asked
    ask: Callable[[dict[str, Any]], Awaitable[Any]]
    """Sends a request the same way once more: gives a result, or the items of a stream."""

    async def judge(self, result: Any) -> tuple[Any, dict[int, TurnReport]]:
        """The result, maybe of another answer, and its reports."""
        judge: Any = chat.judge_completion if self.api == "chat" else responses.judge_response
        judged: tuple[Any, dict[int, TurnReport]] = await judge(self.surface, self.asked, result, self._again())
        return judged

    def deliver(self, result: Any, reports: Mapping[int, TurnReport]) -> Any:
        deliver: Any = chat.deliver_completion if self.api == "chat" else responses.deliver_response
        deliver(self.surface, self.asked, result, reports)
        return result

    def guarding(self, items: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        over = chat.chat_chunks if self.api == "chat" else response_stream.response_events
        return over(self.surface, self.asked, items, self._again())

    def _again(self) -> chat.AskAgain | None:
        plain = {name: given(self.sent, name) for name in self.sent}
        if not self.surface.regenerates(self.asked) or not repeatable(self.api, plain):
            return None

        async def again(draft: str, note: str) -> Any:
            return await self.ask(asked_again(self.api, self.sent, draft, note))

        return again

    def helper(self, kinds: tuple[Any, Any], stream: Any) -> Any:
        """The helper's stream over a guarded one."""
        tools = self.sent.get("tools", omit)
        if self.api == "chat":
            wanted = self.sent.get("response_format", omit)
            return kinds[0](raw_stream=stream, response_format=wanted, input_tools=tools)
        wanted, after = self.sent.get("text_format", omit), self.sent.get("starting_after")
        return kinds[1](raw_stream=stream, text_format=wanted, input_tools=tools, starting_after=after)


class _Door(Over):
    """The guarded methods of a resource, for the sync client."""

    api: ClassVar[Api]

    def create(self, **request: Any) -> Any:
        return self._ask(self._inner.create, request)

    def parse(self, **request: Any) -> Any:
        return self._ask(self._inner.parse, request)

    def stream(self, **request: Any) -> Any:
        sent, asked = _prepared(self.api, self._surface, request)

        async def again(sent: dict[str, Any]) -> AsyncGenerator[Any, None]:
            return read_in_thread(await _opened(lambda: self._inner.stream(**sent).__enter__()._raw_stream))

        call = _Call(self.api, self._surface, sent, asked, again)

        def over(raw: Stream[Any]) -> Any:
            return call.helper(
                (GuardedChatStream, GuardedResponseStream), GuardedStream(raw, self._surface, call.guarding)
            )

        return Manager(self._inner.stream(**sent), over)

    def _ask(self, method: Any, request: dict[str, Any]) -> Any:
        sent, asked = _prepared(self.api, self._surface, request)

        async def again(sent: dict[str, Any]) -> Any:
            result = await _opened(lambda: method(**sent))
            return read_in_thread(result) if isinstance(result, Stream) else result

        call = _Call(self.api, self._surface, sent, asked, again)
        result = method(**sent)
        if isinstance(result, Stream):
            return GuardedStream(result, self._surface, call.guarding)
        return call.deliver(*loop.run(call.judge(result)))


class _AsyncDoor(Over):
    """The guarded methods of a resource, for the async client."""

    api: ClassVar[Api]

    async def create(self, **request: Any) -> Any:
        return await self._ask(self._inner.create, request)

    async def parse(self, **request: Any) -> Any:
        return await self._ask(self._inner.parse, request)

    def stream(self, **request: Any) -> Any:
        sent, asked = _prepared(self.api, self._surface, request)

        async def again(sent: dict[str, Any]) -> AsyncGenerator[Any, None]:
            return read_async((await self._inner.stream(**sent).__aenter__())._raw_stream)

        async def over(raw: AsyncStream[Any]) -> Any:
            call = _Call(self.api, self._surface, sent, asked, again)
            stream = GuardedAsyncStream(raw, self._surface, call.guarding)
            return call.helper((GuardedAsyncChatStream, GuardedAsyncResponseStream), stream)

        return AsyncManager(self._inner.stream(**sent), over)

    async def _ask(self, method: Any, request: dict[str, Any]) -> Any:
        sent, asked = _prepared(self.api, self._surface, request)

        async def again(sent: dict[str, Any]) -> Any:
            result = await method(**sent)
            return read_async(result) if isinstance(result, AsyncStream) else result

        call = _Call(self.api, self._surface, sent, asked, again)
        result = await method(**sent)
        if isinstance(result, AsyncStream):
            return GuardedAsyncStream(result, self._surface, call.guarding)
        return call.deliver(*await call.judge(result))


class Completions(_Door):
    api = "chat"


class AsyncCompletions(_AsyncDoor):
    api = "chat"


class Responses(_Door):
    api = "responses"


class AsyncResponses(_AsyncDoor):
    api = "responses"


def _prepared(api: Api, surface: Surface, request: dict[str, Any]) -> tuple[dict[str, Any], Asked]:
    request = settled(api, request)
    return without_documents(api, request), read(api, request, surface.conversation_id, surface.chains)


async def _opened(send: Callable[[], Any]) -> Any:
    """What a sync client answers, asked in a thread. A stream that nobody waits for any more is closed."""
    sending = asyncio.ensure_future(asyncio.to_thread(send))
    try:
        return await asyncio.shield(sending)
    except asyncio.CancelledError:
        sending.add_done_callback(_drop)
        raise


def _drop(sending: asyncio.Future[Any]) -> None:
    if not sending.cancelled() and sending.exception() is None and isinstance(result := sending.result(), Stream):
        result.close()
