"""Who judges next: the places of a cluster's workers, taken and given back. Knows nothing of Ray."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass
from typing import Any


@dataclass(eq=False)
class Slot:
    """A worker's seat. When its worker is lost, another one takes it.

    `share` is what its workers may spend in all, in US dollars, `spent` what their reports say they did.
    """

    number: int
    actor: Any = None
    share: float | None = None
    spent: float = 0.0
    why_retired: str | None = None
    """Why nobody sits here any more: what its workers may spend is spent."""
    why_lost: str | None = None
    """Why nobody sits here any more: no worker could take the place of a lost one."""
    away: bool = False
    """Whether the worker that sits here is still to come. Others judge until it is there."""

    @property
    def closed(self) -> bool:
        """Whether nobody sits here any more."""
        return self.why_retired is not None or self.why_lost is not None

    @property
    def left(self) -> float | None:
        """What a worker that takes the seat now may spend."""
        return None if self.share is None else max(self.share - self.spent, 0.0)


class Places:
    """Each slot has as many places as a worker judges conversations at once. All are handed out in turn."""

    def __init__(self, slots: list[Slot], each: int) -> None:
        self.slots = slots
        self._free = deque(slot for _ in range(each) for slot in slots)
        self._changed = asyncio.Condition()

    @property
    def why_exhausted(self) -> str | None:
        """Why no slot is left, when what there was to spend is; None while one is left."""
        reasons = (slot.why_retired for slot in self.slots)
        return next(filter(None, reasons), None) if self._all_closed else None

    @property
    def why_lost(self) -> str | None:
        """Why no slot is left, when workers are lost and nothing else ended it; None while one is left."""
        if not self._all_closed or self.why_exhausted is not None:
            return None
        return next(filter(None, (slot.why_lost for slot in self.slots)), None)

    @property
    def _all_closed(self) -> bool:
        return all(slot.closed for slot in self.slots)

    async def take(self) -> Slot | None:
        """The next free place, waited for; None when no slot is left."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._next() is not None or self._all_closed)
            slot = self._next()
            if slot is not None:
                self._free.remove(slot)
            return slot

    async def give_back(self, slot: Slot) -> None:
        """Frees the place, and wakes those who wait."""
        async with self._changed:
            self._free.append(slot)
            self._changed.notify_all()

    async def arrived(self, slot: Slot) -> None:
        """The worker that was away is there, or will never be."""
        async with self._changed:
            slot.away = False
            self._changed.notify_all()

    def _next(self) -> Slot | None:
        return next((slot for slot in self._free if not slot.away and not slot.closed), None)
