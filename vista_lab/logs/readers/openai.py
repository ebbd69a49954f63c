"""Logs of OpenAI chat messages: `{"messages": [...], "documents"?: [...], "id"?: "…"}`, one a line or in a list.

An answer beside the messages, as in stored completions (`choices`) and in logs of requests with their responses,
is the last turn: `{"messages": [...], "choices": [...]}`, `{"request": {"messages": [...]}, "response": {"choices": [...]}}`.
Bedrock's logs of calls are read as such requests. A request may have `system` beside its messages.
Responses are read, too: `{"instructions": "…", "input": …, "output": [...]}`, or such a `request` with its `response`.
Earlier answers are then the history that each request repeats: they are not judged, and the documents are not theirs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from vista_guard.errors import InputError
from vista_lab.logs.paths import value_at
from vista_lab.logs.payloads import Message, decode_json, input_messages, message_text, output_messages
from vista_lab.logs.registry import Likeness, LogFormat
from vista_lab.logs.roles import role_named
from vista_lab.logs.source import LoggedConversation, LogValue, Omission
from vista_lab.logs.talks import logged

ANSWERS = ("choices", "response", "completion", "output", "answer")
"""Keys of an answer beside the messages."""
PAST = "an answer before that of its request is history and not judged"


def looks(content: Mapping[str, Any]) -> Likeness:
    """Recognises a chat, or a request with its response; not a row of preferences."""
    content = _called(content)
    if _has_messages(content):
        return Likeness.GUESS if "chosen" in content else Likeness.CLOSE
    if _items(content):
        return Likeness.CLOSE
    return Likeness.GUESS if "messages" in content else Likeness.NONE


def parse(value: LogValue) -> LoggedConversation:
    """Reads one logged chat as a conversation; `vista_guard.reading.chat_json` converts the messages.

    Raises InputError without messages, or for a malformed one.
    """
    content = _called(value.content)
    items = _items(content) if isinstance(content, Mapping) else []
    if not isinstance(content, Mapping) or not (items or _has_messages(content)):
        raise InputError('is not a chat; expected {"messages": [...]}')
    identity = value.first_id(content.get("id"), content.get("conversation_id"))
    documents = content.get("documents") or ()
    request = _request(content)
    messages = _asked(request) if items else [*_system(request), *request["messages"]]
    answer = output_messages(items) if items else answer_beside(content, messages)
    if not answer or not any(map(_is_answer, messages)):
        return logged([*messages, *answer], identity, value.line, documents=documents)
    answer[-1] = {**answer[-1], "documents": [*answer[-1].get("documents", ()), *documents]}
    past = [Omission(PAST, f"message {index}") for index, message in enumerate(messages) if _is_answer(message)]
    entry = logged([*messages, *answer], identity, value.line, omissions=past)
    return replace(entry, history=len(entry.conversation.turns) - max(1, sum(map(_is_answer, answer))))


def _called(content: Any) -> Any:
    """The request and the response of a call that Bedrock logged; another value as it is."""
    try:
        request, response = value_at(content, "input.inputBodyJson"), value_at(content, "output.outputBodyJson")
    except InputError:
        return content
    return {"id": content.get("requestId"), "request": request, "response": response}


def _system(request: Mapping[str, Any]) -> list[Message]:
    told = request.get("system")
    return [{"role": "system", "content": told}] if told and isinstance(told, str | list) else []


def _is_answer(message: Any) -> bool:
    return (
        isinstance(message, Mapping)
        and role_named(message.get("role")) == "assistant"
        and bool(message_text({**message}).strip())
    )


def _has_messages(content: Mapping[str, Any]) -> bool:
    return isinstance(_request(content).get("messages"), list)


def _request(content: Mapping[str, Any]) -> Mapping[str, Any]:
    request = decode_json(content.get("request"))
    return request if isinstance(request, Mapping) and "messages" not in content else content


def _items(content: Mapping[str, Any]) -> list[Any]:
    """The output items of a response; empty for another value."""
    request, response = _request(content), decode_json(content.get("response"))
    items = decode_json((response if isinstance(response, Mapping) else content).get("output"))
    if "input" not in request or not isinstance(items, list):
        return []
    return items if any(isinstance(item, Mapping) and item.get("type") == "message" for item in items) else []


def _asked(request: Mapping[str, Any]) -> list[Message]:
    told = request.get("instructions")
    system = [{"role": "system", "content": told}] if isinstance(told, str) and told else []
    return [*system, *input_messages(request["input"])]


def answer_beside(content: Mapping[str, Any], messages: Sequence[object]) -> list[Message]:
    """The answer beside the messages; empty if they end with it, or there is none."""
    last = messages[-1] if messages else None
    if isinstance(last, Mapping) and role_named(last.get("role")) == "assistant":
        return []
    return next((answer for key in ANSWERS if (answer := output_messages({key: content.get(key)}))), [])


FORMAT = LogFormat("openai", looks, parse)
