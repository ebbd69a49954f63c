"""The tables of annotations, in the database of reports. They are made when the first batch is written.

Rows on turns of guarded conversations carry their report's number, so that deleting a report deletes what people marked on it
(`vista_guard.stores.reports.tables.PREFIX`); items of other forms belong to no report and no tenant. Times are UTC.
"""

from __future__ import annotations

import sqlalchemy as sql

from vista_guard.stores.reports.tables import CONSENSUS as CONSENSUS_NAME

METADATA = sql.MetaData()

_BIG = sql.BigInteger().with_variant(sql.Integer, "sqlite")
_TIME = sql.DateTime(timezone=True)
_NAME = sql.String(200)
_MAKING = 7_350_214
"""Lock of whoever makes the tables on a server."""

BATCHES = sql.Table(
    "vista_guard_annotation_batches",
    METADATA,
    sql.Column("id", _BIG, primary_key=True),
    sql.Column("name", _NAME, nullable=False, unique=True),
    sql.Column("form", sql.Text, nullable=False),  # as JSON
    sql.Column("about", sql.Text, nullable=False),
    sql.Column("created_by", _NAME, nullable=False),
    sql.Column("created_at", _TIME, nullable=False),
)

ITEMS = sql.Table(
    "vista_guard_annotation_items",
    METADATA,
    sql.Column("id", _BIG, primary_key=True),
    sql.Column("batch", _NAME, nullable=False),
    sql.Column("report", _BIG, index=True),
    sql.Column("tenant", sql.Text),
    sql.Column("wanted", sql.Integer, nullable=False),
    sql.Column("item", sql.Text, nullable=False),  # an `Item` as JSON
    sql.Index("vista_guard_annotation_items_batch", "batch"),
)

ANSWERS = sql.Table(
    "vista_guard_annotation_answers",
    METADATA,
    sql.Column("item", _BIG, primary_key=True, autoincrement=False),
    sql.Column("annotator", _NAME, primary_key=True),
    sql.Column("report", _BIG, index=True),
    sql.Column("version", sql.Integer, nullable=False),
    sql.Column("submitted", sql.Boolean, nullable=False),
    sql.Column("condition", sql.String(12), nullable=False),
    sql.Column("seconds", sql.Float, nullable=False),
    sql.Column("answers", sql.Text, nullable=False),  # `Answers` as JSON
    sql.Column("saved_at", _TIME, nullable=False),
)

CONSENSUS = sql.Table(
    CONSENSUS_NAME.name,
    METADATA,
    sql.Column("item", _BIG, primary_key=True, autoincrement=False),
    sql.Column("report", _BIG, index=True),
    sql.Column("claims", sql.Text, nullable=False),  # `ConsensusClaim`s as JSON
    sql.Column("marks", sql.Text, nullable=False),  # a discussion's answers: part, mark and value
    sql.Column("method", sql.String(12), nullable=False),
    sql.Column("settled_by", _NAME, nullable=False),
    sql.Column("settled_at", _TIME, nullable=False),
)


def make_tables(connection: sql.Connection) -> None:
    """Makes the tables that are missing. Several processes may call it at once."""
    if connection.dialect.name == "postgresql":
        connection.execute(sql.select(sql.func.pg_advisory_xact_lock(_MAKING)))
    METADATA.create_all(connection)


def are_made(connection: sql.Connection) -> bool:
    """True once a batch was written."""
    return sql.inspect(connection).has_table(BATCHES.name)
