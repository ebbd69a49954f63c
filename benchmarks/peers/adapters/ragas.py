"""Ragas: `Faithfulness`, which is a score without a threshold."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks.peers.adapters.loop import Turn, Verdict, serve


def build(base_url: str, model: str, timeout: float) -> Callable[[Turn], Awaitable[Verdict]]:
    """The metric over an `AsyncOpenAI` client, as its documentation shows."""
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory
    from ragas.metrics.collections import Faithfulness

    waiting: dict[str, Any] = {"timeout": timeout} if timeout else {}
    client = AsyncOpenAI(base_url=base_url, api_key="nobody-asks", **waiting)
    metric = Faithfulness(llm=llm_factory(model, client=client))

    async def judge(turn: Turn) -> dict[str, Any]:
        result = await metric.ascore(
            user_input=turn["question"], response=turn["answer"], retrieved_contexts=[turn["document"]]
        )
        score = float(result.value)
        verdict = "unknown" if math.isnan(score) else "clean" if score >= 1 else "found"
        return {"verdict": verdict, "said": f"score {score:.2f}"}

    return judge


if __name__ == "__main__":
    serve(build)
