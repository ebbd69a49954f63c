"""Batches keep twins together and stay within their tokens; the ranking term compares true twins with false ones."""

from __future__ import annotations

import random

import pytest

torch = pytest.importorskip("torch")

from vista_lab.training.examples import Example, batches, collate, groups, ranked_rows  # noqa: E402
from vista_lab.training.train import ranking_loss  # noqa: E402

TRUE, FALSE, OPEN = [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 1.0]


def example(length: int, allowed: list[float] = TRUE, twin: str = "") -> Example:
    return Example(list(range(length)), [0] * length, allowed, twin)


def examples() -> list[Example]:
    rng = random.Random(3)
    single = [example(rng.randint(5, 60)) for _ in range(300)]
    return single + [example(rng.randint(5, 60), side, f"t{n}") for n in range(100) for side in (TRUE, FALSE)]


def test_every_example_is_in_one_batch() -> None:
    found = [one for batch in batches(examples(), 600, random.Random(1)) for one in batch]
    assert sorted(map(repr, found)) == sorted(map(repr, examples()))


def test_twins_are_never_torn_apart() -> None:
    for batch in batches(examples(), 600, random.Random(1)):
        assert all(len(group) == 2 for group in groups([one for one in batch if one.twin]))


def test_no_batch_has_more_tokens_than_asked_for() -> None:
    for batch in batches(examples(), 600, random.Random(1)):
        assert len(batch) * max(len(one.ids) for one in batch) <= 600


def test_ranked_rows_pair_the_true_with_the_false_of_the_same_twin() -> None:
    batch = [example(3, TRUE, "a"), example(3, FALSE, "b"), example(3, FALSE, "a"), example(3, TRUE)]
    assert ranked_rows(batch) == [(0, 2)]


def test_a_target_that_leaves_support_open_is_not_ranked() -> None:
    assert ranked_rows([example(3, TRUE, "a"), example(3, OPEN, "a")]) == []


def test_the_ranking_loss_falls_as_the_true_twin_rises() -> None:
    batch = collate([example(3, TRUE, "a"), example(3, FALSE, "a")])
    level, apart = torch.zeros(2, 3), torch.tensor([[3.0, 0.0, 0.0], [-3.0, 0.0, 0.0]])
    assert ranking_loss(apart, batch.ranked, 2.0) < ranking_loss(level, batch.ranked, 2.0)


def test_without_twins_there_is_nothing_to_rank() -> None:
    assert ranking_loss(torch.zeros(1, 3), collate([example(3)]).ranked, 2.0) == 0
