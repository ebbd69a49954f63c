"""What annotators agreed on, or what somebody decided where they did not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sql
from pydantic import TypeAdapter
from sqlalchemy.dialects import postgresql, sqlite

from vista_guard.errors import InputError
from vista_guard.stores.reports.database import Database
from vista_guard.stores.reports.filters import utc
from vista_guard.stores.reports.tables import CONSENSUS, TASKS
from vista_guard.stores.reviews.types import AnnotatedClaim

_CLAIMS = TypeAdapter(tuple[AnnotatedClaim, ...])


@dataclass(frozen=True)
class Agreed:
    """The claims of one task as they stand in the end. `method` says how: `unanimous`, `majority` or `adjudicated`."""

    task_id: int
    report_id: str
    batch: str
    claims: tuple[AnnotatedClaim, ...]
    method: str
    decided_by: str
    decided_at: datetime


class Consensus:
    """Consensus of annotation tasks, in a database of reports: see `Annotations` for its arguments."""

    def __init__(self, database: str | sql.Engine | Database, *, tenant: str | None = None) -> None:
        self._database = database if isinstance(database, Database) else Database(database, create=False)
        self._tenant = tenant

    def put(self, task_id: int, claims: Sequence[AnnotatedClaim], *, method: str, by: str) -> None:
        """Writes down the claims of a task, in place of what was decided before.

        Raises:
            InputError: there is no such task here.
        """
        text = _CLAIMS.dump_json(tuple(claims)).decode()
        values = {"claims": text, "method": method, "decided_by": by, "decided_at": datetime.now(UTC)}

        def work(connection: sql.Connection) -> None:
            if connection.execute(self._visible(sql.select(TASKS.c.id)).where(TASKS.c.id == task_id)).first() is None:
                raise InputError(f"there is no annotation task {task_id} here; its turn may have been deleted since")
            dialect: Any = postgresql if connection.dialect.name == "postgresql" else sqlite
            statement = dialect.insert(CONSENSUS).values(task_id=task_id, **values)
            connection.execute(statement.on_conflict_do_update(index_elements=[CONSENSUS.c.task_id], set_=values))

        self._database.write("write a consensus", work)

    def get(self, task_id: int) -> Agreed | None:
        """What was agreed on, when anything was."""
        return next(self._many(_query().where(TASKS.c.id == task_id)), None)

    def of_batch(self, batch: str) -> tuple[Agreed, ...]:
        """All that was agreed on in a round, by task: gold for `vista-guard calibrate`."""
        return tuple(self._many(_query().where(TASKS.c.batch == batch)))

    def of_report(self, report_id: str) -> tuple[Agreed, ...]:
        """All that was agreed on about a turn."""
        return tuple(self._many(_query().where(TASKS.c.report_id == report_id)))

    def _many(self, query: sql.Select[Any]) -> Iterator[Agreed]:
        rows = self._database.run("read a consensus", lambda c: c.execute(self._visible(query)).all())
        for row in rows:
            claims = _CLAIMS.validate_json(row.claims)
            decided = (row.method, row.decided_by, utc(row.decided_at))
            yield Agreed(row.task_id, row.report_id, row.batch, claims, *decided)

    def _visible(self, query: sql.Select[Any]) -> sql.Select[Any]:
        return query if self._tenant is None else query.where(TASKS.c.tenant == self._tenant)


def _query() -> sql.Select[Any]:
    columns = sql.select(CONSENSUS, TASKS.c.report_id, TASKS.c.batch)
    return columns.join(TASKS, TASKS.c.id == CONSENSUS.c.task_id).order_by(TASKS.c.id)
