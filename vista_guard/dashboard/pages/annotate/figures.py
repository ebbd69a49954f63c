"""How far the annotators of a batch agree, over the turns that all of them submitted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vista_guard.dashboard.elements import tree
from vista_guard.dashboard.elements.tree import Node, chip, draw, el
from vista_guard.dashboard.page import Desk
from vista_guard.dashboard.pages.annotate.alike import steps
from vista_guard.stores.reviews.records import CompleteTask, Condition
from vista_guard.types import Label
from vista_lab.metrics.agreement import Agreement, Figure, PairAgreement, agreement


def figures(desk: Desk, who: str, batch: str) -> None:  # noqa: ARG001  # every view is called alike
    """Draws the figures. Work that was not blind is left out, and counted."""
    tasks = desk.annotations.complete(batch)
    blind = [task for task in tasks if _is_blind(task)]
    if not blind:
        draw(_nothing(len(tasks)), key="no-figures")
        return
    turns = [{one.annotator: one.claims for one in task.annotations} for task in blind]
    found = agreement(turns, steps=steps(blind))
    parts = (_summary(found), _left_out(len(tasks) - len(blind)), _pairs(found.pairs), _confusion(found), _time(blind))
    draw(el("div", *parts, cls="stack"), key="figures")


def _is_blind(task: CompleteTask) -> bool:
    return all(one.condition is Condition.BLIND for one in task.annotations)


def _nothing(seen: int) -> Node:
    if seen:
        return tree.empty("No blind work to compare", f"In all {seen} turns somebody asked for the judge's labels.")
    return tree.empty(
        "Nothing to compare yet", "Agreement is counted over turns that as many people submitted as the batch wants."
    )


def _summary(found: Agreement) -> Node:
    turns = f"{found.turns} turns"
    tiles = (
        _tile("Claim sets, Jaccard", found.jaccard, f"mean over pairs: {len(found.pairs)}, {turns}"),
        _tile("Claim sets, F1", found.f1, "2J / (1 + J) of each pair"),
        _tile("Labels, Krippendorff's α", found.alpha.value, f"{_range(found.alpha)}over {found.units} claims"),
    )
    return el("dl", *tiles, cls="tiles three")


def _tile(name: str, value: float | None, told: str) -> Node:
    figure = el("dd", _number(value), cls="figure")
    return el("div", el("dt", name), figure, el("dd", told, cls="then"), cls="tile")


def _left_out(count: int) -> Node | None:
    if not count:
        return None
    return el("p", f"{count} turns are left out: somebody saw the judge's labels while they worked.", cls="note")


def _pairs(pairs: Sequence[PairAgreement]) -> Node:
    head = ("Annotators", "Turns", "Claims", "Shared", "Jaccard (95 %)", "F1 (95 %)")
    rows = (
        (
            " and ".join(pair.annotators),
            str(pair.turns),
            f"{pair.first} and {pair.second}",
            str(pair.shared),
            _told(pair.jaccard),
            _told(pair.f1),
        )
        for pair in pairs
    )
    return el("section", el("h3", "Which claims a turn makes"), _table(head, rows))


def _confusion(found: Agreement) -> Node:
    labels = tuple(Label)
    rows = []
    for one in labels:
        counts = (found.confusion.get((one, other), 0) for other in labels)
        rows.append(
            el("tr", el("th", chip(one), scope="row"), *(el("td", str(count) if count else "·") for count in counts))
        )
    head = el(
        "tr",
        el("th", el("span", "Label", cls="hidden"), scope="col"),
        *(el("th", chip(one), scope="col") for one in labels),
    )
    told = "Pairs of annotators that gave one claim these two labels, whoever gave which. On the diagonal they agree."
    return el(
        "section",
        el("h3", "Which labels"),
        el("p", told, cls="small faint"),
        _scrolled(el("thead", head), el("tbody", *rows)),
    )


def _time(tasks: Sequence[CompleteTask]) -> Node:
    seconds = [one.seconds for task in tasks for one in task.annotations]
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
    return _scrolled(el("thead", top), el("tbody", *body))


def _scrolled(*parts: Node) -> Node:
    return el("div", el("table", *parts, cls="grid"), cls="wide", tabindex="0", role="region", aria_label="Table")


def _told(figure: Figure) -> str:
    return f"{_number(figure.value)} {_range(figure)}".strip()


def _range(figure: Figure) -> str:
    return "" if figure.low is None or figure.high is None else f"({figure.low:.2f} to {figure.high:.2f}) "


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
