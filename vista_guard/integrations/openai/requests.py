"""A request to OpenAI's API as the guard reads it: what was said before, what the answer may lean on, whose it is. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from openai import NotGiven, Omit

from vista_guard.integrations.openai_api import Api
from vista_guard.reading.chat_json import to_conversation
from vista_guard.stream.source import joined
from vista_guard.types import Conversation, Document, Role, Turn

__all__ = ["Api", "Asked", "Chains", "ConversationId", "given", "ground", "joined", "output_documents", "read", "said"]

ConversationId = str | Callable[[Mapping[str, Any]], str | None]
"""The conversation's id, or a function that finds it in a request's keyword arguments."""

_STRUCTURED = ("json_schema", "json_object")
_KEPT_CHAINS = 1024
_COMING = {"role": "assistant", "content": "…"}
"""Stands for the answer that is not there yet, so that `wire` says what it may lean on."""


@dataclass(frozen=True)
class Asked:
    """A request before its answer is there.

    `conversation` is what was said so far, `documents` is what the answer may lean on. A `structured` answer is data and
    is not judged. With several `choices` the answers are alternatives to one another.
    """

    conversation: Conversation
    documents: tuple[Document, ...]
    structured: bool = False
    choices: int = 1
    chain: str | None = None
    """Id under which OpenAI keeps this conversation: of a conversation, whose turns are followed from call to call."""


class Chains:
    """What was said under the ids of responses and conversations that OpenAI keeps, so that later turns know it.

    Bounded, and of this process: pass the history yourself where another process goes on with a conversation.
    """

    def __init__(self) -> None:
        self._said: OrderedDict[str, Conversation] = OrderedDict()
        self._lock = Lock()

    def get(self, key: str | None) -> Conversation | None:
        """What was said, when it is still known."""
        with self._lock:
            return None if key is None else self._said.get(key)

    def put(self, key: str | None, conversation: Conversation) -> None:
        """Keeps what was said; the oldest goes first."""
        if not key:
            return
        with self._lock:
            self._said[key] = conversation
            self._said.move_to_end(key)
            while len(self._said) > _KEPT_CHAINS:
                self._said.popitem(last=False)


def given(request: Mapping[str, Any], name: str) -> Any:
    """A keyword argument, or None when it was left out in one of the SDK's ways."""
    value = request.get(name)
    return None if isinstance(value, Omit | NotGiven) else value


def settled(api: Api, request: Mapping[str, Any]) -> dict[str, Any]:
    """The keyword arguments, with messages and tools that can be read more than once."""
    names = ("messages" if api == "chat" else "input", "tools")
    once = {name: given(request, name) for name in names}
    return {**request, **{name: list(value) for name, value in once.items() if _is_listing(value)}}


def without_documents(api: Api, request: Mapping[str, Any]) -> dict[str, Any]:
    """The request as it is sent: `documents` on messages are for the guard, and no API takes them there."""
    name = "messages" if api == "chat" else "input"
    listed = request.get(name)
    if not isinstance(listed, list):
        return dict(request)
    return {**request, name: [_without(item) for item in listed]}


def read(api: Api, request: Mapping[str, Any], conversation_id: ConversationId | None, chains: Chains) -> Asked:
    """What the guard needs of a request.

    Raises:
        InputError: a message or document that is none.
    """
    chain = _chain(request)
    earlier = chains.get(given(request, "previous_response_id")) or chains.get(chain)
    messages = _chat_messages(request) if api == "chat" else _input_messages(request)
    identity = _identity(request, conversation_id) or chain or (earlier.id if earlier else None)
    conversation, documents = ground(messages, identity, (given(request, "extra_body") or {}).get("documents") or ())
    if earlier is not None:
        conversation = conversation.model_copy(update={"turns": (*earlier.turns, *conversation.turns)})
    return Asked(conversation, documents, _is_structured(request), int(given(request, "n") or 1), chain)


def ground(
    messages: Sequence[Mapping[str, Any]], identity: str | None, documents: Iterable[object] = ()
) -> tuple[Conversation, tuple[Document, ...]]:
    """What was said, and the documents of the answer that comes next."""
    *said, coming = to_conversation([*messages, _COMING], documents=documents).turns
    return Conversation(turns=tuple(said), id=identity), coming.documents


def output_documents(output: Sequence[Any]) -> tuple[Document, ...]:
    """What tools that ran at OpenAI found, where the response says so: file search results, answers of MCP servers."""
    brought = [message for item in output for message in _item_messages(_plain(item)) if message["role"] == "tool"]
    return ground(brought, None)[1]


def said(conversation: Conversation, texts: Iterable[str], documents: Sequence[Document]) -> Conversation:
    """The conversation with what was delivered, and what that leaned on."""
    turns = tuple(Turn(role=Role.ASSISTANT, text=text, documents=tuple(documents)) for text in texts)
    return conversation.model_copy(update={"turns": (*conversation.turns, *turns)})


def _identity(request: Mapping[str, Any], conversation_id: ConversationId | None) -> str | None:
    named = conversation_id(request) if callable(conversation_id) else conversation_id
    if named:
        return named
    return (given(request, "metadata") or {}).get("conversation_id") or None


def _chain(request: Mapping[str, Any]) -> str | None:
    kept = given(request, "conversation")
    return (kept.get("id") if isinstance(kept, Mapping) else kept) or None


def _is_structured(request: Mapping[str, Any]) -> bool:
    text = given(request, "text")
    wanted = (
        given(request, "response_format")
        or given(request, "text_format")
        or (text.get("format") if isinstance(text, Mapping) else None)
    )
    return wanted is not None and (not isinstance(wanted, Mapping) or wanted.get("type") in _STRUCTURED)


def _chat_messages(request: Mapping[str, Any]) -> list[Any]:
    return [_plain(message) for message in given(request, "messages") or ()]


def _input_messages(request: Mapping[str, Any]) -> list[Any]:
    asked, instructions = given(request, "input"), given(request, "instructions")
    system: list[Any] = [{"role": "system", "content": instructions}] if isinstance(instructions, str) else []
    if isinstance(asked, str):
        return [*system, {"role": "user", "content": asked}]
    return [*system, *(message for item in asked or () for message in _item_messages(_plain(item)))]


def _item_messages(item: Any) -> list[Any]:
    """An item of the responses API as chat messages: none for what says nothing."""
    if not isinstance(item, Mapping) or "role" in item:
        return [item]
    kind, call = str(item.get("type")), item.get("call_id") or item.get("id")
    if kind.endswith("_output") and isinstance(item.get("output"), str | list):
        return [{"role": "tool", "tool_call_id": call, "content": item["output"]}]
    if kind == "mcp_call" and item.get("output"):
        return [{"role": "tool", "tool_call_id": call, "name": item.get("name"), "content": item["output"]}]
    if kind == "file_search_call" and item.get("results"):
        found = [_found(_plain(result)) for result in item["results"]]
        return [{"role": "tool", "tool_call_id": call, "content": "", "documents": [one for one in found if one]}]
    if kind.endswith("_call"):
        function = {"id": call, "function": {"name": item.get("name")}}
        return [{"role": "assistant", "content": None, "tool_calls": [function]}]
    return []


def _found(result: Mapping[str, Any]) -> dict[str, Any] | None:
    text = result.get("text")
    if not isinstance(text, str) or not text.strip():
        return None
    return {"id": result.get("file_id"), "title": result.get("filename"), "text": text}


def _plain(item: Any) -> Any:
    """The SDK's objects are as good as mappings in a request: an earlier answer is passed back as it came."""
    return item.model_dump() if hasattr(item, "model_dump") else item


def _is_listing(value: Any) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | Mapping)


def _without(item: Any) -> Any:
    if not isinstance(item, Mapping) or "documents" not in item:
        return item
    return {key: value for key, value in item.items() if key != "documents"}
