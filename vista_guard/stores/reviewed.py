"""People's labels of claims, and how their names are written; sheets need these without a database."""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict

from vista_guard.errors import InputError
from vista_guard.reading.visible import storable
from vista_guard.types import Label, Span

LONGEST_NAME = 200
LONGEST_TEXT = 10_000


class Op(StrEnum):
    """An annotator's change to a claim (VISTA, App. C.2)."""

    CONFIRM = "confirm"
    EDIT = "edit"
    DELETE = "delete"
    ADD = "add"


class ConsensusClaim(BaseModel):
    """A claim of the consensus. `op`: the judge's claim was confirmed, edited, or missing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    label: Label
    op: Op = Op.CONFIRM
    source_claim_id: str | None = None
    span: Span | None = None


def clean_name(name: str) -> str:
    """Returns a person's name, trimmed.

    Raises:
        InputError: it is empty, too long, or not printable.
    """
    trimmed = storable(name).strip()
    if not trimmed or len(trimmed) > LONGEST_NAME or not trimmed.isprintable():
        raise InputError(f"{name[:40]!r} is no valid name; give 1 to {LONGEST_NAME} printable characters")
    return trimmed
