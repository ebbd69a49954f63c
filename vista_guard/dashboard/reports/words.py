"""People's word on turns and claims, for the turns that one viewer may see."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from vista_guard.evaluation.comparing.gold import Gold, GoldTurn, read_gold
from vista_guard.evaluation.whatif.cases import Case

NOTHING: Mapping[tuple[str, int], GoldTurn] = {}


class Words:
    """What people said, from the file of labels that the dashboard was given.

    It is asked about turns that the viewer was shown: what it knows of others is never listed.
    """

    def __init__(self, labels: Path | None = None) -> None:
        self._labels = labels

    @property
    def gold(self) -> Gold:
        """All of it.

        Raises:
            InputError: the file cannot be read.
        """
        return NOTHING if self._labels is None else _read(self._labels, self._labels.stat().st_mtime_ns)

    def fine(self, cases: Iterable[Case]) -> dict[str, bool]:
        """By report id, whether a turn should have been delivered as it was; without those that nobody spoke of."""
        gold = self.gold
        if not gold:
            return {}
        known = ((case, gold.get((case.conversation_id or "", case.turn_index))) for case in cases)
        said = {case.report_id: turn.verdict(case.outcomes) for case, turn in known if turn is not None}
        return {report: word for report, word in said.items() if word is not None}


@cache
def _read(path: Path, _changed: int) -> Gold:
    return read_gold(path)
