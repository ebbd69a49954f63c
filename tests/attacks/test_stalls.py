"""One hostile answer stalls nobody: the guard answers others while it comes, and stops at the limit."""

from __future__ import annotations

import asyncio
import gzip
import json
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import httpx2
import pytest

from tests.proxy.serving import ASKED, LIE, TRUTH, proxy
from vista_guard.stream.cuts import Sentences

INFLATED = 300_000_000


def bomb(wbits: int) -> bytes:
    """300 MB of spaces inside a good answer, in some hundred kilobytes."""
    message = {"choices": [{"index": 0, "message": {"role": "assistant", "content": TRUTH}}]}
    before, after = json.dumps(message).encode()[:-1] + b', "x": "', b'"}'
    deflate = zlib.compressobj(9, wbits=wbits)
    pieces = [deflate.compress(before), *(deflate.compress(b" " * 1_000_000) for _ in range(INFLATED // 1_000_000))]
    return b"".join([*pieces, deflate.compress(after), deflate.flush()])


@asynccontextmanager
async def answering(body: bytes, *headers: str) -> AsyncIterator[str]:
    """The base URL of an endpoint that answers everything with this."""
    head = "\r\n".join(["HTTP/1.1 200 OK", *headers, f"content-length: {len(body)}", "connection: close", "", ""])

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head.encode() + body)
        with suppress(ConnectionError):
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def attacked(body: bytes, *headers: str, stream: bool = False, **settings: Any) -> tuple[int, str, list[float]]:
    """Status and body of what the caller gets, and how long the guard took for its sign of life meanwhile."""
    loop = asyncio.get_running_loop()
    waits: list[float] = []
    async with answering(body, *headers) as upstream:
        with proxy(upstream, **settings) as served:
            async with httpx2.AsyncClient(timeout=120) as client:
                sent = {"model": "any", "messages": ASKED, "stream": stream}
                asking = asyncio.create_task(client.post(f"{served.url}/v1/chat/completions", json=sent))
                while not asking.done():
                    asked = loop.time()
                    assert (await client.get(f"{served.url}/healthz")).status_code == 200
                    waits.append(loop.time() - asked)
                    await asyncio.sleep(0.01)
                response = await asking
    return response.status_code, response.text, waits


@pytest.mark.parametrize(("encoding", "wbits"), [("gzip", 31), ("deflate", 15)])
async def test_a_bomb_is_read_up_to_the_limit(encoding: str, wbits: int) -> None:
    body = bomb(wbits)
    assert len(body) < 500_000
    status, text, waits = await attacked(body, "content-type: application/json", f"content-encoding: {encoding}")
    assert (status, json.loads(text)["error"]["code"]) == (502, "upstream_unreadable")
    assert "more than 16,000,000 bytes" in text
    assert max(waits) < 5


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "compress"])
async def test_what_was_not_asked_for_is_not_inflated(encoding: str) -> None:
    status, text, _ = await attacked(b"x", "content-type: application/json", f"content-encoding: {encoding}")
    assert (status, json.loads(text)["error"]["code"]) == (502, "upstream_unreadable")


async def test_a_bomb_as_a_stream_ends_in_an_error() -> None:
    body = gzip.compress(b": ping\n\n" * 4_000_000, 9)
    status, text, waits = await attacked(body, "content-type: text/event-stream", "content-encoding: gzip", stream=True)
    assert status == 200
    assert "upstream_unreadable" in text
    assert max(waits) < 5


@pytest.mark.parametrize(
    "event", [b"data: {}\n\n", b'data: {"choices":[]}\n\n', b"data:\n\n"], ids=["empty", "no choice", "no data"]
)
async def test_a_stream_of_tiny_events_ends_at_the_limit(event: bytes) -> None:
    body = event * 20_000
    status, text, waits = await attacked(body, "content-type: text/event-stream", stream=True, max_stream_events=5_000)
    assert status == 200
    assert "more than 5,000 events" in text or (event == b"data:\n\n" and "upstream_broken" in text)
    assert max(waits) < 5


async def test_a_good_answer_may_be_compressed() -> None:
    message = {"choices": [{"index": 0, "message": {"role": "assistant", "content": TRUTH}}]}
    body = gzip.compress(json.dumps(message).encode())
    status, text, _ = await attacked(body, "content-type: application/json", "content-encoding: gzip")
    assert (status, json.loads(text)["choices"][0]["message"]["content"]) == (200, TRUTH)


@pytest.mark.parametrize("text", [LIE + " x" * 2_000_000, "The pier is old. " * 250_000, "_" * 4_000_000])
async def test_a_large_answer_leaves_the_guard_alive(text: str) -> None:
    message = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}
    status, _, waits = await attacked(json.dumps(message).encode(), "content-type: application/json")
    assert status in (200, 502)
    assert waits
    assert max(waits) < 10


@pytest.mark.parametrize(
    "content",
    [{"choices": 5}, {"choices": [5]}, {"choices": [{"message": 5}]}, {"choices": {"0": []}}, {"choices": "x"}],
)
@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_of_no_form_ends_in_a_clean_error(content: dict[str, object], stream: bool) -> None:
    said = json.dumps(content)
    kind = "text/event-stream" if stream else "application/json"
    body = f"data: {said}\n\ndata: [DONE]\n\n" if stream else said
    status, text, _ = await attacked(body.encode(), f"content-type: {kind}", stream=stream)
    assert (status, "Traceback" in text) in ((502, False), (200, False))
    assert "internal_error" not in text


@pytest.mark.parametrize("header", ["x-evil: a\x01b", "x-evil: a\x7fb", "x-evil\x02: a"])
async def test_control_characters_in_headers_end_in_a_clean_error(header: str) -> None:
    status, text, _ = await attacked(b"{}", "content-type: application/json", header)
    assert status == 502
    assert json.loads(text)["error"]["code"].startswith("upstream_")


HOSTILE = {
    "underscores": "_" * 40_000,
    "marks": ". " * 2_000,
    "marks and underscores": "_." * 10_000,
    "open fence": "```\n" + "x = 1\n" * 6_000,
    "open quotation": 'a" ' * 13_000,
    "wrapped": ("lorem ipsum dolor " * 4 + "\n") * 500,
    "newlines": "\n" * 40_000,
    "sentences": "The pier is old. " * 60_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_cutting_is_linear(text: str) -> None:
    """Before, forty thousand underscores took minutes, and a million characters of prose half a minute."""
    sentences = Sentences(40_000)
    for end in range(1_000, len(text), max(len(text) // 200, 1_000)):
        sentences.grow(text[:end])
        sentences.likely(text[:end])
    sentences.grow(text, complete=True)
    assert sentences.ends[-1] == len(text)
