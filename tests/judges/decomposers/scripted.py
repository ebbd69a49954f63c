"""A chat server that takes sentences apart as a test says, and a guard that asks it."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from tests.pace import PATIENCE_S
from vista_guard import Conversation, Document, Guard, Role, Turn, TurnReport
from vista_guard.judges.decomposers.steps import StepsDecomposer
from vista_guard.judges.model import OpenAIChat
from vista_guard.settings.model import DecomposerOptions, ModelOptions
from vista_guard.testing import Answer, ReceivedRequest, ScriptedChatServer

SENTENCE = re.compile(r"<sentence>\n(.*?)\n</sentence>", re.DOTALL)
CONTEXT = re.compile(r"<context>\n(.*?)\n</context>", re.DOTALL)
OPTIONS = ModelOptions(max_retries=0, timeout_s=PATIENCE_S)


def output(*claims: str) -> str:
    """An answer in the form that is asked for."""
    return f"<think>\nSTEP 1 to 4.\n</think>\n<output>{json.dumps(claims)}</output>"


STOPPED = "<think>\nSTEP 1.\n</think>\n<output>No verifiable claim</output>"


def asked(request: ReceivedRequest) -> str:
    """The sentence of a call."""
    return str(SENTENCE.findall(request.user)[-1])


def context(request: ReceivedRequest) -> str:
    """The context of a call."""
    return str(CONTEXT.findall(request.user)[-1])


def script(answers: Mapping[str, str | Answer]) -> Callable[[ReceivedRequest], str | Answer]:
    """Answers sentences as given, others with themselves."""
    return lambda request: answers.get(asked(request), output(asked(request)))


def steps(server: ScriptedChatServer, options: ModelOptions = OPTIONS, **windows: Any) -> StepsDecomposer:
    chat = OpenAIChat("small", base_url=server.base_url, options=options)
    return StepsDecomposer(chat, options, DecomposerOptions(**windows))


@asynccontextmanager
async def asking(
    server: ScriptedChatServer, options: ModelOptions = OPTIONS, **windows: Any
) -> AsyncIterator[StepsDecomposer]:
    decomposer = steps(server, options, **windows)
    yield decomposer
    await decomposer.aclose()


@asynccontextmanager
async def guarding(server: ScriptedChatServer, policy: str = "strict", **settings: Any) -> AsyncIterator[Guard]:
    """The embedded judge behind the four steps."""
    named = f"steps:openai:small@{server.base_url}"
    model = {"max_retries": 0, "timeout_s": PATIENCE_S}
    guard = Guard.from_settings(
        **{"decomposer": named, "policy": policy, "store": "memory", "model": model, **settings}
    )
    yield guard
    await guard.aclose()


async def checked(server: ScriptedChatServer, conversation: Conversation, **settings: Any) -> TurnReport:
    """The report of such a guard."""
    async with guarding(server, **settings) as guard:
        return await guard.acheck(conversation)


def talk(answer: str, *documents: str, question: str = "Tell me about the hall.") -> Conversation:
    given = tuple(Document(id=f"d{number}", text=text) for number, text in enumerate(documents))
    turns = (Turn(role=Role.USER, text=question), Turn(role=Role.ASSISTANT, text=answer, documents=given))
    return Conversation(turns=turns)
