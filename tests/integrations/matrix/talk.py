"""What is said to a surface, what is seen of it, and where it runs: the same for all of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tests.integrations.matrix.proxies import SharedProxy
from tests.integrations.openai.ways import Heard as HeardOfClient
from tests.proxy.serving import Kept
from vista_guard import Blocked, Conversation, Document, Guard, TurnReport
from vista_guard.testing import ScriptedChatServer

Mode = Literal["sync", "async", "stream", "astream"]
Gate = Literal["turn", "sentence"]

FAILURES = ("1", "2", "3", "4", "5", "6", "7", "7 raised")
"""Those of docs/design/guarantees.md, and the last by the exception that a surface can be asked for."""

AT_ONCE = 8
_THREADS = ThreadPoolExecutor(AT_ONCE)


@dataclass(frozen=True)
class Talk:
    """One run of an agent: what was said before (chat JSON), the question, what the model drafts, what that leans on."""

    draft: str
    documents: tuple[str, ...] = ()
    past: tuple[Mapping[str, Any], ...] = ()
    id: str = "talk"
    question: str = "What do you know about the whale hall?"

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The request as chat JSON."""
        return [*map(dict, self.past), {"role": "user", "content": self.question}]


@dataclass(frozen=True)
class Seen:
    """What one run of a guarded agent left outside of the guard.

    Attributes:
        shown: the text that the user read in the end.
        pieces: the texts that were shown on the way there: deltas, or states that each hold the whole text.
        withheld: whether the host can tell that the turn was withheld.
        raised: whether it was told so by `Blocked`.
        reports: of this conversation.
        stored: what the host has of the conversation: every object it was handed but reports, the history of its state, the
            knowledge.
    """

    shown: str
    pieces: tuple[str, ...]
    withheld: bool
    raised: bool
    reports: tuple[TurnReport, ...]
    stored: str

    @property
    def report(self) -> TurnReport:
        """The report of the only turn."""
        (report,) = self.reports
        return report


@dataclass
class Heard(HeardOfClient):
    """Takes down what reaches the caller, by the stream that it came in where there are several at once."""

    pieces: dict[str, list[str]] = field(default_factory=dict)

    def hear(self, text: str, visible: object = "", stream: str = "") -> None:
        """A piece of text, and the object that it came in."""
        self.objects.append(repr(visible))
        if text:
            self.pieces.setdefault(stream, []).append(text)

    def take(self, item: Any, shown: str | None = None) -> None:
        """One of the SDK's objects."""
        self.hear(shown or "", item.model_dump_json(warnings=False))

    def end(self, result: Any, finish: str | None) -> None:
        """The SDK's last object."""
        self.finish = finish
        if hasattr(result, "model_dump_json"):
            self.objects.append(result.model_dump_json(warnings=False))

    @property
    def texts(self) -> set[str]:
        """What the user read in the end, by each stream. A piece of `values` is a state, and holds the whole text so far."""
        return {"".join(texts[-1:] if name == "values" else texts) for name, texts in self.pieces.items()}


@dataclass
class Upstream:
    """The models behind all surfaces: they say what the talk with this question drafts."""

    server: ScriptedChatServer
    talks: dict[str, Talk]

    def draft(self, question: str) -> str:
        """What the model says to this question."""
        return self.talks[question].draft


@dataclass(frozen=True)
class Site:
    """Where a guarded agent runs. `folder` is where its host keeps things, with `durability` sync at every step."""

    guard: Guard
    sink: Kept
    upstream: Upstream
    proxy: SharedProxy
    folder: Path
    on_block: Literal["replace", "raise"] = "replace"
    durability: Literal["exit", "sync"] = "exit"

    def find(self, conversation: Conversation) -> list[Document]:
        """The documents of the answer to the conversation's last question."""
        asked = next(turn.text for turn in reversed(conversation.turns) if turn.role == "user")
        return [Document(id=text, text=text) for text in self.upstream.talks[asked].documents]

    @property
    def options(self) -> dict[str, Any]:
        """Options of `guard.wrap`, `guard.graph`, the middleware and `guarded`."""
        return {"documents": self.find, "on_block": self.on_block}

    @property
    def on_disk(self) -> bytes:
        """All bytes of all files that the host has now: write-ahead logs, deleted rows and all."""
        return b"".join(file.read_bytes() for file in sorted(self.folder.iterdir()))


Say = Callable[[Talk, Heard], Any]
"""Runs the agent once, in the caller's thread or awaited, and takes down what it shows."""

Opening = Callable[[Site], AbstractAsyncContextManager[Say]]
"""Puts the agent behind the guard: one object for all conversations."""

Ask = Callable[[Talk], Awaitable[Seen]]


@dataclass(frozen=True)
class Driver:
    """One way through a surface.

    `gate` is what it holds text back by; `keeps` says whether its host has a checkpointer, `owner` what its conversations' names
    begin with in the stores. With `failures` only those are looked for.
    """

    surface: str
    mode: Mode
    way: str
    opening: Opening = field(repr=False)
    gate: Gate = "turn"
    keeps: bool = False
    owner: str = ""
    failures: Collection[str] = FAILURES

    def __str__(self) -> str:
        return f"{self.surface}-{self.mode}-{self.way}-{self.gate}".replace(" ", "_")

    @asynccontextmanager
    async def open(self, site: Site) -> AsyncIterator[Ask]:
        """The agent behind the guard; any number may talk to it at once."""
        async with self.opening(site) as say:

            async def ask(talk: Talk) -> Seen:
                site.upstream.talks[talk.question] = talk
                heard, raised = Heard(), False
                try:
                    await self._run(say, talk, heard)
                except Blocked:
                    raised = True
                return await self._seen(site, talk, heard, raised)

            yield ask

    async def _run(self, say: Say, talk: Talk, heard: Heard) -> None:
        if self.mode in ("async", "astream"):
            await say(talk, heard)
        else:
            await asyncio.get_running_loop().run_in_executor(_THREADS, say, talk, heard)

    async def _seen(self, site: Site, talk: Talk, heard: Heard, raised: bool) -> Seen:
        name = f"{self.owner}{talk.id}"
        # A host that raises may have come less far in one stream than in another.
        shown = min(heard.texts, key=len, default="")
        assert raised or heard.texts == {shown}, "the streams of one run show different texts"
        known = await site.guard.parts.knowledge.recall(name, persona=None, query="", limit=99)
        message = site.guard.parts.policy.message
        replaced = shown.endswith(message) and heard.finish in (None, "content_filter")
        return Seen(
            shown=shown,
            pieces=tuple(piece for pieces in heard.pieces.values() for piece in pieces),
            withheld=raised or replaced,
            raised=raised,
            reports=tuple(report for report in site.sink.reports if report.conversation_id == name),
            stored="\n".join([*heard.objects, *(passage.text for passage in known)]),
        )
