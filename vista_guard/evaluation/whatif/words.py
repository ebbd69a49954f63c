"""What two policies side by side come to, and what they can't tell, in words: the same on a page, in a report, on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from vista_guard.evaluation.metrics.intervals import Share
from vista_guard.evaluation.whatif.comparison import Comparison
from vista_guard.policy.turn_risk import TurnRisk
from vista_guard.types import JudgeInfo

AGREEMENTS: Final = {
    "alarms": ("alarms that are right", "of the turns that are flagged, repaired or blocked"),
    "withheld": ("withheld rightly", "of the turns that are repaired or blocked"),
    "false_alarms": ("fine turns withheld", "of the turns that people call fine"),
    "missed": ("bad turns let through unmarked", "of the turns that people call not fine"),
}
"""Shares of `Agreement`: what each is called, and what it is a share of."""

NOBODY: Final = "Without that nobody knows which policy is right more often."

UNLABELLED: Final = f"No turn of this log has a person's word. {NOBODY}"

CENSORED: Final = (
    "of the turns that the {name} policy delivers were streamed, and ended at their first withheld sentence: what would have "
    "come behind it was never judged. These turns are censored, and the policy may look better than it is."
)
UNKNOWN_GATE: Final = (
    "withheld turns are from older versions, which don't say whether they were streamed: they may be censored too."
)
MEMORY: Final = (
    "turns rest on knowledge from a turn that one policy delivers and the other withholds. Without it they would have been "
    "judged differently: memory cannot be replayed."
)
REWRITTEN: Final = (
    "turns were written anew then. Policies decide on the first draft here; what a new draft would have brought cannot be "
    "simulated."
)
REPAIRS: Final = "A repair is counted as asked for. Whether it would have succeeded is not known."

STREAMED: Final = (
    "The turns were judged whole, as they were said. Streamed sentence by sentence, a turn that is withheld here would have "
    "ended at its first withheld sentence, with those before it read already."
)
ONWARDS: Final = (
    "The conversations went on after what was said then. What users would have said to a blocked or repaired turn is not "
    "known."
)


def limits(found: Comparison, names: Sequence[str]) -> list[str]:
    """What these turns cannot tell, each with how many it is about."""
    cuts = [counted(it.cut_short, CENSORED.format(name=name)) for it, name in zip(found.totals, names, strict=True)]
    told = [
        *cuts,
        counted(found.gate_unknown, UNKNOWN_GATE),
        counted(found.leaning, MEMORY),
        counted(found.rewritten, REWRITTEN),
    ]
    return [one for one in told if one]


def counted(count: int, text: str) -> str | None:
    """The text with its count; None for nothing."""
    return f"{count:,} {text}" if count else None


def unfitted(fits: Mapping[JudgeInfo, TurnRisk | None]) -> str | None:
    """Which judges have no risk; None when all have one."""
    without = ", ".join(f"{judge.name} {judge.version}" for judge, fit in fits.items() if fit is None)
    if not without:
        return None
    return f"No risk was fitted for {without}: risks that are taken as fitted decide nothing for their turns."


def share(found: Share | None) -> str:
    """A share with its interval and its counts."""
    if found is None:
        return "–"
    return (
        f"{100 * found.value:.0f} %  ({100 * found.low:.0f} to {100 * found.high:.0f} %; {found.hits:,} of {found.n:,})"
    )


def joined(told: Iterable[str | None]) -> list[str]:
    """What there is of it."""
    return [one for one in told if one]
