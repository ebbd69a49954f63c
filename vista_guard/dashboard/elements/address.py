"""The page's address. Filters and selections live in it, so that a view can be sent to a colleague. Also links and times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, time, timedelta
from typing import Any, Final
from urllib.parse import urlencode

import streamlit as st

from vista_guard.dashboard.elements.looks import look
from vista_guard.dashboard.elements.tree import Act, Node, el
from vista_guard.stores.reports.filters import Order, utc
from vista_guard.types import UNCHECKED, Action, Label

TURN: Final = "turn"
"""A report's id."""
CLAIM: Final = "claim"
"""A claim's id; of an earlier draft `1:t3.c1`, counted from 1."""
CONVERSATION: Final = "conversation"


def read(name: str) -> str | None:
    """Returns a parameter's value; None when missing or empty."""
    return st.query_params.get(name) or None


def write(**values: str | None) -> None:
    """Sets parameters of the address; None removes one. Others stay."""
    for name, value in values.items():
        if value:
            if st.query_params.get(name) != value:
                st.query_params[name] = value
        elif name in st.query_params:
            del st.query_params[name]


def link(page: str, **values: str | None) -> str:
    """Returns the relative address of a page; parameters without a value are left out."""
    query = urlencode({name: value for name, value in values.items() if value})
    return f"./{page}?{query}" if query else f"./{page}"


def go(address: str, pages: Mapping[str, object]) -> None:
    """Opens the page of an address from `link` without reloading. Unknown addresses are ignored."""
    from urllib.parse import parse_qsl, urlsplit

    parts = urlsplit(address)
    page = pages.get(parts.path.removeprefix("./"))
    if page is not None:
        st.switch_page(page, query_params=dict(parse_qsl(parts.query)))  # type: ignore[arg-type]  # made by st.Page


ANY: Final = ""
HOURS: Final = {
    "1": "last hour",
    "6": "last 6 hours",
    "24": "last day",
    "168": "last week",
    "720": "last 30 days",
    ANY: "all time",
}
FAILED: Final = {
    "any": "of any kind",
    "upstream": "upstream failed",
    "judge": "the judge failed",
    "store": "a store failed",
}
SORT: Final = "sort"
"""Address parameter: the order of a list."""

ORDERS: Final[Mapping[Order, str]] = {
    "time": "newest first",
    "risk": "riskiest first",
    "latency": "slowest first",
    "cost": "costliest first",
}
LABELS: Final = (*map(str, Label), UNCHECKED)

FIRST_DAY, LAST_DAY = date(2000, 1, 1), date(2099, 12, 31)
"""Days that can be filtered by. An address that names another is invalid."""


@dataclass(frozen=True)
class Filters:
    """The filters in the address, by their names there. None filters nothing."""

    hours: int | None = None
    """Turns of this many hours before now."""
    since: date | None = None
    until: date | None = None
    """Days of UTC, both included."""
    words: str | None = None
    """Turns whose question, claims or conversation id have these words."""
    tenant: str | None = None
    policy: str | None = None
    judge: str | None = None
    action: Action | None = None
    label: str | None = None
    """Turns that have a claim with this label, or `UNCHECKED`."""
    evidence_missing: bool | None = None
    failed: str | None = None
    """Turns and calls in which this part failed, or any."""

    @property
    def narrow(self) -> bool:
        """True when a filter is set."""
        return any(getattr(self, field.name) is not None for field in fields(self))

    def period(self, now: datetime) -> tuple[datetime | None, datetime | None]:
        """Returns the first moment and the moment after the last; None where the time is open."""
        first = None if self.since is None else datetime.combine(self.since, time.min, UTC)
        last = None if self.until is None else datetime.combine(self.until, time.min, UTC) + timedelta(days=1)
        recent = None if self.hours is None else now - timedelta(hours=self.hours)
        return max(filter(None, (first, recent)), default=None), last


@dataclass(frozen=True)
class Choices:
    """The values to filter by, among the reports that the viewer may see."""

    tenants: Sequence[str] = ()
    """Where `Filters.tenant` is None: all of them, if `all_tenants`, else the first."""
    policies: Sequence[str] = ()
    judges: Sequence[str] = ()
    all_tenants: bool = True


def from_address() -> Filters:
    """Reads the filters from the address. Invalid values are ignored."""
    hours, action, label, failed = read("hours"), read("action"), read("label"), read("failed")
    return Filters(
        hours=int(hours) if hours in HOURS and hours else None,
        since=_day("since"),
        until=_day("until"),
        words=read("words"),
        tenant=read("tenant"),
        policy=read("policy"),
        judge=read("judge"),
        action=Action(action) if action in set(Action) else None,
        label=label if label in LABELS else None,
        evidence_missing=True if read("evidence_missing") == "1" else None,
        failed=failed if failed in FAILED else None,
    )


def _day(name: str) -> date | None:
    try:
        day = date.fromisoformat(read(name) or "")
    except ValueError:
        return None
    return day if FIRST_DAY <= day <= LAST_DAY else None


def filter_bar(choices: Choices, *, time: bool = True) -> Filters:
    """Draws the filters, writes changes into the address, and returns the filters.

    Args:
        choices: the values to offer.
        time: offers a period, too; a live page needs none.
    """
    filters = from_address()
    count = sum(getattr(filters, field.name) is not None for field in fields(filters))
    with st.popover(f"Filters ({count})" if count else "Filters", icon=":material/filter_list:"):
        if time:
            _choice("Time", "hours", list(HOURS), HOURS)
            _days(filters)
        _choice("Action", "action", [ANY, *map(str, Action)], {str(action): look(action).word for action in Action})
        _choice("Has a claim that is", "label", [ANY, *LABELS], {label: look(label).word for label in LABELS})
        _tenant(choices)
        _choice("Policy", "policy", [ANY, *choices.policies])
        _choice("Judge", "judge", [ANY, *choices.judges])
        _choice("Evidence", "evidence_missing", [ANY, "1"], {"1": "there was none"})
        _choice("Errors", "failed", [ANY, *FAILED], {ANY: "with or without", **FAILED})
        st.button("Clear all", on_click=clear, disabled=not count)
    return from_address()


def order() -> Order:
    """Reads the order of the list from the address. An invalid one counts as newest first."""
    named = read(SORT)
    return next((name for name in ORDERS if name == named), "time")


def order_box() -> Order:
    """Draws the choice of an order, writes it into the address, and returns it."""
    now = order()
    st.session_state[_key(SORT)] = now
    st.selectbox(
        "Order",
        list(ORDERS),
        key=_key(SORT),
        format_func=lambda name: ORDERS[name],
        on_change=_write_choice,
        args=(SORT,),
        label_visibility="collapsed",
        width=170,
    )
    return now


def views(now: datetime) -> Node:
    """Draws links to views that people ask for every day. A view of your own is its address."""
    yesterday = f"{now.astimezone(UTC) - timedelta(days=1):%Y-%m-%d}"
    day = {"since": yesterday, "until": yesterday}
    links = (
        to("conversation", "yesterday's worst blocked", action="BLOCK", sort="risk", **day),
        to("conversation", "riskiest today", sort="risk", hours="24"),
        to("conversation", "slowest today", sort="latency", hours="24"),
        to("conversation", "costliest this week", sort="cost", hours="168"),
        to("conversation", "what broke", failed="any", hours="24"),
    )
    return el("nav", *links, cls="row small views", aria_label="Views")


def clear() -> None:
    """Removes all filters from the address."""
    for name in (field.name for field in fields(Filters)):
        write(**{name: None})
        st.session_state.pop(_key(name), None)


def _days(filters: Filters) -> None:
    days: list[Any] = [day for day in (filters.since, filters.until or filters.since) if day is not None]
    # Another key for other days: the widget then takes those of the address.
    key = _key(f"days-{filters.since}-{filters.until}")
    st.date_input("From and to", days, FIRST_DAY, LAST_DAY, key=key, on_change=_write_days, args=(key,))


def _write_days(key: str) -> None:
    days = st.session_state[key]
    if len(days) != 1:  # the second is still to be chosen
        since, until = [day.isoformat() for day in days] or (None, None)
        write(since=since, until=until, after=None)


def search_box() -> None:
    """Draws the field for words to find, and writes them into the address."""
    st.session_state[_key("words")] = read("words") or ""
    st.text_input(
        "Find conversations",
        key=_key("words"),
        placeholder="words of a question or claim, or an id",
        label_visibility="collapsed",
        icon=":material/search:",
        on_change=_write_choice,
        args=("words",),
        max_chars=200,
    )


def _tenant(choices: Choices) -> None:
    """Offers tenants: any or all for a viewer of all, one at a time for a viewer of several, no choice for a viewer of one."""
    if choices.all_tenants:
        _choice("Tenant", "tenant", [ANY, *choices.tenants])
    elif len(choices.tenants) > 1:
        _choice("Tenant", "tenant", [ANY, *choices.tenants[1:]], {ANY: choices.tenants[0]})


def _choice(title: str, name: str, options: Sequence[str], words: dict[str, str] | None = None) -> None:
    current = read(name) or ANY
    # A colleague's link may name a tenant that is not among the choices (any more): it stays chosen, and finds nothing.
    known = list(options) if current in options else [*options, current]
    st.session_state[_key(name)] = current
    shown = {ANY: "any", **(words or {})}
    st.selectbox(
        title,
        known,
        key=_key(name),
        format_func=lambda value: shown.get(value, value),
        on_change=_write_choice,
        args=(name,),
    )


def _write_choice(name: str) -> None:
    chosen = str(st.session_state[_key(name)])
    write(**{name: None if (name, chosen) == (SORT, "time") else chosen or None}, after=None)


def _key(name: str) -> str:
    return f"filter-{name}"


GO: Final = "go"
"""The act of a link; its value is the address. `Desk.follow` goes there."""


def to(page: str, text: str | Node, *, cls: str = "", **values: str | None) -> Node:
    """Returns a link to a page with parameters.

    Example:
        >>> to("conversation", "turn 4", turn="9f0c…").attributes["href"]
        './conversation?turn=9f0c%E2%80%A6'
    """
    href = link(page, **values)
    return el("a", text, href=href, act=Act(GO, href), cls=cls)


def own_name(conversation_id: str | None, tenant: str | None) -> str:
    """Returns the name of a conversation without its tenant, which the proxy puts before it.

    Example:
        >>> own_name("north/visit-3", "north"), own_name("visit-3", None)
        ('visit-3', 'visit-3')
    """
    if conversation_id is None:
        return "an anonymous conversation"
    return conversation_id.removeprefix(f"{tenant}/") if tenant else conversation_id


MINUTE, HOUR, DAY = 60, 3600, 86_400


def ago(moment: datetime, now: datetime | None = None) -> str:
    """Formats an age: `just now`, `40 s ago`, `3 min ago`, `5 h ago`, `2 d ago`."""
    seconds = ((now or datetime.now(UTC)) - utc(moment)).total_seconds()
    if seconds < 5:
        return "just now"
    if seconds < MINUTE:
        return f"{seconds:.0f} s ago"
    if seconds < HOUR:
        return f"{seconds // MINUTE:.0f} min ago"
    if seconds < 2 * DAY:
        return f"{seconds // HOUR:.0f} h ago"
    return f"{seconds // DAY:.0f} d ago"


def exact(moment: datetime) -> str:
    """Formats a time to the second, in UTC: `2026-11-22 01:05:07 UTC`."""
    return f"{for_sheet(moment)} UTC"


def for_sheet(moment: datetime) -> str:
    """Formats a time of UTC as spreadsheets read it: `2026-11-22 01:05:07`."""
    return utc(moment).strftime("%Y-%m-%d %H:%M:%S")


def span_of(milliseconds: float) -> str:
    """Formats a duration: `0.4 ms`, `12 ms`, `3.4 s`."""
    if milliseconds >= 1000:
        return f"{milliseconds / 1000:.1f} s"
    return f"{milliseconds:.0f} ms" if milliseconds >= 10 else f"{milliseconds:.1f} ms"


def percent(share: float | None) -> str:
    """Formats a share: `12.3 %`; a dash where there is nothing to share."""
    return "–" if share is None else f"{100 * share:.1f} %"


def took(milliseconds: float | None) -> str:
    """Formats a duration as `span_of` does; a dash without one."""
    return "–" if milliseconds is None else span_of(milliseconds)
