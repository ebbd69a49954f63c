"""Judges: they split a turn into claims, verify each, and give the reason when one cannot be verified.

`embedded` (the default: shipped ONNX models), `model` (any chat model), `composed` (judges around judges), `verifiers` (models
that users bring). `named` builds a judge from its name in the settings; `contract` makes every failure an `Unchecked`.
"""
