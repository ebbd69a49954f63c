"""A model on loopback that costs next to nothing: raw ASGI, and every word known beforehand.

`python -m benchmarks.load.upstream` prints its port. Its answer follows from the conversation's code and the number of questions,
so it keeps nothing; it refuses a request with fields meant for the guard.
"""

from __future__ import annotations

import asyncio
import json
import socket
from typing import TYPE_CHECKING, Any

from benchmarks.load import hostile
from benchmarks.load.talks import CODE, MODEL, talk_of

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

PIECE = 16
"""Characters of a chunk, about four tokens."""

_HEADERS = [(b"content-type", b"text/event-stream")]
_LAST = b'data: {"id":"chatcmpl-load","object":"chat.completion.chunk","created":1,"model":"scripted","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'  # fmt: skip # noqa: E501


def chunk(delta: dict[str, Any]) -> bytes:
    """One event of a stream."""
    choice = {"index": 0, "delta": delta, "finish_reason": None}
    event = {"id": "chatcmpl-load", "object": "chat.completion.chunk", "created": 1, "model": MODEL}
    return f"data: {json.dumps({**event, 'choices': [choice]}, separators=(',', ':'))}\n\n".encode()


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Chat completions, streamed."""
    if scope["type"] != "http":
        return
    body = b""
    while (message := await receive())["type"] == "http.request":
        body += message["body"]
        if not message.get("more_body"):
            break
    request = json.loads(body)
    if attack := hostile.ASKED.search(request["messages"][-1]["content"]):
        await _send_hostile(attack[1], send)
        return
    text = _answer(request)
    if text is None:
        await send({"type": "http.response.start", "status": 400, "headers": [(b"content-type", b"application/json")]})
        await send({"type": "http.response.body", "body": b'{"error":{"message":"not what is asked of a model"}}'})
        return
    await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
    await send({"type": "http.response.body", "body": chunk({"role": "assistant", "content": ""}), "more_body": True})
    for start in range(0, len(text), PIECE):
        await send(
            {"type": "http.response.body", "body": chunk({"content": text[start : start + PIECE]}), "more_body": True}
        )
        await asyncio.sleep(0)  # a model's tokens don't come in one packet either
    await send({"type": "http.response.body", "body": _LAST})


async def _send_hostile(kind: str, send: Send) -> None:
    headers, pieces = hostile.answer(kind)
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    for piece in pieces:
        await send({"type": "http.response.body", "body": piece, "more_body": True})
        await asyncio.sleep(0)
    await send({"type": "http.response.body", "body": b""})


def _answer(body: dict[str, Any]) -> str | None:
    messages = body["messages"]
    codes = {code for message in messages for code in CODE.findall(message["content"])}
    if len(codes) != 1 or set(body) != {"model", "stream", "messages"}:
        return None
    questions = sum(message["role"] == "user" for message in messages)
    return talk_of(codes.pop()).answer(questions - 1)


def main() -> None:
    """Serves until it is stopped."""
    import uvicorn

    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(app, lifespan="off", ws="none", access_log=False, log_level="error", timeout_keep_alive=75)
    uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()
