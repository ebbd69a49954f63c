"""Parts of VISTA left out, to see what they are worth (§6.3, Tables 4 and 5)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Literal

from vista_guard.judges.composed import calls
from vista_guard.protocols import Judge
from vista_guard.stores.memory.knowledge import MemoryKnowledge
from vista_guard.types import Check, Claim, EvidenceSet, Finding, JudgeInfo, SourceKind, Turn, Unchecked

Sees = Literal["decompose", "verify", "categorize"]


class NoKnowledge(MemoryKnowledge):
    """A conversation that never establishes anything: no stage sees accumulated claims (−AC of Table 5)."""

    async def remember(self, conversation_id: str, turn_key: str, claims: Sequence[Claim]) -> None:
        """The turn was delivered, and nothing else."""
        await super().remember(conversation_id, turn_key, claims[:0])


class Ablated:
    """Implements `TurnJudge` around a judge that does not get to see all. What was left out is part of its version.

    Args:
        judge: who is asked.
        history: whether decomposing sees what was said before the turn (Stage 1).
        knowledge: the stages that see accumulated claims. A judge that gives verdict and label at once sees none of them
            where `verify` is left out. The persona, which is not accumulated, always stays.
    """

    def __init__(
        self, judge: Judge, *, history: bool = True, knowledge: Collection[Sees] = ("verify", "categorize")
    ) -> None:
        self._judge = judge
        self._history = history
        self._knowledge = frozenset(knowledge)

    @property
    def info(self) -> JudgeInfo:
        """The inner judge's, and what it does not see."""
        inner = self._judge.info
        hidden = [] if self._history else ["no history in decompose"]
        hidden += [f"no knowledge in {stage}" for stage in ("verify", "categorize") if stage not in self._knowledge]
        return JudgeInfo(name=inner.name, version="; ".join([inner.version, *hidden]))

    @property
    def why_exhausted(self) -> str | None:
        """See `ChatModel.why_exhausted`."""
        return calls.why_exhausted(self._judge)

    async def aclose(self) -> None:
        """Closes the inner judge."""
        await calls.aclose(self._judge)

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """See `Judge.decompose`."""
        claims = await self._judge.decompose(turn, history if self._history else ())
        return claims if self._history else [_placed(claim, history) for claim in claims]

    async def judge_turn(
        self, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet
    ) -> Sequence[Check | Unchecked] | None:
        """See `TurnJudge.judge_turn`."""
        seen = history if self._history else ()
        answers = await calls.judge_turn(self._judge, turn, seen, self._seen("verify", evidence))
        return answers if answers is None or self._history else [_answer_placed(one, history) for one in answers]

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """See `Judge.verify`."""
        return await self._judge.verify(claims, self._seen("verify", evidence))

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """See `Judge.categorize`."""
        return await self._judge.categorize(checks, self._seen("categorize", evidence))

    def _seen(self, stage: Sees, evidence: EvidenceSet) -> EvidenceSet:
        if stage in self._knowledge:
            return evidence
        persona = tuple(known for known in evidence.knowledge if known.source is SourceKind.PERSONA)
        return evidence.model_copy(update={"knowledge": persona})


def _placed(claim: Claim, history: Sequence[Turn]) -> Claim:
    """The claim under the id that it has in its conversation: a judge that sees no history takes each turn for the first."""
    return claim.model_copy(update={"id": f"t{len(history)}.{claim.id.rpartition('.')[2]}"})


def _answer_placed(answer: Check | Unchecked, history: Sequence[Turn]) -> Check | Unchecked:
    claim = _placed(answer.claim, history)
    if isinstance(answer, Unchecked) or answer.finding is None:
        return answer.model_copy(update={"claim": claim})
    finding = answer.finding.model_copy(update={"claim": claim})
    return answer.model_copy(update={"claim": claim, "finding": finding})
