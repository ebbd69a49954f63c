"""Chat data sets of the Hugging Face hub: `messages` or `conversation` of role and content, or a `prompt` with its `completion`.

They come as JSON, JSON lines or Parquet. `documents` or `context` beside the messages ground every assistant turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vista_guard.errors import InputError
from vista_guard.reading.chat_json import to_conversation
from vista_lab.logs.azure import context_documents
from vista_lab.logs.payloads import Message, decode_json, input_messages, output_messages
from vista_lab.logs.source import LoggedConversation, LogValue

CHATS = ("messages", "conversation", "conversations", "chosen")
ANSWERS = ("completion", "response", "answer")
IDENTITIES = ("conversation_id", "id", "conversation_hash", "prompt_id")


def looks_like_it(content: Mapping[str, Any]) -> bool:
    """Recognises a chat of this form."""
    chats = (decode_json(content.get(key)) for key in CHATS)
    if any(isinstance(chat, list) and chat and isinstance(chat[0], Mapping) and "role" in chat[0] for chat in chats):
        return True
    return "prompt" in content and "completion" in content


def parse(value: LogValue) -> LoggedConversation:
    """Reads one row as a conversation. Raises InputError without messages, or for a malformed one."""
    content = value.content if isinstance(value.content, Mapping) else {}
    identity = value.first_id(*(content.get(key) for key in IDENTITIES))
    documents = [
        document for key in ("documents", "context", "contexts") for document in context_documents(content.get(key))
    ]
    conversation = to_conversation(_messages(content), conversation_id=identity, documents=documents)
    return LoggedConversation(conversation, {}, value.line)


def _messages(content: Mapping[str, Any]) -> list[Message]:
    chat = next((found for key in CHATS if isinstance(found := decode_json(content.get(key)), list)), None)
    if chat is not None:
        messages = [_message(index, message) for index, message in enumerate(chat)]
        # A row of preferences: the question is in `prompt`, and `chosen` may begin with the answer.
        begun = bool(messages) and messages[0].get("role") == "assistant"
        return [*input_messages(content.get("prompt")), *messages] if begun else messages
    answer = next((found for key in ANSWERS if (found := output_messages(content.get(key)))), [])
    if not answer:
        keys = ", ".join(map(str, content)) or "none"
        raise InputError(f"has the keys {keys[:80]}; expected messages or conversation, or prompt and completion")
    return [*input_messages(content.get("prompt")), *answer]


def _message(index: int, item: object) -> Message:
    if not isinstance(item, Mapping):
        raise InputError(f"message {index} is {str(item)[:80]!r}; expected a mapping with role and content")
    messages = input_messages(item) if item.get("role") else []
    return messages[0] if messages else dict(item)
