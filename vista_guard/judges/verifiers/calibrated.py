"""A verifier's calibration: reads the file of `vista-guard calibrate --verifier`, and applies it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vista_guard.errors import ConfigError
from vista_guard.protocols import Verifier

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


async def close(*verifiers: Verifier) -> None:
    """Closes each that can be closed."""
    for verifier in verifiers:
        closing = getattr(verifier, "aclose", None)
        if closing is not None:
            await closing()


Share = float


class Thresholds(BaseModel):
    """Probabilities from which the embedded judge calls a claim supported, or contradicted."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    supported: float = Field(ge=0, le=1)
    contradicted: float = Field(ge=0, le=1)


class FittedOn(BaseModel):
    """The data of a calibration, and its held-out results."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    documents: int
    claims: int
    day: date
    supported_or_not: Share
    """Share of claims that thresholds fitted on other documents get right: supported or not."""
    contradicted_precision: Share | None = None
    """Likewise, of the claims that such thresholds call contradicted those that are not supported; None where none is."""


class VerifierCalibration(BaseModel):
    """Temperature and thresholds of one verifier."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    vista_guard_verifier_calibration: Literal[1] = 1
    """Version of the file's form."""
    verifier: str
    """Name of the verifier that it was made for."""
    temperature: float = Field(gt=0)
    """Above 1 the verifier was too sure of itself."""
    thresholds: Thresholds
    fitted_on: FittedOn

    @classmethod
    def load(cls, file: Path, verifier: str) -> Self:
        """Reads the file.

        Args:
            file: what `vista-guard calibrate --verifier` wrote.
            verifier: name of the verifier that is to be read by it.

        Raises:
            ConfigError: no such file, one that is something else, or one that was made for another verifier.
        """
        how = f"make it with: vista-guard calibrate --verifier {verifier} --out {file}"
        try:
            found = cls.model_validate_json(file.read_bytes())
        except OSError as exc:
            raise ConfigError(
                f"verifier_options.calibration is {str(file)!r}, which cannot be read ({exc.strerror}); {how}"
            ) from exc
        except ValidationError as exc:
            first = exc.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the file"
            raise ConfigError(f"{file} is not a verifier's calibration ({where}: {first['msg']}); {how}") from exc
        if found.verifier != verifier:
            raise ConfigError(f"{file} was made for the verifier {found.verifier}, and {verifier} verifies; {how}")
        return found

    def save(self, file: Path) -> None:
        """Writes the file, and replaces what is there.

        Raises:
            ConfigError: it cannot be written.
        """
        try:
            file.write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")
        except OSError as exc:
            raise ConfigError(f"{file} cannot be written ({exc.strerror}); choose another --out") from exc

    @property
    def label(self) -> str:
        """The calibration's part of the judge's version."""
        return f"t{self.temperature:g}s{self.thresholds.supported:g}c{self.thresholds.contradicted:g}"


class CalibratedVerifier:
    """Implements `Verifier`: another one's probabilities at a temperature."""

    def __init__(self, verifier: Verifier, calibration: VerifierCalibration) -> None:
        self._verifier = verifier
        self._temperature = calibration.temperature
        self.name = f"{verifier.name}~{calibration.label}"

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Implements `Verifier.probabilities`."""
        return apply_temperature(self._verifier.probabilities(pairs), self._temperature)

    async def aclose(self) -> None:
        """Closes the verifier."""
        await close(self._verifier)


def apply_temperature(probabilities: NDArray[np.float32], temperature: float) -> NDArray[np.float32]:
    """Probabilities (texts, 3) as a softmax at this temperature would have given them; what was impossible stays so."""
    import numpy as np

    powers = np.power(probabilities.astype(np.float64), 1.0 / temperature)
    found: NDArray[np.float32] = (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
    return found
