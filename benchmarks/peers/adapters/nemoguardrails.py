"""NeMo Guardrails: the output rail `self check facts`, which judges the message as a whole. Its users write its prompt."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks.peers.adapters.loop import Turn, Verdict, serve

PROMPT = (
    "Decide whether a hypothesis follows from the evidence alone, without any knowledge from elsewhere. Answer with yes or no, "
    "and nothing else.\n\nEvidence: {{ evidence }}\n\nHypothesis: {{ response }}\n\nDoes all of it follow?"
)


def build(base_url: str, model: str, timeout: float) -> Callable[[Turn], Awaitable[Verdict]]:
    """The rail is switched on for each message by `check_facts`, and finds its evidence in `relevant_chunks`."""
    from nemoguardrails import LLMRails, RailsConfig
    from nemoguardrails.rails.llm.options import RailType

    endpoint: dict[str, Any] = {"base_url": base_url, "api_key": "nobody-asks"}
    if timeout:
        endpoint["timeout"] = timeout
    rails = LLMRails(
        RailsConfig.from_content(
            config={
                "models": [{"type": "main", "engine": "openai", "model": model, "parameters": endpoint}],
                "rails": {"output": {"flows": ["self check facts"]}},
                "prompts": [{"task": "self_check_facts", "content": PROMPT}],
            }
        )
    )

    async def judge(turn: Turn) -> dict[str, Any]:
        result = await rails.check_async(
            [
                {"role": "context", "content": {"relevant_chunks": turn["document"], "check_facts": True}},
                {"role": "user", "content": turn["question"]},
                {"role": "assistant", "content": turn["answer"]},
            ],
            rail_types=[RailType.OUTPUT],
        )
        return {"verdict": "clean" if result.status == "passed" else "found", "said": f"message {result.status.value}"}

    return judge


if __name__ == "__main__":
    serve(build)
