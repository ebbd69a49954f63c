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
from vista_lab.annotate.claims import SettledTurn
from vista_lab.annotate.forms import load_form
from vista_lab.annotate.study import StudyData, StudyTurn, document_texts
from vista_lab.metrics.detection import UNSAFE, UNVERIFIABLE, Detection, has_any_label
from vista_lab.metrics.intervals import Share
from vista_lab.runs.folder import GoldLine, TurnName
from vista_lab.tables.output import find_folders
from vista_lab.tables.runs import RunMeasures, read_measured

LOG, LABELS = "consensus.json", "labels.jsonl"

ORIGINAL = {True: "hallucinated", False: "faithful"}
"""The reference format's words for a turn without and with support in its documents."""


def log(settled: Sequence[SettledTurn], data: StudyData) -> str:
    """A log in the reference format, one whole conversation per line, with the consensus at the turns that have one.

    Conversations without such a turn are left out. Claim ids are the places of claims, as the format's reader assigns them.
    """
    by_talk: dict[str, dict[int, SettledTurn]] = {}
    for consensus in settled:
        if consensus.settled:
            turn = data.turns[consensus.id]
            by_talk.setdefault(turn.talk, {})[turn.turn_index] = consensus
    lines = (_line(talk, data.conversations[talk], turns, data) for talk, turns in by_talk.items())
    return "[\n" + ",\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n]\n"


def labels(settled: Sequence[SettledTurn], data: StudyData) -> str:
    """People's labels for `vista-guard calibrate`, on reports over the log above, judged with its own claims."""
    lines = (line for one in settled if one.settled for line in _label_lines(one, data.turns[one.id]))
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def _line(
    talk: str, conversation: Conversation, settled: Mapping[int, SettledTurn], data: StudyData
) -> list[dict[str, Any]]:
    turns = [_turn(turn) for turn in conversation.turns]
    for index, consensus in settled.items():
        turns[index] |= _annotation(consensus, data.turns[consensus.id]) | {"conversation_id": talk}
    return turns


def _turn(turn: Turn) -> dict[str, Any]:
    documents = document_texts(turn)
    return {"role": str(turn.role), "utterance": turn.text, **({"retrieved_document": documents} if documents else {})}


def _annotation(consensus: SettledTurn, turn: StudyTurn) -> dict[str, Any]:
    label = {"label": turn.label} if turn.label is not None else {}
    original = {"original_dataset_label": ORIGINAL[turn.positive]} if turn.positive is not None else {}
    form = load_form("vista")  # the reference format has the paper's words, whatever form was filled in
    claims = [{"claim_text": claim.text, "human_judgement": form.word_for(claim.label)} for claim in consensus.claims]
    return {**label, **original, "human_claims": claims, "settled_by": str(consensus.method)}


def _label_lines(consensus: SettledTurn, turn: StudyTurn) -> Iterator[dict[str, Any]]:
    where = {"conversation_id": turn.talk, "turn_index": turn.turn_index}
    yield {**where, "fine": all(claim.label in SAFE for claim in consensus.claims)}
    for number, claim in enumerate(consensus.claims, 1):
        yield {**where, "claim_id": f"t{turn.turn_index}.c{number}", "fine": claim.label in SAFE}


# Runs against the consensus (Figure 2)


def measure_runs(places: Sequence[Path], settled: Sequence[SettledTurn], data: StudyData) -> list[RunMeasures]:
    """Runs over the study's data sets, or over its consensus as a log, limited to turns with both kinds of gold.

    Where no turn has a label of its data set, the consensus alone is gold.

    Raises:
        ConfigError: a folder is no run.
        InputError: a run judged none of these turns, or there are none.
    """
    agreed = [(one, data.turns[one.id]) for one in settled if one.settled and one.claims]
    known = [(consensus, turn) for consensus, turn in agreed if turn.positive is not None] or agreed
    if not known:
        raise InputError(
            "no turn has a consensus on its claims yet: fill in the discuss sheet, and give it with --settled"
        )
    return [_measure_run(read_measured(folder, name), known) for name, folder in find_folders(places).items()]


def _measure_run(run: RunMeasures, known: Sequence[tuple[SettledTurn, StudyTurn]]) -> RunMeasures:
    gold = {_place(turn, run): _gold(one, turn, run) for one, turn in known if run.data_set in (LOG, turn.data_set)}
    kept: Mapping[TurnName, GoldLine] = {name: line for name, line in gold.items() if name in run.gold}
    if not kept:
        why = f"{run.data_set}, and none of the {len(known):,} turns with a consensus"
        raise InputError(f"{run.name} judged {why}; give runs over the study's data sets or over {LOG}")
    reports = {name: report for name, report in run.reports.items() if name in kept}
    return replace(run, gold=kept, reports=reports)


def _place(turn: StudyTurn, run: RunMeasures) -> TurnName:
    return (turn.conversation_id if run.data_set == turn.data_set else turn.talk), turn.turn_index


def _gold(consensus: SettledTurn, turn: StudyTurn, run: RunMeasures) -> GoldLine:
    talk, index = _place(turn, run)
    claims = {f"t{index}.c{number}": claim.label for number, claim in enumerate(consensus.claims, 1)}
    return GoldLine(conversation_id=talk, turn_index=index, label=turn.label, positive=turn.positive, claims=claims)


# Turns by the data set's label and the consensus (Table 7)


class Category(StrEnum):
    """A turn's category, by the data set's label and the consensus. The paper's names."""

    VERIFIED = "1. Verified (agreed)"
    UNVERIFIABLE = "2. Unverifiable (agreed)"
    MISSED = "3. Missed Hallucination"
    """The data set lets it pass; people find a claim contradicted or lacking evidence."""
    MISHANDLED = "4. Mishandled Abstentions and Out-of-Scope"
    """The data set lets it pass; people find claims out of scope or abstentions, and nothing worse."""
    CONTEXT = "5. Verifiable from dialogue context"
    """The data set has it as unverifiable; people find each claim verified."""
    DISFLUENT = "6. Disfluent text"
    """As 5, but somebody marked the text as disfluent, by hand."""


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
        """Turns by category, all six."""
        met = Counter(turn.category for turn in self.turns)
        return {category: met[category] for category in Category}

    @property
    def detection(self) -> Detection:
        """The consensus as a detector of the data sets' positives, read strictly."""
        counts = self.counts
        back = counts[Category.CONTEXT] + counts[Category.DISFLUENT]
        newly = counts[Category.MISSED] + counts[Category.MISHANDLED]
        return Detection(tp=counts[Category.UNVERIFIABLE], fp=newly, fn=back, tn=counts[Category.VERIFIED])

    @property
    def divergence(self) -> Share:
        """Turns where people disagree with the data set."""
        return Share(self.detection.fp + self.detection.fn, self.detection.turns)

    @property
    def newly_unverifiable(self) -> Share:
        """Share of the diverging turns that people call unverifiable."""
        return Share(self.detection.fp, self.divergence.hits)


def transitions(
    turns: Sequence[tuple[str, str, bool, Collection[Label]]], disfluent: Collection[str] = ()
) -> Transitions:
    """Sorts turns into categories. Each has its id, the data set's label, whether that is unverifiable, and people's labels."""
    known = ((name, word, category(bad, labels, name in disfluent)) for name, word, bad, labels in turns)
    return Transitions([CategorizedTurn(*turn) for turn in known])


def category(positive: bool, labels: Collection[Label], disfluent: bool = False) -> Category:
    """The category of a turn.

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
    """Number of the consensus claims by label (Table 1), all five labels."""
    counts = Counter(claim.label for consensus in settled for claim in consensus.claims)
    return {label: counts[label] for label in Label}
