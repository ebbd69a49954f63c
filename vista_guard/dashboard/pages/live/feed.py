"""The feed: turns as they come, the newest on top, pinned ones above them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from vista_guard.dashboard.parts import address, times
from vista_guard.dashboard.parts.labels import LOOKS, chip, counted, look
from vista_guard.dashboard.parts.links import to
from vista_guard.dashboard.parts.tree import Act, Node, el
from vista_guard.stores.reports import ATTENTION, TurnRow

PIN = "pin"
"""The act of a row's button; its value is the report's id."""


def feed(
    rows: Sequence[TurnRow], pinned: Sequence[TurnRow], said: Mapping[str, str], fresh: frozenset[str], now: datetime
) -> Node:
    """The rows.

    Args:
        rows: newest first.
        pinned: stand above the others, whatever comes.
        said: what was delivered, by report id.
        fresh: ids of turns that came with this look; they are shown to be new for a moment.
        now: what ages are counted from.
    """
    kept = {row.id for row in pinned}
    shown = [_row(row, said.get(row.id), now, "pinned") for row in pinned]
    shown += [
        _row(row, said.get(row.id), now, "fresh" if row.id in fresh else "") for row in rows if row.id not in kept
    ]
    return el("ol", *shown, cls="feed", aria_label="Turns, the newest first")


def _row(row: TurnRow, text: str | None, now: datetime, state: str) -> Node:
    attention = "attention" if row.action in ATTENTION else ""
    return el(
        "li",
        el("div", chip(row.action), cls="verdict"),
        el(
            "div",
            to("conversation", _opening(text), cls="said", **{address.TURN: row.id}),
            _about(row, now),
            cls="body",
        ),
        _chips(row),
        _pin(row, state == "pinned"),
        cls=" ".join(filter(None, ("turn-row", f"tone-{look(row.action).tone}", attention, state))),
        key=row.id,
    )


def _opening(text: str | None) -> str:
    if text is None:
        return "(this report cannot be read by this version)"
    return " ".join(text.split())[:400] or "(no text)"


def _about(row: TurnRow, now: datetime) -> Node:
    parts = [
        times.ago(row.created_at, now),
        f"turn {row.turn_index} of {row.conversation_id or 'an anonymous conversation'}",
    ]
    parts += [f"tenant {row.tenant}"] if row.tenant else []
    parts += [f"policy {row.policy}", times.span_of(row.duration_ms)]
    parts += ["no evidence"] if row.evidence_missing else []
    return el("div", " · ".join(parts), cls="meta", title=times.exact(row.created_at))


def _chips(row: TurnRow) -> Node:
    names = [name for name in (*LOOKS, *row.labels) if row.labels.get(name)]
    return el("div", *(counted(name, row.labels[name]) for name in dict.fromkeys(names)), cls="chips")


def _pin(row: TurnRow, pinned: bool) -> Node:
    name = f"Pin turn {row.turn_index} of {row.conversation_id or 'an anonymous conversation'}"
    return el(
        "button",
        "◆" if pinned else "◇",
        cls="pin",
        act=Act(PIN, row.id),
        aria_pressed=str(pinned).lower(),
        aria_label=name,
    )
