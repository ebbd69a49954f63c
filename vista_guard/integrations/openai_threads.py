"""A sync client's stream between two threads: read in one of its own, judged on the background loop, given to the caller's."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any, Generic, TypeVar

from vista_guard import _bridge

T = TypeVar("T")

_END: Any = object()
_AHEAD = 32
"""Events that may wait for the caller before judging waits too."""


async def read_in_thread(raw: Any) -> AsyncGenerator[Any, None]:
    """The items of one of the SDK's sync streams, each read when it is asked for.

    The thread also closes the stream, so that nobody takes a connection from under its hands. A read that is under way is
    ended by ending the connection; over HTTP/2, which others share, it comes back with what upstream sends next.
    """
    wanted: SimpleQueue[Future[Any] | None] = SimpleQueue()
    Thread(target=_reader, args=(raw, wanted), name="vista-guard-upstream", daemon=True).start()
    answer: Future[Any] = Future()
    try:
        while True:
            answer = Future()
            wanted.put(answer)
            item = await asyncio.wrap_future(answer)
            if item is _END:
                return
            yield item
    finally:
        wanted.put(None)
        if not answer.done() or answer.cancelled():
            _end_connection(raw.response)


def _end_connection(response: Any) -> None:
    stream = response.extensions.get("network_stream")
    connection = None if stream is None else stream.get_extra_info("socket")
    if connection is not None and not response.is_closed and response.http_version.startswith("HTTP/1"):
        with contextlib.suppress(OSError):  # The other side may have been faster.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)


def _reader(raw: Any, wanted: SimpleQueue[Future[Any] | None]) -> None:
    items: Iterator[Any] = iter(raw)
    while (answer := wanted.get()) is not None:
        if not answer.set_running_or_notify_cancel():
            continue
        try:
            item = next(items, _END)
        except BaseException as exc:  # Handed on as it is: it is raised where the caller reads the stream.
            answer.set_exception(exc)
        else:
            answer.set_result(item)
    raw.close()


class Bridged(Generic[T]):
    """Iterates over an async generator that runs, as one task, on the background loop. Starts with the first item."""

    def __init__(self, items: AsyncGenerator[T, None]) -> None:
        self._items = items
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended = False

    def __iter__(self) -> Bridged[T]:
        return self

    def __next__(self) -> T:
        if self._ended:
            raise StopIteration
        if self._task is None:
            _bridge.run(self._start())
        item, error = _bridge.run(self._ready.get())
        if error is not None:
            self._ended = True
            raise error
        if item is _END:
            self._ended = True
            raise StopIteration
        value: T = item
        return value

    @property
    def started(self) -> bool:
        """Whether anything was asked for yet."""
        return self._task is not None

    def close(self) -> None:
        """Ends the judging, and with it the reading."""
        self._ended = True
        if self._task is not None:
            _bridge.run(self._stop())

    def __del__(self) -> None:
        # May run in any thread, the loop's own included: the task is told, not waited for.
        if self._task is not None and self._loop is not None and not self._task.done():
            self._loop.call_soon_threadsafe(self._task.cancel)

    async def _start(self) -> None:
        self._ready: asyncio.Queue[tuple[Any, BaseException | None]] = asyncio.Queue(_AHEAD)
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(_pump(self._items, self._ready))

    async def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task


async def _pump(items: AsyncGenerator[T, None], ready: asyncio.Queue[tuple[Any, BaseException | None]]) -> None:
    try:
        async for item in items:
            await ready.put((item, None))
    except Exception as exc:  # Raised again where the caller reads the stream.
        await ready.put((_END, exc))
    else:
        await ready.put((_END, None))
    finally:
        await items.aclose()
