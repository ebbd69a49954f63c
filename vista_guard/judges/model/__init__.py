"""The model judge: any chat model decides, in one or two calls a turn."""

from vista_guard.judges.model.chat import ChatModel, ChatRequest, Message, Reply
from vista_guard.judges.model.judge import ModelJudge
from vista_guard.judges.model.langchain_chat import LangChainChat
from vista_guard.judges.model.openai_chat import OpenAIChat
from vista_guard.judges.model.prompts import Prompts, Roles
from vista_guard.model_options import ModelOptions

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
]
