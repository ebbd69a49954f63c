"""What came out, as elements. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from vista_guard.dashboard.pages.lab.sample import Sample
from vista_guard.dashboard.parts import times
from vista_guard.dashboard.parts.charts import table
from vista_guard.dashboard.parts.labels import chip, look, sign
from vista_guard.dashboard.parts.links import to
from vista_guard.dashboard.parts.tree import Act, Node, el
from vista_guard.evaluation.metrics.intervals import Share
from vista_guard.evaluation.whatif import words
from vista_guard.evaluation.whatif.comparison import Agreement, Changed, Comparison
from vista_guard.types import Action, Decision

CELL: Final = "cell"
"""The act of a cell of the matrix; its value is `FLAG-BLOCK`."""


def totals(found: Comparison, names: Sequence[str]) -> Node:
    """What each policy would have done, beside each other."""
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
    head = el(
        "li", el("span", "turns"), el("b", names[0]), el("b", names[1]), el("span", "change", cls="took"), cls="head"
    )
    return el("section", el("h2", "What each would have done"), el("ul", head, *rows, cls="versus"))


def _bar(count: int, turns: int, cls: str) -> Node:
    share = 100 * count / turns if turns else 0.0
    lane = el("span", el("span", cls=f"bar {cls}", style={"width": share}), cls="lane", aria_hidden="true")
    return el("span", lane, el("span", f"{count:,} ({share:.1f} %)", cls="nowrap"), cls="measure")


def matrix(found: Comparison, names: Sequence[str], chosen: tuple[Action, Action] | None) -> Node:
    """Turns by both decisions. A cell off the diagonal is a button that shows its turns."""
    head = el(
        "tr",
        el("th", f"{names[0]} ↓  {names[1]} →", scope="col"),
        *(el("th", sign(one), f" {look(one).word}", scope="col") for one in Action),
    )
    rows = [
        el(
            "tr",
            el("th", sign(one), f" {look(one).word}", scope="row"),
            *(_cell(found, one, other, chosen) for other in Action),
        )
        for one in Action
    ]
    box = el(
        "div",
        el("table", el("thead", head), el("tbody", *rows)),
        cls="figures",
        tabindex="0",
        role="region",
        aria_label="Transitions",
    )
    text = el("p", "Press a number to see these turns alone.", cls="small faint")
    return el("section", el("h2", "From one to the other"), text, box)


def _cell(found: Comparison, one: Action, other: Action, chosen: tuple[Action, Action] | None) -> Node:
    count = found.transitions[one, other]
    if one is other or not count:
        return el("td", f"{count:,}", cls="number same")
    here = (one, other) == chosen
    told = f"{count:,} turns: {look(one).word} by the first, {look(other).word} by the second"
    press = el(
        "button",
        f"{count:,}",
        cls="cell",
        act=Act(CELL, f"{one}-{other}"),
        aria_label=told,
        aria_pressed=str(here).lower(),
    )
    return el("td", press, cls="number")


def agreement(of: Sequence[Agreement], names: Sequence[str]) -> Node:
    """Both policies beside people's word."""
    labelled = of[0].labelled
    heading = el("h2", "Where people said who is right")
    if not labelled:
        text = f"No turn of this sample has a person's word. {words.NOBODY}"
        return el("section", heading, el("p", text, cls="note"))
    shares = words.AGREEMENTS.items()
    rows = [[title, *(words.share(getattr(one, name)) for one in of), what] for name, (title, what) in shares]
    text = f"{labelled:,} turns of the sample have a person's word. Intervals are Wilson's, 95 %."
    return el(
        "section",
        heading,
        el("p", text, cls="small faint"),
        table(["", *names, "share"], rows, label="Agreement with people"),
    )


def honesty(found: Comparison, sample: Sample, names: Sequence[str], same: Share | None) -> Node:
    """What these figures can't know, with how many turns it is about."""
    told = words.joined(
        [
            *words.limits(found, names),
            words.counted(sample.unreadable, "reports cannot be read by this version, and are left out."),
            words.unfitted(sample.fits),
            _checked(same),
            words.REPAIRS,
        ]
    )
    return el(
        "section",
        el("h2", "What this can't tell"),
        el("ul", *(el("li", one, key=one[:40]) for one in told), cls="honest small"),
    )


def _checked(same: Share | None) -> str | None:
    if same is None:
        return None
    return f"Check: of {same.n:,} turns that this very first policy decided, {same.hits:,} come out as they did then."


def example(it: Changed, said: tuple[str, Decision | None, Decision | None] | None, fine: bool | None) -> Node:
    """One turn on which the policies differ: what was said, and both decisions with their reasons."""
    text, first, second = said or ("(this report cannot be read)", None, None)
    person = None if fine is None else el("span", "people: fine" if fine else "people: not fine", cls="small faint")
    cut = (
        el(
            "span",
            "censored",
            cls="chip tone-unchecked",
            title="The turn was cut short: what came behind is not known.",
        )
        if it.censored
        else None
    )
    where = f"turn {it.case.turn_index} of {it.case.conversation_id or 'an anonymous conversation'}"
    about = f"{where} · {times.exact(it.case.created_at)[:16]}"
    return el(
        "li",
        el("div", chip(it.first), el("span", "→", aria_label="then"), chip(it.second), cut, person, cls="row"),
        to("conversation", " ".join(text.split())[:400] or "(no text)", cls="said", turn=it.case.report_id),
        el("p", about, cls="small faint"),
        _because("first", first),
        _because("second", second),
        key=it.case.report_id,
    )


def _because(name: str, decision: Decision | None) -> Node | None:
    if decision is None:
        return None
    return el("p", el("b", f"{name}: "), decision.reason[:600], cls="small text")
