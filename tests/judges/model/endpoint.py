"""A plain HTTP server on loopback that answers exactly what a test says, well-formed or not."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from vista_guard.judges.model.chat.calling import ChatRequest, Message

KEY = "sk-test-0123456789"
SCHEMA = {
    "type": "object",
    "properties": {"label": {"type": "string"}},
    "required": ["label"],
    "additionalProperties": False,
}
REQUEST = ChatRequest((Message("system", "Answer in JSON."), Message("user", "Is the sea salty?")), "verify", SCHEMA)


@dataclass(frozen=True)
class Answered:
    """What the server says. `body`: JSON, or bytes as they are."""

    body: Any
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Received:
    """One request, and from which connection it came."""

    body: dict[str, Any]
    headers: Mapping[str, str]
    path: str
    port: int


@dataclass
class Endpoint:
    """Says `answer` of every request and keeps what it received; `busiest` is the most requests it had at a time."""

    url: str = ""
    answer: Callable[[Received], Answered] = lambda received: completion()
    received: list[Received] = field(default_factory=list)
    busiest: int = 0

    def then(self, *answers: Answered) -> None:
        """Gives these answers in order, and the last one for ever."""
        waiting = list(answers)
        self.answer = lambda received: waiting.pop(0) if len(waiting) > 1 else waiting[0]

    @property
    def formats(self) -> list[str | None]:
        """The kinds of structure that were asked for, in order."""
        return [received.body.get("response_format", {}).get("type") for received in self.received]


def completion(text: str | None = "fine", finish: str = "stop", usage: Sequence[int] | None = (10, 5, 4)) -> Answered:
    """A chat completion; `usage` is input, output and cached tokens."""
    body: dict[str, Any] = {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": finish}],
    }
    if usage is not None:
        body["usage"] = {
            "prompt_tokens": usage[0],
            "completion_tokens": usage[1],
            "total_tokens": usage[0] + usage[1],
            "prompt_tokens_details": {"cached_tokens": usage[2]},
        }
    return Answered(body)


def with_message(finish: str, **message: Any) -> Answered:
    """A chat completion whose message has these fields."""
    answered = completion(None, finish)
    answered.body["choices"][0]["message"].update(message)
    return answered


def refused(status: int, message: str, code: str | None = None, **more: Any) -> Answered:
    """An error in OpenAI's shape."""
    return Answered({"error": {"message": message, "type": "error", "param": None, "code": code, **more}}, status)


@contextmanager
def serving() -> Iterator[Endpoint]:
    """An endpoint that runs until the block ends."""
    endpoint, lock, busy = Endpoint(), threading.Lock(), [0]

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # head and body in one packet: in two, the second waits for the first to be acknowledged

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            headers = {name.lower(): value for name, value in self.headers.items()}
            received = Received(body, headers, self.path, self.client_address[1])
            with lock:
                endpoint.received.append(received)
                busy[0] += 1
                endpoint.busiest = max(endpoint.busiest, busy[0])
            answered = endpoint.answer(received)
            with lock:
                busy[0] -= 1
            raw = answered.body if isinstance(answered.body, bytes) else json.dumps(answered.body).encode()
            self.send_response(answered.status)
            told = {"content-type": "application/json", "content-length": str(len(raw)), **answered.headers}
            for name, value in told.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: Any) -> None:
            pass

        def handle(self) -> None:
            with suppress(ConnectionError):  # the caller gave up waiting
                super().handle()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    endpoint.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
