"""Views of a batch's agreement, and of the disagreements to settle, each version beside the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import streamlit as st

from vista_guard.dashboard.elements import address, tree
from vista_guard.dashboard.elements.looks import look
from vista_guard.dashboard.elements.tree import Node, chip, draw, el, pieces, show_problem
from vista_guard.dashboard.page import Desk
from vista_guard.dashboard.scoped import GuardedTurn
from vista_guard.errors import InputError
from vista_guard.stores.reviewed import ConsensusClaim
from vista_guard.types import Label
from vista_lab.annotate.agreement import CaseConsensus
from vista_lab.annotate.batches import Batches, CompleteTask, FormBatch, results_of
from vista_lab.annotate.claims import notes_of
from vista_lab.annotate.forms import NONE, SEVERAL, ChoiceMark, ChoicesMark, Value, display
from vista_lab.annotate.pages.annotating import TASK, items_of, open_task, reading, steps, turn_of, within
from vista_lab.metrics.agreement import Agreement, Figure, PairAgreement, agreement, answers, as_consensus
from vista_lab.metrics.agreement import ClaimVersions as Disagreement
from vista_lab.tables.writers import Sheet, decimals

# Figures


def figures(desk: Desk, batches: Batches, batch: FormBatch, who: str) -> None:  # noqa: ARG001  # every view is called alike
    """Draws the agreement over items that everybody submitted. Work on claims that was not blind is left out, and counted."""
    tasks = batches.complete(batch.name)
    kept = [task for task in tasks if task.blind] if batch.form.revision is not None else tasks
    if not kept:
        draw(_nothing_to_compare(len(tasks), batch), key="no-figures")
        return
    nodes = map(_sheet, results_of(batch, tasks).sheets()) if batch.form.revision is None else _claims(kept, len(tasks))
    draw(el("div", *nodes, cls="stack"), key="figures")


def _claims(blind: Sequence[CompleteTask], turns: int) -> Iterator[Node | None]:
    result = agreement([task.claims for task in blind], steps=steps(blind))
    left_out = turns - len(blind)
    note = f"{left_out} turns are left out: somebody saw the judge's labels while they worked."
    yield _summary(result)
    yield el("p", note, cls="note") if left_out else None
    yield from (_pairs(result.pairs), _confusion(result), _time(blind))


def _nothing_to_compare(done: int, batch: FormBatch) -> Node:
    units = f"{batch.form.item}s"
    if done:
        return tree.empty("No blind work to compare", f"In all {done} {units} somebody asked for the judge's labels.")
    text = f"Agreement is counted over {units} that as many people submitted as the batch wants."
    return tree.empty("Nothing to compare yet", text)


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
    seconds = [draft.seconds for task in tasks for draft in task.drafts]
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


def _sheet(sheet: Sheet) -> Node:
    rows = ([cell.text for cell in row] for row in sheet.rows)
    notes = el("p", " ".join(sheet.notes), cls="small faint")
    return el("section", el("h3", sheet.title), _table([column.head for column in sheet.columns], rows), notes)


# Consensus

NO_CLAIM = "no claim of this turn"
"""An answer: the turn does not say this."""


def disagreements(desk: Desk, batches: Batches, batch: FormBatch, who: str) -> None:
    """Draws the next item that is not settled, or the one that the address names."""
    tasks, unit = batches.complete(batch.name), str(batch.form.item)
    cases = [] if batch.form.revision is not None else [one for one in results_of(batch, tasks).settled if one.open]
    open_items = {one.case.item for one in cases}
    waiting = [one for one in tasks if (one.consensus is None if batch.form.revision else one.item.id in open_items)]
    task_id = open_task()
    task = next((one for one in tasks if one.id == task_id), waiting[0] if waiting else None)
    if task is None:
        draw(_nothing(len(tasks), unit), key="settled-all")
        return
    desk.follow(draw(_head(tasks, waiting, task, unit), key="consensus-head"))
    turn = turn_of(desk, task)
    if isinstance(turn, str):
        draw(tree.empty("This turn cannot be shown", turn), key="consensus-lost")
        return
    left, right = st.columns([9, 11], gap="large")
    with left:
        draw(reading(desk, batch, task.item, turn), key=f"consensus-reading-{task.id}")
    with right:
        if turn is not None:
            _settle_claims(batches, who, task, turn)
        else:
            _settle_marks(batches, batch, who, task, [one for one in cases if one.case.item == task.item.id])


def _nothing(complete: int, unit: str) -> Node:
    if not complete:
        text = f"{unit.capitalize()}s come here when all of their annotators have submitted."
        return tree.empty("Nothing to settle yet", text)
    return tree.empty("All settled", f"All {complete} {unit}s that everybody submitted have a consensus.")


def _head(tasks: Sequence[CompleteTask], waiting: Sequence[CompleteTask], task: CompleteTask, unit: str) -> Node:
    progress = f"{len(waiting)} of {len(tasks)} {unit}s wait for an answer"
    later = next((candidate for candidate in waiting if candidate.id > task.id), None)
    skip = within(f"Next {unit}", view="consensus", task=later.id) if later else None
    consensus = task.consensus
    how = consensus and f"settled by {consensus.by} ({consensus.method})"
    settled = el("span", how, cls="chip tone-unchecked") if how else None
    return el("div", el("span", progress, cls="small"), settled, skip, cls="row")


def _settle_claims(batches: Batches, who: str, task: CompleteTask, turn: GuardedTurn) -> None:
    items = items_of(task)
    spans = [
        (claim.span, n) for n, item in enumerate(items) if item.open for claim in item.group.by.values() if claim.span
    ]
    draw(_turn(turn, spans), key=f"consensus-turn-{task.id}")
    with st.form(f"settle-{task.id}", border=False):
        replies = [_question(number, item, task) for number, item in enumerate(items) if item.open]
        agreed = sum(not item.open for item in items)
        text = f"{agreed} other claim{'s' * (agreed > 1)}, on which most agree, left as labelled."
        draw(el("p", text, cls="note"), key="agreed")
        if st.form_submit_button("Settle this turn"):
            claims = (*answers(items), *(claim for reply in replies if reply for claim in reply))
            _write(replies, lambda: batches.settle(task.id, claims, who=who))
    draw(_notes(task), key="notes")


def _write(replies: Sequence[object], settle: Callable[[], object]) -> None:
    """Settles an item if every question has a reply."""
    try:
        if left := replies.count(None):
            raise InputError(f"{left} of {len(replies)} questions have no answer yet; choose one for each")
        settle()
    except InputError as exc:
        show_problem("This was not settled", exc)
        return
    address.write(**{TASK: None})
    st.rerun()


def _turn(turn: GuardedTurn, spans: Sequence[tuple[object, int]]) -> Node:
    cut = pieces(turn.draft or "", spans)  # type: ignore[arg-type]  # spans of claims
    parts = (el("mark", piece.text, cls="quote") if piece.owners else piece.text for piece in cut)
    return el("div", el("h3", "The turn, with what is open marked"), el("p", *parts, cls="text"), cls="card")


def _question(number: int, item: Disagreement, task: CompleteTask) -> tuple[ConsensusClaim, ...] | None:
    """Draws one disagreement and returns its answer: no claim where the turn does not make it, None before a choice."""
    versions = el("ul", *(_version(item, draft.annotator) for draft in task.drafts), cls="talks card")
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
    notes = ((draft.annotator, notes_of(draft.answers, task.form)) for draft in task.drafts)
    nodes = [el("li", el("strong", who), " ", el("span", note, cls="text")) for who, note in notes if note]
    return el("section", el("h4", "Notes"), el("ul", *nodes, cls="talks")) if nodes else el("div")


def _settle_marks(
    batches: Batches, batch: FormBatch, who: str, task: CompleteTask, questions: Sequence[CaseConsensus]
) -> None:
    with st.form(f"settle-{task.id}", border=False):
        replies = {(one.case.part, one.mark): _answer(one, batch) for one in questions}
        if st.form_submit_button(f"Settle this {batch.form.item}"):
            marks = {place: value for place, value in replies.items() if value is not None}
            _write(list(replies.values()), lambda: batches.settle(task.id, marks=marks, who=who))


def _answer(question: CaseConsensus, batch: FormBatch) -> Value | None:
    mark = batch.form.mark(question.mark)
    versions = (el("li", el("strong", who), " ", display(value)) for who, value in sorted(question.case.by.items()))
    key = "-".join((question.case.item, question.case.part, question.mark))
    head = el("strong", f"{question.mark} {question.case.part}")
    draw(el("div", head, el("ul", *versions, cls="talks card")), key=f"versions-{key}")
    if isinstance(mark, ChoicesMark):
        chosen = st.multiselect(f"Answer: {question.mark}", mark.options, key=f"answer-{key}")
        return mark.read(SEVERAL.join(one for one in chosen if one != NONE or len(chosen) == 1)) if chosen else None
    values = mark.values if isinstance(mark, ChoiceMark) else ()
    return st.selectbox(f"Answer: {question.mark}", values, index=None, key=f"answer-{key}", placeholder="choose")
