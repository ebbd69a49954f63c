"""One assistant turn, stage by stage: gather, decompose, verify, categorize, decide, repair, remember, report.

`stages` runs them and holds the three that judge, `work` is what they pass on; `evidence`, `repair` and `report` hold the others.
The room knows neither LangGraph (`vista_guard.graph`) nor streams (`vista_guard.stream`).
"""
