"""Fitting the turn's risk to labelled turns."""

from __future__ import annotations

import json
import random
from datetime import date
from pathlib import Path

import pytest

from tests.policy.test_presets import finding
from tests.policy.test_scoring import report
from vista_guard import Label
from vista_guard.policy.risk import Level
from vista_guard.policy.turn_risk import Signals
from vista_guard.types import Finding
from vista_lab.metrics.calibration import calibrate
from vista_lab.metrics.turn_risk import FLAG_RATE, RatedTurn, fit, why_not


def outcomes(rng: random.Random, *, fine: bool) -> tuple[Finding, ...]:
    """Fine turns have few weak alarms, others one strong one as well."""
    claims = [finding(Label.VERIFIED, 0.9, f"c{number}") for number in range(rng.randint(1, 8))]
    if rng.random() < 0.4:
        claims.append(finding(Label.LACKING_EVIDENCE, rng.uniform(0.5, 0.8), "weak"))
    if not fine:
        claims.append(finding(Label.LACKING_EVIDENCE, rng.uniform(0.7, 1.0), "strong"))
    return tuple(claims)


def turns(count: int) -> list[RatedTurn]:
    rng = random.Random(1)
    return [RatedTurn(outcomes(rng, fine=n % 2 == 0), False, n % 2 == 0, f"talk {n // 4}", "s") for n in range(count)]


def test_a_fit_tells_fine_turns_from_others_and_holds_its_rates() -> None:
    made = fit(turns(800), "made up")
    risk = made.risk
    assert all(getattr(risk, name) >= 0 for name in Signals._fields)
    assert risk.flag is not None
    assert risk.block is not None
    (group,) = made.groups
    assert group.n == 400
    assert group.share(risk.flag) == pytest.approx(FLAG_RATE, abs=0.011)
    assert made.caught(risk.flag) > 0.5
    assert risk.flag < risk.block
    mean = sum(made.unseen) / len(made.unseen)
    assert mean == pytest.approx(0.5, abs=0.05)  # as many of either kind


def test_too_few_turns_are_not_fitted() -> None:
    assert why_not(turns(58)) == "it takes 30 fine and 30 other turns, and there are 29 and 29"
    assert why_not(turns(60)) == "it takes turns of 20 conversations, and there are 15"
    assert why_not(turns(80)) is None


def test_calibrate_fits_it_from_reports_and_labels(tmp_path: Path) -> None:
    known = turns(400)
    written = [
        report(*turn.outcomes).model_copy(update={"conversation_id": turn.group, "turn_index": number})
        for number, turn in enumerate(known)
    ]
    (tmp_path / "reports.jsonl").write_text("\n".join(one.model_dump_json() for one in written))
    labels = [
        {"conversation_id": turn.group, "turn_index": number, "fine": turn.fine} for number, turn in enumerate(known)
    ]
    (tmp_path / "labels.jsonl").write_text("\n".join(json.dumps(one) for one in labels))
    found = calibrate(
        tmp_path / "reports.jsonl",
        tmp_path / "labels.jsonl",
        level=Level.TURN,
        source="visits",
        today=date(2026, 11, 21),
    )
    assert found.unfitted is None
    assert found.table.turn_risk is not None
    assert [(group.source, group.n) for group in found.table.turns] == [("visits", 200)]
    assert found.table.risk_threshold(0.1, "rate") > 0.0
