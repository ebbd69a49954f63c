"""Any metric that scores one turn, as a judge: it passes or it fails, and what it cannot score is unchecked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from vista_guard.errors import JudgeError
from vista_guard.evaluation.datasets.published.dataset import Task
from vista_guard.evaluation.systems.verdicts import POSITIVE, labelled, whole_turn
from vista_guard.judges.composed import calls
from vista_guard.types import Check, Claim, EvidenceSet, Finding, JudgeInfo, Label, Role, Turn, Unchecked


@dataclass(frozen=True)
class Case:
    """What a metric gets to see: the answer, the passages of its documents, and what was said before it."""

    answer: str
    passages: tuple[str, ...]
    history: tuple[Turn, ...]

    @property
    def question(self) -> str:
        """What the user said last before the answer; empty when nothing."""
        return next((turn.text for turn in reversed(self.history) if turn.role is Role.USER), "")

    @property
    def spoken(self) -> list[tuple[Role, str]]:
        """The conversation with the answer at its end; what is neither user's nor assistant's is left out."""
        said = [(turn.role, turn.text) for turn in self.history if turn.role in (Role.USER, Role.ASSISTANT)]
        return [*said, (Role.ASSISTANT, self.answer)]


@dataclass(frozen=True)
class Scored:
    """What a metric says: whether the answer passes, and why, its score included."""

    passed: bool
    why: str


class Scorer(Protocol):
    """A metric behind its library's API."""

    @property
    def name(self) -> str: ...

    @property
    def version(self) -> str:
        """The library's version, and what of the metric decides: its threshold and its model."""
        ...

    async def score(self, case: Case) -> Scored:
        """Scores one answer. Whatever it raises makes the turn unchecked."""
        ...


class MetricJudge:
    """Implements `Judge`: the one claim is the turn, and a turn that fails is what the task looks for.

    A guard shows it the conversation with `context="full"`.
    """

    def __init__(self, scorer: Scorer, task: Task) -> None:
        self._scorer = scorer
        self._label = POSITIVE[task]
        self.info = JudgeInfo(name=scorer.name, version=scorer.version)

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """The turn itself."""
        return whole_turn(turn, history)

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """Whether it passes."""
        return [await self._judged(claim, evidence) for claim in claims]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """What `verify` said."""
        return [calls.finding(check) for check in checks]

    async def _judged(self, claim: Claim, evidence: EvidenceSet) -> Check | Unchecked:
        case = Case(claim.text, tuple(passage.text for passage in evidence.documents), evidence.history)
        try:
            said = await self._scorer.score(case)
        except JudgeError as exc:
            return Unchecked(claim=claim, error=str(exc))
        except Exception as exc:
            # A metric is somebody else's code. Whatever it raises, the turn was not scored.
            return Unchecked(claim=claim, error=f"{self.info.name} failed: {type(exc).__name__}: {exc}")
        return labelled(claim, Label.VERIFIED if said.passed else self._label, said.why)
