"""The page *Annotate*: the list of batches, and an annotator's work in the open one."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from vista_guard.dashboard.elements import address, tree
from vista_guard.dashboard.elements.address import Filters, filter_bar, from_address
from vista_guard.dashboard.elements.tree import Act, Node, draw, el, problem, show_problem, shown
from vista_guard.dashboard.page import Desk, name_of
from vista_guard.dashboard.registry import PageInfo
from vista_guard.dashboard.scoped import GuardedTurn
from vista_guard.dashboard.settings import Permission
from vista_guard.errors import InputError
from vista_lab.annotate.annotations import MOST_ANNOTATORS, Annotation, AnnotationTask, Condition
from vista_lab.annotate.batches import FormBatch, FormBatches, FormDraft, FormTask
from vista_lab.annotate.pages import editor
from vista_lab.annotate.pages.agreement import disagreements, figures, form_disagreements, form_figures
from vista_lab.annotate.pages.annotating import (
    BATCH,
    TASK,
    VIEW,
    VIEWS,
    annotations_of,
    form_reading,
    open_task,
    reading,
    settle_if_agreed,
    within,
)


def annotate(desk: Desk) -> None:
    st.title("Annotate", anchor=False)
    who = name_of(desk)
    if who is None:
        return
    batch = address.read(BATCH)
    if batch is None:
        batches(desk, who)
        return
    view = address.read(VIEW) or ""
    form_batches = _form_batches(desk)
    form = form_batches.find(batch) if form_batches is not None else None
    _tabs(desk, batch, view, "Turns" if form is None else f"{form.form.item}s".capitalize())
    if form_batches is not None and form is not None:
        _form_view(form_batches, form, who, view)
        return
    {"agreement": figures, "consensus": disagreements}.get(view, work)(desk, who, batch)


def _form_batches(desk: Desk) -> FormBatches | None:
    """Batches of other forms. Their items have no tenant, so only viewers of all tenants see them."""
    return FormBatches(desk.reviews.database) if desk.viewer.tenants is None else None


def _form_view(batches: FormBatches, batch: FormBatch, who: str, view: str) -> None:
    if view == "agreement":
        form_figures(batches, batch)
    elif view == "consensus":
        form_disagreements(batches, batch, who)
    else:
        form_work(batches, batch, who)


def _tabs(desk: Desk, batch: str, view: str, items: str) -> None:
    tabs = (within(word or items, cls="tab", view=name, here=name == view) for name, word in VIEWS.items())
    row = el("nav", within("All batches", batch=None), el("strong", batch, cls="text"), *tabs, cls="row tabs")
    desk.follow(draw(row, key="tabs"))


# Batches

MOST_TURNS = 200
"""Most turns of a new batch."""


def batches(desk: Desk, who: str) -> None:
    """Draws the list and, for reviewers, the form for a new batch."""
    form_batches = _form_batches(desk)
    rows = []
    for batch in annotations_of(desk).batches():
        progress = f"{batch.complete} of {batch.tasks} turns done by {batch.wanted}, {batch.settled} settled"
        rows.append(_batch_row(batch.name, progress, batch.complete, batch.tasks))
    for form in form_batches.all() if form_batches is not None else ():
        progress = f"{form.complete} of {form.items} {form.form.item}s done by {form.wanted}: {form.form.title}"
        rows.append(_batch_row(form.name, progress, form.complete, form.items))
    text = "A batch is a set of turns that several people label independently. Make one below."
    body = el("ul", *rows, cls="talks", aria_label="Batches") if rows else tree.empty("Nothing to annotate yet", text)
    desk.follow(draw(body, key="batches"))
    if desk.viewer.allows(Permission.REVIEW):
        _form(desk, who)


def _batch_row(name: str, progress: str, complete: int, items: int) -> Node:
    percent = 100 * complete / items if items else 0
    lane = el("div", el("span", cls="bar", style={"left": 0, "width": percent}), cls="lane", aria_hidden="true")
    return el("li", within(name, batch=name), lane, el("div", progress, cls="small faint"), key=name)


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
            raise InputError(
                'no turn with claims and a stored draft matches the filters; set record = "full" to store the drafts of '
                "later turns"
            )
        annotations_of(desk).create(name, reports, wanted=wanted, who=who)
    except InputError as exc:
        show_problem("No batch was made", exc)
        return
    address.write(batch=name.strip())
    st.rerun()


# Claims of a turn

TO_DO = ("draft", "free")


def work(desk: Desk, who: str, batch: str) -> None:
    """Draws the open turn of the batch, or the one that comes next."""
    tasks = annotations_of(desk).tasks(batch, who)
    mine = [task for task in tasks if task.mine != "full"]
    task = _next_task(mine)
    if task is None:
        draw(_completion_note(tasks), key="finished")
        return
    turn = desk.reports.turn(task.report_id)
    desk.follow(draw(_progress(mine, task), key="progress"))
    if turn is None or turn.hidden or turn.draft is None:
        draw(_unreadable(turn), key="unreadable")
        return
    left, right = st.columns([9, 11], gap="large")
    with left:
        draw(reading(desk, turn), key=f"reading-{task.id}")
    with right:
        _claims(desk, who, task, turn, mine)


def _next_task(tasks: Sequence[AnnotationTask]) -> AnnotationTask | None:
    task_id = open_task()
    chosen = next((task for task in tasks if task.id == task_id), None)
    return chosen or next((task for task in tasks if task.mine in TO_DO), None)


def _completion_note(tasks: Sequence[AnnotationTask]) -> Node:
    if not tasks:
        return tree.empty("No such batch", "There is no batch of this name among those that you may see.")
    submitted = sum(task.mine == "submitted" for task in tasks)
    return tree.empty(
        "Nothing left for you here",
        f"You submitted {submitted} of {len(tasks)} turns; the others have as many annotators as they want.",
    )


def _progress(tasks: Sequence[AnnotationTask], task: AnnotationTask) -> Node:
    place = next(number for number, other in enumerate(tasks) if other.id == task.id)
    submitted = sum(other.mine == "submitted" for other in tasks)
    bar = el("span", cls="bar", style={"left": 0, "width": 100 * submitted / len(tasks)})
    before = within("Previous turn", task=tasks[place - 1].id) if place else None
    after = within("Next turn", task=tasks[place + 1].id) if place + 1 < len(tasks) else None
    text = el("span", f"Turn {place + 1} of {len(tasks)}, {submitted} submitted", cls="small")
    return el("div", text, el("div", bar, cls="lane grow", aria_hidden="true"), before, after, cls="row progress")


def _unreadable(turn: GuardedTurn | None) -> Node:
    if turn is None:
        return tree.empty("This turn is gone", "Its report was deleted.")
    if turn.hidden:
        return tree.empty("You may not read this draft", "It was withheld, and your role does not include drafts.")
    return tree.empty("This draft was not kept", 'With record = "full" in the settings, drafts of later turns are.')


@st.fragment
@shown
def _claims(desk: Desk, who: str, task: AnnotationTask, turn: GuardedTurn, tasks: Sequence[AnnotationTask]) -> None:
    """Draws the editor, which saves without redrawing the rest of the page."""
    base = _base(desk, who, task)
    answer = editor.claim_editor(base, turn, saved=st.session_state.get(_key(base, "seq")))
    try:
        if answer.submitted is not None:
            _submit(desk, _save_draft(desk, base, answer.submitted), task, tasks)
        elif answer.draft is not None and _is_news(base, answer.draft):
            _save_draft(desk, base, answer.draft)
            st.rerun(scope="fragment")
    except InputError as exc:
        retry = el("button", "Load it anew", cls="plain", act=Act("anew"))
        event = draw(el("div", problem("This was not saved", exc), retry, cls="stack"), key="not-saved")
        if event == Act("anew"):
            _forget(base)
            st.rerun()
    _suggestions(desk, base)


def _is_news(base: Annotation, draft: editor.EditorState) -> bool:
    return not base.submitted and draft.seq > st.session_state.get(_key(base, "seq"), 0)


def _base(desk: Desk, who: str, task: AnnotationTask) -> Annotation:
    """This window's annotation: as it saved it last, else as stored."""
    key = f"annotation-{task.id}-{who}"
    if key not in st.session_state:
        st.session_state[key] = annotations_of(desk).start(task.id, who)
    annotation: Annotation = st.session_state[key]
    return annotation


def _save_draft(desk: Desk, base: Annotation, draft: editor.EditorState) -> Annotation:
    saved = annotations_of(desk).save(base, draft.claims, notes=draft.notes, seconds=draft.seconds)
    _keep(saved)
    st.session_state[_key(base, "seq")] = draft.seq
    return saved


def _submit(desk: Desk, annotation: Annotation, task: AnnotationTask, tasks: Sequence[AnnotationTask]) -> None:
    _keep(annotations_of(desk).submit(annotation))
    settle_if_agreed(annotations_of(desk), task.id)
    later = [other for other in tasks if other.id != task.id and other.mine in TO_DO]
    following = next((other for other in later if other.id > task.id), later[0] if later else None)
    address.write(**{TASK: str(following.id) if following else None})
    st.rerun()


def _suggestions(desk: Desk, base: Annotation) -> None:
    """Offers the judge's labels; once shown, the annotation is stored as not blind."""
    if base.submitted:
        return
    if base.condition is Condition.SUGGESTIONS:
        draw(el("p", "You see the judge's labels: this is kept with your work.", cls="note"), key="suggested")
        return
    text = "Show the judge's labels"
    event = draw(el("button", text, cls="plain small", act=Act("suggest")), key="suggest")
    if event == Act("suggest"):
        _keep(annotations_of(desk).save(base, base.claims or (), notes=base.notes, condition=Condition.SUGGESTIONS))
        st.rerun(scope="fragment")


def _keep(annotation: Annotation) -> None:
    st.session_state[f"annotation-{annotation.task}-{annotation.annotator}"] = annotation


def _forget(annotation: Annotation) -> None:
    st.session_state.pop(f"annotation-{annotation.task}-{annotation.annotator}", None)
    st.session_state.pop(_key(annotation, "seq"), None)
    epoch = _key(annotation, "epoch")
    st.session_state[epoch] = st.session_state.get(epoch, 0) + 1


def _key(annotation: Annotation, name: str) -> str:
    return f"{name}-{annotation.id}"


# Items of any form


def form_work(batches: FormBatches, batch: FormBatch, who: str) -> None:
    """Draws the open item of the batch, or the one that comes next."""
    tasks = [task for task in batches.tasks(batch.name, who) if task.mine != "full"]
    task_id = open_task()
    chosen = next((task for task in tasks if task.n == task_id), None)
    task = chosen or next((task for task in tasks if task.mine in TO_DO), None)
    if task is None:
        text = f"You submitted {len(tasks)} {batch.form.item}s; the others have as many annotators as they want."
        draw(tree.empty("Nothing left for you here", text), key="finished")
        return
    submitted = sum(other.mine == "submitted" for other in tasks)
    draw(el("p", f"{submitted} of {len(tasks)} submitted", cls="small"), key="progress")
    left, right = st.columns([9, 11], gap="large")
    with left:
        draw(form_reading(batch.form, task.item), key=f"reading-{batch.name}-{task.n}")
    with right:
        _form_marks(batches, batch, who, task)


@st.fragment
@shown
def _form_marks(batches: FormBatches, batch: FormBatch, who: str, task: FormTask) -> None:
    """Draws the editor, which saves without redrawing the rest of the page."""
    key = f"{batch.name}-{task.n}-{who}"
    base: FormDraft = st.session_state.setdefault(f"form-{key}", batches.start(batch.name, task.n, who))
    saved_seq = st.session_state.get(f"seq-{key}", 0)
    try:
        answer = editor.form_editor(batch, task.item, base, saved=saved_seq or None)
        state = answer.submitted or answer.draft
        if state is None or base.submitted or (answer.submitted is None and state.seq <= saved_seq):
            return
        marks = state.answers(batch.form)
        saved = batches.save(base, marks, seconds=state.seconds, submit=answer.submitted is not None)
        st.session_state[f"form-{key}"], st.session_state[f"seq-{key}"] = saved, state.seq
        if saved.submitted:
            address.write(**{TASK: None})
            st.rerun()
        st.rerun(scope="fragment")
    except InputError as exc:
        retry = el("button", "Load it anew", cls="plain", act=Act("anew"))
        if draw(el("div", problem("This was not saved", exc), retry, cls="stack"), key="not-saved") == Act("anew"):
            st.session_state.pop(f"form-{key}", None)
            st.session_state[f"epoch-{key}"] = st.session_state.get(f"epoch-{key}", 0) + 1
            st.rerun()


PAGE = PageInfo("Annotate", "annotate", "edit_note", annotate, Permission.ANNOTATE)
