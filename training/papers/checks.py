"""Checks on figures that papers print: which hold, which contradict others by name, which are wrong."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any


def agrees(printed: Decimal, found: float) -> bool:
    """True when a figure rounds to the printed one: at most half a unit of its last digit away.

    Examples:
        >>> agrees(Decimal("66.7"), 100 * 2 / 3)
        True
    """
    unit = Decimal(1).scaleb(int(printed.as_tuple().exponent))
    return abs(Decimal(found) - printed) <= unit / 2 + Decimal("1e-9")


def whole_number(percent: Decimal, of: int) -> int | None:
    """The count out of `of` that rounds to a printed percentage; None if there is none."""
    nearest = round(percent * of / 100)
    return nearest if agrees(percent, 100 * nearest / of) else None


@dataclass(frozen=True)
class Check:
    """A printed figure and the one that was computed, as texts. `table` is the table's number; `what` names the figure in it."""

    table: int
    what: str
    printed: str
    found: str
    holds: bool


@dataclass(frozen=True)
class Verdict:
    """All checks, sorted. Nothing is `wrong` while the package's metrics are what they were when the exceptions were named."""

    held: tuple[Check, ...]
    known: tuple[tuple[Check, str], ...]
    """Printed figures that contradict others, each with the reason or remark."""
    wrong: tuple[str, ...]
    """Figures that do not hold, and named exceptions that hold or match no check."""


def figure(number: int, what: str, printed: Decimal, found: float) -> Check:
    """Checks that a figure rounds to the printed one."""
    digits = max(-int(printed.as_tuple().exponent), 0)
    return Check(number, what, str(printed), f"{found:.{digits}f}", agrees(printed, found))


def count(number: int, what: str, printed: int, found: int) -> Check:
    """Checks that a count is the printed one."""
    return Check(number, what, f"{printed}", f"{found}", printed == found)


def verdict(checks: Iterable[Check], exceptions: Iterable[Mapping[str, Any]]) -> Verdict:
    """Sorts checks into those that hold, named exceptions, and wrong ones.

    An exception is named by table and figure: a change of a metric cannot hide behind one.
    """
    reasons = {(exception["table"], exception["what"]): exception["why"] for exception in exceptions}
    held, known, wrong = [], [], []
    for check in checks:
        why = reasons.pop((check.table, check.what), None)
        name = f"Table {check.table}, {check.what}: printed {check.printed}, found {check.found}"
        if check.holds and why is None:
            held.append(check)
        elif why is not None and not check.holds:
            known.append((check, why))
        else:
            wrong.append(name if why is None else f"{name}, which holds, and is named as a contradiction")
    wrong += [
        f"Table {number}, {what} is named as a contradiction, and no figure is called so" for number, what in reasons
    ]
    return Verdict(tuple(held), tuple(known), tuple(wrong))
