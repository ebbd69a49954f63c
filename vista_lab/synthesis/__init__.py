"""Makes tests and training data of a team's own documents, as LLM-OASIS does (Scirè et al., §3).

A passage becomes a record: its claims, one of them falsified, a factual text and an unfactual one. `records` says what a record
holds; every other module here makes, checks, splits or exports records.
"""
