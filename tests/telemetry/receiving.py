"""Loopback servers that take what is sent to them, refuse it, or hang."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Receiver:
    """What came in: method, path, headers and body of each request."""

    def __init__(self, url: str, release: threading.Event) -> None:
        self.url = url
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []
        self._release = release

    def bodies(self, path: str) -> list[bytes]:
        return [body for _, asked, _, body in self.requests if asked == path]

    def let_go(self) -> None:
        """Answers those that hang."""
        self._release.set()


@contextmanager
def receiving(status: int = 200, *, hang: bool = False, answer: bytes = b"{}") -> Iterator[Receiver]:
    """A server on a free port, until the block ends."""
    release = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _take(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            receiver.requests.append((self.command, self.path, headers, body))
            if hang:
                release.wait()
            with suppress(OSError):  # who hung up does not wait for it
                self._answer()

        def _answer(self) -> None:
            self.send_response(status)
            self.send_header("content-length", str(len(answer)))
            self.send_header("content-type", "application/json")
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST = do_PATCH = _take  # noqa: N815  # as http.server calls them

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    receiver = Receiver(f"http://127.0.0.1:{server.server_port}", release)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        release.set()
        server.shutdown()
        server.server_close()
        thread.join()
