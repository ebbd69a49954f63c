"""The guarded endpoint: one pool of connections, no redirects, no cookies of its own, nothing secret in an error."""

from __future__ import annotations

import asyncio
import logging
import re
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import aclosing
from http.cookiejar import CookieJar, DefaultCookiePolicy
from urllib.parse import urlsplit

import anyio
import httpx2

from vista_guard.openai_api.wire import MAX_EVENT_LINES, Json, Problem, TooManyEventsError, is_stream, line_ends
from vista_guard.proxy import metrics
from vista_guard.proxy.settings import ProxySettings
from vista_guard.proxy.shared_account import SENT_HEADERS, share_account
from vista_guard.telemetry.propagation import trace_headers, without_trace_headers

ACCEPTED = "gzip, deflate"
"""Encodings accepted from upstream. Others inflate a chunk at once, however large it gets."""

_PIECE = 65_536
_WINDOWS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": 32 + zlib.MAX_WBITS}


class TooLargeError(httpx2.ReadError):
    """The answer is larger than is allowed, as it was sent or inflated."""


class Inflated(httpx2.AsyncByteStream):
    """The body of an answer: at most `most` bytes, as sent and inflated, no silence over `idle_seconds`, and with
    `most_events` no more lines than so many events take.

    Closing it closes the answer. Problem: it is compressed in a way that was not asked for.
    """

    def __init__(
        self, response: httpx2.Response, *, most: int | None, idle_seconds: float | None, most_events: int | None = None
    ) -> None:
        self._response = response
        self._inflate = _inflater(response.headers.get("content-encoding", ""))
        self._most = most
        self._idle_seconds = idle_seconds
        self._most_events = most_events
        self._size = self._lines = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        sent = 0
        async with aclosing(self._response.aiter_raw()) as received:
            while (chunk := await self._next(received)) is not None:
                sent += len(chunk)
                self._check(sent)
                for piece in self._inflate(chunk):
                    self._size += len(piece)
                    self._check(self._size)
                    self._count_lines(piece)
                    yield piece
                    await asyncio.sleep(0)  # a bomb is inflated in many pieces, and others have to get between them

    async def aclose(self) -> None:
        await self._response.aclose()

    async def _next(self, received: AsyncIterator[bytes]) -> bytes | None:
        try:
            async with asyncio.timeout(self._idle_seconds):
                return await anext(received, None)
        except TimeoutError:
            raise httpx2.ReadTimeout("upstream timed out", request=self._response.request) from None

    def _check(self, size: int) -> None:
        if self._most is not None and size > self._most:
            raise TooLargeError(f"upstream's answer has more than {self._most:,} bytes")

    def _count_lines(self, piece: bytes) -> None:
        if self._most_events is not None:
            self._lines += line_ends(piece)
            if self._lines > self._most_events * MAX_EVENT_LINES:
                raise TooLargeError(str(TooManyEventsError(self._most_events)))


def inflated(
    response: httpx2.Response, *, most: int | None, idle_seconds: float | None, most_events: int | None = None
) -> httpx2.Response:
    """The same answer with a body that is read within bounds, and without the headers that told of its compression."""
    dropped = (b"content-encoding", b"content-length")
    headers = [(name, value) for name, value in response.headers.raw if name.lower() not in dropped]
    body = Inflated(response, most=most, idle_seconds=idle_seconds, most_events=most_events)
    return httpx2.Response(response.status_code, headers=headers, stream=body, request=response.request)


def _inflater(encoding: str) -> Callable[[bytes], Iterator[bytes]]:
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return lambda chunk: iter((chunk,))
    if name not in _WINDOWS:
        message = f"upstream's answer is compressed as {name[:40]!r}, which was not asked for"
        raise Problem(502, "upstream_unreadable", message)
    decompress = zlib.decompressobj(_WINDOWS[name])

    def inflate(chunk: bytes) -> Iterator[bytes]:
        try:
            while chunk:
                yield decompress.decompress(chunk, _PIECE)
                chunk = decompress.unconsumed_tail
        except zlib.error as exc:
            raise httpx2.DecodingError(f"upstream's answer cannot be inflated: {exc}") from None

    return inflate


logger = logging.getLogger("vista_guard.proxy")

HOP_BY_HOP = frozenset(
    {
        "connection",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
OUR_PREFIX = "x-vista-guard-"
"""Headers with it are the proxy's own: upstream neither sees nor sets them."""

_NOT_SENT = HOP_BY_HOP | {"host", "content-length", "accept-encoding", "expect"}
# Bodies leave decoded; `alt-svc` would send the client around the proxy; the server writes its own date and name.
_NOT_RETURNED = HOP_BY_HOP | {"content-length", "content-encoding", "alt-svc", "date", "server"}
_KEYS = frozenset({"authorization", "api-key", "x-api-key"})
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_CLOSING_SECONDS = 5.0
_KEPT_SECONDS = 3.0
"""Model servers on uvicorn close a connection that was idle for 5 s. A request that is just being sent would be lost with it."""

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})
"""Methods whose body means something. A body of others is not sent on: servers disagree about where such a request ends."""

Headers = list[tuple[str, str]]
"""Their bytes are read and written as Latin-1, so that every byte comes back as it was."""

Ask = Callable[[Json], Awaitable[httpx2.Response]]
"""Sends a body to upstream; the answer's body is unread."""


class Upstream:
    """Asks the guarded endpoint. Belongs to one event loop; `aclose` at its end."""

    def __init__(self, settings: ProxySettings) -> None:
        self._settings = settings
        self._base = base_url(settings.upstream)
        self._client = httpx2.AsyncClient(
            follow_redirects=False,
            # One pool serves everybody: a cookie that one caller was given must not go out with another's request.
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=200, keepalive_expiry=_KEPT_SECONDS),
            timeout=httpx2.Timeout(settings.request_timeout_s, connect=settings.connect_timeout_s),
        )

    async def ask(
        self, method: str, path: str, query: str, headers: Iterable[tuple[str, str]], body: bytes
    ) -> httpx2.Response:
        """The answer with its body unread; close it with `close_answer`. `path` is below the base URL, and quoted.

        Problem: upstream cannot be reached, is too slow, or redirects.
        """
        url = f"{self._base}/{path}" + (f"?{query}" if query else "")
        try:
            content = body if method in _WITH_BODY and body else None
            request = self._client.build_request(
                method, url, headers=raw(self._outgoing_headers(headers)), content=content
            )
            response = await self._client.send(request, stream=True)
        except (httpx2.HTTPError, httpx2.InvalidURL) as exc:
            raise problem_of(exc, self._settings) from None  # the cause carries the request, and with it the key
        # Downloads such as files are passed on unread; answers are read, so their size is limited.
        max_bytes = None if method == "GET" else self._settings.max_answer_bytes
        streamed = is_stream(response.headers)
        idle_seconds = self._settings.stream_idle_timeout_s if streamed else None
        most_events = self._settings.max_stream_events if streamed and method != "GET" else None
        try:
            _check_head(response)
            if response.status_code == 401 and self._settings.upstream_key:
                raise self._key_problem()
            return inflated(response, most=max_bytes, idle_seconds=idle_seconds, most_events=most_events)
        except Problem:
            await close_answer(response)
            raise

    async def aclose(self) -> None:
        await self._client.aclose()

    def _key_problem(self) -> Problem:
        """The caller's own key is right, and upstream's words are about the operator's."""
        metrics.count_upstream_error("status")
        logger.error("upstream %s refuses proxy.upstream_key (status 401)", self._settings.upstream_address)
        return Problem(
            502, "upstream_key_refused", "upstream refuses the guard's key (upstream_key); tell its operator"
        )

    def _outgoing_headers(self, headers: Iterable[tuple[str, str]]) -> Headers:
        key = self._settings.upstream_key
        dropped = _NOT_SENT | {self._settings.conversation_header} | (_KEYS if key else frozenset())
        passed = headers_passed_on(headers, dropped)
        if share_account(self._settings):
            passed = [(name, value) for name, value in passed if name in SENT_HEADERS]
        outgoing = [*passed, ("accept-encoding", ACCEPTED)]
        # The caller's trace goes on, or the one that began here: what it sent itself names a span that is not upstream's parent.
        outgoing = [*without_trace_headers(outgoing), *trace_headers()]
        return [*outgoing, ("authorization", f"Bearer {key.get_secret_value()}")] if key else outgoing


def _check_head(response: httpx2.Response) -> None:
    if any(map(_CONTROL.search, (part for header in response.headers.raw for part in header))):
        raise Problem(502, "upstream_unreadable", "upstream's answer has control characters in its headers")
    if not 200 <= response.status_code < 600:
        raise Problem(502, "upstream_unreadable", f"upstream answered with status {response.status_code}")
    if response.has_redirect_location:
        raise Problem(502, "upstream_redirect", "upstream redirects to another address, which is not followed")


def base_url(upstream: str) -> str:
    """URL that routes start from. A bare host gets `/v1`."""
    url = upstream.rstrip("/")
    return url if urlsplit(url).path else f"{url}/v1"


def returned_headers(response: httpx2.Response) -> Headers:
    items = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in response.headers.raw]
    return headers_passed_on(items, _NOT_RETURNED)


def raw(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


def headers_passed_on(headers: Iterable[tuple[str, str]], dropped: frozenset[str]) -> Headers:
    """The headers without `dropped`, the proxy's own, and those that `Connection` names."""
    items = [(name.lower(), value) for name, value in headers]
    hop_by_hop = {part.strip().lower() for name, value in items if name == "connection" for part in value.split(",")}
    dropped |= hop_by_hop
    return [(name, value) for name, value in items if name not in dropped and not name.startswith(OUR_PREFIX)]


def problem_of(exc: Exception, settings: ProxySettings, *, inside_stream: bool = False) -> Problem:
    """The error for the caller of a failed call; the log gets upstream's address and the kind of failure, no path, no key."""
    if isinstance(exc, httpx2.TimeoutException):
        return timeout_problem(settings)
    logger.warning("upstream %s failed: %s", settings.upstream_address, type(exc).__name__)
    if isinstance(exc, httpx2.ConnectError | httpx2.InvalidURL | httpx2.UnsupportedProtocol):
        metrics.count_upstream_error("connect")
        hint = "; is it running, and is --upstream right?" if settings.names_upstream else ""
        return Problem(502, "upstream_unreachable", f"{settings.upstream_name} cannot be reached{hint}")
    metrics.count_upstream_error("stream" if inside_stream else "connect")
    if isinstance(exc, TooLargeError):
        return Problem(502, "upstream_unreadable", str(exc))
    return Problem(502, "upstream_broken", "upstream closed the stream early")


def timeout_problem(settings: ProxySettings, what: str = "did not answer in time") -> Problem:
    """The error for the caller of a slow upstream; the log gets its address."""
    metrics.count_upstream_error("timeout")
    logger.warning("upstream %s %s", settings.upstream_address, what)
    return Problem(504, "upstream_timeout", f"{settings.upstream_name} {what}")


async def close_answer(response: httpx2.Response) -> None:
    """Closes an answer, also in a task that is being cancelled: the endpoint must learn that nobody listens."""
    with anyio.move_on_after(_CLOSING_SECONDS, shield=True):
        await response.aclose()


async def open_answer(ask: Ask, sent: Json, settings: ProxySettings) -> httpx2.Response:
    """The beginning of an answer. Problem: upstream does not answer in time, or with an error."""
    try:
        async with asyncio.timeout(settings.request_timeout_s):
            response = await ask(sent)
    except TimeoutError:
        raise timeout_problem(settings) from None
    if not response.is_success:
        metrics.count_upstream_error("status")
        await close_answer(response)
        raise Problem(502, "upstream_status", f"upstream answered with status {response.status_code}")
    return response
