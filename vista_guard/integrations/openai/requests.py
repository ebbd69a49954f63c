"""A request to OpenAI's API as the guard reads it: what was said before, what the answer may lean on, whose it is. Pure."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any, cast

from openai import NotGiven, Omit
from pydantic import BaseModel

from vista_guard.integrations.openai_api import Api, Json, ground
from vista_guard.reading.chat_json import take_blocks
from vista_guard.types import Conversation, Document

ConversationId = str | Callable[[Mapping[str, Any]], str | None]
"""The conversation's id, or a function that finds it in a request's keyword arguments."""

_STRUCTURED = ("json_schema", "json_object")
_KEPT_CHAINS = 1024


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


def argument(request: Mapping[str, object], name: str) -> object:
    """A keyword argument, or None when it was left out in one of the SDK's ways."""
    value = request.get(name)
    return None if isinstance(value, Omit | NotGiven) else value


def with_lists(api: Api, request: Mapping[str, object]) -> Json:
    """The keyword arguments, with messages and tools that can be read more than once."""
    names = ("messages" if api == "chat" else "input", "tools")
    once = {name: argument(request, name) for name in names}
    return {**request, **{name: _items(value) for name, value in once.items() if _is_listing(value)}}


def without_documents(api: Api, request: Mapping[str, object]) -> Json:
    """The request as it is sent: `documents` on messages are for the guard, and no API takes them there."""
    name = "messages" if api == "chat" else "input"
    listed = request.get(name)
    if not isinstance(listed, list):
        return dict(request)
    return {**request, name: [_without(item) for item in listed]}


def read_request(
    api: Api, request: Mapping[str, object], conversation_id: ConversationId | None, chains: Chains
) -> Asked:
    """What the guard needs of a request.

    Raises:
        InputError: a message or document that is none.
    """
    chain = _chain(request)
    earlier = chains.get(_text(argument(request, "previous_response_id"))) or chains.get(chain)
    messages = _chat_messages(request) if api == "chat" else _input_messages(request)
    identity = _identity(request, conversation_id) or chain or (earlier.id if earlier else None)
    messages, tagged = _without_blocks(messages)
    conversation, documents = ground(messages, identity, [*_body_documents(request), *tagged])
    if earlier is not None:
        conversation = conversation.model_copy(update={"turns": (*earlier.turns, *conversation.turns)})
    return Asked(conversation, documents, _is_structured(request), _choices(request), chain)


def _without_blocks(messages: Sequence[object]) -> tuple[list[object], list[Document]]:
    """The messages without the context blocks of system messages, and those as documents."""
    read = [take_blocks(one) if isinstance(one, Mapping) else (one, []) for one in messages]
    return [message for message, _ in read], [document for _, found in read for document in found]


def output_documents(output: Sequence[object]) -> tuple[Document, ...]:
    """What tools that ran at OpenAI found, where the response says so: file search results, answers of MCP servers."""
    messages = [message for item in output for message in _item_messages(_plain(item))]
    return ground([message for message in messages if _is_tools(message)], None)[1]


def _identity(request: Mapping[str, object], conversation_id: ConversationId | None) -> str | None:
    named = conversation_id(request) if callable(conversation_id) else conversation_id
    metadata = argument(request, "metadata")
    return named or _text(metadata.get("conversation_id") if isinstance(metadata, Mapping) else None)


def _chain(request: Mapping[str, object]) -> str | None:
    kept = argument(request, "conversation")
    return _text(kept.get("id") if isinstance(kept, Mapping) else kept)


def _text(value: object) -> str | None:
    return str(value) if value else None


def _choices(request: Mapping[str, object]) -> int:
    wanted = argument(request, "n")
    return int(wanted) if isinstance(wanted, int | float | str) and wanted else 1


def _body_documents(request: Mapping[str, object]) -> Iterable[object]:
    body = argument(request, "extra_body")
    given = body.get("documents") if isinstance(body, Mapping) else None
    return cast("Iterable[object]", given or ())  # what is no list is refused where it is read


def _is_structured(request: Mapping[str, object]) -> bool:
    text = argument(request, "text")
    wanted = (
        argument(request, "response_format")
        or argument(request, "text_format")
        or (text.get("format") if isinstance(text, Mapping) else None)
    )
    return wanted is not None and (not isinstance(wanted, Mapping) or wanted.get("type") in _STRUCTURED)


def _chat_messages(request: Mapping[str, object]) -> list[object]:
    return [_plain(message) for message in _items(argument(request, "messages"))]


def _input_messages(request: Mapping[str, object]) -> list[object]:
    asked, instructions = argument(request, "input"), argument(request, "instructions")
    system: list[object] = [{"role": "system", "content": instructions}] if isinstance(instructions, str) else []
    if isinstance(asked, str):
        return [*system, {"role": "user", "content": asked}]
    return [*system, *(message for item in _items(asked) for message in _item_messages(_plain(item)))]


def _item_messages(item: object) -> list[object]:
    """An item of the responses API as chat messages: none for what says nothing."""
    if not isinstance(item, Mapping) or "role" in item:
        return [item]
    kind, call = str(item.get("type")), item.get("call_id") or item.get("id")
    if kind.endswith("_output") and isinstance(item.get("output"), str | list):
        return [{"role": "tool", "tool_call_id": call, "content": item["output"]}]
    if kind == "mcp_call" and item.get("output"):
        return [{"role": "tool", "tool_call_id": call, "name": item.get("name"), "content": item["output"]}]
    if kind == "file_search_call" and item.get("results"):
        found = [_found_document(_plain(result)) for result in _items(item["results"])]
        return [{"role": "tool", "tool_call_id": call, "content": "", "documents": [one for one in found if one]}]
    if kind.endswith("_call"):
        function = {"id": call, "function": {"name": item.get("name")}}
        return [{"role": "assistant", "content": None, "tool_calls": [function]}]
    return []


def _found_document(result: object) -> Json | None:
    text = result.get("text") if isinstance(result, Mapping) else None
    if not isinstance(result, Mapping) or not isinstance(text, str) or not text.strip():
        return None
    return {"id": result.get("file_id"), "title": result.get("filename"), "text": text}


def _is_tools(message: object) -> bool:
    return isinstance(message, Mapping) and message["role"] == "tool"


def _plain(item: object) -> object:
    """The SDK's objects are as good as mappings in a request: an earlier answer is passed back as it came."""
    return item.model_dump() if isinstance(item, BaseModel) else item


def _items(value: object) -> list[object]:
    return list(value) if isinstance(value, Iterable) else []


def _is_listing(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | Mapping)


def _without(item: object) -> object:
    if not isinstance(item, Mapping) or "documents" not in item:
        return item
    return {key: value for key, value in item.items() if key != "documents"}
