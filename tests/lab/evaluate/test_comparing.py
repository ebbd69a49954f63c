"""Claims of two runs side by side."""

from __future__ import annotations

from tests.lab.policies.turns import stored
from tests.lab.runs.runs import run
from vista_guard.policy.labels import GoldTurn
from vista_guard.types import Action, Claim, Finding, Label, Outcome, Span, Unchecked
from vista_lab.evaluate.comparing import (
    TurnChange,
    calibration,
    confusion,
    in_order,
    pair_claims,
    paired_accuracy,
    transitions,
    turn_changes,
)

VERIFIED, CONTRADICTED, LACKING = Label.VERIFIED, Label.CONTRADICTED, Label.LACKING_EVIDENCE


def judged(
    id: str, text: str, label: Label | None, confidence: float = 0.9, span: tuple[int, int] | None = None
) -> Outcome:
    claim = Claim(id=id, text=text, span=None if span is None else Span(start=span[0], end=span[1]))
    if label is None:
        return Unchecked(claim=claim, error="no answer")
    return Finding(claim=claim, label=label, confidence=confidence, reason="so it says")


def test_claims_meet_by_their_words_and_then_by_their_place() -> None:
    first = run(
        "a",
        stored(
            judged("c1", "It is old.", VERIFIED, span=(0, 10)), judged("c2", "It is long.", VERIFIED, span=(11, 22))
        ),
    )
    second = run(
        "b",
        stored(
            judged("c1", "The pier is long.", LACKING, span=(11, 20)),
            judged("c2", "It is old.", VERIFIED, span=(0, 10)),
            judged("c3", "It has a cafe.", LACKING, span=(30, 44)),
        ),
    )
    found = pair_claims(first, second)
    assert [(it.claim.text, it.labels) for it in found] == [
        ("It is old.", ("VERIFIED", "VERIFIED")),
        ("It is long.", ("VERIFIED", "LACKING_EVIDENCE")),
        ("It has a cafe.", (None, "LACKING_EVIDENCE")),
    ]


def test_given_claims_meet_by_their_ids() -> None:
    same = stored(judged("a", "The same words.", VERIFIED), judged("b", "The same words.", LACKING))
    turned = stored(judged("b", "The same words.", LACKING), judged("a", "The same words.", VERIFIED))
    pairs = pair_claims(run("a", same, claims="given"), run("b", turned, claims="given"))
    assert [it.labels for it in pairs] == [("VERIFIED", "VERIFIED"), ("LACKING_EVIDENCE", "LACKING_EVIDENCE")]


GOLD = {("visit", 1): GoldTurn(claims={"c1": VERIFIED, "c2": CONTRADICTED, "It is wide.": LACKING, "c4": VERIFIED})}
TEXTS = ["It is old.", "It is long.", "It is wide.", "It is red."]


def turn(*labels: Label | None) -> list[Outcome]:
    return [judged(f"c{n}", text, label) for n, (text, label) in enumerate(zip(TEXTS, labels, strict=True), 1)]


def test_regressions_come_first_and_figures_count_what_people_said() -> None:
    first = run("a", stored(*turn(VERIFIED, VERIFIED, LACKING, None)))
    second = run("b", stored(*turn(CONTRADICTED, CONTRADICTED, LACKING, VERIFIED), action=Action.BLOCK))
    pairs = pair_claims(first, second, GOLD)
    assert [(it.claim.id, it.regressed, it.improved) for it in in_order(pairs)] == [
        ("c1", True, False),
        ("c2", False, True),
        ("c4", False, True),
    ]
    found = paired_accuracy(pairs)
    assert found is not None
    assert (found.first.hits, found.second.hits, found.first.n, found.better, found.worse, found.p) == (
        2,
        3,
        4,
        2,
        1,
        1.0,
    )
    assert transitions(pairs)["UNCHECKED", "VERIFIED"] == 1
    assert confusion(pairs, second=True)["VERIFIED", "CONTRADICTED"] == 1
    assert turn_changes(first, second, GOLD) == (TurnChange(("visit", 1), Action.ALLOW, Action.BLOCK, False),)
    told = calibration(pairs, second=False)
    assert told is not None
    assert told.bins[-1].n == 3


def test_without_gold_only_what_is_no_longer_judged_is_a_regression() -> None:
    pairs = pair_claims(
        run("a", stored(*turn(VERIFIED, VERIFIED, None, LACKING))),
        run("b", stored(*turn(LACKING, None, VERIFIED, LACKING))),
    )
    assert [(it.claim.id, it.regressed, it.improved) for it in in_order(pairs)] == [
        ("c2", True, False),
        ("c1", False, False),
        ("c3", False, True),
    ]
    assert paired_accuracy(pairs) is None
    assert calibration(pairs, second=True) is None
