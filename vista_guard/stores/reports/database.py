"""The database of reports: engine, schema and errors.

Opening creates missing tables and upgrades an older SQLite file. An older Postgres database waits for `vista-guard db upgrade`,
since processes of the older version may still write to it.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar

from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from vista_guard._extras import how_to_install, require
from vista_guard._private import make_file
from vista_guard.errors import ConfigError, NoReportsError, StoreError
from vista_guard.stores.line_file import space_left

try:
    import sqlalchemy as sql
    from sqlalchemy.exc import ArgumentError, SQLAlchemyError

    from vista_guard.stores.reports.tables import METADATA, NUMBERS
except ImportError as exc:
    raise ConfigError(f"keeping reports needs {exc.name or 'sqlalchemy'}: {how_to_install('reports')}") from exc
require("keeping reports", "alembic", extra="reports")  # which is slow to load, and used for new and older tables only

T = TypeVar("T")

BUSY_S = 30
"""Seconds that a write waits for another process writing the same SQLite file, unless its URL has a `timeout`."""


_MOVE = (
    'To keep reports elsewhere, set reports to another URL (reports = "sqlite:////FOLDER/reports.sqlite"), or data_dir '
    "(VISTA_GUARD_DATA_DIR) to another folder"
)
_LOCKED = (
    "Another program holds the file: close it, or wait. A timeout in the URL, in seconds, waits longer: "
    'reports = "sqlite:////FOLDER/reports.sqlite?timeout=120"'
)
_IO_ERROR = (
    "Where that is enough, another program may have replaced or removed the file or those beside it (-wal, -shm), or the folder "
    "is on a network disk, where SQLite does not work reliably; else the system's log (dmesg) says what failed"
)


class Database:
    """A database of reports, safe to share between threads.

    Args:
        database: a SQLAlchemy URL, or an engine.
        create: creates a missing SQLite file and missing tables; otherwise they are an error.

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
        """Runs a write. On SQLite one thread at a time: its own waiting for the lock is polling, and unfair."""
        with self._writing:
            return self.run(operation, work)

    def run(self, operation: str, work: Callable[[sql.Connection], T]) -> T:
        """Runs `work` in a transaction of its own and returns its result.

        Raises:
            StoreError: the database cannot be reached or written, or has another schema; says what to do.
        """
        with self.translating_errors(operation):
            self.prepare()
            with self.engine.begin() as connection:
                return work(connection)

    def look(self, operation: str, work: Callable[[sql.Connection], T]) -> T:
        """Runs `work` without checking the schema."""
        with self.translating_errors(operation):
            self._check_file()
            with self.engine.connect() as connection:
                return work(connection)

    def prepare(self) -> None:
        """Creates or upgrades the tables, once."""
        with self._preparing:
            if not self._ready:
                self._check_file()
                try:
                    prepare(self.engine, create=self._create)
                except (SQLAlchemyError, sqlite3.Error, StoreError):
                    if self._file is not None:  # an open connection would keep reading a file that was replaced since
                        self.engine.dispose()
                    raise
                self._ready = True

    @contextmanager
    def translating_errors(self, operation: str) -> Iterator[None]:
        """Raises errors of the driver, and values that this version does not know, as `StoreError`."""
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as exc:
            cause = getattr(exc, "orig", None) or exc
            raise StoreError(f"cannot {operation} in {self.name}: {cause}. {self._what_to_check(cause)}") from exc
        except ValueError as exc:
            raise StoreError(
                f"cannot {operation} in {self.name}: {exc}. A newer version wrote it: read it with that one"
            ) from exc

    def _what_to_check(self, cause: BaseException) -> str:
        """The next step. SQLite says "disk I/O error" of much that is not the disk's fault."""
        file = self._file
        if not isinstance(cause, sqlite3.Error) or file is None:
            return "Check that the database server runs, and that this user may write to it"
        space = space_left(file)
        # The first eight bits are the kind of the error; codes of Python's own errors are missing.
        kind = getattr(cause, "sqlite_errorcode", 0) & 0xFF
        checks = {
            sqlite3.SQLITE_FULL: f"{space}: free some space. {_MOVE}",
            sqlite3.SQLITE_IOERR: f"{space}. {_IO_ERROR}. {_MOVE}",
            sqlite3.SQLITE_CANTOPEN: f"Check that the folder {file.parent} exists and that this user may write in it. {_MOVE}",
            sqlite3.SQLITE_READONLY: f"Check that this user may write {file} and its folder. {_MOVE}",
            sqlite3.SQLITE_BUSY: _LOCKED,
            sqlite3.SQLITE_LOCKED: _LOCKED,
            sqlite3.SQLITE_NOTADB: f"{file} is no database of reports, or it is encrypted. {_MOVE}",
            sqlite3.SQLITE_CORRUPT: f"{file} is damaged: restore a backup, or save what can be read with sqlite3's .recover",
        }
        return checks.get(kind, f"Check that {file} was written by vista-guard. {_MOVE}")

    def close(self) -> None:
        """Closes the pool of connections."""
        self.engine.dispose()

    @property
    def _file(self) -> Path | None:
        """The path of a SQLite file; None for a database in memory, on a server, or behind a `file:` address."""
        name = self.engine.url.database
        named = self.is_sqlite and name and name != ":memory:" and not name.startswith("file:")
        return Path(name) if name and named else None

    def _check_file(self) -> None:
        file = self._file
        if not self._create and file is not None and not file.is_file():
            raise NoReportsError(
                f'there are no reports yet: {file} does not exist. Set reports = "sqlite" for the guard, or give the URL of '
                "the database that it writes"
            )


def make_engine(url: str) -> sql.Engine:
    """Creates the engine for a URL, with SQLite set up for several processes.

    Raises:
        ConfigError: the URL is malformed, or its driver is not installed.
    """
    try:
        parsed = sql.make_url(url)
        busy_s = _busy_timeout(parsed)
        engine = sql.create_engine(parsed, hide_parameters=True, **_options(parsed))
    except (ArgumentError, ValueError) as exc:
        masked = re.sub("//.*@", "//***@", url)
        raise ConfigError(
            f"reports URL {masked!r} is not a SQLAlchemy URL ({exc}); give sqlite:///FILE or postgresql+psycopg://..."
        ) from exc
    except ModuleNotFoundError as exc:
        command = how_to_install("postgres") if exc.name == "psycopg" else f"pip install {exc.name}"
        raise ConfigError(f"reports need the database driver {exc.name}: {command}") from exc
    if parsed.get_backend_name() == "sqlite":
        sql.event.listen(engine, "do_connect", _make_file)
        sql.event.listen(engine, "connect", partial(_configure_sqlite, busy_s))
    return engine


_LIBPQ_LIMITS = {
    "connect_timeout": 10,
    "tcp_user_timeout": 30_000,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
}
"""Libpq's settings (seconds, `tcp_user_timeout` milliseconds) where a URL gives none; its own wait minutes."""


def _make_file(_dialect: object, _record: object, arguments: Sequence[Any], options: dict[str, Any]) -> None:
    """Makes a missing SQLite file before SQLite does, which would let everybody read it."""
    if not options.get("uri") and arguments[0] != ":memory:":
        make_file(Path(arguments[0]))


def _options(url: sql.URL) -> dict[str, Any]:
    if url.get_backend_name() != "sqlite":
        limits = _LIBPQ_LIMITS if url.drivername.partition("+")[2] in ("psycopg", "psycopg2", "") else {}
        given = {name: value for name, value in limits.items() if name not in url.query}
        return {"pool_pre_ping": True, "connect_args": given}
    if url.database in (None, "", ":memory:"):
        # Every connection to ":memory:" is a database of its own: keep exactly one.
        pool = {"poolclass": sql.QueuePool, "pool_size": 1, "max_overflow": 0}
        return {**pool, "connect_args": {"check_same_thread": False}}
    return {} if "timeout" in url.query else {"connect_args": {"timeout": BUSY_S}}


def _busy_timeout(url: sql.URL) -> float:
    """Returns the seconds to wait for a locked SQLite file.

    Raises:
        ValueError: the URL's `timeout` is no number.
    """
    timeout = url.query.get("timeout", BUSY_S)
    try:
        return float(timeout)  # type: ignore[arg-type]  # a timeout given twice is refused in the same words
    except (TypeError, ValueError):
        raise ValueError(f"its timeout is {timeout!r}; give seconds, such as ?timeout=5") from None


def _is_locked(exc: BaseException) -> bool:
    return isinstance(exc, sqlite3.OperationalError) and "locked" in str(exc)


def _configure_sqlite(busy_s: float, connection: sqlite3.Connection, _record: object) -> None:
    # Of two connections that turn a new file to WAL, SQLite fails one at once, whatever its timeout, lest both wait for ever.
    wait = wait_random_exponential(multiplier=0.01, max=0.5)
    Retrying(retry=retry_if_exception(_is_locked), stop=stop_after_delay(busy_s), wait=wait, reraise=True)(
        _set_pragmas, connection
    )


def _set_pragmas(connection: sqlite3.Connection) -> None:
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "secure_delete=ON"):
        try:
            connection.execute(f"PRAGMA {pragma}").close()
        except sqlite3.OperationalError as exc:
            if "readonly" not in str(exc):  # A file that may only be read stays as it is.
                raise


def truncate_log(connection: sql.Connection) -> None:
    """Empties SQLite's write-ahead log, which still holds deleted text. `secure_delete` overwrites it in the file itself."""
    connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")


VERSION_TABLE = "vista_guard_schema"

MIGRATIONS = Path(__file__).parent / "migrations"

_REVISION = re.compile(r'^revision = "(\d{4})"', re.MULTILINE)
"""Schemas are numbered in their order."""

_UPGRADING = 7_241_906_538
"""Key of Postgres' advisory lock: two processes that create tables at once fail in spite of `IF NOT EXISTS`."""

_ONE_AT_A_TIME = Lock()
"""Alembic's context is global to the process."""


@dataclass(frozen=True)
class Schema:
    """A database's schema. `revision` is None before the tables exist."""

    revision: str | None
    newest: str

    @property
    def is_newest(self) -> bool:
        """True when no upgrade is needed."""
        return self.revision == self.newest


def prepare(engine: sql.Engine, *, create: bool = True) -> None:
    """Creates missing tables, and upgrades an older SQLite file.

    Raises:
        StoreError: this version cannot read the schema, or a server's database needs `vista-guard db upgrade`.
    """
    with engine.connect() as connection:
        schema = look(connection)
    if schema.is_newest:
        return
    name = engine.url.render_as_string(hide_password=True)
    if schema.revision is None and not create:
        raise NoReportsError(f"{name} holds no reports yet; a guard whose setting `reports` is this URL writes them")
    if schema.revision is not None and engine.dialect.name != "sqlite":
        raise StoreError(
            f"the tables in {name} have schema {schema.revision}, and this version of vista-guard needs {schema.newest}: stop "
            "the processes that write reports with an older version, then run vista-guard db upgrade"
        )
    upgrade(engine)


def look(connection: sql.Connection) -> Schema:
    """Reads the database's schema.

    Raises:
        StoreError: this version cannot read that schema.
    """
    known = [
        match[1] for path in MIGRATIONS.glob("versions/*.py") for match in _REVISION.finditer(path.read_text("utf-8"))
    ]
    newest = max(known)
    revision = _revision(connection)
    if revision is None or revision in known:
        return Schema(revision, newest)
    name = connection.engine.url.render_as_string(hide_password=True)
    raise StoreError(
        f"the tables in {name} have schema {revision}, and this version of vista-guard reads {min(known)} to {newest}: use the "
        "version that wrote it, or export its reports with that one (vista-guard reports export) and take a new database"
    )


def _revision(connection: sql.Connection) -> str | None:
    if not sql.inspect(connection).has_table(VERSION_TABLE):
        return None
    version = sql.table(VERSION_TABLE, sql.column("version_num", sql.String))
    return connection.execute(sql.select(version.c.version_num)).scalar_one_or_none()


def upgrade(engine: sql.Engine) -> Schema:
    """Creates or upgrades the tables in one transaction, and returns the schema that was there before.

    Several processes may call it at once.
    """
    with _ONE_AT_A_TIME, engine.connect() as connection, _exclusive_transaction(connection):
        schema = look(connection)
        if schema.is_newest:
            return schema

        from alembic import command
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
        config.attributes["connection"] = connection
        if schema.revision is None:
            METADATA.create_all(connection)
            connection.execute(sql.insert(NUMBERS), {"id": 1, "upto": 0, "highest": 0})
            command.stamp(config, "head")
        else:
            command.upgrade(config, "head")
        return schema


@contextmanager
def _exclusive_transaction(connection: sql.Connection) -> Iterator[None]:
    """A transaction that excludes every other writer."""
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
