"""Metrics over labels, scores, claim sets and annotators, with intervals. Pure functions.

`labels` counts confusions, `detection` finds turns, `intervals` has Wilson, bootstrap and McNemar, `agreement` the
measures between annotators, `calibration` and `turn_risk` the fits.
"""
