"""The SDK's stream objects over a guarded stream: plain ones, and those of the helpers with their events."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Iterator
from typing import Any

from openai import AsyncStream, Stream
from openai.lib.streaming.chat import AsyncChatCompletionStream, ChatCompletionStream, ChatCompletionStreamState
from openai.lib.streaming.responses import AsyncResponseStream, ResponseStream
from openai.types.responses import ParsedResponse

from vista_guard._aio.pumps import Bridged
from vista_guard.integrations.openai.chat import FILTERED
from vista_guard.integrations.openai.surface import Surface, mark, report_of, reports_of
from vista_guard.integrations.openai.threads import read_in_thread
from vista_guard.types import TurnReport

Guarding = Callable[[AsyncGenerator[Any, None]], AsyncGenerator[Any, None]]
"""Makes of upstream's events those that may be shown, and reports."""


class GuardedStream(Stream[Any]):
    """A stream of the SDK with what the guard lets through. `report_of` reads its report when it has ended."""

    def __init__(self, raw: Stream[Any], surface: Surface, guarding: Guarding) -> None:
        self._raw, self._surface = raw, surface
        self.response = _Response(raw.response, self.close)  # type: ignore[assignment]  # closes the guarded stream too
        self._items: Bridged[Any] = Bridged(guarding(read_in_thread(raw)))
        self._iterator = self._guarded()

    def close(self) -> None:
        """Ends the judging and closes upstream: at once, or when the read that is under way comes back."""
        self._items.close()
        if not self._items.started:
            self._raw.close()

    def _guarded(self) -> Iterator[Any]:
        try:
            for item in self._items:
                if isinstance(item, TurnReport):
                    self._surface.tell([item])
                else:
                    _collect(self, item)
                    yield item
        except Exception:  # Not when the iterator is thrown away: that may be in any thread, and `Bridged` sees to it.
            self._items.close()
            raise


class GuardedAsyncStream(AsyncStream[Any]):
    """As `GuardedStream`, for the async client."""

    def __init__(self, raw: AsyncStream[Any], surface: Surface, guarding: Guarding) -> None:
        self._raw, self._surface = raw, surface
        self.response = _Response(raw.response, self.close)  # type: ignore[assignment]  # closes the guarded stream too
        self._items = guarding(read_async(raw))
        self._iterator = self._guarded()

    async def close(self) -> None:
        """Ends the judging and closes upstream."""
        try:
            await self._iterator.aclose()  # type: ignore[attr-defined]  # an async generator
            await self._items.aclose()
        except RuntimeError:  # Another task is reading: it meets a closed connection.
            pass
        finally:
            await self._raw.close()

    async def aclose(self) -> None:
        """As `close`."""
        await self.close()

    async def _guarded(self) -> AsyncGenerator[Any, None]:
        try:
            async for item in self._items:
                if isinstance(item, TurnReport):
                    self._surface.tell([item])
                else:
                    _collect(self, item)
                    yield item
        finally:
            await self._items.aclose()


class GuardedChatStream(ChatCompletionStream[Any]):
    """What `chat.completions.stream(…)` gives on entry."""

    def __stream__(self) -> Iterator[Any]:
        for chunk in self._raw_stream:
            yield from _chat_events(self._state, chunk)

    def close(self) -> None:
        """Ends the judging and closes upstream."""
        self._raw_stream.close()

    def get_final_completion(self) -> Any:
        """As the SDK's own; of an answer that was withheld, with the message in its place."""
        self.until_done()
        return _final_completion(self._state, self._raw_stream)


class GuardedAsyncChatStream(AsyncChatCompletionStream[Any]):
    """As `GuardedChatStream`, for the async client."""

    async def __stream__(self) -> AsyncIterator[Any]:
        async for chunk in self._raw_stream:
            for event in _chat_events(self._state, chunk):
                yield event

    async def close(self) -> None:
        """Ends the judging and closes upstream."""
        await self._raw_stream.close()

    async def get_final_completion(self) -> Any:
        """As the SDK's own; of an answer that was withheld, with the message in its place."""
        await self.until_done()
        return _final_completion(self._state, self._raw_stream)


class GuardedResponseStream(ResponseStream[Any]):
    """What `responses.stream(…)` gives on entry."""

    def close(self) -> None:
        """Ends the judging and closes upstream."""
        self._raw_stream.close()

    def get_final_response(self) -> Any:
        """As the SDK's own; of an answer that was withheld, with the message in its place."""
        self.until_done()
        return _marked(_withheld_response(self._raw_stream) or super().get_final_response(), self._raw_stream)


class GuardedAsyncResponseStream(AsyncResponseStream[Any]):
    """As `GuardedResponseStream`, for the async client."""

    async def close(self) -> None:
        """Ends the judging and closes upstream."""
        await self._raw_stream.close()

    async def get_final_response(self) -> Any:
        """As the SDK's own; of an answer that was withheld, with the message in its place."""
        await self.until_done()
        return _marked(_withheld_response(self._raw_stream) or await super().get_final_response(), self._raw_stream)


class Manager:
    """The helper's context manager: enters the SDK's own, and puts the guard over the raw stream that it opened."""

    def __init__(self, inner: Any, over: Callable[[Any], Any]) -> None:
        self._inner, self._over = inner, over

    def __enter__(self) -> Any:
        self._stream = self._over(self._inner.__enter__()._raw_stream)
        return self._stream

    def __exit__(self, *exc: object) -> None:
        self._stream.close()


class AsyncManager:
    """As `Manager`, for the async client."""

    def __init__(self, inner: Any, over: Callable[[Any], Any]) -> None:
        self._inner, self._over = inner, over

    async def __aenter__(self) -> Any:
        self._stream = await self._over((await self._inner.__aenter__())._raw_stream)
        return self._stream

    async def __aexit__(self, *exc: object) -> None:
        await self._stream.close()


class _Response:
    """The HTTP response, whose closing is the guarded stream's."""

    def __init__(self, response: Any, close: Callable[[], Any]) -> None:
        self._response = response
        self.close = self.aclose = close

    def __getattr__(self, name: str) -> Any:
        return getattr(self._response, name)


async def read_async(raw: AsyncStream[Any]) -> AsyncGenerator[Any, None]:
    """The items of one of the SDK's async streams, which is closed with it."""
    try:
        async for item in raw:
            yield item
    finally:
        await raw.close()


def _collect(stream: Any, item: Any) -> None:
    told = reports_of(item)
    if told:
        mark(stream, {**reports_of(stream), **told})
        stream.final = getattr(item, "response", None)


def _chat_events(state: ChatCompletionStreamState[Any], chunk: Any) -> Iterable[Any]:
    """The SDK's events for a chunk. Of an answer that the guard withheld the SDK is told that it stopped:

    a content filter makes it raise, and the message in place of the answer would be lost.
    """
    if chunk.object != "chat.completion.chunk":
        return
    choices = [
        choice.model_copy(update={"finish_reason": "stop"}) if _withheld(chunk, choice) else choice
        for choice in chunk.choices
    ]
    for event in state.handle_chunk(chunk.model_copy(update={"choices": choices})):
        if event.type == "chunk":
            event.chunk = chunk
        yield event


def _final_completion(state: ChatCompletionStreamState[Any], raw: Any) -> Any:
    completion = state.get_final_completion()
    for choice in completion.choices:
        report = report_of(raw, choice.index)
        if report is not None and report.blocked and choice.finish_reason == "stop":
            choice.finish_reason = FILTERED
    return _marked(completion, raw)


def _withheld(chunk: Any, choice: Any) -> bool:
    report = report_of(chunk, choice.index)
    return report is not None and report.blocked and choice.finish_reason == FILTERED


def _withheld_response(raw: Any) -> Any:
    if not any(report.blocked for report in reports_of(raw).values()):
        return None
    return ParsedResponse[Any].construct(**raw.final.to_dict())


def _marked(result: Any, raw: Any) -> Any:
    mark(result, reports_of(raw))
    return result
