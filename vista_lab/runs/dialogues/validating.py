"""How far a judge of pairs agrees with people, and people with each other (KnowMT-Bench, App. D.3).

Pairs come from a run, for annotators to mark, or with labels that people gave: a table with columns `label_…`, as K-QA's, or the
consensus of `vista-guard agree`.
"""

from __future__ import annotations

import csv
import io
import json
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import fmean

from vista_guard.errors import InputError
from vista_lab.datasets.questions import QuestionItem
from vista_lab.metrics.agreement import cohen_kappa, fleiss_kappa
from vista_lab.runs.dialogues.judging import PairJudge, PairVerdict, scored_answers
from vista_lab.runs.dialogues.records import STATEMENTS, STATEMENTS_LINES, AnswerLine, read_lines

ENTAILMENT, NEUTRAL, CONTRADICTION = "entailment", "neutral", "contradiction"
LABELS = (ENTAILMENT, NEUTRAL, CONTRADICTION)
_SHORT = {"e": ENTAILMENT, "n": NEUTRAL, "c": CONTRADICTION, **{label: label for label in LABELS}}


@dataclass(frozen=True)
class LabelledPair:
    """A premise, a claim and what people say of it: a label each, or their consensus alone."""

    id: str
    premise: str
    claim: str
    labels: tuple[str, ...]

    @property
    def majority(self) -> str | None:
        """What more than half say; None where nobody has a majority."""
        label, count = Counter(self.labels).most_common(1)[0]
        return label if 2 * count > len(self.labels) else None


@dataclass(frozen=True)
class Validated:
    """A judge against people's majority.

    Attributes:
        pairs: with a majority.
        unjudged: pairs that the judge left open, or found both entailed and contradicted; they are wrong in every figure.
        accuracy, precision, recall, f1: the last three are means over the labels, weighted by people's counts (Table 6; recall
            then equals accuracy).
        fleiss: of people; None with fewer than two.
        cohen: of each two people.
        against_majority: Cohen's kappa of each with the majority.
        counts: people's majority by label.
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


def read_labelled(path: Path) -> list[LabelledPair]:
    """Pairs with people's labels: a CSV with `premise` (or `answer`), `claim` and `label_…`, or a consensus of `knowmt_pairs`.

    Raises:
        InputError: the file cannot be read, or a row has no premise, claim or known label; names the row.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise InputError(f"{path} cannot be read: {exc}") from exc
    rows = list(csv.DictReader(io.StringIO(text, newline="")))
    found = [_labelled(row, f"{path.name} row {number}", str(number)) for number, row in enumerate(rows, 2)]
    if not found:
        raise InputError(f"{path} has no pairs; give a CSV with premise, claim and label_0, label_1, …")
    if len({len(one.labels) for one in found}) > 1:
        raise InputError(f"{path}: rows have different numbers of labels; each annotator labels each pair")
    return found


def _labelled(row: Mapping[str | None, str | None], where: str, name: str) -> LabelledPair:
    premise, claim = row.get("premise") or row.get("answer"), row.get("claim")
    given = [(head, value) for head, value in row.items() if head and head.startswith("label_") and value]
    labels = tuple(_SHORT.get(str(value).strip().casefold(), "") for _, value in given)
    if not premise or not claim or not labels:
        raise InputError(f"{where} lacks {'premise' if not premise else 'claim' if not claim else 'label_0'}")
    if "" in labels:
        head, value = given[labels.index("")]
        raise InputError(f"{where}: {head} is {value!r}; known are {', '.join(LABELS)}")
    return LabelledPair(row.get("id") or name, premise, claim, labels)


def read_consensus(path: Path, items: Sequence[Mapping[str, str]]) -> list[LabelledPair]:
    """Pairs of `pairs.jsonl` with people's consensus: the `consensus.jsonl` of `vista-guard agree` on the form `knowmt_pairs`.

    Raises:
        InputError: a file cannot be read, or a label is none.
    """
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    except (OSError, ValueError) as exc:
        raise InputError(f"{path} cannot be read: {exc}; give the consensus.jsonl of vista-guard agree") from exc
    said = {
        str(row["id"]): row.get("marks", {}).get("label")
        for row in rows
        if isinstance(row, dict) and "id" in row and not row.get("open")
    }
    found = []
    for item in items:
        label = said.get(item["id"])
        if label is not None and label not in LABELS:
            raise InputError(f"{path}, item {item['id']}: label is {label!r}; known are {', '.join(LABELS)}")
        if label is not None:
            found.append(LabelledPair(item["id"], item["premise"], item["claim"], (label,)))
    if not found:
        raise InputError(f"{path} settles none of the {len(items)} pairs")
    return found


def pairs_of(folder: Path, items: Sequence[QuestionItem], answers: int, seed: int = 0) -> list[dict[str, str]]:
    """Pairs of a run for people to mark: all facts and statements of so many of its answers, mixed.

    Args:
        folder: of a judged run.
        items: of its question set.
        answers: how many are drawn, evenly over models and settings.
        seed: of the draw.

    Returns:
        `id`, `premise` and `claim` of each; an id tells neither model nor direction.

    Raises:
        InputError: the run has no statements.
    """
    known = {item.id: item for item in items}
    statements = {line.name: line for line in read_lines(folder / STATEMENTS, STATEMENTS_LINES) if line.failure is None}
    whole = [one for one in scored_answers(folder) if one.name in statements]
    if not whole:
        raise InputError(f"{folder} has no statements; run vista-guard knowmt judge first")
    rng, found = random.Random(seed), []
    for answer in _drawn(whole, answers, rng):
        item = known[answer.sample]
        found += [(answer.answer or "", fact) for fact in item.facts]
        found += [(item.answer, text) for text in statements[answer.name].statements if item.answer]
    rng.shuffle(found)
    return [
        {"id": f"p{number:05}", "premise": premise, "claim": claim} for number, (premise, claim) in enumerate(found, 1)
    ]


def _drawn(answers: Sequence[AnswerLine], count: int, rng: random.Random) -> list[AnswerLine]:
    groups: dict[tuple[str, str], list[AnswerLine]] = {}
    for one in answers:
        groups.setdefault((one.model, one.setting), []).append(one)
    for group in groups.values():
        rng.shuffle(group)
    found: list[AnswerLine] = []
    while len(found) < count and any(groups.values()):
        for group in groups.values():
            if group and len(found) < count:
                found.append(group.pop())
    return found


async def validate(pairs: Sequence[LabelledPair], judge: PairJudge) -> Validated:
    """Judges the pairs that have a majority, and compares.

    Raises:
        InputError: no pair has a majority.
        BudgetError, JudgeError: the judge gave no verdicts.
    """
    settled = [one for one in pairs if one.majority is not None]
    if not settled:
        raise InputError(f"none of {len(pairs)} pairs has a majority")
    said: dict[str, PairVerdict] = {}
    by_premise: dict[str, list[LabelledPair]] = {}
    for one in settled:
        by_premise.setdefault(one.premise, []).append(one)
    for premise, own in by_premise.items():
        verdicts = await judge.judge(premise, [one.claim for one in own])
        said |= {one.id: verdict for one, verdict in zip(own, verdicts, strict=True)}
    gold = [one.majority or "" for one in settled]
    found = [_label(said[one.id]) for one in settled]
    columns = list(zip(*(one.labels for one in settled), strict=True))
    several = len(columns) > 1
    each = [_precision_recall(gold, found, label) for label in LABELS]
    weights = [gold.count(label) for label in LABELS]
    return Validated(
        pairs=len(settled),
        unjudged=found.count(""),
        accuracy=fmean(one == other for one, other in zip(gold, found, strict=True)),
        precision=_weighted([one[0] for one in each], weights),
        recall=_weighted([one[1] for one in each], weights),
        f1=_weighted([one[2] for one in each], weights),
        fleiss=fleiss_kappa([one.labels for one in pairs]) if several else None,
        cohen=tuple(cohen_kappa(*two) for two in combinations(zip(*(one.labels for one in pairs), strict=True), 2)),
        against_majority=tuple(cohen_kappa(column, gold) for column in columns) if several else (),
        counts={label: gold.count(label) for label in LABELS},
    )


def _label(verdict: PairVerdict) -> str:
    if verdict.entails is None or verdict.contradicts is None or (verdict.entails and verdict.contradicts):
        return ""
    return ENTAILMENT if verdict.entails else CONTRADICTION if verdict.contradicts else NEUTRAL


def _precision_recall(gold: Sequence[str], found: Sequence[str], label: str) -> tuple[float, float, float]:
    right = sum(one == other == label for one, other in zip(gold, found, strict=True))
    precision = right / found.count(label) if label in found else 0.0
    recall = right / gold.count(label) if label in gold else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if right else 0.0


def _weighted(values: Sequence[float], weights: Sequence[int]) -> float:
    return sum(value * weight for value, weight in zip(values, weights, strict=True)) / sum(weights)
