"""Stage 5: the policy decides, before anything is remembered."""

from __future__ import annotations

from vista_guard.protocols import RiskPolicy
from vista_guard.turn.work import Emit, Parts, Work
from vista_guard.types import Action, Decision


async def decide(work: Work, parts: Parts, emit: Emit) -> Work:
    """What is delivered follows from the decision: the draft, or the policy's message."""
    if work.is_believed(parts):
        decision = Decision(action=Action.ALLOW, reason="the turn has no documents and ungrounded turns are trusted")
    else:
        decision = _decision(work, parts)
    emit({"event": "decision", "decision": decision.model_dump(mode="json")})
    response = parts.policy.message if decision.action is Action.BLOCK else work.turn.text
    return work.with_(decision=decision, response=response)


def _decision(work: Work, parts: Parts) -> Decision:
    policy, missing = parts.policy, work.evidence_missing
    if not isinstance(policy, RiskPolicy):
        return policy(work.outcomes, evidence_missing=missing)
    return policy.weigh(work.outcomes, evidence_missing=missing, risk=parts.risk_of(work))
