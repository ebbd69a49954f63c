"""Pairs of chat messages by one speaker: shape, shares, and templates that cannot contradict themselves."""

from __future__ import annotations

import random
from collections import Counter

from training.pairs import NOT_CONTRADICTED
from training.talk import read_stances, talk_pairs
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS

COUNT = 3000


def test_the_same_seed_gives_the_same_pairs() -> None:
    first, again, other = (list(talk_pairs(50, random.Random(seed))) for seed in (5, 5, 6))
    assert first == again
    assert first != other


def test_every_pair_is_filled_in_and_labels_have_their_shares() -> None:
    pairs = list(talk_pairs(COUNT, random.Random(1)))
    shares = Counter(pair.allowed for pair in pairs)
    assert set(shares) == {(SUPPORTED_CLASS,), (CONTRADICTED_CLASS,), (NOT_ENOUGH_CLASS,), NOT_CONTRADICTED}
    assert 0.38 < shares[(CONTRADICTED_CLASS,)] / COUNT < 0.46
    assert 0.2 < shares[(SUPPORTED_CLASS,)] / COUNT < 0.3
    assert [p for p in pairs if set("{}|") & set(p.premise + p.hypothesis) or not (p.premise and p.hypothesis)] == []


def test_what_an_entry_says_is_in_one_of_its_lines_only() -> None:
    for stance in read_stances():
        statements = [*stance.same, *stance.against, *stance.near, *stance.follows]
        assert len(set(statements)) == len(statements), stance
        assert min(len(stance.same), len(stance.against), len(stance.near)) >= 2, stance


def test_entries_cover_people_and_topics() -> None:
    stances = read_stances()
    assert len(stances) >= 180
    assert len({stance.same for stance in stances}) == len(stances)
