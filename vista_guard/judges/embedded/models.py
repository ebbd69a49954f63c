"""The shipped verifier, its calibration (`judge.json`) and the claim-type head (`heads.npz`)."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

from vista_guard.inference.onnx import Encoder, shared_encoder
from vista_guard.inference.weights import WEIGHTS, damaged, weights_file

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


FACTUAL, OPINION, ABSTENTION = "factual", "opinion", "abstention"


@dataclass(frozen=True)
class ReaderFit:
    """Which claims the careful reader reads again, and how the two readers' probabilities become one.

    The combined log odds are a weighted sum, fitted over conversations: `quick` and `careful` are the weights of the log
    probabilities, `bias` is added by label (supported, contradicted, not enough).
    """

    open_from: float
    """Quick support below which a claim without it is settled."""
    open_to: float
    """Quick support above which a claim is settled."""
    quick: float
    careful: float
    bias: tuple[float, float, float]
    supported: float
    """Least combined probability that confirms a claim."""
    contradicted: float
    """Least combined probability that contradicts a claim: right in three of four."""
    max_length: int
    """Most tokens of a pair."""

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> ReaderFit:
        """From `judge.json`'s field `reader`."""
        first, second, third = map(float, fields["bias"])
        names = ("open_from", "open_to", "quick", "careful", "supported", "contradicted")
        numbers = {name: float(fields[name]) for name in names}
        return cls(**numbers, bias=(first, second, third), max_length=int(fields["max_length"]))

    def is_open(self, support: float) -> bool:
        """True if a claim with this quick support is read again."""
        return self.open_from <= support <= self.open_to

    def combine(self, quick: NDArray[np.float32], careful: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probabilities by label, of each reader's probabilities by label; shapes (…, 3)."""
        import numpy as np

        logs = self.quick * np.log(quick.clip(_LEAST)) + self.careful * np.log(careful.clip(_LEAST))
        return softmax(logs + np.array(self.bias, np.float32))


_LEAST = 1e-6


@dataclass(frozen=True)
class Calibration:
    """Settings for reading the models' outputs. Thresholds are probabilities in [0, 1]."""

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
    reader: ReaderFit | None = None
    """None: the weights have no careful reader."""

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
                reader=ReaderFit.read(read["reader"]) if "reader" in read else None,
            )
        except (ValueError, KeyError, TypeError) as exc:
            raise damaged(path, f"it lacks or misspells {exc}") from exc

    def probabilities(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Temperature-scaled softmax over `labels`, shape (pairs, 3)."""
        return softmax(logits / self.temperature)


@dataclass(frozen=True)
class ClaimTypeHead:
    """Two dense layers over a claim's embedding and its function words: factual, opinion or abstention."""

    words: tuple[str, ...]
    """Words that are extra features: embeddings are nearly blind to "not", "should" and "I"."""
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
                words = tuple(map(str, arrays["type_words"])) if "type_words" in arrays else ()
                return cls(words, arrays["type_W1"], arrays["type_b1"], arrays["type_W2"], arrays["type_b2"])
        except (OSError, ValueError, KeyError, BadZipFile) as exc:
            raise damaged(path, exc) from exc

    def probabilities(self, vectors: NDArray[np.float32], texts: Sequence[str]) -> NDArray[np.float32]:
        """Probabilities of the claim types, shape (claims, types), for the claims' embeddings and texts.

        Row by row: in a single matrix product, a row's last digits depend on the other rows.
        """
        import numpy as np

        inputs = np.concatenate([vectors, word_features(texts, self.words)], axis=1)
        return np.concatenate([self._row(inputs[row : row + 1]) for row in range(len(inputs))])

    def _row(self, inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        import numpy as np

        hidden = np.maximum(inputs @ self.hidden + self.hidden_bias, 0.0)
        return softmax(hidden @ self.output + self.output_bias)


def word_features(texts: Sequence[str], words: Sequence[str]) -> NDArray[np.float32]:
    """1 if a text has a word, else 0: shape (texts, words). Case-insensitive; "don't" is one word."""
    import numpy as np

    column = {word: number for number, word in enumerate(words)}
    features = np.zeros((len(texts), len(words)), np.float32)
    for row, text in enumerate(texts):
        for word in re.findall(r"[a-z]+(?:'[a-z]+)?", text.lower().replace("’", "'")):
            if word in column:
                features[row, column[word]] = 1.0
    return features


def softmax(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    """Softmax over the last axis."""
    import numpy as np

    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: NDArray[np.float32] = powers / powers.sum(axis=-1, keepdims=True)
    return result


class ShippedVerifier:
    """Implements `Verifier` with the model of `verifier.onnx`."""

    name = "shipped"

    def __init__(self, encoder: Encoder, limits: Calibration) -> None:
        self._encoder = encoder
        self._limits = limits
        self._columns = [limits.labels.index(name) for name in ("supported", "contradicted", "not_enough")]

    @classmethod
    def load(cls, limits: Calibration, folder: Path = WEIGHTS) -> ShippedVerifier:
        """Loads the verifier of a weights folder; the package's own only once per process.

        Raises:
            ConfigError: a file is missing or damaged.
        """
        if folder == WEIGHTS:
            return cls(shared_encoder("verifier", limits.max_length), limits)
        return cls(Encoder.load("verifier", max_length=limits.max_length, folder=folder), limits)

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Implements `Verifier.probabilities`."""
        rows: NDArray[np.float32] = self._limits.probabilities(self._encoder.run(pairs))[:, self._columns]
        return rows


class CarefulReader:
    """Implements `Verifier` with the model of `reader.onnx`: larger, better and slower. Loads at first use.

    Raises:
        ConfigError: at first use, a file is missing or damaged.
    """

    name = "reader"

    def __init__(self, max_length: int, folder: Path = WEIGHTS) -> None:
        self._load = partial(Encoder.load, self.name, max_length=max_length, folder=folder)
        if folder == WEIGHTS:
            self._load = partial(shared_encoder, self.name, max_length)

    @cached_property
    def _encoder(self) -> Encoder:
        return self._load()

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Implements `Verifier.probabilities`."""
        return softmax(self._encoder.run(pairs))
