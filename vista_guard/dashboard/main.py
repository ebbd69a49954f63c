"""The script that Streamlit runs for every reader and every press: sign-in, navigation, and one page."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import streamlit as st
from streamlit.errors import StreamlitAuthError

from vista_guard.dashboard.access import THIS_MACHINE, Viewer, viewer_of
from vista_guard.dashboard.elements.tree import Node, draw, el, show_problem, shown
from vista_guard.dashboard.page import Desk, Words
from vista_guard.dashboard.registry import PageInfo, all_pages
from vista_guard.dashboard.scoped import ScopedReports
from vista_guard.dashboard.server import Dashboard
from vista_guard.dashboard.settings import DashboardSettings
from vista_guard.errors import NoReportsError
from vista_guard.stores.reviews.queue import words

logger = logging.getLogger("vista_guard")

STYLE = """<style>
[data-testid="stMainBlockContainer"] { max-width: 84rem; padding: 4.6rem 2rem 3rem; }
.st-key-where { position: fixed; top: 0; right: 3.4rem; width: auto; max-width: 60vw; height: 3.6rem; z-index: 999991; }
.st-key-where { justify-content: center; pointer-events: none; }
@media (max-width: 900px) { [data-testid="stColumn"] [data-testid="stColumn"] { min-width: calc(100% - 1.5rem); } }
[data-testid="stHeader"] { border-bottom: 1px solid var(--vg-line, rgb(128 128 128 / 0.25)); }
[data-testid="stMarkdownContainer"] :is(p, li, td, blockquote) { unicode-bidi: plaintext; text-align: start; }
[data-stale] { opacity: 1 !important; transition: none !important; }
h1 { letter-spacing: -0.01em; padding: 0.2rem 0 0.6rem !important; }
@media (max-width: 640px) {
  [data-testid="stMainBlockContainer"] { padding: 4rem 0.9rem 2rem; }
  [data-testid="stMainBlockContainer"] > [data-testid="stVerticalBlock"] { gap: 0.6rem; }
  h1 { font-size: 1.4rem !important; padding: 0 0 0.7rem !important; }
  .st-key-bar { flex-wrap: nowrap !important; overflow-x: auto; }
  .st-key-bar > * { flex-shrink: 0 !important; }
  .st-key-bar > :has([data-testid="stTextInput"]) { min-width: 15rem; }
}
[data-testid="stExpandSidebarButton"]::after { content: "Menu"; font-size: 0.95rem; margin-left: 0.35rem; }
[data-testid="stExpandSidebarButton"] { width: auto; padding: 0 0.6rem; }
</style>"""
"""Constant: content never enters a style sheet."""


def main() -> None:
    """Draws one page for one reader."""
    st.set_page_config(page_title="vista-guard", page_icon="🛡️", layout="wide", initial_sidebar_state="collapsed")
    st.html(STYLE)
    dashboard = Dashboard.current()
    settings, material = dashboard.settings, dashboard.material
    viewer = THIS_MACHINE if settings.sign_in is None else current_viewer(settings)
    if viewer is None:
        return
    pages: dict[str, Any] = {}
    reviews = dashboard.reviews.of_tenants(viewer.tenants)
    desk = Desk(
        ScopedReports(dashboard.reports, viewer),
        viewer,
        settings,
        reviews,
        material,
        Words(material.labels, lambda: words(reviews)),
        pages,
        dashboard.database if viewer.tenants is None else None,  # where it lies is the operator's business
    )
    open_to = [info for info in all_pages() if info.needs is None or viewer.allows(info.needs)]
    pages.update({info.path: _page(info, desk, first=info is open_to[0]) for info in open_to})
    if settings.sign_in is not None:
        with st.sidebar:
            draw(el("p", viewer.name, cls="small faint text"), key="account")
            st.button("Sign out", on_click=st.logout)
    hidden = [_page(info, desk, path=path) for info in open_to for path in info.also]
    page = st.navigation([*pages.values(), *hidden], position="top")
    with st.container(key="where"):
        draw(_where(material.environment, desk.database), key="where-line")
    page.run()


def _where(environment: str | None, database: str | None) -> Node:
    """Says on every page which product, deployment and database this is."""
    named = None if environment is None else el("span", environment, cls="chip tone-scope")
    place = None
    if database:
        url = urlsplit(database)
        short = f"{url.hostname}{url.path}" if url.hostname else Path(url.path).name
        place = el("span", short, cls="faint", title=database)
    return el("div", el("b", "vista-guard"), named, place, cls="row small where")


def current_viewer(settings: DashboardSettings) -> Viewer | None:
    """Returns the viewer who signed in; draws an explanation and returns None if nobody did, or if they are not admitted."""
    if not st.user.is_logged_in:
        st.title("vista-guard", anchor=False)
        st.button("Sign in", on_click=_sign_in, type="primary")
        return None
    viewer = viewer_of(dict(st.user), settings.people)
    if viewer is None:
        address = str(st.user.get("email") or "an account without an e-mail address")
        show_problem(
            "No access",
            f"You signed in as {address}. The settings do not list that address, or your provider has not verified it.",
            "Ask the dashboard's operator to add you under [dashboard.people].",
        )
        st.button("Sign out", on_click=st.logout)
    return viewer


def _page(info: PageInfo, desk: Desk, *, first: bool = False, path: str | None = None) -> Any:
    """Makes a page; with another `path` than its own, one that the menu does not show."""

    def draw_page() -> None:
        try:
            shown(info.show)(desk)
        except NoReportsError:
            desk.invite()

    icon = f":material/{info.icon}:"
    visibility: Literal["visible", "hidden"] = "visible" if path is None else "hidden"
    own = path or info.path
    return st.Page(draw_page, title=info.title, url_path=own, icon=icon, default=first, visibility=visibility)


def _sign_in() -> None:
    try:
        st.login()
    except StreamlitAuthError as exc:
        logger.error("sign-in failed: %s", exc)
        show_problem("Sign-in failed", "The sign-in of this dashboard is misconfigured.", "Its log names the cause.")


main()
