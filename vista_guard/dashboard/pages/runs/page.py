"""Runs, as they are drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import streamlit as st

from vista_guard.dashboard.desk import Desk
from vista_guard.dashboard.pages.runs import figures
from vista_guard.dashboard.parts import address, states
from vista_guard.dashboard.parts.diagram import diagram
from vista_guard.dashboard.parts.states import show_problem
from vista_guard.dashboard.parts.tree import Act, Node, draw, el
from vista_guard.dashboard.settings import Permission
from vista_guard.errors import InputError
from vista_guard.evaluation.comparing.figures import (
    calibration,
    confusion,
    in_order,
    paired_accuracy,
    transitions,
    turn_changes,
)
from vista_guard.evaluation.comparing.gold import Gold
from vista_guard.evaluation.comparing.pairs import Pair, paired
from vista_guard.evaluation.comparing.runs import (
    Run,
    RunFile,
    differences,
    find_runs,
    read_run,
    told,
    why_not_comparable,
)

SHOWN: Final = 40
SIDES: Final = {"first": "First run", "second": "Second run"}


@dataclass(frozen=True)
class _Stamp:
    """Tells a file from the same one when it has grown."""

    file: RunFile
    size: int
    changed: int


def runs(desk: Desk) -> None:
    """Draws the page."""
    st.title("Runs", anchor=False)
    if desk.viewer.tenants is not None or not desk.viewer.allows(Permission.DRAFTS):
        draw(_closed(), key="runs-closed")
        return
    files, wrong = find_runs(desk.material.runs)
    if wrong:
        show_problem("Some runs cannot be read", "\n".join(wrong), "The others are shown.")
    if not files:
        draw(_nothing(given=bool(desk.material.runs)), key="runs-empty")
        return
    first, second = _chosen(files)
    if first.path == second.path:
        draw(_one(files), key="runs-one")
        return
    left, right = _read(_stamp(first)), _read(_stamp(second))
    why = why_not_comparable(left, right)
    if why is not None:
        draw(states.empty("These two cannot be compared", why), key="runs-apart")
        return
    _compared(left, right, desk.words.gold)


def _chosen(files: Sequence[RunFile]) -> tuple[RunFile, RunFile]:
    """The two that the address names, else the first two."""
    names = [file.name for file in files]
    columns = st.columns(2, gap="large")
    found = []
    for place, (side, title) in enumerate(SIDES.items()):
        asked = address.read(side)
        now = asked if asked in names else names[min(place, len(names) - 1)]
        st.session_state[f"runs-{side}"] = now
        columns[place].selectbox(title, names, key=f"runs-{side}", on_change=_choose, args=(side,))
        file = files[names.index(now)]
        with columns[place]:
            draw(_identity(file), key=f"runs-{side}-identity")
        found.append(file)
    return found[0], found[1]


def _choose(side: str) -> None:
    address.write(**{side: str(st.session_state[f"runs-{side}"]), "show": None})


def _identity(file: RunFile) -> Node:
    return el("p", " · ".join(told(file.identity)), cls="small faint text")


def _compared(first: Run, second: Run, gold: Gold) -> None:
    pairs = paired(first, second, gold)
    top = el(
        "div",
        figures.made(first, second, differences(first.identity, second.identity)),
        figures.accuracy(paired_accuracy(pairs)),
        figures.matrix(
            transitions(pairs),
            "From one to the other",
            "Claims that both runs have, by their labels.",
            "first ↓  second →",
        ),
        figures.turns(turn_changes(first, second, gold)),
        cls="lab",
    )
    draw(top, key="runs-top")
    _against_people(pairs)
    _changes(pairs)


def _against_people(pairs: Sequence[Pair]) -> None:
    """Each run's labels and confidences beside people's word, where there is any."""
    found = [confusion(pairs, second=second) for second in (False, True)]
    if any(found):
        text = "Claims by the label that people gave, and that this run gave."
        sections = [
            figures.matrix(counts, f"The {side} run against people", text, "people ↓  judge →")
            for side, counts in zip(SIDES, found, strict=True)
        ]
        draw(el("div", *sections, cls="lab"), key="runs-people")
    diagram([(side, calibration(pairs, second=place == 1)) for place, side in enumerate(SIDES)])


def _changes(pairs: Sequence[Pair]) -> None:
    ordered = in_order(pairs)
    asked = address.read("show") or "0"
    start = min(int(asked), len(ordered)) if asked.isdecimal() else 0
    part = ordered[start : start + SHOWN]
    worse, better = sum(pair.regressed for pair in ordered), sum(pair.improved for pair in ordered)
    summed = f"{len(ordered):,} of {len(pairs):,} claims differ: {worse:,} worse, {better:,} better."
    if len(ordered) > SHOWN:
        summed += f" {start + 1:,} to {start + len(part):,} are shown."
    rows = (
        el("ol", *map(figures.change, part), cls="examples")
        if part
        else el("p", "Both runs say the same of every claim.", cls="note")
    )
    steps = el(
        "div",
        _step("earlier", start - SHOWN, start > 0),
        _step("later", start + SHOWN, start + SHOWN < len(ordered)),
        cls="row",
    )
    event = draw(
        el("section", el("h2", "Claims that differ, regressions first"), el("p", summed, cls="small"), rows, steps),
        key="runs-claims",
    )
    if isinstance(event, Act) and event.name == "show":
        address.write(show=event.value)
        st.rerun()


def _step(name: str, to: int, there: bool) -> Node | None:
    return el("button", f"The {SHOWN} {name}", cls="plain", act=Act("show", str(max(to, 0)))) if there else None


def _stamp(file: RunFile) -> _Stamp:
    try:
        now = file.path.stat()
    except OSError as exc:
        raise InputError(f"{file.path} cannot be read: {exc.strerror}") from exc
    return _Stamp(file, now.st_size, now.st_mtime_ns)


@lru_cache(maxsize=4)
def _read(stamp: _Stamp) -> Run:
    return read_run(stamp.file)


def _nothing(*, given: bool) -> Node:
    if given:
        text = "What was given with --runs holds no reports of a replay. Replay a log, then load this page anew."
        return states.empty("No runs found", text, command="vista-guard replay LOG --out runs/first.jsonl")
    text = "Replay one log with two judges or policies, and start the dashboard with the folder of both files."
    return states.empty("No runs to compare", text, command="vista-guard dashboard --runs runs/")


def _one(files: Sequence[RunFile]) -> Node:
    if len(files) > 1:
        return states.empty("Twice the same run", "Choose another run on one of the sides.")
    text = "One run is there. Replay the same log with another judge or policy into another file beside it."
    return states.empty("One run alone", text, command="vista-guard replay LOG --policy strict --out runs/second.jsonl")


def _closed() -> Node:
    text = (
        "Runs hold whole logs, of all tenants and with withheld drafts. Those see them who see all tenants and drafts."
    )
    return states.empty("Not for your role", text)
