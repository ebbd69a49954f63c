"""The panel beside the dialogue: the open claim with its evidence, and what happened in its turn."""

from __future__ import annotations

from dataclasses import dataclass

from vista_guard.dashboard.pages.conversation.course import course
from vista_guard.dashboard.pages.conversation.evidence import Sources, evidence_of, knowledge_then
from vista_guard.dashboard.pages.conversation.selection import Selected
from vista_guard.dashboard.parts.labels import chip, name_of
from vista_guard.dashboard.parts.links import to
from vista_guard.dashboard.parts.tree import Act, Node, el
from vista_guard.dashboard.reports.turns import GuardedTurn
from vista_guard.types import Finding, Outcome


@dataclass(frozen=True)
class Beside:
    """What the panel knows beside its turn: where evidence comes from, the template of trace links, who may review."""

    sources: Sources
    trace_url: str | None = None
    may_review: bool = False


def panel(turn: GuardedTurn | None, chosen: Selected, beside: Beside) -> Node:
    """The panel; an invitation where no turn is open."""
    if turn is None:
        return el(
            "aside",
            el("p", "Press a marked claim, or a turn, to see why it was judged so.", cls="faint"),
            cls="panel idle",
        )
    outcome = chosen.outcome(turn)
    if outcome is None:
        lost = None if chosen.claim is None else el("p", f"This turn has no claim {chosen.claim!r}.", cls="note")
        return _panel(
            el("h3", f"Turn {turn.report.turn_index}"),
            lost,
            _doubt(turn, beside),
            *course(turn, chosen, beside.trace_url),
            idle=True,
        )
    return _panel(
        el(
            "div",
            _verdict(outcome),
            el("button", "✕", cls="close", act=Act("close"), aria_label="Close the claim"),
            cls="top",
        ),
        el("p", outcome.claim.text, cls="statement"),
        el("p", _reason(outcome), cls="small text"),
        *evidence_of(outcome, turn, beside.sources),
        knowledge_then(turn, beside.sources),
        _doubt(turn, beside),
        el(
            "details",
            el("summary", f"Turn {turn.report.turn_index}: course and figures"),
            *course(turn, chosen, beside.trace_url),
        ),
    )


def _doubt(turn: GuardedTurn, beside: Beside) -> Node | None:
    return to("review", "Is this verdict wrong? Review it", turn=turn.report.id) if beside.may_review else None


def _panel(*parts: Node | None, idle: bool = False) -> Node:
    return el("aside", *parts, cls=f"panel{' idle' if idle else ''}", aria_label="Evidence", tabindex="0")


def _verdict(outcome: Outcome) -> Node:
    if not isinstance(outcome, Finding):
        return el("div", chip(name_of(outcome)), el("span", f"a {outcome.what}", cls="faint small"), cls="row")
    by = None if outcome.judged_by is None else el("span", f"by {outcome.judged_by}", cls="faint small")
    return el(
        "div",
        chip(name_of(outcome)),
        el("span", f"confidence {outcome.confidence:.2f}", cls="faint small"),
        by,
        cls="row",
    )


def _reason(outcome: Outcome) -> str:
    if isinstance(outcome, Finding):
        return outcome.reason
    return f"Not judged: {outcome.error}" + (f"\nThe judge answered: {outcome.raw}" if outcome.raw else "")
