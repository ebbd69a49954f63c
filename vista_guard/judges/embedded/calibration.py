"""What was measured when the shipped models were made: `judge.json`, and the claim-type head of `heads.npz`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import BadZipFile

from vista_guard.errors import ConfigError
from vista_guard.onnx import WEIGHTS, weights_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SUPPORTED, CONTRADICTED, NOT_ENOUGH = "supported", "contradicted", "not_enough"
FACTUAL, OPINION, ABSTENTION = "factual", "opinion", "abstention"


@dataclass(frozen=True)
class Calibration:
    """How the models' outputs are read. Thresholds are probabilities in [0, 1]."""

    version: str
    labels: tuple[str, ...]
    """Order of the verifier's outputs."""
    type_labels: tuple[str, ...]
    """Order of the claim-type head's outputs."""
    temperature: float
    supported: float
    contradicted: float
    opinion: float
    abstention: float
    max_length: int
    """Most tokens of a pair."""

    @classmethod
    def load(cls, folder: Path = WEIGHTS) -> Calibration:
        """Reads `judge.json`.

        Raises:
            ConfigError: the file is missing, or lacks a field.
        """
        path = weights_file("judge.json", folder)
        try:
            read = json.loads(path.read_text(encoding="utf-8"))
            thresholds = read["thresholds"]
            return cls(
                version=str(read["version"]),
                labels=tuple(read["labels"]),
                type_labels=tuple(read["type_labels"]),
                temperature=float(read["temperature"]),
                supported=float(thresholds["supported"]),
                contradicted=float(thresholds["contradicted"]),
                opinion=float(thresholds["opinion"]),
                abstention=float(thresholds["abstention"]),
                max_length=int(read["max_length"]),
            )
        except (ValueError, KeyError, TypeError) as exc:
            raise ConfigError(
                f"weights file {path} lacks or misspells {exc}. Reinstall: pip install --force-reinstall vista-guard"
            ) from exc

    def probabilities(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Temperature-scaled softmax over `labels`, shape (pairs, 3)."""
        return _softmax(logits / self.temperature)


@dataclass(frozen=True)
class ClaimTypeHead:
    """Two dense layers over the embedding of a claim's text: factual, opinion or abstention."""

    hidden: NDArray[np.float32]
    hidden_bias: NDArray[np.float32]
    output: NDArray[np.float32]
    output_bias: NDArray[np.float32]

    @classmethod
    def load(cls, folder: Path = WEIGHTS) -> ClaimTypeHead:
        """Reads `heads.npz`.

        Raises:
            ConfigError: the file is missing or damaged.
        """
        import numpy as np

        path = weights_file("heads.npz", folder)
        try:
            with np.load(path, allow_pickle=False) as arrays:
                return cls(arrays["type_W1"], arrays["type_b1"], arrays["type_W2"], arrays["type_b2"])
        except (OSError, ValueError, KeyError, BadZipFile) as exc:
            raise ConfigError(
                f"weights file {path} cannot be read ({exc}). Reinstall: pip install --force-reinstall vista-guard"
            ) from exc

    def probabilities(self, vectors: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probabilities of the claim types, shape (claims, types)."""
        import numpy as np

        hidden = np.maximum(vectors @ self.hidden + self.hidden_bias, 0.0)
        return _softmax(hidden @ self.output + self.output_bias)


def _softmax(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: NDArray[np.float32] = powers / powers.sum(axis=-1, keepdims=True)
    return result
