"""Logs of OpenAI chat messages: `{"messages": [...], "documents"?: [...], "id"?: "…"}`, one a line or in a list."""

from __future__ import annotations

from collections.abc import Mapping

from vista_guard.errors import InputError
from vista_guard.evaluation.datasets.source import LoggedConversation, Value
from vista_guard.reading.chat_json import to_conversation


def parse(value: Value) -> LoggedConversation:
    """One logged chat as a conversation; see `vista_guard.reading.chat_json` for what each message becomes.

    Raises:
        InputError: no messages, or one of another shape.
    """
    content = value.content
    if not isinstance(content, Mapping) or not isinstance(content.get("messages"), list):
        raise InputError('is no chat; expected {"messages": [...]}')
    identity = value.named(content.get("id"), content.get("conversation_id"))
    documents = content.get("documents") or ()
    conversation = to_conversation(content["messages"], conversation_id=identity, documents=documents)
    return LoggedConversation(conversation, labels={}, line=value.line)
