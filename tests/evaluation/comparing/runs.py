"""Replays, made by hand and written as `replay` writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.evaluation.whatif.turns import stored
from vista_guard.types import JudgeInfo, TurnReport
from vista_lab.runs.found import Run
from vista_lab.runs.report_file import ReportFile, RunIdentity


def identity(judge: str = "embedded", version: str = "1", **more: Any) -> RunIdentity:
    """How a run was made."""
    given = {"policy": "monitor", "rules": "aa", "context": "none", "ungrounded": "judge", "claims": "judge"}
    return RunIdentity(judge=JudgeInfo(name=judge, version=version), **{**given, **more})


def run(name: str, *reports: TurnReport, **made: Any) -> Run:
    """A run in memory."""
    return Run(name, identity(**made), {(one.conversation_id or "", one.turn_index): one for one in reports})


def written(path: Path, *reports: TurnReport, **made: Any) -> Path:
    """A run on disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    file = ReportFile.open(path, identity(**made))
    for report in reports or (stored(),):
        file.append(report)
    file.close()
    return path
