"""How an answer begins: one that says nothing is no turn and is not judged, and that shows only at its first word."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from vista_guard.stream.delivery import MOST_HELD
from vista_guard.stream.source import Delta, Passed


class Opening:
    """An answer up to its first word, and the rest.

    Args:
        deltas: the answer.
        hold: keeps what is no text back too, until something binding comes: another answer may take this one's place.
    """

    def __init__(self, deltas: AsyncGenerator[Delta, None], *, hold: bool) -> None:
        self.spoken = False
        """Whether there is a word."""
        self._deltas = deltas
        self.hold = hold
        """Whether another answer may still take this one's place."""
        self._begun: list[Delta] = []

    async def before_text(self) -> AsyncGenerator[str | Passed, None]:
        """What may go out before the first word; all of it, when there is none."""
        async for delta in self._deltas:
            self._begun.append(delta)
            if isinstance(delta, str) and delta.strip():
                self.spoken = True
                return
            binding = isinstance(delta, Passed) and delta.binding
            self.hold = self.hold and not binding and len(self._begun) < MOST_HELD
            for passed in [] if self.hold else self._take():
                yield passed
        for delta in self._begun:
            if isinstance(delta, str | Passed) and delta != "":
                yield delta

    async def rest(self) -> AsyncGenerator[Delta, None]:
        """The answer, without what went out. Closing it closes the answer."""
        try:
            for delta in self._begun:
                yield delta
            async for delta in self._deltas:
                yield delta
        finally:
            await self._deltas.aclose()

    def _take(self) -> list[Passed]:
        passed = [delta for delta in self._begun if isinstance(delta, Passed)]
        self._begun = [delta for delta in self._begun if not isinstance(delta, Passed)]
        return passed
