"""What the SDK's helpers give (`chat.completions.stream`, `responses.stream`), with their events, over a guarded stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from openai import AsyncStream, Stream
from openai.lib.streaming.chat import AsyncChatCompletionStream, ChatCompletionStream, ChatCompletionStreamState
from openai.lib.streaming.responses import AsyncResponseStream, ResponseStream
from openai.types.responses import ParsedResponse, Response

from vista_guard.integrations.openai.answering import FILTERED
from vista_guard.integrations.openai.reports import mark, mark_unjudged, report_of, reports_of, unjudged_of

if TYPE_CHECKING:
    from openai.lib.streaming.chat import ChatCompletionStreamEvent
    from openai.types.chat import ChatCompletionChunk, ParsedChatCompletion
    from openai.types.chat.chat_completion_chunk import Choice

Format = TypeVar("Format")
Event = TypeVar("Event")
Result = TypeVar("Result")
Helper_co = TypeVar("Helper_co", covariant=True)


class GuardedChatStream(ChatCompletionStream[Format]):
    """What `chat.completions.stream(…)` gives on entry."""

    def __stream__(self) -> Iterator[ChatCompletionStreamEvent[Format]]:
        for chunk in self._raw_stream:
            yield from _chat_events(self._state, chunk)

    def close(self) -> None:
        """Ends the judging and closes upstream."""
        self._raw_stream.close()

    def get_final_completion(self) -> ParsedChatCompletion[Format]:
        """As the SDK's own; of an answer that was withheld, with the message in its place."""
        self.until_done()
        return _final_completion(self._state, self._raw_stream)


class GuardedAsyncChatStream(AsyncChatCompletionStream[Format]):
    """As `GuardedChatStream`, for the async client."""

    async def __stream__(self) -> AsyncIterator[ChatCompletionStreamEvent[Format]]:
        async for chunk in self._raw_stream:
            for event in _chat_events(self._state, chunk):
                yield event

    async def close(self) -> None:
        """Ends the judging and closes upstream."""
        await self._raw_stream.close()

    async def get_final_completion(self) -> ParsedChatCompletion[Format]:
        """As the SDK's own; of an answer that was withheld, with the message in its place."""
        await self.until_done()
        return _final_completion(self._state, self._raw_stream)


class GuardedResponseStream(ResponseStream[Format]):
    """What `responses.stream(…)` gives on entry."""

    def close(self) -> None:
        """Ends the judging and closes upstream."""
        self._raw_stream.close()

    def get_final_response(self) -> ParsedResponse[Format]:
        """As the SDK's own; of an answer that was withheld, with the message in its place."""
        self.until_done()
        return _marked(_withheld_response(self._raw_stream) or super().get_final_response(), self._raw_stream)


class GuardedAsyncResponseStream(AsyncResponseStream[Format]):
    """As `GuardedResponseStream`, for the async client."""

    async def close(self) -> None:
        """Ends the judging and closes upstream."""
        await self._raw_stream.close()

    async def get_final_response(self) -> ParsedResponse[Format]:
        """As the SDK's own; of an answer that was withheld, with the message in its place."""
        await self.until_done()
        return _marked(_withheld_response(self._raw_stream) or await super().get_final_response(), self._raw_stream)


class SyncHelper(Protocol[Event]):
    """One of the SDK's helpers, entered: it holds the raw stream that it opened."""

    _raw_stream: Stream[Event]

    def close(self) -> None: ...


class AsyncHelper(Protocol[Event]):
    """As `SyncHelper`, for the async client."""

    _raw_stream: AsyncStream[Event]

    async def close(self) -> None: ...


class Enters(Protocol[Helper_co]):
    """The SDK's own context manager of a helper."""

    def __enter__(self) -> Helper_co: ...


class AsyncEnters(Protocol[Helper_co]):
    """As `Enters`, for the async client."""

    async def __aenter__(self) -> Helper_co: ...


class Manager(Generic[Event]):
    """The helper's context manager: enters the SDK's own, and puts the guard over the raw stream that it opened."""

    def __init__(self, inner: Enters[SyncHelper[Event]], guarded: Callable[[Stream[Event]], SyncHelper[Event]]) -> None:
        self._inner, self._guarded = inner, guarded

    def __enter__(self) -> SyncHelper[Event]:
        self._stream = self._guarded(self._inner.__enter__()._raw_stream)
        return self._stream

    def __exit__(self, *exc: object) -> None:
        self._stream.close()


class AsyncManager(Generic[Event]):
    """As `Manager`, for the async client."""

    def __init__(
        self, inner: AsyncEnters[AsyncHelper[Event]], guarded: Callable[[AsyncStream[Event]], AsyncHelper[Event]]
    ) -> None:
        self._inner, self._guarded = inner, guarded

    async def __aenter__(self) -> AsyncHelper[Event]:
        self._stream = self._guarded((await self._inner.__aenter__())._raw_stream)
        return self._stream

    async def __aexit__(self, *exc: object) -> None:
        await self._stream.close()


def _chat_events(
    state: ChatCompletionStreamState[Format], chunk: ChatCompletionChunk
) -> Iterable[ChatCompletionStreamEvent[Format]]:
    """The SDK's events for a chunk. Of an answer that the guard withheld the SDK is told that it stopped:

    a content filter makes it raise, and the message in place of the answer would be lost.
    """
    if chunk.object != "chat.completion.chunk":
        return
    choices = [
        choice.model_copy(update={"finish_reason": "stop"}) if _is_withheld(chunk, choice) else choice
        for choice in chunk.choices
    ]
    for event in state.handle_chunk(chunk.model_copy(update={"choices": choices})):
        if event.type == "chunk":
            event.chunk = chunk
        yield event


def _final_completion(
    state: ChatCompletionStreamState[Format], raw: Stream[ChatCompletionChunk] | AsyncStream[ChatCompletionChunk]
) -> ParsedChatCompletion[Format]:
    completion = state.get_final_completion()
    for choice in completion.choices:
        report = report_of(raw, choice.index)
        if report is not None and report.blocked and choice.finish_reason == "stop":
            choice.finish_reason = FILTERED
    return _marked(completion, raw)


def _is_withheld(chunk: ChatCompletionChunk, choice: Choice) -> bool:
    report = report_of(chunk, choice.index)
    return report is not None and report.blocked and choice.finish_reason == FILTERED


def _withheld_response(raw: object) -> ParsedResponse[Any] | None:
    final: Response | None = getattr(raw, "final", None)
    if final is None or not any(report.blocked for report in reports_of(raw).values()):
        return None
    told: dict[str, Any] = final.to_dict()
    return ParsedResponse[Any].construct(**told)


def _marked(result: Result, raw: object) -> Result:
    mark(result, reports_of(raw))
    mark_unjudged(result, unjudged_of(raw))
    return result
