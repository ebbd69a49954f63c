"""Test doubles: a scripted judge, a scripted chat server, an embedder without a model, and builders for conversations."""

from vista_guard.testing.doubles import ScriptedJudge, Verdict, WordEmbedder, assistant, conversation, user
from vista_guard.testing.oracle import gold_script, judge_script
from vista_guard.testing.script import Answer, Fault, ReceivedRequest, Rejected, count_tokens
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
