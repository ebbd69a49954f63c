"""DeepEval: `FaithfulnessMetric` with its defaults, among them the threshold of 0.5."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks.peers.adapters.loop import Turn, Verdict, serve


def build(base_url: str, model: str, timeout: float) -> Callable[[Turn], Awaitable[Verdict]]:
    """The metric reads its timeout from the environment, before it is imported."""
    if timeout:
        os.environ["DEEPEVAL_PER_ATTEMPT_TIMEOUT_SECONDS_OVERRIDE"] = str(timeout)
    from deepeval.metrics import FaithfulnessMetric
    from deepeval.models import OpenAIModel
    from deepeval.test_case import LLMTestCase

    client = OpenAIModel(model=model, base_url=base_url, api_key="nobody-asks")

    async def judge(turn: Turn) -> dict[str, Any]:
        metric = FaithfulnessMetric(model=client)
        case = LLMTestCase(input=turn["question"], actual_output=turn["answer"], retrieval_context=[turn["document"]])
        await metric.a_measure(case, _show_indicator=False)
        words = [str(getattr(verdict.verdict, "value", verdict.verdict)) for verdict in metric.verdicts]
        counts = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words)) or "no verdicts"
        passed = "passes" if metric.is_successful() else "fails"
        return {
            "verdict": "clean" if metric.score >= 1 else "found",
            "said": f"score {metric.score:.2f} ({counts}), {passed} at threshold 0.5",
        }

    return judge


if __name__ == "__main__":
    serve(build)
