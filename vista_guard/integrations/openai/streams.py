"""The SDK's streams with what the guard lets through; `report_of` reads their reports when they have ended."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

from openai import AsyncStream, Stream

from vista_guard._aio.streams import Bridged
from vista_guard.integrations.openai.client_guard import ClientGuard
from vista_guard.integrations.openai.reports import mark, reports_of
from vista_guard.integrations.openai.threads import read_in_thread
from vista_guard.types import TurnReport

if TYPE_CHECKING:
    import httpx2
    from openai.types.responses import Response

Event = TypeVar("Event")

Guarding = Callable[[AsyncGenerator[Event, None]], AsyncGenerator[Event | TurnReport, None]]
"""Makes of upstream's events those that may be shown, and reports."""


class GuardedSyncStream(Stream[Event]):
    """A stream of the SDK with what the guard lets through. `report_of` reads its report when it has ended."""

    final: Response | None = None
    """The response as it was delivered, from the event that ended it."""

    def __init__(self, raw: Stream[Event], guard: ClientGuard, guarding: Guarding[Event]) -> None:
        self._raw, self._guard = raw, guard
        self.response = _ClosedTogether(raw.response, self.close)  # type: ignore[assignment]  # closes the guarded stream too
        self._items = Bridged(guarding(read_in_thread(raw)))
        self._iterator = self._guarded()

    def close(self) -> None:
        """Ends the judging and closes upstream: at once, or when the read that is under way comes back."""
        self._items.close()
        if not self._items.started:
            self._raw.close()

    def _guarded(self) -> Iterator[Event]:
        try:
            for item in self._items:
                if isinstance(item, TurnReport):
                    self._guard.tell([item])
                else:
                    _collect(self, item)
                    yield item
        except Exception:  # Not when the iterator is thrown away: that may be in any thread, and `Bridged` sees to it.
            self._items.close()
            raise


class GuardedAsyncStream(AsyncStream[Event]):
    """As `GuardedSyncStream`, for the async client."""

    final: Response | None = None

    def __init__(self, raw: AsyncStream[Event], guard: ClientGuard, guarding: Guarding[Event]) -> None:
        self._raw, self._guard = raw, guard
        self.response = _ClosedTogether(raw.response, self.close)  # type: ignore[assignment]  # closes the guarded stream too
        self._items = guarding(read_async(raw))
        self._iterator = self._shown = self._guarded()

    async def close(self) -> None:
        """Ends the judging and closes upstream."""
        try:
            await self._shown.aclose()
            await self._items.aclose()
        except RuntimeError:  # Another task is reading: it meets a closed connection.
            pass
        finally:
            await self._raw.close()

    async def aclose(self) -> None:
        """As `close`."""
        await self.close()

    async def _guarded(self) -> AsyncGenerator[Event, None]:
        try:
            async for item in self._items:
                if isinstance(item, TurnReport):
                    self._guard.tell([item])
                else:
                    _collect(self, item)
                    yield item
        finally:
            await self._items.aclose()


async def read_async(raw: AsyncStream[Event]) -> AsyncGenerator[Event, None]:
    """The items of one of the SDK's async streams, which is closed with it."""
    try:
        async for item in raw:
            yield item
    finally:
        await raw.close()


class _ClosedTogether:
    """The HTTP response, whose closing is the guarded stream's."""

    def __init__(self, response: httpx2.Response, close: Callable[[], object]) -> None:
        self._response = response
        self.close = self.aclose = close

    def __getattr__(self, name: str) -> object:
        return getattr(self._response, name)


def _collect(stream: GuardedSyncStream[Event] | GuardedAsyncStream[Event], item: Event) -> None:
    told = reports_of(item)
    if told:
        mark(stream, {**reports_of(stream), **told})
        stream.final = getattr(item, "response", None)
