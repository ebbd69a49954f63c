"""The address: filters and selections are in it, so that each view can be sent to a colleague."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import urlencode

import streamlit as st

TURN: Final = "turn"
"""A report's id."""
CLAIM: Final = "claim"
"""A claim's id; of an earlier draft `1:t3.c1`, counted from 1."""
CONVERSATION: Final = "conversation"


def read(name: str) -> str | None:
    """The parameter's value; None when it is not there, or empty."""
    return st.query_params.get(name) or None


def write(**values: str | None) -> None:
    """Sets parameters of the page's address; None takes one out. The rest stays."""
    for name, value in values.items():
        if value:
            if st.query_params.get(name) != value:
                st.query_params[name] = value
        elif name in st.query_params:
            del st.query_params[name]


def link(page: str, **values: str | None) -> str:
    """The address of a page of the dashboard, relative to the one that shows it."""
    return place(page, {name: value for name, value in values.items() if value})


def place(page: str, values: Mapping[str, str]) -> str:
    """As `link`, of a mapping."""
    query = urlencode(values)
    return f"./{page}?{query}" if query else f"./{page}"


def go(address: str, pages: Mapping[str, object]) -> None:
    """Shows the page of an address that `link` made, without loading it anew. An address of no page is left alone."""
    from urllib.parse import parse_qsl, urlsplit

    parts = urlsplit(address)
    page = pages.get(parts.path.removeprefix("./"))
    if page is not None:
        st.switch_page(page, query_params=dict(parse_qsl(parts.query)))  # type: ignore[arg-type]  # made by st.Page
