"""Policy lab, as it is drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import streamlit as st

from vista_guard.dashboard.desk import Desk
from vista_guard.dashboard.pages.lab import controls, figures
from vista_guard.dashboard.pages.lab.choice import Choice
from vista_guard.dashboard.pages.lab.sample import Sample, read, samples
from vista_guard.dashboard.parts import address, states, times
from vista_guard.dashboard.parts.filters import Filters, filter_bar, from_address
from vista_guard.dashboard.parts.states import show_problem
from vista_guard.dashboard.parts.tree import Act, Node, draw, el
from vista_guard.dashboard.reports.turns import GuardedTurn
from vista_guard.errors import ConfigError
from vista_guard.evaluation.whatif.cases import case_of
from vista_guard.evaluation.whatif.comparison import Changed, Comparison, compare, reproduced
from vista_guard.evaluation.whatif.deciding import PolicyFor, by_policy, decision, recorded
from vista_guard.evaluation.whatif.standing import standing
from vista_guard.policy.rules import rules_key
from vista_guard.types import Action, Decision

EXAMPLES: Final = 20
NAMES: Final = ("first", "second")


def lab(desk: Desk) -> None:
    """Draws the page."""
    st.title("Policy lab", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        filters = filter_bar(desk.reports.choices(from_address()))
        size = controls.sample_size()
        again = st.button("Read anew", icon=":material/refresh:")
    sample = _sample(desk, filters, size, again)
    if not sample.cases:
        draw(_nothing(filters), key="lab-empty")
        return
    draw(el("p", _about(sample), cls="small faint"), key="lab-age")
    left, right = st.columns(2, gap="large")
    with left:
        first = _side(desk, "a", sample)
    with right:
        second = _side(desk, "b", sample)
    if first is not None and second is not None:
        _compared(desk, sample, first, second)


def _sample(desk: Desk, filters: Filters, size: int, again: bool) -> Sample:
    key = (desk.viewer, filters, size)
    if again:
        samples().drop(key)
    found = samples().get(key)
    if found is not None:
        return found
    bar = st.progress(0.0, text="Reading stored reports")
    found = read(desk.reports, filters, size, desk.material.risk_table, lambda done: _advance(bar, done, size))
    bar.empty()
    return samples().keep(key, found)


def _advance(bar: object, done: int, size: int) -> None:
    bar.progress(min(done / size, 1.0), text=f"Reading stored reports: {done:,}")  # type: ignore[attr-defined]  # Streamlit's


def _side(desk: Desk, side: str, sample: Sample) -> tuple[Choice, PolicyFor | None] | None:
    """What was chosen, with the policy for each judge: None for what was done. None, with a message, when it makes no sense."""
    configured = desk.material.policy
    try:
        choice = controls.side(side, configured)
        recipe = choice.recipe(configured)
        found = None if recipe is None else standing(recipe.policy(), sample.judges, desk.material.risk_table)
    except ConfigError as exc:
        show_problem(f"{controls.TITLES[side]} makes no sense", exc, "Choose another preset or threshold.")
        return None
    if recipe is not None:
        with st.expander("Lines for vista-guard.toml"):
            st.code(recipe.toml(), language="toml")
    return choice, found


def _compared(
    desk: Desk, sample: Sample, first: tuple[Choice, PolicyFor | None], second: tuple[Choice, PolicyFor | None]
) -> None:
    sides = [policy for _, policy in (first, second)]
    decided = [recorded if policy is None else by_policy(policy) for policy in sides]
    found = compare(sample.cases, *decided)
    rules = {} if sides[0] is None else {judge: rules_key(policy) for judge, policy in sides[0].items()}
    same = reproduced(sample.cases, found.first, rules)
    fine = desk.words.fine(sample.cases)
    chosen = _pair(address.read("pair"))
    top = el(
        "div",
        figures.totals(found, NAMES),
        figures.matrix(found, NAMES, chosen),
        figures.agreement(found.agreement(fine), NAMES),
        figures.honesty(found, sample, NAMES, same),
        cls="lab",
    )
    event = draw(top, key="lab-figures")
    if isinstance(event, Act) and event.name == figures.CELL:
        address.write(pair=None if address.read("pair") == event.value else event.value, show=None)
        st.rerun()
    _changed(desk, found, sides, chosen, fine)


def _changed(
    desk: Desk,
    found: Comparison,
    sides: list[PolicyFor | None],
    chosen: tuple[Action, Action] | None,
    fine: Mapping[str, bool],
) -> None:
    """The turns on which they differ, so many at a time."""
    shown = [it for it in found.changed if chosen is None or (it.first, it.second) == chosen]
    first = int(address.read("show") or 0) if (address.read("show") or "0").isdecimal() else 0
    part = shown[first : first + EXAMPLES]
    whole = desk.reports.turns([it.case.report_id for it in part])
    told = f"turns that change: {len(shown):,}" if chosen is None else f"turns of this cell: {len(shown):,}"
    if len(shown) > EXAMPLES:
        told += f", {first + 1:,} to {first + len(part):,} shown"
    rows = [
        figures.example(it, _words(it, whole.get(it.case.report_id), sides), fine.get(it.case.report_id)) for it in part
    ]
    more = el(
        "div",
        _step("earlier", first - EXAMPLES, first > 0),
        _step("later", first + EXAMPLES, first + EXAMPLES < len(shown)),
        cls="row",
    )
    body = el("ol", *rows, cls="examples") if rows else el("p", "None: both decide alike.", cls="note")
    event = draw(
        el("section", el("h2", "Turns that change"), el("p", told, cls="small faint"), body, more), key="lab-changed"
    )
    if isinstance(event, Act) and event.name == "show":
        address.write(show=event.value)
        st.rerun()
    desk.follow(event)


def _step(name: str, to: int, there: bool) -> Node | None:
    return el("button", f"The {EXAMPLES} {name}", cls="plain", act=Act("show", str(max(to, 0)))) if there else None


def _words(
    it: Changed, turn: GuardedTurn | str | None, sides: list[PolicyFor | None]
) -> tuple[str, Decision | None, Decision | None] | None:
    """The draft, or its claims where it was not kept; and what each policy says, or what was said then where none decides."""
    if not isinstance(turn, GuardedTurn):
        return None
    report = turn.report
    then = report.attempts[0].decision if report.attempts else report.decision
    # The risk comes from the sample: it was worked out there with the fit of the turn's judge.
    case = replace(case_of(report), risk=it.case.risk)
    first, second = (then if policy is None else decision(case, policy) for policy in sides)
    said = turn.draft or " ".join(outcome.claim.text for outcome in case.outcomes)
    return said, first, second


def _pair(told: str | None) -> tuple[Action, Action] | None:
    one, _, other = (told or "").partition("-")
    known = set(map(str, Action))
    return (Action(one), Action(other)) if one in known and other in known else None


def _about(sample: Sample) -> str:
    newest, oldest = sample.cases[0].created_at, sample.cases[-1].created_at
    more = "; there are older ones" if sample.more else ""
    return (
        f"{len(sample.cases):,} stored turns, {times.exact(oldest)[:16]} to {times.exact(newest)[:16]} UTC{more} · read "
        f"{times.ago(sample.at)} · no judge is asked: policies decide anew on what was found then"
    )


def _nothing(filters: Filters) -> Node:
    if filters.narrow:
        return states.empty(
            "No turns to decide on", "No stored turn passes the filters. Choose a longer time, or clear them."
        )
    return states.empty(
        "No turns to decide on yet",
        "Policies decide here on turns that a guard stored before. Keep some, then come back.",
        command="vista-guard dashboard --demo",
    )
