"""Makes labelled pairs of claim and evidence: small worlds, edited real text, readers of published sets.

`mixes` joins them for a training run; `shortcuts` checks that no bag of words can guess the labels.
"""
