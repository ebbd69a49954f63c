"""A LangChain agent that does not say what its tools did not tell it. Runs offline: the chat model is a script.

pip install 'vista-guard[langchain]'
"""

import sys
from collections.abc import Sequence
from typing import Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from vista_guard import Guard, TurnReport

try:
    from langchain.agents import create_agent

    from vista_guard.integrations.langchain import VistaGuardMiddleware
except ImportError as missing:
    print(f"{missing}. This example needs: pip install 'vista-guard[langchain]'", file=sys.stderr)
    sys.exit(2)


class ScriptedModel(GenericFakeChatModel):
    """Stands in for a chat model: in your code, `init_chat_model("openai:gpt-4.1-mini")` or any other."""

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> Any:  # noqa: ARG002
        return self


@tool
def opening_hours(place: str) -> str:  # noqa: ARG001
    """The opening hours of a place."""
    return "The tide museum is open from Tuesday to Sunday, 10:00 to 17:00. It is closed on Mondays."


def told(report: TurnReport) -> None:
    for finding in report.findings:
        print(f"  [{report.decision.action}] {finding.label} ({finding.confidence:.2f}): {finding.claim.text}")


LOOK = AIMessage("", tool_calls=[{"name": "opening_hours", "args": {"place": "museum"}, "id": "call-1"}])
GOOD = AIMessage("The tide museum is closed on Mondays.")
BAD = AIMessage("The tide museum is open from 8:00 to 17:00.")

guard = Guard.from_settings(policy="balanced")

for answer in (GOOD, BAD):
    agent: Any = create_agent(
        ScriptedModel(messages=iter([LOOK, answer])),
        tools=[opening_hours],
        middleware=[VistaGuardMiddleware(guard, on_report=told)],
    )
    question = {"messages": [{"role": "user", "content": "When can I visit the tide museum?"}]}
    for message, _ in agent.stream(question, stream_mode="messages"):
        if message.type == "ai" and message.content:
            print(f"agent: {message.content}")
