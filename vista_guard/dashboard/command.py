"""The dashboard as one call: settings read, the socket bound, the database looked at, the pages served."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vista_guard.dashboard.material import gathered
from vista_guard.dashboard.process import Setup
from vista_guard.dashboard.provider import check_provider
from vista_guard.dashboard.server import Tell, listening, serve
from vista_guard.dashboard.settings import DashboardSettings
from vista_guard.stores.reports import Database


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
    from vista_guard.stores.locations import data_dir as folder_of

    stores: dict[str, Any] = {} if data_dir is None else {"data_dir": data_dir}
    settings = Settings.load(**stores)
    named = reports or settings.reports or "sqlite"
    return f"sqlite:///{folder_of(settings.data_dir) / 'reports.sqlite'}" if named == "sqlite" else named
