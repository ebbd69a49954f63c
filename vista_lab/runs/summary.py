"""A run's figures, computed from its folder alone, without judging again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from vista_guard.types import Action, Label, TurnReport, Usage
from vista_lab.logs.source import Task
from vista_lab.metrics.detection import Detection, Reading, balanced_interval, has_any_label, labels_of, target_labels
from vista_lab.metrics.intervals import Share, share_interval
from vista_lab.metrics.labels import LabelAgreement, Tally
from vista_lab.runs.folder import GoldLine, TurnName, read_evaluation, read_gold, read_run_reports


class _Figures(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class DetectionSummary(_Figures):
    """Detection figures under one reading. Shares are in [0, 1]; None if nothing is counted.

    `turns` have gold. `unchecked` of them have no prediction, as a claim or the whole turn was not judged: they count in
    `coverage` and in no other share.
    """

    turns: int
    tp: int
    fp: int
    fn: int
    tn: int
    unchecked: int
    coverage: float | None
    accuracy: float | None
    interval: tuple[float, float] | None
    """95 % interval of the accuracy: Wilson's if each conversation or document has one turn, else a cluster bootstrap."""
    balanced_accuracy: float | None = None
    """Mean of both classes' recalls; its interval resamples documents or conversations."""
    balanced_interval: tuple[float, float] | None = None
    precision: float | None
    recall: float | None
    f1: float | None


class RunSummary(_Figures):
    """The figures of a run.

    `turns` are in the plan, `reported` have a report, `judged` one without unchecked claims; `coverage` is their share.
    """

    complete: bool
    conversations: int
    turns: int
    reported: int
    judged: int
    coverage: float | None
    skipped: int
    claims: int
    unchecked: int
    labels: Mapping[Label, int]
    actions: Mapping[Action, int]
    micro: float | None
    macro: float | None
    evidence_missing: int
    readings: Mapping[Reading, DetectionSummary]
    agreement: LabelAgreement | None
    usage: Usage
    judging_seconds: float
    """Sum over turns, as if they had been judged one by one."""


def summarise(folder: Path) -> RunSummary:
    """The figures of a run, complete or not.

    Raises ConfigError if the folder is no run; InputError if a file of it cannot be read.
    """
    manifest, rows = read_evaluation(folder)
    # A judge's own claims may have the same ids as the log's, which are the labelled ones.
    counting = _Counting(read_gold(folder, rows.turns), rows.task, labelled=manifest.claims == "given")
    for report in read_run_reports(folder, counting.gold):
        counting.add(report)
    summary = counting.tally.summary(seconds=counting.seconds)
    shared = ("claims", "unchecked", "labels", "actions", "micro", "macro", "evidence_missing", "agreement", "usage")
    return RunSummary(
        complete=summary.turns == rows.turns,
        conversations=len(rows.conversations),
        turns=rows.turns,
        reported=summary.turns,
        judged=counting.whole,
        coverage=counting.whole / rows.turns if rows.turns else None,
        skipped=sum(rows.skipped.values()),
        **{name: getattr(summary, name) for name in shared},
        judging_seconds=round(summary.seconds, 3),
        readings=counting.readings(),
    )


class _Counting:
    def __init__(self, gold: Mapping[TurnName, GoldLine], task: Task, *, labelled: bool) -> None:
        self.gold = gold
        self.labelled = labelled
        self.wanted = {reading: target_labels(reading, task) for reading in Reading}
        self.predicted: dict[Reading, dict[TurnName, bool | None]] = {reading: {} for reading in Reading}
        self.tally = Tally()
        self.whole = 0
        self.seconds = 0.0

    def add(self, report: TurnReport) -> None:
        name = (report.conversation_id or "", report.turn_index)
        line = self.gold.get(name)
        self.tally.add(report, line.claims if line is not None and self.labelled else {})
        self.whole += not report.unchecked
        self.seconds += report.timings.total / 1000
        for reading, wanted in self.wanted.items():
            self.predicted[reading][name] = has_any_label(labels_of(report.outcomes), wanted)

    def readings(self) -> dict[Reading, DetectionSummary]:
        """Figures of the readings that the gold allows."""
        by_reading = {}
        for reading, wanted in self.wanted.items():
            golds = ((name, gold_of(line, reading, wanted)) for name, line in self.gold.items())
            predicted = self.predicted[reading]
            pairs = {name: (positive, predicted.get(name)) for name, positive in golds if positive is not None}
            if pairs:
                by_reading[reading] = _figures(pairs, self.gold)
        return by_reading


def gold_of(line: GoldLine, reading: Reading, wanted: frozenset[Label]) -> bool | None:
    """True if the turn is positive, by the data set's own label or by people's labels of its claims.

    None if that is open, as when it depends on unlabelled claims.
    """
    if reading is Reading.ORIGINAL:
        return line.positive
    return has_any_label([*line.claims.values(), *[None] * line.unlabelled], wanted) if line.claims else None


def _figures(
    pairs: Mapping[TurnName, tuple[bool, bool | None]], lines: Mapping[TurnName, GoldLine]
) -> DetectionSummary:
    detection = Detection.of(pairs.values())
    judged = [(gold, predicted) for gold, predicted in pairs.values() if predicted is not None]
    groups = [lines[name].drawn_with for name, (_, predicted) in pairs.items() if predicted is not None]
    return DetectionSummary(
        turns=detection.turns,
        tp=detection.tp,
        fp=detection.fp,
        fn=detection.fn,
        tn=detection.tn,
        unchecked=detection.unchecked,
        coverage=_value(detection.coverage),
        accuracy=_value(detection.accuracy),
        interval=share_interval(groups, [gold is predicted for gold, predicted in judged]),
        balanced_accuracy=detection.balanced_accuracy,
        balanced_interval=balanced_interval(judged, groups),
        precision=_value(detection.precision),
        recall=_value(detection.recall),
        f1=detection.f1,
    )


def _value(share: Share) -> float | None:
    return share.value if share.n else None
