"""The model judge: any chat model judges, in as few calls a turn as its strategy allows.

`judge` has the strategies, `prompts` and `prompt_files` the prompts and the text that fills them, `answers` reads the
replies, `chat` calls the endpoint.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vista_guard.judges.model.chat.calling import ChatModel, ChatRequest, Message, Reply
from vista_guard.judges.model.chat.langchain import LangChainChat
from vista_guard.judges.model.chat.openai import OpenAIChat
from vista_guard.judges.model.prompts import Prompts, Roles
from vista_guard.settings.model import ModelOptions

if TYPE_CHECKING:
    from vista_guard.judges.model.judge import ModelJudge

__all__ = [
    "ChatModel",
    "ChatRequest",
    "LangChainChat",
    "Message",
    "ModelJudge",
    "ModelOptions",
    "OpenAIChat",
    "Prompts",
    "Reply",
    "Roles",
    "chat_model",
]


def chat_model(name: str, options: ModelOptions) -> ChatModel:
    """Builds the chat model named `openai:MODEL`, `openai:MODEL@URL` or `langchain:PROVIDER:MODEL`."""
    kind, _, rest = name.partition(":")
    if kind == "langchain":
        return LangChainChat.from_name(rest, options=options)
    model, _, url = rest.partition("@")
    return OpenAIChat(model, base_url=url or None, options=options)


def __getattr__(name: str) -> Any:
    # Who talks to a chat model loads no judge, with its rules of English.
    if name != "ModelJudge":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from vista_guard.judges.model.judge import ModelJudge

    return ModelJudge
