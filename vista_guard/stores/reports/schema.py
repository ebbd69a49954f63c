"""The schema's versions: which one a database has, and how it comes to the newest.

A SQLite file is brought up to date when it is opened. So is an empty Postgres database; one with reports of an older version is
left alone until `vista-guard db upgrade`, since other processes of that version may be writing to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import sqlalchemy as sql
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from vista_guard.errors import StoreError
from vista_guard.stores.reports.tables import REPORTS, TURNS

VERSION_TABLE = "vista_guard_schema"

FIRST = "0001"
"""The one table of version 0.2.0 and before, which had no version."""

_UPGRADING = 7_241_906_538
"""Postgres' lock: two processes that make or change tables at once fail in spite of `IF NOT EXISTS`."""

_ONE_AT_A_TIME = Lock()
"""Alembic's context is global to the process."""


@dataclass(frozen=True)
class Schema:
    """A database's schema. `revision` is None where there are no tables yet."""

    revision: str | None
    newest: str

    @property
    def is_newest(self) -> bool:
        """Whether nothing has to be done."""
        return self.revision == self.newest


def prepare(engine: sql.Engine, *, create: bool = True) -> None:
    """Makes the tables, or brings them up to date, where that may be done unasked.

    Raises:
        StoreError: the schema is newer than this version of the package, or older in a database that is only upgraded on request.
    """
    with engine.connect() as connection:
        found = look(connection)
    if found.is_newest:
        return
    name = engine.url.render_as_string(hide_password=True)
    if found.revision is None and not create:
        raise StoreError(
            f"there are no reports in {name} yet; a guard with this URL as its setting `reports` writes them"
        )
    if found.revision is not None and engine.dialect.name != "sqlite":
        raise StoreError(
            f"the tables in {name} are of schema {found.revision}, and this version of vista-guard needs {found.newest}: stop "
            "the processes that write reports with an older version, then run vista-guard db upgrade"
        )
    upgrade(engine)


def look(connection: sql.Connection) -> Schema:
    """The schema that the database has.

    Raises:
        StoreError: this version of the package does not know it.
    """
    scripts = ScriptDirectory.from_config(_config())
    newest = scripts.get_current_head() or FIRST
    tables = sql.inspect(connection)
    revision = None
    if tables.has_table(VERSION_TABLE):
        revision = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE}).get_current_revision()
    if revision is None and tables.has_table(REPORTS.name):
        revision = FIRST
    if revision is not None and revision not in {script.revision for script in scripts.walk_revisions()}:
        name = connection.engine.url.render_as_string(hide_password=True)
        raise StoreError(
            f"the tables in {name} are of schema {revision}, and this version of vista-guard knows schemas up to {newest}: use "
            "the version that wrote it, or a newer one"
        )
    return Schema(revision, newest)


def upgrade(engine: sql.Engine) -> Schema:
    """Brings the schema up to date, all of it or nothing, whoever else does so at the same time; what it was before."""
    with _ONE_AT_A_TIME, engine.connect() as connection:
        with _locked(connection):
            found = look(connection)
            if not found.is_newest:
                config = _config()
                config.attributes["connection"] = connection
                if found.revision == FIRST and not sql.inspect(connection).has_table(VERSION_TABLE):
                    command.stamp(config, FIRST)
                command.upgrade(config, "head")
        return found


def is_backfilled(connection: sql.Connection) -> bool:
    """Whether every report has its narrow row."""
    reports = connection.execute(sql.select(sql.func.max(REPORTS.c.id))).scalar()
    turns = connection.execute(sql.select(sql.func.max(TURNS.c.id))).scalar()
    return reports == turns


@contextmanager
def _locked(connection: sql.Connection) -> Iterator[None]:
    """One transaction for all of it, which nobody else writes beside."""
    if connection.dialect.name == "postgresql":
        connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_UPGRADING)))
    else:
        # Python's driver begins no transaction for CREATE and ALTER: a kill would leave half of them.
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        connection.rollback()
        raise
    connection.commit()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations").replace("%", "%%"))
    return config
