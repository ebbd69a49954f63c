"""Files of lines that runs write: the fields that identify a system, and reports as lines.

The file itself is `vista_guard.stores.line_file`. The settings are in a file of their own (`runs.folder.Manifest`).
"""

from __future__ import annotations

from collections.abc import Mapping

from vista_guard.stores.line_file import (
    ANOTHER_OUT,
    HowMade,
    Line,
    LineFile,
    LineKind,
    differing_fields,
    refuse_differences,
    write_whole,
)
from vista_guard.types import TurnReport
from vista_lab.systems.protocol import SystemInfo

__all__ = [
    "ANOTHER_OUT",
    "REPORT_LINES",
    "HowMade",
    "Line",
    "LineFile",
    "LineKind",
    "ReportFile",
    "differing_fields",
    "refuse_differences",
    "system_fields",
    "write_whole",
]


def system_fields(system: SystemInfo) -> dict[str, str]:
    """The settings of a system, as texts by name."""
    nested: Mapping[str, Mapping[str, object]] = {
        "option": system.options,
        "prompt": system.prompts,
        "shots": system.shots,
        "evidence": system.evidence.model_dump() if system.evidence else {},
    }
    texts = {f"{kind} {name}": str(value) for kind, values in nested.items() for name, value in values.items()}
    return {"system": system.name, "judge": f"{system.judge.name} {system.judge.version}", **texts}


def _report_again(report: TurnReport) -> str:
    return f"reports on turn {report.turn_index} of conversation {report.conversation_id} again"


REPORT_LINES = LineKind(
    TurnReport,
    noun="report",
    group=lambda report: report.conversation_id or "",
    key=lambda report: (report.conversation_id, report.turn_index),
    again=_report_again,
)
"""One report per line, grouped by conversation."""

ReportFile = LineFile[TurnReport]
"""Reports of one run, open for adding."""
