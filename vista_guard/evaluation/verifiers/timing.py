"""What a verifier costs: pairs of evidence and claim, and seconds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vista_guard.protocols import Verifier

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class TimedVerifier:
    """Implements `Verifier`: another one, with its pairs counted and its seconds added up."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self.name = verifier.name
        self.pairs = 0
        self.seconds = 0.0

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """See `Verifier.probabilities`."""
        started = time.perf_counter()
        found = self._verifier.probabilities(pairs)
        self.seconds += time.perf_counter() - started
        self.pairs += len(pairs)
        return found

    @property
    def milliseconds(self) -> float | None:
        """A pair's, on average; None before the first."""
        return 1000 * self.seconds / self.pairs if self.pairs else None

    async def aclose(self) -> None:
        """Closes the verifier."""
        from vista_guard.judges.verifiers.closing import close

        await close(self._verifier)
