"""What this process' dashboard was started with. Streamlit runs its script anew for every reader and hands it nothing."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache

from vista_guard.dashboard.material import Material
from vista_guard.dashboard.settings import DashboardSettings
from vista_guard.errors import ConfigError
from vista_guard.stores.reports import Database, ReportReader
from vista_guard.stores.reviews.annotation import Annotations
from vista_guard.stores.reviews.queue import Reviews

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
