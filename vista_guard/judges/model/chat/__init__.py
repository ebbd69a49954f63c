"""Chat models behind one protocol, with limits, budgets and prices.

`calling` has the protocol and makes each call; `openai` and `langchain` implement it; `limits` holds rates, budgets and
prices; `faults` turns vendors' exceptions into this package's errors.
"""
