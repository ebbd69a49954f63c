"""A verifier's calibration, written by `vista-guard calibrate --verifier`; a verifier behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vista_guard import _aio
from vista_guard.errors import ConfigError, JudgeError, UnreadableError, first_problem
from vista_guard.judges.composed import ensemble
from vista_guard.judges.model.chat.calling import ChatModel, ChatRequest, Message, Reply
from vista_guard.judges.model.chat.openai import OpenAIChat
from vista_guard.protocols import Verifier
from vista_guard.settings.model import MODEL_DEFAULTS, ModelOptions

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Thresholds(_Part):
    """Minimum probabilities for the embedded judge to call a claim supported, or contradicted."""

    supported: float = Field(ge=0, le=1)
    contradicted: float = Field(ge=0, le=1)


class FittedOn(_Part):
    """The data of a calibration, and its held-out results."""

    name: str
    documents: int
    claims: int
    day: date
    supported_or_not: float
    """Accuracy of supported or not, with thresholds fitted on other documents."""
    contradicted_precision: float | None = None
    """Share of claims called contradicted that are not supported, likewise; None if there are none."""
    supported_interval: tuple[float, float] | None = None
    """Of the threshold, 95 %, drawing documents; None in files of older versions."""
    contradicted_interval: tuple[float, float] | None = None


class VerifierCalibration(_Part):
    """Temperature and thresholds of one verifier."""

    vista_guard_verifier_calibration: Literal[1] = 1
    """Version of the file format."""
    verifier: str
    """Name of its verifier."""
    temperature: float = Field(gt=0)
    """Above 1 for an overconfident verifier."""
    thresholds: Thresholds
    fitted_on: FittedOn

    @classmethod
    def load(cls, file: Path, verifier: str) -> Self:
        """Reads a file of `vista-guard calibrate --verifier` for the verifier with this name.

        Raises:
            ConfigError: no such file, another kind of file, or one for another verifier.
        """
        how = f"make it with: vista-guard calibrate --verifier {verifier} --out {file}"
        try:
            calibration = cls.model_validate_json(file.read_bytes())
        except OSError as exc:
            raise ConfigError(
                f"verifier_options.calibration is {str(file)!r}, which cannot be read ({exc.strerror}); {how}"
            ) from exc
        except ValidationError as exc:
            raise ConfigError(f"{file} is not a verifier's calibration ({first_problem(exc)}); {how}") from exc
        if calibration.verifier != verifier:
            raise ConfigError(
                f"{file} was made for the verifier {calibration.verifier}, and {verifier} verifies; {how}"
            )
        return calibration

    def save(self, file: Path) -> None:
        """Writes the file, replacing an existing one.

        Raises:
            ConfigError: it cannot be written.
        """
        try:
            file.write_text(self.model_dump_json(indent=2) + "\n", encoding="utf-8")
        except OSError as exc:
            raise ConfigError(f"{file} cannot be written ({exc.strerror}); choose another --out") from exc

    @property
    def label(self) -> str:
        """Part of the judge's version."""
        return f"t{self.temperature:g}s{self.thresholds.supported:g}c{self.thresholds.contradicted:g}"


class CalibratedVerifier:
    """Implements `Verifier`: another verifier's probabilities at a temperature."""

    def __init__(self, verifier: Verifier, calibration: VerifierCalibration) -> None:
        self._verifier = verifier
        self._temperature = calibration.temperature
        self.name = f"{verifier.name}~{calibration.label}"

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Implements `Verifier.probabilities`."""
        return apply_temperature(self._verifier.probabilities(pairs), self._temperature)

    async def aclose(self) -> None:
        """Closes the verifier."""
        await ensemble.aclose(self._verifier)


def apply_temperature(probabilities: NDArray[np.float32], temperature: float) -> NDArray[np.float32]:
    """Rescales probabilities (texts, 3) as a softmax at this temperature would; zeros stay zero."""
    import numpy as np

    powers = np.power(probabilities.astype(np.float64), 1.0 / temperature)
    scaled: NDArray[np.float32] = (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
    return scaled


SYSTEM = (
    "Determine whether the provided claim is consistent with the corresponding document. Consistency in this context "
    "implies that all information presented in the claim is substantiated by the document. If not, it should be considered "
    'inconsistent. Please assess the claim\'s consistency with the document by responding with either "Yes" or "No".'
)
"""The training prompt of Bespoke-MiniCheck-7B (Liyan06/MiniCheck, `minicheck/utils.py`); other models understand it too."""

ALTERNATIVES = 5
"""Likely first tokens to request, as MiniCheck's code does."""

_WORD = re.compile(r"[a-z]+")
_THINKING = re.compile(r"<think>.*?</think>", re.DOTALL)


class EndpointVerifier:
    """Implements `Verifier`: P(supported) is the probability of "yes" against "no"; 1 or 0 if the endpoint gives none.

    The first answer that is neither fails the turn's claims: they are unchecked, never guessed.

    Args:
        model: a chat model, for example `OpenAIChat("bespoke-minicheck", base_url="http://localhost:11434/v1")`.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.name = model.name

    @classmethod
    def from_name(cls, name: str, options: ModelOptions = MODEL_DEFAULTS) -> EndpointVerifier:
        """Builds the model named `MODEL` or `MODEL@https://host/v1`.

        Raises:
            ConfigError: the extra `model` is missing, the URL is invalid, or there is no key for OpenAI.
        """
        model, _, url = name.partition("@")
        return cls(OpenAIChat(model, base_url=url or None, options=options))

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Implements `Verifier.probabilities`: one request per distinct pair, `model.concurrency` at once.

        Raises:
            JudgeError: no answer, or one that is neither yes nor no.
        """
        import numpy as np

        unique = list(dict.fromkeys(pairs))
        known = dict(zip(unique, _aio.run(ensemble.gather(self._ask(*pair) for pair in unique)), strict=True))
        shares = np.array([known[pair] for pair in pairs], np.float32)
        return np.stack([shares, np.zeros_like(shares), 1.0 - shares], axis=1)

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._model.aclose()

    async def _ask(self, evidence: str, claim: str) -> float:
        messages = (Message("system", SYSTEM), Message("user", f"Document: {evidence}\nClaim: {claim}"))
        reply = await self._model.complete(ChatRequest(messages, "verify", alternatives=ALTERNATIVES))
        if reply.finish == "refusal":
            raise JudgeError(f"{self.name} declined to check a claim: {reply.text[:200]!r}; see its content filter")
        return support(reply, self.name)


def support(reply: Reply, name: str) -> float:
    """P(yes) of an answer: from the likely first tokens, else from its text.

    Raises:
        UnreadableError: it says neither yes nor no.
    """
    yes, no = (_mass(reply.first, word) for word in ("yes", "no"))
    if yes + no > 0:
        return yes / (yes + no)
    match = _WORD.search(_THINKING.sub("", reply.text).lower())
    if match is None or match[0] not in ("yes", "no"):
        raise UnreadableError(
            f"{name} answered {reply.text[:200]!r} instead of yes or no; "
            "use a fact-checking model such as bespoke-minicheck",
            reply.text,
        )
    return float(match[0] == "yes")


def _mass(first: Mapping[str, float], word: str) -> float:
    """Probability of a word among the likely first tokens, in any case and with any spaces."""
    return sum(math.exp(logprob) for token, logprob in first.items() if token.strip().lower() == word)
