"""The tables of annotations, in the database of reports. They are made when the first batch is written.

Turns of guarded conversations carry their report's number, so that deleting a report deletes what people marked on it
(`vista_guard.stores.reports.tables.PREFIX`); items of other forms belong to no report. Times are UTC.
"""

from __future__ import annotations

import sqlalchemy as sql

METADATA = sql.MetaData()

_BIG = sql.BigInteger().with_variant(sql.Integer, "sqlite")
_TIME = sql.DateTime(timezone=True)
_NAME = sql.String(200)
_MAKING = 7_350_214
"""Lock of whoever makes the tables on a server."""

TASKS = sql.Table(
    "vista_guard_annotation_tasks",
    METADATA,
    sql.Column("id", _BIG, primary_key=True),
    sql.Column("report", _BIG, nullable=False),
    sql.Column("tenant", sql.Text, nullable=False),
    sql.Column("batch", sql.String(200), nullable=False),
    sql.Column("wanted", sql.Integer, nullable=False),
    sql.Column("created_at", _TIME, nullable=False),
    sql.Column("created_by", sql.Text, nullable=False),
)
sql.Index("vista_guard_annotation_tasks_batch", TASKS.c.batch, TASKS.c.report, unique=True)
sql.Index("vista_guard_annotation_tasks_report", TASKS.c.report)

ANNOTATIONS = sql.Table(
    "vista_guard_annotations",
    METADATA,
    sql.Column("id", _BIG, primary_key=True),
    sql.Column("task", _BIG, nullable=False),
    sql.Column("report", _BIG, nullable=False),
    sql.Column("annotator", sql.String(200), nullable=False),
    sql.Column("version", sql.Integer, nullable=False),
    sql.Column("state", sql.String(12), nullable=False),
    sql.Column("condition", sql.String(12), nullable=False),
    sql.Column("seconds", sql.Float, nullable=False),
    sql.Column("notes", sql.Text, nullable=False),
    sql.Column("started_at", _TIME, nullable=False),
    sql.Column("saved_at", _TIME, nullable=False),
    sql.Column("submitted_at", _TIME),
)
sql.Index("vista_guard_annotations_task", ANNOTATIONS.c.task, ANNOTATIONS.c.annotator, unique=True)
sql.Index("vista_guard_annotations_report", ANNOTATIONS.c.report)

ANNOTATION_CLAIMS = sql.Table(
    "vista_guard_annotation_claims",
    METADATA,
    sql.Column("annotation", _BIG, primary_key=True, autoincrement=False),
    sql.Column("n", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("report", _BIG, nullable=False),
    sql.Column("source_claim_id", sql.Text),
    sql.Column("op", sql.String(8), nullable=False),
    sql.Column("text", sql.Text, nullable=False),
    sql.Column("span_start", sql.Integer),
    sql.Column("span_end", sql.Integer),
    sql.Column("label", sql.String(16)),
)
sql.Index("vista_guard_annotation_claims_report", ANNOTATION_CLAIMS.c.report)

BATCHES = sql.Table(
    "vista_lab_batches",
    METADATA,
    sql.Column("name", _NAME, primary_key=True),
    sql.Column("form", sql.Text, nullable=False),
    sql.Column("about", sql.Text, nullable=False),
    sql.Column("wanted", sql.Integer, nullable=False),
    sql.Column("created_by", _NAME, nullable=False),
    sql.Column("created_at", _TIME, nullable=False),
)
ITEMS = sql.Table(
    "vista_lab_items",
    METADATA,
    sql.Column("batch", _NAME, primary_key=True),
    sql.Column("n", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("item", sql.Text, nullable=False),
)
ANSWERS = sql.Table(
    "vista_lab_answers",
    METADATA,
    sql.Column("batch", _NAME, primary_key=True),
    sql.Column("n", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("annotator", _NAME, primary_key=True),
    sql.Column("version", sql.Integer, nullable=False),
    sql.Column("submitted", sql.Boolean, nullable=False),
    sql.Column("answers", sql.Text, nullable=False),
    sql.Column("seconds", sql.Float, nullable=False),
    sql.Column("saved_at", _TIME, nullable=False),
)
SETTLED = sql.Table(
    "vista_lab_settled",
    METADATA,
    sql.Column("batch", _NAME, primary_key=True),
    sql.Column("n", sql.Integer, primary_key=True, autoincrement=False),
    sql.Column("part", _NAME, primary_key=True),
    sql.Column("mark", _NAME, primary_key=True),
    sql.Column("value", sql.Text, nullable=False),
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
    return sql.inspect(connection).has_table(TASKS.name)
