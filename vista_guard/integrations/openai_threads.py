"""A sync client's stream, read in a thread of its own, which also closes it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import Future
from queue import SimpleQueue
from threading import Thread
from typing import Any

_END: Any = object()


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
