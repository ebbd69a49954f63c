"""Which reports somebody may see, and the texts that people write, as every database takes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import sqlalchemy as sql

from vista_guard.errors import InputError
from vista_guard.stores.entries import storable
from vista_guard.stores.reports.tables import TURNS

LONGEST_NAME = 200
LONGEST_TEXT = 10_000

_WITHOUT_NUL = str.maketrans({"\x00": "�"})


class FoundReport(NamedTuple):
    """A report's number, and whose turn it is: "" for nobody's."""

    id: int
    tenant: str


def visible(column: sql.ColumnElement[str], tenants: Sequence[str] | None) -> sql.ColumnElement[bool]:
    """Rows of these tenants; all of them for None."""
    return sql.true() if tenants is None else column.in_(list(tenants))


def find_report(connection: sql.Connection, report_id: str, tenants: Sequence[str] | None) -> FoundReport:
    """Number and tenant of a report.

    Raises:
        InputError: there is none of this id among what may be seen.
    """
    query = sql.select(TURNS.c.id, TURNS.c.tenant).where(TURNS.c.report_id == report_id)
    row = connection.execute(query.where(visible(TURNS.c.tenant, tenants))).first()
    if row is None:
        raise InputError(
            f"there is no report {report_id[:80]!r}; its id is in the report, and in the dashboard's address"
        )
    return FoundReport(row.id, row.tenant)


def person(name: str) -> str:
    """A person's name, trimmed.

    Raises:
        InputError: it is empty, too long, or not printable.
    """
    kept = storable(name).strip()
    if not kept or len(kept) > LONGEST_NAME or not kept.isprintable():
        raise InputError(f"{name[:40]!r} is no name; give 1 to {LONGEST_NAME} printable characters")
    return kept


def written(text: str, what: str, *, needed: bool = True) -> str:
    """What a person wrote, trimmed.

    Raises:
        InputError: nothing was written where something is needed, or too much.
    """
    kept = storable(text).translate(_WITHOUT_NUL).strip()
    if needed and not kept:
        raise InputError(f"{what} is empty; say in a few words why")
    if len(kept) > LONGEST_TEXT:
        raise InputError(f"{what} has {len(kept):,} characters; at most {LONGEST_TEXT:,} are kept")
    return kept
