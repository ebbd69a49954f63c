"""The shipped verifier: a cross-encoder over evidence and claim, with its temperature."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vista_guard.inference.onnx import WEIGHTS, Encoder, shared_encoder
from vista_guard.judges.embedded import calibration
from vista_guard.judges.embedded.calibration import Calibration

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SUPPORTED, CONTRADICTED, NOT_ENOUGH = range(3)
"""Columns of what a verifier answers."""


class ShippedVerifier:
    """Implements `Verifier` with the model of `verifier.onnx`."""

    name = "shipped"

    def __init__(self, encoder: Encoder, limits: Calibration) -> None:
        self._encoder = encoder
        self._limits = limits
        names = (calibration.SUPPORTED, calibration.CONTRADICTED, calibration.NOT_ENOUGH)
        self._columns = [limits.labels.index(name) for name in names]

    @classmethod
    def load(cls, limits: Calibration, folder: Path = WEIGHTS) -> ShippedVerifier:
        """The verifier of a weights folder; that of the package is loaded once a process.

        Raises:
            ConfigError: a file is missing or damaged.
        """
        if folder == WEIGHTS:
            return cls(shared_encoder("verifier", limits.max_length), limits)
        return cls(Encoder.load("verifier", max_length=limits.max_length, folder=folder), limits)

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """See `Verifier.probabilities`."""
        rows: NDArray[np.float32] = self._limits.probabilities(self._encoder.run(pairs))[:, self._columns]
        return rows
