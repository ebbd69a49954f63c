"""A sync client's stream, read in a thread of its own, which also closes it."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import AsyncGenerator
from contextvars import copy_context
from typing import TYPE_CHECKING, TypeVar

from vista_guard._aio.streams import in_thread

if TYPE_CHECKING:
    import httpx2
    from openai import Stream

Event = TypeVar("Event")


def read_in_thread(raw: Stream[Event]) -> AsyncGenerator[Event, None]:
    """The items of one of the SDK's sync streams, each read when it is asked for.

    The thread also closes the stream, so that nobody takes a connection from under its hands. A read that is under way is
    ended by ending the connection; over HTTP/2, which others share, it comes back with what upstream sends next.
    """
    return in_thread(
        lambda: iter(raw), copy_context(), close=raw.close, interrupt=lambda: _end_connection(raw.response)
    )


def _end_connection(response: httpx2.Response) -> None:
    stream = response.extensions.get("network_stream")
    connection = None if stream is None else stream.get_extra_info("socket")
    if connection is not None and not response.is_closed and response.http_version.startswith("HTTP/1"):
        with contextlib.suppress(OSError):  # The other side may have been faster.
            socket.socket.shutdown(connection, socket.SHUT_RDWR)
