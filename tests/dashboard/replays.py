"""Two replays of one log and people's labels on it, made from a week's traffic."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from tests.dashboard.seeded import HOSTILE
from tests.dashboard.weeks import traffic
from tests.lab.runs.runs import written
from vista_guard.policy.turn_risk import SAFE
from vista_guard.types import Claim, Decision, Finding, Label, TurnReport, Unchecked


def write(folder: Path, turns: int = 60) -> Path:
    """A folder with `old.jsonl`, `new.jsonl` (another judge, which is worse in places), and `apart.jsonl` (another log)."""
    reports = [report for report in traffic(turns) if not report.blocked]
    written(folder / "old.jsonl", *map(_strange, reports))
    written(
        folder / "new.jsonl", *(_strange(_other(report, place)) for place, report in enumerate(reports)), version="2"
    )
    written(folder / "apart.jsonl", reports[0].model_copy(update={"conversation_id": "elsewhere"}))
    return folder


def write_labels(file: Path, turns: int = 240) -> Path:
    """A person's word on every third turn's claims, who mostly agrees with the first judge."""
    lines = []
    for place, report in enumerate(traffic(turns)):
        for n, outcome in enumerate(report.outcomes if place % 3 == 0 else ()):
            agrees = (place + n) % 5 != 0
            fine = isinstance(outcome, Finding) and (outcome.label in SAFE) is agrees
            named = {"conversation_id": report.conversation_id, "turn_index": report.turn_index}
            lines.append(json.dumps({**named, "claim_id": outcome.claim.id, "fine": fine}))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


def _other(report: TurnReport, place: int) -> TurnReport:
    """As another judge would have it: every fourth claim differs, and one that was judged no longer is."""
    outcomes = list(report.outcomes)
    first: Finding | Unchecked = outcomes[0]
    if place % 4 == 0 and isinstance(first, Finding):
        label = Label.CONTRADICTED if first.label is Label.VERIFIED else Label.VERIFIED
        outcomes[0] = first.model_copy(update={"label": label, "confidence": 0.7})
    elif place % 7 == 0:
        outcomes[0] = Unchecked(claim=first.claim, error="no answer")
    return report.model_copy(update={"outcomes": tuple(outcomes)})


def _strange(report: TurnReport) -> TurnReport:
    """The first turn of the log says something that must stay text."""
    if report.conversation_id != "visit-0":
        return report
    decision = Decision(action=report.decision.action, reason=f"Because {HOSTILE}")
    return report.model_copy(update={"outcomes": tuple(map(_hostile, report.outcomes)), "decision": decision})


def _hostile(outcome: Finding | Unchecked) -> Finding | Unchecked:
    claim = Claim(id=outcome.claim.id, text=f"{outcome.claim.text} {HOSTILE}")
    reason: Sequence[tuple[str, str]] = [("reason" if isinstance(outcome, Finding) else "error", f"Reason {HOSTILE}")]
    return outcome.model_copy(update={"claim": claim, **dict(reason)})
