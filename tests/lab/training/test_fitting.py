"""Temperature and thresholds: what is fitted is what the labels ask for."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.raising import raises
from vista_guard import InputError
from vista_guard.judges.verifiers.calibrated import apply_temperature
from vista_guard.settings.model import LabelName
from vista_guard.testing import WordEmbedder, assistant, conversation
from vista_lab.policies.verifiers import (
    OTHERS,
    Case,
    ClaimReading,
    best_temperature,
    calibrate,
    challenge_cases,
    cross_fit,
    fit,
    read_cases,
)
from vista_lab.training.rows import LABELS

Floats = NDArray[np.float32]


def judged(gold: LabelName, supported: float, contradicted: float = 0.0, document: str = "d") -> ClaimReading:
    return ClaimReading(gold, document, supported, contradicted)


def test_a_verifier_that_is_too_sure_is_cooled_down() -> None:
    random = np.random.default_rng(3)
    true = random.dirichlet([1, 1, 1], 3000).astype(np.float32)
    gold = [LABELS[random.choice(3, p=row / row.sum())] for row in true.astype(float)]
    assert best_temperature(true, gold) == pytest.approx(1.0, abs=0.1)
    assert best_temperature(apply_temperature(true, 0.5), gold) == pytest.approx(2.0, abs=0.2)


def test_a_plain_yes_or_no_has_no_temperature() -> None:
    rows = np.array([[1, 0, 0], [0, 0, 1]], np.float32)
    assert best_temperature(rows, ["supported", "supported"]) == 1.0


def test_the_thresholds_lie_where_they_part_the_claims() -> None:
    claims = [judged("supported", 0.6 + step / 100) for step in range(40)]
    claims += [judged("not_enough", step / 100) for step in range(40)]
    claims += [judged("contradicted", step / 100, contradicted=0.5 + step / 100) for step in range(40)]
    limits = fit(claims)
    assert 0.39 < limits.supported <= 0.6
    assert limits.contradicted == pytest.approx(0.5, abs=1e-3)


def test_what_is_called_contradicted_is_seldom_supported_or_open() -> None:
    supported = [judged("supported", 0.2, contradicted=step / 200) for step in range(200)]
    unknown = [judged("not_enough", 0.2, contradicted=step / 200) for step in range(200)]
    limits = fit([*supported, *unknown, *(judged("contradicted", 0.2, contradicted=0.999) for _ in range(50))])
    assert limits.contradicted == pytest.approx(198 / 200, abs=1e-3)
    assert fit([judged("supported", 0.9), judged("not_enough", 0.1)]).contradicted == 1.0


def test_what_is_reported_was_not_fitted_on() -> None:
    apart = [judged("supported", 0.9, document=str(n)) for n in range(10)]
    apart += [judged("not_enough", 0.1, document=str(n)) for n in range(10)]
    assert cross_fit(apart).supported_or_not == 1.0
    random = np.random.default_rng(5)
    noise = [
        judged("supported" if random.random() < 0.5 else "not_enough", float(random.random()), document=str(n // 4))
        for n in range(800)
    ]
    assert cross_fit(noise).supported_or_not == pytest.approx(0.5, abs=0.06)


def test_the_challenge_gives_both_kinds_and_the_evidence_that_decides() -> None:
    cases = challenge_cases(2)
    assert {case.gold for case in cases} == {"supported", "contradicted", "not_enough"}
    assert len({case.document for case in cases}) == 2
    for case in cases:
        told = " ".join(document.text for turn in case.turn.turns for document in turn.documents)
        assert case.evidence.split()[0] in told


def test_pairs_of_ones_own_are_read_and_named_where_they_are_wrong(tmp_path: Path) -> None:
    file = tmp_path / "pairs.jsonl"
    line = '{"evidence": "It opened in 1925.", "claim": "It opened.", "label": "%s"}\n'
    kinds = ("supported", "contradicted", "not_enough")
    file.write_text("\n".join(line % kinds[number % 3] for number in range(102)), encoding="utf-8")
    first, second, *_ = found = read_cases(file)
    assert len(found) == 102
    assert (first.gold, first.claim, first.document, second.document) == ("supported", "It opened.", "line 1", "line 3")
    assert len(first.turn.turns[0].documents) == 1 + OTHERS  # judged among other documents
    for text, said in {
        line % "true": "label",
        '{"claim": "It opened."}': "evidence",
        "no JSON": "line 1",
        line % "supported": "1",
    }.items():
        file.write_text(text, encoding="utf-8")
        with raises(InputError, said):
            read_cases(file)
    with raises(InputError, "gone.jsonl"):
        read_cases(tmp_path / "gone.jsonl")


class Words:
    """P(supported) is 0.3 more where the evidence has all of the claim's words; P(contradicted) where it says "not"."""

    name = "words"

    def probabilities(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        found = []
        for evidence, claim in pairs:
            support = 0.35 + 0.3 * (set(claim.lower().split()) <= set(evidence.lower().split()))
            against = 0.3 * ("not" in evidence)
            found.append([support, against, 1 - support - against])
        return np.array(found, np.float32)


def test_a_verifier_is_fitted_through_the_whole_judge() -> None:
    cases = []
    for number in range(40):
        fact = f"hall number {number} opened"
        for claim, gold in ((fact, "supported"), (f"hall number {number} burned", "not_enough")):
            turn = conversation(assistant(claim, fact))
            cases.append(Case(fact, claim, gold, turn, f"d{number}"))  # type: ignore[arg-type]  # one of the three
    seen: list[int] = []
    found = asyncio.run(
        calibrate(Words(), WordEmbedder(), cases, source="halls", today=date(2026, 1, 2), progress=seen.append)
    )
    support = apply_temperature(np.array([[0.35, 0, 0.65], [0.65, 0, 0.35]], np.float32), found.temperature)[:, 0]
    assert support[0] < found.thresholds.supported < support[1]
    assert (found.verifier, found.fitted_on.name, found.fitted_on.documents) == ("words", "halls", 40)
    assert found.fitted_on.supported_or_not == 1.0
    assert sum(seen) == 2 * len(cases)
    low, high = found.fitted_on.supported_interval or (1.0, 0.0)
    assert low <= found.thresholds.supported <= high
