"""The contenders, and where each one is installed."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Contender:
    """One way to judge a turn.

    `environment` is the folder below `.venv-peers` that has the peer installed, None for this package. The targets are the
    most that a turn may take: `seconds`, `waves` of calls, and `tokens` of the prompt over those of the strategy per_claim.
    `waits` says how long it waits by default for a call that is never answered; read in its code.
    """

    name: str
    adapter: str
    environment: str | None = None
    arguments: tuple[str, ...] = ()
    seconds: float | None = None
    waves: int | None = None
    tokens: float | None = None
    waits: str = ""
    faults: bool = True
    """True if it is also measured when the server misbehaves."""

    def python(self, environments: Path) -> Path:
        """The interpreter that runs it."""
        if self.environment is None:
            return Path(sys.executable)
        return environments / self.environment / "bin" / "python"


PER_CLAIM = "vista-guard, per_claim"
_OURS = "60 s with all retries"
_SDK = "600 s, three times"
CONTENDERS = (
    Contender("the reference's sequence of calls", "reference", faults=False),
    Contender(PER_CLAIM, "ours", arguments=("per_claim",), seconds=0.75, waves=3, waits=_OURS),
    Contender("vista-guard, batched", "ours", arguments=("batched",), seconds=0.5, waves=2, tokens=0.35, waits=_OURS),
    Contender("vista-guard, fused", "ours", arguments=("fused",), seconds=0.28, waves=1, tokens=0.20, waits=_OURS),
    Contender("DeepEval, FaithfulnessMetric", "deepeval", "deepeval", waits="88.5 s, twice"),
    Contender("Ragas, Faithfulness", "ragas", "ragas", waits=_SDK),
    Contender("NeMo Guardrails, self check facts", "nemoguardrails", "nemoguardrails", waits=_SDK),
    Contender("OpenAI Guardrails, Hallucination Detection", "openai_guardrails", "openai_guardrails", waits=_SDK),
)
