"""Where the reports are that a command is about."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from vista_guard.settings.sources import Settings

ReportsOption = Annotated[
    str | None,
    typer.Option(
        "--reports",
        metavar="URL",
        help="The database: sqlite, or an SQLAlchemy URL.  [default: from the settings, else the file in the data folder]",
    ),
]
DataDirOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="The stores' folder.  [default: from the settings, else the user's data folder]"
    ),
]


def configured(reports: str | None, data_dir: Path | None) -> tuple[Settings, str]:
    """The settings, and the URL of the reports: the file in the data folder where nothing says otherwise.

    Raises:
        ConfigError: the settings make no sense.
    """
    from vista_guard.assembly import reports_url
    from vista_guard.settings.sources import Settings

    given: dict[str, Any] = {"reports": reports, "data_dir": data_dir}
    settings = Settings.load(**{name: value for name, value in given.items() if value is not None})
    if settings.reports is None:
        settings = settings.model_copy(update={"reports": "sqlite"})
    return settings, reports_url(settings) or ""
