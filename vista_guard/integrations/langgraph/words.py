"""What the models in a node say, heard apart for each call, and what its retrievers find."""

# ruff: noqa: ARG002  # signatures given by LangChain

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import cast
from uuid import UUID

from langchain_core.documents import Document as LangChainDocument
from langchain_core.messages import AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, GenerationChunk, LLMResult
from langgraph.constants import TAG_NOSTREAM

from vista_guard.errors import InputError
from vista_guard.graph.documents import read_document
from vista_guard.graph.hosts import without_text
from vista_guard.graph.speech import in_words
from vista_guard.integrations.model_words import Listener, Signal
from vista_guard.stream.source import Delta, Found, Passed
from vista_guard.types import Document, TurnReport

_SILENT = frozenset({TAG_NOSTREAM, "langsmith:nostream"})
"""LangGraph's marks on models that do not speak to the user."""

Heard = AIMessageChunk | Found | BaseException | Signal
"""What one call brings: its chunks, documents found meanwhile, the error that it broke off with, its end."""


class HeardCall:
    """One model call in a node.

    Attributes:
        said: its text so far, read or not.
        message_id: the id of the message that it makes.
        before: documents that were found before it began.
        report: on what it said; None until it was judged, and when it said nothing.
    """

    def __init__(self, before: Sequence[Document]) -> None:
        self.said = ""
        self.report: TurnReport | None = None
        self.message_id: str | None = None
        self.before = tuple(before)
        self._items: asyncio.Queue[Heard] = asyncio.Queue()

    async def deltas(self) -> AsyncGenerator[Delta, None]:
        """Its words as they are made, what is no text, and documents that are found meanwhile.

        Raises:
            BaseException: the model's, when it broke off what it had begun to say.
        """
        while not isinstance(item := await self._items.get(), Signal):
            if isinstance(item, BaseException):
                if self.said:
                    raise item
                return
            if isinstance(item, Found):
                yield item
                continue
            self.message_id = self.message_id or item.id
            if (rest := without_text(item)) is not None:
                yield Passed(rest)
            if text := str(item.text):
                yield text

    def put(self, item: Heard) -> None:
        """A chunk, documents, an error, or the end; from the loop of the one who reads."""
        if isinstance(item, AIMessageChunk):
            self.said += str(item.text)
        self._items.put_nowait(item)


class HeardCalls(Listener):
    """The model calls of one run of a node, one after the other in the order in which they began.

    Attributes:
        update: what the node answered.
        spoken: the calls so far.
    """

    def __init__(self) -> None:
        self.update: object = None
        self.spoken: list[HeardCall] = []
        self._closed = False
        self._documents: list[Document] = []
        self._calls: dict[UUID, HeardCall] = {}
        self._begun: asyncio.Queue[HeardCall | Signal] = asyncio.Queue()
        self._heard: set[UUID] = set()

    async def begun_by(self, run: Callable[[], Awaitable[object]]) -> AsyncGenerator[HeardCall, None]:
        """Runs the node and yields its calls, each to be read to its end. The node runs on when a call is read no further."""
        self._loop = asyncio.get_running_loop()
        running = asyncio.ensure_future(run())
        running.add_done_callback(lambda _: self._finish())
        try:
            while not isinstance(call := await self._begun.get(), Signal):
                self.spoken.append(call)
                yield call
            self.update = await running
        finally:
            self._closed = True
            running.cancel()

    def on_chat_model_start(self, *args: object, run_id: UUID, tags: list[str] | None = None, **kwargs: object) -> None:
        """A call begins."""
        if _SILENT.isdisjoint(tags or ()):
            self._on_loop(lambda: self._begin(run_id))

    def on_llm_new_token(
        self,
        token: object,
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        **kwargs: object,
    ) -> None:
        """A piece of what a call says. When nobody waits for the node any more, the model is to stop."""
        if self._closed:
            raise InputError("the run was given up: nobody waits for the rest of this answer")
        if isinstance(chunk, ChatGenerationChunk):
            message = in_words(cast(AIMessageChunk, chunk.message))
            self._on_loop(lambda: self._hear(run_id, message))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: object) -> None:
        """A call ends; a model that does not stream says all of it now."""
        message = getattr(response.generations[0][0], "message", None) if response.generations else None
        self._on_loop(lambda: self._end(run_id, message))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        """A call broke off."""
        self._on_loop(lambda: self._put(run_id, error))

    def on_retriever_end(self, documents: Sequence[LangChainDocument], **kwargs: object) -> None:
        """Documents were found: evidence for what is said from now on."""
        found = tuple(read_document(document) for document in documents)
        self._on_loop(lambda: self._find(found))

    def _on_loop(self, work: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # The gate's loop may be gone: the turn was cancelled.
            self._loop.call_soon_threadsafe(work)

    def _begin(self, run_id: UUID) -> None:
        call = self._calls[run_id] = HeardCall(self._documents)
        self._begun.put_nowait(call)

    def _hear(self, run_id: UUID, message: AIMessageChunk) -> None:
        self._heard.add(run_id)
        self._put(run_id, message)

    def _end(self, run_id: UUID, message: BaseMessage | None) -> None:
        if message is not None and run_id not in self._heard:
            self._put(run_id, AIMessageChunk(content=in_words(message).content, id=message.id))
        self._put(run_id, Signal.END)

    def _find(self, found: tuple[Document, ...]) -> None:
        self._documents += found
        for call in self._calls.values():
            call.put(Found(found))

    def _put(self, run_id: UUID, item: Heard) -> None:
        if run_id in self._calls:
            self._calls[run_id].put(item)

    def _finish(self) -> None:
        for call in self._calls.values():
            call.put(Signal.END)
        self._begun.put_nowait(Signal.END)


__all__ = ["HeardCall", "HeardCalls"]
