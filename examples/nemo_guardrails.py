"""vista-guard as an output rail of NeMo Guardrails: each answer is judged against the chunks it was retrieved from. Runs offline.

pip install nemoguardrails vista-guard
"""

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from vista_guard import Action, Conversation, Document, Guard, Turn

try:
    from nemoguardrails import LLMRails, RailsConfig
    from nemoguardrails.actions.rail_outcome import RailOutcome, TransformTarget
    from nemoguardrails.testing import FakeLLMModel
except ImportError as missing:
    print(f"{missing}. This example needs: pip install nemoguardrails", file=sys.stderr)
    sys.exit(2)

YAML = """
rails:
  output:
    flows: [vista guard]
"""
COLANG = """
define bot say what can be verified
  "I can't answer that reliably: part of my answer did not agree with my sources."

define subflow vista guard
  $verdict = execute vista_guard
  if $verdict.is_blocked
    bot say what can be verified
    stop
  if $verdict.is_transform
    $bot_message = $verdict.transform_text["bot_message"]
"""
SAID = {"UtteranceUserActionFinished": ("user", "final_transcript"), "StartUtteranceBotAction": ("assistant", "script")}

guard = Guard.from_settings(policy="balanced", store="memory")


async def judge_answer(context: Mapping[str, Any], events: Sequence[Mapping[str, Any]] = ()) -> RailOutcome:
    """Judges the bot's message against the chunks of this turn and what was said before."""
    said = [SAID[event["type"]] + (event,) for event in events if event["type"] in SAID]
    history = [Turn(role=role, text=event[field]) for role, field, event in said if event[field].strip()]
    chunks = context.get("relevant_chunks")
    documents = [Document(id="chunks", text=chunks)] if chunks else []
    answer = Turn(role="assistant", text=context["bot_message"], documents=documents)
    report = await guard.acheck(Conversation(turns=[*history, answer]))
    print(f"  [{report.decision.action}] {[str(finding.label) for finding in report.findings]}")
    if report.decision.action is Action.BLOCK:
        return RailOutcome.block(reason=report.decision.reason)
    if report.decision.action is Action.REPAIR:
        return RailOutcome.transform([(TransformTarget.BOT_MESSAGE, report.response)])
    return RailOutcome.allow(metadata={"score": report.score})


def rails(*answers: str) -> LLMRails:
    """The rails before a scripted model; in your code, YAML names the model."""
    config = RailsConfig.from_content(yaml_content=YAML, colang_content=COLANG)
    return LLMRails(config, llm=FakeLLMModel(responses=list(answers))).register_action(judge_answer, "vista_guard")


if __name__ == "__main__":
    found = "The whale hall opened in 1925. Entry is free on Sundays."
    retrieved = {"role": "context", "content": {"relevant_chunks": found}}
    asked = {"role": "user", "content": "When did the whale hall open?"}
    for answer in ("The whale hall opened in 1925.", "The whale hall opened in 1850."):
        print(rails(answer).generate(messages=[retrieved, asked])["content"])
