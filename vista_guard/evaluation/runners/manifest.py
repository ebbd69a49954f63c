"""What a run's folder says of itself.

    runs/begin-vista/
      manifest.json   how the run was made: a `Manifest`
      gold.jsonl      what the data set says of the turns: one `GoldLine` each, without any text
      reports.jsonl   one `TurnReport` a line, as soon as it was there
      summary.json    the figures, written at the end; made anew from the other three at any time

Every table and reading is made from the first three, without judging again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

from vista_guard.evaluation.datasets.published.dataset import Task
from vista_guard.evaluation.systems.protocol import SystemInfo
from vista_guard.types import Label

MANIFEST, GOLD, REPORTS, SUMMARY = "manifest.json", "gold.jsonl", "reports.jsonl", "summary.json"

MANIFEST_VERSION = "1.0"
"""Changes in its first part when an older reader would misread a run."""


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Rows(_Line):
    """What was evaluated. `sha256` is of the files' bytes, unzipped; `conversations` those that were chosen, in their order."""

    name: str
    split: str
    task: Task
    test: bool
    files: Mapping[str, str]
    """Name of each file, and its sha256."""
    conversations: tuple[str, ...]
    turns: int
    skipped: Mapping[str, int] = {}
    """Rows that could not be read, by reason."""
    sample: str = ""
    """How the rows relate to those of the paper's tables."""


class Manifest(_Line):
    """How a run was made. What `SystemInfo` and `Rows` say must be equal for a run to be gone on with."""

    version: str = MANIFEST_VERSION
    made_by: str
    """`vista-guard` and its version."""
    system: SystemInfo
    rows: Rows
    claims: Literal["given", "judge"]
    limit: int | None
    seed: int
    engine: str
    machine: Mapping[str, str]
    created: datetime


class GoldLine(_Line):
    """What the data set says of one turn: its word on the whole (`label`, `positive`), and labels by claim id.

    `unlabelled` counts the claims that the turn brings and nobody labelled.
    """

    conversation_id: str
    turn_index: int
    label: str | None = None
    positive: bool | None = None
    claims: Mapping[str, Label] = {}
    unlabelled: int = 0
