"""Chat models behind one protocol, with limits, budgets and prices.

`calling` has the protocol, rates, budgets and prices, and makes the calls; `openai` and `langchain` implement it; `faults`
turns vendors' exceptions into this package's errors.
"""
