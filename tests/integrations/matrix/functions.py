"""Callables and Runnables behind `guard.wrap`."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, convert_to_messages
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from tests.integrations.matrix.talk import Driver, Gate, Heard, Mode, Say, Site, Talk


class Speaker(BaseChatModel):
    """A chat model that says what the talk drafts, in one piece or word by word. `upstream` knows the talks."""

    upstream: Any

    @property
    def _llm_type(self) -> str:
        return "speaker"

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self._draft(messages)))])

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        for word in _words(self._draft(messages)):
            yield ChatGenerationChunk(message=AIMessageChunk(content=word))

    def _draft(self, messages: list[BaseMessage]) -> str:
        draft: str = self.upstream.draft(messages[-1].text)
        return draft


def _words(text: str) -> list[str]:
    return re.split(r"(?<=\s)", text)


def named(talk: Talk) -> Any:
    """The settings of a LangChain run that name the conversation."""
    return {"configurable": {"thread_id": talk.id}}


def asked(talk: Talk) -> list[BaseMessage]:
    """The request as LangChain has it."""
    return convert_to_messages(talk.messages)


@asynccontextmanager
async def _function(gate: Gate, site: Site) -> AsyncIterator[Say]:
    def agent(messages: list[dict[str, Any]]) -> str:
        return site.upstream.draft(messages[-1]["content"])

    guarded = site.guard.wrap(agent, gate=gate, **site.options)

    def say(talk: Talk, heard: Heard) -> None:
        heard.hear(guarded(talk.messages, conversation_id=talk.id))

    yield say


@asynccontextmanager
async def _async_function(gate: Gate, site: Site) -> AsyncIterator[Say]:
    async def agent(messages: list[dict[str, Any]]) -> str:
        return site.upstream.draft(messages[-1]["content"])

    guarded: Any = site.guard.wrap(agent, gate=gate, **site.options)

    async def say(talk: Talk, heard: Heard) -> None:
        heard.hear(await guarded(talk.messages, conversation_id=talk.id))

    yield say


@asynccontextmanager
async def _generator(gate: Gate, site: Site) -> AsyncIterator[Say]:
    def agent(messages: list[dict[str, Any]]) -> Iterator[str]:
        yield from _words(site.upstream.draft(messages[-1]["content"]))

    guarded: Any = site.guard.wrap(agent, gate=gate, **site.options)

    def say(talk: Talk, heard: Heard) -> None:
        for piece in guarded(talk.messages, conversation_id=talk.id):
            heard.hear(piece)

    yield say


@asynccontextmanager
async def _async_generator(gate: Gate, site: Site) -> AsyncIterator[Say]:
    async def agent(messages: list[dict[str, Any]]) -> AsyncIterator[str]:
        for word in _words(site.upstream.draft(messages[-1]["content"])):
            yield word

    guarded: Any = site.guard.wrap(agent, gate=gate, **site.options)

    async def say(talk: Talk, heard: Heard) -> None:
        async for piece in guarded(talk.messages, conversation_id=talk.id):
            heard.hear(piece)

    yield say


def _runnable(gate: Gate, site: Site) -> Any:
    return site.guard.wrap(Speaker(upstream=site.upstream), gate=gate, **site.options)


@asynccontextmanager
async def _invoke(gate: Gate, site: Site) -> AsyncIterator[Say]:
    guarded = _runnable(gate, site)

    def say(talk: Talk, heard: Heard) -> None:
        answer = guarded.invoke(asked(talk), named(talk))
        heard.hear(answer.text, answer)

    yield say


@asynccontextmanager
async def _ainvoke(gate: Gate, site: Site) -> AsyncIterator[Say]:
    guarded = _runnable(gate, site)

    async def say(talk: Talk, heard: Heard) -> None:
        answer = await guarded.ainvoke(asked(talk), named(talk))
        heard.hear(answer.text, answer)

    yield say


@asynccontextmanager
async def _stream(gate: Gate, site: Site) -> AsyncIterator[Say]:
    guarded = _runnable(gate, site)

    def say(talk: Talk, heard: Heard) -> None:
        for piece in guarded.stream(asked(talk), named(talk)):
            heard.hear(piece.text, piece)

    yield say


@asynccontextmanager
async def _astream(gate: Gate, site: Site) -> AsyncIterator[Say]:
    guarded = _runnable(gate, site)

    async def say(talk: Talk, heard: Heard) -> None:
        async for piece in guarded.astream(asked(talk), named(talk)):
            heard.hear(piece.text, piece)

    yield say


def _both(surface: str, mode: Mode, way: str, opening: Any) -> list[Driver]:
    gates: list[Gate] = ["turn", "sentence"]
    return [Driver(surface, mode, way, partial(opening, gate), gate) for gate in gates]


DRIVERS = (
    Driver("callable", "sync", "call", partial(_function, "turn")),
    Driver("callable", "async", "call", partial(_async_function, "turn")),
    *_both("callable", "stream", "generator", _generator),
    *_both("callable", "astream", "generator", _async_generator),
    Driver("Runnable", "sync", "invoke", partial(_invoke, "turn")),
    Driver("Runnable", "async", "ainvoke", partial(_ainvoke, "turn")),
    *_both("Runnable", "stream", "stream", _stream),
    *_both("Runnable", "astream", "astream", _astream),
)
