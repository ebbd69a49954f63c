"""The door: what comes in, over HTTP and over WebSockets."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from vista_guard.dashboard.access import AccessGate, Links, OriginGate, viewer_of
from vista_guard.dashboard.server import _origins
from vista_guard.dashboard.settings import DashboardSettings, Person


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


HERE = "127.0.0.1:8501"
OWN = f"http://{HERE}"
PUBLIC = {
    "sign_in": {
        "client_id": "guard",
        "client_secret": "s",
        "cookie_secret": "x" * 32,
        "redirect_uri": "https://Guard.example.com/oauth2callback",
        "server_metadata_url": "https://login.example.com/.well-known/openid-configuration",
    }
}


def gated(**settings: Any) -> OriginGate:
    return OriginGate(Starlette(routes=ROUTES), _origins(DashboardSettings(**settings), "127.0.0.1", 8501))


async def asked(app: OriginGate, method: str, host: str | None, *origins: str) -> int:
    """Status of a request; of a socket 101 or 403."""
    headers = [(b"host", host.encode())] if host is not None else []
    headers += [(b"origin", origin.encode()) for origin in origins]
    kind, path = ("websocket", "/_stcore/stream") if method == "SOCKET" else ("http", "/page")
    scope = {"type": kind, "method": method, "path": path, "query_string": b"", "headers": headers}
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "websocket.connect"} if kind == "websocket" else {"type": "http.request", "body": b""}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return {"websocket.accept": 101, "websocket.close": 403}.get(sent[0]["type"]) or int(sent[0]["status"])


FOREIGN = [
    "http://127.0.0.1:8502",
    "http://127.0.0.1",
    "http://localhost:8501",
    "https://127.0.0.1:8501",
    "http://127.0.0.1:8501.evil.example",
    "http://127.0.0.1:8501@evil.example",
    "http://user@127.0.0.1:8501",
    "http://127.0.0.1:85010",
    "null",
    "",
    "file://",
    "http://[::1]:8501",
]


@pytest.mark.parametrize("settings", [{}, PUBLIC], ids=["link", "sign-in"])
@pytest.mark.parametrize("method", ["SOCKET", "GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH"])
async def test_only_pages_of_the_same_scheme_host_and_port_may_ask(settings: dict[str, Any], method: str) -> None:
    app = gated(**settings)
    good = {"SOCKET": 101, "GET": 200, "HEAD": 200}.get(method, 405)
    assert await asked(app, method, HERE, OWN) == good
    assert [await asked(app, method, HERE, origin) for origin in FOREIGN] == [403] * len(FOREIGN)
    assert await asked(app, method, HERE) == (200 if method == "GET" else 403)
    assert await asked(app, method, HERE, OWN, OWN) == 403


@pytest.mark.parametrize("method", ["SOCKET", "GET", "POST"])
@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:8501", "127.0.0.1", "127.0.0.1:8502", "127.0.0.1:8501:1", "localhost.:8501", ""],
)
async def test_it_answers_to_its_own_name_only(method: str, host: str) -> None:
    for app in (gated(), gated(**PUBLIC)):
        assert await asked(app, method, host, f"http://{host}") == (403 if method == "SOCKET" else 421)


async def test_behind_a_proxy_its_name_is_that_of_the_redirect_uri() -> None:
    app = gated(**PUBLIC)
    public = "https://guard.example.com"
    assert [await asked(app, "SOCKET", host, public) for host in ("guard.example.com", "Guard.Example.com:443")] == [
        101,
        101,
    ]
    assert await asked(app, "SOCKET", "guard.example.com", "http://guard.example.com") == 403
    assert await asked(app, "SOCKET", "guard.example.com", OWN) == 403
    assert await asked(app, "SOCKET", "guard.example.com:8501", "https://guard.example.com:8501") == 403
    answer = TestClient(app).get("http://other.example.com/")
    assert (answer.status_code, answer.text) == (
        421,
        "This dashboard is at https://guard.example.com/. Open it there.\n",
    )


def test_nobody_may_frame_it(app: AccessGate) -> None:
    for whole in (OriginGate(app, [OWN]), gated(), gated(**PUBLIC)):
        answer = TestClient(whole).get(f"{OWN}/")
        assert answer.headers["content-security-policy"] == "frame-ancestors 'none'"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


@pytest.mark.parametrize(
    ("email", "found"),
    [
        ("ADA@Example.com", True),
        ("ada@example.com", True),
        ("strasse@example.com", False),
        ("Stra\u00dfe@example.com", True),
        ("ada@e\u017fample.com", False),
        ("\u212aim@example.com", False),
        ("x@NORTH.example.com", True),
        ("x@\uff4eorth.example.com", False),
    ],
)
def test_addresses_differ_by_more_than_ascii_case(email: str, found: bool) -> None:
    person = Person(tenants=("*",))
    names = ("Ada@example.com", "stra\u00dfe@example.com", "kim@example.com", "*@north.example.com")
    viewer = viewer_of({"email": email, "email_verified": True}, dict.fromkeys(names, person))
    assert (viewer is not None) is found
