"""Reports in a database: a SQLite file by default, Postgres by URL."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC
from threading import Lock
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError
from tenacity import retry, retry_if_exception, stop_after_delay, wait_random_exponential

from vista_guard._extras import how_to_install
from vista_guard.errors import ConfigError, StoreError
from vista_guard.stores.entries import digest, storable
from vista_guard.types import TurnReport

try:
    import sqlalchemy as sql
    from sqlalchemy.exc import ArgumentError, SQLAlchemyError
    from sqlalchemy.schema import CreateIndex, CreateTable
except ImportError as exc:
    raise ConfigError(f"keeping reports needs sqlalchemy: {how_to_install('reports')}") from exc

T = TypeVar("T")

_REPORTS = sql.Table(
    "vista_guard_reports",
    sql.MetaData(),
    sql.Column("id", sql.Integer, primary_key=True),
    # An index takes neither ids of any length nor of any characters; it is the hash that is looked up.
    sql.Column("conversation_key", sql.String(32)),
    sql.Column("conversation_id", sql.Text),
    sql.Column("turn_index", sql.Integer, nullable=False),
    sql.Column("created_at", sql.DateTime(timezone=True), nullable=False),
    sql.Column("action", sql.String(16), nullable=False),
    sql.Column("score", sql.Float),
    sql.Column("schema_version", sql.String(16), nullable=False),
    sql.Column("report", sql.Text, nullable=False),
    sql.Index("vista_guard_reports_conversation", "conversation_key", "created_at"),
    sql.Index("vista_guard_reports_created_at", "created_at"),
)

_MAKING = 7_241_906_538
"""Postgres' lock for making the table: two processes that do it at once fail in spite of `IF NOT EXISTS`."""

BUSY_S = 30
"""How long a write waits for another process that is writing the same SQLite file."""


class SqlReports:
    """A `ReportStore` in one table, `vista_guard_reports`, made when missing.

    The column `report` holds the whole report as JSON; the others are there to select by. Several processes may share a
    database, a SQLite file on a local disk included. Closing the store closes the engine's pool.
    """

    def __init__(self, database: str | sql.Engine) -> None:
        """Takes a SQLAlchemy URL (`sqlite:///reports.sqlite`, `postgresql+psycopg://user@host/name`) or an engine.

        Raises:
            ConfigError: the URL is malformed, or its driver is not installed.
        """
        self._engine = _engine(database) if isinstance(database, str) else database
        self._name = self._engine.url.render_as_string(hide_password=True)
        self._ready = False
        self._preparing = Lock()

    async def write(self, report: TurnReport) -> None:
        """See `Sink.write`."""
        row = _row(report)
        await self._run("write a report", lambda connection: connection.execute(sql.insert(_REPORTS).values(row)))

    async def reports(self, conversation_id: str | None = None, *, limit: int = 1000) -> Sequence[TurnReport]:
        """The newest `limit` reports, oldest of them first; of all conversations when no id is given."""
        newest = sql.select(_REPORTS).order_by(_REPORTS.c.created_at.desc(), _REPORTS.c.id.desc()).limit(max(limit, 0))
        if conversation_id is not None:
            newest = newest.where(_REPORTS.c.conversation_key == digest(conversation_id))
        rows = await self._run("read reports", lambda connection: connection.execute(newest).all())
        return tuple(self._report(row) for row in reversed(rows))

    async def forget(self, conversation_id: str) -> int:
        """Deletes the conversation's reports and returns how many that were."""
        matching = sql.delete(_REPORTS).where(_REPORTS.c.conversation_key == digest(conversation_id))
        deleted = await self._run("forget a conversation", lambda connection: connection.execute(matching).rowcount)
        if self._engine.dialect.name == "sqlite":
            # The write-ahead log still holds the deleted text; the file itself was overwritten (secure_delete).
            await self._run("forget a conversation", _truncate_log)
        return deleted

    async def aclose(self) -> None:
        """Closes the pool of connections."""
        await asyncio.to_thread(self._engine.dispose)

    async def _run(self, operation: str, work: Callable[[sql.Connection], T]) -> T:
        def attempt() -> T:
            with self._translating_errors(operation):
                self._prepare()
                with self._engine.begin() as connection:
                    return work(connection)

        return await asyncio.to_thread(attempt)

    def _prepare(self) -> None:
        with self._preparing:
            if self._ready:
                return
            with self._engine.begin() as connection:
                if self._engine.dialect.name == "postgresql":
                    connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_MAKING)))
                connection.execute(CreateTable(_REPORTS, if_not_exists=True))
                for index in sorted(_REPORTS.indexes, key=lambda index: str(index.name)):
                    connection.execute(CreateIndex(index, if_not_exists=True))
            self._ready = True

    @contextmanager
    def _translating_errors(self, operation: str) -> Iterator[None]:
        try:
            yield
        except (SQLAlchemyError, sqlite3.Error) as exc:
            cause = getattr(exc, "orig", None) or exc
            raise StoreError(
                f"cannot {operation} in {self._name}: {cause}. Check that the database can be reached and written, "
                "has space left and is not locked by another program"
            ) from exc

    def _report(self, row: sql.Row[Any]) -> TurnReport:
        try:
            return TurnReport.model_validate(json.loads(row.report))
        except ValueError as exc:  # not JSON, or not this version's report
            raise StoreError(
                f"report {row.id} in {self._name} (schema {row.schema_version}) cannot be read: {_problem(exc)}. "
                "Read it with the version of vista-guard that wrote it"
            ) from exc


def _problem(exc: ValueError) -> str:
    if not isinstance(exc, ValidationError):
        return str(exc)
    first = exc.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _row(report: TurnReport) -> dict[str, Any]:
    named = report.conversation_id is not None
    return {
        "conversation_key": digest(report.conversation_id or "") if named else None,
        "conversation_id": storable(report.conversation_id or "") if named else None,
        "turn_index": report.turn_index,
        "created_at": report.created_at.astimezone(UTC),
        "action": report.decision.action.value,
        "score": report.score,
        "schema_version": report.schema_version,
        "report": _json(report),
    }


def _json(report: TurnReport) -> str:
    try:
        return report.model_dump_json()
    except PydanticSerializationError:  # a lone surrogate in a text; only escaped does it come back as it was
        return json.dumps(report.model_dump(mode="json"))


def _engine(url: str) -> sql.Engine:
    try:
        parsed = sql.make_url(url)
        engine = sql.create_engine(parsed, **_options(parsed))
    except (ArgumentError, ValueError) as exc:
        shown = re.sub("//.*@", "//***@", url)
        raise ConfigError(
            f"reports URL {shown!r} is not a SQLAlchemy URL ({exc}); give sqlite:///FILE or postgresql+psycopg://..."
        ) from exc
    except ModuleNotFoundError as exc:
        command = how_to_install("postgres") if exc.name == "psycopg" else f"pip install {exc.name}"
        raise ConfigError(f"reports need the database driver {exc.name}: {command}") from exc
    if parsed.get_backend_name() == "sqlite":
        sql.event.listen(engine, "connect", _configure_sqlite)
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
    return {"connect_args": {"timeout": BUSY_S}}


def _is_locked(exc: BaseException) -> bool:
    return isinstance(exc, sqlite3.OperationalError) and "locked" in str(exc)


# Two connections that turn a new file to WAL at once: SQLite fails one at once, whatever its timeout, lest both wait for ever.
@retry(
    retry=retry_if_exception(_is_locked),
    stop=stop_after_delay(BUSY_S),
    wait=wait_random_exponential(multiplier=0.01, max=0.5),
    reraise=True,
)
def _configure_sqlite(connection: sqlite3.Connection, _record: object) -> None:
    for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "secure_delete=ON"):
        connection.execute(f"PRAGMA {pragma}").close()


def _truncate_log(connection: sql.Connection) -> None:
    connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
