"""Verifiers that users bring in place of the shipped one: a model from a folder or the hub, or one behind an endpoint."""

from vista_guard.judges.verifiers.calibrated import VerifierCalibration
from vista_guard.judges.verifiers.named import build_verifier

__all__ = ["VerifierCalibration", "build_verifier"]
