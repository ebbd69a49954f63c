"""Agreement of a judge of pairs with people, and of people with each other (KnowMT-Bench, App. D.3).

Pairs come from a run, for annotators to mark, or with people's labels: a table with columns `label_…`, as K-QA's, or the
consensus of `vista-guard agree`.
"""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean
from typing import Any

from vista_guard.errors import InputError
from vista_lab.dialogues.abstaining import statements_of
from vista_lab.dialogues.delivery import smape
from vista_lab.dialogues.judging import PairJudge, PairVerdict, scored_answers
from vista_lab.dialogues.questions import QuestionItem
from vista_lab.dialogues.records import STATEMENTS, STATEMENTS_LINES, AnswerLine, read_lines
from vista_lab.files import reading
from vista_lab.metrics.agreement import cohen_kappa, fleiss_kappa, majority

ENTAILMENT, NEUTRAL, CONTRADICTION = "entailment", "neutral", "contradiction"
LABELS = (ENTAILMENT, NEUTRAL, CONTRADICTION)
_SHORT = {"e": ENTAILMENT, "n": NEUTRAL, "c": CONTRADICTION, **{label: label for label in LABELS}}


@dataclass(frozen=True)
class LabelledPair:
    """A premise, a claim and people's labels: one each, or only their consensus."""

    id: str
    premise: str
    claim: str
    labels: tuple[str, ...]

    @property
    def majority(self) -> str | None:
        """The label of more than half; None without a majority."""
        return majority(self.labels)


@dataclass(frozen=True)
class JudgeValidation:
    """A judge against people's majority.

    Attributes:
        pairs: pairs with a majority.
        unjudged: pairs that the judge left open, or found both entailed and contradicted; they are wrong in every figure.
        accuracy, precision, recall, f1: the last three are means over the labels, weighted by people's counts (Table 6; recall
            then equals accuracy).
        fleiss: Fleiss' kappa of people; None with fewer than two.
        cohen: Cohen's kappa of each two people.
        against_majority: Cohen's kappa of each person with the majority.
        counts: pairs by their majority label.
        hits: True for each pair that the judge has right.
    """

    pairs: int
    unjudged: int
    accuracy: float
    precision: float
    recall: float
    f1: float
    fleiss: float | None
    cohen: tuple[float | None, ...]
    against_majority: tuple[float | None, ...]
    counts: Mapping[str, int]
    hits: Mapping[str, bool]


@dataclass(frozen=True)
class ModelTests:
    """Tests for differences of a figure between models (Tables 7 and 8).

    Attributes:
        means: means of the figure, by model.
        h, p: Kruskal-Wallis test over all models.
        pairs: two models, p of the Mann-Whitney U test (two-sided), and its effect size r = |z| / √n.
    """

    means: Mapping[str, float]
    h: float
    p: float
    pairs: tuple[tuple[str, str, float, float], ...]


def model_tests(values: Mapping[str, Sequence[float]]) -> ModelTests | None:
    """Tests a figure of answers by different models; None with fewer than two models, or if all values are the same.

    Examples:
        >>> model_tests({"a": [1.0, 1.0, 0.0], "b": [0.0, 0.0, 1.0]}).pairs[0][:2]
        ('a', 'b')
    """
    if len(values) < 2 or len({value for own in values.values() for value in own}) < 2:
        return None
    from scipy.stats import kruskal, mannwhitneyu, norm  # type: ignore[import-untyped]

    whole = kruskal(*values.values())
    pairs = []
    for (one, first), (other, second) in combinations(values.items(), 2):
        p = float(mannwhitneyu(first, second, alternative="two-sided", method="asymptotic").pvalue)
        pairs.append((one, other, p, float(norm.isf(min(p, 1.0) / 2)) / (len(first) + len(second)) ** 0.5))
    means = {name: fmean(own) for name, own in values.items()}
    return ModelTests(means, float(whole.statistic), float(whole.pvalue), tuple(pairs))


@dataclass(frozen=True)
class DecomposerValidation:
    """A decomposer against people's counts: SMAPE in [0, 2], omission rate, both also by model."""

    answers: int
    smape: float
    omitted: float
    by_model: Mapping[str, tuple[float, float]]
    tests: ModelTests | None
    """Tests of the answers' SMAPE."""


def read_labelled(path: Path) -> list[LabelledPair]:
    """Pairs with people's labels: a CSV with `premise` (or `answer`), `claim` and `label_…`, or a consensus of `knowmt_pairs`.

    Raises InputError if the file cannot be read, or a row has no premise, claim or known label; names the row.
    """
    with reading(path):
        text = path.read_text(encoding="utf-8-sig")
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    pairs = [_read_pair(row, f"{path.name} row {number}", str(number)) for number, row in enumerate(rows, 2)]
    if not pairs:
        raise InputError(f"{path} has no pairs; give a CSV with premise, claim and label_0, label_1, …")
    if len({len(pair.labels) for pair in pairs}) > 1:
        raise InputError(f"{path}: rows have different numbers of labels; each annotator labels each pair")
    return pairs


def _read_pair(row: Mapping[str | None, str | None], where: str, name: str) -> LabelledPair:
    premise, claim = row.get("premise") or row.get("answer"), row.get("claim")
    cells = [(head, value) for head, value in row.items() if head and head.startswith("label_") and value]
    labels = tuple(_SHORT.get(str(value).strip().casefold(), "") for _, value in cells)
    if not premise or not claim or not labels:
        raise InputError(f"{where} lacks {'premise' if not premise else 'claim' if not claim else 'label_0'}")
    if "" in labels:
        head, value = cells[labels.index("")]
        raise InputError(f"{where}: {head} is {value!r}; known are {', '.join(LABELS)}")
    return LabelledPair(row.get("id") or name, premise, claim, labels)


def read_consensus(path: Path, items: Sequence[Mapping[str, str]]) -> list[LabelledPair]:
    """Pairs of `pairs.jsonl` with people's consensus: the `consensus.jsonl` of `vista-guard agree` on the form `knowmt_pairs`.

    Raises InputError if a file cannot be read, or a label is unknown.
    """
    labels = {name: marks.get("label") for name, marks in _settled_marks(path).items()}
    pairs = []
    for item in items:
        label = labels.get(item["id"])
        if label is not None and label not in LABELS:
            raise InputError(f"{path}, item {item['id']}: label is {label!r}; known are {', '.join(LABELS)}")
        if label is not None:
            pairs.append(LabelledPair(item["id"], item["premise"], item["claim"], (label,)))
    if not pairs:
        raise InputError(f"{path} settles none of the {len(items)} pairs")
    return pairs


def _settled_marks(path: Path) -> dict[str, Mapping[str, Any]]:
    with reading(path, "; give the consensus.jsonl of vista-guard agree"):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    own = (row for row in rows if isinstance(row, dict) and "id" in row and not row.get("open"))
    return {str(row["id"]): row.get("marks", {}) for row in own}


def pairs_of(folder: Path, items: Sequence[QuestionItem], answers: int, seed: int = 0) -> list[dict[str, str]]:
    """Samples pairs of a judged run for people to mark: facts and statements of `answers` answers, over all models and settings.

    Each has `id`, `premise`, `claim` and `model`; an id reveals neither model nor direction, and people don't see the model.
    Raises InputError if the run has no statements.
    """
    known = {item.id: item for item in items}
    rng, pairs = random.Random(seed), []
    for answer, statements in _draw(folder, answers, rng):
        item = known[answer.sample]
        pairs += [(answer.answer or "", fact, answer.model) for fact in item.facts]
        stated = statements_of(answer, statements).values()
        pairs += [(item.answer, text, answer.model) for text in stated if item.answer]
    rng.shuffle(pairs)
    named = enumerate(pairs, 1)
    return [
        {"id": f"p{number:05}", "premise": text, "claim": claim, "model": model}
        for number, (text, claim, model) in named
    ]


def answers_of(folder: Path, answers: int, seed: int = 0) -> list[dict[str, str]]:
    """The answers of `pairs_of`, each with its statements, for people to count (form `knowmt_statements`).

    Raises InputError if the run has no statements.
    """
    rows = []
    for number, (answer, statements) in enumerate(_draw(folder, answers, random.Random(seed)), 1):
        numbered = "\n".join(f"{place}. {text}" for place, text in enumerate(statements, 1))
        row = {"id": f"a{number:04}", "question": answer.question, "answer": answer.said, "statements": numbered}
        rows.append({**row, "model": answer.model, "count": str(len(statements))})
    return rows


def validate_decomposer(path: Path, rows: Sequence[Mapping[str, str]]) -> DecomposerValidation:
    """Compares the statements of `answers_of` (`rows`) with people's counts: `consensus.jsonl` of `knowmt_statements`.

    Raises InputError if the file cannot be read, or counts none of the answers.
    """
    settled = _settled_marks(path).items()
    marks = {name: own for name, own in settled if all(isinstance(own.get(k), int | float) for k in _COUNTS)}
    by: dict[str, list[tuple[float, float, float]]] = {}
    for row in rows:
        if row["id"] in marks:
            count, omitted = (float(marks[row["id"]][k]) for k in _COUNTS)
            by.setdefault(row["model"], []).append((float(row["count"]), count, omitted))
    if not by:
        raise InputError(f"{path} counts the statements of none of the {len(rows)} answers")

    def figures(some: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
        own, counts, omitted = (list(column) for column in zip(*some, strict=True))
        return smape(own, counts), sum(omitted) / (sum(counts) or 1.0)

    whole = figures([one for some in by.values() for one in some])
    each = {model: [smape([own], [count]) for own, count, _ in some] for model, some in by.items()}
    by_model = {model: figures(some) for model, some in by.items()}
    return DecomposerValidation(sum(map(len, by.values())), *whole, by_model, model_tests(each))


_COUNTS = ("count", "omitted")


def _draw(folder: Path, count: int, rng: random.Random) -> list[tuple[AnswerLine, tuple[str, ...]]]:
    """Samples answers of a run with their statements, evenly over models and settings."""
    statements = {line.name: line for line in read_lines(folder / STATEMENTS, STATEMENTS_LINES) if line.failure is None}
    groups: dict[tuple[str, str], list[AnswerLine]] = {}
    for answer in scored_answers(folder):
        if answer.name in statements and answer.said:
            groups.setdefault((answer.model, answer.setting), []).append(answer)
    if not groups:
        raise InputError(f"{folder} has no statements; run vista-guard knowmt judge first")
    for group in groups.values():
        rng.shuffle(group)
    drawn: list[AnswerLine] = []
    while len(drawn) < count and any(groups.values()):
        for group in groups.values():
            if group and len(drawn) < count:
                drawn.append(group.pop())
    return [(answer, statements[answer.name].statements) for answer in drawn]


async def validate(pairs: Sequence[LabelledPair], judge: PairJudge) -> JudgeValidation:
    """Judges the pairs that have a majority, and compares.

    Raises InputError if no pair has a majority; BudgetError or JudgeError if the judge gave no verdicts.
    """
    from sklearn.metrics import precision_recall_fscore_support  # type: ignore[import-untyped]

    settled = [pair for pair in pairs if pair.majority is not None]
    if not settled:
        raise InputError(f"none of {len(pairs)} pairs has a majority")
    verdict_of: dict[str, PairVerdict] = {}
    for premise in dict.fromkeys(pair.premise for pair in settled):
        own = [pair for pair in settled if pair.premise == premise]
        verdicts = await judge.judge(premise, [pair.claim for pair in own])
        verdict_of |= {pair.id: verdict for pair, verdict in zip(own, verdicts, strict=True)}
    gold = [pair.majority or "" for pair in settled]
    predicted = [_label(verdict_of[pair.id]) for pair in settled]
    columns = list(zip(*(pair.labels for pair in settled), strict=True))
    several = len(columns) > 1
    means = precision_recall_fscore_support(gold, predicted, labels=LABELS, average="weighted", zero_division=0)
    precision, recall, f1 = map(float, means[:3])
    return JudgeValidation(
        pairs=len(settled),
        unjudged=predicted.count(""),
        accuracy=fmean(pair == other for pair, other in zip(gold, predicted, strict=True)),
        precision=precision,
        recall=recall,
        f1=f1,
        fleiss=fleiss_kappa([pair.labels for pair in pairs]) if several else None,
        cohen=tuple(cohen_kappa(*two) for two in combinations(zip(*(pair.labels for pair in pairs), strict=True), 2)),
        against_majority=tuple(cohen_kappa(column, gold) for column in columns) if several else (),
        counts={label: gold.count(label) for label in LABELS},
        hits={pair.id: label == own for pair, label, own in zip(settled, gold, predicted, strict=True)},
    )


def _label(verdict: PairVerdict) -> str:
    if verdict.entails is None or verdict.contradicts is None or (verdict.entails and verdict.contradicts):
        return ""
    return ENTAILMENT if verdict.entails else CONTRADICTION if verdict.contradicts else NEUTRAL
