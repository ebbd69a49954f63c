"""An evaluator for Pydantic Evals. Needs the extra `pydantic-evals`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vista_guard._extras import how_to_install
from vista_guard.errors import ConfigError
from vista_guard.integrations.evals.grader import Case, Grader, Turns, grader_of

try:
    from pydantic_evals.evaluators import EvaluationReason, Evaluator, EvaluatorContext
except ImportError as exc:
    raise ConfigError(
        f"the Pydantic Evals evaluator needs pydantic_evals 2.x ({exc}): {how_to_install('pydantic-evals')}"
    ) from exc


@dataclass(repr=False)
class VistaEvaluator(Evaluator[Any, Any, Any]):
    """The VISTA score of a task's answer: the share of its claims that the evidence supports.

    Gives the score `vista_score` in [0, 1], the assertion `grounded`, and the label `vista`: `grounded`, `not grounded` or `not
    judged`. Where nothing was judged there is neither score nor assertion, so no average takes the case in, and the label has the
    reason.

    Inputs and output are read as `Case.of_run` reads them: texts, chat messages, mappings with a question, an answer and maybe
    documents; `documents` in the case's metadata are evidence too. For your own types override `case`, or give the judge what it
    needs by `Case.of_answer`.

    Attributes:
        judge: the judge's name; from the settings when not given.
        policy: a preset's name; it decides the assertion.
        min_score: a least score in [0, 1], which decides the assertion in place of the policy.
        turns: assistant turns of a transcript to judge.

    A subclass may override `grader` to use its own.

    Examples:
        >>> import asyncio
        >>> from pydantic_evals import Case, Dataset
        >>> cases = [Case(inputs="When?", metadata={"documents": "The hall opened in 1925."})]
        >>> dataset = Dataset(name="hours", cases=cases, evaluators=[VistaEvaluator()])
        >>> async def agent(question):
        ...     return "The hall opened in 1925."
        >>> report = asyncio.run(dataset.evaluate(agent, progress=False))
        >>> report.cases[0].scores["vista_score"].value
        1.0
    """

    judge: str | None = None
    policy: str | None = None
    min_score: float | None = None
    turns: Turns = "all"

    async def evaluate(self, ctx: EvaluatorContext[Any, Any, Any]) -> dict[str, EvaluationReason]:
        """Judges the output."""
        verdict = await self.grader().agrade(self.case(ctx))
        if verdict.score is None:
            return {"vista": EvaluationReason("not judged", verdict.reason)}
        grounded, details = bool(verdict.holds(self.min_score)), verdict.details()
        return {
            "vista_score": EvaluationReason(verdict.score, verdict.reason),
            "grounded": EvaluationReason(grounded, details),
            "vista": EvaluationReason("grounded" if grounded else "not grounded"),
        }

    def case(self, ctx: EvaluatorContext[Any, Any, Any]) -> Case:
        """The case of a task's run."""
        documents = ctx.metadata.get("documents") if isinstance(ctx.metadata, Mapping) else None
        return Case.of_run(ctx.inputs, ctx.output, documents=documents, turns=self.turns)

    def grader(self) -> Grader:
        """The grader, shared by all evaluators that name the same judge and policy."""
        return grader_of(None, self.judge, self.policy)

    def get_evaluator_version(self) -> str:
        """The judge's name and version: Pydantic Evals tells results of another one apart by it."""
        judge = self.grader().guard.parts.judge.info
        return f"{judge.name} {judge.version}"
