"""Filters: the same on every page, and in the address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Final

import streamlit as st

from vista_guard.dashboard.parts import address
from vista_guard.dashboard.parts.labels import UNCHECKED, look
from vista_guard.types import Action, Label

ANY: Final = ""
HOURS: Final = {"1": "last hour", "24": "last day", "168": "last week", "720": "last 30 days", ANY: "all time"}
LABELS: Final = (*map(str, Label), UNCHECKED)


@dataclass(frozen=True)
class Filters:
    """Which turns are shown; None lets all through. The names are those of the address."""

    hours: int | None = None
    """Turns of so many hours before now."""
    tenant: str | None = None
    policy: str | None = None
    judge: str | None = None
    action: Action | None = None
    label: str | None = None
    """Turns that have a claim with this label, or `UNCHECKED`."""
    evidence_missing: bool | None = None

    @property
    def narrow(self) -> bool:
        """Whether anything is left out."""
        return any(getattr(self, one.name) is not None for one in fields(self))


@dataclass(frozen=True)
class Choices:
    """What there is to choose from among the reports that the viewer may see."""

    tenants: Sequence[str] = ()
    """None of them is `Filters.tenant` being None: all of them, where `all_tenants`, else the first."""
    policies: Sequence[str] = ()
    judges: Sequence[str] = ()
    all_tenants: bool = True


def from_address() -> Filters:
    """The filters that the address names. What it names wrongly is not filtered by."""
    hours, action, label = address.read("hours"), address.read("action"), address.read("label")
    return Filters(
        hours=int(hours) if hours in HOURS and hours else None,
        tenant=address.read("tenant"),
        policy=address.read("policy"),
        judge=address.read("judge"),
        action=Action(action) if action in set(Action) else None,
        label=label if label in LABELS else None,
        evidence_missing=True if address.read("evidence_missing") == "1" else None,
    )


def filter_bar(choices: Choices, *, time: bool = True) -> Filters:
    """Draws the filters where the page is, writes them into the address, and returns them.

    Args:
        choices: what there is to choose from.
        time: whether the time can be chosen; a page of what happens now has no use for it.
    """
    now = from_address()
    count = sum(getattr(now, one.name) is not None for one in fields(now))
    with st.popover(f"Filters ({count})" if count else "Filters", icon=":material/filter_list:"):
        if time:
            _choice("Time", "hours", list(HOURS), HOURS)
        _choice("Action", "action", [ANY, *map(str, Action)], {str(one): look(one).word for one in Action})
        _choice("Has a claim that is", "label", [ANY, *LABELS], {one: look(one).word for one in LABELS})
        _tenant(choices)
        _choice("Policy", "policy", [ANY, *choices.policies])
        _choice("Judge", "judge", [ANY, *choices.judges])
        _choice("Evidence", "evidence_missing", [ANY, "1"], {"1": "there was none"})
        st.button("Clear all", on_click=clear, disabled=not count)
    return from_address()


def clear() -> None:
    """Takes all filters out of the address."""
    for name in (one.name for one in fields(Filters)):
        address.write(**{name: None})
        st.session_state.pop(_key(name), None)


def _tenant(choices: Choices) -> None:
    """Who sees all tenants may look at one; who sees some looks at one at a time; who sees one has nothing to choose."""
    if choices.all_tenants:
        _choice("Tenant", "tenant", [ANY, *choices.tenants])
    elif len(choices.tenants) > 1:
        _choice("Tenant", "tenant", [ANY, *choices.tenants[1:]], {ANY: choices.tenants[0]})


def _choice(title: str, name: str, options: Sequence[str], words: dict[str, str] | None = None) -> None:
    current = address.read(name) or ANY
    # A colleague's link may name a tenant that is not among the choices (any more): it stays chosen, and finds nothing.
    known = list(options) if current in options else [*options, current]
    st.session_state[_key(name)] = current
    shown = {ANY: "any", **(words or {})}
    st.selectbox(
        title, known, key=_key(name), format_func=lambda value: shown.get(value, value), on_change=_chosen, args=(name,)
    )


def _chosen(name: str) -> None:
    address.write(**{name: str(st.session_state[_key(name)]) or None})


def _key(name: str) -> str:
    return f"filter-{name}"
