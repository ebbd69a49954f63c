"""One assistant turn, stage by stage: gather, decompose, verify, categorize, decide, repair, remember, report.

`stages` runs them, `work` is what they pass on; `evidence`, `judging`, `repair` and `report` hold the stages themselves. The
room knows neither LangGraph (`vista_guard.graph`) nor streams (`vista_guard.stream`).
"""
