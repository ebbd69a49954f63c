"""vista-guard in tools for tests and evaluations, one module a tool, all over one grader.

Begin with `grader` (grades a `case`, gives a `verdict`), then the tool's module: pytest, DeepEval, Inspect, LangSmith, promptfoo,
pydantic-evals or Ragas.
"""
