"""Tables 8 to 11: which runs differ, by McNemar's exact test on the turns that both judged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from vista_guard.evaluation.figures.sheets import Column, Row, Sheet, file_name, percent, row
from vista_guard.evaluation.metrics.significance import Discordant
from vista_guard.evaluation.paper.printed import differences, table
from vista_guard.evaluation.reporting.comparable import names_of, notes_of
from vista_guard.evaluation.reporting.layouts.papers import PAPER, data_sets_of, paper_set, systems_of, title_of
from vista_guard.evaluation.reporting.measured import Measured, discordant

NOTES = (
    "Δ: accuracy of the first less that of the second, in percent, over the n turns that both judged; b: turns that the first "
    "alone has right, c: that the second alone has. p: McNemar's exact test, two-sided, not corrected for the number of rows.",
    "* p < .05, ** p < .01, *** p < .001, ns: else.",
)
OF_PAPER = "Of the paper's rows n is its sample; p is as printed, and Δ and the pairs are of different items there."

COLUMNS = (
    Column("model", figures=False), Column("comparison", figures=False), Column("n"), Column("Δ"), Column("p"), Column("sig."),
    Column("b"), Column("c"),
)  # fmt: skip


def tables_8_to_11(runs: Sequence[Measured]) -> list[Sheet]:
    """A table for each data set with two runs or more; the paper's rows below, where it has the data set.

    Compared are systems of one judge, one system with several judges, and everything with systems that ask no judge.
    """
    found = []
    for name in data_sets_of(runs):
        here = [run for run in runs if run.data_set == name and run.answers(run.reading)]
        rows = [_row(first, second, names_of(here)) for first, second in _pairs(here)]
        if rows:
            known = paper_set(name)
            number = f"Table {table('table08_11')[known]['number']}. " if known else ""
            title = f"{number}{name}: {table('table08_11')['title']}"
            sheet = Sheet(
                file_name("significance", name),
                title,
                COLUMNS,
                tuple(rows),
                (*NOTES, *([OF_PAPER] if known else []), *notes_of(here)),
            )
            found.append(sheet.below(_printed(known) if known else []))
    return found


def _pairs(runs: Sequence[Measured]) -> Iterator[tuple[Measured, Measured]]:
    order = systems_of(runs)
    ranked = sorted(runs, key=lambda run: order.index(run.system))
    for first, second in combinations(ranked, 2):
        if first.judge == second.judge or first.system == second.system or _own(first) or _own(second):
            yield first, second


def _own(run: Measured) -> bool:
    """Whether the system asks no judge: it is then its own."""
    return run.judge == run.system


def _row(first: Measured, second: Measured, names: Mapping[str, str]) -> Row:
    left, right = names[first.name], names[second.name]
    met = discordant(first, second, first.reading)
    pair = f"{title_of(first.system)} – {title_of(second.system)}"
    return row(left if left == right else f"{left} / {right}", pair, *_figures(met))


def _figures(met: Discordant) -> list[str]:
    counts = [f"{met.first}", f"{met.second}"]
    return [f"{met.n:,}", percent(met.difference), f"{met.p:.6f}" if met.n else percent(None), met.stars, *counts]


def _printed(data_set: str) -> list[Row]:
    turns = f"{table('table02')['turns'][data_set]:,}"
    return [
        row(PAPER + one.model, f"{title_of(one.first)} – {title_of(one.second)}", turns, str(one.difference), str(one.p),
            one.stars, str(one.only_first), str(one.only_second))
        for one in differences()
        if one.data_set == data_set
    ]  # fmt: skip
