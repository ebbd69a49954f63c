"""Noise in the turn before the last one: right and unrelated, wrong and unrelated, or wrong and related.

Source: KnowMT-Bench, §4.3 and Fig. 9: only the content of the previous turn changes. All of it is the model's own: its previous
turn with an error in it, or the previous turn of another item, as it was and with an error. Only items count whose question the
model answers well alone (S_f of .6 at least, nothing contradicted), and whose history tells no fact of the reference. An error
counts once a judge, or people, say that it contradicts what the model said: an edit may leave it true.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from vista_guard.errors import ConfigError, InputError
from vista_guard.reading.passages import sentence_spans
from vista_lab.dialogues.asking import Past
from vista_lab.dialogues.delivery import delivery
from vista_lab.dialogues.judging import PairJudge
from vista_lab.dialogues.questions import QuestionItem, unrelated
from vista_lab.dialogues.scored import Cohort
from vista_lab.dialogues.settings import NOISES
from vista_lab.files import reading

MASTERED = 0.6
"""S_f from which an item counts as known (§4.3)."""
_WORD = re.compile(r"\w+")


class WrongAnswer(BaseModel):
    """A model's answer before the last question, with an error: a line of `noise.jsonl`, an item of the form `knowmt_pairs`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """Item and model."""
    model: str
    item: str
    premise: str
    """The answer as the model gave it."""
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


def tells_a_fact(item: QuestionItem, text: str) -> bool:
    """True if a fact of the item's reference stands in a text, word for word.

    Examples:
        >>> tells_a_fact(QuestionItem("a", (), "", facts=("It closes at six.",)), "Note: it closes at  six, always.")
        True
    """
    words = _plain(text)
    return any(_plain(fact) in words for fact in item.facts)


def _plain(text: str) -> str:
    return f" {' '.join(_WORD.findall(text.casefold()))} "


@dataclass(frozen=True)
class OwnTurns:
    """A model's own turns before the last question, of the items that noise can be put into.

    Attributes:
        turns: by item, of those that the model knows.
        telling: known items that are left out, since their history tells a fact of the reference or asks its question.
    """

    model: str
    items: Sequence[QuestionItem]
    turns: Mapping[str, Past]
    telling: tuple[str, ...]

    @property
    def previous(self) -> Mapping[str, str]:
        """The model's answer to the question before the last, by item."""
        return {name: turns[-1][1] for name, turns in self.turns.items()}


def own_turns(
    model: str, items: Sequence[QuestionItem], known: frozenset[str], history: Mapping[str, Past]
) -> OwnTurns:
    """The turns that noise can be put into.

    Args:
        model: whose turns they are.
        items: of the set.
        known: items that the model answers well alone.
        history: the model's turns in the baseline, by item.
    """
    turns, telling = {}, []
    for item in items:
        before = len(item.questions) - 1
        own = tuple(history.get(item.id, ()))[:before]
        if item.id not in known or before < 1 or len(own) < before:
            continue
        asked = {_plain(question) for question in item.questions[:-1]}
        if _plain(item.questions[-1]) in asked or any(tells_a_fact(item, said) for _, said in own):
            telling.append(item.id)
        else:
            turns[item.id] = own
    return OwnTurns(model, [item for item in items if item.id in turns], turns, tuple(telling))


Given = Mapping[tuple[str, str], str]
"""Wrong answers by model (empty: any) and item."""


async def wrong_answers(
    own: OwnTurns, judge: PairJudge, given: Given | None = None, seed: int = 0
) -> list[WrongAnswer]:
    """The model's previous answers with an error in each, and the judge's verdict on it; those that no edit fits are left out.

    Args:
        own: the model's turns.
        judge: compares the changed sentences with the model's answer.
        given: wrong answers from people or a model; None makes them by rule.
        seed: random seed of the edits.

    Raises:
        ConfigError: the extra `oasis` is missing, which the rules need.
        BudgetError, JudgeError: the judge gave no verdicts.
    """
    answers = []
    for name, right in own.previous.items():
        wrong = _falsify(right, seed) if given is None else given.get((own.model, name), given.get(("", name)))
        changed = _changed_sentences(wrong, right) if wrong else []
        if not wrong or not changed:
            continue
        verdicts = await judge.judge(right, changed)
        wrongs = {"claim": " ".join(changed), "answer": wrong, "premise": right, "item": name, "model": own.model}
        confirmed = any(verdict.contradicts and not verdict.entails for verdict in verdicts)
        answers.append(WrongAnswer(id=f"{name} {own.model}", confirmed=confirmed, by=judge.name, **wrongs))
    return answers


def _falsify(answer: str, seed: int) -> str | None:
    from vista_guard._extras import require

    require("errors made by rule", "lemminflect", "textblob", extra="oasis")
    from vista_lab.oasis.rewriters.falsify import falsify_one_fact

    return falsify_one_fact(answer, [answer], seed) if answer else None


def _changed_sentences(wrong: str, right: str) -> list[str]:
    originals = {right[span.start : span.end] for span in sentence_spans(right)}
    return [text for span in sentence_spans(wrong) if (text := wrong[span.start : span.end]) not in originals]


def read_wrong(path: Path) -> Given:
    """Wrong answers: JSON lines of `id`, an item's, `answer` and, of one of several models, `model`; or a `noise.jsonl`.

    Raises InputError: the file cannot be read, or a line lacks one of them; names it.
    """
    answers: dict[tuple[str, str], str] = {}
    with reading(path, "; give JSON lines of id and answer"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            match json.loads(line.strip() or "null"):
                case None:
                    continue
                case {"item": str(item), "answer": str(answer), **more} | {
                    "id": str(item),
                    "answer": str(answer),
                    **more,
                }:
                    answers[str(more.get("model", "")), item] = answer
                case _:
                    raise InputError(f"{path}, line {number} lacks id or answer; give wrong answers as {{id, answer}}")
    return answers


def apply_reviews(errors: Sequence[WrongAnswer], contradicted: Mapping[str, bool]) -> list[WrongAnswer]:
    """The errors with people's verdicts in place of the judge's, where there are any."""
    return [
        one.model_copy(update={"confirmed": contradicted[one.id], "by": "people"}) if one.id in contradicted else one
        for one in errors
    ]


def read_noise(text: str, where: Path) -> list[WrongAnswer]:
    """The lines of a run's `noise.jsonl`. Raises ConfigError: a line is invalid."""
    with reading(where, "; choose another --out", ConfigError):
        return [WrongAnswer.model_validate_json(line) for line in text.splitlines()]


def fingerprint(errors: Sequence[WrongAnswer], baseline: Mapping[str, Mapping[str, Past]]) -> str:
    """SHA-256 of the noise's inputs: the wrong answers, and each model's history."""
    parts = [[one.model_dump() for one in errors], {name: dict(sorted(own.items())) for name, own in baseline.items()}]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def noisy_histories(own: OwnTurns, errors: Sequence[WrongAnswer]) -> dict[str, dict[str, Past]]:
    """Turns before the last by kind of noise and item; only the turn before the last question differs from the model's own.

    No turn tells a fact of the item's reference. Items without another one to take an unrelated turn from are left out.

    Args:
        own: the model's turns.
        errors: those of this model that are confirmed are used.
    """
    wrong = {error.item: error.answer for error in errors if error.confirmed and error.model == own.model}
    pool = [item for item in own.items if item.id in wrong]
    histories: dict[str, dict[str, Past]] = {kind: {} for kind in NOISES}
    for item in pool:
        others = [other for other in pool if not tells_a_fact(item, f"{own.previous[other.id]}\n{wrong[other.id]}")]
        if item not in others or len(others) < 2:
            continue
        *earlier, (asked, _) = own.turns[item.id]
        other = unrelated(others, item, "noise")
        elsewhere, said = own.turns[other.id][-1]
        turns = {
            "irrelevant": (elsewhere, said),
            "irrelevant-error": (elsewhere, wrong[other.id]),
            "relevant-error": (asked, wrong[item.id]),
        }
        for kind, turn in turns.items():
            histories[kind][item.id] = (*earlier, turn)
    return histories
