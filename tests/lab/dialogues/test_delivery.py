"""DeliveryFigures of delivered facts: by hand, as the authors' code gives them, and what ours do where theirs are not numbers."""

from __future__ import annotations

import json
import os
from math import inf
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.raising import raises
from vista_guard.errors import InputError
from vista_lab.dialogues.delivery import (
    DeliveryFigures,
    JudgedAnswer,
    PairFinding,
    PairReading,
    delivery,
    figures,
    smape,
)

YES, NO, AGAINST, BOTH = (
    PairFinding(True, False),
    PairFinding(False, False),
    PairFinding(False, True),
    PairFinding(True, True),
)
OPEN = PairFinding(None, False)
NAMES = {
    "recall_fact": "r_f",
    "precision_fact": "p_f",
    "F1_fact": "s_f",
    "recall_hall": "p_fc",
    "precision_hall": "r_m",
    "F1_hall": "s_h",
}
COSTS = {"fact_eff": "d_f", "hall_eff": "d_h", "recall_eff": "d_r"}


def answer(name: str, tokens: int, facts: list[PairFinding], statements: list[PairFinding]) -> JudgedAnswer:
    return JudgedAnswer(name, tokens, tuple(facts), tuple(statements))


def row(given: dict[str, Any], name: str = "") -> JudgedAnswer:
    facts = zip(given["fact_entails"], given["fact_contradicts"], strict=True)
    statements = zip(given["statement_entails"], given["statement_contradicts"], strict=True)
    return answer(
        given.get("id", name),
        given["tokens"],
        [PairFinding(bool(a), bool(b)) for a, b in facts],
        [PairFinding(bool(a), bool(b)) for a, b in statements],
    )


@pytest.fixture(scope="module")
def reference() -> dict[str, Any]:
    if "VISTA_GUARD_DATA" not in os.environ:
        pytest.skip("VISTA_GUARD_DATA names no folder of shared data")
    path = Path(os.environ["VISTA_GUARD_DATA"]) / "knowmt" / "reference-metrics.json"
    if not path.exists():
        pytest.skip("VISTA_GUARD_DATA has no knowmt/reference-metrics.json")
    return dict(json.loads(path.read_text(encoding="utf-8")))


def test_each_answer_is_as_the_authors_code_has_it(reference: dict[str, Any]) -> None:
    for sample in reference["samples"]:
        own = delivery(row(sample))
        for theirs, ours in {**NAMES, **COSTS}.items():
            expected = float(sample["reference"][theirs])
            assert getattr(own, ours) == pytest.approx(expected, abs=1e-9), (sample["id"], ours)


@pytest.mark.parametrize(("cohort", "count"), [("cohort", 60), ("cohort_of_the_first_20", 20)])
def test_cohorts_are_as_the_authors_code_has_them(reference: dict[str, Any], cohort: str, count: int) -> None:
    own = figures([row(given) for given in reference["samples"][:count]])
    assert own.answers == count
    for theirs, ours in NAMES.items():
        assert getattr(own, ours) == pytest.approx(reference[cohort][theirs], abs=1e-9), ours
    for theirs, ours in COSTS.items():
        assert getattr(own, ours).mean == pytest.approx(reference[cohort][theirs], abs=1e-9), ours


def test_an_answer_without_statements_counts_and_is_counted(reference: dict[str, Any]) -> None:
    case = reference["with_an_answer_without_statements"]
    own = figures([*map(row, reference["samples"][:3]), row(case["sample"], "empty")])
    assert case["first_3_and_it"]["precision_fact"] == "nan"
    assert own.without_statements == 1
    assert own.p_f == pytest.approx(sum(delivery(row(one)).p_f or 0.0 for one in reference["samples"][:3]) / 4)
    assert own.r_f == pytest.approx(case["first_3_and_it"]["recall_fact"], abs=1e-9)


def test_the_counterexample_of_the_paper() -> None:
    """App. H.3: ten facts, ten statements, a hundred tokens; five told, and none or five contradicted."""
    told = [YES] * 5
    a = answer("A", 100, told + [NO] * 5, told + [NO] * 5)
    b = answer("B", 100, told + [AGAINST] * 5, told + [AGAINST] * 5)
    assert (delivery(a).s_f, delivery(a).s_h, delivery(a).d_f, delivery(a).d_h) == (0.5, 0.0, 20.0, inf)
    assert (delivery(b).s_f, delivery(b).s_h, delivery(b).d_f, delivery(b).d_h) == (0.5, 0.5, 20.0, 20.0)
    # Of one fact told and two contradicted in 100 tokens.
    c = delivery(answer("C", 100, [YES, AGAINST, AGAINST], [NO]))
    assert (c.d_f, c.d_h) == (100.0, 50.0)


def test_costs_by_hand() -> None:
    cohort = [
        answer("a", 100, [YES, YES], [YES]),
        answer("b", 90, [YES, NO], [YES]),
        answer("c", 50, [NO, NO], [NO]),
    ]
    own = figures(cohort)
    assert own.d_f.mean == pytest.approx((50 + 90 + 90) / 3)
    assert own.d_f.filled == pytest.approx(1 / 3)
    assert own.d_f.pooled == pytest.approx(240 / 3)
    assert own.d_r.mean == pytest.approx((100 + 180 + 180) / 3)
    assert (own.d_h.mean, own.d_h.pooled, own.d_h.filled) == (None, None, 1.0)


def test_the_mean_of_the_harmonic_means_is_not_equation_2() -> None:
    own = figures([answer("a", 10, [YES], [NO]), answer("b", 10, [NO], [YES])])
    assert (own.s_f, own.s_f_of_means) == (0.0, 0.5)


def test_a_pair_found_both_ways() -> None:
    cohort = [answer("a", 10, [BOTH, YES], [BOTH, NO])]
    code, exclusive = figures(cohort, PairReading.CODE), figures(cohort, PairReading.EXCLUSIVE)
    assert (code.r_f, code.r_m, code.p_f, code.p_fc, code.conflicts) == (1.0, 0.5, 0.5, 0.5, 2)
    assert (exclusive.r_f, exclusive.r_m, exclusive.p_f, exclusive.p_fc) == (0.5, 0.0, 0.0, 0.0)
    assert exclusive.conflicts == 2


def test_what_is_unjudged_is_in_coverage_and_bounds() -> None:
    cohort = [answer("a", 10, [YES], [YES]), answer("b", 10, [OPEN], [YES])]
    own = figures(cohort)
    assert (own.answers, own.unjudged, own.coverage, own.s_f) == (1, 1, 0.5, 1.0)
    assert own.bounds[0] == (0.5, 1.0)
    with raises(InputError, "b"):
        delivery(cohort[1])
    with raises(InputError, "1"):
        figures(cohort[1:])


def test_wrong_input_is_named() -> None:
    with raises(InputError, "bare"):
        delivery(answer("bare", 10, [], [YES]))
    with raises(InputError, "-1"):
        delivery(answer("a", -1, [YES], [YES]))
    with raises(InputError, "2", "1"):
        smape([1, 2], [1])


def test_smape_by_hand() -> None:
    assert smape([3, 0, 4], [1, 0, 4]) == pytest.approx((1.0 + 0 + 0) / 3)


PAIRS = st.builds(PairFinding, st.sampled_from([True, False, None]), st.sampled_from([True, False, None]))
ANSWERS = st.builds(
    answer,
    st.text(max_size=3),
    st.integers(0, 500),
    st.lists(PAIRS, min_size=1, max_size=4),
    st.lists(PAIRS, max_size=4),
)


@given(st.lists(ANSWERS, min_size=1, max_size=5), st.sampled_from(PairReading))
def test_shares_stay_shares_and_bounds_hold(cohort: list[JudgedAnswer], reading: PairReading) -> None:
    if not any(all(pair.judged for pair in (*one.facts, *one.statements)) for one in cohort):
        return
    own: DeliveryFigures = figures(cohort, reading)
    assert all(0 <= getattr(own, name) <= 1 for name in NAMES.values())
    (least, most), (fewest, highest) = own.bounds
    assert 0 <= least <= most <= 1
    assert 0 <= fewest <= highest <= 1
    if not own.unjudged:
        assert (least, most) == (own.s_f, own.s_f)
    assert own.d_f.mean is None or own.d_f.mean >= 0
