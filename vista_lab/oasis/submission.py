"""Verdicts of a run in the submission format of LLM-OASIS: `{"id", "factual"}`, a JSON line for each text or claim.

The released gold is blind (§4.2): rows are judged here and scored by the publishers. A text is factual if all its claims are
verified, also if it has none (Algorithm 1); the latter are counted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vista_guard.errors import InputError
from vista_lab.metrics.detection import Reading, has_any_label, labels_of, target_labels
from vista_lab.runs.folder import TurnName, read_evaluation, read_gold, read_run_reports


@dataclass(frozen=True)
class Submission:
    """Verdicts by the publisher's id, in the order of the data. `silent` of them made no claim."""

    factual: Mapping[str, bool]
    silent: int

    @property
    def text(self) -> str:
        """The submission as JSON lines."""
        lines = ({"id": name, "factual": value} for name, value in self.factual.items())
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def read_submission(folder: Path) -> Submission:
    """The verdicts of a run.

    Raises ConfigError if the folder is no run; InputError if a file of it cannot be read, a conversation has several turns, or
    turns have no verdict: says how many and names the first.
    """
    _, rows = read_evaluation(folder)
    gold = read_gold(folder, rows.turns)
    wanted = target_labels(Reading.ORIGINAL, rows.task)
    predicted: dict[TurnName, bool | None] = dict.fromkeys(gold)
    silent = 0
    for report in read_run_reports(folder, gold):
        name = report.conversation_id or "", report.turn_index
        predicted[name] = has_any_label(labels_of(report.outcomes), wanted)
        silent += not report.outcomes
    open_turns = [name for name, flagged in predicted.items() if flagged is None]
    if open_turns:
        raise InputError(
            f"{folder}: {len(open_turns):,} of {len(predicted):,} turns have no verdict, the first is {open_turns[0][0]}; a "
            "submission needs all. Rerun vista-guard eval for the missing; delete the reports of unchecked turns to ask again"
        )
    verdicts = {name[0]: not flagged for name, flagged in predicted.items()}
    if len(verdicts) < len(predicted):
        raise InputError(
            f"{folder} has conversations of several turns; a submission has one verdict for each text or claim"
        )
    return Submission(verdicts, silent)
