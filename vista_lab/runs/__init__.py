"""Runs of a system over conversations: one loop for replay and evaluation, exact resume, local workers or Ray.

`plan` chooses the rows, `evaluate` and `replaying` start a run, `loop` judges, `folder` stores the results. `workers`, `asking`
and `made` serve whatever is made item by item with a model.
"""
