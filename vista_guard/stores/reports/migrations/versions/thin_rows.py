"""Thin rows, claims, conversations, kept texts and roll-ups beside the reports. Reports that are there are brought over later."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Makes the tables, and notes that no report was brought over yet."""
    _backfill()
    _claims_hour()
    _conversations()
    _findings()
    _turn_texts()
    _turns()
    _turns_hour()
    _unchecked_hour()
    op.execute("INSERT INTO vista_guard_backfill (id, upto, highest) VALUES (1, 0, 0)")


def _backfill() -> None:
    op.create_table(
        "vista_guard_backfill",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("upto", _BIG, nullable=False),
        sa.Column("highest", _BIG, nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )


def _claims_hour() -> None:
    op.create_table(
        "vista_guard_claims_hour",
        sa.Column("hour", _TIME, nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("judge", sa.Text(), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("gate", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("label", sa.Text(), nullable=False),
        sa.Column("claims", sa.BigInteger(), nullable=False),
        sa.Column("confidence_sum", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("hour", "tenant", "judge", "policy", "gate", "action", "label"),
    )


def _conversations() -> None:
    op.create_table(
        "vista_guard_conversations",
        sa.Column("conversation_key", sa.String(length=32), nullable=False),
        sa.Column("conversation_id", sa.Text(), nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("first_at", _TIME, nullable=False),
        sa.Column("last_at", _TIME, nullable=False),
        sa.Column("turns", sa.Integer(), nullable=False),
        sa.Column("flagged", sa.Integer(), nullable=False),
        sa.Column("repaired", sa.Integer(), nullable=False),
        sa.Column("blocked", sa.Integer(), nullable=False),
        sa.Column("contradicted", sa.Integer(), nullable=False),
        sa.Column("unchecked", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("conversation_key"),
    )
    op.create_index(
        "vista_guard_conversations_newest",
        "vista_guard_conversations",
        [sa.text("last_at DESC"), sa.text("conversation_key DESC")],
        unique=False,
    )
    op.create_index(
        "vista_guard_conversations_tenant",
        "vista_guard_conversations",
        ["tenant", sa.text("last_at DESC"), sa.text("conversation_key DESC")],
        unique=False,
    )


def _findings() -> None:
    op.create_table(
        "vista_guard_findings",
        sa.Column("report", _BIG, autoincrement=False, nullable=False),
        sa.Column("n", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("claim_id", sa.Text(), nullable=False),
        sa.Column("claim_key", sa.String(length=32), nullable=False),
        sa.Column("label", sa.String(length=16), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=True),
        sa.Column("span_start", sa.Integer(), nullable=True),
        sa.Column("span_end", sa.Integer(), nullable=True),
        sa.Column("source", sa.String(length=16), nullable=True),
        sa.Column("source_id", sa.Text(), nullable=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("claim", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("report", "n"),
    )
    op.create_index(
        "vista_guard_findings_label",
        "vista_guard_findings",
        ["label", sa.text("created_at DESC"), sa.text("report DESC")],
        unique=False,
    )


def _turn_texts() -> None:
    op.create_table(
        "vista_guard_turn_texts",
        sa.Column("report", _BIG, autoincrement=False, nullable=False),
        sa.Column("texts", sa.Text(), nullable=False),
        sa.Column("expires_at", _TIME, nullable=True),
        sa.PrimaryKeyConstraint("report"),
    )
    op.create_index("vista_guard_turn_texts_expires", "vista_guard_turn_texts", ["expires_at"], unique=False)


def _turns() -> None:
    op.create_table(
        "vista_guard_turns",
        sa.Column("id", _BIG, autoincrement=False, nullable=False),
        sa.Column("report_id", sa.String(length=64), nullable=False),
        sa.Column("conversation_key", sa.String(length=32), nullable=True),
        sa.Column("conversation_id", sa.Text(), nullable=True),
        sa.Column("turn_index", sa.Integer(), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("judge", sa.Text(), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("rules", sa.String(length=16), nullable=False),
        sa.Column("gate", sa.String(length=16), nullable=False),
        sa.Column("trace_id", sa.String(length=32), nullable=True),
        sa.Column("span_id", sa.String(length=16), nullable=True),
        sa.Column("turn_key", sa.String(length=16), nullable=True),
        sa.Column("action", sa.String(length=16), nullable=False),
        sa.Column("first_action", sa.String(length=16), nullable=False),
        sa.Column("score", sa.Float(), nullable=True),
        sa.Column("risk", sa.Float(), nullable=True),
        sa.Column("lowest_confidence", sa.Float(), nullable=True),
        sa.Column("duration_ms", sa.Float(), nullable=False),
        sa.Column("evidence_missing", sa.Boolean(), nullable=False),
        sa.Column("verified", sa.Integer(), nullable=False),
        sa.Column("out_of_scope", sa.Integer(), nullable=False),
        sa.Column("contradicted", sa.Integer(), nullable=False),
        sa.Column("lacking_evidence", sa.Integer(), nullable=False),
        sa.Column("abstention", sa.Integer(), nullable=False),
        sa.Column("unchecked", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index(
        "vista_guard_turns_attention",
        "vista_guard_turns",
        [sa.text("created_at DESC"), sa.text("id DESC")],
        unique=False,
        sqlite_where=sa.text("action != 'ALLOW'"),
        postgresql_where=sa.text("action != 'ALLOW'"),
    )
    op.create_index(
        "vista_guard_turns_conversation", "vista_guard_turns", ["conversation_key", "created_at", "id"], unique=False
    )
    op.create_index(
        "vista_guard_turns_newest", "vista_guard_turns", [sa.text("created_at DESC"), sa.text("id DESC")], unique=False
    )
    op.create_index("vista_guard_turns_report_id", "vista_guard_turns", ["report_id"], unique=True)
    op.create_index(
        "vista_guard_turns_tenant",
        "vista_guard_turns",
        ["tenant", sa.text("created_at DESC"), sa.text("id DESC")],
        unique=False,
    )


def _turns_hour() -> None:
    op.create_table(
        "vista_guard_turns_hour",
        sa.Column("hour", _TIME, nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("judge", sa.Text(), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("rules", sa.Text(), nullable=False),
        sa.Column("gate", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("turns", sa.BigInteger(), nullable=False),
        sa.Column("evidence_missing", sa.BigInteger(), nullable=False),
        sa.Column("scored", sa.BigInteger(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("unpriced_calls", sa.BigInteger(), nullable=False),
        sa.Column("score_sum", sa.Float(), nullable=False),
        sa.Column("milliseconds", sa.Float(), nullable=False),
        sa.Column("cost", sa.Float(), nullable=False),
        *(sa.Column(f"latency_{place}", sa.BigInteger(), nullable=False) for place in range(13)),
        sa.PrimaryKeyConstraint("hour", "tenant", "judge", "policy", "rules", "gate", "action"),
    )


def _unchecked_hour() -> None:
    op.create_table(
        "vista_guard_unchecked_hour",
        sa.Column("hour", _TIME, nullable=False),
        sa.Column("tenant", sa.Text(), nullable=False),
        sa.Column("judge", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("claims", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("hour", "tenant", "judge", "reason"),
    )
