"""The host's own objects and what the guard needs of them: reads requests and replies, puts a text back. Pure.

A request is a text, a list of messages (LangChain's or chat JSON), or a mapping with `messages`, or with `input`,
`question` or `query` (and `chat_history`). A reply is a text, one message, a `Turn`, or a mapping with `messages`, with
`answer`, `output`, `response`, `result` or `text` (and `documents`, `context` or `source_documents`), or a chat message.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document as LangChainDocument
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    ToolMessage,
    convert_to_openai_messages,
)

from vista_guard.errors import InputError
from vista_guard.graph.documents import read_document, read_documents
from vista_guard.reading.chat_json import to_conversation
from vista_guard.types import Conversation, Document, Role, Turn

QUESTION_KEYS = ("input", "question", "query")
ANSWER_KEYS = ("answer", "output", "response", "result", "text")
HISTORY_KEYS = ("chat_history", "history")


@dataclass(frozen=True)
class Draft:
    """What the agent said, and the documents that came with it. `text` is None when it said nothing to a user."""

    text: str | None
    documents: tuple[Document, ...] = ()


def read_request(request: Any) -> Conversation:
    """What was said so far, anonymous.

    Raises:
        InputError: a kind of object that is not listed above.
    """
    if isinstance(request, str):
        return Conversation(turns=(Turn(role=Role.USER, text=request),))
    if isinstance(request, Conversation):
        return request
    if isinstance(request, BaseMessage):
        return _conversation([request])
    if hasattr(request, "to_messages"):
        return _conversation(request.to_messages())
    if isinstance(request, Mapping):
        return _read_mapping(request)
    if isinstance(request, Sequence):
        return _conversation(request)
    raise InputError(
        f"the agent was called with {type(request).__name__}; vista-guard reads a text, messages, or a mapping with messages"
    )


def read_reply(request: Any, reply: Any) -> Draft:
    """The draft in the agent's answer, with the documents of the answer and those that came with the request.

    Raises:
        InputError: a kind of object that is not listed above, so that nothing unread is ever delivered.
    """
    draft = _read_reply(request, reply)
    known = {document.id for document in draft.documents}
    return Draft(draft.text, (*draft.documents, *(found for found in _asked_with(request) if found.id not in known)))


def _asked_with(request: Any) -> tuple[Document, ...]:
    """Documents that came with the request: under a key of its own, with the user's message, or from tools that ran since."""
    if isinstance(request, Mapping):
        return (*read_documents(request), *_asked_with(request.get("messages") or ()))
    if isinstance(request, Sequence) and not isinstance(request, str) and request:
        return _conversation([*request, AIMessage("-")]).turns[-1].documents
    return ()


def _read_reply(request: Any, reply: Any) -> Draft:
    if isinstance(reply, str):
        return Draft(reply)
    if isinstance(reply, Turn):
        return Draft(reply.text, reply.documents)
    if isinstance(reply, BaseMessage):
        return _last_turn([reply])
    if isinstance(reply, Mapping):
        return _read_reply_mapping(request, reply)
    raise InputError(
        f"the agent answered with {type(reply).__name__}; vista-guard guards a text, a message, or a mapping with "
        f"messages or one of {', '.join(ANSWER_KEYS)}. Wrap a function that returns one of these"
    )


def replace_text(reply: Any, text: str) -> Any:
    """The same kind of object with `text` in place of the draft. Messages keep their id and lose what else held the draft."""
    if isinstance(reply, str):
        return text
    if isinstance(reply, Turn):
        return Turn(role=reply.role, text=text, documents=reply.documents)
    if isinstance(reply, BaseMessage):
        return AIMessage(content=text, id=reply.id, name=reply.name)
    if "messages" in reply:
        messages = list(reply["messages"])
        place = _last_said(messages)
        if place is not None:
            messages[place] = replace_text(messages[place], text)
        return {**reply, "messages": messages}
    key = "content" if "content" in reply else _present(reply, ANSWER_KEYS)
    if isinstance(reply[key], BaseMessage):
        return {**reply, key: replace_text(reply[key], text)}
    # A raw answer beside the cleaned one holds the draft too.
    return {name: text if isinstance(value, str) and reply[key] in value else value for name, value in reply.items()}


def without_text(chunk: AIMessageChunk) -> AIMessageChunk | None:
    """What a chunk brings beside its text: tool calls, reasoning, usage. None when that is nothing."""
    parts: Any = "" if isinstance(chunk.content, str) else [part for part in chunk.content if not _is_text(part)]
    rest = chunk.model_copy(update={"content": parts, "chunk_position": None})
    return rest if parts or rest.tool_call_chunks or rest.additional_kwargs or rest.usage_metadata else None


def with_feedback(request: Any, draft: str, note: str) -> Any:
    """The request again, with the withheld draft and a note on it."""
    if isinstance(request, str):
        return f"{request}\n\n{note}"
    if isinstance(request, Conversation):
        turns = (Turn(role=Role.ASSISTANT, text=draft), Turn(role=Role.USER, text=note))
        return request.model_copy(update={"turns": (*request.turns, *turns)})
    if isinstance(request, Mapping):
        if "messages" in request:
            return {**request, "messages": with_feedback(list(request["messages"]), draft, note)}
        key = _present(request, QUESTION_KEYS)
        return {**request, key: f"{request[key]}\n\n{note}"}
    messages = list(request.to_messages() if hasattr(request, "to_messages") else request)
    if any(isinstance(message, Mapping) for message in messages):
        return [*messages, {"role": "assistant", "content": draft}, {"role": "user", "content": note}]
    return [*messages, AIMessage(content=draft), HumanMessage(content=note)]


def _read_mapping(request: Mapping[str, Any]) -> Conversation:
    if "messages" in request:
        return _conversation(request["messages"])
    key = next((key for key in QUESTION_KEYS if isinstance(request.get(key), str)), None)
    if key is None:
        keys = ", ".join(QUESTION_KEYS)
        raise InputError(
            f"the agent was called with the keys {sorted(map(str, request))}; vista-guard reads messages, {keys}"
        )
    past = next((request[name] for name in HISTORY_KEYS if request.get(name)), ())
    return _conversation([*past, HumanMessage(content=request[key])])


def _read_reply_mapping(request: Any, reply: Mapping[str, Any]) -> Draft:
    documents = read_documents(reply)
    if "messages" in reply:
        new = _new_messages(request, reply["messages"])
        draft = _last_turn(new)
        return Draft(draft.text, (*draft.documents, *documents))
    if "role" in reply or "content" in reply:
        return _last_turn([reply])
    inner = reply[_present(reply, ANSWER_KEYS)]
    return Draft(_read_reply(request, inner).text, documents)


def _new_messages(request: Any, messages: Sequence[Any]) -> list[Any]:
    """What this run of the agent added: all after the last user message."""
    for place in range(len(messages) - 1, -1, -1):
        if _role(messages[place]) in ("user", "human"):
            return list(messages[place + 1 :])
    return list(messages)


def _last_turn(messages: Sequence[Any]) -> Draft:
    turns = _conversation(messages).turns
    if not turns or turns[-1].role is not Role.ASSISTANT or not turns[-1].text.strip():
        return Draft(None)
    return Draft(turns[-1].text, turns[-1].documents)


def _last_said(messages: Sequence[Any]) -> int | None:
    """Place of the assistant message that carries the draft."""
    for place in range(len(messages) - 1, -1, -1):
        if _role(messages[place]) in ("assistant", "ai") and _last_turn([messages[place]]).text is not None:
            return place
    return None


def _conversation(messages: Sequence[Any]) -> Conversation:
    return to_conversation([_chat_json(message) for message in messages])


def _chat_json(message: Any) -> Mapping[str, Any]:
    if isinstance(message, Mapping) and "role" in message:
        return message
    converted = convert_to_openai_messages([message])[0]
    found = _artifact_documents(message)
    # A retriever tool's artifact is what its text was printed from: the documents themselves, with their titles.
    return {**converted, "content": "", "documents": found} if found else converted


def _artifact_documents(message: Any) -> list[Document]:
    if (
        not isinstance(message, ToolMessage)
        or not isinstance(message.artifact, Sequence)
        or isinstance(message.artifact, str)
    ):
        return []
    return [read_document(item) for item in message.artifact if isinstance(item, LangChainDocument)]


def _role(message: Any) -> str:
    return str(message.get("role", "")) if isinstance(message, Mapping) else str(getattr(message, "type", ""))


def _is_text(part: object) -> bool:
    return isinstance(part, str) or (isinstance(part, Mapping) and part.get("type") == "text")


def _present(mapping: Mapping[str, Any], keys: Sequence[str]) -> str:
    found = next((key for key in keys if key in mapping), None)
    if found is None:
        raise InputError(
            f"the mapping has the keys {sorted(map(str, mapping))}; vista-guard reads one of {', '.join(keys)}"
        )
    return found
