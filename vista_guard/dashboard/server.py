"""The server: Streamlit as an ASGI app behind the entrance, on one socket that is bound before anything is loaded."""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import streamlit as st
import uvicorn
from streamlit.web import bootstrap

from vista_guard.dashboard import process, theme
from vista_guard.dashboard.entrance import Entrance, Links
from vista_guard.dashboard.process import Setup
from vista_guard.dashboard.settings import DashboardSettings
from vista_guard.errors import ConfigError

Tell = Callable[[str], None]


@contextmanager
def listening(settings: DashboardSettings) -> Iterator[socket.socket]:
    """The socket that is served.

    Raises:
        ConfigError: the address cannot be listened on.
    """
    host = settings.host.strip("[]")
    listener = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, settings.port))
    except OSError as exc:
        listener.close()
        raise ConfigError(
            f"cannot listen on {settings.host} port {settings.port}: {exc.strerror}. "
            "Another program uses it, perhaps another dashboard: choose another --port, or --port 0 for a free one"
        ) from exc
    with listener:
        yield listener


def serve(setup: Setup, listener: socket.socket, tell: Tell) -> int:
    """Serves until a signal comes; returns its number, 0 when the server stopped by itself.

    Args:
        setup: what the pages show, and to whom.
        listener: where; see `listening`.
        tell: is told the address to open, again each time that a one-time link was used.
    """
    stopped: list[int] = []
    listener.listen(128)  # before anybody is told where: a browser that is quicker than the server waits
    server = uvicorn.Server(
        uvicorn.Config(
            build_app(setup, listener, tell),
            log_level=logging.WARNING,
            access_log=False,  # its lines would hold the link's key, and what people looked at
            server_header=False,
            timeout_graceful_shutdown=2,
            ws="websockets-sansio",
        )
    )
    before = {
        number: signal.signal(number, lambda received, _frame: stopped.append(received))
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        server.run(sockets=[listener])
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return stopped[0] if stopped else 0


def build_app(setup: Setup, listener: socket.socket, tell: Tell) -> Any:
    """The ASGI app: Streamlit's, behind the one-time link where nobody signs people in. Streamlit has no two in one process."""
    process.start(setup)
    host, port = listener.getsockname()[:2]
    bootstrap.load_config_options({**_server_options(host, port), **theme.options()})
    app = st.App(str(files("vista_guard.dashboard.frame").joinpath("main.py")), secrets=_secrets(setup.settings))
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
    if setup.settings.sign_in is not None:
        tell(f"dashboard on {address}, for those who sign in")
        return app
    links = Links(
        lambda key: tell(
            f"dashboard on {address}?key={key}  (this link works once; the next is printed when it was used)"
        )
    )
    # Cookies are told apart by name and host, never by port: two dashboards of one machine must not share one.
    return Entrance(app, links, cookie=f"vista_guard_dashboard_{port}")


def _server_options(host: str, port: int) -> dict[str, object]:
    return {
        "server.address": host,
        "server.port": port,
        "server.headless": True,
        "server.fileWatcherType": "none",  # a watcher of each imported file floods the log
        "server.runOnSave": False,
        "server.enableStaticServing": False,
        "server.enableAgentApi": False,  # would answer beside the pages, and knows no tenants
        "server.maxUploadSize": 1,
        "browser.gatherUsageStats": False,
        "client.toolbarMode": "minimal",
        "client.showErrorDetails": "none",  # an exception's text may hold a conversation's
        "global.suppressDeprecationWarnings": True,
        "logger.level": "error",
        "runner.magicEnabled": False,  # would draw every string that stands alone, docstrings included, as Markdown
    }


def _secrets(settings: DashboardSettings) -> dict[str, Any]:
    return {} if settings.sign_in is None else {"auth": settings.sign_in.secrets()}
