"""The page *Annotate*: the list of batches, and an annotator's work in the open one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from vista_guard.dashboard.elements import address, tree
from vista_guard.dashboard.elements.address import Filters, filter_bar, from_address
from vista_guard.dashboard.elements.tree import Act, Node, draw, el, problem, show_problem, shown
from vista_guard.dashboard.page import Desk, name_of
from vista_guard.dashboard.registry import PageInfo
from vista_guard.dashboard.scoped import GuardedTurn
from vista_guard.dashboard.settings import Permission
from vista_guard.errors import InputError
from vista_lab.annotate.batches import MOST_ANNOTATORS, AnnotationTask, Batches, Condition, Draft, FormBatch
from vista_lab.annotate.database import settle_if_agreed
from vista_lab.annotate.pages import editor
from vista_lab.annotate.pages.agreement import disagreements, figures
from vista_lab.annotate.pages.annotating import (
    BATCH,
    NOBODY,
    TASK,
    VIEW,
    VIEWS,
    batches_of,
    open_task,
    reading,
    steps,
    turn_of,
    within,
)


def annotate(desk: Desk) -> None:
    st.title("Annotate", anchor=False)
    who = name_of(desk)
    if who is None:
        return
    name = address.read(BATCH)
    if name is None:
        list_batches(desk, who)
        return
    batches, view = batches_of(desk), address.read(VIEW) or ""
    batch = batches.find(name)
    _tabs(desk, name, view, "Turns" if batch is None else f"{batch.form.item}s".capitalize())
    if batch is None:
        draw(tree.empty("No such batch", "There is no batch of this name among those that you may see."), key="unknown")
        return
    {"agreement": figures, "consensus": disagreements}.get(view, work)(desk, batches, batch, who)


def _tabs(desk: Desk, batch: str, view: str, items: str) -> None:
    tabs = (within(word or items, cls="tab", view=name, here=name == view) for name, word in VIEWS.items())
    row = el("nav", within("All batches", batch=None), el("strong", batch, cls="text"), *tabs, cls="row tabs")
    desk.follow(draw(row, key="tabs"))


# Batches

MOST_TURNS = 200
"""Most turns of a new batch."""


def list_batches(desk: Desk, who: str) -> None:
    """Draws the list and, for reviewers, the form for a new batch."""
    rows = [_batch_row(batch) for batch in batches_of(desk).all()]
    text = "A batch is a set of turns that several people label independently. Make one below."
    body = el("ul", *rows, cls="talks", aria_label="Batches") if rows else tree.empty("Nothing to annotate yet", text)
    desk.follow(draw(body, key="batches"))
    if desk.viewer.allows(Permission.REVIEW):
        _form(desk, who)


def _batch_row(batch: FormBatch) -> Node:
    more = f", {batch.settled} settled" if batch.of_turns else f": {batch.form.title}"
    progress = f"{batch.complete} of {batch.items} {batch.form.item}s done by {batch.wanted}{more}"
    percent = 100 * batch.complete / batch.items
    lane = el("div", el("span", cls="bar", style={"left": 0, "width": percent}), cls="lane", aria_hidden="true")
    return el("li", within(batch.name, batch=batch.name), lane, el("div", progress, cls="small faint"), key=batch.name)


def _form(desk: Desk, who: str) -> None:
    draw(el("h3", "A new batch"), key="new-head")
    filters = filter_bar(desk.reports.choices(from_address()))
    with st.form("new", border=True):
        name = st.text_input("Name", key="new-name", max_chars=80, placeholder="pilot")
        with st.container(horizontal=True):
            count = st.number_input("Newest turns", 1, MOST_TURNS, 20, key="new-count")
            wanted = st.number_input("Annotators for each turn", 1, MOST_ANNOTATORS, 2, key="new-wanted")
        if st.form_submit_button("Make the batch"):
            _make(desk, who, name, _newest_turns(desk, filters, int(count)), int(wanted))


def _newest_turns(desk: Desk, filters: Filters, count: int) -> list[str]:
    """The newest turns that can be annotated: their draft is known, and this viewer may read it."""
    rows = desk.reports.page(filters, limit=MOST_TURNS).rows
    turns = desk.reports.turns([row.id for row in rows])
    return [row.id for row in rows if _can_be_read(turns.get(row.id))][:count]


def _can_be_read(turn: GuardedTurn | str | None) -> bool:
    return isinstance(turn, GuardedTurn) and not turn.hidden and turn.draft is not None and bool(turn.report.outcomes)


def _make(desk: Desk, who: str, name: str, reports: list[str], wanted: int) -> None:
    try:
        if not reports:
            stored = 'set record = "full" to store the drafts of later turns'
            raise InputError(f"no turn with claims and a stored draft matches the filters; {stored}")
        batches_of(desk).create_of_turns(name, reports, wanted=wanted, who=who)
    except InputError as exc:
        show_problem("No batch was made", exc)
        return
    address.write(batch=name.strip())
    st.rerun()


# Work

TO_DO = ("draft", "free")


def work(desk: Desk, batches: Batches, batch: FormBatch, who: str) -> None:
    """Draws the open item of the batch, or the one that comes next."""
    tasks = [task for task in batches.tasks(batch.name, who) if task.mine != "full"]
    task = _next_task(tasks)
    if task is None:
        draw(_completion_note(tasks, batch), key="finished")
        return
    turn = turn_of(desk, task)
    desk.follow(draw(_progress(tasks, task, batch), key="progress"))
    if isinstance(turn, str):
        draw(tree.empty("This turn cannot be shown", turn), key="unreadable")
        return
    left, right = st.columns([9, 11], gap="large")
    with left:
        draw(reading(desk, batch, task.item, turn), key=f"reading-{task.id}")
    with right:
        _marks(batches, batch, _Work(task, who, turn, tasks))


@dataclass(frozen=True)
class _Work:
    task: AnnotationTask
    who: str
    turn: GuardedTurn | None
    tasks: Sequence[AnnotationTask]

    @property
    def key(self) -> str:
        return f"{self.task.id}-{self.who}"


def _next_task(tasks: Sequence[AnnotationTask]) -> AnnotationTask | None:
    task_id = open_task()
    chosen = next((task for task in tasks if task.id == task_id), None)
    return chosen or next((task for task in tasks if task.mine in TO_DO), None)


def _completion_note(tasks: Sequence[AnnotationTask], batch: FormBatch) -> Node:
    text = f"You submitted {len(tasks)} of {batch.items} {batch.form.item}s"
    return tree.empty("Nothing left for you here", f"{text}; the others are not for you, or have enough annotators.")


def _progress(tasks: Sequence[AnnotationTask], task: AnnotationTask, batch: FormBatch) -> Node:
    place = next(number for number, other in enumerate(tasks) if other.id == task.id)
    submitted, unit = sum(other.mine == "submitted" for other in tasks), str(batch.form.item)
    bar = el("span", cls="bar", style={"left": 0, "width": 100 * submitted / len(tasks)})
    before = within(f"Previous {unit}", task=tasks[place - 1].id) if place else None
    after = within(f"Next {unit}", task=tasks[place + 1].id) if place + 1 < len(tasks) else None
    counted = f"{unit.capitalize()} {place + 1} of {len(tasks)}, {submitted} of {len(tasks)} submitted"
    lane = el("div", bar, cls="lane grow", aria_hidden="true")
    return el("div", el("span", counted, cls="small"), lane, before, after, cls="row progress")


@st.fragment
@shown
def _marks(batches: Batches, batch: FormBatch, work: _Work) -> None:
    """Draws the editor, which saves without redrawing the rest of the page."""
    state = st.session_state
    try:
        if f"draft-{work.key}" not in state:
            state[f"draft-{work.key}"] = batches.start(work.task.id, work.who)
        draft: Draft = state[f"draft-{work.key}"]  # as this window saved it last, else as stored
        seq = state.get(f"seq-{work.key}", 0)
        events = editor.edit(batch.form, work.task.item, draft, work.turn, saved=seq or None)
        sent = events.submitted or events.draft
        if sent is not None and not draft.submitted and (events.submitted or sent.seq > seq):
            answers, submit = sent.answers(batch.form), events.submitted is not None
            saved = batches.save(draft, answers, seconds=sent.seconds, submit=submit)
            state[f"draft-{work.key}"], state[f"seq-{work.key}"] = saved, sent.seq
            if submit:
                _leave(batches, batch, work)
            st.rerun(scope="fragment")
        if work.turn is not None:
            _suggestions(batches, work, draft)
    except InputError as exc:
        retry = el("button", "Load it anew", cls="plain", act=Act("anew"))
        if draw(el("div", problem("This was not saved", exc), retry, cls="stack"), key="not-saved") == Act("anew"):
            state.pop(f"draft-{work.key}", None)
            state.pop(f"seq-{work.key}", None)
            state[f"epoch-{work.key}"] = state.get(f"epoch-{work.key}", 0) + 1
            st.rerun()


def _leave(batches: Batches, batch: FormBatch, work: _Work) -> None:
    """Goes from a submitted item to the next; a turn that leaves nothing to discuss is settled."""
    if batch.form.revision is not None:
        for complete in batches.complete(task=work.task.id):
            settle_if_agreed(batches, complete, steps([complete]), NOBODY)
    later = [other for other in work.tasks if other.id != work.task.id and other.mine in TO_DO]
    following = next((other for other in later if other.id > work.task.id), later[0] if later else None)
    address.write(**{TASK: str(following.id) if following else None})
    st.rerun()


def _suggestions(batches: Batches, work: _Work, draft: Draft) -> None:
    """Offers the judge's labels; once shown, the work is stored as not blind."""
    if draft.submitted:
        return
    if draft.condition is Condition.SUGGESTIONS:
        draw(el("p", "You see the judge's labels: this is kept with your work.", cls="note"), key="suggested")
        return
    button = el("button", "Show the judge's labels", cls="plain small", act=Act("suggest"))
    if draw(button, key="suggest") == Act("suggest"):
        saved = batches.save(draft, draft.answers, condition=Condition.SUGGESTIONS)
        st.session_state[f"draft-{work.key}"] = saved
        st.rerun(scope="fragment")


PAGE = PageInfo("Annotate", "annotate", "edit_note", annotate, Permission.ANNOTATE)
