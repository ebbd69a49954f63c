"""Figures of the policy lab as elements, and the turns they are over.

Turns are read once, kept without texts, and shared by viewers who may see the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Final

from vista_guard.dashboard.elements import address
from vista_guard.dashboard.elements.address import Filters, own_name, to
from vista_guard.dashboard.elements.charts import table
from vista_guard.dashboard.elements.looks import look
from vista_guard.dashboard.elements.tree import Act, Node, chip, el, shorten
from vista_guard.dashboard.scoped import ScopedReports
from vista_guard.policy.explanations import answer_number
from vista_guard.policy.turn_risk import TurnRisk
from vista_guard.types import Action, Decision, JudgeInfo
from vista_lab.metrics.intervals import Share
from vista_lab.pages.parts import table_of_labels
from vista_lab.policies import replayed
from vista_lab.policies.comparison import ChangedTurn, Comparison, PolicyAgreement, PolicyCase, case_of, without_texts
from vista_lab.policies.named import fit_of

BATCH: Final = 200
KEPT: Final = 4
"""Most samples kept at once: ten thousand turns take some fifty megabytes."""

AGE_S: Final = 600.0

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Sample:
    """Stored turns, newest first. `unreadable` is how many reports this version cannot read, `at` when it was read."""

    cases: tuple[PolicyCase, ...]
    fits: Mapping[JudgeInfo, TurnRisk | None]
    unreadable: int
    at: datetime
    more: bool
    """True when there are older turns than these."""

    @property
    def judges(self) -> tuple[JudgeInfo, ...]:
        return tuple(self.fits)


@dataclass
class Samples:
    """The last few samples, by viewer, filters and size."""

    _kept: dict[object, Sample] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)

    def get(self, key: object) -> Sample | None:
        """The sample, while it is fresh."""
        with self._lock:
            sample = self._kept.get(key)
        fresh = sample is not None and (datetime.now(UTC) - sample.at).total_seconds() < AGE_S
        return sample if fresh else None

    def keep(self, key: object, sample: Sample) -> Sample:
        """Keeps a sample, dropping the oldest."""
        with self._lock:
            self._kept.pop(key, None)
            self._kept[key] = sample
            while len(self._kept) > KEPT:
                del self._kept[next(iter(self._kept))]
        return sample

    def drop(self, key: object) -> None:
        """Forgets it."""
        with self._lock:
            self._kept.pop(key, None)


@cache
def samples() -> Samples:
    return Samples()


def read(reports: ScopedReports, filters: Filters, size: int, risk_table: Path | None, progress: Progress) -> Sample:
    """The newest turns that pass the filters, without their texts; `progress` gets the number read so far.

    Raises StoreError: the database cannot be read.
    """
    cases: list[PolicyCase] = []
    fits: dict[JudgeInfo, TurnRisk | None] = {}
    unreadable, cursor = 0, None
    while True:
        page = reports.page(filters, after=cursor, limit=min(BATCH, size - len(cases) - unreadable))
        turns = reports.turns([row.id for row in page.rows])
        for row in page.rows:
            turn = turns.get(row.id)
            if turn is None or isinstance(turn, str):
                unreadable += isinstance(turn, str)
                continue
            judge = turn.report.judge
            if judge not in fits:
                fits[judge] = fit_of(judge, risk_table)
            cases.append(without_texts(case_of(turn.report, fits[judge])))
        progress(len(cases) + unreadable)
        cursor = page.next
        if cursor is None or len(cases) + unreadable >= size:
            return Sample(tuple(cases), fits, unreadable, datetime.now(UTC), cursor is not None)


CELL: Final = "cell"
"""The act of a cell of the matrix; its value is `FLAG-BLOCK`."""


def totals(found: Comparison, names: Sequence[str]) -> Node:
    """Actions of each policy, side by side."""
    first, second = found.totals
    rows = [
        el(
            "li",
            el("span", chip(action), cls="what"),
            _bar(first.actions[action], first.turns, "first"),
            _bar(second.actions[action], second.turns, "second"),
            el("span", f"{second.actions[action] - first.actions[action]:+,}", cls="took"),
        )
        for action in Action
    ]
    sides = (el("b", name) for name in names)
    head = el("li", el("span", "turns"), *sides, el("span", "change", cls="took"), cls="head")
    return el("section", el("h2", "What each would have done"), el("ul", head, *rows, cls="versus"))


def _bar(count: int, turns: int, cls: str) -> Node:
    share = 100 * count / turns if turns else 0.0
    lane = el("span", el("span", cls=f"bar {cls}", style={"width": share}), cls="lane", aria_hidden="true")
    return el("span", lane, el("span", f"{count:,} ({share:.1f} %)", cls="nowrap"), cls="measure")


def matrix(found: Comparison, names: Sequence[str], chosen: tuple[Action, Action] | None) -> Node:
    """Turns by both decisions. A cell off the diagonal is a button that shows its turns."""
    rows = {one: [_cell(found, names, one, other, chosen) for other in Action] for one in Action}
    box = table_of_labels(f"{names[0]} ↓  {names[1]} →", list(Action), rows, "Transitions")
    text = el("p", "Press a number to see these turns alone.", cls="small faint")
    return el("section", el("h2", "From one to the other"), text, box)


def _cell(
    comparison: Comparison, names: Sequence[str], one: Action, other: Action, chosen: tuple[Action, Action] | None
) -> Node:
    count = comparison.transitions[one, other]
    if one is other or not count:
        return el("td", f"{count:,}", cls="number same")
    about = f"{count:,} turns: {look(one).word} by {names[0]}, {look(other).word} by {names[1]}"
    pressed, act = str((one, other) == chosen).lower(), Act(CELL, f"{one}-{other}")
    press = el("button", f"{count:,}", cls="cell", act=act, aria_label=about, aria_pressed=pressed)
    return el("td", press, cls="number")


def agreement(of: Sequence[PolicyAgreement], names: Sequence[str]) -> Node:
    """Agreement of both policies with people."""
    labelled = of[0].labelled
    heading = el("h2", "Where people said who is right")
    if not labelled:
        text = f"No turn of this sample has a person's word. {replayed.NOBODY}"
        return el("section", heading, el("p", text, cls="note"))
    shares = replayed.AGREEMENTS.items()
    rows = [
        [title, *(replayed.share(getattr(side, name)) for side in of), explanation]
        for name, (title, explanation) in shares
    ]
    text = f"{labelled:,} turns of the sample have a person's word. Intervals are Wilson's, 95 %."
    figures = table(["", *names, "share"], rows, label="Agreement with people")
    return el("section", heading, el("p", text, cls="small faint"), figures)


def honesty(found: Comparison, sample: Sample, names: Sequence[str], same: Share | None) -> Node:
    """The limits of these figures, each with its number of turns."""
    unreadable = replayed.count_text(
        sample.unreadable, "of the newest reports cannot be read by this version: left out."
    )
    check = None
    if same is not None:
        check = (
            f"Check: of {same.n:,} turns that this very first policy decided, {same.hits:,} come out as they did then."
        )
    limits = [*replayed.limits(found, names), unreadable, replayed.unfitted_judges(sample.fits)]
    limits += [check, replayed.REPAIRS]
    items = (el("li", limit, key=limit[:40]) for limit in replayed.join_parts(limits))
    return el("section", el("h2", "What this can't tell"), el("ul", *items, cls="honest small"))


def example(
    it: ChangedTurn, said: tuple[str, Decision | None, Decision | None] | None, fine: bool | None, names: Sequence[str]
) -> Node:
    """One turn on which the policies differ: what was said, and both decisions with their reasons."""
    text, first, second = said or ("(this report cannot be read)", None, None)
    person = None if fine is None else el("span", "people: fine" if fine else "people: not fine", cls="small faint")
    why = "The turn was cut short: what came behind is not known."
    cut = el("span", "censored", cls="chip tone-unchecked", title=why) if it.censored else None
    where = f"answer {answer_number(it.case.turn_index)} of {own_name(it.case.conversation_id, it.case.tenant)}"
    tenant = f" · tenant {it.case.tenant}" if it.case.tenant else ""
    about = f"{where}{tenant} · {address.exact(it.case.created_at)[:16]} UTC"
    return el(
        "li",
        el("div", chip(it.first), el("span", "→", aria_label="then"), chip(it.second), cut, person, cls="row"),
        to("conversation", shorten(text, 400) or "(no text)", cls="said", turn=it.case.report_id),
        el("p", about, cls="small faint"),
        _because(names[0], first),
        _because(names[1], second),
        key=it.case.report_id,
    )


def _because(name: str, decision: Decision | None) -> Node | None:
    if decision is None:
        return None
    return el("p", el("b", f"{name}: "), shorten(decision.reason, 600), cls="small text")
