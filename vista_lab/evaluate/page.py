"""The dashboard's page *Runs*: two runs side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import streamlit as st

from vista_guard.dashboard.elements import address, tree
from vista_guard.dashboard.elements.address import LABELS
from vista_guard.dashboard.elements.charts import diagram, table
from vista_guard.dashboard.elements.looks import look
from vista_guard.dashboard.elements.tree import Act, Node, chip, draw, el, show_problem
from vista_guard.dashboard.page import Desk, download
from vista_guard.dashboard.registry import PageInfo
from vista_guard.dashboard.settings import Permission
from vista_guard.policy.labels import Gold, Word
from vista_guard.policy.risk import Reliability
from vista_guard.types import Finding, Label, Outcome, label_of
from vista_lab.evaluate import comparing
from vista_lab.files import reading
from vista_lab.metrics.intervals import Share
from vista_lab.pages.parts import first_shown, pager, table_of_labels
from vista_lab.runs.reading import Run, RunFile, describe, differences, find_runs, read_run, why_not_comparable

NO_WORD = (
    "No claim of both runs is labelled: start the dashboard with --labels FILE, a log with labelled claims, or labels as "
    "for vista-guard calibrate that name claims. Labels of whole turns say nothing of single claims."
)


def provenance(first: Run, second: Run, differs: Mapping[str, tuple[str, str]]) -> Node:
    """The turns in both runs, and the settings that differ."""
    shared = len(first.reports.keys() & second.reports.keys())
    alone = f"{len(first.reports) - shared:,} only in the first, {len(second.reports) - shared:,} only in the second"
    summary = f"turns in both: {shared:,}; {alone}."
    rows = [[name, *values] for name, values in differs.items()]
    if not rows:
        body = el("p", "Both have the same settings: differences come from chance or from the code.", cls="note")
    else:
        body = table(["differs in", "first", "second"], rows, label="How the runs differ")
    many = len(_causes(first, second, differs)) > 1
    warning = "More than one thing differs: what changed cannot be laid to one of them." if many else None
    note = warning and el("p", warning, cls="note")
    return el("section", el("h2", "What was compared"), el("p", summary, cls="small"), body, note)


def _causes(first: Run, second: Run, differs: Mapping[str, tuple[str, str]]) -> list[str]:
    """The differences that may be causes. A policy's rules come with its name, and a replay says nothing of its log."""
    told = {"rules"} if "policy" in differs else set()
    manifests = [first.manifest, second.manifest]
    if any(manifest.rows is None for manifest in manifests):
        bare = [manifest.model_copy(update={"rows": None}) for manifest in manifests]
        told |= differs.keys() - differences(*bare).keys()
    return [name for name in differs if name not in told]


def accuracy(found: comparing.PairedRuns | None) -> Node:
    """Agreement of each run with people, on the same claims."""
    heading = el("h2", "Who is right")
    if found is None:
        return el("section", heading, el("p", NO_WORD, cls="note"))
    rows = [["first", _share(found.first)], ["second", _share(found.second)]]
    text = (
        f"Only the second is right on {found.better:,} claims, only the first on {found.worse:,}. If neither were better, a "
        f"split at least as uneven would come with a probability of {found.p:.2g} (McNemar's exact test)."
    )
    figures = table(["run", "agrees with people"], rows, label="Agreement")
    return el("section", heading, el("p", text, cls="small"), figures)


def _share(share: Share) -> str:
    low, high = share.interval
    return f"{100 * share.value:.1f} %  ({100 * low:.1f} to {100 * high:.1f} %; {share.hits:,} of {share.n:,})"


def matrix(counts: Counter[tuple[str, str]], title: str, text: str, corner: str) -> Node:
    """Claims by two labels, with agreement on the diagonal."""
    if not counts:
        return el("section", el("h2", title), el("p", "No claim to count.", cls="note"))
    known = [one for one in LABELS if any(counts[one, other] for other in LABELS)]
    rows = {one: [_cell(counts[one, other], one == other) for other in LABELS] for one in known}
    box = table_of_labels(corner, LABELS, rows, title)
    return el("section", el("h2", title), el("p", text, cls="small faint"), box)


def _cell(count: int, same: bool) -> Node:
    return el("td", f"{count:,}" if count else "·", cls=f"number{' same' if same or not count else ' differs-here'}")


def bins(found: Reliability) -> list[list[str | float]]:
    """The reliability diagram's rows."""
    return [[f"{bucket.confidence:.2f}", round(bucket.accuracy, 3), bucket.n] for bucket in found.bins]


def change(pair: comparing.ClaimPair) -> Node:
    """One claim that differs: both labels, a person's word, and both reasons on demand."""
    mark = None
    if pair.regressed:
        mark = el("span", "↓ worse", cls="chip tone-contradicted")
    elif pair.improved:
        mark = el("span", "↑ better", cls="chip tone-verified")
    nothing, both = el("span", "no such claim", cls="small faint"), (pair.first, pair.second)
    first, second = (nothing if outcome is None else chip(label_of(outcome)) for outcome in both)
    reasons = (*_because("first", pair.first), *_because("second", pair.second))
    return el(
        "li",
        el("div", first, el("span", "→", aria_label="then"), second, mark, _word(pair.word), cls="row"),
        el("p", pair.claim.text, cls="text"),
        el("p", f"turn {pair.turn[1]} of {pair.turn[0] or 'an anonymous conversation'}", cls="small faint"),
        el("details", el("summary", "Reasons and evidence"), *reasons),
        key=f"{pair.turn[0]}-{pair.turn[1]}-{pair.claim.id}-{pair.claim.text}"[:200],
    )


def _word(word: Word | None) -> Node | None:
    if word is None:
        return None
    text = look(word).word if isinstance(word, Label) else "fine" if word else "not fine"
    return el("span", f"people: {text}", cls="small faint")


def _because(name: str, outcome: Outcome | None) -> list[Node]:
    if outcome is None:
        return []
    if not isinstance(outcome, Finding):
        return [el("p", el("b", f"{name}: "), f"not judged: {outcome.error}", cls="small text")]
    nodes = [el("p", el("b", f"{name} ({outcome.confidence:.2f}): "), outcome.reason, cls="small text")]
    quoted = [(f"“{one.quote}” ({one.source}, {one.score:.2f})") for one in outcome.evidence]
    return nodes + [el("p", text, cls="small faint text") for text in quoted]


def turns(changes: Sequence[comparing.TurnChange]) -> Node:
    """Turns that were decided on differently."""
    if not changes:
        return el("section", el("h2", "Decisions that differ"), el("p", "None.", cls="note"))
    words = {True: "fine", False: "not fine", None: ""}
    shown = [(one.turn, (one.first, one.second), words[one.fine]) for one in changes[:200]]
    rows = [[f"turn {turn[1]} of {turn[0]}", *(look(one).word for one in both), fine] for turn, both, fine in shown]
    more = f", the first {len(rows)} shown" if len(changes) > len(rows) else ""
    summary = el("p", f"turns: {len(changes):,}{more}.", cls="small")
    figures = table(["turn", "first", "second", "people"], rows, label="Decisions that differ")
    return el("section", el("h2", "Decisions that differ"), summary, figures)


SHOWN: Final = 40
SIDES: Final = {"first": "First run", "second": "Second run"}


@dataclass(frozen=True)
class _Stamp:
    file: RunFile
    size: int
    changed: int


def runs(desk: Desk) -> None:
    st.title("Runs", anchor=False)
    if desk.viewer.tenants is not None or not desk.viewer.allows(Permission.DRAFTS):
        text = (
            "Runs hold whole logs, of all tenants and with withheld drafts. Your role must see all tenants and drafts."
        )
        draw(tree.empty("Not for your role", text), key="runs-closed")
        return
    files, wrong = find_runs(desk.material.runs)
    if wrong:
        show_problem("Some runs cannot be read", "\n".join(wrong), "The others are shown.")
    if not files:
        draw(_nothing(given=bool(desk.material.runs)), key="runs-empty")
        return
    first, second = _choose_runs(files)
    if first.path == second.path:
        draw(_one(files), key="runs-one")
        return
    left, right = _read(_stamp(first)), _read(_stamp(second))
    why = why_not_comparable(left, right)
    if why is not None:
        draw(tree.empty("These two cannot be compared", why), key="runs-apart")
        return
    _draw_comparison(left, right, desk.words.gold)


def _choose_runs(files: Sequence[RunFile]) -> tuple[RunFile, RunFile]:
    names = [file.name for file in files]
    columns = st.columns(2, gap="large")
    chosen = []
    for place, (side, title) in enumerate(SIDES.items()):
        name = address.read(side)
        current = name if name in names else names[min(place, len(names) - 1)]
        st.session_state[f"runs-{side}"] = current
        columns[place].selectbox(title, names, key=f"runs-{side}", on_change=_choose, args=(side,))
        file = files[names.index(current)]
        with columns[place]:
            draw(el("p", " · ".join(describe(file.manifest)), cls="small faint text"), key=f"runs-{side}-identity")
        chosen.append(file)
    return chosen[0], chosen[1]


def _choose(side: str) -> None:
    address.write(**{side: str(st.session_state[f"runs-{side}"]), "show": None})


def _draw_comparison(first: Run, second: Run, gold: Gold) -> None:
    pairs = comparing.pair_claims(first, second, gold)
    caption = "Claims that both runs have, by their labels."
    top = el(
        "div",
        provenance(first, second, differences(first.manifest, second.manifest)),
        accuracy(comparing.paired_accuracy(pairs)),
        matrix(comparing.transitions(pairs), "From one to the other", caption, "first ↓  second →"),
        turns(comparing.turn_changes(first, second, gold)),
        cls="lab",
    )
    draw(top, key="runs-top")
    _against_people(pairs)
    _changes(pairs)


def _against_people(pairs: Sequence[comparing.ClaimPair]) -> None:
    """Each run's labels and confidences beside people's word, where there is any."""
    confusions = [comparing.confusion(pairs, second=second) for second in (False, True)]
    if any(confusions):
        text = "Claims by the label that people gave, and that this run gave."
        both, groups = zip(SIDES, confusions, strict=True), "people ↓  judge →"
        sections = [matrix(counts, f"The {side} run against people", text, groups) for side, counts in both]
        draw(el("div", *sections, cls="lab"), key="runs-people")
    diagram([(side, comparing.calibration(pairs, second=place == 1)) for place, side in enumerate(SIDES)])


def _changes(pairs: Sequence[comparing.ClaimPair]) -> None:
    ordered = comparing.in_order(pairs)
    start = first_shown(address.read("show"), SHOWN, len(ordered))
    part = ordered[start : start + SHOWN]
    worse, better = sum(pair.regressed for pair in ordered), sum(pair.improved for pair in ordered)
    summed = f"{len(ordered):,} of {len(pairs):,} claims differ: {worse:,} worse, {better:,} better."
    if len(ordered) > SHOWN:
        summed += f" {start + 1:,} to {start + len(part):,} are shown."
    rows = el("p", "Both runs say the same of every claim.", cls="note")
    if part:
        rows = el("ol", *map(change, part), cls="examples")
    head, more = el("h2", "Claims that differ, regressions first"), pager(start, SHOWN, len(ordered))
    event = draw(el("section", head, el("p", summed, cls="small"), rows, more), key="runs-claims")
    if ordered:
        header = ("conversation", "turn", "claim", "first", "second", "regressed")
        cells = ((*one.turn, one.claim.text, *one.labels, one.regressed) for one in ordered)
        download("runs", header, lambda: list(cells))
    if isinstance(event, Act) and event.name == "show":
        address.write(show=event.value)
        st.rerun()


def _stamp(file: RunFile) -> _Stamp:
    with reading(file.path):
        status = file.path.stat()
    return _Stamp(file, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=4)
def _read(stamp: _Stamp) -> Run:
    return read_run(stamp.file)


def _nothing(*, given: bool) -> Node:
    if given:
        text = "The folders given with --runs hold no reports. Replay a log, then reload this page."
        return tree.empty("No runs found", text, command="vista-guard replay LOG --out runs/first.jsonl")
    text = "Replay one log with two judges or policies, and start the dashboard with the folder of both files."
    return tree.empty("No runs to compare", text, command="vista-guard dashboard --runs runs/")


def _one(files: Sequence[RunFile]) -> Node:
    if len(files) > 1:
        return tree.empty("Twice the same run", "Choose another run on one of the sides.")
    text = "There is one run. Replay the same log with another judge or policy into another file in the folder."
    return tree.empty("One run alone", text, command="vista-guard replay LOG --policy strict --out runs/second.jsonl")


PAGE = PageInfo("Runs", "runs", "compare_arrows", runs)
