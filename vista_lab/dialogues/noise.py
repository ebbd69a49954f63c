"""Noise in the turn before the last one: right and unrelated, wrong and unrelated, or wrong and related.

Source: KnowMT-Bench, §4.3 and Fig. 9. Only items count whose question a model answers well alone: S_f of .6 at least, and nothing
contradicted. Of their history in a baseline run the last turn is replaced, nothing else. An error counts once a judge, or people,
say that it contradicts the reference answer: an edit may leave it true.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from vista_guard.errors import ConfigError, InputError
from vista_guard.reading.passages import sentence_spans
from vista_lab.dialogues.asking import Past
from vista_lab.dialogues.delivery import delivery
from vista_lab.dialogues.judging import PairJudge
from vista_lab.dialogues.questions import QuestionItem, unrelated
from vista_lab.dialogues.scored import Cohort
from vista_lab.dialogues.settings import NOISES

MASTERED = 0.6
"""S_f from which an item counts as known (§4.3)."""


class WrongAnswer(BaseModel):
    """A reference answer with an error in it: a line of `noise.jsonl`, and an item for the form `knowmt_pairs`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    premise: str
    """The reference answer."""
    claim: str
    """The sentences that are wrong."""
    answer: str
    """The whole answer, wrong."""
    confirmed: bool
    by: str
    """Who decided whether the claim contradicts the premise: a judge's name, or `people`."""


def mastered_items(cohort: Cohort) -> frozenset[str]:
    """Items that the model answers well and without a contradiction."""
    scores = (delivery(answer) for answer in cohort.by_id.values())
    return frozenset(score.id for score in scores if score.s_f >= MASTERED and score.s_h == 0)


async def wrong_answers(
    items: Sequence[QuestionItem], judge: PairJudge, given: Mapping[str, str] | None = None, seed: int = 0
) -> list[WrongAnswer]:
    """Falsified reference answers, each with the judge's verdict; items that no edit fits are left out.

    Args:
        items: of a set; those without a reference answer are left out.
        judge: compares the changed sentences with the reference answer.
        given: wrong answers by item, from people or a model; None makes them by rule.
        seed: random seed of the edits.

    Raises:
        ConfigError: the extra `oasis` is missing, which the rules need.
        BudgetError, JudgeError: the judge gave no verdicts.
    """
    answers = []
    for item in items:
        wrong = _falsify(item.answer, seed) if given is None else given.get(item.id)
        changed = _changed_sentences(wrong, item.answer) if wrong else []
        if not wrong or not changed:
            continue
        verdicts = await judge.judge(item.answer, changed)
        answers.append(
            WrongAnswer(
                id=item.id,
                premise=item.answer,
                claim=" ".join(changed),
                answer=wrong,
                confirmed=any(verdict.contradicts and not verdict.entails for verdict in verdicts),
                by=judge.name,
            )
        )
    return answers


def _falsify(answer: str, seed: int) -> str | None:
    from vista_guard._extras import require

    require("errors made by rule", "lemminflect", "textblob", extra="oasis")
    from vista_lab.oasis.rewriters.falsify import falsify_one_fact

    return falsify_one_fact(answer, [answer], seed) if answer else None


def _changed_sentences(wrong: str, right: str) -> list[str]:
    """Sentences of `wrong` that `right` lacks."""
    originals = {right[span.start : span.end] for span in sentence_spans(right)}
    return [text for span in sentence_spans(wrong) if (text := wrong[span.start : span.end]) not in originals]


def read_wrong(path: Path) -> dict[str, str]:
    """Wrong answers by item: JSON lines of `id` and `answer`, such as a `noise.jsonl`.

    Raises:
        InputError: the file cannot be read, or a line lacks one of them; names it.
    """
    answers: dict[str, str] = {}
    try:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            row = json.loads(line) if line.strip() else None
            if row is not None and not (
                isinstance(row, dict) and all(isinstance(row.get(k), str) for k in ("id", "answer"))
            ):
                raise InputError(f"{path}, line {number} lacks id or answer; give wrong answers as {{id, answer}}")
            answers |= {row["id"]: row["answer"]} if row else {}
    except (OSError, ValueError) as exc:
        raise InputError(f"{path} cannot be read: {exc}; give JSON lines of id and answer") from exc
    return answers


def apply_reviews(errors: Sequence[WrongAnswer], contradicted: Mapping[str, bool]) -> list[WrongAnswer]:
    """The errors with people's verdicts in place of the judge's, where there are any."""
    return [
        one.model_copy(update={"confirmed": contradicted[one.id], "by": "people"}) if one.id in contradicted else one
        for one in errors
    ]


def read_noise(text: str, where: Path) -> list[WrongAnswer]:
    """The lines of a run's `noise.jsonl`.

    Raises:
        ConfigError: a line is invalid.
    """
    try:
        return [WrongAnswer.model_validate_json(line) for line in text.splitlines()]
    except ValidationError as exc:
        raise ConfigError(
            f"{where} is no file of wrong answers: {exc.errors()[0]['msg']}; choose another --out"
        ) from exc


def fingerprint(errors: Sequence[WrongAnswer], baseline: Mapping[str, Mapping[str, Past]]) -> str:
    """SHA-256 of the noise's inputs: the wrong answers, and each model's history."""
    parts = [
        [one.model_dump() for one in errors],
        {model: dict(sorted(own.items())) for model, own in baseline.items()},
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def noisy_histories(
    items: Sequence[QuestionItem], known: frozenset[str], history: Mapping[str, Past], errors: Sequence[WrongAnswer]
) -> dict[str, dict[str, Past]]:
    """Turns before the last by kind of noise and item, of items that the model knows and whose own answer has an error.

    Args:
        items: of the set.
        known: items that the model answers well alone.
        history: the model's turns in the baseline, by item.
        errors: only confirmed ones are used.
    """
    wrong = {error.id: error.answer for error in errors if error.confirmed}
    pool = [item for item in items if item.id in wrong]
    histories: dict[str, dict[str, Past]] = {kind: {} for kind in NOISES}
    for item in pool:
        before = len(item.questions) - 1
        own = history.get(item.id, ())
        if item.id not in known or before < 1 or len(own) < before or len(pool) < 2:
            continue
        other = unrelated(pool, item, "noise")
        turns = {
            "irrelevant": (other.single, other.answer),
            "irrelevant-error": (other.single, wrong[other.id]),
            "relevant-error": (item.questions[-2], wrong[item.id]),
        }
        for kind, turn in turns.items():
            histories[kind][item.id] = (*own[: before - 1], turn)
    return histories
