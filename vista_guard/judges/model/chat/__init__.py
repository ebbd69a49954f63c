"""Chat models behind one protocol: OpenAI-compatible endpoints and LangChain, with limits, budgets and prices."""
