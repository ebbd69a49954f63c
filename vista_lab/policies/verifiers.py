"""Temperature and thresholds of a verifier, from labelled claims: the challenge's development half, or your own pairs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import lru_cache
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from vista_guard.errors import InputError
from vista_guard.guard import Guard
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.judges.verifiers.calibrated import (  # fmt: skip
    CalibratedVerifier,
    FittedOn,
    Thresholds,
    VerifierCalibration,
    apply_temperature,
)
from vista_guard.protocols import Embedder, Verifier
from vista_guard.settings.model import LabelName
from vista_guard.types import (
    Check,
    Claim,
    Conversation,
    Document,
    EvidenceSet,
    Finding,
    JudgeInfo,
    Label,
    Role,
    Span,
    Turn,
    Unchecked,
)
from vista_lab.files import reading
from vista_lab.metrics.intervals import bootstrap_interval
from vista_lab.policies.challenge import read_items
from vista_lab.training.rows import LABELS

_GOLD: dict[Label, LabelName] = {
    Label.VERIFIED: "supported",
    Label.CONTRADICTED: "contradicted",
    Label.LACKING_EVIDENCE: "not_enough",
}


@dataclass(frozen=True)
class Case:
    """One claim. `evidence` decides it by itself; `turn` makes it beside all of its documents; `document` names those."""

    evidence: str
    claim: str
    gold: LabelName
    turn: Conversation
    document: str


class _Pair(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    evidence: str
    claim: str
    label: LabelName
    document: str | None = None


def challenge_cases(documents: int | None = None) -> list[Case]:
    """The claims of the challenge's development half that a source can support or refute; of its first `documents` alone."""
    cases = []
    for item in islice(read_items(), documents):
        for pair in item.pairs:
            for member in (side for side in (pair.right, pair.wrong) if side.label in _GOLD):
                gold, turn = _GOLD[member.label], item.saying(member.text)
                cases.append(Case(" ".join(pair.gold), member.text, gold, turn, item.id))
    return cases


def read_cases(file: Path) -> list[Case]:
    """Your own pairs: JSON lines with `evidence`, `claim`, `label` (supported, contradicted or not_enough), and
    `document` where several lines share one.

    Raises InputError: the file cannot be read, or a line is something else, which it names; or there are too few.
    """
    with reading(file):
        lines = file.read_text(encoding="utf-8").splitlines()
    cases = [_own_case(file, number, line) for number, line in enumerate(lines, 1) if line.strip()]
    check_enough(str(file), cases)
    return _among_others(cases)


OTHERS = 20
"""Most documents beside a claim's own evidence."""


def _among_others(cases: Sequence[Case]) -> list[Case]:
    """The cases as in use: each claim is judged among other documents, one piece of evidence of each."""
    others = {case.document: case.turn.turns[-1].documents[0] for case in reversed(cases)}

    def among(case: Case) -> Case:
        beside = (document for name, document in others.items() if name != case.document)
        turn = case.turn.turns[-1]
        turn = turn.model_copy(update={"documents": (*turn.documents, *islice(beside, OTHERS))})
        return replace(case, turn=case.turn.model_copy(update={"turns": (turn,)}))

    return [among(case) for case in cases]


LEAST_CLAIMS, LEAST_DOCUMENTS, LEAST_OF_LABEL = 100, 10, 30
"""With fewer, thresholds follow single claims: of 68 claims of four documents, "contradicted" came to begin at .19."""


def check_enough(source: str, cases: Sequence[Case]) -> None:
    """Checks that there are enough claims, documents and claims of each label to fit.

    Raises InputError: there are not; says what there is, what is needed, and how to get it.
    """
    counts, documents = Counter(case.gold for case in cases), len({case.document for case in cases})
    enough = len(cases) >= LEAST_CLAIMS and documents >= LEAST_DOCUMENTS
    if not enough or any(counts[label] < LEAST_OF_LABEL for label in LABELS):
        found = ", ".join(f"{counts[label]} {label}" for label in LABELS)
        raise InputError(
            f"{source} has {len(cases)} claims of {documents} documents ({found}); a calibration needs {LEAST_CLAIMS} claims of "
            f"{LEAST_DOCUMENTS} documents, {LEAST_OF_LABEL} of each label. Use more documents, or more passages of each "
            "(oasis generate --per-document); oasis export adds not_enough rows; or leave --pairs out to fit on the challenge"
        )


def _own_case(file: Path, number: int, line: str) -> Case:
    example = '{"evidence": "…", "claim": "…", "label": "supported" | "contradicted" | "not_enough"}'
    with reading(f"{file} line {number}", f"; a line is {example}"):
        pair = _Pair.model_validate_json(line)
    document = Document(id=f"line {number}", text=pair.evidence)
    claims = (Claim(id="c1", text=pair.claim, span=Span(start=0, end=len(pair.claim))),)
    turn = Turn(role=Role.ASSISTANT, text=pair.claim, documents=(document,), claims=claims)
    return Case(pair.evidence, pair.claim, pair.label, Conversation(turns=(turn,)), pair.document or f"line {number}")


@dataclass(frozen=True)
class ClaimScores:
    """The judge's probabilities for one claim over all of its evidence, in [0, 1]."""

    supported: float
    contradicted: float
    """Of what may refute the claim; 0 for a supported claim, which the judge does not hold against anything further."""


NOTHING = ClaimScores(0.0, 0.0)


class MeasuredJudge:
    """Implements `Judge`: the embedded judge, which keeps its scores by claim id.

    It runs with a contradiction threshold of 0, so that every probability of a refutation is seen, and drops those below
    the shipped threshold from its answers, as the shipped judge does.
    """

    def __init__(self, judge: EmbeddedJudge, contradicted: float) -> None:
        self._judge = judge
        self._contradicted = contradicted
        self.measured: dict[str, ClaimScores] = {}

    @property
    def info(self) -> JudgeInfo:
        return self._judge.info

    async def decompose(self, turn: Turn, history: Sequence[Turn]) -> Sequence[Claim]:
        return await self._judge.decompose(turn, history)

    async def verify(self, claims: Sequence[Claim], evidence: EvidenceSet) -> Sequence[Check | Unchecked]:
        return [self._keep_scores(check) for check in await self._judge.verify(claims, evidence)]

    async def categorize(self, checks: Sequence[Check], evidence: EvidenceSet) -> Sequence[Finding | Unchecked]:
        return await self._judge.categorize(checks, evidence)

    def _keep_scores(self, check: Check | Unchecked) -> Check | Unchecked:
        if isinstance(check, Unchecked):
            return check
        against = tuple(piece for piece in check.counter_evidence if piece.score >= self._contradicted)
        worst = max((piece.score for piece in check.counter_evidence), default=0.0)
        support = check.confidence if check.supported else 1.0 - check.confidence
        self.measured[check.claim.id] = ClaimScores(support, worst)
        return check.model_copy(update={"counter_evidence": against})


FOLDS = 5
FALSE_CONTRADICTIONS: dict[LabelName, float] = {"supported": 0.01, "not_enough": 0.05}
"""Most claims of each kind that may be called contradicted: what is contradicted may be blocked. As for the shipped verifier."""
COLDEST, HOTTEST = 0.5, 4.0
"""A verifier whose best temperature is the hottest hardly discriminates: its confident answers are wrong too often."""
NEVER = 1.0
UNLIKELY = 0.5
"""A threshold below it gives a claim a label that is not the likelier one."""
SURE = 1e-6
"""Closer to 0 or 1 than this a probability is a plain yes or no, which no temperature changes."""


@dataclass(frozen=True)
class ClaimReading:
    """One claim as the embedded judge saw it over all of its evidence: the highest P(supported) and P(contradicted)."""

    gold: LabelName
    document: str
    supported: float
    contradicted: float


@dataclass(frozen=True)
class CrossFitted:
    """Shares over claims of documents that the thresholds were not fitted on."""

    supported_or_not: float
    contradicted_precision: float | None


def best_temperature(rows: NDArray[np.float32], gold: Sequence[LabelName]) -> float:
    """The temperature, between `COLDEST` and `HOTTEST`, at which the labels are likeliest.

    Args:
        rows: probabilities (claims, 3) at temperature 1, each claim against the evidence that decides it.
        gold: the claims' labels. A verifier that never says "contradicted" is held to supported or not.
    """
    if bool((np.minimum(rows, 1.0 - rows) < SURE).all()):
        return 1.0
    columns = np.array([LABELS.index(label) for label in gold])
    three = bool((rows[:, LABELS.index("contradicted")] > SURE).any())

    def cost(temperature: float) -> float:
        shares = apply_temperature(np.clip(rows, SURE / 10, None) if three else rows, temperature)
        supported = shares[:, 0]
        right = shares[np.arange(len(shares)), columns] if three else np.where(columns == 0, supported, 1 - supported)
        return float(-np.log(np.clip(right, SURE, 1)).mean())

    return float(min(np.round(np.geomspace(COLDEST, HOTTEST, 43), 2), key=cost))


def fit(claims: Sequence[ClaimReading]) -> Thresholds:
    """The thresholds: supported by the best mean of both recalls, contradicted as low as `FALSE_CONTRADICTIONS` lets it be."""
    supported = _best_split([claim.supported for claim in claims], [one.gold == "supported" for one in claims])
    return Thresholds(supported=supported, contradicted=_least_contradicted(claims))


def cross_fit(claims: Sequence[ClaimReading], folds: int = FOLDS) -> CrossFitted:
    """Cross-validates thresholds on documents that they were not fitted on, over `folds` parts of the documents."""
    documents = list(dict.fromkeys(judged.document for judged in claims))
    right = called = truly = counted = 0
    for fold in range(min(folds, len(documents))):
        held_out = set(documents[fold::folds])
        inside = [claim for claim in claims if claim.document not in held_out]
        if not 0 < sum(judged.gold == "supported" for judged in inside) < len(inside):
            continue
        limits = fit(inside)
        for judged in (judged for judged in claims if judged.document in held_out):
            verified = judged.supported >= limits.supported
            contradicted = not verified and judged.contradicted >= limits.contradicted
            counted += 1
            right += verified == (judged.gold == "supported")
            called += contradicted
            truly += contradicted and judged.gold != "supported"
    return CrossFitted(right / counted if counted else 0.0, truly / called if called else None)


def _best_split(scores: Sequence[float], positive: Sequence[bool]) -> float:
    """The middle of the best stretch of thresholds, by the mean of both recalls: one lucky threshold counts for little."""
    values = np.unique(np.array(scores))
    if len(values) < 2:
        return 0.5
    limits = (values[1:] + values[:-1]) / 2
    probs, truth = np.array(scores), np.array(positive)
    balanced = np.array([((probs >= limit)[truth].mean() + (probs < limit)[~truth].mean()) / 2 for limit in limits])
    width = max(1, len(limits) // 20)
    padded = np.pad(balanced, (width // 2, width - 1 - width // 2), mode="edge")
    smooth = np.convolve(padded, np.ones(width) / width, mode="valid")
    return round(float(limits[int(smooth.argmax())]), 4)


def _least_contradicted(claims: Sequence[ClaimReading]) -> float:
    """Counts supported claims whose support is seen, too: in other words it may not be, and they are true all the same."""
    limits = np.array(sorted({one.contradicted for one in claims if one.contradicted > SURE}))
    allowed = np.ones(len(limits), bool)
    for gold, most in FALSE_CONTRADICTIONS.items():
        of_label = [one for one in claims if one.gold == gold]
        against = np.sort([one.contradicted for one in of_label])
        allowed &= len(against) - np.searchsorted(against, limits) <= most * len(of_label)
    # Rounded up: down, a claim that must not be called contradicted would be.
    return min(NEVER, round(float(limits[allowed][0]) + 0.00005, 4)) if allowed.any() else NEVER


def intervals(claims: Sequence[ClaimReading]) -> tuple[Interval, Interval]:
    """95 % intervals of both thresholds: each fitted again to documents that are drawn with replacement."""

    def fitted(name: str) -> Callable[[NDArray[np.int64]], float]:
        return lambda rows: float(getattr(draws(tuple(rows.tolist())), name))

    @lru_cache(maxsize=DRAWS)
    def draws(rows: tuple[int, ...]) -> Thresholds:
        return fit([claims[row] for row in rows])

    documents = [claim.document for claim in claims]
    names = ("supported", "contradicted")
    supported, contradicted = (bootstrap_interval(documents, fitted(name), DRAWS) for name in names)
    return supported, contradicted


Interval = tuple[float, float]
DRAWS = 200


BLOCK = 32
"""Pairs between two reports of progress."""
NOTHING_SUPPORTED = 1.01
"""A threshold that nothing reaches, so that the judge also scores all counter-evidence."""

Progress = Callable[[int], None]


async def calibrate(
    verifier: Verifier,
    embedder: Embedder,
    cases: Sequence[Case],
    *,
    source: str,
    today: date,
    progress: Progress = lambda done: None,
) -> VerifierCalibration:
    """Temperature from each claim beside the evidence that decides it, thresholds from the claim among its documents.

    Args:
        verifier: without a calibration.
        embedder: finds the evidence, as in the embedded judge.
        cases: labelled claims, supported ones and others.
        source: name of the cases, for people.
        today: date of the calibration.
        progress: called with the number of finished steps; there are two per case.

    Raises:
        JudgeError: the verifier failed.
    """
    rows = _probabilities(verifier, cases, progress)
    temperature = best_temperature(rows, [case.gold for case in cases])
    unfitted = FittedOn(name=source, documents=1, claims=0, day=today, supported_or_not=0.0)
    open_limits = Thresholds(supported=0.5, contradicted=1.0)
    made = {"temperature": temperature, "thresholds": open_limits, "fitted_on": unfitted}
    draft = VerifierCalibration(verifier=verifier.name, **made)
    claims = await _judge_cases(CalibratedVerifier(verifier, draft), embedder, cases, progress)
    measured = cross_fit(claims)
    precision = measured.contradicted_precision
    supported, contradicted = intervals(claims)
    fitted = FittedOn(
        name=source,
        documents=len({claim.document for claim in claims}),
        claims=len(claims),
        day=today,
        supported_or_not=round(measured.supported_or_not, 4),
        contradicted_precision=None if precision is None else round(precision, 4),
        supported_interval=supported,
        contradicted_interval=contradicted,
    )
    return draft.model_copy(update={"thresholds": fit(claims), "fitted_on": fitted})


def _probabilities(verifier: Verifier, cases: Sequence[Case], progress: Progress) -> NDArray[np.float32]:
    rows = []
    for start in range(0, len(cases), BLOCK):
        block = cases[start : start + BLOCK]
        rows.append(verifier.probabilities([(case.evidence, case.claim) for case in block]))
        progress(len(block))
    return np.concatenate(rows)


async def _judge_cases(
    verifier: Verifier, embedder: Embedder, cases: Sequence[Case], progress: Progress
) -> list[ClaimReading]:
    """Each claim as the judge measures it; one that it cannot judge is left out."""
    eager = EmbeddedJudge.load(embedder, verifier=verifier, thresholds=(NOTHING_SUPPORTED, 0.0))
    judge = MeasuredJudge(eager, NOTHING_SUPPORTED)
    guard = Guard(judge, "monitor")
    claims = []
    for case in cases:
        judge.measured.clear()
        await guard.acheck(case.turn)
        scores = judge.measured.values()
        claims += [ClaimReading(case.gold, case.document, score.supported, score.contradicted) for score in scores]
        progress(1)
    return claims


class TimedVerifier:
    """Implements `Verifier`: wraps another one, and counts its pairs and seconds."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self.name = verifier.name
        self.pairs = 0
        self.seconds = 0.0

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        started = time.perf_counter()
        rows = self._verifier.probabilities(pairs)
        self.seconds += time.perf_counter() - started
        self.pairs += len(pairs)
        return rows

    @property
    def milliseconds(self) -> float | None:
        """Average per pair; None before the first."""
        return 1000 * self.seconds / self.pairs if self.pairs else None

    async def aclose(self) -> None:
        from vista_guard.judges.composed import ensemble

        await ensemble.aclose(self._verifier)
