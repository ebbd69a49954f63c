"""Live's figures, as they are counted: the last minutes from the turns' rows, a week ago from the roll-ups."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from vista_guard.dashboard.pages.live.tiles import Counts
from vista_guard.dashboard.parts.filters import Filters
from vista_guard.dashboard.parts.labels import UNCHECKED
from vista_guard.dashboard.reports.scoped import ScopedReports
from vista_guard.stores.reports import Rollup, Summary, percentile
from vista_guard.types import Action

MINUTES: Final = 5
WEEK: Final = timedelta(days=7)
HOUR: Final = timedelta(hours=1)


def now_and_then(reports: ScopedReports, filters: Filters, now: datetime | None = None) -> tuple[Counts, Counts]:
    """The last five minutes, and the same hour of the day a week ago."""
    moment = now or datetime.now(UTC)
    hour = (moment - WEEK).replace(minute=0, second=0, microsecond=0)
    return (
        of_summary(reports.summary(filters, moment - timedelta(minutes=MINUTES))),
        of_rollup(reports.rollup(filters, hour, hour + HOUR)),
    )


def of_summary(found: Summary) -> Counts:
    """Counts of minutes."""
    return Counts(
        minutes=MINUTES,
        turns=found.turns,
        actions=tuple((action, found.actions.get(action, 0)) for action in Action),
        claims=sum(found.claims.values()),
        unchecked=found.claims.get(UNCHECKED, 0),
        p95_ms=percentile(found.latency, 0.95),
    )


def of_rollup(found: Rollup) -> Counts:
    """Counts of an hour."""
    latency = [sum(buckets) for buckets in zip(*(one.latency for one in found.turns), strict=True)]
    return Counts(
        minutes=60,
        turns=sum(one.turns for one in found.turns),
        actions=tuple((action, sum(one.turns for one in found.turns if one.action == action)) for action in Action),
        claims=sum(one.claims for one in found.claims),
        unchecked=sum(one.claims for one in found.claims if one.label == UNCHECKED),
        p95_ms=percentile(latency, 0.95),
    )
