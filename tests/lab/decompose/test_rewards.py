"""Rewards of decompositions, against values worked out by hand from DAD's App. I."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.raising import raises
from vista_guard.errors import InputError, UnreadableError
from vista_lab.decompose.rewards import (
    CHECK_WEIGHTS,
    FORMAT_WEIGHTS,
    GATE,
    CheckAnswer,
    checklist_reward,
    dense_reward,
    format_reward,
    group_advantages,
    read_checklist,
    read_completion,
    response_support,
    sparse_reward,
)

GOOD = '<think>Two facts.</think>\n<output>["The hall seats 90.", "It opened in 1925."]</output>'
YES, NO, NA = CheckAnswer.YES, CheckAnswer.NO, CheckAnswer.NA


def checks(*answers: CheckAnswer, gate: CheckAnswer = YES) -> dict[str, CheckAnswer]:
    return {GATE: gate, **dict(zip(CHECK_WEIGHTS, answers, strict=True))}


def entry(place: Any, answers: dict[str, Any]) -> dict[str, Any]:
    return {"id": place, "checks": answers, "rationales": dict.fromkeys(answers, "It says so.")}


@pytest.mark.parametrize(
    ("text", "reward"),
    [
        (GOOD, 1.0),
        ("<think>One.</think><output>['The hall seats 90.']</output>", 1.0),  # a Python literal
        ('<output>["The hall seats 90."]</output><think>One.</think>', 0.9),
        ('Here you are: <think>One.</think><output>["The hall seats 90."]</output>', 0.9),
        ('<think>One.</think><output>["A."]</output><output>["The hall seats 90."]</output>', 0.9),
        ("<think>One.</think><output>[]</output>", 0.9),
        ('<think>One.</think><output>["  "]</output>', 0.9),
        ("<think>One.</think><output>The hall seats 90.</output>", 0.5),
        ("<think>One.</think><output>No verifiable claim</output>", 0.5),
        ('<think>One.</think><output>["A.", 3]</output>', 0.5),
        ('<think>One. <output>["The hall seats 90."]</output></think>', 0.0),
        ('<output>["The hall seats 90."]</output>', 0.5),
        ("", 0.0),
    ],
)
def test_the_format_is_rewarded_check_by_check(text: str, reward: float) -> None:
    assert format_reward(read_completion(text)) == pytest.approx(reward)


@pytest.mark.parametrize("phrase", ["No verifiable claim", "Cannot be decontextualized.", '"no verifiable claim"'])
def test_in_training_a_stop_phrase_is_well_formed(phrase: str) -> None:
    completion = read_completion(f"<think>An opinion.</think><output>{phrase}</output>")
    assert format_reward(completion) == pytest.approx(0.5)
    assert format_reward(completion, stop_counts=True) == pytest.approx(1.0)


def test_the_last_of_several_outputs_counts() -> None:
    assert read_completion('<think>x</think><output>["A."]</output><output>["B."]</output>').claims == ("B.",)


@given(st.text(alphabet="<>/thinkoupu[]\"' a", max_size=120))
def test_any_text_can_be_read(text: str) -> None:
    assert 0 <= format_reward(read_completion(text)) <= sum(FORMAT_WEIGHTS.values())


@pytest.mark.parametrize(
    ("probabilities", "supported", "reward"),
    [
        ([0.9, 0.4], True, 0.84),
        ([0.9, 0.4], False, 0.64),
        ([0.5], True, 0.75),
        ([0, 0.9], True, 0),
        ([], True, 0),
        ([], False, 0),
    ],
)
def test_the_dense_reward_is_one_minus_the_brier_score(
    probabilities: list[float], supported: bool, reward: float
) -> None:
    assert dense_reward(probabilities, supported) == pytest.approx(reward)


@pytest.mark.parametrize(
    ("probabilities", "supported", "reward"),
    [([0.9, 0.5], True, 1), ([0.9, 0.49], True, 0), ([0.9, 0.49], False, 1), ([], True, 0), ([], False, 0)],
)
def test_the_sparse_reward_asks_for_all_claims(probabilities: list[float], supported: bool, reward: float) -> None:
    assert sparse_reward(probabilities, supported, threshold=0.5) == reward


@pytest.mark.parametrize("bad", [1.01, -0.1, math.nan])
def test_probabilities_lie_between_0_and_1(bad: float) -> None:
    for score in (lambda p: dense_reward(p, True), lambda p: sparse_reward(p, True, 0.5), response_support):
        with raises(InputError, "2", bad):
            score([0.5, bad])


@pytest.mark.parametrize("bad", [2, -1, 0.5, math.nan])
def test_a_label_is_1_or_0(bad: Any) -> None:
    with raises(InputError, bad):
        dense_reward([0.5], bad)
    with raises(InputError, bad):
        sparse_reward([0.5], bad, 0.5)


@pytest.mark.parametrize("threshold", [0.0, 1.0, math.nan])
def test_a_threshold_lies_between_0_and_1(threshold: float) -> None:
    with raises(InputError, "threshold", threshold):
        sparse_reward([0.5], True, threshold)


@pytest.mark.parametrize(
    ("probabilities", "support"),
    [([0.9, 0.3], 0.45), ([0.9, 0.4], 0.72 / 1.3), ([0.5, 0.5], 0.5), ([0.9, 0], 0.0), ([], None)],
)
def test_a_response_is_supported_by_the_harmonic_mean(probabilities: list[float], support: float | None) -> None:
    assert response_support(probabilities) == (support if support is None else pytest.approx(support))


def test_checks_are_weighted_over_those_that_apply() -> None:
    mixed = checks(YES, NA, NO, YES)
    assert checklist_reward([mixed]) == pytest.approx(0.55 / 0.85)
    assert checklist_reward([mixed, checks(YES, YES, YES, YES)]) == pytest.approx(math.sqrt(0.55 / 0.85))
    assert checklist_reward([checks(YES, YES, YES, YES, gate=NO), checks(YES, YES, YES, YES)]) == 0
    assert checklist_reward([]) == checklist_reward(None) == 0


def test_each_weight_counts_for_its_own_question() -> None:
    scores = [checklist_reward([checks(*(YES if at == place else NO for at in range(4)))]) for place in range(4)]
    assert scores == pytest.approx([0.40, 0.15, 0.30, 0.15])


def test_the_total_is_a_plain_sum() -> None:
    checklist = checklist_reward([checks(YES, NA, NO, YES), checks(YES, YES, YES, YES)])
    assert 1.0 + dense_reward([0.9, 0.4], True) + checklist == pytest.approx(2.6444, abs=5e-5)


def test_an_advantage_is_the_distance_from_the_groups_mean() -> None:
    assert group_advantages([3, 2, 1, 2]) == [1, 0, -1, 0]
    assert group_advantages([]) == []
    with raises(InputError, "reward", "2"):
        group_advantages([1.0, math.nan])


class TestReadingTheChecklist:
    CLAIMS = ("The hall seats 90.", "The hall opened in 1925.")

    def test_answers_come_in_the_claims_order(self) -> None:
        second, first = entry(2, checks(NO, NA, NA, YES)), entry("1", checks(YES, YES, YES, YES))
        read = read_checklist(json.dumps([second, first]), self.CLAIMS)
        assert read == (checks(YES, YES, YES, YES), checks(NO, NA, NA, YES))

    def test_the_list_may_stand_in_an_object(self) -> None:
        entries = [entry(1, checks(YES, YES, YES, YES)), entry(2, checks(NO, NA, NA, YES))]
        assert read_checklist(json.dumps({"claims": entries}), self.CLAIMS) == read_checklist(
            json.dumps(entries), self.CLAIMS
        )

    def test_a_key_that_is_there_twice_is_refused(self) -> None:
        with raises(UnreadableError, "id"):
            read_checklist('[{"id": 1, "id": 2}]', self.CLAIMS)

    @pytest.mark.parametrize(
        ("entries", "named"),
        [
            ([entry(1, checks(YES, YES, YES, YES))], ("2",)),
            ([entry(1, checks(YES, YES, YES, YES))] * 2, ("1",)),
            ([entry(place, checks(YES, YES, YES, YES)) for place in (1, 2, 3)], ("3",)),
            ([entry(1, checks(NA, YES, YES, YES))], ("retrieval_relevant", "1", "NA")),
            ([entry(1, {**checks(YES, YES, YES, YES), GATE: "Maybe"})], (GATE, "1", "Maybe")),
            ([entry(1, {GATE: YES})], ("checks", "1")),
            ([{"id": 1, "checks": checks(YES, YES, YES, YES)}], ("rationales", "1")),
            ([entry("first", checks(YES, YES, YES, YES))], ()),
            (
                [entry(0, checks(YES, YES, YES, YES)), *(entry(n, checks(YES, YES, YES, YES)) for n in (1, 2))],
                ("0",),
            ),
            ({"1": {}}, ("list",)),
        ],
    )
    def test_what_is_not_a_whole_checklist_is_refused(self, entries: Any, named: tuple[object, ...]) -> None:
        text = json.dumps(entries)
        with raises(UnreadableError, *named) as caught:
            read_checklist(text, self.CLAIMS)
        assert caught.value.raw == text
