"""A verifier through the embedded judge on labelled claims, and what fits it best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date

import numpy as np
from numpy.typing import NDArray

from vista_guard.evaluation.suites.product import MeasuredJudge
from vista_guard.evaluation.verifiers.cases import Case
from vista_guard.evaluation.verifiers.fitting import Judged, best_temperature, cross_fit, fit
from vista_guard.guard import Guard
from vista_guard.judges.embedded import EmbeddedJudge
from vista_guard.judges.verifiers.calibrated import CalibratedVerifier, FittedOn, Thresholds, VerifierCalibration
from vista_guard.protocols import Embedder, Verifier

BLOCK = 32
"""Pairs between two reports of progress."""
NOTHING_SUPPORTED = 1.01
"""A threshold that nothing reaches: the judge then looks at all that speaks against a claim, too."""

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
        verifier: as it is, without a calibration.
        embedder: finds the evidence, as in the embedded judge.
        cases: labelled claims, supported ones and others.
        source: what they are, for people.
        today: the day that the calibration is marked with.
        progress: told of each step that is done, of twice as many as there are cases.

    Raises:
        JudgeError: the verifier failed.
    """
    rows = _decided(verifier, cases, progress)
    heat = best_temperature(rows, [case.gold for case in cases])
    unfitted = FittedOn(name=source, documents=1, claims=0, day=today, supported_or_not=0.0)
    open_limits = Thresholds(supported=0.5, contradicted=1.0)
    found = VerifierCalibration(verifier=verifier.name, temperature=heat, thresholds=open_limits, fitted_on=unfitted)
    claims = await _judged(CalibratedVerifier(verifier, found), embedder, cases, progress)
    measured = cross_fit(claims)
    fitted = FittedOn(
        name=source,
        documents=len({one.document for one in claims}),
        claims=len(claims),
        day=today,
        supported_or_not=round(measured.supported_or_not, 4),
        contradicted_precision=None
        if measured.contradicted_precision is None
        else round(measured.contradicted_precision, 4),
    )
    return found.model_copy(update={"thresholds": fit(claims), "fitted_on": fitted})


def _decided(verifier: Verifier, cases: Sequence[Case], progress: Progress) -> NDArray[np.float32]:
    rows = []
    for start in range(0, len(cases), BLOCK):
        block = cases[start : start + BLOCK]
        rows.append(verifier.probabilities([(case.evidence, case.claim) for case in block]))
        progress(len(block))
    return np.concatenate(rows)


async def _judged(verifier: Verifier, embedder: Embedder, cases: Sequence[Case], progress: Progress) -> list[Judged]:
    """Each claim as the judge measures it; one that it cannot judge is left out."""
    eager = EmbeddedJudge.load(embedder, verifier=verifier, thresholds=(NOTHING_SUPPORTED, 0.0))
    judge = MeasuredJudge(eager, NOTHING_SUPPORTED)
    guard = Guard(judge, "monitor")
    claims = []
    for case in cases:
        judge.measured.clear()
        await guard.acheck(case.turn)
        for one in judge.measured.values():
            claims.append(Judged(case.gold, case.document, one.supported, one.contradicted))
        progress(1)
    return claims
