"""Roll-ups as lines over time. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from vista_guard.stores.reports import Maker, Rollup, Summary, TurnCount, percentile
from vista_guard.stores.reports.rollups import Step
from vista_guard.stores.reports.tables import BOUNDS_MS
from vista_guard.types import UNCHECKED

LENGTH: Final[dict[Step, timedelta]] = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": timedelta(days=1),
}

ABSENT: Final[dict[Step, timedelta]] = {
    "minute": timedelta(days=1),
    "hour": timedelta(days=1),
    "day": timedelta(days=3),
}
"""A judge or a policy that returns after this long without turns counts as a change."""

PERCENTILES: Final = (0.5, 0.95, 0.99)


class Point(NamedTuple):
    """A count of one kind in a period."""

    at: datetime
    until: datetime
    name: str
    value: float


class Value(NamedTuple):
    """A figure of a period."""

    at: datetime
    name: str
    value: float


class Change(NamedTuple):
    """A new or returning judge or policy. `what` is judge or policy; `rules` the policy's fingerprint."""

    at: datetime
    what: str
    name: str
    tenant: str


@dataclass(frozen=True)
class Sums:
    """Totals of a period. Shares lie in [0, 1]; None without a total."""

    turns: int
    actions: Counter[str]
    claims: int
    unchecked: int
    evidence_missing: int
    p95_ms: float | None
    score: float | None = None
    cost: float = 0.0
    tokens: int = 0
    unpriced: int = 0
    failures: Mapping[str, int] = field(default_factory=dict)
    """By part, as in `types.PartFailure`."""

    def share(self, action: str) -> float | None:
        """The share of turns with this action."""
        return self.actions[action] / self.turns if self.turns else None

    @property
    def unchecked_share(self) -> float | None:
        """The share of claims that could not be judged."""
        return self.unchecked / self.claims if self.claims else None


def sums(rollup: Rollup) -> Sums:
    """Adds up the roll-up."""
    actions: Counter[str] = Counter()
    for row in rollup.turns:
        actions[row.action] += row.turns
    broken: Counter[str] = Counter()
    for failure in rollup.failures:
        broken[failure.part] += failure.failures
    scored = sum(row.scored for row in rollup.turns)
    return Sums(
        turns=sum(actions.values()),
        actions=actions,
        claims=sum(row.claims for row in rollup.claims),
        unchecked=sum(row.claims for row in rollup.claims if row.label == UNCHECKED),
        evidence_missing=sum(row.evidence_missing for row in rollup.turns),
        score=sum(row.score_sum for row in rollup.turns) / scored if scored else None,
        p95_ms=percentile(_latency(rollup.turns), 0.95),
        cost=sum(row.cost for row in rollup.turns),
        tokens=sum(row.input_tokens + row.output_tokens for row in rollup.turns),
        unpriced=sum(row.unpriced_calls for row in rollup.turns),
        failures=broken,
    )


def of_summary(summary: Summary) -> Sums:
    """Totals of some minutes, without scores and costs, which their rows lack."""
    return Sums(
        turns=summary.turns,
        actions=Counter(summary.actions),
        claims=sum(summary.claims.values()),
        unchecked=summary.claims.get(UNCHECKED, 0),
        evidence_missing=summary.evidence_missing,
        p95_ms=percentile(summary.latency, 0.95),
        failures=summary.failures,
    )


def actions(rollup: Rollup, step: Step) -> list[Point]:
    """Turns by action."""
    return _points(((row.at, row.action, row.turns) for row in rollup.turns), step)


def labels(rollup: Rollup, step: Step) -> list[Point]:
    """Claims by label, `UNCHECKED` among them."""
    return _points(((row.at, row.label, row.claims) for row in rollup.claims), step)


def failures(rollup: Rollup, step: Step) -> list[Point]:
    """Failures by part."""
    return _points(((row.at, row.part, row.failures) for row in rollup.failures), step)


def tokens(rollup: Rollup, step: Step) -> list[Point]:
    """Tokens that the judge read and wrote."""
    read = ((row.at, "input", row.input_tokens) for row in rollup.turns)
    written = ((row.at, "output", row.output_tokens) for row in rollup.turns)
    return _points((one for many in (read, written) for one in many if one[2]), step)


def cost(rollup: Rollup, step: Step) -> list[Point]:
    """US dollars, of the calls whose price is known."""
    return _points(((row.at, "cost", row.cost) for row in rollup.turns if row.cost), step)


def score(rollup: Rollup) -> list[Value]:
    """Mean VISTA score of the judged turns, and the share of turns without evidence."""
    values = []
    for at, rows in _by_time(rollup.turns):
        scored, turns = sum(row.scored for row in rows), sum(row.turns for row in rows)
        if scored:
            values.append(Value(at, "score", sum(row.score_sum for row in rows) / scored))
        if turns:
            values.append(Value(at, "no evidence", sum(row.evidence_missing for row in rows) / turns))
    return values


def latency(rollup: Rollup) -> list[Value]:
    """Median, 95th and 99th percentile of the turns' milliseconds."""
    return [
        Value(at, f"p{100 * share:g}", value)
        for at, rows in _by_time(rollup.turns)
        for share in PERCENTILES
        if (value := percentile(_latency(rows), share)) is not None
    ]


def slowest_known(values: Iterable[Value]) -> bool:
    """True when a percentile reached the last bound and may be larger."""
    return any(value.value >= BOUNDS_MS[-1] for value in values)


def reasons(rollup: Rollup) -> list[tuple[str, int]]:
    """Counts the reasons for unjudged claims, the most frequent first."""
    counts: Counter[str] = Counter()
    for row in rollup.unchecked:
        counts[row.reason] += row.claims
    return counts.most_common()


def changes(makers: Iterable[Maker], step: Step) -> list[Change]:
    """Judges and policies that are new or return; those there from the start are no change.

    Tenants are compared separately: a policy new to one is a change even if another has it already.
    """
    last_seen: dict[tuple[str, str, str], datetime] = {}
    first: dict[str, datetime] = {}
    arrivals: set[Change] = set()
    for row in sorted(makers, key=lambda row: row.at):
        begun = first.setdefault(row.tenant, row.at)
        for what, name in (("judge", row.judge), ("policy", _policy(row))):
            last = last_seen.get((row.tenant, what, name))
            if row.at > begun and (last is None or row.at - last > ABSENT[step]):
                arrivals.add(Change(row.at, what, name, row.tenant))
            last_seen[row.tenant, what, name] = row.at
    return sorted(arrivals)


def _policy(row: Maker) -> str:
    return f"{row.policy} ({row.rules[:8]})" if row.rules else row.policy


def _points(rows: Iterable[tuple[datetime, str, float]], step: Step) -> list[Point]:
    counts: dict[tuple[datetime, str], float] = defaultdict(float)
    for at, name, count in rows:
        counts[at, name] += count
    return [Point(at, at + LENGTH[step], name, count) for (at, name), count in sorted(counts.items())]


def _by_time(rows: Sequence[TurnCount]) -> Iterator[tuple[datetime, list[TurnCount]]]:
    groups: dict[datetime, list[TurnCount]] = defaultdict(list)
    for row in rows:
        groups[row.at].append(row)
    yield from sorted(groups.items())


def _latency(rows: Iterable[TurnCount]) -> list[int]:
    return [sum(counts) for counts in zip(*(row.latency for row in rows), strict=True)]
