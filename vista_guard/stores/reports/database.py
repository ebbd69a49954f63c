"""One database: its engine, its schema when it is opened, and its errors in this package's words.

The schema's versions: which one a database has, and how it comes to the newest.

A SQLite file is brought up to date when it is opened. So is an empty Postgres database; one with reports of an older version is
left alone until `vista-guard db upgrade`, since other processes of that version may be writing to it.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

import sqlalchemy as sql
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from vista_guard._extras import how_to_install
from vista_guard.errors import ConfigError, StoreError
from vista_guard.stores.reports.tables import REPORTS, TURNS

try:
    import sqlalchemy as sql
    from sqlalchemy.exc import ArgumentError, SQLAlchemyError
except ImportError as exc:
    raise ConfigError(f"keeping reports needs {exc.name or 'sqlalchemy'}: {how_to_install('reports')}") from exc

T = TypeVar("T")

BUSY_S = 30
"""How long a write waits for another process that is writing the same SQLite file, where its URL names no `timeout`."""


class Database:
    """A database of reports, safe to share between threads.

    Args:
        database: a SQLAlchemy URL, or an engine.
        create: makes what is missing, the SQLite file and the tables. Without, a missing one is an error.

    Raises:
        ConfigError: the URL is malformed, or its driver is not installed.
    """

    def __init__(self, database: str | sql.Engine, *, create: bool = True) -> None:
        self.engine = make_engine(database) if isinstance(database, str) else database
        self.name = self.engine.url.render_as_string(hide_password=True)
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        self._create = create
        self._ready = False
        self._preparing = Lock()
        self._writing: AbstractContextManager[object] = Lock() if self.is_sqlite else nullcontext()

    def write(self, operation: str, work: Callable[[sql.Connection], T]) -> T:
        """As `run`, for what writes: one thread after the other on SQLite, which would let them poll for its lock, unfairly."""
        with self._writing:
            return self.run(operation, work)

    def run(self, operation: str, work: Callable[[sql.Connection], T]) -> T:
        """What `work` answers, in a transaction of its own.

        Raises:
            StoreError: the database cannot be reached or written, or has another schema; says what to do.
        """
        with self.translating_errors(operation):
            self.prepare()
            with self.engine.begin() as connection:
                return work(connection)

    def look(self, operation: str, work: Callable[[sql.Connection], T]) -> T:
        """As `run`, whatever the schema is."""
        with self.translating_errors(operation):
            self._check_file()
            with self.engine.connect() as connection:
                return work(connection)

    def prepare(self) -> None:
        """Looks at the schema, once; brings an older SQLite file up to date."""
        with self._preparing:
            if not self._ready:
                self._check_file()
                with self._anew_after_failure():
                    prepare(self.engine, create=self._create)
                self._ready = True

    @contextmanager
    def translating_errors(self, operation: str) -> Iterator[None]:
        """Errors of the driver as `StoreError`."""
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as exc:
            cause = getattr(exc, "orig", None) or exc
            raise StoreError(
                f"cannot {operation} in {self.name}: {cause}. Check that the database can be reached and written, "
                "has space left and is not locked by another program"
            ) from exc

    @contextmanager
    def _anew_after_failure(self) -> Iterator[None]:
        """A connection that stays open keeps the pages of a file that was replaced since: the next try opens it anew."""
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error, StoreError):
            if self._file is not None:
                self.engine.dispose()
            raise

    def close(self) -> None:
        """Closes the pool of connections."""
        self.engine.dispose()

    @property
    def _file(self) -> Path | None:
        """Where a SQLite file is; None for a database in memory, on a server, or behind a `file:` address."""
        name = self.engine.url.database
        named = self.is_sqlite and name and name != ":memory:" and not name.startswith("file:")
        return Path(name) if name and named else None

    def _check_file(self) -> None:
        file = self._file
        if not self._create and file is not None and not file.is_file():
            raise StoreError(
                f'there are no reports yet: {file} does not exist. Set reports = "sqlite" for the guard, or give the URL of '
                "the database that it writes"
            )


def make_engine(url: str) -> sql.Engine:
    """The engine for a URL, SQLite set up for several processes.

    Raises:
        ConfigError: the URL is malformed, or its driver is not installed.
    """
    try:
        parsed = sql.make_url(url)
        patience = _patience(parsed)
        engine = sql.create_engine(parsed, hide_parameters=True, **_options(parsed))
    except (ArgumentError, ValueError) as exc:
        shown = re.sub("//.*@", "//***@", url)
        raise ConfigError(
            f"reports URL {shown!r} is not a SQLAlchemy URL ({exc}); give sqlite:///FILE or postgresql+psycopg://..."
        ) from exc
    except ModuleNotFoundError as exc:
        command = how_to_install("postgres") if exc.name == "psycopg" else f"pip install {exc.name}"
        raise ConfigError(f"reports need the database driver {exc.name}: {command}") from exc
    if parsed.get_backend_name() == "sqlite":
        sql.event.listen(engine, "connect", partial(_configure_sqlite, patience))
    return engine


def _options(url: sql.URL) -> dict[str, Any]:
    if url.get_backend_name() != "sqlite":
        return {"pool_pre_ping": True}
    if url.database in (None, "", ":memory:"):
        # Every connection to ":memory:" is a database of its own: keep exactly one.
        return {
            "poolclass": sql.QueuePool,
            "pool_size": 1,
            "max_overflow": 0,
            "connect_args": {"check_same_thread": False},
        }
    return {} if "timeout" in url.query else {"connect_args": {"timeout": BUSY_S}}


def _patience(url: sql.URL) -> float:
    """Seconds that a SQLite file is waited for while others write it.

    Raises:
        ValueError: the URL's `timeout` is no number.
    """
    given = url.query.get("timeout", BUSY_S)
    try:
        return float(given)  # type: ignore[arg-type]  # a timeout given twice is refused in the same words
    except (TypeError, ValueError):
        raise ValueError(f"its timeout is {given!r}; give seconds, such as ?timeout=5") from None


def _is_locked(exc: BaseException) -> bool:
    return isinstance(exc, sqlite3.OperationalError) and "locked" in str(exc)


def _configure_sqlite(busy_s: float, connection: sqlite3.Connection, _record: object) -> None:
    # Of two connections that turn a new file to WAL, SQLite fails one at once, whatever its timeout, lest both wait for ever.
    for attempt in Retrying(
        retry=retry_if_exception(_is_locked),
        stop=stop_after_delay(busy_s),
        wait=wait_random_exponential(multiplier=0.01, max=0.5),
        reraise=True,
    ):
        with attempt:
            _set_up(connection)


def _set_up(connection: sqlite3.Connection) -> None:
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "secure_delete=ON"):
        try:
            connection.execute(f"PRAGMA {pragma}").close()
        except sqlite3.OperationalError as exc:
            if "readonly" not in str(exc):  # A file that may only be read stays as it is.
                raise


def truncate_log(connection: sql.Connection) -> None:
    """Empties SQLite's write-ahead log: it still holds deleted text; the file itself was overwritten (secure_delete)."""
    connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")


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
