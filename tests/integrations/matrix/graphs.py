"""LangGraphs behind the guard, nodes of them, and LangChain agents with the middleware: with a SQLite checkpointer each."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.integrations.matrix.functions import Speaker, asked, named
from tests.integrations.matrix.talk import Driver, Gate, Heard, Mode, Say, Site, Talk
from vista_guard.integrations.langchain import VistaGuardMiddleware
from vista_guard.integrations.langgraph import guard_node

STREAM_MODES = ("values", "updates", "messages", "custom")

Modes = tuple[str, ...]

Make = Callable[[Site, Any], Any]
"""A guarded graph with this checkpointer."""


def graph(site: Site, saver: Any) -> Any:
    """`guard.graph` around a chat model."""
    return site.guard.graph(Speaker(upstream=site.upstream), checkpointer=saver, **site.options)


def wrapped(site: Site, saver: Any) -> Any:
    """`guard.wrap` around a compiled graph."""
    return site.guard.wrap(_with_node(_speaking(site), saver), **site.options)


def node(gate: Gate, site: Site, saver: Any) -> Any:
    """A host's graph with a guarded node."""
    return _with_node(guard_node(site.guard, _speaking(site), gate=gate, **site.options), saver)


def agent(gate: Gate, site: Site, saver: Any) -> Any:
    """`create_agent` with the middleware."""
    guarding = VistaGuardMiddleware(site.guard, gate=gate, **site.options)
    return create_agent(Speaker(upstream=site.upstream), middleware=[guarding], checkpointer=saver)


def _speaking(site: Site) -> Any:
    model = Speaker(upstream=site.upstream)

    def speak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    async def aspeak(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return RunnableLambda(speak, aspeak)


def _with_node(speaker: Any, saver: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("speak", speaker)
    builder.add_edge(START, "speak")
    return builder.compile(checkpointer=saver)


@asynccontextmanager
async def _invoke(make: Make, site: Site) -> AsyncIterator[Say]:
    with SqliteSaver.from_conn_string(str(site.folder / "checkpoints.sqlite")) as saver:
        made = make(site, saver)

        def say(talk: Talk, heard: Heard) -> None:
            try:
                result = made.invoke({"messages": asked(talk)}, named(talk), durability=site.durability)
                heard.hear(result["messages"][-1].text, _without_report(result))
            finally:
                heard.objects += map(repr, made.get_state_history(named(talk)))

        yield say


@asynccontextmanager
async def _ainvoke(make: Make, site: Site) -> AsyncIterator[Say]:
    async with AsyncSqliteSaver.from_conn_string(str(site.folder / "checkpoints.sqlite")) as saver:
        made = make(site, saver)

        async def say(talk: Talk, heard: Heard) -> None:
            try:
                result = await made.ainvoke({"messages": asked(talk)}, named(talk), durability=site.durability)
                heard.hear(result["messages"][-1].text, _without_report(result))
            finally:
                heard.objects += [repr(state) async for state in made.aget_state_history(named(talk))]

        yield say


@asynccontextmanager
async def _stream(make: Make, modes: Modes, site: Site) -> AsyncIterator[Say]:
    more: Any = {"stream_mode": list(modes), "subgraphs": True, "durability": site.durability}
    with SqliteSaver.from_conn_string(str(site.folder / "checkpoints.sqlite")) as saver:
        made = make(site, saver)

        def say(talk: Talk, heard: Heard) -> None:
            try:
                for _, mode, chunk in made.stream({"messages": asked(talk)}, named(talk), **more):
                    _hear(heard, talk, mode, chunk)
            finally:
                heard.objects += map(repr, made.get_state_history(named(talk)))

        yield say


@asynccontextmanager
async def _astream(make: Make, modes: Modes, site: Site) -> AsyncIterator[Say]:
    more: Any = {"stream_mode": list(modes), "subgraphs": True, "durability": site.durability}
    async with AsyncSqliteSaver.from_conn_string(str(site.folder / "checkpoints.sqlite")) as saver:
        made = make(site, saver)

        async def say(talk: Talk, heard: Heard) -> None:
            try:
                async for _, mode, chunk in made.astream({"messages": asked(talk)}, named(talk), **more):
                    _hear(heard, talk, mode, chunk)
            finally:
                heard.objects += [repr(state) async for state in made.aget_state_history(named(talk))]

        yield say


@asynccontextmanager
async def _events(make: Make, site: Site) -> AsyncIterator[Say]:
    async with AsyncSqliteSaver.from_conn_string(str(site.folder / "checkpoints.sqlite")) as saver:
        made = make(site, saver)

        async def say(talk: Talk, heard: Heard) -> None:
            async for event in made.astream_events({"messages": asked(talk)}, named(talk), durability=site.durability):
                data = {name: _without_report(value) for name, value in event["data"].items()}
                said = event["data"]["chunk"].text if event["event"] == "on_chat_model_stream" else ""
                heard.hear(said, data, "tokens")
            heard.hear(event["data"]["output"]["messages"][-1].text, stream="end")
            heard.objects += [repr(state) async for state in made.aget_state_history(named(talk))]

        yield say


def _hear(heard: Heard, talk: Talk, mode: str, chunk: Any) -> None:
    """A chunk of a host's stream. Of the events for operators only the report's own account of what was delivered."""
    if mode == "messages":
        heard.hear(chunk[0].text, chunk, mode)
    elif mode == "updates":
        for update in chunk.values():
            heard.hear("".join(_said(_messages(update))), _without_report(update), mode)
    elif mode == "values":
        heard.hear("".join(_said(_messages(chunk)[len(talk.messages) :])), _without_report(chunk), mode)
    elif chunk["event"] == "report":
        heard.hear(chunk["report"]["response"], stream=mode)
    else:
        assert chunk["event"] in ("finding", "unchecked", "decision"), chunk


def _messages(update: Any) -> list[BaseMessage]:
    return list((update or {}).get("messages", ()))


def _said(messages: Iterable[BaseMessage]) -> list[str]:
    return [message.text for message in messages if isinstance(message, AIMessage)]


def _without_report(update: Any) -> Any:
    """A report names the claims of what was withheld, to those who read reports; it is not the conversation."""
    if not isinstance(update, dict):
        return update
    return {name: value for name, value in update.items() if name != "report"}


def _ways(surface: str, name: str, make: Make, gate: Gate = "turn") -> list[Driver]:
    """All stream modes at once; and each alone, where it matters who else listens."""
    doors: list[tuple[Mode, Any]] = [("stream", _stream), ("astream", _astream)]
    found = [
        Driver(surface, mode, f"{name} in all modes", partial(door, make, STREAM_MODES), gate, keeps=True)
        for mode, door in doors
    ]
    found += [
        Driver(surface, mode, f"{name} {only}", partial(door, make, (only,)), gate, keeps=True, failures=("3", "4"))
        for mode, door in doors
        for only in (STREAM_MODES if gate == "turn" else ("messages",))
    ]
    events = partial(_events, make)
    found.append(Driver(surface, "astream", f"{name} events", events, gate, keeps=True, failures=("3", "4")))
    if gate == "turn":
        found.append(Driver(surface, "sync", f"{name} invoke", partial(_invoke, make), keeps=True))
        found.append(Driver(surface, "async", f"{name} ainvoke", partial(_ainvoke, make), keeps=True))
    return found


DRIVERS = (
    *_ways("LangGraph", "graph", graph),
    *_ways("LangGraph", "wrap", wrapped),
    *_ways("LangGraph", "node", partial(node, "turn")),
    *_ways("LangGraph", "node", partial(node, "sentence"), "sentence"),
    *_ways("middleware", "agent", partial(agent, "turn")),
    *_ways("middleware", "agent", partial(agent, "sentence"), "sentence"),
)
