"""Runs: two replays beside each other, as people read them."""

from __future__ import annotations

from dataclasses import replace

from tests.lab.policies.turns import finding, stored, unchecked
from tests.lab.runs.runs import run
from vista_guard.policy.labels import GoldTurn
from vista_guard.types import Action, Label
from vista_lab.evaluate import page as runs
from vista_lab.evaluate.comparing import in_order, pair_claims, paired_accuracy, transitions, turn_changes
from vista_lab.logs.source import Task
from vista_lab.runs.folder import Rows
from vista_lab.runs.reading import differences

GOLD = {("visit", 1): GoldTurn(claims={"c1": Label.VERIFIED, "c2": Label.CONTRADICTED})}
FIRST = run("a", stored(finding(Label.VERIFIED), finding(Label.VERIFIED, claim="c2"), unchecked("c3")))
SECOND = run(
    "b",
    stored(
        finding(Label.LACKING_EVIDENCE, 0.7), finding(Label.VERIFIED, claim="c2"), unchecked("c3"), action=Action.FLAG
    ),
    judge="model",
    policy="strict",
)


def test_regressions_are_told_with_both_reasons() -> None:
    (pair,) = in_order(pair_claims(FIRST, SECOND, GOLD))
    text = runs.change(pair).text()
    for part in (
        "verified",
        "lacking evidence",
        "↓ worse",
        "people: verified",
        "first (1.00)",
        "second (0.70)",
        "turn 1 of visit",
    ):
        assert part in text


def test_how_they_were_made_and_who_is_right() -> None:
    made = runs.provenance(FIRST, SECOND, differences(FIRST.manifest, SECOND.manifest)).text()
    assert "model 1" in made
    assert "cannot be laid to one of them" in made
    assert "turns in both: 1" in made
    pairs = pair_claims(FIRST, SECOND, GOLD)
    told = runs.accuracy(paired_accuracy(pairs)).text()
    assert "50.0 %" in told
    assert "McNemar" in told
    assert "--labels" in runs.accuracy(None).text()
    assert "Labels of whole turns say nothing of single claims" in runs.accuracy(None).text()
    assert "lacking evidence" in runs.matrix(transitions(pairs), "T", "t", "c").text()


def test_a_policys_name_and_its_rules_are_one_difference() -> None:
    other = run("b", stored(), policy="strict", rules="bb")
    made = runs.provenance(FIRST, other, differences(FIRST.manifest, other.manifest)).text()
    assert "rules" in made
    assert "cannot be laid to one of them" not in made


def test_what_only_an_evaluation_says_of_its_data_is_no_difference_of_settings() -> None:
    rows = Rows(
        name="museum.json",
        split="log",
        task=Task.UNVERIFIABLE,
        test=False,
        files={"a": "ab"},
        conversations=("visit",),
        turns=1,
    )
    other = replace(FIRST, manifest=FIRST.manifest.model_copy(update={"rows": rows}))
    made = runs.provenance(FIRST, other, differences(FIRST.manifest, other.manifest)).text()
    assert "museum.json log" in made
    assert "cannot be laid to one of them" not in made


def test_decisions_that_differ() -> None:
    assert "flagged" in runs.turns(turn_changes(FIRST, SECOND, GOLD)).text()
    assert "None." in runs.turns(()).text()


def test_runs_made_alike() -> None:
    assert "same settings" in runs.provenance(FIRST, FIRST, {}).text()
