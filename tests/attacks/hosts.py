"""Hosts of the attacks: agents, graphs, Runnables and callables behind the guard, and all that they show and keep."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.attacks.answers import SECRET, TRUTH
from tests.attacks.messages import Said, chunks_of
from tests.integrations.openai.ways import Script
from tests.proxy.serving import Kept
from vista_guard import Guard, Label
from vista_guard.integrations.langchain import VistaGuardMiddleware
from vista_guard.integrations.langgraph import guard_node
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder

NOTES = "The whale hall of the tide museum opened in 1925."
ASKED: Any = {"messages": [HumanMessage("When did the whale hall open?")]}
RUN: Any = {"configurable": {"thread_id": "attack"}}


class Speaker(BaseChatModel):
    """A hostile model: says these messages, and the truth once a tool answered. It streams where it is streamed."""

    messages: Any
    size: int = 7

    @property
    def _llm_type(self) -> str:
        return "hostile"

    def bind_tools(self, *args: Any, **kwargs: Any) -> Any:
        return self

    def _said(self, asked: list[BaseMessage]) -> list[BaseMessage]:
        return [AIMessage(TRUTH)] if isinstance(asked[-1], ToolMessage) else list(self.messages)

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=one) for one in self._said(messages)])


class Streamer(Speaker):
    """As `Speaker`, piece by piece."""

    def _stream(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> Iterator[ChatGenerationChunk]:
        for chunk in chunks_of(self._said(messages)[0], self.size):
            yield ChatGenerationChunk(message=chunk)


@dataclass
class Seen:
    """What one run left outside of the guard: what was shown, what a user reads of it in the end, what is kept."""

    shown: list[str] = field(default_factory=list)
    read: str = ""
    kept: str = ""
    error: str = ""


@dataclass
class Host:
    """A guard, and what it reports to."""

    policy: Any
    sink: Kept = field(default_factory=Kept)

    def __post_init__(self) -> None:
        judge = ScriptedJudge(Script(Verdict(TRUTH, needs="1925"), Verdict(SECRET, Label.CONTRADICTED, 0.99)))
        self.knowledge = MemoryKnowledge(WordEmbedder())
        self.guard = Guard(judge, self.policy, knowledge=self.knowledge, sinks=[self.sink])

    async def known(self) -> str:
        """All that is known of the conversation."""
        return "\n".join(one.text for one in await self.knowledge.recall("attack", persona=None, query="", limit=99))


Surface = Callable[[Host, Said], Awaitable[Seen]]


def look_up() -> str:
    """Looks it up."""
    return NOTES


def node(host: Host, said: Said, gate: Any, saver: Any) -> Any:
    """A host's graph with a guarded node that hands on what hostile models said."""
    builder = StateGraph(MessagesState)
    speak = guard_node(host.guard, lambda state: {"messages": list(said.messages)}, gate=gate, documents=[NOTES])
    builder.add_node("speak", speak)
    builder.add_edge(START, "speak")
    return builder.compile(checkpointer=saver)


def wrapped(host: Host, said: Said, gate: Any, saver: Any) -> Any:
    """A host's graph, guarded whole."""
    builder = StateGraph(MessagesState)
    builder.add_node("speak", lambda state: {"messages": list(said.messages)})
    builder.add_edge(START, "speak")
    return host.guard.wrap(builder.compile(checkpointer=saver), gate=gate, documents=[NOTES])


def agent(kind: type[Speaker], host: Host, said: Said, gate: Any, saver: Any) -> Any:
    """An agent with a tool and the middleware."""
    guarding = VistaGuardMiddleware(host.guard, gate=gate, documents=[NOTES])
    return create_agent(kind(messages=said.messages), [look_up], middleware=[guarding], checkpointer=saver)


async def graph(make: Any, gate: Any, door: str, host: Host, said: Said) -> Seen:
    """A graph by one of its doors, and its checkpoints. What is read is the last message of the state."""
    saver, seen = InMemorySaver(), Seen()
    made = make(host, said, gate, saver)
    modes: Any = ["messages", "values", "updates"]
    try:
        if door == "stream":
            for mode, chunk in made.stream(ASKED, RUN, stream_mode=modes, durability="sync"):
                seen.shown.append(_without_report(mode, chunk))
        elif door == "astream":
            async for mode, chunk in made.astream(ASKED, RUN, stream_mode=modes, durability="sync"):
                seen.shown.append(_without_report(mode, chunk))
        else:
            seen.shown.append(_without_report("values", made.invoke(ASKED, RUN, durability="sync")))
    except Exception as exc:
        seen.error = told_by(exc)
    seen.read = str(made.get_state(RUN).values["messages"][-1].text)
    # What is serialised too: bytes of every channel, of writes, and of what was written over.
    seen.kept = "\n".join(map(repr, (list(made.get_state_history(RUN)), saver.storage, saver.blobs, saver.writes)))
    return seen


def _without_report(mode: str, chunk: Any) -> str:
    """A report names what was withheld, to those who read reports."""
    if mode == "values":
        return repr({name: held for name, held in chunk.items() if name != "report"})
    if mode == "updates":
        return repr(
            {
                name: {key: value for key, value in (held or {}).items() if key != "report"}
                for name, held in chunk.items()
            }
        )
    return repr(chunk)


async def runnable(kind: type[Speaker], gate: Any, door: str, host: Host, said: Said) -> Seen:
    """A chat model behind `guard.wrap`."""
    made: Any = host.guard.wrap(kind(messages=said.messages), gate=gate, documents=[NOTES])
    seen, pieces = Seen(), list[Any]()
    try:
        if door == "invoke":
            pieces.append(made.invoke(ASKED["messages"], RUN))
        elif door == "ainvoke":
            pieces.append(await made.ainvoke(ASKED["messages"], RUN))
        elif door == "stream":
            pieces.extend(made.stream(ASKED["messages"], RUN))
        else:
            pieces += [piece async for piece in made.astream(ASKED["messages"], RUN)]
    except Exception as exc:
        seen.error = told_by(exc)
    seen.shown, seen.read = [repr(piece) for piece in pieces], "".join(str(piece.text) for piece in pieces)
    return seen


async def function(gate: Any, door: str, host: Host, said: Said) -> Seen:
    """A callable that answers with a message, or a generator of the pieces of one."""
    seen, pieces = Seen(), list[Any]()

    def whole(request: Any) -> Any:
        return said.messages[0]

    def streamed(request: Any) -> Iterator[Any]:
        yield from chunks_of(said.messages[0], 5)

    async def astreamed(request: Any) -> AsyncIterator[Any]:
        for piece in chunks_of(said.messages[0], 5):
            yield piece

    request = [{"role": "user", "content": "When did the whale hall open?"}]
    options: Any = {"gate": gate, "documents": [NOTES]}
    try:
        if door == "call":
            pieces.append(host.guard.wrap(whole, **options)(request, conversation_id="attack"))
        elif door == "generator":
            pieces.extend(host.guard.wrap(streamed, **options)(request, conversation_id="attack"))
        else:
            told: Any = host.guard.wrap(astreamed, **options)(request, conversation_id="attack")
            pieces += [piece async for piece in told]
    except Exception as exc:
        seen.error = told_by(exc)
    seen.shown, seen.read = [repr(piece) for piece in pieces], "".join(str(piece.text) for piece in pieces)
    return seen


def told_by(exc: BaseException | None) -> str:
    """All that an exception says, and those that it came from."""
    told = []
    while exc is not None:
        told += [type(exc).__name__, str(exc), repr(exc)]
        exc = exc.__cause__ or exc.__context__
    return "\n".join(told)


AGENTS: Mapping[str, Surface] = {
    f"middleware {kind.__name__} {gate} {door}": partial(graph, partial(agent, kind), gate, door)
    for kind in (Speaker, Streamer)
    for gate in ("turn", "sentence")
    for door in ("invoke", "stream")
} | {"middleware Streamer sentence astream": partial(graph, partial(agent, Streamer), "sentence", "astream")}
GRAPHS: Mapping[str, Surface] = {
    **{
        f"guard_node {gate} {door}": partial(graph, node, gate, door)
        for gate in ("turn", "sentence")
        for door in ("invoke", "stream")
    },
    **{
        f"guard.wrap of a graph {door}": partial(graph, wrapped, "turn", door)
        for door in ("invoke", "stream", "astream")
    },
}
CALLED: Mapping[str, Surface] = {
    **{
        f"Runnable {door} {gate}": partial(runnable, Streamer, gate, door)
        for gate in ("turn", "sentence")
        for door in ("stream", "astream")
    },
    **{f"Runnable {door}": partial(runnable, Speaker, "turn", door) for door in ("invoke", "ainvoke")},
    "callable": partial(function, "turn", "call"),
    **{
        f"{door} {gate}": partial(function, gate, door)
        for gate in ("turn", "sentence")
        for door in ("generator", "async generator")
    },
}
