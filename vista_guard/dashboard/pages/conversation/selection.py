"""Which turn and which claim are open, as the address says."""

from __future__ import annotations

from dataclasses import dataclass

from vista_guard.dashboard.parts import address
from vista_guard.dashboard.parts.tree import Act
from vista_guard.dashboard.reports.turns import GuardedTurn
from vista_guard.types import Outcome


@dataclass(frozen=True)
class Selected:
    """A turn by its report's id, a claim of it by its id, and which of its drafts that is of: None for the last."""

    turn: str | None = None
    claim: str | None = None
    draft: int | None = None

    def is_(self, turn: str, claim: str, draft: int | None) -> bool:
        """Whether this claim is the open one."""
        return (self.turn, self.claim, self.draft) == (turn, claim, draft)

    def outcome(self, turn: GuardedTurn) -> Outcome | None:
        """The open claim's outcome; None when there is none of that id."""
        outcomes = turn.report.outcomes
        if self.draft is not None:
            drafts = turn.report.attempts
            outcomes = drafts[self.draft - 1].outcomes if 1 <= self.draft <= len(drafts) else ()
        return next((one for one in outcomes if one.claim.id == self.claim), None)


def selected() -> Selected:
    """What the address says. A claim that it names badly is none."""
    claim = address.read(address.CLAIM) or ""
    draft, colon, rest = claim.partition(":")
    if colon and draft.isdecimal():
        return Selected(address.read(address.TURN), rest or None, int(draft))
    return Selected(address.read(address.TURN), claim or None)


def claim_act(turn: str, claim: str, draft: int | None) -> Act:
    """Opens a claim."""
    return Act("claim", f"{turn} {claim if draft is None else f'{draft}:{claim}'}")


def follow(act: Act) -> bool:
    """Writes what was pressed into the address; False when it was something else."""
    if act.name == "claim":
        turn, _, claim = act.value.partition(" ")
        address.write(turn=turn, claim=claim)
    elif act.name == "turn":
        address.write(turn=act.value, claim=None)
    elif act.name == "close":
        address.write(claim=None)
    else:
        return False
    return True
