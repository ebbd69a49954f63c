"""Swaps two values of the evidence: only which of them belongs to the claim then decides.

The words of the evidence stay the same, so nothing but reading tells the true claim from the false one.
"""

from __future__ import annotations

import re

from vista_lab.oasis.rewriters.values import NUMERIC, Value, like_numbers, magnitude

_DATED = {"year", "date", "day", "month_year", "month", "time", "weekday"}


_BOUND = re.compile(
    r"\b(?:(?:less|more|fewer|greater|longer|later|earlier|higher|lower) than|over|under|at least|at most"
    r"|up to|above|below|nearly|almost"
    r"|maximum of|minimum of|as (?:many|much|few) as) $",
    re.IGNORECASE,
)


def loosely_held(before: str, kind: str) -> bool:
    """True if a bound stands before a value, so that another value may be true as well: "by 2015" goes with 2014 too."""
    dated = kind in _DATED and re.search(r"\b(?:by|until|since|before|after|till) $", before, re.IGNORECASE)
    return bool(dated or (kind in NUMERIC and _BOUND.search(before)))


def fits(own: Value, other: Value) -> bool:
    """True if both are of one kind, differ in wording, and are of similar size."""
    one, two = own.text.lower(), other.text.lower()
    if own.kind != other.kind or own.kind in {"name:other", "name:act"} or one in two or two in one:
        return False
    if own.kind == "ordinal" and own.text[0].isdigit() != other.text[0].isdigit():
        return False
    dated = own.kind in {"date", "day", "month_year", "time"}
    if magnitude(one) is not None and magnitude(one) == magnitude(two) and not dated:
        return False
    if own.kind == "measure":
        return own.text.split()[-1].rstrip("s") == other.text.split()[-1].rstrip("s")
    return own.kind not in {"number", "money", "percent"} or like_numbers(own.text, other.text)
