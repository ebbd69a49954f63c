"""An answer of upstream's as it is read here: inflated in small pieces, and never more of it than is allowed."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing

import httpx2

ACCEPTED = "gzip, deflate"
"""What upstream is asked for. Others inflate a chunk at once, however large it gets."""

_PIECE = 65_536
_WINDOWS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": 32 + zlib.MAX_WBITS}


class TooLargeError(httpx2.ReadError):
    """The answer is larger than is allowed, as it was sent or inflated."""


class EncodingError(httpx2.ReadError):
    """The answer is compressed in a way that was not asked for."""


class Inflated(httpx2.AsyncByteStream):
    """The body of an answer. Closing it closes the answer.

    Args:
        response: as upstream sent it.
        most: bytes of it, as sent and inflated; any number when None.
        idle_seconds: longest silence; None leaves it to the connection.
    """

    def __init__(self, response: httpx2.Response, *, most: int | None, idle_seconds: float | None) -> None:
        self._response = response
        self._most = most
        self._idle_seconds = idle_seconds
        self._size = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        inflate = _inflating(self._response.headers.get("content-encoding", ""))
        sent = 0
        async with aclosing(self._response.aiter_raw()) as received:
            while (chunk := await self._next(received)) is not None:
                sent += len(chunk)
                self._check(sent)
                for piece in inflate(chunk):
                    self._size += len(piece)
                    self._check(self._size)
                    yield piece
                    await asyncio.sleep(0)  # a bomb is inflated in many pieces, and others have to get between them

    async def aclose(self) -> None:
        """Closes the answer."""
        await self._response.aclose()

    async def _next(self, received: AsyncIterator[bytes]) -> bytes | None:
        try:
            async with asyncio.timeout(self._idle_seconds):
                return await anext(received, None)
        except TimeoutError:
            raise httpx2.ReadTimeout("upstream fell silent", request=self._response.request) from None

    def _check(self, size: int) -> None:
        if self._most is not None and size > self._most:
            raise TooLargeError(f"upstream's answer has more than {self._most:,} bytes")


def inflated(response: httpx2.Response, *, most: int | None, idle_seconds: float | None) -> httpx2.Response:
    """The same answer with a body that is read within bounds, and without the headers that told of its compression."""
    kept = [
        (name, value)
        for name, value in response.headers.multi_items()
        if name.lower() not in ("content-encoding", "content-length")
    ]
    body = Inflated(response, most=most, idle_seconds=idle_seconds)
    return httpx2.Response(response.status_code, headers=kept, stream=body, request=response.request)


def _inflating(encoding: str) -> Callable[[bytes], Iterator[bytes]]:
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return lambda chunk: iter((chunk,))
    if name not in _WINDOWS:
        raise EncodingError(f"upstream's answer is compressed as {name[:40]!r}, which was not asked for")
    decompress = zlib.decompressobj(_WINDOWS[name])

    def inflate(chunk: bytes) -> Iterator[bytes]:
        try:
            while chunk:
                yield decompress.decompress(chunk, _PIECE)
                chunk = decompress.unconsumed_tail
        except zlib.error as exc:
            raise httpx2.DecodingError(f"upstream's answer cannot be inflated: {exc}") from None

    return inflate
