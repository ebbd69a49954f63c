"""Azure AI Foundry's evaluation data: exchanges of query, response and context, or a conversation's messages.

    {"query": "…", "response": "…", "context": "…"}
    {"conversation": {"messages": [{"role": "assistant", "content": "…", "context": "…"}]}}

Query and response of an agent are lists of messages.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from vista_guard.errors import InputError
from vista_lab.logs.payloads import Message, decode_json, evidence, input_messages, output_messages
from vista_lab.logs.registry import Likeness, LogFormat
from vista_lab.logs.source import LoggedConversation, LogValue
from vista_lab.logs.talks import logged


def looks(content: Mapping[str, Any]) -> Likeness:
    """Recognises a conversation or an exchange of this form."""
    if "query" in content and "response" in content:
        return Likeness.EXACT
    if isinstance(conversation := decode_json(content.get("conversation")), Mapping) and "messages" in conversation:
        return Likeness.EXACT
    messages = decode_json(content.get("messages"))
    if "choices" in content:  # the answer: a chat of OpenAI's, in which the context of earlier answers is of no use
        return Likeness.NONE
    found = isinstance(messages, list) and any(isinstance(one, Mapping) and "context" in one for one in messages)
    return Likeness.EXACT if found else Likeness.NONE


def parse(value: LogValue) -> LoggedConversation:
    """Reads one row as a conversation.

    Raises InputError without query and response or messages, or a message of another shape.
    """
    content = value.content if isinstance(value.content, Mapping) else {}
    inner = decode_json(content.get("conversation"))
    chat = inner if isinstance(inner, Mapping) else content
    if isinstance(messages := decode_json(chat.get("messages")), list):
        chat_messages = [_message(message) for message in messages]
    elif content.get("query") and content.get("response"):
        asked, answered = input_messages(_parts(content["query"])), output_messages(_parts(content["response"]))
        chat_messages = [_message(message) for message in (*asked, *answered)]
    else:
        raise InputError('is not in this format; expected {"query", "response", "context"} or {"messages": […]}')
    identity = value.first_id(content.get("conversation_id"), content.get("id"), chat.get("id"))
    return logged(chat_messages, identity, value.line, documents=evidence(content.get("context"), "context"))


def _parts(value: object) -> object:
    content = decode_json(value)
    return [_readable(item) for item in content] if isinstance(content, list) else content


def _message(item: object) -> Message:
    if not isinstance(item, Mapping):
        raise InputError(f"has the message {str(item)[:80]!r}; expected a mapping with role and content")
    message = dict(_readable(item))
    documents = evidence(message.pop("context", None), "a message's context")
    return {**message, "documents": documents} if documents else message


def _readable(given: Any) -> Any:
    """An agent's message with tool results as text, and tool calls in a field of their own."""
    parts = given.get("content") if isinstance(given, Mapping) else None
    if not isinstance(parts, list):
        return given
    calls = [part for part in parts if isinstance(part, Mapping) and part.get("type") == "tool_call"]
    content = [_result(part) for part in parts if part not in calls]
    return {**given, "content": content or None, **({"tool_calls": [_call(call) for call in calls]} if calls else {})}


def _result(part: object) -> object:
    if not isinstance(part, Mapping) or part.get("type") != "tool_result":
        return part
    result = part.get("tool_result")
    return {"type": "text", "text": result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)}


def _call(part: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = part.get("tool_call")
    call = inner if isinstance(inner, Mapping) else part
    return {**call, "id": part.get("tool_call_id") or call.get("id"), "name": part.get("name") or call.get("name")}


FORMAT = LogFormat("azure", looks, parse)
