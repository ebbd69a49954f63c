"""A small Hugging Face hub on loopback: one repository, with what its client asks for."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@contextmanager
def serving(repo: str, files: Mapping[str, bytes]) -> Iterator[tuple[str, list[str]]]:
    """The hub's URL, and the paths that were asked for so far."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer(with_body=True)

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def _answer(self, *, with_body: bool) -> None:
            path = self.path.partition("?")[0]
            asked.append(path)
            name = path.partition(f"/resolve/{COMMIT}/")[2]
            if path.startswith(f"/api/models/{repo}/tree/"):
                tree = [_entry(file, content) for file, content in files.items()]
                self._send(200, json.dumps(tree).encode(), "application/json", with_body)
            elif path.startswith(f"/api/models/{repo}"):
                told = {"id": repo, "sha": COMMIT, "siblings": [{"rfilename": file} for file in files]}
                self._send(200, json.dumps(told).encode(), "application/json", with_body)
            elif name in files:
                self._send(200, files[name], "application/octet-stream", with_body)
            else:
                self.close_connection = True
                self._send(404, b"{}", "application/json", with_body, **{"X-Error-Code": "RepoNotFound"})

        def _send(self, status: int, body: bytes, kind: str, with_body: bool, **headers: str) -> None:
            self.send_response(status)
            told = {
                "Content-Type": kind,
                "Content-Length": str(len(body)),
                "X-Repo-Commit": COMMIT,
                "ETag": _digest(body),
            }
            for key, value in (told | headers).items():
                self.send_header(key, value)
            self.end_headers()
            if with_body:
                self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", asked
        finally:
            server.shutdown()
            thread.join()


def _entry(file: str, content: bytes) -> dict[str, object]:
    return {"type": "file", "path": file, "size": len(content), "oid": hashlib.sha1(content).hexdigest()}


def _digest(content: bytes) -> str:
    return f'"{hashlib.sha1(content).hexdigest()}"'
