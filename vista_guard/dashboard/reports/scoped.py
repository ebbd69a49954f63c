"""Reports as one viewer may see them. The only way from a page to the store: what is not theirs does not come out of here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from vista_guard._aio import loop
from vista_guard.dashboard.people import Viewer
from vista_guard.dashboard.reports.turns import GuardedTurn, without_withheld
from vista_guard.dashboard.settings import Permission
from vista_guard.stores.reports import SqlReports
from vista_guard.types import TurnReport

PAGE = 50


@dataclass(frozen=True)
class Listed:
    """A conversation in a list."""

    id: str
    turns: int
    last: datetime


class ScopedReports:
    """A viewer's reports."""

    def __init__(self, store: SqlReports, viewer: Viewer) -> None:
        self._store, self._viewer = store, viewer

    def newest(self) -> Sequence[TurnReport]:
        found = loop.run(self._store.reports(limit=PAGE))
        return tuple(self._turn(one).report for one in reversed(found))

    def turn(self, name: str) -> GuardedTurn | None:
        found = loop.run(self._store.reports(limit=1000))
        return next((self._turn(one) for one in found if one.id == name), None)

    def conversation(self, name: str) -> Sequence[GuardedTurn]:
        return tuple(map(self._turn, loop.run(self._store.reports(name))))

    def _turn(self, report: TurnReport) -> GuardedTurn:
        import os
        texts = None
        if os.environ.get("DEV"):
            import json
            from vista_guard.types import TurnTexts
            d = json.loads(open(os.environ["DEV"]).read())
            if report.id in d: texts = TurnTexts.model_validate(d[report.id])
        turn = GuardedTurn(report, texts)
        return turn if self._viewer.allows(Permission.DRAFTS) else without_withheld(turn)
