"""Builds verifiers from their names in the settings (`hf:ORG/MODEL`, a folder, `openai:MODEL@URL`), alone or in pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vista_guard.errors import ConfigError
from vista_guard.inference.hub import FOLDER_FORM, HUB_FORM
from vista_guard.judges.composed import ensemble
from vista_guard.judges.contract import CONTRADICTED, NOT_ENOUGH, SUPPORTED
from vista_guard.judges.verifiers.calibrated import CalibratedVerifier, EndpointVerifier, VerifierCalibration
from vista_guard.judges.verifiers.local import LocalVerifier
from vista_guard.protocols import Verifier
from vista_guard.settings.model import MODEL_DEFAULTS, VERIFIER_DEFAULTS, ModelOptions, VerifierOptions
from vista_guard.settings.names import Kinds

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
        given: a name that `VERIFIERS` knows, or an object; None for the shipped one.
        options: how to load and run a local model, and its calibration file.
        model: an endpoint's parameters and budget.
        calibrated: whether to apply the calibration.

    Raises:
        ConfigError: unknown verifier, one that cannot be loaded, or another verifier's calibration.
    """
    name = SHIPPED if given is None else str(given) if isinstance(given, str | Path) else None
    verifier: Verifier = given if name is None else VERIFIERS.build(name, (options, model))  # type: ignore[assignment]  # not a name
    if options.calibration is None or not calibrated:
        return Chosen(verifier)
    fitted = VerifierCalibration.load(options.calibration, verifier.name)
    thresholds = (fitted.thresholds.supported, fitted.thresholds.contradicted)
    return Chosen(CalibratedVerifier(verifier, fitted), thresholds)


_Options = tuple[VerifierOptions, ModelOptions]


def _shipped(*_: object) -> Verifier:
    from vista_guard.judges.embedded.models import Calibration, ShippedVerifier

    return ShippedVerifier.load(Calibration.load())


def _reader(name: str, *_: object) -> Verifier:
    from vista_guard.inference.weights import WEIGHTS, has_weights
    from vista_guard.judges.embedded.models import Calibration, CarefulReader

    given = name.partition(":")[2]
    folder = Path(given).expanduser() if given else WEIGHTS
    if not has_weights("reader.onnx", folder):
        lacks = f"the folder {given} has no reader.onnx" if given else "the installed weights have no careful reader"
        raise ConfigError(f"verifier is {name!r}, and {lacks}; give reader:FOLDER with its files, or another verifier")
    fit = Calibration.load(folder).reader
    return CarefulReader(fit.max_length if fit else _READER_TOKENS, folder)


_READER_TOKENS = 256
"""Most tokens of a pair where the weights do not say."""


def _local(name: str, options: _Options) -> Verifier:
    return LocalVerifier.load(name, options[0])


def _endpoint(name: str, options: _Options) -> Verifier:
    return EndpointVerifier.from_name(name.partition(":")[2], options[1])


def _pair(name: str, options: _Options) -> Verifier:
    parts = VERIFIERS.parts(name)
    local = [part for part in parts if part != SHIPPED and not part.startswith("openai:")]
    if len(local) > 1 and (options[0].family or options[0].labels or options[0].file):
        raise ConfigError(
            f"verifier is {name!r}, and verifier_options.family, labels or file are set, which could be meant for either part; "
            "leave them out, or pass a verifier object"
        )
    first, second = (VERIFIERS.build(part, options) for part in parts)
    return VetoedVerifier(first, second) if name.startswith("veto:") else SplitVerifier(first, second)


VERIFIERS = Kinds[_Options, Verifier](
    "verifier",
    {
        SHIPPED: (_shipped, "the model inside this package"),
        "reader": (_reader, "the careful reader of the weights, larger and slower"),
        "reader:FOLDER": (_reader, "the careful reader of a weights folder of your own"),
        "hf:ORG/MODEL": (_local, HUB_FORM),
        "PATH": (_local, FOLDER_FORM),
        "openai:MODEL@https://host/v1": (
            _endpoint,
            "a fact-checking model at any endpoint that speaks OpenAI's API: yes or no",
        ),
        "veto:FIRST,SECOND": (_pair, "supported only as far as SECOND agrees, for example a LettuceDetect"),
        "split:FIRST,SECOND": (_pair, "FIRST says what is supported, SECOND what of the rest is contradicted"),
    },
)
