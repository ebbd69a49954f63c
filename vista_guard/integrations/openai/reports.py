"""Reports on the SDK's objects, where neither their JSON nor their comparison shows them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import cast

from vista_guard.types import TurnReport

_REPORTS = "_vista_guard"
_UNJUDGED = "_vista_guard_unjudged"


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


def mark_unjudged(result: object, kinds: Collection[str]) -> None:
    """Puts what passed unjudged on one of the SDK's objects; on a stream, what it is being put into."""
    object.__setattr__(result, _UNJUDGED, kinds)


def unjudged_of(result: object) -> tuple[str, ...]:
    """What of an answer that came through a guarded client was not judged, by design: `tools`, `reasoning`, `citations`, `audio`,
    `structured`.

    Args:
        result: a completion, a response, or a stream, of which more may come until it has ended.
    """
    return tuple(sorted(cast("Collection[str]", getattr(result, _UNJUDGED, None) or ())))


def reports_of(result: object) -> dict[int, TurnReport]:
    """All reports on an answer, by the index of the choice."""
    return cast("dict[int, TurnReport]", getattr(result, _REPORTS, None) or {})
