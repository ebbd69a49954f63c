"""Uses of a consensus on claims: a log to judge, labels to calibrate with, gold for runs, and the paper's Table 7."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from vista_guard.errors import InputError
from vista_guard.policy.turn_risk import SAFE
from vista_guard.types import Conversation, Label, Turn
from vista_lab.metrics.detection import UNSAFE, UNVERIFIABLE, Detection, has_any_label
from vista_lab.metrics.intervals import Share
from vista_lab.people.agreeing import SettledTurn
from vista_lab.people.forms import load_form
from vista_lab.people.study import StudyData, StudyTurn, document_texts
from vista_lab.runs.folder import GoldLine, TurnName
from vista_lab.tables.output import find_folders
from vista_lab.tables.runs import Measured, read_measured

LOG, LABELS = "consensus.json", "labels.jsonl"

ORIGINAL = {True: "hallucinated", False: "faithful"}
"""What the reference format calls a turn that its documents do not carry, and one that they do."""


def log(settled: Sequence[SettledTurn], data: StudyData) -> str:
    """A log in the reference format, a list with one conversation a line: whole, with the consensus at the turns that have one.

    Conversations without any such turn are left out. Claims are named by their place, as the format's reader names them.
    """
    by_talk: dict[str, dict[int, SettledTurn]] = {}
    for one in settled:
        if one.settled:
            turn = data.turns[one.turn.id]
            by_talk.setdefault(turn.talk, {})[turn.turn_index] = one
    lines = (_line(talk, data.conversations[talk], turns, data) for talk, turns in by_talk.items())
    return "[\n" + ",\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n]\n"


def labels(settled: Sequence[SettledTurn], data: StudyData) -> str:
    """People's word for `vista-guard calibrate`, on reports over the log above, judged with its own claims."""
    lines = (line for one in settled if one.settled for line in _words(one, data.turns[one.turn.id]))
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _line(
    talk: str, conversation: Conversation, settled: Mapping[int, SettledTurn], data: StudyData
) -> list[dict[str, Any]]:
    turns = [_turn(turn) for turn in conversation.turns]
    for index, one in settled.items():
        turns[index] |= _annotated(one, data.turns[one.turn.id]) | {"conversation_id": talk}
    return turns


def _turn(turn: Turn) -> dict[str, Any]:
    documents = document_texts(turn)
    return {"role": str(turn.role), "utterance": turn.text, **({"retrieved_document": documents} if documents else {})}


def _annotated(one: SettledTurn, turn: StudyTurn) -> dict[str, Any]:
    said = {"label": turn.label} if turn.label is not None else {}
    word = {"original_dataset_label": ORIGINAL[turn.positive]} if turn.positive is not None else {}
    words = load_form("vista")  # the reference format has the paper's words, whatever form was filled in
    claims = [{"claim_text": claim.text, "human_judgement": words.word_for(claim.label)} for claim in one.claims]
    return {**said, **word, "human_claims": claims, "settled_by": str(one.method)}


def _words(one: SettledTurn, turn: StudyTurn) -> Iterator[dict[str, Any]]:
    where = {"conversation_id": turn.talk, "turn_index": turn.turn_index}
    yield {**where, "fine": all(claim.label in SAFE for claim in one.claims)}
    for number, claim in enumerate(one.claims, 1):
        yield {**where, "claim_id": f"t{turn.turn_index}.c{number}", "fine": claim.label in SAFE}


# Runs held against the consensus (Figure 2)


def measure_runs(places: Sequence[Path], settled: Sequence[SettledTurn], data: StudyData) -> list[Measured]:
    """Runs over the study's data sets, or over its consensus as a log, with both kinds of gold, and of no other turns.

    Raises:
        ConfigError: a folder is no run.
        InputError: a run judged none of the turns that have a label of their data set and a consensus.
    """
    both = [(one, data.turns[one.turn.id]) for one in settled if one.settled]
    known = [(one, turn) for one, turn in both if turn.positive is not None and one.claims]
    if not known:
        raise InputError(
            "no turn has both a label of its data set and a consensus, so runs cannot be compared with people"
        )
    return [_measure_run(read_measured(folder, name), known) for name, folder in find_folders(places).items()]


def _measure_run(run: Measured, known: Sequence[tuple[SettledTurn, StudyTurn]]) -> Measured:
    gold = {_place(turn, run): _gold(one, turn, run) for one, turn in known if run.data_set in (LOG, turn.data_set)}
    kept: Mapping[TurnName, GoldLine] = {name: line for name, line in gold.items() if name in run.gold}
    if not kept:
        raise InputError(
            f"{run.name} judged {run.data_set}, where no turn has both a label of its data set and a consensus; give runs "
            f"over the study's data sets or over {LOG}"
        )
    reports = {name: report for name, report in run.reports.items() if name in kept}
    return replace(run, gold=kept, reports=reports)


def _place(turn: StudyTurn, run: Measured) -> TurnName:
    return (turn.conversation_id if run.data_set == turn.data_set else turn.talk), turn.turn_index


def _gold(one: SettledTurn, turn: StudyTurn, run: Measured) -> GoldLine:
    talk, index = _place(turn, run)
    claims = {f"t{index}.c{number}": claim.label for number, claim in enumerate(one.claims, 1)}
    return GoldLine(conversation_id=talk, turn_index=index, label=turn.label, positive=turn.positive, claims=claims)


# Turns by the data set's label and the consensus (Table 7)


class Category(StrEnum):
    """Where a turn stands, by the data set's label and the consensus. The paper's names."""

    VERIFIED = "1. Verified (agreed)"
    UNVERIFIABLE = "2. Unverifiable (agreed)"
    MISSED = "3. Missed Hallucination"
    """The data set lets it pass; people find a claim contradicted or lacking evidence."""
    MISHANDLED = "4. Mishandled Abstentions and Out-of-Scope"
    """The data set lets it pass; people find claims out of scope or abstentions, and nothing worse."""
    CONTEXT = "5. Verifiable from dialogue context"
    """The data set has it as unverifiable; people find each claim verified."""
    DISFLUENT = "6. Disfluent text"
    """Such a turn, whose text somebody marked as disfluent: that is told by hand."""


@dataclass(frozen=True)
class CategorizedTurn:
    """One turn and its category."""

    turn_id: str
    label: str
    category: Category


@dataclass(frozen=True)
class Transitions:
    """Turns that have a label of their data set and a consensus. `found` takes the data sets' labels as gold."""

    turns: Sequence[CategorizedTurn]

    @property
    def counts(self) -> Mapping[Category, int]:
        """By category, all six."""
        met = Counter(turn.category for turn in self.turns)
        return {category: met[category] for category in Category}

    @property
    def detection(self) -> Detection:
        """The consensus as what was found of the data sets' positives, read strictly."""
        met = self.counts
        back = met[Category.CONTEXT] + met[Category.DISFLUENT]
        newly = met[Category.MISSED] + met[Category.MISHANDLED]
        return Detection(tp=met[Category.UNVERIFIABLE], fp=newly, fn=back, tn=met[Category.VERIFIED])

    @property
    def divergence(self) -> Share:
        """Turns that people see in another way than the data set."""
        return Share(self.detection.fp + self.detection.fn, self.detection.turns)

    @property
    def newly_unverifiable(self) -> Share:
        """Of these, the turns that people call unverifiable."""
        return Share(self.detection.fp, self.divergence.hits)


def transitions(
    turns: Sequence[tuple[str, str, bool, Collection[Label]]], disfluent: Collection[str] = ()
) -> Transitions:
    """Sorts turns, of each its id, the data set's word, whether that calls it unverifiable, and its claims' labels by people."""
    sorted_turns = [
        CategorizedTurn(name, word, category(positive, labels, name in disfluent))
        for name, word, positive, labels in turns
    ]
    return Transitions(sorted_turns)


def category(positive: bool, labels: Collection[Label], disfluent: bool = False) -> Category:
    """Where a turn stands.

    Examples:
        >>> category(False, [Label.VERIFIED, Label.OUT_OF_SCOPE]).value
        '4. Mishandled Abstentions and Out-of-Scope'
    """
    if has_any_label(labels, UNVERIFIABLE):
        if positive:
            return Category.UNVERIFIABLE
        return Category.MISSED if has_any_label(labels, UNSAFE) else Category.MISHANDLED
    if not positive:
        return Category.VERIFIED
    return Category.DISFLUENT if disfluent else Category.CONTEXT


def label_counts(settled: Sequence[SettledTurn]) -> Mapping[Label, int]:
    """Labels of all claims of the consensus (Table 1), all five."""
    met = Counter(claim.label for one in settled for claim in one.claims)
    return {label: met[label] for label in Label}
