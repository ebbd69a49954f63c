"""How a guarded agent meets its host: how much of a stream waits, where evidence comes from, who is told, what a block does."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal, TypedDict, get_args

from vista_guard.errors import Blocked, ConfigError
from vista_guard.graph.agent import delivered_reply, is_async
from vista_guard.graph.host_objects import (
    FindDocuments,
    GivenDocuments,
    GivenFinder,
    find_documents_of,
    given_documents,
)
from vista_guard.stream.gates import Gate, Streamed
from vista_guard.stream.source import Passed
from vista_guard.turn.work import Work
from vista_guard.types import TurnReport

OnReport = Callable[[TurnReport], object]
OnBlock = Literal["replace", "raise"]


class WrapOptions(TypedDict, total=False):
    """Keyword arguments of `Guard.wrap` and `Guard.graph`; see there."""

    gate: Gate | None
    documents: GivenDocuments | GivenFinder | None
    on_report: OnReport | None
    on_block: OnBlock


@dataclass(frozen=True)
class HostSurface:
    """The options of `Guard.wrap`, `Guard.graph` and the integrations, as they were understood; see there."""

    gate: Gate | None = None
    find_documents: FindDocuments | None = None
    on_report: OnReport | None = None
    on_block: OnBlock = "replace"

    def __post_init__(self) -> None:
        if self.gate is not None and self.gate not in get_args(Gate):
            raise ConfigError(f"gate is {self.gate!r}; choose none, sentence or turn")
        if self.on_block not in get_args(OnBlock):
            raise ConfigError(f"on_block is {self.on_block!r}; choose replace or raise")

    def tell(self, report: TurnReport) -> None:
        """Tells `on_report`. Blocked: the turn was withheld and `on_block` is raise."""
        if self.on_report is not None:
            self.on_report(report)
        if report.blocked and self.on_block == "raise":
            raise Blocked(report)

    def deliver(self, work: Work) -> object:
        """The host's object with what is delivered. Blocked: see `tell`."""
        if work.report is not None:
            self.tell(work.report)
        return delivered_reply(work)

    async def without_report(
        self, stream: AsyncGenerator[Streamed, None], message: str
    ) -> AsyncGenerator[str | Passed, None]:
        """A gated stream without its report, which is told: see `tell`."""
        async with aclosing(self.shown_stream(stream, message)) as items:
            async for item in items:
                if not isinstance(item, TurnReport):
                    yield item
                elif item.response:  # A turn without a word is none.
                    self.tell(item)

    async def shown_stream(
        self, stream: AsyncGenerator[Streamed, None], message: str
    ) -> AsyncGenerator[Streamed, None]:
        """A gated stream, with `on_block` raise without the policy's message: the exception stands for it."""
        async with aclosing(without_message(stream, message) if self.on_block == "raise" else stream) as items:
            async for item in items:
                yield item


def build_surface(
    *,
    gate: Gate | None = None,
    documents: GivenDocuments | GivenFinder | None = None,
    on_report: OnReport | None = None,
    on_block: OnBlock = "replace",
) -> HostSurface:
    """The surface that these options ask for. ConfigError: an option that does not exist, or documents that are none."""
    find_documents = find_documents_of(documents)
    if find_documents is not None and is_async(find_documents):
        raise ConfigError(
            "documents is an async function, which is not awaited here; give a sync function that returns the documents"
        )
    find = None if find_documents is None else lambda draft: given_documents(find_documents(draft))
    return HostSurface(gate, find, on_report, on_block)


def known_options(door: str, options: WrapOptions, *further: str) -> WrapOptions:
    """The options, when all are known. `further` are those that the door takes beside them. TypeError: one that is not."""
    known = WrapOptions.__annotations__
    unknown = sorted(options.keys() - known.keys())
    if unknown:
        names = ", ".join(map(repr, unknown))
        raise TypeError(f"{door}() got an unknown option {names}; options are {', '.join((*known, *further))}")
    return options


async def without_message(stream: AsyncGenerator[Streamed, None], message: str) -> AsyncGenerator[Streamed, None]:
    """A gated stream without the message that stands for what was withheld."""
    held: str | None = None
    async with aclosing(stream):
        async for item in stream:
            if held is not None and not (isinstance(item, TurnReport) and item.blocked):
                yield held
            held = None
            if item in (message, f"\n\n{message}"):
                held = item
            else:
                yield item
