"""The dashboard's policy lab: two policies in the address, their controls, and the page.

`?b=balanced&b.contradicted=BLOCK@0.65&b.flag=0.35` is the second policy: the preset balanced, which blocks contradicted
claims from a confidence of 0.65 on and flags turns from a risk of 0.35 on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import streamlit as st

from vista_guard.dashboard.elements import address, tree
from vista_guard.dashboard.elements.address import Filters, filter_bar, from_address, own_name
from vista_guard.dashboard.elements.looks import look
from vista_guard.dashboard.elements.tree import Act, Node, draw, el, show_problem
from vista_guard.dashboard.page import Desk, Words, download
from vista_guard.dashboard.registry import PageInfo
from vista_guard.dashboard.scoped import GuardedTurn
from vista_guard.errors import ConfigError
from vista_guard.policy.explanations import answer_number
from vista_guard.policy.label_policy import PRESETS, LabelPolicy, Recipe, rules_key
from vista_guard.types import Action, Decision, Label
from vista_lab.pages.parts import first_shown, pager
from vista_lab.policies import figures as policy_figures
from vista_lab.policies.comparison import (
    ChangedTurn,
    Comparison,
    PolicyCase,
    PolicyFor,
    by_policy,
    case_of,
    compare,
    decision,
    recorded_action,
    reproduction_share,
)
from vista_lab.policies.figures import Sample, read, samples
from vista_lab.policies.named import as_toml, policies_by_judge

RECORDED: Final = "recorded"
"""No policy: what was done with the turns."""

CONFIGURED: Final = "configured"
"""The policy of the settings."""

RULED: Final = {"contradicted": Label.CONTRADICTED, "lacking": Label.LACKING_EVIDENCE}
"""Labels whose rules can be changed, by their names in the address."""

RISKS: Final = {"flag": "flag_at_risk", "block": "block_at_risk"}

ALWAYS: Final = {"unchecked": "on_unchecked", "nothing": "on_no_evidence"}


@dataclass(frozen=True)
class LabelRule:
    """The rule for a label: `action` from this confidence on, else a flag that the turn's risk has to confirm."""

    action: Action
    at: float


@dataclass(frozen=True)
class PolicyChoice:
    """One side of the lab. What is not in the mappings is as in the preset."""

    base: str
    rules: Mapping[str, LabelRule] = field(default_factory=dict)
    risks: Mapping[str, float] = field(default_factory=dict)
    always: Mapping[str, Action] = field(default_factory=dict)

    @property
    def own(self) -> bool:
        """True when the preset was changed."""
        return bool(self.rules or self.risks or self.always)

    def recipe(self, configured: Recipe) -> Recipe | None:
        """The choice as a recipe; None for the recorded decisions. `configured` is the policy of the settings."""
        if self.base == RECORDED:
            return None
        start = configured if self.base == CONFIGURED else Recipe(self.base)
        overrides: dict[str, Any] = dict(start.overrides)
        if self.rules:
            overrides["rules"] = {**overrides.get("rules", {}), **self._rules(start)}
        overrides |= {RISKS[name]: value for name, value in self.risks.items()}
        overrides |= {ALWAYS[name]: str(action) for name, action in self.always.items()}
        return Recipe(start.preset, overrides)

    def _rules(self, start: Recipe) -> dict[str, dict[str, Any]]:
        """Whole rules, as a settings file replaces rules, not their fields."""
        policy = start.policy()
        rules = {}
        for name, ruled in self.rules.items():
            before = policy.rules[RULED[name]].model_dump(mode="json")
            # Below the confidence of a rule that flags, the claim can only pass.
            otherwise = Action.ALLOW if ruled.action in (Action.ALLOW, Action.FLAG) else Action.FLAG
            changed = {"action": str(ruled.action), "min_confidence": ruled.at, "otherwise": str(otherwise)}
            rules[str(RULED[name])] = {**before, **changed}
        return rules


def from_params(side: str, params: Mapping[str, str], default: PolicyChoice) -> PolicyChoice:
    """A side's choice (`a`, `b`) in the address; invalid values are left as in the preset."""
    base = params.get(side)
    if base is None or base not in BASES:
        return default
    rules = {name: rule for name in RULED if (rule := _parse_rule(params.get(f"{side}.{name}", "")))}
    risks = {name: value for name in RISKS if (value := _share(params.get(f"{side}.{name}", ""))) is not None}
    actions = set(map(str, Action))
    always = {name: Action(params[f"{side}.{name}"]) for name in ALWAYS if params.get(f"{side}.{name}") in actions}
    return PolicyChoice(base, rules, risks, always)


def to_params(side: str, choice: PolicyChoice) -> dict[str, str | None]:
    """Parameters of the address; None for those to remove."""
    params: dict[str, str | None] = {side: choice.base}
    params |= {f"{side}.{name}": None for name in (*RULED, *RISKS, *ALWAYS)}
    params |= {f"{side}.{name}": f"{ruled.action}@{ruled.at:g}" for name, ruled in choice.rules.items()}
    params |= {f"{side}.{name}": f"{value:g}" for name, value in choice.risks.items()}
    return params | {f"{side}.{name}": str(action) for name, action in choice.always.items()}


def _parse_rule(text: str) -> LabelRule | None:
    action, _, at = text.partition("@")
    limit = _share(at)
    return LabelRule(Action(action), limit) if action in set(map(str, Action)) and limit is not None else None


def _share(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if 0 <= value <= 1 else None


DEFAULTS: Final = {"a": PolicyChoice(CONFIGURED), "b": PolicyChoice("strict")}
TITLES: Final = {"a": "First policy", "b": "Second policy"}
BASES: Final = {
    CONFIGURED: "as in the settings",
    **{name: f"preset {name}" for name in PRESETS},
    RECORDED: "what was done, whatever the policy was",
}
SIZES: Final = (1000, 3000, 10_000)
WORDS: Final = {"contradicted": "contradicted claims", "lacking": "claims that lack evidence"}
ALWAYS_TITLES: Final = {"unchecked": "claims that could not be judged", "nothing": "turns without any evidence"}
RISK_TITLES: Final = {"flag": "Flag the turn from a risk of", "block": "Block the turn from a risk of"}


def sample_size() -> int:
    """Draws the choice of the number of turns, and returns it."""
    text = address.read("n")
    current = int(text) if text and text in map(str, SIZES) else SIZES[0]
    st.session_state["lab-n"] = current
    return st.selectbox(
        "Newest turns", SIZES, key="lab-n", format_func=lambda size: f"{size:,}", on_change=_choose_size, width=160
    )


def policy_choice(side: str) -> PolicyChoice:
    """A side's policy in the address."""
    return from_params(side, st.query_params.to_dict(), DEFAULTS[side])


def policy_side(name: str, configured: Recipe) -> PolicyChoice:
    """Draws one side's controls, and returns the policy chosen."""
    choice = policy_choice(name)
    st.session_state[f"lab-{name}"] = choice.base
    key, word = f"lab-{name}", BASES.__getitem__
    st.selectbox(TITLES[name], list(BASES), key=key, format_func=word, on_change=_choose_base, args=(name,))
    if choice.base == RECORDED:
        return choice
    recipe = choice.recipe(configured)
    assert recipe is not None  # a side without a policy has no thresholds
    policy = recipe.policy()
    with st.expander(f"{TITLES[name]}: thresholds", expanded=choice.own):
        for rule in WORDS:
            _rule(name, rule, choice, policy)
        for risk in RISK_TITLES:
            _risk(name, risk, choice, policy)
        for case in ALWAYS_TITLES:
            _always(name, case, choice, policy)
        preset = (name, PolicyChoice(choice.base))
        st.button("As in the preset", key=f"{key}-reset", on_click=_write, args=preset, disabled=not choice.own)
    return policy_choice(name)


def _rule(name: str, rule: str, choice: PolicyChoice, policy: LabelPolicy) -> None:
    current = policy.rules[RULED[rule]]
    left, right = st.columns([2, 3])
    action = _select(left, f"lab-{name}-{rule}", f"Do with {WORDS[rule]}", current.action, policy)
    at = _slider(right, f"lab-{name}-{rule}-at", "From a confidence of", current.min_confidence)
    if (action, at) != (current.action, round(current.min_confidence, 2)):
        _write(name, replace(choice, rules={**choice.rules, rule: LabelRule(action, at)}))
        st.rerun()


def _risk(name: str, risk: str, choice: PolicyChoice, policy: LabelPolicy) -> None:
    current = getattr(policy, RISKS[risk])
    if risk == "block" and policy.name == "monitor":
        return
    has_limit = isinstance(current, float)
    left, right = st.columns([2, 3])
    key = f"lab-{name}-{risk}"
    _sync_control(f"{key}-own", has_limit)
    checked = left.checkbox(
        f"{RISK_TITLES[risk]} …", key=f"{key}-own", help="Else from what was fitted for the judge, or never."
    )
    if checked is not has_limit:
        others = {other: value for other, value in choice.risks.items() if other != risk}
        _write(name, replace(choice, risks={**others, risk: 0.5} if checked else others))
        st.rerun()
    if has_limit:
        value = _slider(right, f"{key}-at", RISK_TITLES[risk], current)
        if value != round(current, 2):
            _write(name, replace(choice, risks={**choice.risks, risk: value}))
            st.rerun()
    else:
        with right:
            text = "as fitted for the judge" if current == "auto" else "never"
            draw(el("p", text, cls="small faint"), key=f"{key}-told")


def _always(name: str, case: str, choice: PolicyChoice, policy: LabelPolicy) -> None:
    current = getattr(policy, ALWAYS[case])
    action = _select(st, f"lab-{name}-{case}", f"Do with {ALWAYS_TITLES[case]}", current, policy)
    if action is not current:
        _write(name, replace(choice, always={**choice.always, case: action}))
        st.rerun()


def _select(container: Any, key: str, title: str, current: Action, policy: LabelPolicy) -> Action:
    options = [Action.ALLOW, Action.FLAG] if policy.name == "monitor" else list(Action)
    words: Mapping[Action, str] = {option: look(option).word for option in Action}
    _sync_control(key, current)
    return Action(container.selectbox(title, options, key=key, format_func=words.__getitem__))


def _slider(container: Any, key: str, title: str, current: float) -> float:
    _sync_control(key, round(current, 2))
    return round(float(container.slider(title, 0.0, 1.0, key=key, step=0.01)), 2)


def _sync_control(key: str, value: object) -> None:
    """Sets a control to the address's value, unless it was just moved: the address follows that one."""
    last_key = f"{key}:told"
    if key not in st.session_state or st.session_state.get(last_key) != value:
        st.session_state[key] = value
    st.session_state[last_key] = value


def _choose_base(name: str) -> None:
    _write(name, PolicyChoice(str(st.session_state[f"lab-{name}"])))


def _choose_size() -> None:
    address.write(n=str(st.session_state["lab-n"]))


def _write(name: str, choice: PolicyChoice) -> None:
    address.write(**to_params(name, choice))


EXAMPLES: Final = 20


def column_names(first: PolicyChoice, second: PolicyChoice, configured: Recipe) -> tuple[str, str]:
    """Names both policies as they were chosen; two of one name say which is which.

    Example:
        >>> strict = PolicyChoice("strict")
        >>> column_names(PolicyChoice(CONFIGURED), strict, Recipe("balanced"))
        ('settings (balanced)', 'strict')
        >>> column_names(strict, replace(strict, risks={"flag": 0.4}), Recipe("balanced"))
        ('strict', 'strict, changed')
        >>> column_names(strict, strict, Recipe("balanced"))
        ('first strict', 'second strict')
    """
    short = {CONFIGURED: f"settings ({configured.preset})", RECORDED: "what was done"}
    one, other = (f"{short.get(side.base, side.base)}{', changed' * side.own}" for side in (first, second))
    return (one, other) if one != other else (f"first {one}", f"second {other}")


def lab(desk: Desk) -> None:
    st.title("Policy lab", anchor=False)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        filters = filter_bar(desk.reports.choices(from_address()))
        size = sample_size()
        refresh = st.button("Read anew", icon=":material/refresh:")
    sample = _sample(desk, filters, size, refresh)
    if not sample.cases:
        draw(_nothing(filters), key="lab-empty")
        return
    draw(el("p", _about(sample), cls="small faint"), key="lab-age")
    left, right = st.columns(2, gap="large")
    with left:
        first = _side(desk, "a", sample)
    with right:
        second = _side(desk, "b", sample)
    if first is not None and second is not None:
        _draw_comparison(desk, sample, first, second)


def _sample(desk: Desk, filters: Filters, size: int, refresh: bool) -> Sample:
    key = (desk.viewer, filters, size)
    if refresh:
        samples().drop(key)
    sample = samples().get(key)
    if sample is not None:
        return sample
    bar = st.progress(0.0, text="Reading stored reports")

    def advance(done: int) -> None:
        bar.progress(min(done / size, 1.0), text=f"Reading stored reports: {done:,}")

    sample = read(desk.reports, filters, size, desk.material.risk_table, advance)
    bar.empty()
    return samples().keep(key, sample)


def _side(desk: Desk, side: str, sample: Sample) -> tuple[PolicyChoice, PolicyFor | None] | None:
    """The chosen side, with a policy for each judge: None for the recorded one. None, with a message, when it is invalid."""
    configured = desk.material.policy
    try:
        choice = policy_side(side, configured)
        recipe = choice.recipe(configured)
        table = desk.material.risk_table
        policies = None if recipe is None else policies_by_judge(recipe.policy(), sample.judges, table)
    except ConfigError as exc:
        show_problem(f"{TITLES[side]} makes no sense", exc, "Choose another preset or threshold.")
        return None
    if recipe is not None:
        with st.expander("Lines for vista-guard.toml"):
            st.code(as_toml(recipe), language="toml")
    return choice, policies


def _draw_comparison(
    desk: Desk,
    sample: Sample,
    first: tuple[PolicyChoice, PolicyFor | None],
    second: tuple[PolicyChoice, PolicyFor | None],
) -> None:
    sides = [policy for _, policy in (first, second)]
    decided = [recorded_action if policy is None else by_policy(policy) for policy in sides]
    comparison = compare(sample.cases, *decided)
    names = column_names(first[0], second[0], desk.material.policy)
    rules = {} if sides[0] is None else {judge: rules_key(policy) for judge, policy in sides[0].items()}
    reproduced = reproduction_share(sample.cases, comparison.first, rules)
    fine = fine_turns(desk.words, sample.cases)
    chosen = _pair(address.read("pair"))
    top = el(
        "div",
        policy_figures.totals(comparison, names),
        policy_figures.matrix(comparison, names, chosen),
        policy_figures.agreement(comparison.agreement(fine), names),
        policy_figures.honesty(comparison, sample, names, reproduced),
        cls="lab",
    )
    event = draw(top, key="lab-figures")
    if isinstance(event, Act) and event.name == policy_figures.CELL:
        address.write(pair=None if address.read("pair") == event.value else event.value, show=None)
        st.rerun()
    _draw_changed_turns(desk, comparison, names, sides, chosen, fine)


def fine_turns(words: Words, cases: Iterable[PolicyCase]) -> dict[str, bool]:
    """Turns that people would deliver as they are, by report id. Decisions outweigh the file; unlabelled turns are left out."""
    gold, decided, all_cases = words.gold, words.decided, list(cases)
    labelled = ((case, gold.get((case.conversation_id or "", case.turn_index))) for case in all_cases)
    fine = {case.report_id: turn.verdict(case.outcomes) for case, turn in labelled if turn is not None}
    fine |= {case.report_id: decided[case.report_id].fine for case in all_cases if case.report_id in decided}
    return {report: verdict for report, verdict in fine.items() if verdict is not None}


def _draw_changed_turns(
    desk: Desk,
    comparison: Comparison,
    names: tuple[str, str],
    sides: list[PolicyFor | None],
    chosen: tuple[Action, Action] | None,
    fine: Mapping[str, bool],
) -> None:
    """Draws the turns on which the policies differ, a page at a time."""
    changes = [change for change in comparison.changed if chosen is None or (change.first, change.second) == chosen]
    first = first_shown(address.read("show"), EXAMPLES, len(changes))
    part = changes[first : first + EXAMPLES]
    turns = desk.reports.turns([change.case.report_id for change in part])
    heading = f"turns that change: {len(changes):,}" if chosen is None else f"turns of this cell: {len(changes):,}"
    if len(changes) > EXAMPLES:
        heading += f", {first + 1:,} to {first + len(part):,} shown"
    said = ((one, turns.get(one.case.report_id), fine.get(one.case.report_id)) for one in part)
    rows = [policy_figures.example(one, _words(one, turn, sides), good, names) for one, turn, good in said]
    more = pager(first, EXAMPLES, len(changes))
    body = el("ol", *rows, cls="examples") if rows else el("p", "None: both decide alike.", cls="note")
    section = el("section", el("h2", "Turns that change"), el("p", heading, cls="small faint"), body, more)
    event = draw(section, key="lab-changed")
    if changes:
        header = (*ABOUT, names[0], "its reason", names[1], "its reason", "cut short", "fine")
        download("lab", header, lambda: _cells(desk, changes, sides, fine))
    if isinstance(event, Act) and event.name == "show":
        address.write(show=event.value)
        st.rerun()
    desk.follow(event)


ABOUT: Final = ("time (UTC)", "tenant", "conversation", "answer number", "report", "question", "draft")


def _cells(
    desk: Desk, changes: Sequence[ChangedTurn], sides: list[PolicyFor | None], fine: Mapping[str, bool]
) -> Iterator[Sequence[object]]:
    """A row for each turn that changes, with what was said and both reasons."""
    for start in range(0, len(changes), policy_figures.BATCH):
        part = changes[start : start + policy_figures.BATCH]
        turns = desk.reports.turns([change.case.report_id for change in part])
        for it, case in ((change, change.case) for change in part):
            turn = turns.get(case.report_id)
            text, first, second = _words(it, turn, sides) or (None, None, None)
            question = turn.question if isinstance(turn, GuardedTurn) else None
            about = (address.for_sheet(case.created_at), case.tenant, own_name(case.conversation_id, case.tenant))
            said = (answer_number(case.turn_index), case.report_id, question, text)
            ones, others = (it.first, first and first.reason), (it.second, second and second.reason)
            yield *about, *said, *ones, *others, it.censored, fine.get(case.report_id)


def _words(
    change: ChangedTurn, turn: GuardedTurn | str | None, sides: list[PolicyFor | None]
) -> tuple[str, Decision | None, Decision | None] | None:
    """The draft, or its claims where it was not kept, and each side's decision: the recorded one for a side without policy."""
    if not isinstance(turn, GuardedTurn):
        return None
    report = turn.report
    recorded = report.attempts[0].decision if report.attempts else report.decision
    # The sample has the risk, by the fit of the turn's judge.
    case = replace(case_of(report), risk=change.case.risk)
    first, second = (recorded if policy is None else decision(case, policy) for policy in sides)
    text = turn.draft or " ".join(outcome.claim.text for outcome in case.outcomes)
    return text, first, second


def _pair(text: str | None) -> tuple[Action, Action] | None:
    one, _, other = (text or "").partition("-")
    actions = set(map(str, Action))
    return (Action(one), Action(other)) if one in actions and other in actions else None


def _about(sample: Sample) -> str:
    newest, oldest = sample.cases[0].created_at, sample.cases[-1].created_at
    more = "; there are older ones" if sample.more else ""
    return (
        f"{len(sample.cases):,} stored turns, {address.exact(oldest)[:16]} to {address.exact(newest)[:16]} UTC{more} · read "
        f"{address.ago(sample.at)} · no judge is called: policies decide again on the stored outcomes"
    )


def _nothing(filters: Filters) -> Node:
    if filters.narrow:
        return tree.empty(
            "No turns to decide on", "No stored turn passes the filters. Choose a longer time, or clear them."
        )
    why = "Policies decide here on turns that a guard stored before. Keep some, then come back."
    return tree.empty("No turns to decide on yet", why, command="vista-guard dashboard --demo")


PAGE = PageInfo("Policy lab", "lab", "science", lab)
