"""A judge that is not asked twice about the same claim of a turn that is still being written."""

from __future__ import annotations

from collections.abc import Sequence

from vista_guard.judges import contract
from vista_guard.protocols import Judge
from vista_guard.types import Check, Claim, EvidenceSet, Finding, JudgeInfo, Turn, Unchecked

_NEVER = -1


class Memo:
    """Implements `TurnJudge` over any judge, for one turn. Claims are known again by their words.

    While the turn is written an answer holds, whatever other evidence the longer text brings to light. Once it is complete
    only verdicts on the evidence of the whole turn hold, and what could not be judged is asked again.
    """

    def __init__(self, judge: Judge) -> None:
        self._judge = judge
        self._evidence: EvidenceSet | None = None
        self._gathered = 0
        self._complete = False
        self._checks: dict[str, tuple[int, Check | Unchecked]] = {}
        self._findings: dict[str, tuple[Check, Finding | Unchecked]] = {}
        self._claims: tuple[str, Sequence[Claim]] | None = None
        self._verdicts: tuple[str, EvidenceSet, Sequence[Check | Unchecked] | None] | None = None

    @property
    def info(self) -> JudgeInfo:
        return self._judge.info

    def complete(self) -> None:
        """From now on it is the whole turn that is judged."""
        self._complete = True
        self._findings = {text: known for text, known in self._findings.items() if isinstance(known[1], Finding)}

    def renew(self) -> None:
        """There is new evidence: it may support what lacked support, and contradict what had it."""
        self._checks.clear()
        self._findings.clear()

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        """As the judge's own. The last sentence was judged before it was known to be the last."""
        if self._claims is None or self._claims[0] != turn.text:
            self._claims = (turn.text, await contract.decompose(self._judge, turn, history))
        return self._claims[1]

    async def judge_turn(
        self, turn: Turn, history: Sequence[Turn], evidence: EvidenceSet
    ) -> Sequence[Check | Unchecked] | None:
        """As the judge's own, where it has that."""
        known = self._verdicts
        if known is None or known[0] != turn.text or known[1] != evidence:
            known = (turn.text, evidence, await contract.judge_turn(self._judge, turn, history, evidence))
            self._verdicts = known
        return known[2]

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        """Asks about the claims that are new."""
        if evidence is not self._evidence and evidence != self._evidence:
            self._gathered += 1
        self._evidence = evidence
        known = [self._known_check(claim) for claim in claims]
        new = [claim for claim, answer in zip(claims, known, strict=True) if answer is None]
        fresh = iter(await contract.verify(self._judge, new, evidence))
        return [self._keep_check(next(fresh)) if answer is None else answer for answer in known]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        """Asks about the checks that are new."""
        known = [self._known_finding(check) for check in checks]
        new = [check for check, answer in zip(checks, known, strict=True) if answer is None]
        fresh = zip(new, await contract.categorize(self._judge, new, evidence), strict=True)
        return [self._keep_finding(*next(fresh)) if answer is None else answer for answer in known]

    def _keep_check(self, answer: Check | Unchecked) -> Check | Unchecked:
        gathered = self._gathered if isinstance(answer, Check) else _NEVER
        self._checks[answer.claim.text] = (gathered, answer)
        return answer

    def _keep_finding(self, check: Check, answer: Finding | Unchecked) -> Finding | Unchecked:
        self._findings[check.claim.text] = (check, answer)
        return answer

    def _known_check(self, claim: Claim) -> Check | Unchecked | None:
        gathered, answer = self._checks.get(claim.text, (_NEVER, None))
        if answer is None or (self._complete and gathered != self._gathered):
            return None
        if isinstance(answer, Unchecked):
            return answer.model_copy(update={"claim": claim})
        return _of(answer, claim)

    def _known_finding(self, check: Check) -> Finding | Unchecked | None:
        known, answer = self._findings.get(check.claim.text, (None, None))
        if known is None or answer is None or _of(known, check.claim) != check:
            return None
        return answer.model_copy(update={"claim": check.claim})


def _of(check: Check, claim: Claim) -> Check:
    """The verdict on the same words at their present place in the turn."""
    finding = check.finding and check.finding.model_copy(update={"claim": claim})
    return check.model_copy(update={"claim": claim, "finding": finding})
