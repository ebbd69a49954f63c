"""Verifiers that users bring, measured and calibrated."""
