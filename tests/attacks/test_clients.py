"""Hostile clients: each gets a clean error or a closed connection, and the proxy answers the next one."""

from __future__ import annotations

import json
import logging
import selectors
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from typing import Any

import httpx2
import pytest

from tests.pace import PATIENCE_S, until
from tests.proxy.serving import ASKED, TRUTH, Served, proxy, serving
from vista_guard import Guard
from vista_guard.proxy.app import build_app
from vista_guard.proxy.server import close_on_unread
from vista_guard.proxy.settings import ProxySettings
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedChatServer, ScriptedJudge, WordEmbedder

PLACES = 3
LOCAL = b"127.0.0.1"


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    """A proxy with few places."""
    limits: dict[str, Any] = {"streams_per_client": PLACES, "body_timeout_s": PATIENCE_S, "max_body_bytes": 200_000}
    with ScriptedChatServer(lambda _: TRUTH) as upstream, proxy(upstream, **limits) as running:
        yield running


@pytest.fixture(autouse=True)
def still_there(served: Served, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """After each attack: no traceback, every place is free, and the guard answers."""
    with caplog.at_level(logging.WARNING):
        yield
    assert [record.getMessage() for record in caplog.records if record.exc_info] == []
    assert httpx2.get(f"{served.url}/healthz", timeout=PATIENCE_S).status_code == 200
    until(lambda: asked(served) != 429)
    assert asked(served) == 200


def asked(served: Served) -> int:
    """The status of a good request."""
    return served.post("/v1/chat/completions", {"model": "any", "messages": ASKED}).status_code


def request(body: bytes, *headers: bytes, path: bytes = b"/v1/chat/completions", length: int | None = None) -> bytes:
    """The bytes of a request."""
    fields = [b"content-type: application/json", *headers]
    if not any(field.lower().startswith(b"host:") for field in headers):
        fields.append(b"host: " + LOCAL)
    if not any(field.lower().startswith(b"transfer-encoding") for field in headers):
        fields.append(b"content-length: %d" % (len(body) if length is None else length))
    return b"\r\n".join([b"POST %s HTTP/1.1" % path, *fields, b"connection: close", b"", body])


def answer(served: Served, sent: bytes) -> tuple[int, dict[str, object]]:
    """Status and body of what comes back; 0 when the connection was closed without a word."""
    url = httpx2.URL(served.url)
    with socket.create_connection((url.host, url.port or 80), timeout=PATIENCE_S) as connection:
        received = b""
        try:
            connection.sendall(sent)
            while chunk := connection.recv(65_536):
                received += chunk
        except ConnectionError:
            pass
    if not received:
        return 0, {}
    head, _, body = received.partition(b"\r\n\r\n")
    found = json.loads(body) if b"json" in head.lower() else {}
    return int(head.split()[1]), found


def chat(**changes: object) -> bytes:
    return json.dumps({"model": "any", "messages": ASKED, **changes}).encode()


DEEP = b"[" * 90_000
BODIES = {
    "empty": b"",
    "words": b"not json",
    "half": chat()[:-5],
    "list": b"[1, 2]",
    "number": b"7",
    "string": b'"messages"',
    "null": b"null",
    "nan": b'{"model": "any", "messages": [], "temperature": NaN}',
    "infinity": b'{"model": "any", "messages": [], "temperature": -Infinity}',
    "huge number": b'{"model": "any", "messages": [], "temperature": ' + b"9" * 5000 + b"}",
    "deep lists": b'{"model": "any", "messages": ' + DEEP,
    "deep objects": b'{"a":' * 30_000,
    "deep and closed": b'{"model": "any", "messages": ' + b"[" * 90_000 + b"]" * 90_000 + b"}",
    "invalid utf-8": b'{"model": "any", "messages": [{"role": "user", "content": "\xff\xfe"}]}',
    "utf-16": chat().decode().encode("utf-16"),
    "half a pair": b'{"model": "any", "messages": [{"role": "user", "content": "\\ud800"}]}',
    "nul": b'\x00{"model": "any"}',
    "no messages": b'{"model": "any"}',
    "messages a number": chat(messages=5),
    "messages a text": chat(messages="hello"),
    "messages of numbers": chat(messages=[1, 2]),
    "role a list": chat(messages=[{"role": [], "content": "hello"}]),
    "content a number": chat(messages=[{"role": "user", "content": 5}]),
    "parts of numbers": chat(messages=[{"role": "user", "content": [5]}]),
    "documents a number": chat(documents=5),
    "documents of numbers": chat(documents=[5]),
    "form": b"model=any&messages=hello",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_a_bad_body_is_refused(served: Served, body: bytes) -> None:
    status, told = answer(served, request(body))
    assert 400 <= status < 500
    error = told["error"]
    assert isinstance(error, dict)
    assert {"message", "type", "param", "code"} <= set(error)
    assert "Traceback" not in str(error)


NESTED = {
    "/v1/chat/completions": '{"model": "any", "messages": [{"role": "user", "content": "x"}], "metadata": %s}',
    "/v1/responses": '{"model": "any", "input": "x", "metadata": %s}',
    "/guard/check": '{"messages": [{"role": "assistant", "content": "x", "more": %s}]}',
    "/beta/litellm_basic_guardrail_api": '{"input_type": "response", "texts": [], "more": %s}',
}


@pytest.mark.parametrize("path", NESTED)
@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_deep_json_is_refused_at_every_depth(served: Served, path: str, brackets: str) -> None:
    opening = brackets[0] if brackets == "[]" else '{"a":'
    for levels in (101, 200, 500, *range(900, 1000, 7), 3000):
        body = NESTED[path] % (opening * levels + "1" + brackets[1] * levels)
        status, told = answer(served, request(body.encode(), path=path.encode()))
        assert (status, "nested more than 100 levels deep" in str(told)) == (400, True), levels


@pytest.mark.parametrize("path", [b"/v1/realtime", b"/v1/chat/completions", b"/healthz", b"/guard/check"])
def test_a_socket_is_refused(served: Served, path: bytes) -> None:
    upgrade = b"\r\n".join(
        [
            b"GET %s HTTP/1.1" % path,
            b"host: " + LOCAL,
            b"connection: Upgrade, close",
            b"upgrade: websocket",
            b"sec-websocket-version: 13",
            b"sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==",
            b"\r\n",
        ]
    )
    status, told = answer(served, upgrade)
    assert (status, "judges no WebSocket" in str(told)) == (403, True)


async def test_a_server_that_speaks_websocket_refuses_it_too() -> None:
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": "/v1/realtime", "headers": [], "query_string": b""}
    guard = Guard(ScriptedJudge({}), knowledge=MemoryKnowledge(WordEmbedder()))
    await build_app(guard, ProxySettings(upstream="http://127.0.0.1:1/v1"))(scope, receive, send)
    assert (sent[0]["type"], sent[0]["code"]) == ("websocket.close", 1008)


@pytest.mark.parametrize("value", [b"Caf\xe9", "日本".encode(), b"\xff\x80"])
def test_a_header_may_hold_any_text(served: Served, value: bytes) -> None:
    for field in (b"x-title: ", b"user-agent: ", b"cookie: ", b"accept-language: "):
        assert answer(served, request(chat(), field + value))[0] == 200


def test_a_key_that_stands_twice_reaches_upstream_once(served: Served) -> None:
    twice = chat()[:-1] + b', "messages": [{"role": "user", "content": "second"}]}'
    assert answer(served, request(twice))[0] == 200


@pytest.mark.parametrize("declared", [True, False])
def test_a_huge_body_is_refused(served: Served, declared: bool) -> None:
    body = b" " * 300_000
    if declared:
        assert answer(served, request(b"", length=300_000))[0] == 413
    else:
        sent = request(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body), b"transfer-encoding: chunked")
        assert answer(served, sent)[0] in (0, 413)


@pytest.mark.parametrize(
    "sent",
    [
        request(b"", length=100),
        request(chat()[:20], length=len(chat())),
        request(b'5\r\n{"mod\r\n', b"transfer-encoding: chunked"),
        request(b'5\r\n{"m', b"transfer-encoding: chunked"),
    ],
    ids=["nothing", "half", "chunks without end", "half a chunk"],
)
def test_a_body_that_never_ends_is_given_up(served: Served, sent: bytes) -> None:
    with ThreadPoolExecutor(1) as client:
        waiting = client.submit(answer, served, sent)
        while not wait([waiting], 0.05).done:
            served.clock.turn(PATIENCE_S)
    assert waiting.result()[0] in (0, 400, 408)


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 50 + b"\r\n\r\n",
        b"GARBAGE\r\n\r\n",
        b"POST /v1/chat/completions HTTP/9.9\r\nhost: 127.0.0.1\r\n\r\n",
        request(b"zz\r\n", b"transfer-encoding: chunked"),
        b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx-long: " + b"a" * 200_000 + b"\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: -5\r\n\r\n",
        b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: x\r\n\r\n",
    ],
    ids=["tls", "garbage", "version", "chunk size", "long header", "negative length", "no length"],
)
def test_what_is_no_request_ends_in_an_error(served: Served, sent: bytes) -> None:
    assert answer(served, sent)[0] in (0, 400, 404, 408, 413, 431, 505)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ([b"host: evil.example"], 421),
        ([b"host: evil.example:8080"], 421),
        ([b"host: localhost.evil.example"], 421),
        ([b"host: 127.0.0.1.evil.example"], 421),
        ([b"host: 10.0.0.7"], 421),
        ([b"host: "], 421),
        ([b"host: user@evil.example"], 421),
        ([b"host: 127.0.0.1@evil.example"], 421),
        ([b"host: [::1].evil.example"], 421),
        ([b"host: 127.0.0.1", b"host: evil.example"], 400),
        ([b"host: evil.example", b"host: 127.0.0.1"], 400),
        ([b"origin: http://evil.example"], 403),
        ([b"origin: null"], 403),
        ([b"origin: http://localhost.evil.example"], 403),
        ([b"origin: http://127.0.0.1", b"origin: http://evil.example"], 400),
        ([b"host: localhost:9"], 200),
        ([b"host: [::1]:9"], 200),
        ([b"host: LOCALHOST"], 200),
        ([b"origin: http://localhost:3000"], 200),
    ],
)
def test_pages_of_other_names_cannot_call(served: Served, headers: list[bytes], status: int) -> None:
    assert answer(served, request(chat(), *headers))[0] == status


def test_a_named_host_may_be_called_and_no_other(served: Served) -> None:  # another proxy beside it
    with ScriptedChatServer(lambda _: TRUTH) as upstream, proxy(upstream, allowed_hosts=["guard.example"]) as named:
        assert answer(named, request(chat(), b"host: guard.example:80"))[0] == 200
        assert answer(named, request(chat(), b"host: 127.0.0.1"))[0] == 421


@pytest.mark.parametrize("part", [0.02, 0.3, 0.6, 0.95, 1.0])
@pytest.mark.parametrize("stream", [False, True])
def test_whoever_leaves_early_frees_the_place(served: Served, part: float, stream: bool) -> None:
    sent = request(chat(stream=stream))
    url = httpx2.URL(served.url)
    for _ in range(2 * PLACES):
        with socket.create_connection((url.host, url.port or 80), timeout=PATIENCE_S) as connection:
            connection.sendall(sent[: int(len(sent) * part)])


def test_a_flood_is_refused_over_the_limit() -> None:  # another proxy, with more patience than this test
    half = request(chat()[:10], length=len(chat()))
    limits: dict[str, Any] = {"streams_per_client": PLACES, "body_timeout_s": 3600.0}
    with ScriptedChatServer(lambda _: TRUTH) as upstream, proxy(upstream, **limits) as flooded, ExitStack() as opened:
        url, refused = httpx2.URL(flooded.url), selectors.DefaultSelector()
        for _ in range(3 * PLACES):
            connection = opened.enter_context(socket.create_connection((url.host, url.port or 80), timeout=PATIENCE_S))
            connection.sendall(half)
            refused.register(connection, selectors.EVENT_READ)
        statuses = list[int]()
        while len(statuses) < 2 * PLACES:
            ready = refused.select(PATIENCE_S)
            assert ready, "nobody was refused"
            for key, _ in ready:
                statuses.append(int(key.fileobj.recv(65_536).split()[1]))  # type: ignore[union-attr]
                refused.unregister(key.fileobj)
        assert statuses == [429] * 2 * PLACES
        assert refused.select(0.1) == []


def test_slow_readers_stop_nobody(served: Served) -> None:
    url = httpx2.URL(served.url)
    slow = [socket.create_connection((url.host, url.port or 80), timeout=PATIENCE_S) for _ in range(PLACES - 1)]
    before = len(served.judge.asked)
    for connection in slow:
        connection.sendall(request(chat(stream=True)))
    until(lambda: len(served.judge.asked) >= before + len(slow))
    assert asked(served) == 200
    for connection in slow:
        assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        connection.close()


def test_whoever_never_reads_loses_the_connection() -> None:  # another proxy, with one place
    pieces, begun = iter([400]), threading.Event()

    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            begun.set()
            await send(
                {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"application/json")]}
            )
            for _ in range(next(pieces, 0)):
                await send({"type": "http.response.body", "body": b" " * 65_536, "more_body": True})
            await send({"type": "http.response.body", "body": b"{}"})

    def impatient(listening: socket.socket) -> None:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 16_384)
        close_on_unread(listening, 0.5)

    guard = Guard(ScriptedJudge({}), "strict", knowledge=MemoryKnowledge(WordEmbedder()))
    with serving(answer) as upstream:
        settings = ProxySettings(upstream=f"{upstream}/v1", streams_per_client=1)
        with serving(build_app(guard, settings), impatient) as url, socket.socket() as stuck:
            stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            stuck.connect((httpx2.URL(url).host, httpx2.URL(url).port or 80))
            stuck.sendall(b"GET /v1/models HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
            assert begun.wait(PATIENCE_S)  # it holds the only place
            until(lambda: httpx2.get(f"{url}/v1/models", timeout=PATIENCE_S).status_code == 200)
