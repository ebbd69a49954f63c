"""Policy lab: what the address says, what is read, and what is told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.dashboard import weeks
from vista_guard.dashboard.access import THIS_MACHINE, Viewer
from vista_guard.dashboard.elements.address import Filters
from vista_guard.dashboard.page import Words
from vista_guard.dashboard.scoped import ScopedReports
from vista_guard.policy.label_policy import PRESETS, Recipe, build_policy
from vista_guard.stores.reports import ReportReader
from vista_guard.types import Action, Decision, Label
from vista_lab.pages.parts import first_shown
from vista_lab.policies import figures as policy_figures
from vista_lab.policies.comparison import by_policy, compare
from vista_lab.policies.figures import Samples, read
from vista_lab.policies.named import policies_by_judge
from vista_lab.policies.page import CONFIGURED, RECORDED, LabelRule, PolicyChoice, fine_turns, from_params, to_params

OWN = PolicyChoice(
    "balanced", {"contradicted": LabelRule(Action.BLOCK, 0.65)}, {"flag": 0.35}, {"unchecked": Action.BLOCK}
)
NOTHING = PolicyChoice("strict")


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> ReportReader:
    return ReportReader(weeks.write(tmp_path_factory.mktemp("weeks") / "reports.sqlite"))


@pytest.mark.parametrize(
    "choice", [OWN, PolicyChoice(RECORDED), PolicyChoice(CONFIGURED, always={"nothing": Action.ALLOW})]
)
def test_a_choice_stands_in_the_address(choice: PolicyChoice) -> None:
    told = {name: value for name, value in to_params("b", choice).items() if value is not None}
    assert from_params("b", told, NOTHING) == choice


def test_what_the_address_names_wrongly_is_as_in_the_preset() -> None:
    told = {
        "b": "balanced",
        "b.contradicted": "SHOUT@0.4",
        "b.lacking": "FLAG@7",
        "b.flag": "much",
        "b.unchecked": "PERHAPS",
    }
    assert from_params("b", told, NOTHING) == PolicyChoice("balanced")
    assert from_params("b", {"b": "lenient"}, NOTHING) == NOTHING
    assert from_params("b", {}, NOTHING) == NOTHING


def test_a_choice_is_a_policy_of_the_settings() -> None:
    recipe = OWN.recipe(Recipe("strict"))
    assert recipe is not None
    rule = {"action": "BLOCK", "min_confidence": 0.65, "otherwise": "FLAG", "flags_alone": 0.5}
    overrides = {"rules": {"CONTRADICTED": rule}, "flag_at_risk": 0.35, "on_unchecked": "BLOCK"}
    assert recipe == Recipe("balanced", overrides)
    assert recipe.policy() == build_policy("balanced", overrides)
    assert PolicyChoice(RECORDED).recipe(Recipe("strict")) is None
    kept = PolicyChoice(CONFIGURED, always={"nothing": Action.BLOCK}).recipe(Recipe("monitor", {"on_code": "FLAG"}))
    assert kept == Recipe("monitor", {"on_code": "FLAG", "on_no_evidence": "BLOCK"})


def test_below_the_confidence_of_a_flag_nothing_happens() -> None:
    recipe = PolicyChoice("strict", {"lacking": LabelRule(Action.FLAG, 0.7)}).recipe(Recipe("strict"))
    assert recipe is not None
    rule = recipe.policy().rules[Label.LACKING_EVIDENCE]
    assert (rule(0.9), rule(0.5)) == (Action.FLAG, Action.ALLOW)


def test_the_newest_turns_are_read_with_progress(reader: ReportReader) -> None:
    told: list[int] = []
    sample = read(ScopedReports(reader, THIS_MACHINE), Filters(), 220, None, told.append)
    assert (len(sample.cases), sample.more, sample.unreadable) == (220, True, 0)
    assert told == [200, 220]
    assert sample.cases[0].created_at > sample.cases[-1].created_at
    assert set(sample.judges) == {weeks.OLD, weeks.NEW}
    assert "lighthouse" not in repr(sample.cases)


def test_a_tenants_sample_is_their_own(reader: ReportReader) -> None:
    theirs = ScopedReports(reader, Viewer("x", ("museum",), frozenset()))
    sample = read(theirs, Filters(tenant="harbour office"), 1000, None, lambda _done: None)
    assert {int(case.report_id, 16) % 2 for case in sample.cases} <= {0}
    assert len(sample.cases) in (0, 120)


def test_samples_are_kept_while_they_are_few(reader: ReportReader) -> None:
    kept = Samples()
    sample = read(ScopedReports(reader, THIS_MACHINE), Filters(), 10, None, lambda _done: None)
    for number in range(6):
        kept.keep(number, sample)
    assert [kept.get(number) is sample for number in range(6)] == [False, False, True, True, True, True]
    kept.drop(5)
    assert kept.get(5) is None


def test_what_is_told(reader: ReportReader, tmp_path: Path) -> None:
    sample = read(ScopedReports(reader, THIS_MACHINE), Filters(), 1000, None, lambda _done: None)
    mild, hard = (policies_by_judge(PRESETS[name], sample.judges, None) for name in ("monitor", "strict"))
    found = compare(sample.cases, by_policy(mild), by_policy(hard))
    text = policy_figures.honesty(found, sample, ("first", "second"), None).text()
    assert "streamed" in text
    assert "memory cannot be replayed" in text
    assert "No risk was fitted for model large, model small" in text
    assert f"{found.totals[1].actions[Action.BLOCK]:,}" in policy_figures.totals(found, ("first", "second")).text()
    (changed, *_) = found.changed
    labels = tmp_path / "labels.jsonl"
    labels.write_text(
        f'{{"conversation_id": "{changed.case.conversation_id}", "turn_index": {changed.case.turn_index}, "fine": false}}\n'
    )
    fine = fine_turns(Words(labels), sample.cases)
    assert fine == {changed.case.report_id: False}
    assert "100 %" in policy_figures.agreement(found.agreement(fine), ("first", "second")).text()
    assert "people: not fine" in policy_figures.example(changed, None, False, ("first", "second")).text()


def test_texts_of_a_changed_turn_say_where_they_are_cut(reader: ReportReader) -> None:
    sample = read(ScopedReports(reader, THIS_MACHINE), Filters(), 1000, None, lambda _done: None)
    mild, hard = (policies_by_judge(PRESETS[name], sample.judges, None) for name in ("monitor", "strict"))
    changed = compare(sample.cases, by_policy(mild), by_policy(hard)).changed[0]
    decided = Decision(action=Action.BLOCK, reason="It sank. " * 100)
    text = policy_figures.example(changed, ("It is red. " * 100, decided, None), None, ("first", "second")).text()
    assert text.count("…") == 2
    own = replace(changed, case=replace(changed.case, conversation_id="north/visit-3", tenant="north"))
    text = policy_figures.example(own, None, None, ("first", "second")).text()
    assert "of visit-3 · tenant north" in text


@pytest.mark.parametrize(
    ("text", "total", "first"),
    [
        (None, 45, 0),
        ("20", 45, 20),
        ("7", 45, 7),
        ("45", 45, 40),
        ("99999", 40, 20),
        ("99999", 0, 0),
        ("-1", 45, 0),
        ("some", 45, 0),
        ("9" * 5000, 45, 0),
    ],
)
def test_a_page_that_the_address_names_has_something_to_show(text: str | None, total: int, first: int) -> None:
    assert first_shown(text, 20, total) == first
