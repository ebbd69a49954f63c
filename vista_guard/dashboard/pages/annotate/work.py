"""One annotator's way through a batch: the turns, and the claims of the one that is open."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from vista_guard.dashboard.elements import address, tree
from vista_guard.dashboard.elements.tree import Act, Node, draw, el, problem, shown
from vista_guard.dashboard.page import Desk
from vista_guard.dashboard.pages.annotate import editor, settling
from vista_guard.dashboard.pages.annotate.links import TASK, open_task, within
from vista_guard.dashboard.pages.annotate.reading import reading
from vista_guard.dashboard.turns import GuardedTurn
from vista_guard.errors import InputError
from vista_guard.stores.reviews.records import Annotation, Condition, Task

TO_DO = ("draft", "free")


def work(desk: Desk, who: str, batch: str) -> None:
    """Draws the open turn of the batch, or the one that comes next."""
    tasks = desk.annotations.tasks(batch, who)
    mine = [task for task in tasks if task.mine != "full"]
    task = _open(mine)
    if task is None:
        draw(_finished(tasks), key="finished")
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


def _open(tasks: Sequence[Task]) -> Task | None:
    named = open_task()
    chosen = next((task for task in tasks if task.id == named), None)
    return chosen or next((task for task in tasks if task.mine in TO_DO), None)


def _finished(tasks: Sequence[Task]) -> Node:
    if not tasks:
        return tree.empty("No such batch", "There is no batch of this name among those that you may see.")
    done = sum(task.mine == "submitted" for task in tasks)
    return tree.empty(
        "Nothing left for you here",
        f"You submitted {done} of {len(tasks)} turns; the others have as many annotators as they want.",
    )


def _progress(tasks: Sequence[Task], task: Task) -> Node:
    place = next(number for number, one in enumerate(tasks) if one.id == task.id)
    done = sum(one.mine == "submitted" for one in tasks)
    bar = el("span", cls="bar", style={"left": 0, "width": 100 * done / len(tasks)})
    before = within("Previous turn", task=tasks[place - 1].id) if place else None
    after = within("Next turn", task=tasks[place + 1].id) if place + 1 < len(tasks) else None
    told = el("span", f"Turn {place + 1} of {len(tasks)}, {done} submitted", cls="small")
    return el("div", told, el("div", bar, cls="lane grow", aria_hidden="true"), before, after, cls="row progress")


def _unreadable(turn: GuardedTurn | None) -> Node:
    if turn is None:
        return tree.empty("This turn is gone", "Its report was deleted.")
    if turn.hidden:
        return tree.empty("You may not read this draft", "It was withheld, and your role does not include drafts.")
    return tree.empty("This draft was not kept", 'With record = "full" in the settings, drafts of later turns are.')


@st.fragment
@shown
def _claims(desk: Desk, who: str, task: Task, turn: GuardedTurn, tasks: Sequence[Task]) -> None:
    """The editor. It saves while one works, without the rest of the page being drawn anew."""
    base = _base(desk, who, task)
    answer = editor.editor(base, turn, saved=st.session_state.get(_key(base, "seq")))
    try:
        if answer.submitted is not None:
            _submit(desk, _saved(desk, base, answer.submitted), task, tasks)
        elif answer.draft is not None and _is_news(base, answer.draft):
            _saved(desk, base, answer.draft)
            st.rerun(scope="fragment")
    except InputError as exc:
        again = el("button", "Load it anew", cls="plain", act=Act("anew"))
        event = draw(el("div", problem("This was not saved", exc), again, cls="stack"), key="not-saved")
        if event == Act("anew"):
            _forget(base)
            st.rerun()
    _suggestions(desk, base)


def _is_news(base: Annotation, draft: editor.Draft) -> bool:
    return not base.submitted and draft.seq > st.session_state.get(_key(base, "seq"), 0)


def _base(desk: Desk, who: str, task: Task) -> Annotation:
    """The state that this window works on: what it saved last, else what is stored."""
    key = f"annotation-{task.id}-{who}"
    if key not in st.session_state:
        st.session_state[key] = desk.annotations.start(task.id, who)
    found: Annotation = st.session_state[key]
    return found


def _saved(desk: Desk, base: Annotation, draft: editor.Draft) -> Annotation:
    kept = desk.annotations.save(base, draft.claims, notes=draft.notes, seconds=draft.seconds)
    _keep(kept)
    st.session_state[_key(base, "seq")] = draft.seq
    return kept


def _submit(desk: Desk, annotation: Annotation, task: Task, tasks: Sequence[Task]) -> None:
    _keep(desk.annotations.submit(annotation))
    settling.settle_if_agreed(desk.annotations, task.id)
    later = [one for one in tasks if one.id != task.id and one.mine in TO_DO]
    following = next((one for one in later if one.id > task.id), later[0] if later else None)
    address.write(**{TASK: str(following.id) if following else None})
    st.rerun()


def _suggestions(desk: Desk, base: Annotation) -> None:
    """The judge's labels, for who asks; from then on the annotation is not blind, and says so."""
    if base.submitted:
        return
    if base.condition is Condition.SUGGESTIONS:
        draw(el("p", "You see the judge's labels: this is kept with your work.", cls="note"), key="suggested")
        return
    told = "Show the judge's labels"
    event = draw(el("button", told, cls="plain small", act=Act("suggest")), key="suggest")
    if event == Act("suggest"):
        _keep(desk.annotations.save(base, base.claims or (), notes=base.notes, condition=Condition.SUGGESTIONS))
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
