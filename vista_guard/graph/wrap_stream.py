"""A wrapped agent's stream: read as it is made, let out as far as it was judged, in pieces of the agent's own kind."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, closing
from contextvars import copy_context
from dataclasses import dataclass
from typing import TypeGuard, TypeVar, cast

from langchain_core.documents import Document as LangChainDocument
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, FunctionMessage, ToolMessage

from vista_guard._aio.streams import Bridged, in_task, in_thread
from vista_guard.errors import InputError
from vista_guard.graph.host_objects import (
    ANSWER_KEYS,
    HostState,
    in_words,
    is_assistant,
    read_document,
    read_documents,
    read_reply,
    read_request,
    replace_text,
    with_feedback,
    without_text,
)
from vista_guard.graph.surface import HostSurface
from vista_guard.stream.gates import Gate, gated
from vista_guard.stream.source import Delta, Found, Passed
from vista_guard.telemetry.spans import TurnTrace, begun_under, ended
from vista_guard.turn.work import Parts
from vista_guard.types import Conversation, Document

Ask = Callable[[object], AsyncGenerator[object, None]]
"""Asks the agent and gives the chunks of its answer."""


Generated = Iterator[object] | AsyncIterator[object]
"""What calling a generator function gives."""

Function = TypeVar("Function", bound=Callable[..., object])


@dataclass(frozen=True)
class GatedStream:
    """An agent's streams behind the gate."""

    parts: Parts
    surface: HostSurface
    name: str | None = None
    """The agent's, where it has one."""

    @property
    def gate(self) -> Gate:
        """Streams are let out by the sentence unless somebody says otherwise."""
        return self.surface.gate or "sentence"

    async def run(self, request: object, conversation: Conversation, ask: Ask) -> AsyncGenerator[object, None]:
        """The chunks that may be shown.

        Raises:
            InputError: the agent's chunks are of a kind that is not listed at `AnswerChunks`.
            Blocked: the turn was withheld, and `on_block` is raise; the policy's message is not among the chunks then.
        """
        answer = AnswerChunks()
        brought = read_reply(request, "-").documents
        find = self.surface.find_documents

        def documents(draft: Conversation) -> tuple[Document, ...]:
            return (*brought, *(find(draft) if find else ()))

        def again(draft: str, note: str) -> AsyncGenerator[Delta, None]:
            return answer.deltas(self._traced(trace, ask, with_feedback(request, draft, note)))

        trace = TurnTrace(self.parts.telemetry, conversation.id, len(conversation.turns), gate=self.gate, agent=True)
        deltas = answer.deltas(self._traced(trace, ask, request))
        stream = gated(self.parts, conversation, deltas, gate=self.gate, documents=documents, again=again, trace=trace)
        async with aclosing(self.surface.without_report(stream, self.parts.policy.message)) as items:
            async for item in items:
                if isinstance(item, Passed):
                    yield item.item
                elif (chunk := answer.chunk_saying(item)) is not None:
                    yield chunk
        if (whole := answer.whole()) is not None:
            yield whole

    async def _traced(self, trace: TurnTrace, ask: Ask, request: object) -> AsyncGenerator[object, None]:
        """The agent's chunks. Its span is current where the agent runs, and nowhere else."""
        span = trace.start_agent(self.name)
        try:
            async with aclosing(begun_under(span, lambda: ask(request))) as chunks:
                async for chunk in chunks:
                    yield chunk
        except BaseException as exc:
            ended(span, exc)
            raise
        ended(span)


class AnswerChunks:
    """A stream's chunks, apart into text and all else, and text that was released back in chunks of the same kind.

    Read are texts, message chunks, messages, documents, and mappings with `answer`, `output`, `response`, `result` or `text`
    (a text or a message chunk) or with `documents`, `context` or `source_documents`.
    """

    def __init__(self) -> None:
        self._like: object = ""
        self._key: str | None = None
        self._whole: object = None
        self._said = self._released = ""

    async def deltas(self, chunks: AsyncGenerator[object, None]) -> AsyncGenerator[Delta, None]:
        """Reads the agent's chunks as input of the gate."""
        async with aclosing(chunks):
            async for chunk in chunks:
                for delta in self._deltas_of(chunk):
                    yield delta

    def chunk_saying(self, text: str) -> object:
        """A chunk that says this; None when the agent's answer came as a whole, and so goes out."""
        if self._whole is not None:
            self._released += text
            return None
        said = AIMessageChunk(content=text, id=self._like.id) if isinstance(self._like, AIMessageChunk) else text
        return said if self._key is None else {self._key: said}

    def whole(self) -> object:
        """The whole answer, with what was released of it; None when it came in pieces."""
        if self._whole is None or self._released == self._said:
            return self._whole
        return replace_text(self._whole, self._released)

    def _deltas_of(self, chunk: object) -> Iterator[Delta]:
        if isinstance(chunk, str | BaseMessage):
            yield from self._deltas_said(chunk, None, None)
        elif isinstance(chunk, Document | LangChainDocument):
            yield Found((chunk if isinstance(chunk, Document) else read_document(chunk),))
        elif isinstance(chunk, Mapping) and "messages" not in chunk and "content" not in chunk:
            yield from self._deltas_of_mapping(chunk)
        else:
            raise InputError(
                f"the agent streamed {type(chunk).__name__}; vista-guard reads texts, message chunks, documents, and mappings "
                f"with one of {', '.join(ANSWER_KEYS)}. Use gate='turn' for an agent that streams something else"
            )

    def _deltas_of_mapping(self, chunk: HostState) -> Iterator[Delta]:
        if documents := read_documents(chunk):
            yield Found(documents)
        for key in ANSWER_KEYS:
            said = chunk.get(key)
            if isinstance(said, str | BaseMessage):
                yield from self._deltas_said(said, key, chunk if len(chunk) > 1 else None)
                return
        yield Passed(chunk)

    def _deltas_said(self, said: str | BaseMessage, key: str | None, whole: object) -> Iterator[Delta]:
        """The deltas of one message or text. `whole` is the chunk if it is a complete answer."""
        if isinstance(said, BaseMessage):
            said = _assistant_message(said)
        if isinstance(said, AIMessage) and not isinstance(said, AIMessageChunk):
            whole = whole or (said if key is None else {key: said})
        text = said if isinstance(said, str) else str(said.text) if isinstance(said, AIMessage) else ""
        rest = without_text(said) if isinstance(said, AIMessageChunk) else None if text else said
        if rest is not None and not isinstance(rest, str):
            # A tool call does something: it is not asked for again.
            called = bool(getattr(rest, "tool_calls", ()) or getattr(rest, "tool_call_chunks", ()))
            yield Passed(rest if key is None else {key: rest}, binding=called)
        if text:
            self._like, self._key, self._whole = said, key, whole
            self._said += text
            yield text


def _assistant_message(message: BaseMessage) -> BaseMessage:
    """The message with all that it says as text; one of a tool as it is.

    Raises:
        InputError: a message of somebody else's: nobody judges what a user or the system says.
    """
    if not is_assistant(message) and not isinstance(message, ToolMessage | FunctionMessage):
        raise InputError(
            f"the agent streamed a {type(message).__name__}; vista-guard reads what an assistant says (AIMessageChunk, AIMessage)"
        )
    return in_words(message)


def is_generator_function(agent: object) -> TypeGuard[Callable[..., Generated]]:
    """True for generator functions, sync or async."""
    return is_async_generator_function(agent) or _is_it_or_its_call(inspect.isgeneratorfunction, agent)


def is_async_generator_function(agent: object) -> TypeGuard[Callable[..., AsyncIterator[object]]]:
    """True for async generator functions."""
    return _is_it_or_its_call(inspect.isasyncgenfunction, agent)


def _is_it_or_its_call(is_one: Callable[[object], bool], agent: object) -> bool:
    return is_one(agent) or is_one(getattr(agent, "__call__", None))  # noqa: B004


def guarded_generator(agent: Callable[..., Generated], stream: GatedStream) -> Callable[..., Generated]:
    """A generator function for a generator function, an async one for an async one."""
    if is_async_generator_function(agent):
        return _guarded_async_generator(agent, stream)
    return _guarded_sync_generator(cast("Callable[..., Iterator[object]]", agent), stream)


def _guarded_async_generator(
    agent: Callable[..., AsyncIterator[object]], stream: GatedStream
) -> Callable[..., AsyncGenerator[object, None]]:
    async def astreamed(
        request: object, *args: object, conversation_id: str | None = None, **kwargs: object
    ) -> AsyncGenerator[object, None]:
        def ask(asked: object) -> AsyncGenerator[object, None]:
            return in_task(lambda: agent(asked, *args, **kwargs), copy_context())

        async with aclosing(stream.run(request, named_conversation(request, conversation_id), ask)) as chunks:
            async for chunk in chunks:
                yield chunk

    return named_like(agent, astreamed)


def _guarded_sync_generator(
    agent: Callable[..., Iterator[object]], stream: GatedStream
) -> Callable[..., Iterator[object]]:
    def streamed(
        request: object, *args: object, conversation_id: str | None = None, **kwargs: object
    ) -> Iterator[object]:
        context = copy_context()

        def ask(asked: object) -> AsyncGenerator[object, None]:
            return in_thread(lambda: agent(asked, *args, **kwargs), context.copy())

        with closing(Bridged(stream.run(request, named_conversation(request, conversation_id), ask))) as chunks:
            yield from chunks

    return named_like(agent, streamed)


def named_conversation(request: object, conversation_id: str | None) -> Conversation:
    """The conversation so far, with this id."""
    return read_request(request).model_copy(update={"id": conversation_id} if conversation_id else {})


def named_like(agent: Callable[..., object], guarded: Function) -> Function:
    """The function under the agent's name."""
    # An instance with __call__ has no name of its own to pass on.
    if hasattr(agent, "__name__"):
        functools.update_wrapper(guarded, agent)
    return guarded
