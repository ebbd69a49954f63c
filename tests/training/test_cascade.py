"""The curve and its knee, on claims whose answer can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest

from vista_guard.types import Check, Claim, Finding, Label

cascade = pytest.importorskip("training.cascade")


def row(label: Label, gold: Label) -> object:
    claim = Claim(id="c1", text="It opened.")
    finding = None if label is Label.VERIFIED else Finding(claim=claim, label=label, confidence=0.5, reason="")
    return cascade.Row(0, Check(claim=claim, supported=finding is None, confidence=0.5, finding=finding), gold)


V, L, S = Label.VERIFIED, Label.LACKING_EVIDENCE, Label.OUT_OF_SCOPE
ROWS = [row(V, L), row(L, S), row(V, V), row(V, L), *[row(S, S)] * 6]
"""Wrong: three of ten labels, and two of ten on whether the claim is supported."""


def test_what_is_kept_when_the_least_trusted_are_passed_on() -> None:
    trusts = np.arange(10) / 10
    assert cascade.kept(ROWS, trusts, 0.0) == pytest.approx((0.7, 0.0, 0.8, 0.0))
    assert cascade.kept(ROWS, trusts, 0.2) == pytest.approx((0.9, 2 / 3, 0.9, 0.5))
    assert cascade.kept(ROWS, trusts, 1.0) == pytest.approx((1.0, 1.0, 1.0, 1.0))


def test_the_knee_is_where_the_curve_is_highest_above_its_chord() -> None:
    trusts = np.arange(10) / 10
    # Gain minus share: 0.33 - 0.1, 0.67 - 0.2, 0.67 - 0.3, then 1 - 0.4, which is the most.
    assert cascade.knee(ROWS, trusts) == pytest.approx((0.4, 0.35))


def test_claims_of_the_same_trust_are_passed_on_together() -> None:
    trusts = np.array([0.1, 0.1, 0.1, 0.1, 0.1, *[0.9] * 5])
    assert cascade.knee(ROWS, trusts) == pytest.approx((0.5, 0.5))
