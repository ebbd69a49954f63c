"""How a guarded client meets its host: how it gates, where evidence comes from, who is told, what a block does."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, Literal, cast, get_args

from vista_guard.errors import Blocked, ConfigError
from vista_guard.graph.surface import without_message
from vista_guard.guard import Guard
from vista_guard.integrations.openai.requests import Asked, Chains, ConversationId, joined
from vista_guard.stream.gates import Again, Delta, Gate, Passed, regenerates
from vista_guard.stream.opening import Opening
from vista_guard.types import Conversation, Document, Role, Turn, TurnReport

FindDocuments = Callable[[Conversation], Sequence[Document] | Awaitable[Sequence[Document]]]
"""Gives the documents of an answer from the conversation that ends with it; with the gate `sentence`, it is still empty."""

OnBlock = Literal["raise", "replace"]

_REPORTS = "_vista_guard"


@dataclass(frozen=True)
class Surface:
    """The options of `guarded`; see there."""

    guard: Guard
    gate: Gate = "sentence"
    on_block: OnBlock = "raise"
    documents: FindDocuments | None = None
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
        draft = _draft(asked, text, asked.documents)
        if self.documents is not None:
            found = await asyncio.to_thread(self._finder(asked), draft)
            draft = _draft(asked, text, found)
        return _named(await self.guard.acheck(draft), asked)

    async def judge_whole(self, asked: Asked, parts: AsyncGenerator[Delta, None], again: Again) -> TurnReport:
        """The report on an answer that may be asked for again."""
        documents = asked.documents if self.documents is None else self._finder(asked)
        stream = self.guard.gated(_remembered(asked), parts, gate="turn", documents=documents, again=again)
        *_, report = [item async for item in stream]
        return _named(cast(TurnReport, report), asked)

    async def gated(
        self, asked: Asked, parts: AsyncGenerator[Delta, None], again: Again | None = None
    ) -> AsyncGenerator[str | Passed | TurnReport, None]:
        """The gate's stream of one answer. No report when it says nothing: tool calls and blanks are no turn."""
        opening = Opening(parts, hold=again is not None)
        try:
            async for passed in opening.before_text():
                yield passed
            if opening.spoken:
                async for item in self._judged(asked, opening.rest(), again if opening.hold else None):
                    yield item
        finally:
            await parts.aclose()

    async def _judged(
        self, asked: Asked, parts: AsyncIterator[Delta], again: Again | None
    ) -> AsyncGenerator[str | Passed | TurnReport, None]:
        """With `on_block` raise, the policy's message is not in it."""
        documents = asked.documents if self.documents is None else self._finder(asked)
        stream = self.guard.gated(_remembered(asked), parts, gate=self.gate, documents=documents, again=again)
        if self.on_block == "raise":
            stream = without_message(stream, self.guard.parts.policy.message)
        async with aclosing(stream):
            async for item in stream:
                yield _named(item, asked) if isinstance(item, TurnReport) else item

    def _finder(self, asked: Asked) -> Callable[[Conversation], Sequence[Document]]:
        """What finds documents, for a thread: an async one runs on the loop of the request."""
        find, loop = self.documents, asyncio.get_running_loop()

        def found(conversation: Conversation) -> Sequence[Document]:
            documents = () if find is None else find(conversation)
            if inspect.isawaitable(documents):
                documents = asyncio.run_coroutine_threadsafe(_awaited(documents), loop).result()
            return joined(asked.documents, documents)

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


def mark(result: Any, reports: Mapping[int, TurnReport]) -> None:
    """Puts the reports on one of the SDK's objects, where neither its JSON nor its comparison shows them."""
    object.__setattr__(result, _REPORTS, dict(reports))


def report_of(result: Any, choice: int = 0) -> TurnReport | None:
    """The report on an answer that came through a guarded client; None when nothing in it was judged.

    Args:
        result: a completion, a response, a stream that has ended, or the chunk or event that ended it.
        choice: index of the choice; of a response, place of the text part among its texts.
    """
    return reports_of(result).get(choice)


def reports_of(result: Any) -> dict[int, TurnReport]:
    """All reports on an answer, by the index of the choice."""
    return cast("dict[int, TurnReport]", getattr(result, _REPORTS, None) or {})


def _remembered(asked: Asked) -> Conversation:
    # Of several answers to one question nobody knows yet which one the user gets: none is remembered.
    return asked.conversation if asked.choices == 1 else asked.conversation.model_copy(update={"id": None})


def _draft(asked: Asked, text: str, documents: Sequence[Document]) -> Conversation:
    said = _remembered(asked)
    turn = Turn(role=Role.ASSISTANT, text=text, documents=tuple(documents))
    return said.model_copy(update={"turns": (*said.turns, turn)})


def _named(report: TurnReport, asked: Asked) -> TurnReport:
    if report.conversation_id == asked.conversation.id:
        return report
    return report.model_copy(update={"conversation_id": asked.conversation.id})


async def _awaited(found: Awaitable[Sequence[Document]]) -> Sequence[Document]:
    return await found
