"""The guarded methods: a request is read, sent, with_answer, and the answer judged before the caller has it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar, cast

from openai import AsyncStream, Stream, omit
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response, ResponseStreamEvent

from vista_guard._aio import loop
from vista_guard.integrations.openai import chat, helpers
from vista_guard.integrations.openai.answering import AskAgain
from vista_guard.integrations.openai.client_guard import ClientGuard
from vista_guard.integrations.openai.guarded_part import GuardedPart
from vista_guard.integrations.openai.helpers import AsyncHelper, AsyncManager, Manager, SyncHelper
from vista_guard.integrations.openai.reports import mark_unjudged
from vista_guard.integrations.openai.requests import Asked, argument, read_request, with_lists, without_documents
from vista_guard.integrations.openai.responses import stream, whole
from vista_guard.integrations.openai.sifted import sifted_answer, sifted_events, unjudged_in
from vista_guard.integrations.openai.streams import GuardedAsyncStream, GuardedSyncStream, Guarding, read_async
from vista_guard.integrations.openai.threads import read_in_thread
from vista_guard.integrations.openai_api import Api, Json, repeatable, request_again
from vista_guard.integrations.openai_api.fields import Sifting
from vista_guard.types import TurnReport

Answer = TypeVar("Answer")
Answer_co = TypeVar("Answer_co", covariant=True)
Event = TypeVar("Event")
Result = TypeVar("Result")

Judge = Callable[[ClientGuard, Asked, Answer, AskAgain[Answer] | None], Awaitable[tuple[Answer, dict[int, TurnReport]]]]
Shown = Callable[
    [ClientGuard, Asked, AsyncGenerator[Event, None], AskAgain[AsyncGenerator[Event, None]] | None],
    AsyncGenerator[Event | TurnReport, None],
]


@dataclass(frozen=True)
class JudgedApi(Generic[Answer, Event]):
    """One of the two APIs: how its whole answers are judged and delivered, and what of its streams is shown."""

    name: Api
    judge: Judge[Answer]
    deliver: Callable[[ClientGuard, Asked, Answer, Mapping[int, TurnReport]], None]
    shown: Shown[Event]
    helper_options: Mapping[str, object]
    """Arguments of a request that the SDK's helper needs, too, with what stands for one that was not given."""


CHAT = JudgedApi[ChatCompletion, ChatCompletionChunk](
    "chat",
    chat.judge_completion,
    chat.deliver_completion,
    chat.chat_chunks,
    {"response_format": omit},
)
RESPONSES = JudgedApi[Response, ResponseStreamEvent](
    "responses",
    whole.judge_response,
    whole.deliver_response,
    stream.response_events,
    {"text_format": omit, "starting_after": None},
)


class Resource(Protocol[Answer_co, Event]):
    """A resource of the SDK as it is called here: keyword arguments in, an answer or its stream out."""

    def create(self, **request: object) -> Answer_co | Stream[Event]: ...

    def parse(self, **request: object) -> Answer_co | Stream[Event]: ...

    def stream(self, **request: object) -> helpers.Enters[SyncHelper[Event]]: ...


class AsyncResource(Protocol[Answer_co, Event]):
    """As `Resource`, for the async client."""

    async def create(self, **request: object) -> Answer_co | AsyncStream[Event]: ...

    async def parse(self, **request: object) -> Answer_co | AsyncStream[Event]: ...

    def stream(self, **request: object) -> helpers.AsyncEnters[AsyncHelper[Event]]: ...


@dataclass(frozen=True)
class _Call(Generic[Answer, Event]):
    """One request: as it is sent, and as the guard reads it."""

    api: JudgedApi[Answer, Event]
    guard: ClientGuard
    sent: Json
    asked: Asked
    sifting: Sifting

    async def judge(
        self, answer: Answer, ask: Callable[[Json], Awaitable[Answer]]
    ) -> tuple[Answer, dict[int, TurnReport]]:
        """The answer, maybe another one, and its reports; `ask` sends a request the same way once more."""

        async def next_answer(sent: Json) -> Answer:
            return sifted_answer(self.api.name, await ask(sent), self.sifting)

        first = sifted_answer(self.api.name, answer, self.sifting)
        return await self.api.judge(self.guard, self.asked, first, self._ask_again(next_answer))

    def deliver(self, answer: Answer, reports: Mapping[int, TurnReport]) -> Answer:
        """The answer, with what is delivered in it."""
        self.api.deliver(self.guard, self.asked, answer, reports)
        mark_unjudged(answer, unjudged_in(self.api.name, answer, structured=self.asked.structured))
        return answer

    def guarding(self, ask: Callable[[Json], Awaitable[AsyncGenerator[Event, None]]]) -> Guarding[Event]:
        """What guards the answer's stream."""

        async def next_events(sent: Json) -> AsyncGenerator[Event, None]:
            events = await ask(sent)
            self.sifting.unjudged.clear()  # what passed of an answer that nobody sees
            return self._sifted(events)

        return lambda events: self.api.shown(self.guard, self.asked, self._sifted(events), self._ask_again(next_events))

    def _sifted(self, events: AsyncGenerator[Event, None]) -> AsyncGenerator[Event, None]:
        return sifted_events(self.api.name, events, self.sifting, self.asked.choices)

    def marked(self, stream: Result) -> Result:
        """The stream, which tells by `unjudged_of` what passed unjudged so far."""
        mark_unjudged(stream, self.sifting.unjudged)
        return stream

    def helper_options(self) -> Json:
        """What the SDK's helper is made with."""
        options = {name: self.sent.get(name, default) for name, default in self.api.helper_options.items()}
        return {**options, "input_tools": self.sent.get("tools", omit)}

    def _ask_again(self, ask: Callable[[Json], Awaitable[Result]]) -> AskAgain[Result] | None:
        plain = {name: argument(self.sent, name) for name in self.sent}
        if not self.guard.regenerates(self.asked) or not repeatable(self.api.name, plain):
            return None
        return lambda draft, note: ask(request_again(self.api.name, self.sent, draft, note))


class _Door(GuardedPart[Resource[Answer, Event]]):
    """The guarded methods of a resource, for the sync client."""

    _api: JudgedApi[Answer, Event]
    _helper: Callable[..., SyncHelper[Event]]

    def create(self, **request: object) -> Answer | Stream[Event]:
        return self._send(self._inner.create, request)

    def parse(self, **request: object) -> Answer | Stream[Event]:
        return self._send(self._inner.parse, request)

    def stream(self, **request: object) -> Manager[Event]:
        call = _prepare(self._api, self._guard, request)

        async def again(sent: Json) -> AsyncGenerator[Event, None]:
            return read_in_thread(await _in_thread(lambda: self._inner.stream(**sent).__enter__()._raw_stream))

        def guarded(raw: Stream[Event]) -> SyncHelper[Event]:
            over = call.marked(GuardedSyncStream(raw, self._guard, call.guarding(again)))
            return self._helper(raw_stream=over, **call.helper_options())

        return Manager(self._inner.stream(**call.sent), guarded)

    def _send(self, method: Callable[..., Answer | Stream[Event]], request: Json) -> Answer | Stream[Event]:
        call = _prepare(self._api, self._guard, request)

        async def next_stream(sent: Json) -> AsyncGenerator[Event, None]:
            return read_in_thread(cast("Stream[Event]", await _in_thread(lambda: method(**sent))))

        async def next_answer(sent: Json) -> Answer:
            return cast(Answer, await _in_thread(lambda: method(**sent)))

        result = method(**call.sent)
        if isinstance(result, Stream):
            return call.marked(GuardedSyncStream(result, self._guard, call.guarding(next_stream)))
        return call.deliver(*loop.run(call.judge(result, next_answer)))


class _AsyncDoor(GuardedPart[AsyncResource[Answer, Event]]):
    """The guarded methods of a resource, for the async client."""

    _api: JudgedApi[Answer, Event]
    _helper: Callable[..., AsyncHelper[Event]]

    async def create(self, **request: object) -> Answer | AsyncStream[Event]:
        return await self._send(self._inner.create, request)

    async def parse(self, **request: object) -> Answer | AsyncStream[Event]:
        return await self._send(self._inner.parse, request)

    def stream(self, **request: object) -> AsyncManager[Event]:
        call = _prepare(self._api, self._guard, request)

        async def again(sent: Json) -> AsyncGenerator[Event, None]:
            return read_async((await self._inner.stream(**sent).__aenter__())._raw_stream)

        def guarded(raw: AsyncStream[Event]) -> AsyncHelper[Event]:
            over = call.marked(GuardedAsyncStream(raw, self._guard, call.guarding(again)))
            return self._helper(raw_stream=over, **call.helper_options())

        return AsyncManager(self._inner.stream(**call.sent), guarded)

    async def _send(
        self, method: Callable[..., Awaitable[Answer | AsyncStream[Event]]], request: Json
    ) -> Answer | AsyncStream[Event]:
        call = _prepare(self._api, self._guard, request)

        async def next_stream(sent: Json) -> AsyncGenerator[Event, None]:
            return read_async(cast("AsyncStream[Event]", await method(**sent)))

        async def next_answer(sent: Json) -> Answer:
            return cast(Answer, await method(**sent))

        result = await method(**call.sent)
        if isinstance(result, AsyncStream):
            return call.marked(GuardedAsyncStream(result, self._guard, call.guarding(next_stream)))
        return call.deliver(*await call.judge(result, next_answer))


class Completions(_Door[ChatCompletion, ChatCompletionChunk]):
    _api = CHAT
    _helper = helpers.GuardedChatStream[object]


class AsyncCompletions(_AsyncDoor[ChatCompletion, ChatCompletionChunk]):
    _api = CHAT
    _helper = helpers.GuardedAsyncChatStream[object]


class Responses(_Door[Response, ResponseStreamEvent]):
    _api = RESPONSES
    _helper = helpers.GuardedResponseStream[object]


class AsyncResponses(_AsyncDoor[Response, ResponseStreamEvent]):
    _api = RESPONSES
    _helper = helpers.GuardedAsyncResponseStream[object]


def _prepare(api: JudgedApi[Answer, Event], guard: ClientGuard, request: Json) -> _Call[Answer, Event]:
    request = with_lists(api.name, request)
    asked = read_request(api.name, request, guard.conversation_id, guard.chains)
    sent = without_documents(api.name, request)
    plain = {name: argument(sent, name) for name in sent}
    return _Call(api, guard, sent, asked, Sifting(plain, structured=asked.structured))


async def _in_thread(send: Callable[[], Result]) -> Result:
    """What a sync client answers, asked in a thread. A stream that nobody waits for any more is closed."""
    sending = asyncio.ensure_future(asyncio.to_thread(send))
    try:
        return await asyncio.shield(sending)
    except asyncio.CancelledError:
        sending.add_done_callback(_drop)
        raise


def _drop(sending: asyncio.Future[Result]) -> None:
    if not sending.cancelled() and sending.exception() is None and isinstance(result := sending.result(), Stream):
        result.close()
