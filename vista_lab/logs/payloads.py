"""Extracts chat messages and documents from the payloads of traced calls, in the shapes of many libraries. Pure.

Messages come out in OpenAI's chat format, documents as `to_document` takes them (`vista_guard.reading.chat_json`).
"""

from __future__ import annotations

import json
from ast import literal_eval
from collections.abc import Mapping, Sequence
from typing import Any

from vista_guard.errors import InputError
from vista_guard.reading.chat_json import read_json
from vista_lab.logs.roles import ROLES, role_named

Message = dict[str, Any]
"""A chat message: role, content, and the other fields of a chat API."""

HISTORIES = ("chat_history", "history", "conversation_history")
QUESTIONS = ("input", "question", "query", "user_input", "human_input", "prompt", "user", "request", "text", "content")
WHOLES = (
    *("messages", "message", "new_message", "contents", "candidates"),
    *("generations", "choices", "outputs", "prompts"),
)
"""Keys of messages."""
FIRST_ONLY = ("candidates", "generations", "choices", "prompts")
"""Keys of several answers to one call, of which the first is the delivered one."""
SYSTEMS = ("system_instruction", "systemInstruction")
ANSWERS = (
    *("output", "answer", "response", "result", "output_text"),
    *("completion", "generation", "reply", "text", "content"),
)
TEXTS = ("page_content", "content", "text", "document", "pageContent")
CITATIONS = ("citations", "all_retrieved_documents")
"""Keys of the documents in the context that Azure OpenAI gives with an answer from one's own data."""
LISTS = ("documents", "output", "results", "docs", "nodes", "matches", "contexts", "passages", "chunks")
"""Keys of a retriever's results."""
WRAPPERS = ("document", "node", "chunk")
"""Keys of a document beside its score."""
JSON_STARTS = ("{", "[", '"')
CALLS = ("tool_use", "tool_call", "function_call")
FUNCTIONS = ("function_call", "functionCall", "toolUse")
RESPONSES = ("function_response", "functionResponse", "toolResult")
RESULTS = ("tool_result", "function_call_output", "tool_call_response")
"""Types of parts and items that are tool calls and tool results."""
THOUGHTS = ("reasoning", "thinking", "redacted_thinking")
"""Types of parts that are not part of the answer."""
PART_TEXTS = ("text", "refusal", "transcript")
"""Keys of a content part's text, whatever its type."""
TEXT_VALUES = ("value", "content")
"""Further keys of a text part's text."""
CONTENTS = ("content", "parts", "text")
"""Keys of a message's content."""
OUTCOMES = ("content", "output", "tool_result", "result", "response")
"""Keys of what a tool answered."""
_SIMPLE = frozenset({"role", "type", "content"})
"""Keys of a message that has nothing but its text."""
_OF_MESSAGES = frozenset({"lc", "data", "role", "type", "parts", "message"})
"""Keys of which every message has one."""


def decode_json(value: object) -> object:
    """Decodes JSON that is stored as a text, once or several times over, as in Parquet, CSV and traces; else the value itself."""
    while isinstance(value, str) and value.lstrip()[:1] in JSON_STARTS:
        try:
            value = read_json(value)
        except ValueError:
            break
    return value


def decode(value: object) -> object:
    """Like `decode_json`, and mappings and lists as Python prints them, which some tracers and tables store."""
    if not isinstance(value, str):
        return value
    value = decode_json(value)
    if isinstance(value, str) and value.startswith(("{'", "[{'", "['", '["')):
        try:
            return literal_eval(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            pass
    return value


def input_messages(given: object) -> list[Message]:
    """The input messages of a call, oldest first: a list of messages, or a question with or without its history."""
    return _messages(given, "user", QUESTIONS)


def output_messages(given: object) -> list[Message]:
    """The output messages of a call. Empty if no text is recognised."""
    return _messages(given, "assistant", ANSWERS)


def documents_in(given: object) -> list[object]:
    """The documents in a retriever's output; empty if nothing looks like one."""
    content = decode_json(given)
    if isinstance(content, Mapping):
        if (text := _document_text(content)) is not None:
            return [_document(content, text)]
        inner = next((content[key] for key in (*LISTS, *WRAPPERS) if content.get(key)), None)
        return documents_in(inner) if inner is not None else []
    if isinstance(content, list):
        parts = ([item] if isinstance(item, str) and item.strip() else documents_in(item) for item in content)
        return [document for part in parts for document in part]
    return []


def tool_documents(output: object) -> list[object]:
    """The texts of a tool's output, as documents, or its data as JSON."""
    data = decode(output)
    texts: list[object] = [text for message in output_messages(data) if (text := message_text(message))]
    has_data = isinstance(data, list | Mapping) and _has_data(data)
    return texts or ([json.dumps(data, ensure_ascii=False)] if has_data else [])


def _has_data(value: object) -> bool:
    if isinstance(value, list | Mapping):
        return any(map(_has_data, value.values() if isinstance(value, Mapping) else value))
    return value is not None and value != ""


def evidence(given: object, field: str) -> list[object]:
    """The documents of a field that is known to hold them: a text, texts, mappings with text, also with citations.

    Raises InputError if the field holds something and no document can be read from a part of it; names both.
    """
    content = decode(given)
    content = content if (cited := _cited(content)) is None else cited
    items = content if isinstance(content, list) else [content]
    return [document for number, item in enumerate(items, 1) for document in _evidence_item(item, field, number, items)]


def _cited(context: object) -> list[Any] | None:
    """The citations in a context of Azure OpenAI; None for anything else. Once the context was a tool's message with them."""
    context = decode_json(context)
    if not isinstance(context, Mapping):
        return None
    if isinstance(inner := context.get("messages"), list):
        return next((found for one in inner if isinstance(one, Mapping) and (found := _cited(one.get("content")))), [])
    found = next((context[key] for key in CITATIONS if isinstance(context.get(key), list)), None)
    return [] if found is None and context.keys() == {"intent"} else found


def _evidence_item(item: Any, field: str, number: int, items: Sequence[Any]) -> list[object]:
    if item is None or item == {} or item == [] or (isinstance(item, str) and not item.strip()):
        return []
    found: list[object] = [item] if isinstance(item, str) else documents_in(item)
    if found:
        return found
    expected = f"expected a text, or a mapping with its text under one of {', '.join(TEXTS)}"
    if isinstance(item, int | float):
        raise InputError(f"has numbers in {field} ({len(items)}, such as {item}), maybe ids of tokens; {expected}")
    keys = f" with the keys {', '.join(map(str, item))[:80]}" if isinstance(item, Mapping) else ""
    raise InputError(f"has no text in item {number} of {field}, a {type(item).__name__}{keys}; {expected}")


def message_text(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(text for part in parts if (text := part_text(part)))


def part_text(part: object) -> str | None:
    """The text of a content part; None for a picture, a tool's call or result, a model's thoughts, and an unknown part."""
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping) or not may_be_read(part):
        return None
    kind = part.get("type")
    keys = (*PART_TEXTS, *TEXT_VALUES) if kind is None or "text" in str(kind) else PART_TEXTS
    # OpenAI's Assistants wrap the text: {"type": "text", "text": {"value": "…", "annotations": []}}.
    texts = (one.get("value") if isinstance(one := part.get(key), Mapping) else one for key in keys)
    return next((text for text in texts if isinstance(text, str)), None)


def may_be_read(part: Mapping[str, Any]) -> bool:
    """True unless the content part is a tool's call or result, or a model's thoughts."""
    return part.get("type") not in (*CALLS, *RESULTS, *THOUGHTS)


def _messages(value: object, role: str, keys: Sequence[str]) -> list[Message]:
    content = decode(value)
    if isinstance(content, str):
        return [{"role": role, "content": content}] if content.strip() else []
    if isinstance(content, list):
        return _messages_of(content, role, keys)
    if not isinstance(content, Mapping):
        return []
    if (messages := _message(content, role)) is not None:
        return messages
    if content.get("type") == "reasoning":  # not part of the answer
        return []
    return _in_mapping(content, role, keys)


def _messages_of(items: list[Any], role: str, keys: Sequence[str]) -> list[Message]:
    if len(items) == 2 and isinstance(items[0], str) and items[0].lower() in ROLES:  # ("human", "Hello")
        return [{"role": ROLES[items[0].lower()], "content": items[1]}]
    if items and all(isinstance(item, str) for item in items):  # a stream, piece by piece
        return _messages("".join(items), role, keys)
    if items and isinstance(items[0], list) and not (items[0] and isinstance(items[0][0], str)):
        return _messages_of(items[0], role, keys)  # a batch of one call, as LangChain's models have it
    return [message for item in items for message in _messages(item, role, keys)]


def _first(items: object) -> object:
    """The first of several answers to one call, which is the delivered one."""
    return items[0] if isinstance(items, list) and items else items


def _in_mapping(content: Mapping[str, Any], role: str, keys: Sequence[str]) -> list[Message]:
    for whole in WHOLES:
        inner = content.get(whole)
        if inner is None:
            continue
        if whole in FIRST_ONLY:
            inner = _first(decode_json(inner))
        if inner and (messages := _messages(_first(inner) if whole == "generations" else inner, role, keys)):
            return [*_beside(content), *messages]
    if "args" in content and content.keys() <= {"args", "kwargs"}:  # a function's call, as tracers write it down
        return _messages(content.get("kwargs"), role, keys) or _messages(_first(content["args"]), role, keys)
    past = next((_messages(content[key], "user", QUESTIONS) for key in HISTORIES if content.get(key)), [])
    for key in keys:
        if key in content and (messages := _messages(content[key], role, keys)):
            return [*past, *messages]
    values = [value for value in content.values() if isinstance(value, str) and value.strip()]
    return [*past, {"role": role, "content": values[0]}] if len(content) == 1 and values else []


def _beside(content: Mapping[str, Any]) -> list[Message]:
    """Gemini's system instruction beside the contents, and the calls of functions beside the candidates."""
    config = content.get("config")
    places = (content, config if isinstance(config, Mapping) else {})
    system = next((place[key] for place in places for key in SYSTEMS if place.get(key)), None)
    told = [{**one, "role": "system"} for one in _messages(system, "system", QUESTIONS)]
    return [*told, *_messages(content.get("automatic_function_calling_history"), "user", QUESTIONS)]


def _message(content: Mapping[str, Any], role: str) -> list[Message] | None:
    """Reads one message, by its role or LangChain's type, and tool results in it; None for another mapping."""
    if content.keys().isdisjoint(_OF_MESSAGES):
        return None
    if content.get("lc") == 1 and isinstance(content.get("kwargs"), Mapping):
        path = content.get("id")
        kind = str(path[-1]) if isinstance(path, list) and path else ""
        return _message({"type": kind, **content["kwargs"]}, role) if "Message" in kind else None
    if isinstance(content.get("data"), Mapping) and isinstance(content.get("type"), str):
        return _message({"type": content["type"], **content["data"]}, role)
    if isinstance(content.get("role"), str):
        # An unknown role stays, so that the reader of the messages can report it.
        return plain(content, role_named(content["role"]) or content["role"])
    if content.get("type") == "function_call":
        call = {"id": content.get("call_id") or content.get("id"), "name": content.get("name")}
        return [{"role": "assistant", "content": None, "tool_calls": [call]}]
    if content.get("type") == "file_search_call":
        call = {"id": content.get("id"), "name": "file_search"}
        found = documents_in(content.get("results"))
        return [{"role": "assistant", "content": None, "tool_calls": [call], "documents": found}]
    if content.get("type") in RESULTS:
        return [_tool_answer(content)]
    kind = str(content.get("type") or "").lower().removesuffix("chunk").removesuffix("message")
    if kind in ROLES and "content" in content:
        return plain(content, ROLES[kind])
    if isinstance(content.get("parts"), list):
        return plain(content, role)
    if isinstance(content.get("message"), Mapping):  # a generation of LangChain, a choice of OpenAI
        return _message(content["message"], role)
    return None


def plain(content: Mapping[str, Any], role: str) -> list[Message]:
    """A message in OpenAI's format, after the tool results that are parts of it. Definitions of tools are none."""
    if role != "tool" and content.keys() <= _SIMPLE and isinstance(content.get("content"), str):
        return [{"role": role, "content": content["content"]}]
    fields = {key: content[key] for key in ("tool_calls", "tool_call_id", "name", "refusal") if content.get(key)}
    extra = content.get("additional_kwargs")
    if "tool_calls" not in fields and isinstance(extra, Mapping) and extra.get("tool_calls"):
        fields["tool_calls"] = extra["tool_calls"]
    text = next((content[key] for key in CONTENTS if content.get(key) is not None), None)
    if role == "assistant" and (cited := documents_in(_cited(content.get("context")))):
        fields["documents"] = cited
    if role == "tool" and (cited := documents_in(_cited(text))):
        return [{"role": role, "content": "", **fields, "documents": cited}]
    if isinstance(text, list):
        text = [_part(part) for part in text]
    parts = text if isinstance(text, list) else []
    calls = [part for part in parts if isinstance(part, Mapping) and part.get("type") in CALLS]
    if calls and "tool_calls" not in fields:
        fields["tool_calls"] = calls
    results = [part for part in parts if isinstance(part, Mapping) and part.get("type") in RESULTS]
    if results and role != "tool":
        rest = [part for part in parts if part not in results]
        own = [{"role": role, "content": rest, **fields}] if rest else []
        return [*map(_tool_answer, results), *own]
    if role == "tool":
        data = decode_json(text)
        if _functions(data, with_arguments=True):
            return [{"role": "assistant", "content": None, "tool_calls": data if isinstance(data, list) else [data]}]
        if _functions(data, with_arguments=False):
            return []
        text = _tool_text(text)
    return [{"role": role, "content": text, **fields}]


def _part(part: Any) -> Any:
    if not isinstance(part, Mapping):
        return part
    for names, kind in ((FUNCTIONS, "tool_call"), (RESPONSES, "tool_result"), (("reasoningContent",), "thinking")):
        inner = next((part[name] for name in names if isinstance(part.get(name), Mapping)), None)
        if inner is not None:
            return {**inner, "type": kind}
    return {**part, "type": "thinking"} if part.get("thought") is True else part


def _functions(data: object, *, with_arguments: bool) -> bool:
    """True for calls of functions, or for definitions of functions, that come as a tool's message."""
    items = data if isinstance(data, list) else [data]
    return bool(items) and all(_is_function(item, with_arguments) for item in items)


def _is_function(item: object, with_arguments: bool) -> bool:
    inner = item.get("function") if isinstance(item, Mapping) and item.get("type") == "function" else None
    return isinstance(inner, Mapping) and "name" in inner and ("arguments" in inner) is with_arguments


def _tool_text(content: object) -> str | list[Any] | None:
    if content is None or isinstance(content, str):
        inner = decode_json(content)
        return inner if isinstance(inner, str) else content
    parts = content if isinstance(content, list) else [content]
    texts = [_result_text(part) if _is_result(part) else part_text(part) for part in parts]
    if all(text is not None for text in texts) and not _has_more(parts):
        return "\n".join(str(text) for text in texts)
    return json.dumps(content, ensure_ascii=False)


def _has_more(parts: Sequence[object]) -> bool:
    return any(isinstance(part, Mapping) and "type" not in part and len(part) > 1 for part in parts)


def _is_result(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") in RESULTS


def _tool_answer(part: Mapping[str, Any]) -> Message:
    call = next(
        filter(None, (part.get(key) for key in ("tool_use_id", "toolUseId", "call_id", "tool_call_id", "id"))), None
    )
    message: Message = {"role": "tool", "content": _result_text(part)}
    return {**message, "tool_call_id": call if isinstance(call, str) else json.dumps(call)} if call else message


def _result_text(part: Any) -> str:
    return str(_tool_text(next((part[key] for key in OUTCOMES if part.get(key) is not None), None)) or "")


def _document_text(content: Mapping[str, Any]) -> str | None:
    if content.get("lc") == 1 and isinstance(content.get("kwargs"), Mapping):
        return _document_text(content["kwargs"])
    return next((content[key] for key in TEXTS if isinstance(content.get(key), str) and content[key].strip()), None)


def _document(content: Mapping[str, Any], text: str) -> object:
    inner = content["kwargs"] if content.get("lc") == 1 else content
    metadata = decode_json(inner.get("metadata"))
    known = dict(metadata) if isinstance(metadata, Mapping) else {}
    identity = inner.get("id") or known.get("id") or known.get("document_id")
    title = (
        inner.get("title")
        or inner.get("name")
        or inner.get("filename")
        or inner.get("filepath")
        or known.get("title")
        or known.get("source")
        or None
    )
    url = next((one for one in (inner.get("url"), known.get("url")) if isinstance(one, str)), None)
    return {"text": text, "id": identity, "title": None if title is None else str(title), "url": url}
