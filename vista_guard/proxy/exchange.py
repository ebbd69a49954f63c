"""A request on its way: what was asked, whose it is, and who judges the answer.

What a caller is told about a judged turn: headers and the `vista_guard` field. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vista_guard.integrations.openai_api import Json, repeatable, request_again, with_answer
from vista_guard.integrations.openai_api.fields import Sifting
from vista_guard.proxy import metrics
from vista_guard.proxy.dialects.evidence import ReadRequest
from vista_guard.proxy.dialects.protocol import Dialect
from vista_guard.proxy.identity import Conversations, Identity
from vista_guard.stream.gates import regenerates
from vista_guard.turn.work import check_limits
from vista_guard.types import Action, Finding, Outcome, TurnReport

if TYPE_CHECKING:
    from vista_guard.guard import Guard
    from vista_guard.proxy.settings import ProxySettings


@dataclass(frozen=True)
class Exchange:
    """A request that was read, whose it is, and who judges the answer."""

    dialect: Dialect
    asked: ReadRequest
    identity: Identity
    conversations: Conversations
    settings: ProxySettings

    @property
    def guard(self) -> Guard:
        """The tenant's."""
        return self.conversations.guard(self.identity.tenant)

    @property
    def may_ask_again(self) -> bool:
        """Whether an answer that does not hold up may be asked for again."""
        sent, policy = self.asked.sent, self.guard.parts.policy
        return not self.asked.structured and repeatable(self.dialect.api, sent) and regenerates(policy)

    def request_again(self, draft: str, note: str) -> Json:
        """The request for another answer."""
        return request_again(self.dialect.api, self.asked.sent, draft, note)

    def check_limits(self) -> None:
        """Passes when the turn that is asked for can be judged, as far as that is known by now.

        Raises:
            InputError: the conversation or its documents are over a limit.
        """
        if not self.asked.structured:
            check_limits(with_answer(self.asked.conversation(), "", self.asked.grounds()), self.guard.parts.limits)

    def sifting(self) -> Sifting:
        """What holds one answer to the request against the table of known fields."""
        return Sifting(self.asked.sent, metrics.dropped_field, self.asked.structured)

    async def make_known(self, report: TurnReport, response_id: str | None, *, alone: bool = True) -> None:
        """Makes the turn known to the requests that build on it; `alone` is False for one of several choices."""
        next_time = self.asked.followed_by(report.response)
        kept = alone and self.asked.sent.get("store") is not False
        identity = self.identity if alone else Identity(self.identity.tenant)
        await self.conversations.make_known(identity, next_time, report, response_id=response_id if kept else None)


OFF = (("x-vista-guard-decision", "OFF"), ("x-vista-guard-unjudged", "everything"))
"""Told in place of a decision where the proxy is switched off. No report ever has it."""
_DELIVERED = (Action.ALLOW, Action.FLAG)


def headers(report: TurnReport) -> list[tuple[str, str]]:
    """The decision, and the score when there is one."""
    told = [("x-vista-guard-decision", report.decision.action.value)]
    return told if report.score is None else [*told, ("x-vista-guard-score", f"{report.score:.4f}")]


def unjudged_headers(unjudged: Sequence[str]) -> list[tuple[str, str]]:
    """What passes unjudged by design, when something does."""
    return [("x-vista-guard-unjudged", ",".join(unjudged))] if unjudged else []


def unjudged_field(told: Json | None, unjudged: Sequence[str]) -> Json | None:
    """The verdict with what passed unjudged by design; None when there is neither."""
    if not unjudged:
        return told
    return {**(told or {}), "unjudged": list(unjudged)}


def conversation_header(identity: Identity) -> list[tuple[str, str]]:
    """The conversation's name, when it has one that a header can hold."""
    if identity.name is None or not identity.name.isascii():
        return []
    return [("x-vista-guard-conversation", identity.name)]


def field(report: TurnReport, identity: Identity) -> Json:
    """The verdict as JSON. Claims are named only when the whole turn was delivered: those of a withheld one say what it said,
    and so does the decision's reason."""
    counts = Counter(
        outcome.label.value if isinstance(outcome, Finding) else "UNCHECKED" for outcome in report.outcomes
    )
    told: Json = {
        "decision": report.decision.action.value,
        "score": report.score,
        "risk": report.risk,
        "risk_calibrated": report.risk_calibrated,
        "conversation_id": identity.name,
        "turn_index": report.turn_index,
        "evidence_missing": report.evidence_missing,
        "labels": dict(counts),
        "judge": report.judge.model_dump(),
        "policy": report.policy,
    }
    if report.decision.action not in _DELIVERED:
        return told
    return {**told, "reason": report.decision.reason, "claims": [_claim(outcome) for outcome in report.outcomes]}


def _claim(outcome: Outcome) -> Json:
    claim: Json = outcome.claim.model_dump(mode="json")
    if not isinstance(outcome, Finding):
        return {**claim, "label": None, "confidence": None, "evidence": []}
    evidence = [
        {"source": piece.source.value, "title": piece.title, "quote": piece.quote, "score": piece.score}
        for piece in outcome.evidence
    ]
    return {**claim, "label": outcome.label.value, "confidence": outcome.confidence, "evidence": evidence}
