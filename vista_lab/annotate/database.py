"""Imports annotations into the dashboard's database, and reads them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from vista_guard.errors import InputError
from vista_guard.protocols import Embedder
from vista_guard.stores.reports import Database, ReportReader
from vista_guard.types import Role, TurnTexts
from vista_lab.annotate.agreeing import AnnotatedTurn, SettledTurn, annotated_turn, match, of_sheets
from vista_lab.annotate.batches import Batches, CompleteTask, Condition, FinishedTurn
from vista_lab.annotate.forms import Item
from vista_lab.annotate.sheets import FilledSheet
from vista_lab.annotate.study import StudyData
from vista_lab.metrics.agreement import answers, compare, method_of
from vista_lab.metrics.claim_sets import Same

WHO = "import"
"""The creator of imported batches, who also settles turns with nothing to discuss."""


@dataclass(frozen=True)
class SettledBatch:
    """A batch in the database: turns that all annotators submitted, and their consensus in the dashboard.

    `left_out` counts turns that are excluded, since an annotator saw the judge's labels.
    """

    turns: Sequence[AnnotatedTurn]
    settled: Mapping[str, SettledTurn]
    left_out: int


@dataclass(frozen=True)
class TakenIn:
    """Number of imported turns, and of their reports that are new to the database."""

    turns: int
    reports: int


def import_sheets(
    database: Database, batch: str, sheets: Sequence[FilledSheet], data: StudyData, embedder: Embedder | None = None
) -> TakenIn:
    """Imports sheets as a batch of finished work: all of it, or nothing.

    Turns with nothing to discuss are settled at once, as the dashboard does when the last annotator submits. The embedder
    matches claims, see `match`.

    Raises:
        InputError: claims came from no run, so that there are no reports to annotate; nobody annotated anything; or the batch
            exists already.
        StoreError: the database cannot be written.
    """
    items = [item for item in data.items if any(item.id in sheet.answers for sheet in sheets)]
    lost = next((item for item in items if item.id not in data.reports), None)
    if lost is not None:
        advice = "judge them (vista-guard eval … --claims given) and export the study with --run"
        raise InputError(f"turn {lost.id} has no report: no run judged the study's claims; {advice}")
    if not items:
        raise InputError("every sheet is empty; fill in at least one turn to import")
    batches, form = Batches(database), data.study.form
    finished = [_finished_turn(item, sheets, data) for item in items]
    condition = Condition.SUGGESTIONS if data.study.shown else Condition.BLIND
    reports = batches.take_in(batch, form, finished, who=WHO, about=data.study.about, condition=condition)
    how = match(of_sheets(sheets, data), embedder)
    for task in batches.complete(batch):
        if len(task.drafts) > 1:  # one person alone settles nothing
            settle_if_agreed(batches, task, how.versions, WHO)
    return TakenIn(len(items), reports)


def settle_if_agreed(batches: Batches, task: CompleteTask, steps: Sequence[Same], who: str) -> None:
    """Settles a turn that leaves nothing to discuss. `steps` say which claims are one, as for `groups`."""
    items = compare(task.kept, steps)
    method = method_of(items)
    if task.consensus is None and method is not None:
        batches.settle(task.id, answers(items), method=method, who=who)


def _finished_turn(item: Item, sheets: Sequence[FilledSheet], data: StudyData) -> FinishedTurn:
    turn, report = data.turns[item.id], data.reports[item.id]
    talk = data.conversations[turn.talk]
    reply = talk.turns[turn.turn_index]
    question = next((one.text for one in reversed(talk.turns[: turn.turn_index]) if one.role is Role.USER), None)
    draft = None if report.response == reply.text else reply.text
    texts = TurnTexts(user_text=question, draft=draft, documents=reply.documents)
    by = {sheet.annotator: sheet.answers[item.id] for sheet in sheets if item.id in sheet.answers}
    return FinishedTurn(report, texts, replace(item, id=report.id, texts={}), by)


def take(database: Database, batch: str, data: StudyData | None) -> SettledBatch:
    """The annotators' work on a batch, from the dashboard or from imported sheets.

    With a study, turns have its ids, else those of their reports.

    Raises:
        InputError: the batch does not exist, has no turn that all of its annotators submitted, or belongs to another study.
        StoreError: the database cannot be read.
    """
    batches = Batches(database)
    known = [one.name for one in batches.all()]
    if batch not in known:
        raise InputError(f"batch {batch!r} does not exist; there are {', '.join(known) or 'none'}")
    tasks = batches.complete(batch)
    shown = data is not None and data.study.shown
    kept = [task for task in tasks if shown or task.blind]
    if not kept:
        raise InputError(
            f"batch {batch!r} has no turn that all of its annotators submitted blind; agreement needs at least one"
        )
    turns = _turns(database, batch, kept, data)
    decided = ((turn, task.consensus) for task, turn in zip(kept, turns, strict=True) if task.consensus is not None)
    settled = {turn.id: SettledTurn(turn, consensus.claims, consensus.method) for turn, consensus in decided}
    return SettledBatch(turns, settled, len(tasks) - len(kept))


def _turns(
    database: Database, batch: str, tasks: Sequence[CompleteTask], data: StudyData | None
) -> list[AnnotatedTurn]:
    ids = {turn.report_id: turn for turn in data.study.turns} if data is not None else {}
    reports = ReportReader(database).many([task.item.id for task in tasks])
    turns = []
    for task in tasks:
        item, turn = task.item, ids.get(task.item.id)
        if turn is not None:
            item = replace(item, id=turn.id, group=turn.talk)
        elif data is not None:
            raise InputError(f"batch {batch!r} has report {item.id}, which the study lacks; give another --study")
        by = {draft.annotator: draft.answers for draft in task.drafts}
        turns.append(annotated_turn(item, reports[task.item.id].report.response, by, task.form))
    return turns
