"""Several judges that vote, and helpers of every judge around judges: fingerprints of questions, answers within the contract."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, TypeVar

from pydantic import BaseModel

from vista_guard.errors import ConfigError
from vista_guard.judges import contract
from vista_guard.policy.explanations import WORST
from vista_guard.protocols import Judge, TurnJudge
from vista_guard.types import UNCHECKED, Check, Claim, Evidence, EvidenceSet, Finding, JudgeInfo, Label, Turn, Unchecked

T = TypeVar("T")


_PLACE: Any = {"__all__": {"headings", "found"}}
NOT_ASKED: Any = {"evidence": _PLACE, "counter_evidence": _PLACE, "finding": {"evidence": _PLACE, "nearest": True}}
"""Parts of a check that are not part of a question: how the document store found its evidence."""


def fingerprint(*parts: Any) -> str:
    """SHA-256, 64 hex digits, of the parts' canonical JSON. Parts are JSON types, models, or sequences of models."""
    return sha256(json.dumps(_to_json(parts), sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def _to_json(part: Any) -> Any:
    if isinstance(part, BaseModel):
        return part.model_dump(mode="json", exclude=NOT_ASKED if isinstance(part, Check) else None)
    return [_to_json(item) for item in part] if isinstance(part, list | tuple) else part


def judge_names(judges: Sequence[Judge]) -> list[str]:
    """The judges' names for a report, each once: with versions for equal names, and numbered if these are equal too."""
    infos = [judge.info for judge in judges]
    twice = [info.name for info in infos]
    names = [info.name if twice.count(info.name) == 1 else f"{info.name} {info.version}" for info in infos]
    return [
        name if names.count(name) == 1 else f"{name} #{names[: place + 1].count(name)}"
        for place, name in enumerate(names)
    ]


def why_exhausted(*parts: object) -> str | None:
    """Why one of the judges and decomposers makes no more calls in this run; None while all do."""
    return next((why for part in parts if (why := getattr(part, "why_exhausted", None)) is not None), None)


async def aclose(*parts: object) -> None:
    """Closes the judges, decomposers and verifiers that can be closed."""
    for part in parts:
        close = getattr(part, "aclose", None)
        if close is not None:
            await close()


def warm(*parts: object) -> None:
    """Loads what the judges' first turn would load. Blocks.

    Raises:
        ConfigError: a file of a model is missing or damaged.
    """
    for part in parts:
        load = getattr(part, "warm", None)
        if load is not None:
            load()


async def judge_turn(
    judge: Judge, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet
) -> Sequence[Check | Unchecked] | None:
    """The judge's verdicts on the whole turn; None if it must be asked stage by stage."""
    return await judge.judge_turn(turn, history, evidence) if isinstance(judge, TurnJudge) else None


async def label(judge: Judge, answers: Sequence[Check | Unchecked], evidence: EvidenceSet) -> list[Check | Unchecked]:
    """Adds a `finding` to every unsupported check, by `categorize`; `Unchecked` replaces a check whose category failed."""
    checks = [answer for answer in answers if isinstance(answer, Check) and not answer.supported]
    labels = iter(await contract.categorize(judge, checks, evidence))
    return [
        _with_finding(answer, next(labels)) if isinstance(answer, Check) and not answer.supported else answer
        for answer in answers
    ]


def _with_finding(check: Check, finding: Finding | Unchecked) -> Check | Unchecked:
    return finding if isinstance(finding, Unchecked) else check.model_copy(update={"finding": finding})


def finding(answer: Check | Unchecked) -> Finding | Unchecked:
    """The finding with `label` for an unsupported check."""
    if isinstance(answer, Unchecked):
        return answer
    return answer.finding or Unchecked(claim=answer.claim, error="a supported claim has no category")


async def gather(questions: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Awaits all concurrently. If one raises, the others are cancelled."""
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(question) for question in questions]
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from None
    return [task.result() for task in tasks]


SEVERITY = tuple(Label(label) for label in WORST if label not in (Label.VERIFIED, UNCHECKED))
"""Most severe first: the more severe label wins a tie."""

_Votes = dict[str, Check]


class JudgeAround:
    """Implements `Judge` around another one, which answers whatever a subclass does not.

    It has no `judge_turn`, which would bypass the methods of a subclass. Budgets, loading and closing concern the judge and the
    `others`: decomposers, further judges.

    Example:
        >>> from vista_guard.testing import ScriptedJudge
        >>> class Renamed(JudgeAround):
        ...     info = JudgeInfo(name="house", version="1")
        >>> Renamed(ScriptedJudge({})).info.name
        'house'
    """

    _others: tuple[object, ...] = ()

    def __init__(self, judge: Judge, *others: object) -> None:
        self._judge = judge
        self._others = others

    @property
    def info(self) -> JudgeInfo:
        """The inner judge's info."""
        return self._judge.info

    @property
    def why_exhausted(self) -> str | None:
        """The first spent budget, as in `ChatModel.why_exhausted`."""
        return why_exhausted(self._judge, *self._others)

    def warm(self) -> None:
        """Loads what the first turn would load. Blocks."""
        warm(self._judge, *self._others)

    async def aclose(self) -> None:
        """Closes the judge and the others; everything else is the caller's."""
        await aclose(self._judge, *self._others)

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """Implements `Judge.decompose`."""
        return await self._judge.decompose(turn, history)

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """Implements `Judge.verify`."""
        return await self._judge.verify(claims, evidence)

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """Implements `Judge.categorize`."""
        return await self._judge.categorize(checks, evidence)


class EnsembleJudge(JudgeAround):
    """Implements `TurnJudge`. The first judge takes turns apart; all judge its claims, at once.

    A claim is supported if more than half of the judges that answered support it; a tie is no support. Its label is the most
    frequent one among those that do not support it, the more severe one on a tie. `confidence` is the share of *all* judges
    that agree, each with one vote: their own confidences are not on one scale, and a judge that did not answer does not
    agree. Evidence comes from the judges that agree; `judged_by` lists them. If fewer than half of the judges answered, the
    claim is unchecked; likewise for the label, among those asked for one.
    """

    def __init__(self, judges: Sequence[Judge]) -> None:
        """Takes the judges, the one that takes turns apart first.

        Raises:
            ConfigError: there are fewer than two.
        """
        if len(judges) < 2:
            raise ConfigError(f"an ensemble needs two judges or more; got {len(judges)}")
        super().__init__(*judges)
        self._judges = tuple(judges)

    @property
    def info(self) -> JudgeInfo:
        infos = [judge.info for judge in self._judges]
        return JudgeInfo(
            name=f"ensemble:{','.join(info.name for info in infos)}",
            version="; ".join(f"{info.name} {info.version}" for info in infos),
        )

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """Implements `Judge.verify`. Unsupported checks have their `finding`: the votes are known only here."""
        answers = await gather(contract.verify(judge, claims, evidence) for judge in self._judges)
        return await self._agreed_checks(claims, answers, evidence)

    async def judge_turn(
        self, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet
    ) -> Sequence[Check | Unchecked] | None:
        """Implements `TurnJudge.judge_turn`. None unless the first judge supports it; the others verify its claims."""
        first = await judge_turn(self._judges[0], turn, history, evidence)
        if first is None:
            return None
        claims = [answer.claim for answer in first]
        others = await gather(contract.verify(judge, claims, evidence) for judge in self._judges[1:])
        return await self._agreed_checks(claims, [list(first), *others], evidence)

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """Implements `Judge.categorize`. Checks of `verify` have findings already; other checks go to all judges."""
        names = judge_names(self._judges)
        votes: list[_Votes] = [dict.fromkeys(names, check) for check in checks]
        labelled = await self._labels(checks, votes, evidence)
        return [finding(answer) for answer in labelled]

    async def _agreed_checks(
        self, claims: Sequence[Claim], answers: Sequence[Sequence[Check | Unchecked]], evidence: EvidenceSet
    ) -> list[Check | Unchecked]:
        names = judge_names(self._judges)
        votes: list[_Votes] = []
        agreed: list[Check | Unchecked] = []
        for claim, column in zip(claims, zip(*answers, strict=True), strict=True):
            by_name = dict(zip(names, column, strict=True))
            vote = {name: answer for name, answer in by_name.items() if isinstance(answer, Check)}
            quorum = 2 * len(vote) >= len(names)
            votes.append(vote)
            agreed.append(self._check(claim, vote) if quorum else _as_unchecked(claim, len(vote), by_name))
        return await self._labels(agreed, votes, evidence)

    def _check(self, claim: Claim, votes: _Votes) -> Check:
        supporting = {name: check for name, check in votes.items() if check.supported}
        supported = 2 * len(supporting) > len(votes)
        agreeing = supporting if supported else {name: vote for name, vote in votes.items() if not vote.supported}
        return Check(
            claim=claim,
            supported=supported,
            confidence=len(agreeing) / len(self._judges),
            evidence=_union(check.evidence for check in agreeing.values()) if supported else (),
            counter_evidence=_union(check.counter_evidence for check in agreeing.values()) if not supported else (),
            judged_by=", ".join(agreeing),
        )

    async def _labels(
        self, agreed: Sequence[Check | Unchecked], votes: Sequence[_Votes], evidence: EvidenceSet
    ) -> list[Check | Unchecked]:
        """Labels unsupported answers by the judges that do not support them; the others are not asked."""
        names = judge_names(self._judges)
        unlabelled = {
            answer.claim.id: answer
            for answer in agreed
            if isinstance(answer, Check) and not answer.supported and answer.finding is None
        }
        # Not a judge that supports the claim, nor one that did not answer.
        failing = [{name: ballot for name, ballot in vote.items() if not ballot.supported} for vote in votes]
        checks_by_judge = [
            [vote[name] for vote in failing if name in vote and vote[name].claim.id in unlabelled] for name in names
        ]
        columns = await gather(
            label(judge, checks, evidence) for judge, checks in zip(self._judges, checks_by_judge, strict=True)
        )
        answers: dict[str, dict[str, Check | Unchecked]] = {claim_id: {} for claim_id in unlabelled}
        for name, column in zip(names, columns, strict=True):
            for answer in column:
                answers[answer.claim.id][name] = answer
        labelled = {claim_id: self._with_label(check, answers[claim_id]) for claim_id, check in unlabelled.items()}
        return [labelled.get(answer.claim.id, answer) for answer in agreed]

    def _with_label(self, check: Check, answers: dict[str, Check | Unchecked]) -> Check | Unchecked:
        findings = {
            name: answer.finding
            for name, answer in answers.items()
            if isinstance(answer, Check) and answer.finding is not None
        }
        if not findings or 2 * len(findings) < len(answers):
            return _as_unchecked(check.claim, len(findings), answers)
        votes = Counter(finding.label for finding in findings.values())
        label = max(SEVERITY, key=lambda candidate: votes[candidate])
        agreeing = {name: finding for name, finding in findings.items() if finding.label is label}
        finding = Finding(
            claim=check.claim,
            label=label,
            confidence=len(agreeing) / len(self._judges),
            evidence=_union(finding.evidence for finding in agreeing.values()),
            reason=next(iter(agreeing.values())).reason,
            judged_by=", ".join(agreeing),
        )
        return check.model_copy(update={"finding": finding})


def _as_unchecked(claim: Claim, count: int, answers: Mapping[str, Check | Unchecked]) -> Unchecked:
    errors = "; ".join(f"{name}: {answer.error}" for name, answer in answers.items() if isinstance(answer, Unchecked))
    return Unchecked(claim=claim, error=f"only {count} of {len(answers)} judges answered; {errors}")


def _union(groups: Iterable[Sequence[Evidence]]) -> tuple[Evidence, ...]:
    """Each quote once, with the first judge's score."""
    quotes: dict[tuple[str, str, str], Evidence] = {}
    for evidence in groups:
        for piece in evidence:
            quotes.setdefault((piece.source, piece.source_id, piece.quote), piece)
    return tuple(quotes.values())
