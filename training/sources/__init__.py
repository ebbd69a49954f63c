"""Readers of text that people labelled or paraphrased, for training pairs.

Each reader yields labelled pairs, or *carriers*: true claims beside the sentences that decide them.
"""
