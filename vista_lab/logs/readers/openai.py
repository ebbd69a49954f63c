"""Logs of OpenAI chat messages: `{"messages": [...], "documents"?: [...], "id"?: "…"}`, one a line or in a list.

An answer beside the messages, as in stored completions (`choices`) and in logs of requests with their responses,
is the last turn: `{"messages": [...], "choices": [...]}`, `{"request": {"messages": [...]}, "response": {"choices": [...]}}`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vista_guard.errors import InputError
from vista_lab.logs.payloads import Message, decode_json, output_messages
from vista_lab.logs.registry import Likeness, LogFormat
from vista_lab.logs.source import LoggedConversation, LogValue
from vista_lab.logs.talks import logged

ANSWERS = ("choices", "response", "completion", "output", "answer")
"""Keys of an answer beside the messages."""


def looks(content: Mapping[str, Any]) -> Likeness:
    """Recognises a chat, or a request with its response; not a row of preferences."""
    if _has_messages(content):
        return Likeness.GUESS if "chosen" in content else Likeness.CLOSE
    return Likeness.GUESS if "messages" in content else Likeness.NONE


def parse(value: LogValue) -> LoggedConversation:
    """Reads one logged chat as a conversation; `vista_guard.reading.chat_json` converts the messages.

    Raises InputError without messages, or for a malformed one.
    """
    content = value.content
    if not isinstance(content, Mapping) or not _has_messages(content):
        raise InputError('is not a chat; expected {"messages": [...]}')
    identity = value.first_id(content.get("id"), content.get("conversation_id"))
    documents = content.get("documents") or ()
    messages = _request(content)["messages"]
    return logged([*messages, *answer_beside(content, messages)], identity, value.line, documents=documents)


def _has_messages(content: Mapping[str, Any]) -> bool:
    return isinstance(_request(content).get("messages"), list)


def _request(content: Mapping[str, Any]) -> Mapping[str, Any]:
    request = decode_json(content.get("request"))
    return request if isinstance(request, Mapping) and "messages" not in content else content


def answer_beside(content: Mapping[str, Any], messages: Sequence[object]) -> list[Message]:
    """The answer beside the messages; empty if they end with it, or there is none."""
    last = messages[-1] if messages else None
    if isinstance(last, Mapping) and last.get("role") == "assistant":
        return []
    return next((answer for key in ANSWERS if (answer := output_messages({key: content.get(key)}))), [])


FORMAT = LogFormat("openai", looks, parse)
