"""A run's figures, made from its folder alone: at any time, without judging again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from vista_guard.types import Action, Label, TurnReport, Usage
from vista_lab.datasets.files import Task
from vista_lab.metrics.detection import Detection, Reading, balanced_interval, has_any_label, labels_of, target_labels
from vista_lab.metrics.intervals import Share, share_interval
from vista_lab.metrics.labels import LabelAgreement, Tally
from vista_lab.runs.folder import GoldLine, TurnName, read_evaluation, read_gold, read_run_reports


class _Figures(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Found(_Figures):
    """How well turns that are looked for were found, under one reading. Shares lie in [0, 1]; None where nothing is counted.

    `turns` have gold. `unchecked` of them have no prediction, as a claim or the whole turn was not judged: they are in
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
    """95 %, of the accuracy: Wilson's where each conversation or document brings one turn, else over these drawn again."""
    balanced_accuracy: float | None = None
    """Mean of both classes' recalls; its interval is over documents, or conversations, drawn again."""
    balanced_interval: tuple[float, float] | None = None
    precision: float | None
    recall: float | None
    f1: float | None


class RunSummary(_Figures):
    """The figures of a run.

    `turns` were to be judged, `reported` have a report, `judged` one without unchecked claims; `coverage` is their share.
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
    readings: Mapping[Reading, Found]
    agreement: LabelAgreement | None
    usage: Usage
    judging_seconds: float
    """Summed over turns, as if one had been judged after the other."""


def summarise(folder: Path) -> RunSummary:
    """The figures of a run, complete or not.

    Raises ConfigError if the folder is no run; InputError if a file of it cannot be read.
    """
    manifest, rows = read_evaluation(folder)
    # A judge's own claims may have the ids of the log's, and people spoke of those.
    counting = _Counting(read_gold(folder, rows.turns), rows.task, labelled=manifest.claims == "given")
    for report in read_run_reports(folder, counting.gold):
        counting.add(report)
    told = counting.tally.summary(seconds=counting.seconds)
    shared = ("claims", "unchecked", "labels", "actions", "micro", "macro", "evidence_missing", "agreement", "usage")
    return RunSummary(
        complete=told.turns == rows.turns,
        conversations=len(rows.conversations),
        turns=rows.turns,
        reported=told.turns,
        judged=counting.whole,
        coverage=counting.whole / rows.turns if rows.turns else None,
        skipped=sum(rows.skipped.values()),
        **{name: getattr(told, name) for name in shared},
        judging_seconds=round(told.seconds, 3),
        readings=counting.readings(),
    )


class _Counting:
    """One pass over the reports."""

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

    def readings(self) -> dict[Reading, Found]:
        """Those that the gold allows."""
        found = {}
        for reading, wanted in self.wanted.items():
            known = ((name, gold_of(line, reading, wanted)) for name, line in self.gold.items())
            predicted = self.predicted[reading]
            pairs = {name: (is_it, predicted.get(name)) for name, is_it in known if is_it is not None}
            if pairs:
                found[reading] = _figures(pairs, self.gold)
        return found


def gold_of(line: GoldLine, reading: Reading, wanted: frozenset[Label]) -> bool | None:
    """True when the turn is one to find, by the data set's own label or by people's labels of its claims.

    None where that is open, as it is where it hangs on claims that nobody labelled.
    """
    if reading is Reading.ORIGINAL:
        return line.positive
    return has_any_label([*line.claims.values(), *[None] * line.unlabelled], wanted) if line.claims else None


def _figures(pairs: Mapping[TurnName, tuple[bool, bool | None]], lines: Mapping[TurnName, GoldLine]) -> Found:
    met = Detection.of(pairs.values())
    judged = [(gold, said) for gold, said in pairs.values() if said is not None]
    groups = [lines[name].drawn_with for name, (_, said) in pairs.items() if said is not None]
    return Found(
        turns=met.turns,
        tp=met.tp,
        fp=met.fp,
        fn=met.fn,
        tn=met.tn,
        unchecked=met.unchecked,
        coverage=_value(met.coverage),
        accuracy=_value(met.accuracy),
        interval=share_interval(groups, [gold is said for gold, said in judged]),
        balanced_accuracy=met.balanced_accuracy,
        balanced_interval=balanced_interval(judged, groups),
        precision=_value(met.precision),
        recall=_value(met.recall),
        f1=met.f1,
    )


def _value(share: Share) -> float | None:
    return share.value if share.n else None
