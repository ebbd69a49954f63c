"""Tries policies on judged turns: what another policy would have done.

Policies are pure, so stored reports are decided again without judging. `replayed` compares two, `comparison` counts.
"""
