"""Consensus: only what annotators disagree on, each version beside the others, and what they settle."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from vista_guard.dashboard.elements import address, tree
from vista_guard.dashboard.elements.tree import Node, chip, draw, el, look, pieces, show_problem
from vista_guard.dashboard.page import Desk
from vista_guard.dashboard.pages.annotate.links import TASK, open_task, within
from vista_guard.dashboard.pages.annotate.reading import reading
from vista_guard.dashboard.pages.annotate.settling import items_of
from vista_guard.dashboard.turns import GuardedTurn
from vista_guard.errors import InputError
from vista_guard.stores.reviews.records import CompleteTask, ConsensusClaim, Method
from vista_guard.types import Label
from vista_lab.metrics.agreement import Item, answers, as_settled

NO_CLAIM = "no claim of this turn"
"""An answer: the turn does not say this."""


def disagreements(desk: Desk, who: str, batch: str) -> None:
    """Draws the next turn that is not settled, or the one that the address names."""
    tasks = desk.annotations.complete(batch)
    waiting = [task for task in tasks if task.consensus is None]
    named = open_task()
    task = next((one for one in tasks if one.id == named), waiting[0] if waiting else None)
    if task is None:
        draw(_nothing(len(tasks)), key="settled-all")
        return
    desk.follow(draw(_head(tasks, waiting, task), key="consensus-head"))
    turn = desk.reports.turn(task.report_id)
    if turn is None or turn.hidden:
        text = "Its report was deleted, or its draft was withheld and your role does not include drafts."
        draw(tree.empty("This turn cannot be shown", text), key="consensus-lost")
        return
    left, right = st.columns([9, 11], gap="large")
    with left:
        draw(reading(desk, turn), key=f"consensus-reading-{task.id}")
    with right:
        _settle(desk, who, task, turn)


def _nothing(complete: int) -> Node:
    if not complete:
        return tree.empty("Nothing to settle yet", "Turns come here when all of their annotators have submitted.")
    return tree.empty("All settled", f"All {complete} turns that everybody submitted have a consensus.")


def _head(tasks: Sequence[CompleteTask], waiting: Sequence[CompleteTask], task: CompleteTask) -> Node:
    told = f"{len(waiting)} of {len(tasks)} turns wait for an answer"
    later = next((one for one in waiting if one.id > task.id), None)
    skip = within("Next turn", view="consensus", task=later.id) if later else None
    done = task.consensus
    settled = el("span", f"settled by {done.by} ({done.method})", cls="chip tone-unchecked") if done else None
    return el("div", el("span", told, cls="small"), settled, skip, cls="row")


def _settle(desk: Desk, who: str, task: CompleteTask, turn: GuardedTurn) -> None:
    items = items_of(task)
    spans = [
        (claim.span, n) for n, item in enumerate(items) if item.open for claim in item.group.by.values() if claim.span
    ]
    draw(_turn(turn, spans), key=f"consensus-turn-{task.id}")
    with st.form(f"settle-{task.id}", border=False):
        given = [_question(number, item, task) for number, item in enumerate(items) if item.open]
        agreed = sum(not item.open for item in items)
        draw(el("p", f"{agreed} other claims: most said the same, they stand as they are.", cls="note"), key="agreed")
        if st.form_submit_button("Settle this turn"):
            _write(desk, who, task, items, given)
    draw(_notes(task), key="notes")


def _turn(turn: GuardedTurn, spans: Sequence[tuple[object, int]]) -> Node:
    cut = pieces(turn.draft or "", spans)  # type: ignore[arg-type]  # spans of claims
    parts = (el("mark", piece.text, cls="quote") if piece.owners else piece.text for piece in cut)
    return el("div", el("h3", "The turn, with what is open marked"), el("p", *parts, cls="text"), cls="card")


def _question(number: int, item: Item, task: CompleteTask) -> tuple[ConsensusClaim, ...] | None:
    """Draws one disagreement; the answer in its fields: no claim where the turn does not make it, None before one was chosen."""
    people = [one.annotator for one in task.annotations]
    draw(_versions(item, people), key=f"versions-{task.id}-{number}")
    options = [*map(str, Label), NO_CLAIM]
    with st.container(horizontal=True):
        answer = st.selectbox(
            "Answer", options, index=None, key=f"answer-{task.id}-{number}", format_func=_word, placeholder="choose"
        )
        whose = st.selectbox("In whose words", sorted(item.group.by), key=f"words-{task.id}-{number}")
    if answer is None:
        return None
    return () if answer == NO_CLAIM else (as_settled(item.group.by[whose], Label(answer)),)


def _versions(item: Item, people: Sequence[str]) -> Node:
    return el("ul", *(_version(item, who) for who in people), cls="talks card")


def _version(item: Item, who: str) -> Node:
    claim = item.group.by.get(who)
    said = el("span", "does not have this claim", cls="faint") if claim is None else el("span", claim.text, cls="text")
    label = chip(claim.label) if claim is not None and claim.label is not None else None
    return el("li", el("div", el("strong", who), " ", said), label)


def _word(option: str) -> str:
    return option if option == NO_CLAIM else look(option).word


def _notes(task: CompleteTask) -> Node:
    said = [
        el("li", el("strong", one.annotator), " ", el("span", one.notes, cls="text"))
        for one in task.annotations
        if one.notes
    ]
    return el("section", el("h4", "Notes"), el("ul", *said, cls="talks")) if said else el("div")


def _write(
    desk: Desk, who: str, task: CompleteTask, items: Sequence[Item], given: Sequence[tuple[ConsensusClaim, ...] | None]
) -> None:
    try:
        if None in given:
            raise InputError(f"{given.count(None)} of {len(given)} questions have no answer yet; choose one for each")
        claims = (*answers(items), *(claim for found in given if found for claim in found))
        desk.annotations.settle(task.id, claims, method=Method.DISCUSSION, who=who)
    except InputError as exc:
        show_problem("This was not settled", exc)
        return
    address.write(**{TASK: None})
    st.rerun()
