"""A multi-turn metric for Ragas. Needs the extra `ragas`."""

from __future__ import annotations

import logging
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from vista_guard._extras import how_to_install
from vista_guard.errors import ConfigError
from vista_guard.integrations.evals.grader import Case, Grader, Turns, grader_of

try:
    from ragas.metrics.base import MetricType, MultiTurnMetric
except ImportError as exc:  # Ragas 0.4.3 itself fails beside langchain-community 0.4.2 and later
    raise ConfigError(
        f"the Ragas metric needs ragas 0.4.x with langchain-community below 0.4.2 ({exc}): {how_to_install('ragas')}"
    ) from exc

if TYPE_CHECKING:
    from ragas.dataset_schema import MultiTurnSample
    from ragas.run_config import RunConfig

    from vista_guard.integrations.evals.grader import Verdict

logger = logging.getLogger("vista_guard")

_ROLES = {"human": "user", "ai": "assistant", "tool": "tool"}


@dataclass
class VistaMetric(MultiTurnMetric):  # type: ignore[misc]  # untyped where Ragas is not installed
    """The VISTA score of a conversation: the share of the assistant's claims that its evidence supports.

    A sample of Ragas has no place for documents. Evidence of a turn are the ToolMessages since the user spoke, `documents` in a
    message's `metadata`, and what the assistant established in earlier turns. Where nothing is judged the score is NaN, which
    Ragas' averages leave out, and the log says why.

    Attributes:
        judge: the judge's name; from the settings when not given.
        policy: a preset's name. It decides what the conversation remembers; the score is that of the claims.
        turns: assistant turns to judge.
        grader: your own grader, in place of judge and policy.
        on_verdict: called with each sample and its verdict: Ragas itself keeps only the number.

    Example:
        evaluate(EvaluationDataset([MultiTurnSample(user_input=[…])]), metrics=[VistaMetric()])
    """

    name: str = "vista_score"
    _required_columns: dict[MetricType, set[str]] = field(
        default_factory=lambda: {MetricType.MULTI_TURN: {"user_input"}}
    )
    judge: str | None = None
    policy: str | None = None
    turns: Turns = "all"
    grader: Grader | None = field(default=None, repr=False)
    on_verdict: Callable[[MultiTurnSample, Verdict], None] | None = field(default=None, repr=False)

    def init(self, run_config: RunConfig) -> None:
        """Does nothing: the judge has its own limits and retries."""

    async def _multi_turn_ascore(self, sample: MultiTurnSample, callbacks: object) -> float:
        verdict = await grader_of(self.grader, self.judge, self.policy).agrade(self.case(sample))
        if self.on_verdict is not None:
            self.on_verdict(sample, verdict)
        if verdict.score is None:
            logger.warning("%s is NaN: %s", self.name, verdict.reason)
            return math.nan
        return verdict.score

    def case(self, sample: MultiTurnSample) -> Case:
        """The case of a Ragas sample; override it if the evidence is elsewhere."""
        return Case.of_transcript(_messages(sample.user_input), turns=self.turns)


def _messages(ragas_messages: Sequence[Any]) -> list[Mapping[str, object]]:
    """Ragas' messages as chat messages. Its tools answer without a name, in the order in which they were called."""
    messages, pending = list[Mapping[str, object]](), deque[str]()
    for message in ragas_messages:
        fields: dict[str, object] = {"role": _ROLES[message.type], "content": message.content}
        fields["documents"] = (message.metadata or {}).get("documents") or ()
        if message.type == "ai" and message.tool_calls:
            pending = deque(call.name for call in message.tool_calls)
            fields["tool_calls"] = [{"function": {"name": name}} for name in pending]
        elif message.type == "tool" and pending:
            fields["name"] = pending.popleft()
        messages.append(fields)
    return messages
