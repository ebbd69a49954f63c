"""A model call of an agent, gated by sentence while it streams.

LangChain asks middleware for whole messages. So the model's words are heard by a callback of its run, which no stream of the
host sees, and what the gate releases is streamed by a run of its own, which every stream of the host sees as it sees a model.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.runnables import RunnableConfig

from vista_guard._aio.streams import Bridged
from vista_guard.graph.host_objects import in_words, is_assistant, replace_text
from vista_guard.graph.surface import HostSurface
from vista_guard.graph.vendor_private import context_of, has_stream_handler, silent_config
from vista_guard.integrations.langchain.turn import MARK, AsyncHandler, Handler, check_answerers, tool_calls_of
from vista_guard.integrations.langgraph.words import (
    HeardWords,
    Released,
    listening_context,
    marked_model,
    run_in_thread,
)
from vista_guard.stream.gates import Documents, Passed, gated
from vista_guard.turn.work import Parts
from vista_guard.types import Conversation, TurnReport


def can_stream(request: ModelRequest[Any], config: RunnableConfig) -> bool:
    """True if the host shows tokens as they are made, and this call's tokens can be told from others.

    A structured response may be the text itself, and that is known only when all of it is there.
    """
    return (
        has_stream_handler(config.get("callbacks"))
        and request.response_format is None
        and isinstance(request.model, BaseChatModel)
    )


class GatedCall:
    """One model call under the sentence gate.

    Attributes:
        report: of what was said; None when the model said nothing to the user.
        response: what the call answers the agent with.
    """

    def __init__(
        self,
        parts: Parts,
        surface: HostSurface,
        conversation: Conversation,
        documents: Documents,
        request: ModelRequest[Any],
        config: RunnableConfig,
    ) -> None:
        self._parts, self._surface, self._config = parts, surface, config
        self._conversation, self._documents = conversation, documents
        self._request = request.override(model=marked_model(request.model))
        self._words = HeardWords()
        self._answered: ModelResponse | None = None
        self._said: TurnReport | None = None

    def run(self, handler: Handler) -> None:
        """Streams into the host what passes. The model runs in a thread, the gate on the background loop."""

        async def ask() -> AIMessage | None:
            context = listening_context(self._config, self._words)
            return self._take_answer(await run_in_thread(context, lambda: handler(self._request)))

        pieces, silent = Bridged(self._chunks(ask)), context_of(silent_config(self._config))

        def chunks() -> Iterator[AIMessageChunk]:
            try:
                while (chunk := silent.run(next, pieces, None)) is not None:
                    yield chunk
            finally:
                pieces.close()

        Released(chunks=chunks()).invoke([])

    async def arun(self, handler: AsyncHandler) -> None:
        """Async version of `run`, in the caller's own event loop."""

        async def answer() -> ModelResponse:
            return await handler(self._request)

        async def ask() -> AIMessage | None:
            context = listening_context(self._config, self._words)
            return self._take_answer(await asyncio.create_task(answer(), context=context))

        async def chunks() -> AsyncGenerator[AIMessageChunk, None]:
            silent = context_of(silent_config(self._config))
            async with aclosing(self._chunks(ask)) as pieces:
                while (chunk := await asyncio.create_task(_next(pieces), context=silent)) is not None:
                    yield chunk

        await Released(chunks=chunks()).ainvoke([])

    @property
    def report(self) -> TurnReport | None:
        return self._said if self._words.said else None

    @property
    def response(self) -> ModelResponse:
        report, answered = self.report, self._answered
        if answered is not None and (report is None or report.response == self._words.said):
            return answered
        if report is None:
            raise AssertionError("a model call that ended without an answer said something that was withheld")
        mark = {MARK: report.decision.action.value}
        if answered is None or report.blocked:
            name = (self._config.get("metadata") or {}).get("lc_agent_name")
            said = AIMessage(report.response, id=self._words.message_id, name=name, response_metadata=mark)
            return ModelResponse(result=[said])
        (draft,) = (message for message in answered.result if is_assistant(message))
        mended = replace_text(draft, report.response)
        kept = {"tool_calls": tool_calls_of(answered), "response_metadata": mark}
        return replace(answered, result=[mended.model_copy(update=kept)])

    async def _chunks(self, ask: Callable[[], Awaitable[AIMessage | None]]) -> AsyncGenerator[AIMessageChunk, None]:
        words = self._words
        stream = gated(self._parts, self._conversation, words.deltas(ask), gate="sentence", documents=self._documents)
        async with aclosing(self._surface.shown_stream(stream, self._parts.policy.message)) as pieces:
            async for piece in pieces:
                if isinstance(piece, TurnReport):
                    self._said = piece
                elif isinstance(piece, Passed):
                    yield piece.item
                else:
                    yield AIMessageChunk(content=piece, id=words.message_id)
        yield AIMessageChunk(content="", id=words.message_id, chunk_position="last")

    def _take_answer(self, response: ModelResponse) -> AIMessage | None:
        check_answerers(response)
        self._answered = response
        return next((in_words(message) for message in reversed(response.result) if is_assistant(message)), None)


async def _next(pieces: AsyncGenerator[AIMessageChunk, None]) -> AIMessageChunk | None:
    return await anext(pieces, None)
