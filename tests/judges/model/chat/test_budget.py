"""Budgets and prices: pure sums."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.raising import raises
from vista_guard.errors import BudgetError
from vista_guard.judges.model.chat.calling import Budget, PriceTable
from vista_guard.settings.model import BudgetOptions, ModelOptions, Price
from vista_guard.types import Usage


def budget(**limits: Any) -> Budget:
    return Budget(BudgetOptions.model_validate(limits))


@pytest.mark.parametrize(
    ("limits", "spent", "why"),
    [
        ({}, Usage(calls=10**6, input_tokens=10**9, cost=1e6), None),
        ({"calls": 2}, Usage(calls=1), None),
        ({"calls": 2}, Usage(calls=2), "budget of 2 calls is spent (2 made); raise budget.{}.calls to go on"),
        ({"calls": 0}, Usage(), "budget of 0 calls is spent (0 made); raise budget.{}.calls to go on"),
        ({"tokens": 100}, Usage(input_tokens=60, output_tokens=39), None),
        (
            {"tokens": 100},
            Usage(input_tokens=60, output_tokens=41),
            "budget of 100 tokens is spent (101 used); raise budget.{}.tokens to go on",
        ),
        ({"cost": 0.5}, Usage(cost=0.49), None),
        ({"cost": 0.5}, Usage(cost=0.51), "budget of $0.5 is spent ($0.51 used); raise budget.{}.cost to go on"),
    ],
)
def test_a_run_and_a_turn_stop_at_their_bounds(limits: dict[str, Any], spent: Usage, why: str | None) -> None:
    run, turn = budget(run=limits), budget(turn=limits)
    run.add(spent)
    turn.add(spent)
    assert run.why_exhausted == (why and f"the run's {why.format('run')}")
    assert turn.why_exhausted is None  # a turn's budget ends the turn only
    if why is None:
        run.check(Usage())
        turn.check(spent)
    else:
        with pytest.raises(BudgetError):
            run.check(Usage())
        with pytest.raises(BudgetError):
            turn.check(spent)


def test_a_run_is_added_up_from_many_threads() -> None:
    one = Budget(BudgetOptions())
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(one.add, [Usage(calls=1, input_tokens=3)] * 2000))
    assert one.spent == Usage(calls=2000, input_tokens=6000)


def test_a_users_price_goes_before_the_tables() -> None:
    own = {"gpt-4o-mini": Price(input=1, output=10, cached_input=0.1)}
    table = PriceTable("gpt-4o-mini", own, url="https://api.openai.com/v1")
    assert table.cost(1_000_000, 100_000, 500_000) == 0.5 + 0.05 + 1.0
    assert PriceTable("m", {"m": Price(input=1, output=10)}).cost(1_000_000, 0, 500_000) == 1.0


def test_the_table_knows_the_large_providers_and_reads_no_network() -> None:
    known = PriceTable("gpt-4o-mini", {}, url="https://api.openai.com/v1")
    full, cached = known.cost(1_000_000, 0, 0), known.cost(1_000_000, 0, 1_000_000)
    assert full is not None
    assert cached is not None
    assert 0 < cached < full


@pytest.mark.parametrize(
    "table",
    [
        PriceTable("gpt-4o-mini", {}),
        PriceTable("gpt-4o-mini", {}, url="https://models.example.org/v1"),
        PriceTable("a-model-that-nobody-sells", {}, url="https://api.openai.com/v1"),
        PriceTable("m", {}, provider="nobody"),
    ],
)
def test_what_is_not_known_is_not_guessed(table: PriceTable) -> None:
    assert (table.known, table.cost(10, 10, 0)) == (False, None)


def test_options_refuse_what_they_do_not_know() -> None:
    with raises(ValueError, "timeout"):
        ModelOptions.model_validate({"timeout": 3})
    with raises(ValueError, "strategy"):
        ModelOptions.model_validate({"strategy": "all_at_once"})
