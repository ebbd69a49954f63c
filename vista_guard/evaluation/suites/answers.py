"""What a benchmark comes to: a task's gold and found labels, the figures over them, one line of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

COLUMNS = (
    "set",
    "split",
    "n",
    "task",
    "accuracy",
    "balanced accuracy",
    "macro-F1",
    "F1+",
    "AUC",
    "ECE",
    "majority",
    "floor / aim",
    "threshold policy",
)
HEADER = (f"| {' | '.join(COLUMNS)} |", "|---|---|" + "---:|---|" + "---:|" * 7 + "---|---|")


@dataclass(frozen=True)
class Target:
    """What a figure of a task must reach and should reach; shares in [0, 1]."""

    figure: str
    """A field of `Figures`."""
    floor: float
    aim: float


@dataclass(frozen=True)
class Answers:
    """One task on one set. `gold` and `found` are labels of the task's own kind, in the same order."""

    task: str
    gold: Sequence[str]
    found: Sequence[str]
    policy: str
    """Which threshold was used, and where it was chosen."""
    positive: str | None = None
    """The label that F1+, AUC and ECE are of."""
    scores: Sequence[float] = ()
    """For each row a score of `positive`."""
    calibrated: bool = False
    """Whether `scores` are meant as probabilities: only then has ECE a meaning."""
    targets: tuple[Target, ...] = ()


@dataclass(frozen=True)
class Figures:
    """The figures of a task; None where one does not apply."""

    accuracy: float
    balanced_accuracy: float
    macro_f1: float
    f1: float | None
    auc: float | None
    ece: float | None
    majority: float


def figures(answers: Answers) -> Figures:
    """All that can be said of the answers."""
    from vista_guard.evaluation.metrics import arrays

    gold, found = answers.gold, answers.found
    truth = [label == answers.positive for label in gold]
    return Figures(
        accuracy=arrays.accuracy(gold, found),
        balanced_accuracy=arrays.balanced_accuracy(gold, found),
        macro_f1=arrays.macro_f1(gold, found),
        f1=arrays.f1(gold, found, answers.positive) if answers.positive else None,
        auc=_number(arrays.auc(truth, answers.scores)) if answers.scores else None,
        ece=arrays.calibration_error(truth, answers.scores) if answers.scores and answers.calibrated else None,
        majority=arrays.majority(gold),
    )


def line(name: str, split: str, answers: Answers) -> str:
    """The task's line of the table."""
    found = figures(answers)
    task = f"{answers.task} (F1+, AUC: {answers.positive})" if answers.positive else answers.task
    shares = (
        found.accuracy,
        found.balanced_accuracy,
        found.macro_f1,
        found.f1,
        found.auc,
        found.ece,
        found.majority,
    )
    cells = (
        name,
        split,
        str(len(answers.gold)),
        task,
        *(_share(share) for share in shares),
        "; ".join(_verdict(target, found) for target in answers.targets),
        answers.policy,
    )
    return f"| {' | '.join(cells)} |"


def failure(name: str, split: str, error: Exception) -> str:
    """The line of a set that could not be scored."""
    said = f"failed: {type(error).__name__}: {error}".replace("|", "/").replace("\n", " ")
    return f"| {name} | {split} |  | {said} |" + " |" * 9


def _verdict(target: Target, found: Figures) -> str:
    value = getattr(found, target.figure)
    floor, aim = ("met" if value >= limit else "missed" for limit in (target.floor, target.aim))
    return f"{target.figure.replace('_', ' ')} ≥ {target.floor:.2f} {floor}, {target.aim:.2f} {aim}"


def _share(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _number(value: float) -> float | None:
    return None if isnan(value) else value
