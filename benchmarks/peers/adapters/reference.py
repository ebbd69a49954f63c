"""The reference's sequence of calls as a plain loop: decompose, then one claim after the other.

The prompts are this package's, so that only the sequence differs from `per_claim`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from benchmarks.peers.adapters.loop import Turn, Verdict, serve
from vista_guard.judges.model import ChatRequest, Prompts
from vista_guard.judges.model.answers.parsing import read_category, read_claims, read_verdict
from vista_guard.types import Claim, EvidenceSet, Label, Passage, Role, SourceKind
from vista_guard.types import Turn as OurTurn


def build(base_url: str, model: str, timeout: float) -> Callable[[Turn], Awaitable[Verdict]]:
    """1 + C + U calls for C claims, U of them unsupported (VISTA §3, App. A)."""
    from openai import AsyncOpenAI

    waiting: dict[str, Any] = {"timeout": timeout} if timeout else {}
    client, prompts = AsyncOpenAI(base_url=base_url, api_key="nobody-asks", **waiting), Prompts.load()

    async def ask(request: ChatRequest) -> str:
        schema: Any = {"name": request.stage, "strict": True, "schema": dict(request.schema or {})}
        messages: Any = [{"role": message.role, "content": message.content} for message in request.messages]
        answer = await client.chat.completions.create(
            model=model, messages=messages, response_format={"type": "json_schema", "json_schema": schema}
        )
        return answer.choices[0].message.content or ""

    async def judge(turn: Turn) -> Verdict:
        question = OurTurn(role=Role.USER, text=turn["question"])
        answer = OurTurn(role=Role.ASSISTANT, text=turn["answer"])
        evidence = EvidenceSet(
            documents=(Passage(source=SourceKind.DOCUMENT, source_id="document", text=turn["document"]),)
        )
        labels = []
        for number, statement in enumerate(read_claims(await ask(prompts.decompose(answer, [question]))), 1):
            claim = Claim(id=f"c{number}", text=statement.text)
            verdict = read_verdict(await ask(prompts.verify(claim, evidence)), [turn["document"]])
            if verdict.label is Label.VERIFIED:
                labels.append(Label.VERIFIED)
            else:
                category = read_category(await ask(prompts.categorize(claim, evidence)), [turn["document"]])
                labels.append(category.label)
        counts = Counter(label.value for label in labels)
        found = "clean" if set(labels) <= {Label.VERIFIED} else "found"
        return {"verdict": found, "said": ", ".join(f"{count} {label}" for label, count in counts.items())}

    return judge


if __name__ == "__main__":
    serve(build)
