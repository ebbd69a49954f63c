"""A verifier made of two: one that verifies, and one that may object."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vista_guard.judges.verifiers.closing import close
from vista_guard.judges.verifiers.labels import COLUMNS
from vista_guard.protocols import Verifier

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SUPPORTED, CONTRADICTED, NOT_ENOUGH = range(len(COLUMNS))


class VetoedVerifier:
    """Implements `Verifier`: evidence supports a claim as far as both say so; contradiction is the first one's word.

    Made for token-level detectors such as LettuceDetect, which see a single wrong word that a judgement of the whole claim
    passes over. What the second one does not grant becomes "not enough".

    Example:
        `VetoedVerifier(verifier, LocalVerifier.load("hf:KRLabsOrg/lettucedect-base-modernbert-en-v1"))`
    """

    def __init__(self, first: Verifier, veto: Verifier) -> None:
        self._first = first
        self._veto = veto
        self.name = f"veto:{first.name},{veto.name}"

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """See `Verifier.probabilities`."""
        import numpy as np

        found = np.array(self._first.probabilities(pairs), np.float32)
        granted = np.minimum(found[:, SUPPORTED], self._veto.probabilities(pairs)[:, SUPPORTED])
        found[:, NOT_ENOUGH] += found[:, SUPPORTED] - granted
        found[:, SUPPORTED] = granted
        return found

    async def aclose(self) -> None:
        """Closes both."""
        await close(self._first, self._veto)


class SplitVerifier:
    """Implements `Verifier`: the first one says what is supported, the second what of the rest is contradicted.

    Most fact-checking models tell supported from not supported alone, so that nothing would ever be CONTRADICTED, and no
    policy that blocks contradictions would block.
    """

    def __init__(self, support: Verifier, contradiction: Verifier) -> None:
        self._support = support
        self._contradiction = contradiction
        self.name = f"split:{support.name},{contradiction.name}"

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """See `Verifier.probabilities`."""
        import numpy as np

        supported = self._support.probabilities(pairs)[:, SUPPORTED]
        other = self._contradiction.probabilities(pairs)
        against, unknown = other[:, CONTRADICTED], other[:, NOT_ENOUGH]
        share = against / np.maximum(against + unknown, 1e-9)
        rest = 1.0 - supported
        return np.stack([supported, rest * share, rest * (1.0 - share)], axis=1).astype(np.float32)

    async def aclose(self) -> None:
        """Closes both."""
        await close(self._support, self._contradiction)
