"""Views of a batch's agreement, and of the disagreements to settle, each version beside the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import streamlit as st

from vista_guard.dashboard.elements import address, tree
from vista_guard.dashboard.elements.looks import look
from vista_guard.dashboard.elements.tree import Node, chip, draw, el, pieces, show_problem
from vista_guard.dashboard.page import Desk
from vista_guard.dashboard.scoped import GuardedTurn
from vista_guard.errors import InputError
from vista_guard.stores.reviewed import ConsensusClaim
from vista_guard.types import Label
from vista_lab.annotate.agreement import CaseConsensus, Discussed, FormResults
from vista_lab.annotate.annotations import CompleteTask, Condition
from vista_lab.annotate.batches import FormBatch, FormBatches
from vista_lab.annotate.forms import ChoiceMark, ChoicesMark, display
from vista_lab.annotate.pages.annotating import (
    TASK,
    annotations_of,
    form_reading,
    items_of,
    open_task,
    reading,
    steps,
    within,
)
from vista_lab.metrics.agreement import Agreement, Figure, Method, PairAgreement, agreement, answers, as_consensus
from vista_lab.metrics.agreement import ClaimVersions as Disagreement
from vista_lab.tables.writers import Sheet, decimals

# Claims of guarded turns: figures


def figures(desk: Desk, who: str, batch: str) -> None:  # noqa: ARG001  # every view is called alike
    """Draws the figures. Work that was not blind is left out, and counted."""
    tasks = annotations_of(desk).complete(batch)
    blind = [task for task in tasks if all(one.condition is Condition.BLIND for one in task.annotations)]
    if not blind:
        draw(_nothing_to_compare(len(tasks)), key="no-figures")
        return
    turns = [{annotation.annotator: annotation.claims for annotation in task.annotations} for task in blind]
    result = agreement(turns, steps=steps(blind))
    left_out = len(tasks) - len(blind)
    note = f"{left_out} turns are left out: somebody saw the judge's labels while they worked."
    excluded = el("p", note, cls="note") if left_out else None
    parts = (_summary(result), excluded, _pairs(result.pairs), _confusion(result), _time(blind))
    draw(el("div", *parts, cls="stack"), key="figures")


def _nothing_to_compare(turns: int) -> Node:
    if turns:
        return tree.empty("No blind work to compare", f"In all {turns} turns somebody asked for the judge's labels.")
    return tree.empty(
        "Nothing to compare yet", "Agreement is counted over turns that as many people submitted as the batch wants."
    )


def _summary(result: Agreement) -> Node:
    turns = f"{result.turns} turns"
    tiles = (
        _tile("Claim sets, Jaccard", result.jaccard, f"mean over pairs: {len(result.pairs)}, {turns}"),
        _tile("Claim sets, F1", result.f1, "2J / (1 + J) of each pair"),
        _tile("Labels, Krippendorff's α", result.alpha.value, f"{_range(result.alpha)}over {result.units} claims"),
    )
    return el("dl", *tiles, cls="tiles three")


def _tile(name: str, value: float | None, note: str) -> Node:
    figure = el("dd", decimals(value), cls="figure")
    return el("div", el("dt", name), figure, el("dd", note, cls="then"), cls="tile")


def _pairs(pairs: Sequence[PairAgreement]) -> Node:
    head = ("Annotators", "Turns", "Claims", "Shared", "Jaccard (95 %)", "F1 (95 %)")
    rows = []
    for pair in pairs:
        counts = (str(pair.turns), f"{pair.first} and {pair.second}", str(pair.shared))
        shares = (f"{decimals(figure.value)} {_range(figure)}".strip() for figure in (pair.jaccard, pair.f1))
        rows.append((" and ".join(pair.annotators), *counts, *shares))
    return el("section", el("h3", "Which claims a turn makes"), _table(head, rows))


def _confusion(result: Agreement) -> Node:
    labels = tuple(Label)
    rows = []
    for one in labels:
        cells = (el("td", str(result.confusion.get((one, other), 0) or "·")) for other in labels)
        rows.append(el("tr", el("th", chip(one), scope="row"), *cells))
    corner = el("th", el("span", "Label", cls="hidden"), scope="col")
    head = el("tr", corner, *(el("th", chip(label), scope="col") for label in labels))
    about = "Pairs of annotators that gave one claim these two labels, whoever gave which. On the diagonal they agree."
    box = _scroll_box(el("thead", head), el("tbody", *rows))
    return el("section", el("h3", "Which labels"), el("p", about, cls="small faint"), box)


def _time(tasks: Sequence[CompleteTask]) -> Node:
    seconds = [annotation.seconds for task in tasks for annotation in task.annotations]
    mean = sum(seconds) / len(seconds) if seconds else 0
    text = (
        f"Time spent: {mean:.0f} s for each turn and annotator. Ranges are 95 % of 2,000 samples of the turns. Claims are one "
        "where they come from the same claim of the judge, else overlap in the turn, else read the same, else nearly so (cosine "
        "above 0.9)."
    )
    return el("p", text, cls="small faint")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Node:
    top = el("tr", *(el("th", word, scope="col") for word in head))
    body = (el("tr", *(el("td", cell) for cell in row)) for row in rows)
    return _scroll_box(el("thead", top), el("tbody", *body))


def _scroll_box(*parts: Node) -> Node:
    return el("div", el("table", *parts, cls="grid"), cls="wide", tabindex="0", role="region", aria_label="Table")


def _range(figure: Figure) -> str:
    return "" if figure.low is None or figure.high is None else f"({figure.low:.2f} to {figure.high:.2f}) "


# Claims of guarded turns: consensus

NO_CLAIM = "no claim of this turn"
"""An answer: the turn does not say this."""


def disagreements(desk: Desk, who: str, batch: str) -> None:
    """Draws the next turn that is not settled, or the one that the address names."""
    tasks = annotations_of(desk).complete(batch)
    waiting = [task for task in tasks if task.consensus is None]
    task_id = open_task()
    task = next((candidate for candidate in tasks if candidate.id == task_id), waiting[0] if waiting else None)
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
    progress = f"{len(waiting)} of {len(tasks)} turns wait for an answer"
    later = next((candidate for candidate in waiting if candidate.id > task.id), None)
    skip = within("Next turn", view="consensus", task=later.id) if later else None
    consensus = task.consensus
    settled = (
        el("span", f"settled by {consensus.by} ({consensus.method})", cls="chip tone-unchecked") if consensus else None
    )
    return el("div", el("span", progress, cls="small"), settled, skip, cls="row")


def _settle(desk: Desk, who: str, task: CompleteTask, turn: GuardedTurn) -> None:
    items = items_of(task)
    spans = [
        (claim.span, n) for n, item in enumerate(items) if item.open for claim in item.group.by.values() if claim.span
    ]
    draw(_turn(turn, spans), key=f"consensus-turn-{task.id}")
    with st.form(f"settle-{task.id}", border=False):
        replies = [_question(number, item, task) for number, item in enumerate(items) if item.open]
        agreed = sum(not item.open for item in items)
        draw(
            el("p", f"{agreed} other claim{'s' * (agreed > 1)}, on which most agree, left as labelled.", cls="note"),
            key="agreed",
        )
        if st.form_submit_button("Settle this turn"):
            _write(desk, who, task, items, replies)
    draw(_notes(task), key="notes")


def _turn(turn: GuardedTurn, spans: Sequence[tuple[object, int]]) -> Node:
    cut = pieces(turn.draft or "", spans)  # type: ignore[arg-type]  # spans of claims
    parts = (el("mark", piece.text, cls="quote") if piece.owners else piece.text for piece in cut)
    return el("div", el("h3", "The turn, with what is open marked"), el("p", *parts, cls="text"), cls="card")


def _question(number: int, item: Disagreement, task: CompleteTask) -> tuple[ConsensusClaim, ...] | None:
    """Draws one disagreement and returns its answer: no claim where the turn does not make it, None before a choice."""
    people = [annotation.annotator for annotation in task.annotations]
    versions = el("ul", *(_version(item, who) for who in people), cls="talks card")
    draw(versions, key=f"versions-{task.id}-{number}")
    options = [*map(str, Label), NO_CLAIM]
    with st.container(horizontal=True):
        answer = st.selectbox(
            "Answer", options, index=None, key=f"answer-{task.id}-{number}", format_func=_word, placeholder="choose"
        )
        whose = st.selectbox("In whose words", sorted(item.group.by), key=f"words-{task.id}-{number}")
    if answer is None:
        return None
    return () if answer == NO_CLAIM else (as_consensus(item.group.by[whose], Label(answer)),)


def _version(item: Disagreement, who: str) -> Node:
    claim = item.group.by.get(who)
    words = el("span", "does not have this claim", cls="faint") if claim is None else el("span", claim.text, cls="text")
    label = chip(claim.label) if claim is not None and claim.label is not None else None
    return el("li", el("div", el("strong", who), " ", words), label)


def _word(option: str) -> str:
    return option if option == NO_CLAIM else look(option).word


def _notes(task: CompleteTask) -> Node:
    notes = [
        el("li", el("strong", annotation.annotator), " ", el("span", annotation.notes, cls="text"))
        for annotation in task.annotations
        if annotation.notes
    ]
    return el("section", el("h4", "Notes"), el("ul", *notes, cls="talks")) if notes else el("div")


def _write(
    desk: Desk,
    who: str,
    task: CompleteTask,
    items: Sequence[Disagreement],
    replies: Sequence[tuple[ConsensusClaim, ...] | None],
) -> None:
    try:
        if None in replies:
            raise InputError(
                f"{replies.count(None)} of {len(replies)} questions have no answer yet; choose one for each"
            )
        claims = (*answers(items), *(claim for reply in replies if reply for claim in reply))
        annotations_of(desk).settle(task.id, claims, method=Method.DISCUSSION, who=who)
    except InputError as exc:
        show_problem("This was not settled", exc)
        return
    address.write(**{TASK: None})
    st.rerun()


# Any form


def form_figures(batches: FormBatches, batch: FormBatch) -> None:
    """Draws the agreement that the form declares, over items that everybody submitted, and what was settled."""
    items, answers = batches.answers(batch.name)
    if not items:
        draw(_nothing_to_compare(0), key="no-figures")
        return
    results = FormResults(batch.form, items, answers, [batch.about], batches.settled(batch.name))
    draw(el("div", *map(_sheet, results.sheets()), cls="stack"), key="form-figures")


def _sheet(sheet: Sheet) -> Node:
    rows = ([cell.text for cell in row] for row in sheet.rows)
    notes = el("p", " ".join(sheet.notes), cls="small faint")
    return el("section", el("h3", sheet.title), _table([column.head for column in sheet.columns], rows), notes)


def form_disagreements(batches: FormBatches, batch: FormBatch, who: str) -> None:
    """Draws the next item with a mark that has no majority, or the one that the address names."""
    items, answers = batches.answers(batch.name)
    results = FormResults(batch.form, items, answers, [batch.about], batches.settled(batch.name))
    waiting = list(dict.fromkeys(disputed.case.item for disputed in results.settled if disputed.open))
    if not waiting:
        draw(_nothing(len(items)), key="settled-all")
        return
    item = next(item for item in items if item.id == waiting[0])
    draw(el("p", f"{len(waiting)} of {len(items)} wait for an answer", cls="small"), key="consensus-head")
    left, right = st.columns([9, 11], gap="large")
    with left:
        draw(form_reading(batch.form, item), key=f"consensus-reading-{item.id}")
    with right, st.form(f"settle-{item.id}", border=False):
        questions = [disputed for disputed in results.settled if disputed.open and disputed.case.item == item.id]
        replies = {_name(question): _answer(question, batch) for question in questions}
        if st.form_submit_button(f"Settle this {batch.form.item}"):
            _settle_form(batches, batch, who, replies)


def _name(question: CaseConsensus) -> tuple[str, str, str]:
    return question.case.item, question.case.part, question.mark


def _answer(question: CaseConsensus, batch: FormBatch) -> str | list[str] | None:
    mark = batch.form.mark(question.mark)
    versions = (el("li", el("strong", who), " ", display(value)) for who, value in sorted(question.case.by.items()))
    key = "-".join(_name(question))
    draw(
        el("div", el("strong", f"{question.mark} {question.case.part}"), el("ul", *versions, cls="talks card")),
        key=f"versions-{key}",
    )
    if isinstance(mark, ChoicesMark):
        return st.multiselect(f"Answer: {question.mark}", mark.values, key=f"answer-{key}")
    values = mark.values if isinstance(mark, ChoiceMark) else ()
    return st.selectbox(f"Answer: {question.mark}", values, index=None, key=f"answer-{key}", placeholder="choose")


def _settle_form(
    batches: FormBatches, batch: FormBatch, who: str, replies: dict[tuple[str, str, str], str | list[str] | None]
) -> None:
    answers: Discussed = {
        name: tuple(value) if isinstance(value, list) else value for name, value in replies.items() if value
    }
    try:
        if len(answers) < len(replies):
            left = len(replies) - len(answers)
            raise InputError(f"{left} of {len(replies)} questions have no answer yet; choose one for each")
        batches.settle(batch.name, answers, who=who)
    except InputError as exc:
        show_problem("This was not settled", exc)
        return
    st.rerun()
