"""Runs: replays of one log side by side, claim by claim, regressions first."""
