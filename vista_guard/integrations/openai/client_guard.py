"""The guard of one client: how it gates, where evidence comes from, who is told, what a block does."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Literal, get_args

from vista_guard.errors import Blocked, ConfigError
from vista_guard.graph.surface import without_message
from vista_guard.guard import Guard
from vista_guard.integrations.openai.requests import Asked, Chains, ConversationId
from vista_guard.integrations.openai_api import ending_report, with_answer
from vista_guard.stream.delivery import Opening
from vista_guard.stream.gates import Again, Delta, Gate, Passed, regenerates
from vista_guard.stream.source import join_documents
from vista_guard.types import Conversation, Document, TurnReport

Finder = Callable[[Conversation], Sequence[Document] | Awaitable[Sequence[Document]]]
"""Gives the documents of an answer from the conversation that ends with it; with the gate `sentence`, it is still empty."""

OnBlock = Literal["raise", "replace"]


@dataclass(frozen=True)
class ClientGuard:
    """A guard with the options of `guarded`; see there."""

    guard: Guard
    gate: Gate = "sentence"
    on_block: OnBlock = "raise"
    documents: Finder | None = None
    on_report: Callable[[TurnReport], object] | None = None
    conversation_id: ConversationId | None = None
    chains: Chains = field(default_factory=Chains)

    def __post_init__(self) -> None:
        for name, value, known in (("gate", self.gate, Gate), ("on_block", self.on_block, OnBlock)):
            if value not in get_args(known):
                raise ConfigError(f"{name} is {value!r}; choose {', '.join(get_args(known))}")

    def regenerates(self, asked: Asked) -> bool:
        """Whether the answer may be asked for again."""
        return asked.choices == 1 and not asked.structured and regenerates(self.guard.parts.policy)

    async def judge(self, asked: Asked, text: str) -> TurnReport:
        """The report on one answer."""
        draft = with_answer(_past_to_remember(asked), text, asked.documents)
        if self.documents is not None:
            found = await asyncio.to_thread(self._finder(asked), draft)
            draft = with_answer(_past_to_remember(asked), text, found)
        return _with_conversation_id(await self.guard.acheck(draft), asked)

    async def judge_whole(self, asked: Asked, parts: AsyncGenerator[Delta, None], again: Again) -> TurnReport:
        """The report on an answer that may be asked for again."""
        documents = asked.documents if self.documents is None else self._finder(asked)
        stream = self.guard.gated(_past_to_remember(asked), parts, gate="turn", documents=documents, again=again)
        return _with_conversation_id(await ending_report(stream), asked)

    async def gated(
        self, asked: Asked, parts: AsyncGenerator[Delta, None], again: Again | None = None
    ) -> AsyncGenerator[str | Passed | TurnReport, None]:
        """The gate's stream of one answer. No report when it says nothing: tool calls and blanks are no turn."""
        opening = Opening(parts, hold=again is not None)
        try:
            async for passed in opening.before_text():
                yield passed
            if opening.spoken:
                async for item in self._guarded_words(asked, opening.rest(), again if opening.hold else None):
                    yield item
        finally:
            await parts.aclose()

    async def _guarded_words(
        self, asked: Asked, parts: AsyncIterator[Delta], again: Again | None
    ) -> AsyncGenerator[str | Passed | TurnReport, None]:
        """With `on_block` raise, the policy's message is not in it."""
        documents = asked.documents if self.documents is None else self._finder(asked)
        stream = self.guard.gated(_past_to_remember(asked), parts, gate=self.gate, documents=documents, again=again)
        if self.on_block == "raise":
            stream = without_message(stream, self.guard.parts.policy.message)
        async with aclosing(stream):
            async for item in stream:
                yield _with_conversation_id(item, asked) if isinstance(item, TurnReport) else item

    def _finder(self, asked: Asked) -> Callable[[Conversation], Sequence[Document]]:
        """What finds documents, for a thread: an async one runs on the loop of the request."""
        find, loop = self.documents, asyncio.get_running_loop()

        def found(conversation: Conversation) -> Sequence[Document]:
            documents = () if find is None else find(conversation)
            if inspect.isawaitable(documents):
                documents = asyncio.run_coroutine_threadsafe(_awaited(documents), loop).result()
            return join_documents(asked.documents, documents)

        return found

    def tell(self, reports: Iterable[TurnReport]) -> None:
        """Tells `on_report` of every report.

        Raises:
            Blocked: an answer was withheld, and `on_block` is raise.
        """
        told = list(reports)
        if self.on_report is not None:
            for report in told:
                self.on_report(report)
        blocked = next((report for report in told if report.blocked), None)
        if blocked is not None and self.on_block == "raise":
            raise Blocked(blocked)


def _past_to_remember(asked: Asked) -> Conversation:
    # Of several answers to one question nobody knows yet which one the user gets: none is remembered.
    return asked.conversation if asked.choices == 1 else asked.conversation.model_copy(update={"id": None})


def _with_conversation_id(report: TurnReport, asked: Asked) -> TurnReport:
    if report.conversation_id == asked.conversation.id:
        return report
    return report.model_copy(update={"conversation_id": asked.conversation.id})


async def _awaited(found: Awaitable[Sequence[Document]]) -> Sequence[Document]:
    return await found
