"""Which tables runs fill, and by which numbers they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vista_guard.errors import InputError
from vista_guard.evaluation.figures.sheets import Sheet
from vista_guard.evaluation.reporting.comparable import check_comparable
from vista_guard.evaluation.reporting.layouts.abstentions import table_20, table_21
from vista_guard.evaluation.reporting.layouts.claims import table_3, tables_12_to_19
from vista_guard.evaluation.reporting.layouts.overview import overview
from vista_guard.evaluation.reporting.layouts.significance import tables_8_to_11
from vista_guard.evaluation.reporting.layouts.turns import table_2, table_4, table_5
from vista_guard.evaluation.reporting.measured import Measured

NUMBERS = (2, 3, 4, 5, *range(8, 22))
"""Of the paper's tables that runs can fill. Tables 1, 6 and 7 are of annotations."""

NEEDS = {
    "2": "a data set of unverifiable turns with labels of its own",
    "3": "claims that people labelled, judged with --claims given",
    "4": "two of vista, no-ac, no-history and zero-shot, with one judge on one data set",
    "5": "a data set of contradictions",
    "8 to 11": "two runs on one data set",
    "12 to 19": "claims that people labelled, judged with --claims given",
    "20": "a data set of abstentions",
    "21": "a data set of abstentions",
}
"""What runs must have so that a table can be filled."""


def numbers(asked: str) -> frozenset[int]:
    """The tables in a list such as `2,3,8-11`.

    Raises:
        InputError: something in it is no number of such a table.
    """
    found: set[int] = set()
    for part in asked.split(","):
        first, dash, last = part.strip().partition("-")
        try:
            ends = int(first), int(last if dash else first)
        except ValueError as exc:
            raise InputError(f"tables are given by numbers, as 2,3,8-11, and {part.strip()!r} is none") from exc
        if not (ends[0] <= ends[1] and set(ends) <= set(NUMBERS)):
            raise InputError(
                f"there is no table {part.strip()} to fill from runs; there are 2, 3, 4, 5 and 8-21 (Tables 1, 6 and 7 are of "
                "annotations: see vista-guard agree)"
            )
        found |= set(range(ends[0], ends[1] + 1)) & set(NUMBERS)
    return frozenset(found)


def sheets(runs: Sequence[Measured], asked: frozenset[int] | None = None) -> tuple[list[Sheet], list[str]]:
    """The overview and the tables, in the order of their numbers, and which of those asked for nothing fills.

    Args:
        runs: of any data sets and systems.
        asked: numbers of tables; all that can be filled when None.

    Raises:
        InputError: runs on one data set cannot be compared.
    """
    check_comparable(runs)
    found, empty = [overview(runs)], []
    for name, fill, own in _fillers(asked or frozenset()):
        if asked is None or asked & own:
            filled = fill(runs)
            found += filled
            if not filled and asked is not None:
                empty.append(f"no run fills Table {name}: it needs {NEEDS[name]}")
    return found, empty


def _fillers(asked: frozenset[int]) -> list[tuple[str, Callable[[Sequence[Measured]], list[Sheet]], frozenset[int]]]:
    return [
        ("2", table_2, frozenset({2})),
        ("3", table_3, frozenset({3})),
        ("4", table_4, frozenset({4})),
        ("5", table_5, frozenset({5})),
        ("8 to 11", tables_8_to_11, frozenset(range(8, 12))),
        ("12 to 19", lambda runs: tables_12_to_19(runs, asked), frozenset(range(12, 20))),
        ("20", table_20, frozenset({20})),
        ("21", table_21, frozenset({21})),
    ]
