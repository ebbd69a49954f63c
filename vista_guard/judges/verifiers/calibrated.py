"""A verifier's calibration, as `vista-guard calibrate --verifier` writes it; a verifier behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from vista_guard import _aio
from vista_guard.errors import ConfigError, JudgeError, UnreadableError
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
    """Probabilities from which the embedded judge calls a claim supported, or contradicted."""

    supported: float = Field(ge=0, le=1)
    contradicted: float = Field(ge=0, le=1)


class FittedOn(_Part):
    """The data of a calibration, and its held-out results."""

    name: str
    documents: int
    claims: int
    day: date
    supported_or_not: float
    """Share of claims that thresholds fitted on other documents get right: supported or not."""
    contradicted_precision: float | None = None
    """Likewise, of the claims that such thresholds call contradicted those that are not supported; None where none is."""


class VerifierCalibration(_Part):
    """Temperature and thresholds of one verifier."""

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
        """Reads what `vista-guard calibrate --verifier` wrote, for the verifier of this name.

        Raises:
            ConfigError: no such file, one that is something else, or one that was made for another verifier.
        """
        how = f"make it with: vista-guard calibrate --verifier {verifier} --out {file}"
        try:
            calibration = cls.model_validate_json(file.read_bytes())
        except OSError as exc:
            raise ConfigError(
                f"verifier_options.calibration is {str(file)!r}, which cannot be read ({exc.strerror}); {how}"
            ) from exc
        except ValidationError as exc:
            first = exc.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the file"
            raise ConfigError(f"{file} is not a verifier's calibration ({where}: {first['msg']}); {how}") from exc
        if calibration.verifier != verifier:
            raise ConfigError(
                f"{file} was made for the verifier {calibration.verifier}, and {verifier} verifies; {how}"
            )
        return calibration

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
        await ensemble.aclose(self._verifier)


def apply_temperature(probabilities: NDArray[np.float32], temperature: float) -> NDArray[np.float32]:
    """Probabilities (texts, 3) as a softmax at this temperature would have given them; what was impossible stays so."""
    import numpy as np

    powers = np.power(probabilities.astype(np.float64), 1.0 / temperature)
    scaled: NDArray[np.float32] = (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
    return scaled


SYSTEM = (
    "Determine whether the provided claim is consistent with the corresponding document. Consistency in this context "
    "implies that all information presented in the claim is substantiated by the document. If not, it should be considered "
    'inconsistent. Please assess the claim\'s consistency with the document by responding with either "Yes" or "No".'
)
"""What Bespoke-MiniCheck-7B was trained with (Liyan06/MiniCheck, `minicheck/utils.py`); other models understand it too."""

ALTERNATIVES = 5
"""Likely first tokens that are asked for, as the makers of MiniCheck do."""

_WORD = re.compile(r"[a-z]+")
_THINKING = re.compile(r"<think>.*?</think>", re.DOTALL)


class EndpointVerifier:
    """Implements `Verifier`: P(supported) is the probability of "yes" against "no", where the endpoint gives any;
    else 1 or 0.

    The first answer that is neither fails the turn's claims: they are unchecked, never guessed.

    Args:
        model: a chat model, for example `OpenAIChat("bespoke-minicheck", base_url="http://localhost:11434/v1")`.
    """

    def __init__(self, model: ChatModel) -> None:
        self._model = model
        self.name = model.name

    @classmethod
    def from_name(cls, name: str, options: ModelOptions = MODEL_DEFAULTS) -> EndpointVerifier:
        """The model that `MODEL` or `MODEL@https://host/v1` names.

        Raises:
            ConfigError: the extra `model` is missing, a URL that is none, or no key for OpenAI.
        """
        model, _, url = name.partition("@")
        return cls(OpenAIChat(model, base_url=url or None, options=options))

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        """Implements `Verifier.probabilities`: one request a distinct pair, `model.concurrency` at once.

        Raises:
            JudgeError: no answer, or one that is neither yes nor no.
        """
        import numpy as np

        known = _aio.run(self._ask_all(tuple(dict.fromkeys(pairs))))
        shares = np.array([known[pair] for pair in pairs], np.float32)
        return np.stack([shares, np.zeros_like(shares), 1.0 - shares], axis=1)

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._model.aclose()

    async def _ask_all(self, pairs: Sequence[tuple[str, str]]) -> Mapping[tuple[str, str], float]:
        return dict(zip(pairs, await ensemble.together(self._ask(*pair) for pair in pairs), strict=True))

    async def _ask(self, evidence: str, claim: str) -> float:
        messages = (Message("system", SYSTEM), Message("user", f"Document: {evidence}\nClaim: {claim}"))
        reply = await self._model.complete(ChatRequest(messages, "verify", alternatives=ALTERNATIVES))
        if reply.finish == "refusal":
            raise JudgeError(f"{self.name} declined to check a claim: {reply.text[:200]!r}; see its content filter")
        return support(reply, self.name)


def support(reply: Reply, name: str) -> float:
    """P(yes) of an answer: from the likely first tokens, else from what it says.

    Raises:
        UnreadableError: it says neither yes nor no.
    """
    yes, no = (_mass(reply.first, word) for word in ("yes", "no"))
    if yes + no > 0:
        return yes / (yes + no)
    said = _WORD.search(_THINKING.sub("", reply.text).lower())
    if said is None or said[0] not in ("yes", "no"):
        raise UnreadableError(
            f"{name} answered {reply.text[:200]!r} instead of yes or no; "
            "use a fact-checking model such as bespoke-minicheck",
            reply.text,
        )
    return float(said[0] == "yes")


def _mass(first: Mapping[str, float], word: str) -> float:
    """Probability of a word among the likely first tokens, however it is spelt."""
    return sum(math.exp(logprob) for token, logprob in first.items() if token.strip().lower() == word)
