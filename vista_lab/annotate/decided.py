"""Exports decisions of reviewers and annotators for `vista-guard calibrate`: reports, and people's labels on them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vista_guard.errors import InputError
from vista_guard.stores.reports import ReportReader
from vista_guard.stores.reviews.queue import Reviews, Word, words
from vista_guard.types import TurnReport
from vista_lab.files import writing

BATCH = 200
"""Reports per query."""


@dataclass(frozen=True)
class ExportSummary:
    """Number of turns and labels written, their judge, and the turns left out, by reason."""

    turns: int
    labels: int
    judge: str
    left_out: dict[str, int]


def export(
    reader: ReportReader, reviews: Reviews, reports: Path, labels: Path, *, judge: str | None = None
) -> ExportSummary:
    """Writes the reports that people decided on, and their labels.

    Args:
        reader, reviews: both of the same database.
        reports: file for the reports, one JSON line each. An existing file is replaced.
        labels: file for people's labels.
        judge: name and version of the judge to export; the one with most turns when None.

    Raises:
        InputError: nothing was decided yet, or a file cannot be written.
    """
    decisions = words(reviews)
    left_out: Counter[str] = Counter()
    usable = list(_usable(reader, list(decisions), left_out))
    chosen = judge or _most_common(usable)
    own = [report for report in usable if _judge(report) == chosen]
    left_out["of another judge"] += len(usable) - len(own)
    if not own:
        about = f" about the judge {chosen}" if judge else ""
        raise InputError(f"no reviewed turns{about} to calibrate from; review or annotate some first")
    lines = [line for report in own for line in _lines(report, decisions[report.id])]
    _write(reports, (report.model_dump_json() for report in own))
    _write(labels, map(json.dumps, lines))
    return ExportSummary(len(own), len(lines), chosen, {why: count for why, count in left_out.items() if count})


def _usable(reader: ReportReader, names: Sequence[str], left_out: Counter[str]) -> Iterator[TurnReport]:
    """The reports that a risk table can be fitted on, each with a conversation id."""
    taken: set[tuple[str, int]] = set()
    for start in range(0, len(names), BATCH):
        for name, stored in reader.many(names[start : start + BATCH]).items():
            report = stored.report
            if report.conversation_id is None:  # calibrate tells turns apart by conversation and place
                report = report.model_copy(update={"conversation_id": name})
            place = (report.conversation_id or "", report.turn_index)
            if report.attempts:
                left_out["written anew"] += 1
            elif place in taken:
                left_out["a second time in its place"] += 1
            else:
                taken.add(place)
                yield report


def _most_common(reports: Sequence[TurnReport]) -> str:
    return Counter(map(_judge, reports)).most_common(1)[0][0] if reports else ""


def _judge(report: TurnReport) -> str:
    return f"{report.judge.name} {report.judge.version}"


def _lines(report: TurnReport, word: Word) -> Iterator[dict[str, Any]]:
    turn = {"conversation_id": report.conversation_id, "turn_index": report.turn_index}
    yield {**turn, "fine": word.fine}
    claim_ids = {outcome.claim.id for outcome in report.outcomes}
    for claim, fine in word.claims.items():
        if claim in claim_ids:
            yield {**turn, "claim_id": claim, "fine": fine}


def _write(path: Path, lines: Iterator[str]) -> None:
    with writing(path, "", InputError), path.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
