"""This package: `Guard` over `ModelJudge`, with the strategy that the last argument of the process names."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Awaitable, Callable

from benchmarks.peers.adapters.loop import Turn, Verdict, serve
from vista_guard import Guard
from vista_guard.judges.model import ModelJudge, ModelOptions, OpenAIChat
from vista_guard.types import Conversation, Document, Role, TurnReport
from vista_guard.types import Turn as OurTurn


def build(base_url: str, model: str, timeout: float, strategy: str) -> Callable[[Turn], Awaitable[Verdict]]:
    """Like the other adapters', with a strategy."""
    guard = guarded(base_url, model, timeout, strategy)

    async def judge(turn: Turn) -> Verdict:
        return to_verdict(await guard.acheck(conversation(turn)))

    return judge


def guarded(base_url: str, model: str, timeout: float, strategy: str) -> Guard:
    """A guard with defaults throughout, but for the strategy and, unless it is 0, the timeout."""
    fields = {"strategy": strategy, "timeout_s": timeout} if timeout else {"strategy": strategy}
    options = ModelOptions.model_validate(fields)
    return Guard(ModelJudge(OpenAIChat(model, base_url=base_url, options=options), options))


def conversation(turn: Turn) -> Conversation:
    """The turn as a conversation of question and answer."""
    document = Document(id="document", text=turn["document"])
    question = OurTurn(role=Role.USER, text=turn["question"])
    answer = OurTurn(role=Role.ASSISTANT, text=turn["answer"], documents=(document,))
    return Conversation(turns=(question, answer))


def to_verdict(report: TurnReport) -> Verdict:
    """The report in the benchmark's words."""
    counts = Counter(finding.label.value for finding in report.findings)
    if report.unchecked:
        counts["unchecked"] = len(report.unchecked)
    counts_text = ", ".join(f"{count} {label}" for label, count in counts.items()) or "no claims"
    if report.score == 1 and not report.unchecked:
        verdict = "clean"
    elif report.score is not None and report.score < 1:
        verdict = "found"
    else:
        verdict = "unknown"
    return {"verdict": verdict, "said": f"{counts_text}; {report.decision.action.value}"}


if __name__ == "__main__":
    serve(lambda base_url, model, timeout: build(base_url, model, timeout, sys.argv[4]))
