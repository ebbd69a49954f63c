"""Builds verifiers from their names in the settings (`hf:ORG/MODEL`, a folder, `openai:MODEL@URL`), alone or in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vista_guard.errors import ConfigError
from vista_guard.judges.composed import ensemble
from vista_guard.judges.contract import CONTRADICTED, NOT_ENOUGH, SUPPORTED
from vista_guard.judges.verifiers.calibrated import CalibratedVerifier, EndpointVerifier, VerifierCalibration
from vista_guard.judges.verifiers.local import LocalVerifier
from vista_guard.protocols import Verifier
from vista_guard.settings.model import MODEL_DEFAULTS, VERIFIER_DEFAULTS, ModelOptions, VerifierOptions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class _Pair:
    """Two verifiers, closed together."""

    form = ""

    def __init__(self, first: Verifier, second: Verifier) -> None:
        self._first, self._second = first, second
        self.name = f"{self.form}:{first.name},{second.name}"

    async def aclose(self) -> None:
        """Closes both."""
        await ensemble.aclose(self._first, self._second)


class VetoedVerifier(_Pair):
    """Implements `Verifier`: support is the minimum of both; contradiction is the first one's.

    For token-level detectors such as LettuceDetect, which see a single wrong word that a verdict on the whole claim misses.
    Support that the second one does not confirm becomes "not enough".

    Example:
        `VetoedVerifier(verifier, LocalVerifier.load("hf:KRLabsOrg/lettucedect-base-modernbert-en-v1"))`
    """

    form = "veto"

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Implements `Verifier.probabilities`."""
        import numpy as np

        rows = np.array(self._first.probabilities(pairs), np.float32)
        granted = np.minimum(rows[:, SUPPORTED], self._second.probabilities(pairs)[:, SUPPORTED])
        rows[:, NOT_ENOUGH] += rows[:, SUPPORTED] - granted
        rows[:, SUPPORTED] = granted
        return rows


class SplitVerifier(_Pair):
    """Implements `Verifier`: the first one gives the support, the second divides the rest into contradicted and not enough.

    Most fact-checking models only tell supported from not supported: alone, nothing would ever be CONTRADICTED, and no
    policy that blocks contradictions would block.
    """

    form = "split"

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Implements `Verifier.probabilities`."""
        import numpy as np

        supported = self._first.probabilities(pairs)[:, SUPPORTED]
        second = self._second.probabilities(pairs)
        against, unknown = second[:, CONTRADICTED], second[:, NOT_ENOUGH]
        share = against / np.maximum(against + unknown, 1e-9)
        unsupported = 1.0 - supported
        return np.stack([supported, unsupported * share, unsupported * (1.0 - share)], axis=1).astype(np.float32)


SHIPPED = "shipped"
FORMS = """\
  shipped                           the model inside this package
  hf:ORG/MODEL                      a model of the Hugging Face hub, from the local cache or downloaded; hf:ORG/MODEL@REVISION
  PATH                              a folder with config.json, a tokenizer, and model.onnx or weights for torch
  openai:MODEL@https://host/v1      a fact-checking model at any endpoint that speaks OpenAI's API: yes or no
  veto:FIRST,SECOND                 supported only as far as SECOND agrees, for example a LettuceDetect
  split:FIRST,SECOND                FIRST says what is supported, SECOND what of the rest is contradicted"""


@dataclass(frozen=True)
class Chosen:
    """A verifier, and its fitted thresholds: supported, contradicted."""

    verifier: Verifier
    thresholds: tuple[float, float] | None = None


def build_verifier(
    given: Verifier | str | Path | None,
    options: VerifierOptions = VERIFIER_DEFAULTS,
    model: ModelOptions = MODEL_DEFAULTS,
    *,
    calibrated: bool = True,
) -> Chosen:
    """Builds the verifier with this name, or takes the object unchanged, and applies its calibration.

    Args:
        given: a name in one of the forms of `FORMS`, or an object; None for the shipped one.
        options: how to load and run a local model, and its calibration file.
        model: an endpoint's parameters and budget.
        calibrated: whether to apply the calibration.

    Raises:
        ConfigError: unknown verifier, one that cannot be loaded, or another verifier's calibration.
    """
    name = SHIPPED if given is None else str(given) if isinstance(given, str | Path) else None
    verifier: Verifier = given if name is None else _build(name, options, model)  # type: ignore[assignment]  # not a name
    if options.calibration is None or not calibrated:
        return Chosen(verifier)
    fitted = VerifierCalibration.load(options.calibration, verifier.name)
    thresholds = (fitted.thresholds.supported, fitted.thresholds.contradicted)
    return Chosen(CalibratedVerifier(verifier, fitted), thresholds)


def _build(name: str, options: VerifierOptions, model: ModelOptions) -> Verifier:
    name = name.strip()
    kind, _, rest = name.partition(":")
    if kind == SHIPPED and not rest:
        from vista_guard.judges.embedded.models import Calibration, ShippedVerifier

        return ShippedVerifier.load(Calibration.load())
    if kind == "openai" and rest:
        return EndpointVerifier.from_name(rest, model)
    if kind in ("veto", "split") and rest:
        first, second = (_build(part, options, model) for part in _parts(name, rest, options))
        return VetoedVerifier(first, second) if kind == "veto" else SplitVerifier(first, second)
    if (kind == "hf" and rest) or Path(name).expanduser().is_dir():
        return LocalVerifier.load(name, options)
    raise ConfigError(f"verifier is {name!r}, which is neither a verifier nor a folder. The verifiers are:\n{FORMS}")


def _parts(name: str, rest: str, options: VerifierOptions) -> Sequence[str]:
    parts = [part.strip() for part in rest.split(",")]
    if len(parts) != 2 or not all(parts) or any(part.startswith(("veto:", "split:")) for part in parts):
        raise ConfigError(
            f"verifier is {name!r}; it takes two verifiers with a comma between them, neither of them a veto or a split. "
            "For more, pass a verifier object"
        )
    local = [part for part in parts if part != SHIPPED and not part.startswith("openai:")]
    if len(local) > 1 and (options.family or options.labels or options.file):
        raise ConfigError(
            f"verifier is {name!r}, and verifier_options.family, labels or file are set, which could be meant for either part; "
            "leave them out, or pass a verifier object"
        )
    return parts
