"""Test doubles for code that uses a guard."""

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
