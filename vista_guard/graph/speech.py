"""What a LangChain message says to its reader, in whatever place a provider put the words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import overload

from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, BaseMessageChunk, ChatMessage
from typing_extensions import TypeIs

_UNSPOKEN = frozenset({"reasoning", "reasoning_content", "thinking", "redacted_thinking", "non_standard", "citation"})
"""Types of content parts that are made for the model or for programs: no host shows them as the answer."""
_DONE = ("_call", "_use", "_result", "_output", "_call_chunk")
"""How the types of parts end that call something, or hold what a tool of the provider's answered."""
_SPOKEN = ("text", "refusal", "output_text")
"""Where a part has its words."""


def is_assistant(message: object) -> TypeIs[AIMessage | ChatMessage]:
    """Whether the message is an assistant's: some integrations say it by a role only."""
    return isinstance(message, AIMessage) or (isinstance(message, ChatMessage) and message.role == "assistant")


@overload
def in_words(message: AIMessageChunk) -> AIMessageChunk: ...


@overload
def in_words(message: AIMessage | ChatMessage) -> AIMessage: ...


@overload
def in_words(message: BaseMessage) -> BaseMessage: ...


def in_words(message: BaseMessage) -> BaseMessage:
    """The message with all that it says as its text: refusals, transcripts of sounds, and parts of no known kind too.

    Whatever says nothing but text, and whatever is no assistant's, comes back as it is.
    """
    if not is_assistant(message):
        return message
    if not isinstance(message, AIMessage):
        kind = AIMessageChunk if isinstance(message, BaseMessageChunk) else AIMessage
        message = kind(content=message.content, id=message.id, additional_kwargs=message.additional_kwargs)
    content = _content_in_words(message.content)
    said = _said_beside(message)
    if not said:
        return message if content == message.content else message.model_copy(update={"content": content})
    kept = {name: held for name, held in message.additional_kwargs.items() if name not in ("refusal", "audio")}
    return message.model_copy(update={"content": _with_more(content, said), "additional_kwargs": kept})


def _content_in_words(content: str | list[str | dict[str, object]]) -> str | list[str | dict[str, object]]:
    if isinstance(content, str):
        return content
    return [{"type": "text", "text": words} if (words := _hidden_words(part)) else part for part in content]


def _hidden_words(part: object) -> str:
    """Words of a part that does not look like text, and that a reader may be shown."""
    if not isinstance(part, Mapping) or part.get("type") == "text":
        return ""
    kind = str(part.get("type"))
    if kind in _UNSPOKEN or kind.endswith(_DONE):
        return ""
    return "\n".join(said for name in _SPOKEN if isinstance(said := part.get(name), str) and said)


def _said_beside(message: AIMessage) -> list[str]:
    """What is said beside the content: OpenAI's refusal, and the words of a sound."""
    audio = message.additional_kwargs.get("audio")
    said = (message.additional_kwargs.get("refusal"), audio.get("transcript") if isinstance(audio, Mapping) else None)
    return [text for text in said if isinstance(text, str) and text]


def _with_more(content: str | list[str | dict[str, object]], said: list[str]) -> str | list[str | dict[str, object]]:
    if isinstance(content, str):
        return "\n".join([*([content] if content else []), *said])
    more: list[str | dict[str, object]] = [{"type": "text", "text": f"\n{text}"} for text in said]
    return [*content, *more]


__all__ = ["in_words", "is_assistant"]
