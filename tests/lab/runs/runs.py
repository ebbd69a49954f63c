"""Replays, made by hand and written as `replay` writes them."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from tests.lab.policies.turns import stored
from vista_guard.types import JudgeInfo, TurnReport
from vista_lab.runs.folder import REPORT_LINES, Manifest, ReportFile
from vista_lab.runs.reading import Run
from vista_lab.systems.protocol import SystemInfo


def manifest(
    judge: str = "embedded", version: str = "1", claims: Literal["given", "judge"] = "judge", **options: str
) -> Manifest:
    """How a replay was made."""
    given = {"policy": "monitor", "rules": "aa", "context": "none", "ungrounded": "judge", **options}
    system = SystemInfo(name="vista", judge=JudgeInfo(name=judge, version=version), options=given)
    return Manifest(made_by="tests", system=system, rows=None, claims=claims, created=datetime(2026, 1, 1, tzinfo=UTC))


def run(name: str, *reports: TurnReport, **made: Any) -> Run:
    """A run in memory."""
    return Run(name, manifest(**made), {(one.conversation_id or "", one.turn_index): one for one in reports})


def written(path: Path, *reports: TurnReport, **made: Any) -> Path:
    """A run on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = ReportFile.open(path, REPORT_LINES, manifest(**made))
    for report in reports or (stored(),):
        file.append(report)
    file.close()
    return path
