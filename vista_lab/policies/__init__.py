"""Policies tried on turns that were judged already: what another policy would have done.

Policies are pure, so reports are weighed again, not judged. `replayed` compares two, `comparison` counts.
"""
