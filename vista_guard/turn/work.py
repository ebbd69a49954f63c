"""`Work`, the turn that the stages pass on, and `Parts`, the guard's collaborators."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from vista_guard.errors import InputError
from vista_guard.policy.turn_risk import TurnRisk, uncalibrated
from vista_guard.protocols import DocumentStore, Judge, KnowledgeStore, Policy, Sink
from vista_guard.settings.sources import Limits
from vista_guard.telemetry.config import Telemetry
from vista_guard.types import (
    Attempt,
    Check,
    Claim,
    Conversation,
    Decision,
    DraftSpan,
    EvidenceSet,
    Link,
    Outcome,
    Persona,
    RepairMode,
    RetrieveBy,
    Role,
    Turn,
    TurnReport,
    Unchecked,
    Usage,
)

if TYPE_CHECKING:
    from vista_guard.telemetry.spans import TurnTrace

Value = TypeVar("Value")


def check_id(conversation_id: object) -> None:
    """Checks that a caller's id of a conversation is a text, or None; else InputError."""
    if conversation_id is not None and not isinstance(conversation_id, str):
        raise InputError(
            f"conversation_id is {conversation_id!r}, which is {type(conversation_id).__name__}; give a text"
        )


def check_limits(conversation: Conversation, limits: Limits) -> None:
    """Checks that the conversation's last turn can be judged; else InputError."""
    if not conversation.turns:
        raise InputError("the conversation is empty; give at least the assistant turn to be judged")
    turn = conversation.turns[-1]
    if turn.role is not Role.ASSISTANT:
        raise InputError(f"the last turn is from the {turn.role}; only assistant turns are judged")
    if len(conversation.turns) > limits.turns:
        raise InputError(f"the conversation has {len(conversation.turns)} turns; limits.turns is {limits.turns}")
    _check_turn(turn, f"turn {len(conversation.turns) - 1}", limits)


def _check_turn(turn: Turn, name: str, limits: Limits) -> None:
    _check_text(turn.text, name, limits.turn_chars, "limits.turn_chars; judge it in parts or raise the limit")
    if len(turn.documents) > limits.documents:
        raise InputError(f"{name} has {len(turn.documents)} documents; limits.documents is {limits.documents}")
    for document in turn.documents:
        advice = "limits.document_chars; split it, raise the limit, or put it into the document store"
        _check_text(document.text, f"document {document.id!r}", limits.document_chars, advice)


def _check_text(text: str, name: str, limit: int, advice: str) -> None:
    if len(text) > limit:
        raise InputError(f"{name} has {len(text):,} characters, more than the {limit:,} of {advice}")
    if "\x00" in text:
        raise InputError(f"{name} holds a NUL byte at character {text.index(chr(0))}; remove it, it is not text")
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        raise InputError(f"{name} holds half a surrogate pair at character {exc.start}; decode the text anew") from exc


def writable(text: str) -> str:
    """Replaces what UTF-8 cannot encode by question marks, for reports on turns that are not text."""
    return text.encode(errors="replace").decode()


Emit = Callable[[Mapping[str, Any]], None]
"""Takes an event for `stream_mode="custom"`: JSON types only."""


def silent(event: Mapping[str, Any]) -> None:
    """Ignores events."""


class Recent(Generic[Value]):
    """The newest values by key, for threads too; the oldest go first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._values: OrderedDict[str, Value] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str | None) -> Value | None:
        with self._lock:
            return None if key is None else self._values.get(key)

    def put(self, key: str | None, value: Value) -> None:
        if not key:
            return
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._size:
                self._values.popitem(last=False)


def past_claims() -> Recent[tuple[Claim, ...]]:
    """A cache of claims that anonymous conversations' earlier turns established, by fingerprint.

    Without it, a chat that resends its whole history would have all of it judged again each time.
    """
    return Recent(2048)


@dataclass(frozen=True)
class Parts:
    """The collaborators of a guard, passed to every stage."""

    judge: Judge
    policy: Policy
    knowledge: KnowledgeStore
    documents: DocumentStore | None = None
    persona: Persona | None = None
    sinks: Sequence[Sink] = ()
    limits: Limits = field(default_factory=Limits)
    context: Literal["none", "full"] = "none"
    ungrounded: Literal["judge", "trust"] = "judge"
    retrieve_by: RetrieveBy = "turn"
    past: Recent[tuple[Claim, ...]] = field(default_factory=past_claims)
    telemetry: Telemetry = field(default_factory=Telemetry)
    host_tracing: bool = False
    """True if tracers of the host hear of the guard's own runs."""
    tenant: str | None = None
    """The tenant of these turns, behind the proxy."""
    turn_risk: TurnRisk | None = None
    """The risk fitted for the judge; None without a fit."""

    @cached_property
    def judging(self) -> Judge:
        """The judge that stages ask: with `retrieve_by` other than `turn`, behind this guard's own document store.

        Of these parts alone: a copy with another store, such as a tenant's, makes its own.
        """
        if self.retrieve_by == "turn" or self.documents is None:
            return self.judge
        from vista_guard.judges.composed.pipeline import RetrievingJudge
        from vista_guard.judges.decomposers.dydecomp import SplittingJudge

        documents, limits, beside = self.documents, self.limits, self.retrieve_by == "both"

        def retrieving(judge: Judge) -> Judge:
            return RetrievingJudge(judge, documents, limits.retrieved, neighbours=limits.neighbours, beside=beside)

        if isinstance(self.judge, SplittingJudge):  # it makes its claims while it judges
            return self.judge.over(retrieving)
        return retrieving(self.judge)

    def risk_of(self, work: Work) -> float | None:
        """The risk of the turn as far as it was judged, in [0, 1]; None when nothing was."""
        if self.turn_risk is None:
            return uncalibrated(work.outcomes)
        return self.turn_risk(work.outcomes, evidence_missing=work.evidence_missing)

    @property
    def trusts_ungrounded(self) -> bool:
        """True if turns without documents are believed unjudged, as the reference implementation does."""
        return self.ungrounded == "trust"

    def trusts(self, turn: Turn) -> bool:
        return self.trusts_ungrounded and not turn.documents


@dataclass(frozen=True, repr=False)
class Work:
    """One turn in progress. Lives in a channel that is never checkpointed, so that no draft outlives its judgement.

    `conversation` ends with the draft. `reply` is the host's own object that the draft was read from.
    """

    conversation: Conversation
    request: object = None
    reply: object = None
    call: object = None
    """The agent's `AgentCall`, where it differs from run to run."""
    spoke: bool = True
    can_regenerate: bool = False
    catch_up: bool = True
    evidence: EvidenceSet | None = None
    """None until it was gathered, and when it could not be."""
    claims: tuple[Claim, ...] = ()
    answers: tuple[Check | Unchecked, ...] | None = None
    """Verdicts that came together with the claims, from a judge that does both at once; None when verify must ask."""
    checks: tuple[Check, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    links: tuple[Link, ...] = ()
    """Links to hosts that no document has, where the policy looks at links."""
    decision: Decision | None = None
    response: str | None = None
    gate: Literal["none", "sentence", "turn"] = "turn"
    placed: tuple[DraftSpan, ...] | None = None
    """Where pieces of the draft stand in the response; None where it was not repaired: all of it was delivered, or nothing."""
    kept: tuple[Claim, ...] | None = None
    """Claims that a repair left in the delivered text; all of them when None."""
    repair: RepairMode | None = None
    attempts: tuple[Attempt, ...] = ()
    remembered: tuple[Claim, ...] = ()
    warnings: tuple[str, ...] = ()
    timings: Mapping[str, float] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    report: TurnReport | None = None
    trace: TurnTrace | None = None
    """The turn's span, begun with its agent or its first stage."""

    @property
    def turn(self) -> Turn:
        return self.conversation.turns[-1]

    @property
    def history(self) -> tuple[Turn, ...]:
        return self.conversation.turns[:-1]

    @property
    def evidence_missing(self) -> bool:
        """True if there was no evidence that could verify a fact. Evidence that failed to load is an error, not missing."""
        return self.evidence is not None and self.evidence.proves_nothing

    @property
    def index(self) -> int:
        return len(self.conversation.turns) - 1

    @property
    def decided(self) -> Decision:
        if self.decision is None:
            raise AssertionError("the decision is read before the decide stage")
        return self.decision

    @property
    def finished(self) -> TurnReport:
        if self.report is None:
            raise AssertionError("the report is read before the report stage")
        return self.report

    def is_believed(self, parts: Parts) -> bool:
        """True if the turn passes unjudged and nothing failed on the way."""
        return parts.trusts(self.turn) and not self.outcomes

    def with_(self, **changes: Any) -> Work:
        return replace(self, **changes)

    def as_unchecked(self, error: str, raw: str | None = None) -> Work:
        """The whole turn as one unchecked claim: it failed before its claims were known."""
        whole = Claim(id=f"t{self.index}.c0", text=writable(self.turn.text))
        return self.with_(
            outcomes=(*self.outcomes, Unchecked(claim=whole, error=error, raw=raw)), claims=(), answers=None, checks=()
        )

    def __repr__(self) -> str:
        # State is shown by debuggers and tracers; a draft that may be withheld must not be.
        return f"Work(turn={self.index}, claims={len(self.claims)}, decision={self.decision and self.decision.action})"
