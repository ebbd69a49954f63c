"""What is pressed and moved in the lab: two policies, and how many turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import streamlit as st

from vista_guard.dashboard.pages.lab import choice as address_of
from vista_guard.dashboard.pages.lab.choice import CONFIGURED, RECORDED, Choice, Ruled
from vista_guard.dashboard.parts import address
from vista_guard.dashboard.parts.labels import look
from vista_guard.dashboard.parts.tree import draw, el
from vista_guard.evaluation.whatif.recipe import Recipe
from vista_guard.policy.label_policy import LabelPolicy
from vista_guard.policy.presets import PRESETS
from vista_guard.types import Action

DEFAULTS: Final = {"a": Choice(CONFIGURED), "b": Choice("strict")}
TITLES: Final = {"a": "First policy", "b": "Second policy"}
BASES: Final = {
    CONFIGURED: "as in the settings",
    **{name: f"preset {name}" for name in PRESETS},
    RECORDED: "what was done, whatever the policy was",
}
SIZES: Final = (1000, 3000, 10_000)
WORDS: Final = {"contradicted": "contradicted claims", "lacking": "claims that lack evidence"}
ALWAYS: Final = {"unchecked": "claims that could not be judged", "nothing": "turns without any evidence"}
RISKS: Final = {"flag": "Flag the turn from a risk of", "block": "Block the turn from a risk of"}


def sample_size() -> int:
    """How many turns are looked at."""
    given = address.read("n")
    known = int(given) if given and given in map(str, SIZES) else SIZES[0]
    st.session_state["lab-n"] = known
    return st.selectbox(
        "Newest turns", SIZES, key="lab-n", format_func=lambda size: f"{size:,}", on_change=_sized, width=160
    )


def chosen(side: str) -> Choice:
    """What the address has for a side."""
    return address_of.from_params(side, st.query_params.to_dict(), DEFAULTS[side])


def side(name: str, configured: Recipe) -> Choice:
    """Draws one side's controls, and returns what they say."""
    now = chosen(name)
    st.session_state[f"lab-{name}"] = now.base
    st.selectbox(
        TITLES[name], list(BASES), key=f"lab-{name}", format_func=BASES.__getitem__, on_change=_based, args=(name,)
    )
    if now.base == RECORDED:
        return now
    policy = _policy(now, configured)
    with st.expander(f"{TITLES[name]}: thresholds", expanded=now.own):
        for rule in WORDS:
            _rule(name, rule, now, policy)
        for risk in RISKS:
            _risk(name, risk, now, policy)
        for case in ALWAYS:
            _always(name, case, now, policy)
        st.button(
            "As in the preset",
            key=f"lab-{name}-reset",
            on_click=_write,
            args=(name, Choice(now.base)),
            disabled=not now.own,
        )
    return chosen(name)


def _policy(now: Choice, configured: Recipe) -> LabelPolicy:
    recipe = now.recipe(configured)
    assert recipe is not None  # a side without a policy has no thresholds
    return recipe.policy()


def _rule(name: str, rule: str, now: Choice, policy: LabelPolicy) -> None:
    held = policy.rules[address_of.RULED[rule]]
    left, right = st.columns([2, 3])
    action = _select(left, f"lab-{name}-{rule}", f"Do with {WORDS[rule]}", held.action, policy)
    at = _slider(right, f"lab-{name}-{rule}-at", "From a confidence of", held.min_confidence)
    if (action, at) != (held.action, round(held.min_confidence, 2)):
        _write(name, replace(now, rules={**now.rules, rule: Ruled(action, at)}))
        st.rerun()


def _risk(name: str, risk: str, now: Choice, policy: LabelPolicy) -> None:
    held = getattr(policy, address_of.RISKS[risk])
    if risk == "block" and policy.name == "monitor":
        return
    own = isinstance(held, float)
    left, right = st.columns([2, 3])
    key = f"lab-{name}-{risk}"
    _settle(f"{key}-own", own)
    wanted = left.checkbox(
        f"{RISKS[risk]} …", key=f"{key}-own", help="Else from what was fitted for the judge, or never."
    )
    if wanted is not own:
        rest = {one: value for one, value in now.risks.items() if one != risk}
        _write(name, replace(now, risks={**rest, risk: 0.5} if wanted else rest))
        st.rerun()
    if own:
        value = _slider(right, f"{key}-at", RISKS[risk], held)
        if value != round(held, 2):
            _write(name, replace(now, risks={**now.risks, risk: value}))
            st.rerun()
    else:
        with right:
            told = "as fitted for the judge" if held == "auto" else "never"
            draw(el("p", told, cls="small faint"), key=f"{key}-told")


def _always(name: str, case: str, now: Choice, policy: LabelPolicy) -> None:
    held = getattr(policy, address_of.ALWAYS[case])
    action = _select(st, f"lab-{name}-{case}", f"Do with {ALWAYS[case]}", held, policy)
    if action is not held:
        _write(name, replace(now, always={**now.always, case: action}))
        st.rerun()


def _select(where: Any, key: str, title: str, now: Action, policy: LabelPolicy) -> Action:
    options = [Action.ALLOW, Action.FLAG] if policy.name == "monitor" else list(Action)
    words: Mapping[Action, str] = {one: look(one).word for one in Action}
    _settle(key, now)
    return Action(where.selectbox(title, options, key=key, format_func=words.__getitem__))


def _slider(where: Any, key: str, title: str, now: float) -> float:
    _settle(key, round(now, 2))
    return round(float(where.slider(title, 0.0, 1.0, key=key, step=0.01)), 2)


def _settle(key: str, value: object) -> None:
    """Sets a control to what the address says, but for the one that was just moved: the address follows that one."""
    told = f"{key}:told"
    if key not in st.session_state or st.session_state.get(told) != value:
        st.session_state[key] = value
    st.session_state[told] = value


def _based(name: str) -> None:
    _write(name, Choice(str(st.session_state[f"lab-{name}"])))


def _sized() -> None:
    address.write(n=str(st.session_state["lab-n"]))


def _write(name: str, choice: Choice) -> None:
    address.write(**address_of.to_params(name, choice))
