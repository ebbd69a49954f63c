"""Imports annotations into the dashboard's database, and reads them back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from vista_guard.errors import InputError
from vista_guard.protocols import Embedder
from vista_guard.stores.reports import Database, ReportReader
from vista_guard.types import Role, TurnTexts
from vista_lab.annotate.batches import (
    Batches,
    CompleteTask,
    Condition,
    FormBatch,
    answers_by_annotator,
)
from vista_lab.annotate.claims import Match, SettledTurn
from vista_lab.annotate.forms import Item
from vista_lab.annotate.results import ClaimResults
from vista_lab.annotate.sheets import FilledSheet
from vista_lab.annotate.study import TURN, StudyData
from vista_lab.metrics.agreement import answers, compare, method_of
from vista_lab.metrics.claim_sets import Same

WHO = "import"
"""The creator of imported batches, who also settles turns with nothing to discuss."""


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
    matches claims, see `Match`.

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
    name = {item.id: data.reports[item.id].id for item in items}
    turns = {name[item.id]: (data.reports[item.id], _texts(item, data)) for item in items}
    new = batches.create(
        batch,
        form,
        [replace(item, id=name[item.id], texts={}) for item in items],
        wanted=None,
        who=WHO,
        about=data.study.about,
        finished={sheet.annotator: {name[one]: own for one, own in sheet.answers.items()} for sheet in sheets},
        condition=Condition.SUGGESTIONS if data.study.shown else Condition.BLIND,
        turns=turns,
    )
    tasks = batches.complete(batch)
    steps = Match.of((claim for task in tasks for own in task.claims.values() for claim in own), embedder).versions
    for task in tasks:
        if len(task.drafts) > 1:  # one person alone settles nothing
            settle_if_agreed(batches, task, steps, WHO)
    return TakenIn(len(items), new)


def settle_if_agreed(batches: Batches, task: CompleteTask, steps: Sequence[Same], who: str) -> None:
    """Settles a turn that leaves nothing to discuss. `steps` say which claims are one, as for `groups`."""
    items = compare(task.claims, steps)
    method = method_of(items)
    if task.consensus is None and method is not None:
        batches.settle(task.id, answers(items), method=method, who=who)


def _texts(item: Item, data: StudyData) -> TurnTexts:
    turn, report = data.turns[item.id], data.reports[item.id]
    talk = data.conversations[turn.talk]
    reply = talk.turns[turn.turn_index]
    question = next((one.text for one in reversed(talk.turns[: turn.turn_index]) if one.role is Role.USER), None)
    draft = None if report.response == reply.text else reply.text
    return TurnTexts(user_text=question, draft=draft, documents=reply.documents)


def take(database: Database, batch: FormBatch, data: StudyData | None, embedder: Embedder | None) -> ClaimResults:
    """Results of a batch of turns, from the dashboard or from imported sheets, with the consensus of the dashboard.

    Turns are left out, and counted in a note, where somebody saw the judge's labels. With a study, turns have its ids, else those
    of their reports.

    Raises:
        InputError: the batch has no turn that all of its annotators submitted, or belongs to another study.
        StoreError: the database cannot be read.
    """
    tasks = Batches(database).complete(batch.name)
    shown = data is not None and data.study.shown
    kept = [task for task in tasks if shown or task.blind]
    if not kept:
        raise InputError(
            f"batch {batch.name!r} has no turn that all of its annotators submitted blind; agreement needs at least one"
        )
    kept = list(_as_in_the_study(database, batch.name, kept, data))
    consensus = ((task.item.id, task.consensus) for task in kept if task.consensus is not None)
    before = {name: SettledTurn(name, found.claims, found.method) for name, found in consensus}
    about = [
        f"Batch {batch.name} of the dashboard, as it was put together there." if data is None else data.study.about
    ]
    if left_out := len(tasks) - len(kept):
        about.append(f"{left_out:,} turns are left out: somebody saw the judge's labels.")
    items, given = [task.item for task in kept], answers_by_annotator(kept)
    return ClaimResults(batch.form, items, given, about, {}, embedder, data, before=before)


def _as_in_the_study(
    database: Database, batch: str, tasks: Sequence[CompleteTask], data: StudyData | None
) -> Iterator[CompleteTask]:
    """The tasks with the texts of their turns, and with the ids of the study where there is one."""
    ids = {turn.report_id: turn for turn in data.study.turns} if data is not None else {}
    reports = ReportReader(database).many([task.item.id for task in tasks])
    for task in tasks:
        item, turn = replace(task.item, texts={TURN: reports[task.item.id].report.response}), ids.get(task.item.id)
        if turn is not None:
            item = replace(item, id=turn.id, group=turn.talk)
        elif data is not None:
            raise InputError(f"batch {batch!r} has report {item.id}, which the study lacks; give another --study")
        yield replace(task, item=item)
