"""Reads the host's requests, replies and documents, and puts a delivered text back into them.

A request is a text, a list of messages (LangChain's or chat JSON), or a mapping with `messages`, or with `input`,
`question` or `query` (and `chat_history`). A reply is a text, one message, a `Turn`, or a mapping with `messages`, with
`answer`, `output`, `response`, `result` or `text` (and `documents`, `context` or `source_documents`), or a chat message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast, overload
from urllib.parse import quote

from langchain_core.documents import Document as LangChainDocument
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    BaseMessageChunk,
    ChatMessage,
    HumanMessage,
    MessageLikeRepresentation,
    ToolMessage,
    convert_to_messages,
    convert_to_openai_messages,
)
from langchain_core.prompt_values import PromptValue
from langchain_core.runnables import RunnableConfig
from typing_extensions import TypeIs

from vista_guard.errors import InputError
from vista_guard.reading.chat_json import (
    DOCUMENT_KEYS,
    join_parts,
    read_document,
    read_documents,
    splits_address,
    to_conversation,
)
from vista_guard.types import Conversation, Document, Role, Turn

_UNSPOKEN = frozenset({"reasoning", "reasoning_content", "thinking", "redacted_thinking", "non_standard", "citation"})
"""Types of content parts that are made for the model or for programs: no host shows them as the answer."""
_DONE = ("_call", "_use", "_result", "_output", "_call_chunk")
"""Suffixes of types of parts that call a tool, or hold the answer of a provider's tool."""
_SPOKEN = ("text", "refusal", "output_text")
_ADDRESS = "!#$%&'()*+,/:;=?@[]~\\"
"""Characters that an address keeps inside of Markdown's angle brackets."""


def answer_start(messages: Sequence[BaseMessage]) -> int:
    """The place in the list where the answer to the last human message begins."""
    return max((place for place, message in enumerate(messages, 1) if message.type == "human"), default=0)


def is_assistant(message: object) -> TypeIs[AIMessage | ChatMessage]:
    """True for assistant messages, including those that only a `role` marks."""
    return isinstance(message, AIMessage) or (isinstance(message, ChatMessage) and message.role == "assistant")


@overload
def in_words(message: AIMessageChunk) -> AIMessageChunk: ...


@overload
def in_words(message: AIMessage | ChatMessage) -> AIMessage: ...


@overload
def in_words(message: BaseMessage) -> BaseMessage: ...


def in_words(message: BaseMessage) -> BaseMessage:
    """The message with all its words as text: refusals, transcripts of sounds, and parts of no known kind too.

    Plain text, and messages that are no assistant's, come back unchanged.
    """
    if not is_assistant(message):
        return message
    if not isinstance(message, AIMessage):
        kind = AIMessageChunk if isinstance(message, BaseMessageChunk) else AIMessage
        message = kind(content=message.content, id=message.id, additional_kwargs=message.additional_kwargs)
    content = _content_in_words(message.content)
    texts = _texts_beside(message)
    if not texts:
        return message if content == message.content else message.model_copy(update={"content": content})
    other_kwargs = {
        name: value for name, value in message.additional_kwargs.items() if name not in ("refusal", "audio")
    }
    return message.model_copy(update={"content": _with_more(content, texts), "additional_kwargs": other_kwargs})


def _content_in_words(content: str | list[str | dict[str, object]]) -> str | list[str | dict[str, object]]:
    if isinstance(content, str):
        return content
    parts: list[str | dict[str, object]] = []
    for part in content:
        words = _hidden_words(part)
        shown: str | dict[str, object] = {"type": "text", "text": words} if words else part
        before, after = _words_of(parts[-1]) if parts else "", _words_of(shown)
        if splits_address(before, after):
            parts[-1] = {"type": "text", "text": before + after}
        else:
            parts.append(shown)
    return parts


def _words_of(part: object) -> str:
    text = part.get("text") if isinstance(part, Mapping) and part.get("type") == "text" else part
    return text if isinstance(text, str) else ""


def _hidden_words(part: object) -> str:
    """Words of a part that does not look like text, and that a reader may be shown."""
    if not isinstance(part, Mapping) or part.get("type") == "text":
        return ""
    kind = str(part.get("type"))
    if kind in _UNSPOKEN or kind.endswith(_DONE):
        return ""
    words = [text for name in _SPOKEN if isinstance(text := part.get(name), str) and text]
    return "\n".join([*words, *_shown_addresses(part)])


def _shown_addresses(part: Mapping[object, object]) -> Iterator[str]:
    """A picture or file that the reader's program would load, as Markdown, so that it is read as a link of the turn."""
    for held in (part.get("url"), part.get("image_url")):
        url = held.get("url") if isinstance(held, Mapping) else held
        if isinstance(url, str) and not url.startswith("data:"):
            yield f"![](<{quote(url, safe=_ADDRESS)}>)"


def _texts_beside(message: AIMessage) -> list[str]:
    """Text outside the content: OpenAI's refusal, and transcripts of audio."""
    audio = message.additional_kwargs.get("audio")
    texts = (message.additional_kwargs.get("refusal"), audio.get("transcript") if isinstance(audio, Mapping) else None)
    return [text for text in texts if isinstance(text, str) and text]


def _with_more(content: str | list[str | dict[str, object]], texts: list[str]) -> str | list[str | dict[str, object]]:
    if isinstance(content, str):
        return "\n".join([*([content] if content else []), *texts])
    parts: list[str | dict[str, object]] = [{"type": "text", "text": f"\n{text}"} for text in texts]
    return [*content, *parts]


QUESTION_KEYS = ("input", "question", "query")
ANSWER_KEYS = ("answer", "output", "response", "result", "text")
HISTORY_KEYS = ("chat_history", "history")
PLAIN = (bool, int, float, type(None))
"""Types of values that repeat no words."""

_NAME = re.compile(r"[\w.-]{1,64}")

_ASSISTANTS = "vista-guard reads answers in messages of an assistant (AIMessage). Return one of these"

HostState = Mapping[str, object]
"""A state, request, reply or update of the host, by its keys."""


@dataclass(frozen=True)
class ReplyDraft:
    """The agent's answer with its documents. `text` is None when it says nothing to the user."""

    text: str | None
    documents: tuple[Document, ...] = ()


def read_request(request: object) -> Conversation:
    """The conversation so far, without an id. InputError: a kind of object that is not listed above."""
    if isinstance(request, str):
        return Conversation(turns=(Turn(role=Role.USER, text=request),))
    if isinstance(request, Conversation):
        return request
    if isinstance(request, BaseMessage):
        return conversation_of([request])
    if isinstance(request, PromptValue):
        return conversation_of(request.to_messages())
    if isinstance(request, Mapping):
        return _read_mapping(request)
    if isinstance(request, Sequence):
        return conversation_of(request)
    raise InputError(
        f"the agent was called with {type(request).__name__}; vista-guard reads a text, messages, or a mapping with messages"
    )


def read_reply(request: object, reply: object) -> ReplyDraft:
    """The draft in the answer, with its documents and the request's. InputError: any other object, so that none passes unread."""
    draft = _read_reply(request, reply)
    ids = {document.id for document in draft.documents}
    request_documents = [document for document in _request_documents(request) if document.id not in ids]
    return ReplyDraft(draft.text, (*draft.documents, *request_documents))


def _request_documents(request: object) -> tuple[Document, ...]:
    if isinstance(request, Mapping):
        return (*read_documents(request), *_request_documents(request.get("messages") or ()))
    if isinstance(request, Sequence) and not isinstance(request, str) and request:
        return conversation_of([*request, AIMessage("-")]).turns[-1].documents
    return ()


def _read_reply(request: object, reply: object) -> ReplyDraft:
    if isinstance(reply, str):
        return ReplyDraft(reply)
    if isinstance(reply, Turn):
        return ReplyDraft(reply.text, reply.documents)
    if isinstance(reply, BaseMessage):
        if not is_assistant(reply):
            raise InputError(f"the agent answered with a {type(reply).__name__}; {_ASSISTANTS}")
        return _draft_of([reply])
    if isinstance(reply, Mapping):
        return _read_reply_mapping(request, reply)
    raise InputError(
        f"the agent answered with {type(reply).__name__}; vista-guard guards a text, a message, or a mapping with "
        f"messages or one of {', '.join(ANSWER_KEYS)}. Wrap a function that returns one of these"
    )


@overload
def replace_text(reply: BaseMessage, text: str, request: object = None) -> AIMessage: ...


@overload
def replace_text(reply: HostState, text: str, request: object = None) -> dict[str, object]: ...


@overload
def replace_text(reply: object, text: str, request: object = None) -> object: ...


def replace_text(reply: object, text: str, request: object = None) -> object:
    """The same kind of object with `text` in place of the draft. Messages keep their id and lose what else held the draft.

    Messages of the `request` that the reply begins with are not of the draft.
    """
    if isinstance(reply, Turn):
        return Turn(role=reply.role, text=text, documents=reply.documents)
    if isinstance(reply, BaseMessage):
        name = reply.name if reply.name and _NAME.fullmatch(reply.name) else None  # any other may be made of the draft
        return AIMessage(content=text, id=reply.id, name=name)
    return _replace_in_mapping(reply, text, request) if isinstance(reply, Mapping) else text


def _replace_in_mapping(reply: HostState, text: str, request: object) -> dict[str, object]:
    draft = _read_reply_mapping(request, reply).text or text
    # A raw answer beside the cleaned one, a trace, a list of steps: they hold the draft too.
    clean = {name: value if name in DOCUMENT_KEYS else _clean(value, draft, text) for name, value in reply.items()}
    if "messages" not in reply:
        key = "content" if "content" in reply else _first_key(reply, ANSWER_KEYS)
        return {**clean, key: replace_text(reply[key], text)}
    # An agent's state may repeat the draft in other words, such as a structured response.
    past = request if isinstance(request, Mapping) else {}
    silent = (name for name, value in reply.items() if name in DOCUMENT_KEYS or isinstance(value, PLAIN))
    kept = {*silent, *(name for name in reply if clean[name] == text or reply[name] is past.get(name))}
    messages = _replace_in_messages(_items(reply["messages"]), text, request)
    return {**{name: clean[name] for name in reply if name in kept}, "messages": messages}


def _clean(value: object, draft: str, text: str) -> object:
    """The value with `text` in place of what holds the draft, None in place of an object that does."""
    if isinstance(value, str):
        return text if draft in value else value
    if isinstance(value, BaseMessage):
        return replace_text(value, text) if draft in str(in_words(value).text) else value
    if isinstance(value, Mapping):
        return {name: _clean(item, draft, text) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(item, draft, text) for item in value]
    return None if draft in str(value) else value


def _replace_in_messages(messages: list[object], text: str, request: object) -> list[object]:
    """The last message of the draft with the text in its place, and the draft's other messages gone."""
    start = len(messages) - len(_new_messages(messages, request))
    *others, last = [start + place for place in places_of_draft(messages[start:])] or [len(messages)]
    replaced = [replace_text(message, text) if place == last else message for place, message in enumerate(messages)]
    return [message for place, message in enumerate(replaced) if place not in others]


def without_text(chunk: AIMessageChunk) -> AIMessageChunk | None:
    """A chunk's other parts: tool calls, reasoning, usage. None if there are none."""
    parts = "" if isinstance(chunk.content, str) else [part for part in chunk.content if not _is_text(part)]
    rest = chunk.model_copy(update={"content": parts, "chunk_position": None})
    return rest if parts or rest.tool_call_chunks or rest.additional_kwargs or rest.usage_metadata else None


def with_feedback(request: object, draft: str, note: str) -> object:
    """The request again, with the withheld draft and a note on it."""
    if isinstance(request, str):
        return f"{request}\n\n{note}"
    if isinstance(request, Conversation):
        turns = (Turn(role=Role.ASSISTANT, text=draft), Turn(role=Role.USER, text=note))
        return request.model_copy(update={"turns": (*request.turns, *turns)})
    if isinstance(request, Mapping):
        if "messages" in request:
            return {**request, "messages": with_feedback(_items(request["messages"]), draft, note)}
        key = _first_key(request, QUESTION_KEYS)
        return {**request, key: f"{request[key]}\n\n{note}"}
    messages = _items(request.to_messages() if isinstance(request, PromptValue) else request)
    if any(isinstance(message, Mapping) for message in messages):
        return [*messages, {"role": "assistant", "content": draft}, {"role": "user", "content": note}]
    return [*messages, AIMessage(content=draft), HumanMessage(content=note)]


def thread_id_of(config: RunnableConfig) -> str | None:
    thread = (config.get("configurable") or {}).get("thread_id")
    return str(thread) if thread not in (None, "") else None


def _read_mapping(request: HostState) -> Conversation:
    if "messages" in request:
        return conversation_of(_items(request["messages"]))
    question = next((text for key in QUESTION_KEYS if isinstance(text := request.get(key), str)), None)
    if question is None:
        keys = ", ".join(QUESTION_KEYS)
        raise InputError(
            f"the agent was called with the keys {sorted(map(str, request))}; vista-guard reads messages, {keys}"
        )
    past = next((request[name] for name in HISTORY_KEYS if request.get(name)), ())
    return conversation_of([*_items(past), HumanMessage(content=question)])


def _read_reply_mapping(request: object, reply: HostState) -> ReplyDraft:
    documents = read_documents(reply)
    if "messages" in reply:
        draft = _draft_of(_items(reply["messages"]), len(_new_messages(_items(reply["messages"]), request)))
        return ReplyDraft(draft.text, (*draft.documents, *documents))
    if "role" in reply or "content" in reply:
        return _draft_of([reply])
    return ReplyDraft(_read_reply(request, reply[_first_key(reply, ANSWER_KEYS)]).text, documents)


def _new_messages(messages: Sequence[object], request: object) -> Sequence[object]:
    """Messages this run of the agent added: all after the last user message that the request did not have."""
    past = request.get("messages") if isinstance(request, Mapping) else request
    earlier = _after_user(past) if isinstance(past, Sequence) and not isinstance(past, str) else ()
    added = _after_user(messages)
    old = next(
        (n for n, (one, other) in enumerate(zip(added, earlier, strict=False)) if not _is_same(one, other)), None
    )
    return added[min(len(added), len(earlier)) if old is None else old :]


def _after_user(messages: Sequence[object]) -> Sequence[object]:
    for place in range(len(messages) - 1, -1, -1):
        if _role(messages[place]) in ("user", "human"):
            return messages[place + 1 :]
    return messages


def _is_same(message: object, other: object) -> bool:
    identity = getattr(message, "id", None)
    return message is other or message == other or (identity is not None and identity == getattr(other, "id", None))


def _draft_of(messages: Sequence[object], new: int | None = None) -> ReplyDraft:
    """The draft: what the last message says, and what those before it say that call no tools. Only the last `new` messages may
    be of it; evidence is in all."""
    turns = conversation_of(messages).turns
    added = messages[len(messages) - new :] if new is not None else messages
    places = places_of_draft(added)
    if not places or not turns or turns[-1].role is not Role.ASSISTANT:
        return ReplyDraft(None)
    texts = [conversation_of([added[place]]).turns[-1].text for place in places]
    return ReplyDraft("\n\n".join(texts), turns[-1].documents)


def places_of_draft(messages: Sequence[object]) -> list[int]:
    """Places of the messages that make the draft. Text beside a tool call is no part of it, unless none follows."""
    speaking = [place for place, message in enumerate(messages) if _speaks(message)]
    return [place for place in speaking if place == speaking[-1] or not _calls(messages[place])]


def _speaks(message: object) -> bool:
    if _role(message) not in ("assistant", "ai"):
        return False
    turns = conversation_of([message]).turns
    return bool(turns) and bool(turns[-1].text.strip())


def _calls(message: object) -> bool:
    return bool(message.get("tool_calls") if isinstance(message, Mapping) else getattr(message, "tool_calls", None))


def conversation_of(messages: Iterable[object]) -> Conversation:
    """The conversation of chat messages, OpenAI's or LangChain's."""
    return to_conversation([_chat_json(message) for message in messages])


def _items(messages: object) -> list[object]:
    """The messages as a list. InputError: they cannot be listed."""
    if not isinstance(messages, Iterable):
        raise InputError(f"the messages are {type(messages).__name__}; give a list of messages")
    return list(messages)


def _chat_json(message: object) -> HostState:
    if isinstance(message, Mapping) and "role" in message:
        return message
    (read,) = convert_to_messages([cast(MessageLikeRepresentation, message)])
    read = in_words(read)
    # LangChain would refuse content parts that OpenAI does not take, such as videos: the guard reads only their text.
    converted: HostState = convert_to_openai_messages([read.model_copy(update={"content": ""})])[0]
    content = read.content
    if isinstance(content, list) and all(map(_is_text, content)):
        content = join_parts(map(_words_of, content))
    converted = {**converted, "content": content}
    artifacts = _artifact_documents(message)
    # A retriever tool's artifact is what its text was printed from: the documents themselves, with their titles.
    return {**converted, "content": "", "documents": artifacts} if artifacts else converted


def _artifact_documents(message: object) -> list[Document]:
    artifact = message.artifact if isinstance(message, ToolMessage) else None
    items = artifact if isinstance(artifact, Sequence) else ()
    return [read_document(item) for item in items if isinstance(item, LangChainDocument)]


def _role(message: object) -> str:
    if isinstance(message, Mapping):
        return str(message.get("role", ""))
    return "assistant" if is_assistant(message) else str(getattr(message, "type", ""))


def _is_text(part: object) -> bool:
    return isinstance(part, str) or (isinstance(part, Mapping) and part.get("type") == "text")


def _first_key(mapping: HostState, keys: Sequence[str]) -> str:
    present = next((key for key in keys if key in mapping), None)
    if present is None:
        raise InputError(
            f"the mapping has the keys {sorted(map(str, mapping))}; vista-guard reads one of {', '.join(keys)}"
        )
    return present
