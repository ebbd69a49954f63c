"""What a run and a turn may spend."""

from __future__ import annotations

from threading import Lock

from vista_guard.errors import BudgetError
from vista_guard.settings.model import BudgetOptions, Spend
from vista_guard.types import Usage


class Budget:
    """Adds up what a run spends and says when it, or a turn, may spend no more. Safe to share between threads."""

    def __init__(self, limits: BudgetOptions) -> None:
        self._limits = limits
        self._spent = Usage()
        self._lock = Lock()

    @property
    def spent(self) -> Usage:
        """What the run used so far."""
        return self._spent

    @property
    def why_exhausted(self) -> str | None:
        """Why the run may make no further call, and what to do; None while it may."""
        return _why_over("run", self._limits.run, self._spent)

    def add(self, spent: Usage) -> None:
        """Counts what was used."""
        with self._lock:
            self._spent = self._spent + spent

    def check(self, turn: Usage) -> None:
        """Lets a call through or not, given what its turn used so far.

        Raises:
            BudgetError: the run's or the turn's budget is spent; says which and how to raise it.
        """
        why = self.why_exhausted or _why_over("turn", self._limits.turn, turn)
        if why is not None:
            raise BudgetError(why)


def _why_over(whose: str, limits: Spend, spent: Usage) -> str | None:
    tokens = spent.input_tokens + spent.output_tokens
    if limits.calls is not None and spent.calls >= limits.calls:
        return _spent(whose, "calls", f"{limits.calls} calls", f"{spent.calls} made")
    if limits.tokens is not None and tokens >= limits.tokens:
        return _spent(whose, "tokens", f"{limits.tokens} tokens", f"{tokens} used")
    if limits.cost is not None and spent.cost >= limits.cost:
        return _spent(whose, "cost", f"${limits.cost:g}", f"${spent.cost:.4g} used")
    return None


def _spent(whose: str, field: str, limit: str, used: str) -> str:
    return f"the {whose}'s budget of {limit} is spent ({used}); raise budget.{whose}.{field} to go on"
