"""Hears the models and retrievers of a node, call by call, before any stream of the host does, and stands in for them."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import aclosing, suppress
from contextvars import Context
from enum import Enum, auto
from threading import Thread
from typing import TypeVar, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.documents import Document as LangChainDocument
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import agenerate_from_stream, generate_from_stream
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult, GenerationChunk, LLMResult
from langchain_core.runnables import RunnableConfig
from pydantic import SkipValidation

from vista_guard.errors import InputError
from vista_guard.graph.host_objects import in_words, without_text
from vista_guard.graph.vendor_private import NOSTREAM_TAGS, StreamHandler, context_of, silent_config
from vista_guard.reading.chat_json import read_document
from vista_guard.stream.gates import Streamed
from vista_guard.stream.source import Delta, Found, Passed
from vista_guard.types import Document, TurnReport

TAG = "vista_guard:gated"
"""Tag of the gated model's run: other middleware may run models of its own inside the call."""

Result = TypeVar("Result")


class Signal(Enum):
    """A model call's signal besides text: its end, or a new beginning."""

    END = auto()
    AGAIN = auto()


_TWICE = (
    "other middleware called the model again, or changed its answer, when words of it had been streamed. Put that middleware "
    "before VistaGuardMiddleware, or use gate='turn'"
)


def marked_model(model: BaseChatModel) -> BaseChatModel:
    """The model, its runs marked. `with_config(tags=…)` would lose the mark where tools are bound."""
    return model.model_copy(update={"tags": [*(model.tags or []), TAG]})


class Listener(BaseCallbackHandler, StreamHandler[object]):
    """Makes models stream by listening to them; ignores chains."""

    run_inline = True
    raise_error = True
    _closed = False
    _loop: asyncio.AbstractEventLoop

    def tap_output_aiter(self, run_id: UUID, output: AsyncIterator[object]) -> AsyncIterator[object]:
        return output

    def tap_output_iter(self, run_id: UUID, output: Iterator[object]) -> Iterator[object]:
        return output

    def on_llm_new_token(
        self,
        token: object,
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        **kwargs: object,
    ) -> None:
        """Passes a piece of a call's text to the gate; stops the model once the gate is closed."""
        if self._closed:
            raise InputError("the gate is closed; the rest of this answer is not needed")
        if isinstance(chunk, ChatGenerationChunk):
            message = in_words(cast(AIMessageChunk, chunk.message))
            self._on_loop(lambda: self._hear(run_id, message))

    @abstractmethod
    def _hear(self, run_id: UUID, message: AIMessageChunk) -> None:
        """Takes a piece, on the gate's loop."""

    def _on_loop(self, work: Callable[[], None]) -> None:
        with suppress(RuntimeError):  # The gate's loop may be gone: the turn was cancelled.
            self._loop.call_soon_threadsafe(work)


class HeardWords(Listener):
    """Hears one model call's words and passes them to the gate's event loop, from whatever thread they come.

    `said` is the text so far, `answer` the message that the call ended with, and `report` that of its gate.
    """

    def __init__(self) -> None:
        self.said = ""
        self.answer: AIMessage | None = None
        self.report: TurnReport | None = None
        self._runs: set[UUID] = set()
        self._id: str | None = None

    @property
    def message_id(self) -> str | None:
        return self._id or (self.answer.id if self.answer else None)

    async def deltas(self, ask: Callable[[], Awaitable[AIMessage | None]]) -> AsyncGenerator[str | Passed, None]:
        """Makes the model call and yields its texts, and chunks of what is not text."""
        self._loop, self._queue = asyncio.get_running_loop(), asyncio.Queue[AIMessageChunk | Signal]()
        answer = asyncio.ensure_future(ask())
        answer.add_done_callback(lambda _: self._queue.put_nowait(Signal.END))
        try:
            while (item := await self._queue.get()) is not Signal.END:
                for delta in self._deltas_of(item):
                    yield delta
            self.answer = await answer
            if rest := self._rest():
                self.said += rest
                yield rest
        finally:
            self._closed = True
            answer.cancel()

    def on_chat_model_start(self, *args: object, run_id: UUID, tags: list[str] | None = None, **kwargs: object) -> None:
        """Registers a run that has our tag."""
        if TAG not in (tags or ()):
            return
        if self._runs:
            self._on_loop(lambda: self._queue.put_nowait(Signal.AGAIN))
        self._runs.add(run_id)

    def _hear(self, run_id: UUID, message: AIMessageChunk) -> None:
        if run_id in self._runs:
            self._queue.put_nowait(message)

    def _deltas_of(self, item: AIMessageChunk | Signal) -> Iterator[str | Passed]:
        if isinstance(item, Signal):
            if self.said:
                raise InputError(_TWICE)
            self._id = None
            return
        self._id = self._id or item.id
        self.said += str(item.text)
        yield from _deltas_of_chunk(item)

    def _rest(self) -> str:
        """The text not heard yet: all of it, from a model that does not stream."""
        text = str(in_words(self.answer).text) if self.answer else ""
        if text.startswith(self.said):
            return text[len(self.said) :]
        # A refusal beside the content comes without the line break that the whole message has before it.
        if text.replace("\n", "") != self.said.replace("\n", ""):
            raise InputError(_TWICE)
        return ""


def _deltas_of_chunk(chunk: AIMessageChunk) -> Iterator[str | Passed]:
    if (non_text := without_text(chunk)) is not None:
        yield Passed(non_text)
    if text := str(chunk.text):
        yield text


def listening_context(config: RunnableConfig, words: Listener) -> Context:
    silent = silent_config(config)
    callbacks = silent.get("callbacks")
    if isinstance(callbacks, BaseCallbackManager):
        callbacks.add_handler(words)
    else:
        silent = {**silent, "callbacks": [*(callbacks or []), words]}
    return context_of(silent)


def run_in_thread(context: Context, call: Callable[[], Result]) -> Awaitable[Result]:
    """Runs a blocking model call in a thread of its own, so that no pool's size bounds how many can stream at once."""
    done: Future[Result] = Future()

    def work() -> None:
        try:
            result = context.run(call)
        except BaseException as exc:  # Raised again where the words are read.
            done.set_exception(exc)
        else:
            done.set_result(result)

    done.set_running_or_notify_cancel()
    Thread(target=work, name="vista-guard-model", daemon=True).start()
    return asyncio.wrap_future(done)


ReleasedChunks = Iterator[AIMessageChunk] | AsyncIterator[AIMessageChunk]


class Released(BaseChatModel):
    """Stands in for the model in the host's streams: yields what the gate released."""

    chunks: SkipValidation[ReleasedChunks]
    cache: bool = False
    """Never: to LangChain's global cache all turns look alike, and it would show one conversation's words in another."""

    @property
    def _llm_type(self) -> str:
        return "vista-guard"

    def _generate(self, *args: object, **kwargs: object) -> ChatResult:
        return generate_from_stream(self._stream())

    async def _agenerate(self, *args: object, **kwargs: object) -> ChatResult:
        return await agenerate_from_stream(self._astream())

    def _stream(self, *args: object, **kwargs: object) -> Iterator[ChatGenerationChunk]:
        for message in cast("Iterator[AIMessageChunk]", self.chunks):
            yield ChatGenerationChunk(message=message)

    async def _astream(self, *args: object, **kwargs: object) -> AsyncIterator[ChatGenerationChunk]:
        async for message in cast("AsyncIterator[AIMessageChunk]", self.chunks):
            yield ChatGenerationChunk(message=message)


async def released_chunks(
    stream: AsyncGenerator[Streamed, None], call: HeardWords | HeardCall
) -> AsyncGenerator[AIMessageChunk, None]:
    """A gated stream as chunks of the call's message; its report goes to the call."""
    async with aclosing(stream):
        async for piece in stream:
            if isinstance(piece, TurnReport):
                call.report = piece
            elif isinstance(piece, Passed):
                yield piece.item
            else:
                yield AIMessageChunk(content=piece, id=call.message_id)
    yield AIMessageChunk(content="", id=call.message_id, chunk_position="last")


Heard = AIMessageChunk | Found | BaseException | Signal
"""Items of one call: its chunks, documents found meanwhile, the error that ended it, its end."""


class HeardCall:
    """One model call in a node.

    `said` is its text so far, `before` are documents that were found before it began, and `report` is on what it said.
    """

    def __init__(self, before: Sequence[Document]) -> None:
        self.said = ""
        self.report: TurnReport | None = None
        self.message_id: str | None = None
        self.before = tuple(before)
        self._items: asyncio.Queue[Heard] = asyncio.Queue()

    async def deltas(self) -> AsyncGenerator[Delta, None]:
        """Yields its text as it arrives, what is no text, and documents found meanwhile."""
        while not isinstance(item := await self._items.get(), Signal):
            if isinstance(item, BaseException):
                if self.said:
                    raise item
                return
            if isinstance(item, Found):
                yield item
                continue
            self.message_id = self.message_id or item.id
            for delta in _deltas_of_chunk(item):
                yield delta

    def put(self, item: Heard) -> None:
        if isinstance(item, AIMessageChunk):
            self.said += str(item.text)
        self._items.put_nowait(item)


class HeardCalls(Listener):
    """The model calls of one run of a node, in the order in which they began.

    `update` is what the node answered, `spoken` are the calls so far.
    """

    def __init__(self) -> None:
        self.update: object = None
        self.spoken: list[HeardCall] = []
        self._documents: list[Document] = []
        self._calls: dict[UUID, HeardCall] = {}
        self._begun: asyncio.Queue[HeardCall | Signal] = asyncio.Queue()
        self._heard: set[UUID] = set()

    async def run_node(self, run: Callable[[], Awaitable[object]]) -> AsyncGenerator[HeardCall, None]:
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
        if NOSTREAM_TAGS.isdisjoint(tags or ()):
            self._on_loop(lambda: self._begin(run_id))

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: object) -> None:
        message = getattr(response.generations[0][0], "message", None) if response.generations else None
        self._on_loop(lambda: self._end(run_id, message))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: object) -> None:
        self._on_loop(lambda: self._put(run_id, error))

    def on_retriever_end(self, documents: Sequence[LangChainDocument], **kwargs: object) -> None:
        """Takes found documents as evidence for what is said from now on."""
        retrieved = tuple(read_document(document) for document in documents)
        self._on_loop(lambda: self._find(retrieved))

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

    def _find(self, documents: tuple[Document, ...]) -> None:
        self._documents += documents
        for call in self._calls.values():
            call.put(Found(documents))

    def _put(self, run_id: UUID, item: Heard) -> None:
        if run_id in self._calls:
            self._calls[run_id].put(item)

    def _finish(self) -> None:
        for call in self._calls.values():
            call.put(Signal.END)
        self._begun.put_nowait(Signal.END)
