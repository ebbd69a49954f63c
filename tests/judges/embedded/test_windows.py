"""The sentence that shares most, wherever it stands."""

from __future__ import annotations

from vista_guard.judges.embedded.evidence import COMMON, WordIndex


def index(*passages: str) -> WordIndex:
    return WordIndex.of([[frozenset(one.split()) for one in passage.split(".") if one.strip()] for passage in passages])


def test_rare_words_tell_where_it_is() -> None:
    found = index("the hall is old. the hall is red", "the hall has a ballroom. the hall is wide")
    assert found.best(frozenset(("the", "hall", "ballroom"))) == (1, 0)


def test_the_tightest_of_several_wins() -> None:
    assert index("red hall by the sea with a tower. red hall").best(frozenset(("red", "hall"))) == (0, 1)


def test_what_nothing_shares_is_nowhere() -> None:
    assert index("red hall").best(frozenset(("pool",))) is None
    assert index().best(frozenset(("pool",))) is None


def test_words_of_very_many_sentences_are_not_looked_up() -> None:
    assert index(". ".join(["hall"] * (COMMON + 1))).best(frozenset(("hall",))) is None
