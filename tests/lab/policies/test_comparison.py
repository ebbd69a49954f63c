"""Two policies over the same turns."""

from __future__ import annotations

from tests.lab.policies.turns import JUDGE, attempt, finding, stored, unchecked
from tests.raising import raises
from vista_guard.errors import ConfigError
from vista_guard.policy.label_policy import PRESETS, LabelPolicy, build_policy
from vista_guard.types import Action, Label, TurnReport
from vista_lab.metrics.intervals import wilson
from vista_lab.policies.comparison import (
    Comparison,
    PolicyCase,
    by_policy,
    case_of,
    compare,
    recorded_action,
    reproduction_share,
)

ALLOW, FLAG, REPAIR, BLOCK = Action.ALLOW, Action.FLAG, Action.REPAIR, Action.BLOCK


def cases(*reports: TurnReport) -> list[PolicyCase]:
    return [case_of(report) for report in reports]


def between(of: list[PolicyCase], first: LabelPolicy, second: LabelPolicy) -> Comparison:
    return compare(of, by_policy({JUDGE: first}), by_policy({JUDGE: second}))


TURNS = cases(
    stored(finding(Label.VERIFIED), number=1),
    stored(finding(Label.CONTRADICTED, 0.9), number=2),
    stored(finding(Label.CONTRADICTED, 0.6), number=3),
    stored(finding(Label.LACKING_EVIDENCE, 0.7), number=4),
    stored(unchecked(), number=5),
    stored(finding(Label.VERIFIED, leans_on="key3"), number=6),
)


def test_totals_and_transitions() -> None:
    found = between(TURNS, PRESETS["balanced"], PRESETS["strict"])
    first, second = found.totals
    assert first.actions == {ALLOW: 2, FLAG: 3, REPAIR: 0, BLOCK: 1}
    assert second.actions == {ALLOW: 2, FLAG: 0, REPAIR: 1, BLOCK: 3}
    assert first.turns == second.turns == 6
    assert found.transitions == {(ALLOW, ALLOW): 2, (BLOCK, BLOCK): 1, (FLAG, BLOCK): 2, (FLAG, REPAIR): 1}


def test_the_largest_changes_come_first_and_then_the_newest() -> None:
    found = between(TURNS, PRESETS["balanced"], PRESETS["strict"])
    assert [(it.case.turn_index, it.first, it.second) for it in found.changed] == [
        (5, FLAG, BLOCK),
        (3, FLAG, BLOCK),
        (4, FLAG, REPAIR),
    ]


def test_moving_a_threshold_changes_which_turns_change() -> None:
    def changed(limit: float) -> list[int]:
        moved = build_policy("balanced", {"rules": {"CONTRADICTED": {"action": "BLOCK", "min_confidence": limit}}})
        return [it.case.turn_index for it in between(TURNS, PRESETS["balanced"], moved).changed]

    assert changed(0.8) == []
    assert changed(0.5) == [3]
    assert changed(0.95) == [2]


def test_turns_that_lean_on_what_would_have_been_withheld_are_counted() -> None:
    assert between(TURNS, PRESETS["balanced"], PRESETS["strict"]).leaning == 1
    assert between(TURNS, PRESETS["balanced"], PRESETS["monitor"]).leaning == 0


def test_a_milder_policys_view_of_a_cut_turn_is_censored() -> None:
    cut = cases(
        stored(finding(Label.CONTRADICTED, 0.9), action=BLOCK, gate="sentence", number=1),
        stored(finding(Label.CONTRADICTED, 0.9), action=BLOCK, gate="turn", number=2),
    )
    found = between(cut, PRESETS["balanced"], PRESETS["monitor"])
    assert [totals.cut_short for totals in found.totals] == [0, 1]
    assert {it.case.turn_index: it.censored for it in found.changed} == {1: True, 2: False}


def test_what_cannot_be_known_is_counted() -> None:
    old = cases(
        stored(finding(Label.CONTRADICTED), action=BLOCK, number=1),
        stored(finding(Label.VERIFIED), action=REPAIR, attempts=(attempt(unchecked()),), number=2),
    )
    found = compare(old, recorded_action, recorded_action)
    assert (found.rewritten, found.changed) == (1, ())
    assert found.totals[0].actions == {ALLOW: 0, FLAG: 0, REPAIR: 1, BLOCK: 1}


def test_precision_is_of_turns_that_people_spoke_of() -> None:
    fine = {f"{number:032x}": word for number, word in {1: True, 2: False, 3: True, 4: False}.items()}
    balanced, strict = between(TURNS, PRESETS["balanced"], PRESETS["strict"]).agreement(fine)
    assert (balanced.labelled, balanced.alarms, balanced.withheld) == (4, wilson(2, 3), wilson(1, 1))
    assert (strict.withheld, strict.false_alarms, strict.missed) == (wilson(2, 3), wilson(1, 2), wilson(0, 2))
    assert between(TURNS, PRESETS["balanced"], PRESETS["strict"]).agreement({})[0].alarms is None


def test_a_policy_that_was_in_force_can_be_checked_against_what_was_done() -> None:
    then = cases(
        stored(finding(Label.CONTRADICTED, 0.9), action=BLOCK, rules="aa", number=1),
        stored(
            finding(Label.LACKING_EVIDENCE, 0.9), action=BLOCK, rules="aa", number=2
        ),  # a repair that could not be made
        stored(finding(Label.VERIFIED), action=FLAG, rules="aa", number=3),
        stored(finding(Label.VERIFIED), action=FLAG, rules="bb", number=4),
    )
    actions = [by_policy({JUDGE: PRESETS["strict"]})(case) for case in then]
    assert reproduction_share(then, actions, {JUDGE: "aa"}) == wilson(2, 3)
    assert reproduction_share(then, actions, {JUDGE: None}) is None


def test_a_policy_whose_thresholds_were_not_chosen_says_so() -> None:
    waiting = build_policy("balanced", {"max_false_alarm_rate": 0.02})
    with raises(ConfigError, "max_false_alarm_rate"):
        between(TURNS, PRESETS["balanced"], waiting)
