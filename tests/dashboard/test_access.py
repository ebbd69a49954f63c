"""The door: what comes in, over HTTP and over WebSockets."""

from __future__ import annotations

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from vista_guard.dashboard.access import AccessGate, Links


async def page(request: Request) -> PlainTextResponse:
    return PlainTextResponse(f"reports at {request.url.path}")


async def socket(websocket: WebSocket) -> None:
    await websocket.accept()
    await websocket.send_text("reports")
    await websocket.close()


ROUTES = [Route("/_stcore/health", page), WebSocketRoute("/_stcore/stream", socket), Route("/{path:path}", page)]


@pytest.fixture
def keys() -> list[str]:
    """The keys that were announced, the good one last."""
    return []


@pytest.fixture
def app(keys: list[str]) -> AccessGate:
    return AccessGate(Starlette(routes=ROUTES), Links(keys.append))


def browser(app: AccessGate) -> TestClient:
    return TestClient(app, follow_redirects=False)


def test_without_the_link_nothing_is_seen(app: AccessGate, keys: list[str]) -> None:
    stranger = browser(app)
    for path in ("/", "/conversation?turn=1", "/?key=", f"/?key={keys[-1]}x", "/static/js/index.js", "/media/x"):
        answer = stranger.get(path)
        assert (answer.status_code, "reports" in answer.text) == (401, False)
        assert "link that it printed" in answer.text
    with pytest.raises(WebSocketDisconnect), stranger.websocket_connect("/_stcore/stream"):
        pass
    with pytest.raises(WebSocketDisconnect), stranger.websocket_connect(f"/_stcore/stream?key={keys[-1]}"):
        pass
    assert stranger.get("/_stcore/health").status_code == 200


def test_the_link_opens_pages_and_sockets_of_one_browser(app: AccessGate, keys: list[str]) -> None:
    reader = browser(app)
    answer = reader.get(f"/conversation?turn=a%26b&key={keys[-1]}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/conversation?turn=a%26b")
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Lax" in cookie
    assert reader.get("/conversation").text == "reports at /conversation"
    with reader.websocket_connect("/_stcore/stream") as opened:
        assert opened.receive_text() == "reports"


def test_the_link_works_once_and_the_next_is_announced(app: AccessGate, keys: list[str]) -> None:
    first = keys[-1]
    assert browser(app).get(f"/?key={first}").status_code == 303
    assert browser(app).get(f"/?key={first}").status_code == 401
    assert len(keys) == 2
    assert browser(app).get(f"/?key={keys[-1]}").status_code == 303


def test_the_link_sends_nobody_to_another_server(app: AccessGate, keys: list[str]) -> None:
    answer = browser(app).get(f"//evil.example.com/x?key={keys[-1]}")
    assert answer.headers["location"].startswith("/")
    assert not answer.headers["location"].startswith("//")


@pytest.mark.parametrize(
    "cookie", ["", "=", "vista_guard_dashboard=", "vista_guard_dashboard=é", 'x="; vista_guard_dashboard=1']
)
def test_cookies_of_no_use(app: AccessGate, cookie: str) -> None:
    assert browser(app).get("/", headers=[(b"cookie", cookie.encode("latin-1"))]).status_code == 401
