"""Wraps an agent in the state machine and gives back the same kind of object."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from typing import Annotated, Any, cast, get_type_hints

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, RemoveMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.channels import EphemeralValue, UntrackedValue
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypedDict

from vista_guard._aio.pumps import Bridged, in_task, in_thread
from vista_guard.errors import ConfigError
from vista_guard.graph.agent import (
    AgentCall,
    agent_node,
    call_function,
    call_runnable,
    in_place,
    is_async,
    silent_context,
)
from vista_guard.graph.hosts import read_request
from vista_guard.graph.machine import OWN, AnyGraph, build_graph
from vista_guard.graph.surface import Surface
from vista_guard.graph.wrap_stream import GatedStream, guarded_generator, named_conversation, named_like, streams
from vista_guard.stream.gates import check_gate
from vista_guard.turn.work import Parts, Work
from vista_guard.types import TurnReport


class GuardedMessages(TypedDict, total=False):
    """State of `guard.graph(agent)` when the agent brings none of its own."""

    messages: Annotated[list[AnyMessage], add_messages]
    documents: Annotated[Sequence[Any], EphemeralValue]
    """Documents of the turn that is asked for; those of an earlier turn must not linger in the state."""
    report: Annotated[TurnReport, UntrackedValue]
    guard: Annotated[Work, UntrackedValue]
    guard_attempts: Annotated[int, EphemeralValue]


def wrap(agent: Any, parts: Parts, surface: Surface) -> Any:
    """A callable for a callable, a Runnable for a Runnable, a compiled graph for a compiled graph.

    Raises:
        ConfigError: the agent is none of these, or the gate is not for its kind or policy.
    """
    if isinstance(agent, CompiledStateGraph):
        return graph(agent, parts, surface)
    check_gate(surface.gate, parts.policy)
    if streams(agent):
        return guarded_generator(agent, GatedStream(parts, surface))
    if not isinstance(agent, Runnable) and not callable(agent):
        raise ConfigError(
            f"the agent is {type(agent).__name__}; wrap a callable, a LangChain Runnable or a compiled LangGraph"
        )
    machine = build_graph(
        parts,
        agent=agent_node(lambda state, config: cast(Work, state["guard"]), lambda work: {}, surface.documents),
        checkpointer=False,
    )
    if isinstance(agent, Runnable):
        return GuardedRunnable(agent, machine, GatedStream(parts, surface))
    return _guarded_function(agent, machine, surface)


def graph(agent: Any, parts: Parts, surface: Surface, *, checkpointer: Any = None) -> AnyGraph:
    """The compiled state machine around the agent, with the host's own state and `messages` in it.

    The agent's checkpointer, when it has one, is taken over: inside, the agent runs without, so that no checkpoint ever
    holds a draft that was not delivered, unless the agent is interrupted.

    Raises:
        ConfigError: the agent is none that can be asked, or the gate is not `turn`.
    """
    if surface.gate not in (None, "turn"):
        raise ConfigError(
            f"gate is {surface.gate!r}, and which of a graph's model calls speaks to the user is not known: a graph is guarded "
            "by the turn. Guard the node that speaks by guard_node, or use VistaGuardMiddleware, for streams by the sentence"
        )
    call, schema = _message_agent(agent)
    keys = set(get_type_hints(schema))

    def enter(state: Mapping[str, Any], config: RunnableConfig) -> Work:
        request = {key: value for key, value in state.items() if key not in OWN | {"report"}}
        conversation = read_request(request).model_copy(update={"id": thread_of(config)})
        return Work(conversation=conversation, request=request, call=call)

    def leave(work: Work) -> dict[str, Any]:
        update = _state_update(work, surface.deliver(work), keys)
        return update if work.report is None else {**update, "report": work.report}

    own = getattr(agent, "checkpointer", None) if isinstance(agent, CompiledStateGraph) else None
    return build_graph(
        parts,
        agent=agent_node(enter, leave, surface.documents),
        leave=leave,
        schema=schema,
        checkpointer=checkpointer if checkpointer is not None else own,
    )


class GuardedRunnable(Runnable[Any, Any]):
    """A Runnable whose answers went through the guard. With the gate `turn` its stream yields the delivered answer, whole."""

    def __init__(self, agent: Runnable[Any, Any], machine: AnyGraph, stream: GatedStream) -> None:
        self._agent, self._machine, self._stream, self._surface = agent, machine, stream, stream.surface

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """As the agent's own; `configurable.thread_id` names the conversation."""
        run = ensure_config(config)
        return self._surface.deliver(self._machine.invoke(self._start(input, run, kwargs), run)["guard"])

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """As the agent's own; `configurable.thread_id` names the conversation."""
        run = ensure_config(config)
        state = await self._machine.ainvoke(self._start(input, run, kwargs), run)
        return self._surface.deliver(state["guard"])

    def stream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Any]:
        """Chunks of the agent's own kind, each let out once it was judged."""

        def chunks(inputs: Iterator[Any], run_manager: Any, config: RunnableConfig) -> Iterator[Any]:
            if self._stream.gate == "turn":
                yield self.invoke(next(inputs), config, **kwargs)
                return

            def ask(asked: Any) -> AsyncGenerator[Any, None]:
                context = silent_context(config)
                return in_thread(lambda: self._agent.stream(asked, **kwargs), context)

            request = next(inputs)
            with closing(
                Bridged(self._stream.run(request, named_conversation(request, thread_of(config)), ask))
            ) as pieces:
                yield from pieces

        yield from self._transform_stream_with_config(iter([input]), chunks, config, run_type="chain")

    async def astream(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """As `stream`."""

        async def inputs() -> AsyncIterator[Any]:
            yield input

        async def chunks(inputs: AsyncIterator[Any], run_manager: Any, config: RunnableConfig) -> AsyncIterator[Any]:
            if self._stream.gate == "turn":
                yield await self.ainvoke(await anext(inputs), config, **kwargs)
                return

            def ask(asked: Any) -> AsyncGenerator[Any, None]:
                context = silent_context(config)
                return in_task(lambda: self._agent.astream(asked, **kwargs), context)

            request = await anext(inputs)
            async with aclosing(
                self._stream.run(request, named_conversation(request, thread_of(config)), ask)
            ) as pieces:
                async for piece in pieces:
                    yield piece

        async for chunk in self._atransform_stream_with_config(inputs(), chunks, config, run_type="chain"):
            yield chunk

    def _start(self, request: Any, config: RunnableConfig, kwargs: Mapping[str, Any]) -> dict[str, Work]:
        return _start(request, in_place(call_runnable(self._agent, **kwargs), config), thread_of(config))


def _guarded_function(agent: Callable[..., Any], machine: AnyGraph, surface: Surface) -> Callable[..., Any]:
    def start(request: Any, conversation_id: str | None, args: Any, kwargs: Any) -> dict[str, Work]:
        return _start(request, in_place(call_function(agent, *args, **kwargs), ensure_config()), conversation_id)

    if is_async(agent):

        async def aguarded(request: Any, *args: Any, conversation_id: str | None = None, **kwargs: Any) -> Any:
            state = await machine.ainvoke(start(request, conversation_id, args, kwargs))
            return surface.deliver(state["guard"])

        return named_like(agent, aguarded)

    def guarded(request: Any, *args: Any, conversation_id: str | None = None, **kwargs: Any) -> Any:
        return surface.deliver(machine.invoke(start(request, conversation_id, args, kwargs))["guard"])

    return named_like(agent, guarded)


def _start(request: Any, call: AgentCall, conversation_id: str | None) -> dict[str, Work]:
    return {"guard": Work(conversation=named_conversation(request, conversation_id), request=request, call=call)}


def _message_agent(agent: Any) -> tuple[AgentCall, type[Any]]:
    """How to ask the agent, and the state it needs."""
    if isinstance(agent, CompiledStateGraph):
        inner = agent.copy(update={"checkpointer": None})
        hints = get_type_hints(agent.builder.state_schema, include_extras=True)
        extra = get_type_hints(GuardedMessages, include_extras=True)
        schema = TypedDict("GuardedState", {**extra, **hints}, total=False)  # type: ignore[misc]  # made from the agent's own
        return call_runnable(inner), schema
    if isinstance(agent, Runnable):
        return _on_messages(call_runnable(agent)), GuardedMessages
    if callable(agent):
        return _on_messages(call_function(agent)), GuardedMessages
    raise ConfigError(
        f"the agent is {type(agent).__name__}; give a callable, a LangChain Runnable or a compiled LangGraph"
    )


def _on_messages(call: AgentCall) -> AgentCall:
    """A callable or Runnable takes the list of messages, and its answer is one more."""

    async def ask(request: Mapping[str, Any], config: RunnableConfig) -> Any:
        return await call.asynchronous(request["messages"], config)

    return AgentCall(sync=lambda request, config: call.sync(request["messages"], config), asynchronous=ask)


def _state_update(work: Work, reply: Any, keys: set[str]) -> dict[str, Any]:
    if isinstance(reply, BaseMessage):
        return {"messages": [reply]}
    if not isinstance(reply, Mapping) or "messages" not in reply:
        return {"messages": [AIMessage(content=work.response or "")]} if work.spoke else {}
    before = {message.id: message for message in work.request.get("messages", ()) if isinstance(message, BaseMessage)}
    after = {message.id for message in reply["messages"]}
    new = [message for message in _answer(reply["messages"]) if before.get(message.id) != message]
    removed = [RemoveMessage(id=identity) for identity in before if identity and identity not in after]
    changed = {key for key in keys & reply.keys() if work.request.get(key) is not reply[key]}
    # Any other part of the agent's state may repeat a draft that was withheld or mended: only messages go through then.
    replaced = work.spoke and work.response != work.turn.text
    others = {} if replaced else {key: reply[key] for key in changed - {"messages"}}
    return {**others, "messages": [*removed, *new]}


def _answer(messages: Sequence[BaseMessage]) -> Sequence[BaseMessage]:
    """What follows the last human message: a regenerated run has the withheld draft and the note on it before that."""
    for place in range(len(messages) - 1, -1, -1):
        if messages[place].type == "human":
            return messages[place + 1 :]
    return messages


def thread_of(config: RunnableConfig) -> str | None:
    """The conversation's name in a run."""
    thread = (config.get("configurable") or {}).get("thread_id")
    return str(thread) if thread not in (None, "") else None
