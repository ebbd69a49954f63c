"""OpenAI Guardrails: `Hallucination Detection` with its defaults. It judges the message as a whole, over the Responses API.

Its document lies in a vector store at the endpoint, so the prompt that is counted here has no document in it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from types import SimpleNamespace
from typing import Any

from benchmarks.peers.adapters.loop import Turn, Verdict, serve


def build(base_url: str, model: str, timeout: float) -> Callable[[Turn], Awaitable[Verdict]]:
    """The guardrail as its runtime runs it, which takes a failed check for a safe one unless told otherwise."""
    from guardrails import instantiate_guardrails, load_config_bundle, run_guardrails
    from openai import AsyncOpenAI

    config = {"model": model, "confidence_threshold": 0.7, "knowledge_source": "vs_ferries"}
    bundle = load_config_bundle({"version": 1, "guardrails": [{"name": "Hallucination Detection", "config": config}]})
    guardrails = instantiate_guardrails(bundle)
    waiting: dict[str, Any] = {"timeout": timeout} if timeout else {}
    client = AsyncOpenAI(base_url=base_url, api_key="nobody-asks", **waiting)

    async def judge(turn: Turn) -> Verdict:
        [result] = await run_guardrails(
            SimpleNamespace(guardrail_llm=client), turn["answer"], "text/plain", guardrails, suppress_tripwire=True
        )
        if result.tripwire_triggered:
            return {"verdict": "found", "said": f"tripwire, confidence {result.info['confidence']}"}
        if result.execution_failed:
            return {"verdict": "unknown", "said": "no tripwire, so the turn passes; execution_failed is set"}
        return {"verdict": "clean", "said": "no tripwire"}

    return judge


if __name__ == "__main__":
    serve(build)
