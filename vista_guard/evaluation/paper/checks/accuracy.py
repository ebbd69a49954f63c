"""Accuracies and their differences: Tables 2, 4 and 8 to 11."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from vista_guard.evaluation.metrics.significance import NOT_SIGNIFICANT, Discordant, stars
from vista_guard.evaluation.paper.checks.check import Check, count, figure
from vista_guard.evaluation.paper.printed import (
    SYSTEMS,
    Difference,
    accuracies,
    differences,
    table,
    whole_number,
)

SHORT = {"factscore": "f", "llm-judge": "l"}
"""A system in Table 2's superscripts. Nothing is marked as better than VISTA."""


def whole_counts() -> Iterator[Check]:
    """Table 2: a percentage of so many turns is a whole number of them, where no turn was dropped."""
    turns = table("table02")["turns"]
    for data_set, model, system, value, _ in accuracies():
        n = turns[data_set]
        found = whole_number(value, n)
        said = f"{round(value * n / 100)} of {n}" if found is None else f"{found} of {n}"
        yield Check(2, f"{data_set}, {model}, {SYSTEMS[system]}", f"{value}", said, found is not None)


def superscripts() -> Iterator[Check]:
    """Table 2's superscripts from the p-values of Tables 8 to 11."""
    better = marks()
    for data_set, model, system, _, mark in accuracies():
        if system in ("vista", *SHORT):
            found = better[data_set, model, system]
            what = f"superscript of {data_set}, {model}, {SYSTEMS[system]}"
            yield Check(2, what, mark or "none", found or "none", mark == found)


def marks() -> dict[tuple[str, str, str], str]:
    """The superscripts that follow: by data set, model and system the systems that it is better than, significantly."""
    found: dict[tuple[str, str, str], str] = defaultdict(str)
    for one in differences():
        if stars(float(one.p)) != NOT_SIGNIFICANT:
            winner, loser = (one.first, one.second) if one.difference > 0 else (one.second, one.first)
            found[one.data_set, one.model, winner] += SHORT.get(loser, "")
    return defaultdict(str, {key: "†" if len(mark) == 2 else mark for key, mark in found.items()})


def significance() -> Iterator[Check]:
    """Tables 8 to 11: p from the discordant pairs, stars from the printed p, differences from Table 2."""
    known = {(data_set, model, system): value for data_set, model, system, value, _ in accuracies()}
    rows = list(differences())
    for one in rows:
        yield figure(one.number, f"p of {one.row}", one.p, Discordant(one.only_first, one.only_second, 0).p)
        yield Check(one.number, f"stars of {one.row}", one.stars, stars(float(one.p)), one.stars == stars(float(one.p)))
        found = known[one.data_set, one.model, one.first] - known[one.data_set, one.model, one.second]
        yield Check(one.number, f"difference of {one.row}", f"{one.difference}", f"{found}", one.difference == found)
    significant = sum(one.stars != NOT_SIGNIFICANT for one in rows)
    yield count(2, "section 6.1: significant differences (all, of 96)", len(rows), significant)
    yield count(8, "differences that their discordant pairs give (of 96)", len(rows), sum(map(_from_pairs, rows)))
    same = sum((one.only_first - one.only_second) * one.difference >= 0 for one in rows)
    yield count(8, "differences whose sign their discordant pairs have (of 96)", len(rows), same)


def _from_pairs(one: Difference) -> bool:
    # A difference of two percentages that were rounded to hundredths may be a hundredth off.
    n: int = table("table02")["turns"][one.data_set]
    return abs(100 * (one.only_first - one.only_second) / n - float(one.difference)) < 0.0101


def ablations() -> Iterator[Check]:
    """Table 4: whole numbers of FaithDial's turns."""
    printed = table("table04")
    n = printed["turns"]
    for system, value in printed["settings"].items():
        found = whole_number(value, n)
        said = f"{round(value * n / 100)} of {n}"
        yield Check(4, printed["names"][system], f"{value}", said, found is not None)
