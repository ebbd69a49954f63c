"""Reports on the SDK's objects, where neither their JSON nor their comparison shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from vista_guard.types import TurnReport

_REPORTS = "_vista_guard"


def mark(result: object, reports: Mapping[int, TurnReport]) -> None:
    """Puts the reports on one of the SDK's objects."""
    object.__setattr__(result, _REPORTS, dict(reports))


def report_of(result: object, choice: int = 0) -> TurnReport | None:
    """The report on an answer that came through a guarded client; None when nothing in it was judged.

    Args:
        result: a completion, a response, a stream that has ended, or the chunk or event that ended it.
        choice: index of the choice; of a response, place of the text part among its texts.
    """
    return reports_of(result).get(choice)


def reports_of(result: object) -> dict[int, TurnReport]:
    """All reports on an answer, by the index of the choice."""
    return cast("dict[int, TurnReport]", getattr(result, _REPORTS, None) or {})
