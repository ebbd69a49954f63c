"""Chat data sets of the Hugging Face hub: `messages` or `conversation` of role and content, or a `prompt` with its `completion`.

They come as JSON, JSON lines or Parquet. `documents` or `context` beside the messages ground every assistant turn. The answer of
a row of preferences is `chosen`: messages with or without the question, one message, or a text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vista_guard.errors import InputError
from vista_lab.logs.payloads import Message, decode_json, evidence, input_messages, output_messages
from vista_lab.logs.readers.openai import answer_beside
from vista_lab.logs.registry import Likeness, LogFormat
from vista_lab.logs.roles import role_named
from vista_lab.logs.source import LoggedConversation, LogValue
from vista_lab.logs.talks import logged

CHATS = ("messages", "conversation", "conversations")
ANSWERS = ("completion", "response", "answer")
IDENTITIES = ("conversation_id", "id", "conversation_hash", "prompt_id")


def looks(content: Mapping[str, Any]) -> Likeness:
    """Recognises a chat of this form."""
    chats = (decode_json(content.get(key)) for key in (*CHATS, "chosen"))
    if any(isinstance(chat, list) and chat and isinstance(chat[0], Mapping) and "role" in chat[0] for chat in chats):
        return Likeness.LOOSE
    return Likeness.LOOSE if "prompt" in content and ("completion" in content or "chosen" in content) else Likeness.NONE


def parse(value: LogValue) -> LoggedConversation:
    """Reads one row as a conversation. Raises InputError without messages, or for a malformed one."""
    content = value.content if isinstance(value.content, Mapping) else {}
    identity = value.first_id(*(content.get(key) for key in IDENTITIES))
    documents = [one for key in ("documents", "context", "contexts") for one in evidence(content.get(key), key)]
    return logged(_messages(content), identity, value.line, documents=documents)


def _messages(content: Mapping[str, Any]) -> list[Message]:
    found = next((found for key in CHATS if isinstance(found := decode_json(content.get(key)), list)), None)
    chat = None if found is None else [_message(index, message) for index, message in enumerate(found)]
    if content.get("chosen"):
        return _preferred(chat or input_messages(content.get("prompt")), content["chosen"])
    if chat is not None:
        return [*chat, *answer_beside(content, chat)]
    answer = next((found for key in ANSWERS if (found := output_messages(content.get(key)))), [])
    if not answer:
        keys = ", ".join(map(str, content)) or "none"
        raise InputError(f"has the keys {keys[:80]}; expected messages or conversation, or prompt and completion")
    return [*input_messages(content.get("prompt")), *answer]


def _preferred(asked: Sequence[Message], chosen: object) -> list[Message]:
    """The chosen conversation, or the question with the chosen answer in the place of any other."""
    given = decode_json(chosen)
    parts = given if isinstance(given, list) else [given]
    said = [{"role": "assistant", "content": one} if isinstance(one, str) else one for one in parts]
    answer = [_message(i, one) for i, one in enumerate(said)]
    if any(message["role"] == "user" for message in answer):
        return answer
    end = next((place for place in range(len(asked), 0, -1) if asked[place - 1]["role"] != "assistant"), 0)
    return [*asked[:end], *answer]


def _message(index: int, item: object) -> Message:
    if not isinstance(item, Mapping):
        raise InputError(f"message {index} is {str(item)[:80]!r}; expected a mapping with role and content")
    return {**item, "role": role_named(item.get("role")) or item.get("role")}


FORMAT = LogFormat("hf", looks, parse)
