"""Two runs beside each other, as elements. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from vista_guard.dashboard.parts.charts import table
from vista_guard.dashboard.parts.filters import LABELS
from vista_guard.dashboard.parts.labels import chip, look, name_of, sign
from vista_guard.dashboard.parts.tree import Node, el
from vista_guard.evaluation.comparing.figures import Paired, TurnChange
from vista_guard.evaluation.comparing.gold import Word
from vista_guard.evaluation.comparing.pairs import Pair
from vista_guard.evaluation.comparing.runs import Run
from vista_guard.evaluation.metrics.intervals import Share
from vista_guard.evaluation.metrics.labels import Reliability
from vista_guard.types import Finding, Label, Outcome

NO_WORD = (
    "No claim of both runs has a person's word: start the dashboard with --labels FILE, a log with labelled claims, or labels as "
    "for vista-guard calibrate."
)


def made(first: Run, second: Run, differs: Mapping[str, tuple[str, str]]) -> Node:
    """How each was made, and in what they differ."""
    same = len(first.reports.keys() & second.reports.keys())
    alone = f"{len(first.reports) - same:,} only in the first, {len(second.reports) - same:,} only in the second"
    told = f"turns in both: {same:,}; {alone}."
    rows = [[name, *values] for name, values in differs.items()]
    if not rows:
        what = el("p", "Both were made alike: what differs is chance, or the code.", cls="note")
    else:
        what = table(["differs in", "first", "second"], rows, label="How the runs differ")
    many = "More than one thing differs: what changed cannot be laid to one of them." if len(rows) > 1 else None
    return el(
        "section", el("h2", "What was compared"), el("p", told, cls="small"), what, many and el("p", many, cls="note")
    )


def accuracy(found: Paired | None) -> Node:
    """How often each agrees with people, on the same claims."""
    heading = el("h2", "Who is right")
    if found is None:
        text = NO_WORD
        return el("section", heading, el("p", text, cls="note"))
    rows = [["first", _share(found.first)], ["second", _share(found.second)]]
    text = (
        f"Only the second is right on {found.better:,} claims, only the first on {found.worse:,}. If neither were better, a "
        f"split at least as uneven would come with a probability of {found.p:.2g} (McNemar's exact test)."
    )
    return el(
        "section", heading, el("p", text, cls="small"), table(["run", "agrees with people"], rows, label="Agreement")
    )


def _share(share: Share) -> str:
    return (
        f"{100 * share.value:.1f} %  ({100 * share.low:.1f} to {100 * share.high:.1f} %; {share.hits:,} of {share.n:,})"
    )


def matrix(counts: Counter[tuple[str, str]], title: str, text: str, corner: str) -> Node:
    """Claims by two labels, rows by columns. What agrees is on the diagonal."""
    if not counts:
        return el("section", el("h2", title), el("p", "No claim to count.", cls="note"))
    head = el(
        "tr", el("th", corner, scope="col"), *(el("th", sign(one), f" {look(one).word}", scope="col") for one in LABELS)
    )
    body = [
        el(
            "tr",
            el("th", sign(one), f" {look(one).word}", scope="row"),
            *(_cell(counts[one, other], one == other) for other in LABELS),
        )
        for one in LABELS
        if any(counts[one, other] for other in LABELS)
    ]
    box = el("table", el("thead", head), el("tbody", *body))
    return el(
        "section",
        el("h2", title),
        el("p", text, cls="small faint"),
        el("div", box, cls="figures", tabindex="0", role="region", aria_label=title),
    )


def _cell(count: int, same: bool) -> Node:
    return el("td", f"{count:,}" if count else "·", cls=f"number{' same' if same or not count else ' differs-here'}")


def bins(found: Reliability) -> list[list[str | float]]:
    """The reliability diagram's rows."""
    return [[f"{one.confidence:.2f}", round(one.accuracy, 3), one.n] for one in found.bins]


def change(pair: Pair) -> Node:
    """One claim that differs: both labels, a person's word, and both reasons on demand."""
    state = "worse" if pair.regressed else "better" if pair.improved else ""
    mark = (
        None
        if not state
        else el(
            "span",
            "↓ worse" if state == "worse" else "↑ better",
            cls=f"chip tone-{'contradicted' if state == 'worse' else 'verified'}",
        )
    )
    return el(
        "li",
        el(
            "div",
            _label(pair.first),
            el("span", "→", aria_label="then"),
            _label(pair.second),
            mark,
            _word(pair.word),
            cls="row",
        ),
        el("p", pair.claim.text, cls="text"),
        el("p", f"turn {pair.turn[1]} of {pair.turn[0] or 'an anonymous conversation'}", cls="small faint"),
        el(
            "details",
            el("summary", "Reasons and evidence"),
            *_because("first", pair.first),
            *_because("second", pair.second),
        ),
        key=f"{pair.turn[0]}-{pair.turn[1]}-{pair.claim.id}-{pair.claim.text}"[:200],
    )


def _label(outcome: Outcome | None) -> Node:
    return el("span", "no such claim", cls="small faint") if outcome is None else chip(name_of(outcome))


def _word(word: Word | None) -> Node | None:
    if word is None:
        return None
    told = look(word).word if isinstance(word, Label) else "fine" if word else "not fine"
    return el("span", f"people: {told}", cls="small faint")


def _because(name: str, outcome: Outcome | None) -> list[Node]:
    if outcome is None:
        return []
    if not isinstance(outcome, Finding):
        return [el("p", el("b", f"{name}: "), f"not judged: {outcome.error}", cls="small text")]
    told = [el("p", el("b", f"{name} ({outcome.confidence:.2f}): "), outcome.reason, cls="small text")]
    return told + [
        el("p", f"“{piece.quote}” ({piece.source}, {piece.score:.2f})", cls="small faint text")
        for piece in outcome.evidence
    ]


def turns(changes: Sequence[TurnChange]) -> Node:
    """Turns that were decided on differently."""
    if not changes:
        return el("section", el("h2", "Decisions that differ"), el("p", "None.", cls="note"))
    rows = [
        [
            f"turn {it.turn[1]} of {it.turn[0]}",
            look(it.first).word,
            look(it.second).word,
            {True: "fine", False: "not fine", None: ""}[it.fine],
        ]
        for it in changes[:200]
    ]
    more = f", the first {len(rows)} shown" if len(changes) > len(rows) else ""
    told = el("p", f"turns: {len(changes):,}{more}.", cls="small")
    return el(
        "section",
        el("h2", "Decisions that differ"),
        told,
        table(["turn", "first", "second", "people"], rows, label="Decisions that differ"),
    )
