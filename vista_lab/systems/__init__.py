"""Systems that judge conversations: the guard's variants, baselines, single-prompt judges, other tools' metrics.

All keep to `protocol.System`; `catalogue` builds one from its name by the `recipes`, around a guard (`guarded`).
"""
