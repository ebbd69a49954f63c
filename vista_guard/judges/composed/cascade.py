"""A cheap judge first, an expensive one for its unsure labels.

Trust in a label is a logistic regression (docs/design/cascade.md), fitted by `python -m training.cascade`: it never falls as
the judge's confidence rises, other signals being equal.
"""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Literal

from vista_guard.errors import ConfigError
from vista_guard.judges import contract
from vista_guard.judges.composed import ensemble
from vista_guard.judges.composed.ensemble import JudgeAround
from vista_guard.judges.contract import meter
from vista_guard.protocols import Judge
from vista_guard.types import Check, Claim, EvidenceSet, Finding, JudgeInfo, Label, SourceKind, Turn, Unchecked

WEIGHTS: Mapping[str, float] = {
    "is VERIFIED": -0.66,
    "is OUT_OF_SCOPE": 0.54,
    "is LACKING_EVIDENCE": 0.53,
    "is ABSTENTION": 1.84,
    "is CONTRADICTED": -4.52,
    "sure VERIFIED": 0.38,
    "sure OUT_OF_SCOPE": 0.54,
    "sure LACKING_EVIDENCE": 0.47,
    "speaker VERIFIED": -2.31,
    "speaker OUT_OF_SCOPE": 3.34,
    "speaker LACKING_EVIDENCE": -5.03,
    "quoted": 3.22,
    "known": -2.39,
}
"""Fitted on the embedded judge with weights 1.1.0."""
BIAS = -0.08

_SURE = (Label.VERIFIED, Label.LACKING_EVIDENCE, Label.OUT_OF_SCOPE)
"""Labels common enough to learn from their confidences; the others have one trust per kind."""
_SPEAKER = re.compile(r"\b(?:assistant|user|agent|wizard|apprentice|speaker)\b", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+")
_EMPTY = frozenset(
    _WORD.findall(
        """a an the is are was were be been of in on at to and or for with by as it its this that he she they his her their
        there has have had do does did not can will would from one some very also about"""
    )
)
_STEM = 5
"""Letters that two words share to count as the same: "opened" and "opening" do."""


SECOND_SHARE = 0.9
"""Share of the time left in which the second judge must answer."""


def trust(check: Check) -> float:
    """Probability in (0, 1) that the check's final label is right. An unsupported check needs its `finding`."""
    score = BIAS + sum(WEIGHTS.get(name, 0.0) * value for name, value in signals(check).items())
    return 1.0 / (1.0 + math.exp(-score))


def signals(check: Check) -> dict[str, float]:
    """Features of the label: its kind, the log-odds of its confidence, and signals against each kind."""
    finding = None if check.supported else check.finding
    label = finding.label if finding else Label.VERIFIED
    sure = min(max(finding.confidence if finding else check.confidence, 0.02), 0.98)
    values = {f"is {label}": 1.0}
    if label in _SURE:
        values[f"sure {label}"] = math.log(sure / (1.0 - sure))
        values[f"speaker {label}"] = float(_SPEAKER.search(check.claim.text) is not None)
    if label is Label.VERIFIED:
        values["quoted"] = _quoted_share(check)
        values["known"] = float(bool(check.evidence) and check.evidence[0].source is not SourceKind.DOCUMENT)
    return values


def _quoted_share(check: Check) -> float:
    """Share of the claim's words in its evidence, in [0, 1]."""
    stems = _stems(check.claim.text)
    quoted = _stems(" ".join(f"{piece.quote} {piece.title or ''}" for piece in check.evidence))
    return len(stems & quoted) / len(stems) if stems else 1.0


def _stems(text: str) -> set[str]:
    return {word[:_STEM] for word in map(str.lower, _WORD.findall(text)) if word not in _EMPTY}


DEFAULT_THRESHOLD = 0.84
"""Minimum trust to keep the first judge's label: the knee in docs/design/cascade.md."""


class CascadeJudge(JudgeAround):
    """Implements `TurnJudge`. The first judge verifies and categorises; the second repeats this for claims with less trust
    than `threshold`. `judged_by` names the judge.

    Claims that the first judge cannot judge go to the second. Claims that the second cannot judge, because it is down or
    its budget is spent, are unchecked, or keep the first judge's label; the report warns either way. A contradiction that the
    first judge found is always kept: `unconfirmed`, unless labels are kept anyway.
    """

    def __init__(
        self,
        first: Judge,
        second: Judge,
        *,
        threshold: float = DEFAULT_THRESHOLD,
        decompose: Literal["first", "second"] = "first",
        on_second_failure: Literal["keep_first", "unchecked"] = "unchecked",
        trust: Callable[[Check], float] = trust,
    ) -> None:
        """Puts two judges in a row.

        Args:
            first: judges every claim.
            second: judges the claims that the first is not sure of.
            threshold: minimum trust to keep the first judge's label, in [0, 1]; 0 never asks the second judge, 1 nearly
                always.
            decompose: the judge that decomposes.
            on_second_failure: whether claims that the second judge fails on are unchecked, unless the first found a
                contradiction, or keep the first's label.
            trust: probability in [0, 1] that the first judge's check is right; an unsupported one has its `finding`. The
                default is fitted for the embedded judge; see `vista_guard.judges.composed.cascade`.

        Raises:
            ConfigError: the threshold is outside [0, 1].
        """
        if not 0.0 <= threshold <= 1.0:
            raise ConfigError(f"the cascade's threshold is {threshold}; it must lie in [0, 1]")
        super().__init__(first, second)
        self._first = first
        self._second = second
        self._threshold = threshold
        self._decompose = decompose
        self._keeps_first = on_second_failure == "keep_first"
        self._trust = trust

    @property
    def info(self) -> JudgeInfo:
        first, second = self._first.info, self._second.info
        versions = f"{first.name} {first.version}; {second.name} {second.version}"
        fallback = "; keeps first" if self._keeps_first else ""
        return JudgeInfo(
            name=f"cascade:{first.name},{second.name}",
            version=f"{versions}; threshold {self._threshold:g}; claims of {self._decompose}{fallback}",
        )

    @property
    def why_exhausted(self) -> str | None:
        """Why it stopped: the first judge's spent budget, or the second's, unless the first's labels are kept."""
        needed = (self._first,) if self._keeps_first else (self._first, self._second)
        return ensemble.why_exhausted(*needed)

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """Implements `Judge.decompose`."""
        return await (self._first if self._decompose == "first" else self._second).decompose(turn, history)

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """Implements `Judge.verify`. Every unsupported check has its `finding`: the label decides which judge it goes to."""
        return await self._pass_on(await contract.verify(self._first, claims, evidence), evidence)

    async def judge_turn(
        self, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet
    ) -> Sequence[Check | Unchecked] | None:
        """Implements `TurnJudge.judge_turn`. None unless the first judge supports it and decomposes."""
        if self._decompose == "second":
            return None
        answers = await ensemble.judge_turn(self._first, turn, history, evidence)
        return None if answers is None else await self._pass_on(answers, evidence)

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """Implements `Judge.categorize`. Checks of `verify` have findings already; other checks go to the second judge."""
        answers = await ensemble.label(self._second, checks, evidence)
        return [ensemble.finding(answer) for answer in answers]

    async def _pass_on(self, answers: Sequence[Check | Unchecked], evidence: EvidenceSet) -> list[Check | Unchecked]:
        """The first judge's answers where it is sure, else the second's."""
        first, second = ensemble.judge_names((self._first, self._second))
        judged = [_sign(first, answer) for answer in await ensemble.label(self._first, answers, evidence)]
        claims = [answer.claim for answer in judged if self._is_unsure(answer)]
        again = {answer.claim.id: _sign(second, answer) for answer in await self._ask_second(claims, evidence)}
        failed = [answer for answer in again.values() if isinstance(answer, Unchecked)]
        if failed:
            what = (
                "keep what the first judge found"
                if self._keeps_first
                else f"are unchecked unless {first} found a contradiction"
            )
            meter().warn(
                f"{second} could not judge {len(failed)} of {len(again)} claims passed on to it, which {what}: {failed[0].error}"
            )
        return [self._settle(answer, again.get(answer.claim.id)) for answer in judged]

    def _settle(self, judged: Check | Unchecked, again: Check | Unchecked | None) -> Check | Unchecked:
        """The second judge's answer; the first's where the second was not asked, or failed and nothing better is known."""
        if again is None or (isinstance(again, Unchecked) and self._keeps_first):
            return judged
        found = judged.finding if isinstance(judged, Check) else None
        if isinstance(again, Check) or found is None or found.label is not Label.CONTRADICTED:
            return again
        reason = f"{found.reason} (Not confirmed: the second judge failed.)".lstrip()
        kept = found.model_copy(update={"reason": reason, "unconfirmed": True})
        return judged.model_copy(update={"finding": kept})

    async def _ask_second(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """The second judge's labels. It gets most of the time that is left: if it never ends, the first judge's answers count."""
        left = contract.seconds_left()
        share = None if left is None else SECOND_SHARE * left
        try:
            with nullcontext() if share is None else contract.due_in(share):
                async with asyncio.timeout(share):
                    checks = await contract.verify(self._second, claims, evidence)
                    return await ensemble.label(self._second, checks, evidence)
        except TimeoutError:
            error = f"{self._second.info.name} did not answer within the turn's time (limits.judge_seconds)"
            return [Unchecked(claim=claim, error=error) for claim in claims]

    def _is_unsure(self, answer: Check | Unchecked) -> bool:
        if isinstance(answer, Unchecked):
            return answer.what != "code"  # No judge proves code; the second may be able to read encoded text.
        return self._trust(answer) < self._threshold


def _sign(name: str, answer: Check | Unchecked) -> Check | Unchecked:
    """The answer with `judged_by`, unless an inner judge has set it."""
    if isinstance(answer, Unchecked):
        return answer
    signer = answer.judged_by or name
    finding = answer.finding and answer.finding.model_copy(update={"judged_by": answer.finding.judged_by or signer})
    return answer.model_copy(update={"judged_by": signer, "finding": finding})
