"""A provider that cannot be used is told before anybody is sent there."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from tests.raising import raises
from vista_guard import ConfigError
from vista_guard.dashboard.access import check_provider
from vista_guard.dashboard.settings import SignIn

ANSWERS = {
    "/good": (200, b'{"authorization_endpoint": "x", "token_endpoint": "y", "jwks_uri": "z"}'),
    "/page": (200, b"<html>hello</html>"),
    "/other": (200, b'{"issuer": "x", "jwks_uri": "z"}'),
    "/list": (200, b"[]"),
    "/gone": (404, b"{}"),
}


class Provider(BaseHTTPRequestHandler):
    """Answers as the path says."""

    def do_GET(self) -> None:
        status, body = ANSWERS[self.path]
        self.send_response(status)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing on the screen."""


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """Where it listens."""
    with HTTPServer(("127.0.0.1", 0), Provider) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def sign_in(address: str) -> SignIn:
    """Settings with this address of the metadata."""
    return SignIn.model_validate(
        {
            "client_id": "guard",
            "client_secret": "s",
            "cookie_secret": "x" * 32,
            "redirect_uri": "https://guard.example.com/oauth2callback",
            "server_metadata_url": address,
        }
    )


def test_a_good_one_passes(provider: str) -> None:
    check_provider(sign_in(f"{provider}/good"))


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/page", ()),
        ("/other", ("authorization_endpoint", "token_endpoint")),
        ("/list", ("authorization_endpoint",)),
        ("/gone", ("404",)),
    ],
)
def test_what_is_wrong_is_told(provider: str, path: str, told: tuple[str, ...]) -> None:
    with raises(ConfigError, *told) as caught:
        check_provider(sign_in(provider + path))
    assert provider + path in str(caught.value)


def test_nobody_there() -> None:
    with pytest.raises(ConfigError):
        check_provider(sign_in("http://127.0.0.1:9/x"))
