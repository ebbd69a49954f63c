"""Test doubles for code that uses a guard.

`script` has a scripted judge, an embedder without a model, builders for conversations, and the answers and faults of `server`:
a scripted chat server that speaks both of OpenAI's APIs over real HTTP. docs/testing-your-agent.md shows them.
"""

from vista_guard.testing.script import (
    Answer,
    Fault,
    ReceivedRequest,
    Rejected,
    ScriptedJudge,
    Verdict,
    WordEmbedder,
    assistant,
    conversation,
    count_tokens,
    gold_script,
    judge_script,
    user,
)
from vista_guard.testing.server import ScriptedChatServer

__all__ = [
    "Answer",
    "Fault",
    "ReceivedRequest",
    "Rejected",
    "ScriptedChatServer",
    "ScriptedJudge",
    "Verdict",
    "WordEmbedder",
    "assistant",
    "conversation",
    "count_tokens",
    "gold_script",
    "judge_script",
    "user",
]
