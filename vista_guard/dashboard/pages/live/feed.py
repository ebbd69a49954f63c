"""The feed: turns as they come, the newest on top, pinned ones above them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from vista_guard.dashboard.parts import address, times
from vista_guard.dashboard.parts.labels import chip, counted, look, name_of
from vista_guard.dashboard.parts.links import to
from vista_guard.dashboard.parts.tree import Act, Node, el
from vista_guard.types import Action, Label, TurnReport

ATTENTION = frozenset({Action.FLAG, Action.REPAIR, Action.BLOCK})


def wants_attention(report: TurnReport) -> bool:
    """Whether somebody should look: the turn was not simply let through, or a claim of it could not be judged."""
    return report.decision.action in ATTENTION or bool(report.unchecked) or report.evidence_missing


def feed(reports: Sequence[TurnReport], pinned: Sequence[TurnReport], fresh: frozenset[str]) -> Node:
    """The rows. `fresh` are the ids of those that came with this look: they are shown to be new for a moment."""
    kept = {report.id for report in pinned}
    rows = [_row(report, pinned=True, fresh=False) for report in pinned]
    rows += [_row(report, pinned=False, fresh=report.id in fresh) for report in reports if report.id not in kept]
    return el("ol", *rows, cls="feed", aria_label="Turns, the newest first")


def _row(report: TurnReport, *, pinned: bool, fresh: bool) -> Node:
    action = report.decision.action
    classes = ["turn-row", f"tone-{look(action).tone}"]
    classes += ["attention"] * wants_attention(report) + ["pinned"] * pinned + ["fresh"] * fresh
    return el(
        "li",
        el("div", chip(action), cls="verdict"),
        el("div", _said(report), _about(report), cls="body"),
        _chips(report),
        _pin(report, pinned),
        cls=" ".join(classes),
        key=report.id,
    )


def _said(report: TurnReport) -> Node:
    text = " ".join(report.response.split()) or "(no text)"
    return to("conversation", text, cls="said", **{address.TURN: report.id})


def _about(report: TurnReport) -> Node:
    parts = [times.ago(report.created_at), f"turn {report.turn_index} of {report.conversation_id or 'an anonymous conversation'}"]
    parts += [f"tenant {report.tenant}"] if report.tenant else []
    parts += [f"policy {report.policy}", times.span_of(report.timings.total)]
    parts += ["no evidence"] if report.evidence_missing else []
    return el("div", " · ".join(parts), cls="meta", title=times.exact(report.created_at))


def _chips(report: TurnReport) -> Node:
    counts = Counter(name_of(outcome) for outcome in report.outcomes)
    order = (*map(str, Label), *counts)
    shown = [name for name in dict.fromkeys(order) if counts[name]]
    return el("div", *(counted(name, counts[name]) for name in shown), cls="chips")


def _pin(report: TurnReport, pinned: bool) -> Node:
    name = f"{'Unpin' if pinned else 'Pin'} turn {report.turn_index} of {report.conversation_id or 'anonymous'}"
    return el("button", "◆" if pinned else "◇", cls="pin", act=Act("pin", report.id), aria_pressed=str(pinned).lower(), aria_label=name)
