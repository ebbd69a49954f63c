"""The dashboard's server: reads settings, binds the socket, runs Streamlit as an ASGI app behind `AccessGate`."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

import streamlit as st
import uvicorn
from streamlit.web import bootstrap

from vista_guard._listening import listening, stop_signals
from vista_guard.dashboard.access import AccessGate, Links, OriginGate, check_provider, origin_of
from vista_guard.dashboard.settings import DashboardSettings
from vista_guard.errors import ConfigError
from vista_guard.policy.label_policy import Recipe
from vista_guard.settings.sources import Settings
from vista_guard.stores.folders import reports_url
from vista_guard.stores.reports import Database, ReportReader
from vista_guard.stores.reviews.queue import Reviews

LIGHT: Final = {
    "primaryColor": "#0f5c6e",
    "backgroundColor": "#fbfaf7",
    "secondaryBackgroundColor": "#f1eee7",
    "textColor": "#1b2430",
    "borderColor": "#d9d4c9",
    "linkColor": "#0f5c6e",
    "greenTextColor": "#0a5f46",
    "greenBackgroundColor": "#dbefe6",
    "redTextColor": "#97260c",
    "redBackgroundColor": "#fae0d7",
    "orangeTextColor": "#704500",
    "orangeBackgroundColor": "#fbe9c6",
    "blueTextColor": "#1d4a86",
    "blueBackgroundColor": "#dfeafa",
    "violetTextColor": "#573690",
    "violetBackgroundColor": "#eae1f8",
    "grayTextColor": "#4a5563",
    "grayBackgroundColor": "#e6e7e8",
}

DARK: Final = {
    "primaryColor": "#5cc3d6",
    "backgroundColor": "#10161d",
    "secondaryBackgroundColor": "#1a222c",
    "textColor": "#e6eaee",
    "borderColor": "#313c49",
    "linkColor": "#7fd3e2",
    "greenTextColor": "#7bdcb8",
    "greenBackgroundColor": "#12362b",
    "redTextColor": "#ffab94",
    "redBackgroundColor": "#47221a",
    "orangeTextColor": "#f5ca7d",
    "orangeBackgroundColor": "#3c2d10",
    "blueTextColor": "#a1c6f7",
    "blueBackgroundColor": "#182f4c",
    "violetTextColor": "#cbb3f7",
    "violetBackgroundColor": "#2f234a",
    "grayTextColor": "#b7c1cc",
    "grayBackgroundColor": "#28313b",
}
"""Light and dark. Text and ground have a contrast of 4.5 to 1 or more, and no tone is used without a sign (`elements.looks`)."""

SHARED: Final = {
    "font": "sans-serif",
    "headingFont": "serif",
    "headingFontWeights": [600, 600, 600],
    "headingFontSizes": ["1.9rem", "1.4rem", "1.15rem"],
    "baseFontSize": 15,
    "baseRadius": "6px",
    "showWidgetBorder": True,
}


def options() -> dict[str, object]:
    """Streamlit's options for both themes; the reader's system chooses one, or the reader in the menu."""
    return {
        **{f"theme.{name}": value for name, value in SHARED.items()},
        **{f"theme.light.{name}": value for name, value in LIGHT.items()},
        **{f"theme.dark.{name}": value for name, value in DARK.items()},
    }


LOCKED_S = 5
"""Seconds that a page waits for a locked SQLite file, unless the file's URL says otherwise."""


@dataclass(frozen=True)
class Material:
    """Files and settings that pages read.

    `runs` are files of reports, or folders of them. `labels` is a file of people's labels (`policy.labels.read_gold`). `policy`,
    `risk_table` and `environment` are those of the settings.
    """

    runs: tuple[Path, ...] = ()
    labels: Path | None = None
    policy: Recipe = field(default_factory=lambda: Recipe("balanced"))
    risk_table: Path | None = None
    environment: str | None = None


class Dashboard:
    """The dashboard of this process, with its database open for all readers. `reports` is the database's URL.

    Streamlit reruns its script for every reader and passes it nothing, so the script asks for `current()`, the only
    dashboard of the process.
    """

    _current: ClassVar[Dashboard | None] = None

    def __init__(self, settings: DashboardSettings, reports: str, material: Material) -> None:
        self.settings, self.material = settings, material
        self._database = Database(_with_short_timeout(reports), create=False)
        self.reports, self.reviews = ReportReader(self._database), Reviews(self._database)

    def start(self) -> None:
        """Makes this the process's dashboard."""
        Dashboard._current = self

    @classmethod
    def current(cls) -> Dashboard:
        """Returns the process's dashboard.

        Raises:
            ConfigError: Streamlit was asked to run the script by itself.
        """
        if cls._current is None:
            raise ConfigError("the dashboard's script was run by itself; start it with: vista-guard dashboard")
        return cls._current

    @property
    def database(self) -> str:
        """The URL of the reports, without a password."""
        return self._database.name.partition("?timeout=")[0]


def _with_short_timeout(url: str) -> str:
    """Shortens the wait for a locked SQLite file: a reader is waiting for the page."""
    if not url.startswith("sqlite:///") or "timeout=" in url:
        return url
    return f"{url}{'&' if '?' in url else '?'}timeout={LOCKED_S}"


Tell = Callable[[str], None]


ADVICE = "Another program, perhaps another dashboard, uses it: choose another --port, or --port 0 for a free one"


def serve(dashboard: Dashboard, listener: socket.socket, tell: Tell) -> int:
    """Serves until a signal; returns its number, 0 when the server stopped by itself.

    Args:
        dashboard: the dashboard to serve.
        listener: its socket, bound.
        tell: prints the address to open, again after each use of a one-time link.
    """
    listener.listen(128)  # before the address is printed: a quick browser waits for the server
    server = uvicorn.Server(
        uvicorn.Config(
            build_app(dashboard, listener, tell),
            log_level=logging.WARNING,
            access_log=False,  # its lines would hold the link's key and what people read
            server_header=False,
            timeout_graceful_shutdown=2,
            ws="websockets-sansio",
        )
    )
    with stop_signals() as signals:
        server.run(sockets=[listener])
    return signals[0] if signals else 0


def build_app(dashboard: Dashboard, listener: socket.socket, tell: Tell) -> Any:
    """Builds the ASGI app, with one-time links unless people sign in. Streamlit allows one app a process."""
    dashboard.start()
    settings = dashboard.settings
    host, port = listener.getsockname()[:2]
    bootstrap.load_config_options({**_server_options(host, port), **options()})
    app = st.App(
        str(files("vista_guard.dashboard").joinpath("main.py")),
        secrets={"auth": settings.sign_in.secrets()} if settings.sign_in else {},
    )
    address = f"http://{f'[{host}]' if ':' in host else host}:{port}/"
    if settings.sign_in is not None:
        tell(f"dashboard on {address}, sign-in required")
        return OriginGate(app, _origins(settings, host, port))
    once = "(this link works once; after its use the next one is printed)"
    links = Links(lambda key: tell(f"dashboard on {address}?key={key}  {once}"))
    # Browsers share cookies between ports of a host: two dashboards of one machine need two names.
    gate = AccessGate(app, links, cookie=f"vista_guard_dashboard_{port}")
    return OriginGate(gate, _origins(settings, host, port))


def _origins(settings: DashboardSettings, host: str, port: int) -> list[str]:
    """The origins under which browsers reach the dashboard: of `redirect_uri`, and of the bound address."""
    local = settings.loopback or host in ("0.0.0.0", "::")
    names = [host, settings.host.strip("[]"), *(("localhost", "127.0.0.1", "::1") if local else ())]
    bound = [origin_of("http", f"[{name}]:{port}" if ":" in name else f"{name}:{port}") for name in names]
    if settings.sign_in is None:
        return bound
    public = urlsplit(settings.sign_in.redirect_uri)
    return [origin_of(public.scheme, public.netloc), *bound]


def _server_options(host: str, port: int) -> dict[str, object]:
    return {
        "server.address": host,
        "server.port": port,
        "server.headless": True,
        "server.fileWatcherType": "none",  # a watcher of each imported file floods the log
        "server.runOnSave": False,
        "server.enableStaticServing": False,
        "server.enableAgentApi": False,  # would bypass the pages and their tenants
        "server.maxUploadSize": 1,
        "browser.gatherUsageStats": False,
        "client.toolbarMode": "minimal",
        "client.showErrorDetails": "none",  # an exception's text may hold a conversation's
        "global.suppressDeprecationWarnings": True,
        "logger.level": "error",
        "runner.magicEnabled": False,  # would draw bare strings, docstrings included, as Markdown
    }


def run(
    given: Mapping[str, Any],
    *,
    reports: str | None = None,
    data_dir: Path | None = None,
    runs: Sequence[Path] = (),
    labels: Path | None = None,
    tell: Tell = print,
) -> int:
    """Serves until a signal and returns its number.

    Args:
        given: fields of `DashboardSettings` that override environment and settings file.
        reports: the database, as `Settings.reports`; from the settings when None.
        data_dir: the folder of a database in a file; from the settings when None.
        runs: files of `vista-guard replay`, or folders of them.
        labels: a file of people's labels (`policy.labels.read_gold`).
        tell: prints a line for the user.

    Raises:
        ConfigError: invalid settings, an invalid URL, or an address that is in use.
    """
    settings = DashboardSettings.load(**given)
    settings.check_exposure()
    guard = Settings.load()
    recipe = Recipe(guard.policy, dict(guard.policy_overrides))
    material = Material(tuple(runs), labels, recipe, guard.risk_table, guard.environment)
    dashboard = Dashboard(settings, database(reports, data_dir), material)
    with listening(settings.host, settings.port, ADVICE) as listener:
        if settings.sign_in is not None:
            check_provider(settings.sign_in)
        return serve(dashboard, listener, tell)


def database(reports: str | None, data_dir: Path | None) -> str:
    """Returns the URL of the reports: the given one, else the settings', else the file in the data folder."""
    stores: dict[str, Any] = {} if data_dir is None else {"data_dir": data_dir}
    settings = Settings.load(**stores)
    return reports_url(settings.model_copy(update={"reports": reports or settings.reports or "sqlite"})) or ""
