"""The protocol between the runner and the systems it measures, and the parts that judges of whole turns share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer

from vista_guard.judges.composed import ensemble
from vista_guard.turn.work import writable
from vista_guard.types import Check, Claim, EvidenceSet, Finding, JudgeInfo, Label, Span, Turn, TurnReport, Unchecked
from vista_lab.logs.source import LoggedConversation, Task


class EvidenceInfo(BaseModel):
    """Where the evidence of each claim comes from: `vista-guard eval --evidence`.

    `kind` is given, corpus, wiki or search; `source` names the file, the documents or the function; `k` is the most passages a
    claim gets. `fingerprint` changes with the source's content. `replayed` is the sha256 of the recording that stands for the
    source: it has the evidence of the run that it was made in, so `same_as` leaves it out.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: str
    source: str
    k: int
    fingerprint: str
    replayed: str = ""

    def same_as(self, other: EvidenceInfo | None) -> bool:
        """True if both runs checked their claims against the same source, so that their figures can be compared."""
        return other is not None and self.model_copy(update={"replayed": other.replayed}) == other


class SystemInfo(BaseModel):
    """How a system judges. Two runs of equal infos judge in the same way; only then may one resume the other.

    `name` is the one that tables print. `options` is everything else that changes a verdict: policy, context, thresholds.
    `prompts` are fingerprints of prompts by stage, `shots` how many examples each holds; both are empty without a model.
    `evidence` is None where turns are held against their own documents as a whole.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    judge: JudgeInfo
    options: Mapping[str, str] = {}
    prompts: Mapping[str, str] = {}
    shots: Mapping[str, int] = {}
    evidence: EvidenceInfo | None = None

    @model_serializer(mode="wrap")
    def _as_before(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leaves out `evidence` where there is none, so that earlier versions can read such runs."""
        return {key: value for key, value in write(self).items() if key != "evidence" or value is not None}


class System(Protocol):
    """Judges the turns of a data set. Whatever it is, it answers with reports, so that every figure comes from the same form.

    A system that judges whole turns reports one claim, the turn.
    """

    @property
    def info(self) -> SystemInfo: ...

    @property
    def why_exhausted(self) -> str | None:
        """Reason that it answers nothing more in this run, such as a spent budget. None while it does."""
        ...

    def judge(
        self, entry: LoggedConversation, turns: Collection[int], done: Sequence[TurnReport]
    ) -> AsyncIterator[TurnReport]:
        """Reports on these turns of the conversation, in their order, each as soon as it is there.

        Args:
            entry: the conversation. A system must not look at `labels` and `gold`; one may use the claims of its turns.
            turns: indices of the turns to report on.
            done: reports of an earlier run on turns of this conversation, which are not judged again.

        Raises:
            InputError: the conversation cannot be judged as it is.
            JudgeError: the judge as a whole cannot be asked.
        """
        ...

    async def forget(self, conversation_id: str) -> None:
        """Forgets a conversation. Called when its last turn is reported."""
        ...

    async def aclose(self) -> None: ...


def with_cost(settings: Mapping[str, Any], max_cost: float | None) -> dict[str, Any]:
    """The guard's settings, with a limit on what a model judge may cost in a run, in US dollars; no limit when None."""
    if max_cost is None:
        return dict(settings)
    model = settings.get("model", {})
    budget = model.get("budget", {})
    run = {**budget.get("run", {}), "cost": max_cost}
    return {**settings, "model": {**model, "budget": {**budget, "run": run}}}


POSITIVE: Mapping[Task, Label] = {
    Task.UNVERIFIABLE: Label.LACKING_EVIDENCE,
    Task.UNSUPPORTED: Label.LACKING_EVIDENCE,
    Task.CONTRADICTS: Label.CONTRADICTED,
    Task.ABSTAINS: Label.ABSTENTION,
}
"""The label of a positive turn, where nothing else is known of it. A negative one is VERIFIED."""


def whole_turn(turn: Turn, history: Sequence[Turn]) -> list[Claim]:
    """The turn as one claim; none where it says nothing.

    Examples:
        >>> [claim.text for claim in whole_turn(Turn(role="assistant", text="It is old."), [])]
        ['It is old.']
    """
    if not turn.text.strip():
        return []
    span = Span(start=0, end=len(turn.text))
    return [Claim(id=f"t{len(history)}.c1", text=writable(turn.text), span=span)]


def labelled_check(claim: Claim, label: Label, reason: str) -> Check:
    """A verdict with its label and reason, so that no other stage is asked for one."""
    finding = Finding(claim=claim, label=label, confidence=1.0, reason=reason)
    return Check(claim=claim, supported=label is Label.VERIFIED, confidence=1.0, finding=finding)


class LabellingJudge:
    """Stages shared by judges whose one claim is the turn, and whose verdict is its label."""

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        return whole_turn(turn, history)

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        return [ensemble.finding(check) for check in checks]


class AnyMaker:
    """Implements `HowMade` for a file of lines that is told apart elsewhere, or may have several makers."""

    def claim(self, path: Path, *, empty: bool) -> None:
        """Takes any file."""
