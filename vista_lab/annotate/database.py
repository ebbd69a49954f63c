"""Imports annotations into the dashboard's database, and reads them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vista_guard.errors import InputError
from vista_guard.protocols import Embedder
from vista_guard.stores.reports import Database, ReportReader
from vista_guard.types import Role, TurnTexts
from vista_lab.annotate.agreeing import AnnotatedTurn, Match, SettledTurn, match, of_sheets, works_of
from vista_lab.annotate.annotations import Annotations, CompleteTask, Condition, FinishedTurn, take_in
from vista_lab.annotate.sheets import FilledSheet
from vista_lab.annotate.study import StudyData, StudyTurn
from vista_lab.metrics.agreement import answers, compare, method_of

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
    turns = [turn for turn in data.study.turns if any(turn.id in sheet.answers for sheet in sheets)]
    lost = next((turn for turn in turns if turn.id not in data.reports), None)
    if lost is not None:
        raise InputError(
            f"turn {lost.id} has no report: no run judged the study's claims. Judge them "
            "(vista-guard eval … --claims given) and export the study with --run"
        )
    if not turns:
        raise InputError("every sheet is empty; fill in at least one turn to import")
    finished = [_finished_turn(turn, sheets, data) for turn in turns]
    condition = Condition.SUGGESTIONS if data.study.shown else Condition.BLIND
    reports = take_in(database, batch, finished, who=WHO, condition=condition)
    _settle(Annotations(database), batch, match(of_sheets(sheets, data), embedder))
    return TakenIn(len(turns), reports)


def _settle(annotations: Annotations, batch: str, how: Match) -> None:
    for task in annotations.complete(batch):
        items = compare({annotation.annotator: annotation.kept for annotation in task.annotations}, how.versions)
        method = method_of(items)
        if method is not None and len(task.annotations) > 1:  # one person alone settles nothing
            annotations.settle(task.id, answers(items), method=method, who=WHO)


def _finished_turn(turn: StudyTurn, sheets: Sequence[FilledSheet], data: StudyData) -> FinishedTurn:
    talk, report = data.conversations[turn.talk], data.reports[turn.id]
    reply = talk.turns[turn.turn_index]
    question = next(
        (earlier.text for earlier in reversed(talk.turns[: turn.turn_index]) if earlier.role is Role.USER), None
    )
    draft = None if report.response == reply.text else reply.text
    texts = TurnTexts(user_text=question, draft=draft, documents=reply.documents)
    works = works_of(turn, sheets, data)
    return FinishedTurn(report, texts, {who: (work.claims, work.notes) for who, work in works.items()})


def take(database: Database, batch: str, data: StudyData | None) -> SettledBatch:
    """The annotators' work on a batch, from the dashboard or from imported sheets.

    With a study, turns have its ids, else those of their reports.

    Raises:
        InputError: the batch does not exist, has no turn that all of its annotators submitted, or belongs to another study.
        StoreError: the database cannot be read.
    """
    annotations = Annotations(database)
    known = [one.name for one in annotations.batches()]
    if batch not in known:
        raise InputError(f"batch {batch!r} does not exist; there are {', '.join(known) or 'none'}")
    tasks = annotations.complete(batch)
    shown = data is not None and data.study.shown
    kept = [task for task in tasks if shown or all(one.condition is Condition.BLIND for one in task.annotations)]
    if not kept:
        raise InputError(
            f"batch {batch!r} has no turn that all of its annotators submitted blind; agreement needs at least one"
        )
    turns = {task.report_id: turn for task, turn in zip(kept, _turns(database, kept, data), strict=True)}
    settled = {
        turns[task.report_id].id: SettledTurn(turns[task.report_id], task.consensus.claims, task.consensus.method)
        for task in kept
        if task.consensus is not None
    }
    return SettledBatch(list(turns.values()), settled, len(tasks) - len(kept))


def _turns(database: Database, tasks: Sequence[CompleteTask], data: StudyData | None) -> list[AnnotatedTurn]:
    ids = {turn.report_id: turn for turn in data.study.turns} if data is not None else {}
    reports = ReportReader(database).many([task.report_id for task in tasks])
    turns = []
    for task in tasks:
        if data is not None and task.report_id not in ids:
            raise InputError(
                f"batch {task.batch!r} has report {task.report_id}, which the study lacks; give another --study"
            )
        report, turn = reports[task.report_id].report, ids.get(task.report_id)
        turns.append(
            AnnotatedTurn(
                id=report.id if turn is None else turn.id,
                talk=(report.conversation_id or report.id) if turn is None else turn.talk,
                text=report.response,
                by={annotation.annotator: annotation.claims for annotation in task.annotations},
                notes={one.annotator: one.notes for one in task.annotations if one.notes},
            )
        )
    return turns
