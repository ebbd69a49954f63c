"""What judging a turn costs, told by whoever spends it, without every method on the way passing it on.

The graph measures each stage; a judge that calls a model says what it used. Tasks and threads that a stage starts
through asyncio inherit its meter.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

from vista_guard.types import Usage


class Meter:
    """Adds up what a turn used so far. Safe to share between threads."""

    def __init__(self, so_far: Usage | None = None) -> None:
        self._usage = so_far or Usage()
        self._warnings: dict[str, None] = {}
        self._lock = Lock()

    @property
    def usage(self) -> Usage:
        """All that was used so far, with what the meter began with."""
        return self._usage

    @property
    def warnings(self) -> tuple[str, ...]:
        """What to tell in the report, each once."""
        return tuple(self._warnings)

    def add(self, spent: Usage) -> None:
        """Counts what was used."""
        with self._lock:
            self._usage = self._usage + spent

    def warn(self, text: str) -> None:
        """Says something about the turn in its report, once."""
        with self._lock:
            self._warnings[text] = None


_current: ContextVar[Meter | None] = ContextVar("vista_guard_meter", default=None)


@contextmanager
def measured(so_far: Usage | None = None) -> Iterator[Meter]:
    """Whatever is spent inside goes to the meter that this yields, and to no meter outside."""
    meter = Meter(so_far)
    token = _current.set(meter)
    try:
        yield meter
    finally:
        _current.reset(token)


def meter() -> Meter:
    """The meter of the turn that is being judged; one that nobody reads, outside of any turn."""
    return _current.get() or Meter()


class Echo(Meter):
    """Tells the meter around it everything, at once, and remembers what it was told itself."""

    def __init__(self, around: Meter) -> None:
        super().__init__()
        self._around = around
        self.spent = Usage()

    @property
    def usage(self) -> Usage:
        # What a turn may still spend is told by all that it spent, not by this call.
        return self._around.usage

    def add(self, spent: Usage) -> None:
        with self._lock:
            self.spent = self.spent + spent
        self._around.add(spent)

    def warn(self, text: str) -> None:
        super().warn(text)
        self._around.warn(text)


@contextmanager
def overheard() -> Iterator[Echo]:
    """What is spent and warned of inside, told to the meter outside as ever, and to the one that this yields."""
    echo = Echo(meter())
    token = _current.set(echo)
    try:
        yield echo
    finally:
        _current.reset(token)
