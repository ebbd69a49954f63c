"""An alert as text: the condition for Prometheus over the proxy's own figures, to be copied into its rules."""

from __future__ import annotations

from typing import Final

import streamlit as st

from vista_guard.dashboard.parts.labels import look
from vista_guard.types import Action

TURNS: Final = "vista_guard_turns_total"
"""The proxy's counter of turns (`/metrics`), by `decision`."""

WATCHED: Final = (Action.BLOCK, Action.REPAIR, Action.FLAG)


def condition(action: Action, percent: float, minutes: int) -> str:
    """PromQL that holds while more than `percent` of the turns of the last `minutes` got this action.

    Without turns it holds nothing: a rate over no turns is no number, and Prometheus fires on none.
    """
    acted = f'sum(rate({TURNS}{{decision="{action}"}}[{minutes}m]))'
    return f"{acted} / sum(rate({TURNS}[{minutes}m])) > {percent / 100:g}"


def rule(action: Action, percent: float, minutes: int) -> str:
    """The condition as a rule of Prometheus' rule files (YAML)."""
    return (
        "groups:\n"
        "  - name: vista-guard\n"
        "    rules:\n"
        f"      - alert: VistaGuard{action.title()}Share\n"
        f"        expr: {condition(action, percent, minutes)}\n"
        f"        for: {minutes}m\n"
        "        annotations:\n"
        f"          summary: more than {percent:g} % of turns are {look(action).word}\n"
    )


def alert_box() -> None:
    """Draws the choice and the text."""
    with st.popover("Alert", icon=":material/notifications:"):
        words = {str(one): look(one).word for one in WATCHED}
        action = st.selectbox("When turns are", list(words), format_func=lambda one: words[one], key="alert-action")
        percent = st.number_input("more often than (percent)", 0.1, 100.0, 5.0, 0.5, key="alert-percent")
        minutes = st.number_input("over (minutes)", 1, 1440, 10, key="alert-minutes")
        st.code(rule(Action(action), float(percent), int(minutes)), language="yaml")
        st.caption(
            "For Prometheus over the proxy's /metrics. Copy it into a rule file; Grafana takes the expression alone."
        )
