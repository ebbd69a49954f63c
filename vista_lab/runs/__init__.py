"""Runs of a system over conversations: one loop for replay and evaluation, exact resume, local workers or Ray.

`evaluate` starts a run, `plan` chooses its rows, `loop` judges, `folder` stores the results, and
`export` writes stored turns for other programs.
"""
