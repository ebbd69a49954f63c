"""Verifiers that users bring in place of the shipped one.

`named` builds one from its name in the settings; `local` runs a model from a folder or the hub, with the template and
outputs of each model family; `calibrated` asks one behind an API, and applies a fitted calibration.
"""

from vista_guard.judges.verifiers.calibrated import VerifierCalibration
from vista_guard.judges.verifiers.named import build_verifier

__all__ = ["VerifierCalibration", "build_verifier"]
