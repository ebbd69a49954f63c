"""Agreement of annotators: which claims are one, how far sets and labels agree, and what is left to discuss."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vista_guard.stores.reviewed import Op
from vista_guard.types import Label, Span
from vista_lab.metrics.agreement import (
    AnnotatedClaim,
    Method,
    agreement,
    answers,
    compare,
    krippendorff_alpha,
    majority,
    method_of,
)
from vista_lab.metrics.claim_sets import groups, match_claims, maximum_matching

CODERS = (
    "1 2 3 3 2 1 4 1 2 . . .",
    "1 2 3 3 2 2 4 1 2 5 . 3",
    ". 3 3 3 2 3 4 2 2 5 1 .",
    "1 2 3 3 2 4 4 1 2 5 1 .",
)
"""Krippendorff's own example: four coders, twelve units, some values missing."""


def test_a_majority_is_more_than_half() -> None:
    assert (majority([]), majority([True, False]), majority([True, True, False])) == (None, None, True)
    assert (majority(["a", "a"], of=3), majority(["a", "a"], of=4)) == ("a", None)


V, C, LACKING = Label.VERIFIED, Label.CONTRADICTED, Label.LACKING_EVIDENCE


def claim(
    text: str, label: Label | None = V, source: str | None = None, span: tuple[int, int] | None = None
) -> AnnotatedClaim:
    where = Span(start=span[0], end=span[1]) if span else None
    return AnnotatedClaim(text=text, label=label, source_claim_id=source, span=where)


def units() -> list[list[str]]:
    return [[value for value in unit if value != "."] for unit in zip(*(row.split() for row in CODERS), strict=True)]


def test_the_textbook_matrix() -> None:
    alpha = krippendorff_alpha(units())
    assert alpha == pytest.approx(0.743, abs=5e-4)


@pytest.mark.parametrize(
    ("told", "alpha"),
    [
        ([], None),
        ([["a"]], None),
        ([["a", "a"]], None),
        ([["a", "b"]], 0.0),
        ([["a", "a"], ["b", "b"]], 1.0),
        ([["a", "b"], ["a", "b"]], -0.5),
    ],
)
def test_alpha_at_its_edges(told: list[list[str]], alpha: float | None) -> None:
    assert krippendorff_alpha(told) == alpha


def test_alpha_by_the_definition() -> None:
    """Two coders, ten units, 0 and 1: 1 - (n - 1) * disagreements / (n0 * n1), from the definition for two values."""
    pairs = ["00", "00", "00", "00", "01", "10", "11", "11", "11", "01"]
    zeros, ones, differing = 11, 9, 3
    assert krippendorff_alpha([list(pair) for pair in pairs]) == pytest.approx(1 - 19 * differing / (zeros * ones))


def test_claims_are_one_by_origin_then_place_then_words() -> None:
    mine = [claim("It opened in 1911.", source="c1"), claim("It is long.", span=(30, 41)), claim("It is old.")]
    yours = [
        claim("it is  OLD"),
        claim("It is very long.", source="c2", span=(28, 41)),
        claim("It was opened.", source="c1"),
    ]
    assert match_claims([[one] for one in mine], [[one] for one in yours]) == {2: 0, 1: 1, 0: 2}


def test_two_claims_of_the_judge_are_two_though_they_share_a_sentence() -> None:
    mine = [claim("It opened in 1911.", source="c1", span=(0, 40))]
    yours = [claim("It is long.", source="c2", span=(0, 40))]
    assert match_claims([mine], [yours]) == {}


def test_as_many_pairs_as_there_can_be() -> None:
    """Taking the nearest first would leave one alone."""
    wide, left, right = claim("a", span=(0, 20)), claim("b", span=(0, 10)), claim("c", span=(9, 20))
    other = claim("d", span=(0, 11))
    assert set(match_claims([[wide], [left]], [[other], [right]]).items()) == {(0, 1), (1, 0)}


@given(st.lists(st.lists(st.integers(0, 4), unique=True, max_size=5), max_size=5))
def test_the_matching_is_maximum(edges: list[list[int]]) -> None:
    found = maximum_matching(dict(enumerate(edges)))
    assert len(set(found.values())) == len(found)
    assert all(other in edges[one] for one, other in found.items())
    best = max(
        (sum(o in edges[n] for n, o in enumerate(order[: len(edges)])) for order in permutations(range(5))), default=0
    )
    assert len(found) == best


def test_groups_hold_everybodys_version_in_the_order_of_the_text() -> None:
    first, second = claim("One.", source="c1", span=(0, 4)), claim("Two.", source="c2", span=(5, 9))
    gone = second.model_copy(update={"op": Op.DELETE})
    found = groups(
        {"eve": [second, claim("New.")], "ada": [first, gone], "ben": [claim("One!", source="c1", span=(0, 4)), second]}
    )
    assert [sorted(group.by) for group in found] == [["ada", "ben"], ["ben", "eve"], ["eve"]]


def test_sets_and_labels() -> None:
    one = {"ada": [claim("a", source="c1"), claim("b", source="c2")], "ben": [claim("a", source="c1")]}
    two = {
        "ada": [claim("a", C, "c1"), claim("b", LACKING, "c2")],
        "ben": [claim("a", V, "c1"), claim("b", LACKING, "c2")],
    }
    found = agreement([one, two], draws=200)
    (pair,) = found.pairs
    assert (pair.annotators, pair.turns, pair.first, pair.second, pair.shared) == (("ada", "ben"), 2, 4, 3, 3)
    assert (pair.jaccard.value, pair.f1.value) == (3 / 4, 6 / 7)
    assert found.f1 == pytest.approx(2 * 0.75 / 1.75)
    assert found.units == 3
    assert found.alpha.value == krippendorff_alpha([["V", "V"], ["C", "V"], ["L", "L"]])
    assert found.confusion == {(V, V): 1, (V, C): 1, (LACKING, LACKING): 1}
    assert pair.jaccard.low == 0.5
    assert pair.jaccard.high == 1.0
    assert agreement([one, two], draws=200) == found


def test_three_annotators_of_whom_not_all_did_all() -> None:
    same = [claim("a", source="c1"), claim("b", C, "c2")]
    found = agreement([{"ada": same, "ben": same, "eve": same}, {"ada": same, "ben": same}])
    assert [(pair.annotators, pair.turns) for pair in found.pairs] == [
        (("ada", "ben"), 2),
        (("ada", "eve"), 1),
        (("ben", "eve"), 1),
    ]
    assert (found.jaccard, found.f1, found.alpha.value, found.units) == (1, 1, 1, 4)


def test_nothing_to_compare() -> None:
    alone: list[list[dict[str, list[AnnotatedClaim]]]] = [[], [{"ada": [claim("a")]}], [{"ada": [], "ben": []}]]
    for turns in alone:
        found = agreement(turns)
        assert (found.alpha.value, found.jaccard, found.f1, found.units) == (None, None, None, 0)


@pytest.mark.parametrize("turns", [1, 4])
def test_agreement_that_never_varies_has_no_interval(turns: int) -> None:
    same = [claim("a", source="c1"), claim("b", C, "c2")]
    found = agreement([{"ada": same, "ben": same}] * turns)
    assert (found.pairs[0].jaccard.value, found.pairs[0].jaccard.low) == (1.0, None)
    assert (found.alpha.value, found.alpha.low, found.alpha.high) == (1.0, None, None)


def test_of_one_mind() -> None:
    items = compare({"ada": [claim("a", source="c1")], "ben": [claim("a", source="c1")]})
    assert method_of(items) is Method.UNANIMOUS
    assert [(one.text, one.label, one.source_claim_id) for one in answers(items)] == [("a", V, "c1")]


def test_most_of_three_decide() -> None:
    sets = {
        "ada": [claim("a", V, "c1"), claim("b", V, "c2")],
        "ben": [claim("a", V, "c1")],
        "eve": [claim("a", C, "c1")],
    }
    items = compare(sets)
    assert method_of(items) is Method.MAJORITY
    assert [(one.text, one.label) for one in answers(items)] == [("a", V)]


@pytest.mark.parametrize(
    "yours",
    [[claim("a", C, "c1")], [], [claim("a, and more", V, "c1")], [claim("a", V, "c1"), claim("b", V)]],
    ids=["another label", "no such claim", "other words", "one more claim"],
)
def test_two_who_differ_have_to_talk(yours: list[AnnotatedClaim]) -> None:
    items = compare({"ada": [claim("a", V, "c1")], "ben": yours})
    assert method_of(items) is None
    assert [item.open for item in items].count(True) == 1
