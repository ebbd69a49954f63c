"""The server: Streamlit as an ASGI app behind the entrance, on one socket that is bound before anything is loaded.

The dashboard as one call: settings read, the socket bound, the database looked at, the pages served.

What a dashboard shows beside stored reports: runs of `vista-guard replay`, people's labels, the policy of the settings.

What this process' dashboard was started with. Streamlit runs its script anew for every reader and hands it nothing.
"""

from __future__ import annotations

import logging
import signal
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import streamlit as st
import uvicorn
from streamlit.web import bootstrap

from vista_guard.dashboard import theme
from vista_guard.dashboard.access import Entrance, Links, check_provider
from vista_guard.dashboard.settings import DashboardSettings
from vista_guard.errors import ConfigError
from vista_guard.stores.reports import Database, ReportReader
from vista_guard.stores.reviews.annotation import Annotations
from vista_guard.stores.reviews.queue import Reviews
from vista_lab.policies.named import Recipe


@dataclass(frozen=True)
class Material:
    """Files and settings that pages read.

    `runs` are files of reports, or folders with some. `labels` is what people said of turns: labels as for `vista-guard
    calibrate`, or a log whose claims are labelled. `policy` and `risk_table` are those of the settings.
    """

    runs: tuple[Path, ...] = ()
    labels: Path | None = None
    policy: Recipe = field(default_factory=lambda: Recipe("balanced"))
    risk_table: Path | None = None


def gathered(runs: tuple[Path, ...] = (), labels: Path | None = None) -> Material:
    """With what the settings say.

    Raises:
        ConfigError: the settings cannot be read.
    """
    from vista_guard.settings.sources import Settings

    settings = Settings.load()
    overrides: dict[str, Any] = dict(settings.policy_overrides)
    return Material(runs, labels, Recipe(settings.policy, overrides), settings.risk_table)


LOCKED_S = 5
"""How long a page waits for a SQLite file that somebody else holds, where the file's URL does not say."""


@dataclass(frozen=True)
class Setup:
    """What is shown, and how. `reports` is the database's URL."""

    settings: DashboardSettings
    reports: str
    material: Material = field(default_factory=Material)


_started: list[Setup] = []


def start(setup: Setup) -> None:
    """Makes this what the pages of this process show."""
    _started[:] = [setup]


def setup() -> Setup:
    """What the process was started with.

    Raises:
        ConfigError: it was not started as a dashboard; Streamlit was asked to run the script by itself.
    """
    if not _started:
        raise ConfigError("the dashboard's script was run by itself; start it with: vista-guard dashboard")
    return _started[0]


@cache
def reports() -> ReportReader:
    """The reports, opened once for all readers."""
    return ReportReader(_database())


@cache
def reviews() -> Reviews:
    """The review queue, in the database of the reports."""
    return Reviews(_database())


@cache
def annotation() -> Annotations:
    """The annotations, in the database of the reports."""
    return Annotations(_database())


@cache
def _database() -> Database:
    return Database(_soon(setup().reports), create=False)


def _soon(url: str) -> str:
    """The URL; of a SQLite file that is locked, a page tells after some seconds, as somebody waits for it."""
    if not url.startswith("sqlite:///") or "timeout=" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}timeout={LOCKED_S}"


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
    start(setup)
    host, port = listener.getsockname()[:2]
    bootstrap.load_config_options({**_server_options(host, port), **theme.options()})
    app = st.App(str(files("vista_guard.dashboard").joinpath("main.py")), secrets=_secrets(setup.settings))
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


def run(
    given: Mapping[str, Any],
    *,
    reports: str | None = None,
    data_dir: Path | None = None,
    runs: Sequence[Path] = (),
    labels: Path | None = None,
    tell: Tell = print,
) -> int:
    """Serves until a signal comes, whose number it returns.

    Args:
        given: fields of `DashboardSettings` that go before environment and settings file.
        reports: the database, as `Settings.reports`; from the settings when None.
        data_dir: the folder of a database in a file; from the settings when None.
        runs: files that `vista-guard replay` wrote, or folders with some.
        labels: people's labels; see `evaluation.comparing.gold`.
        tell: is told where to look, line by line.

    Raises:
        ConfigError: settings or a database's URL that make no sense, or an address that cannot be listened on.
    """
    settings = DashboardSettings.load(**given)
    settings.check_exposure()
    url = database(reports, data_dir)
    Database(url, create=False).close()  # a malformed URL or a missing driver; one that is gone is told by a page
    with listening(settings) as listener:
        if settings.sign_in is not None:
            check_provider(settings.sign_in)
        material = gathered(tuple(runs), labels)
        return serve(Setup(settings, url, material), listener, tell)


def database(reports: str | None, data_dir: Path | None) -> str:
    """The URL of the reports: what is given, else what the settings say, else the file in the data folder."""
    from vista_guard.settings.sources import Settings
    from vista_guard.stores.entries import data_dir as folder_of

    stores: dict[str, Any] = {} if data_dir is None else {"data_dir": data_dir}
    settings = Settings.load(**stores)
    named = reports or settings.reports or "sqlite"
    return f"sqlite:///{folder_of(settings.data_dir) / 'reports.sqlite'}" if named == "sqlite" else named
