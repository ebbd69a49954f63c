"""Wraps an agent in the state machine and returns the same kind of object: a callable, a Runnable or a compiled graph."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, cast, get_type_hints

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, RemoveMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.channels import EphemeralValue, UntrackedValue
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Checkpointer
from typing_extensions import TypedDict

from vista_guard._aio.streams import Bridged, in_task, in_thread
from vista_guard.errors import ConfigError
from vista_guard.graph.agent import (
    AgentCall,
    HostCall,
    agent_name,
    agent_node,
    call_function,
    call_in_run_of,
    call_runnable,
    is_async,
)
from vista_guard.graph.host_objects import HostState, answer_start, read_request, thread_id_of
from vista_guard.graph.machine import GUARD_CHANNELS, AnyGraph, GuardState, build_graph
from vista_guard.graph.surface import HostSurface
from vista_guard.graph.vendor_private import astream_as_run, context_of, silent_config, stream_as_run
from vista_guard.graph.wrap_stream import (
    Ask,
    GatedStream,
    guarded_generator,
    is_generator_function,
    named_conversation,
    named_like,
)
from vista_guard.stream.gates import check_gate
from vista_guard.turn.work import Parts, Work
from vista_guard.types import TurnReport

Request = TypeVar("Request", contravariant=True)
Reply = TypeVar("Reply", covariant=True)


class GuardedRunnable(Runnable[Request, Reply]):
    """A Runnable whose answers went through the guard. With the gate `turn` its stream yields the delivered answer, whole."""

    def __init__(self, agent: Runnable[Request, Reply], machine: AnyGraph, stream: GatedStream) -> None:
        self._agent, self._machine, self._stream, self._surface = agent, machine, stream, stream.surface

    def invoke(self, input: Request, config: RunnableConfig | None = None, **kwargs: Any) -> Reply:
        """As the agent's own; `configurable.thread_id` names the conversation."""
        run = ensure_config(config)
        return self._deliver(self._machine.invoke(self._begun(input, run, kwargs), run))

    async def ainvoke(self, input: Request, config: RunnableConfig | None = None, **kwargs: Any) -> Reply:
        """As the agent's own; `configurable.thread_id` names the conversation."""
        run = ensure_config(config)
        return self._deliver(await self._machine.ainvoke(self._begun(input, run, kwargs), run))

    def stream(self, input: Request, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Reply]:
        """Yields chunks of the agent's own kind, each once it is judged."""

        def chunks(request: Request, config: RunnableConfig) -> Iterator[Reply]:
            if self._stream.gate == "turn":
                yield self.invoke(request, config, **kwargs)
                return

            def ask(asked: object) -> AsyncGenerator[object, None]:
                context = context_of(silent_config(config))
                return in_thread(lambda: self._agent.stream(cast(Request, asked), **kwargs), context)

            with closing(Bridged(self._gated(request, config, ask))) as pieces:
                yield from pieces

        return stream_as_run(self, input, config, chunks)

    def astream(self, input: Request, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Reply]:
        """Async version of `stream`."""

        async def chunks(request: Request, config: RunnableConfig) -> AsyncGenerator[Reply, None]:
            if self._stream.gate == "turn":
                yield await self.ainvoke(request, config, **kwargs)
                return

            def ask(asked: object) -> AsyncGenerator[object, None]:
                context = context_of(silent_config(config))
                return in_task(lambda: self._agent.astream(cast(Request, asked), **kwargs), context)

            async with aclosing(self._gated(request, config, ask)) as pieces:
                async for piece in pieces:
                    yield piece

        return astream_as_run(self, input, config, chunks)

    def _gated(self, request: Request, config: RunnableConfig, ask: Ask) -> AsyncGenerator[Reply, None]:
        conversation = named_conversation(request, thread_id_of(config))
        return cast("AsyncGenerator[Reply, None]", self._stream.run(request, conversation, ask))

    def _begun(self, request: Request, config: RunnableConfig, kwargs: HostState) -> GuardState:
        call = call_in_run_of(config, call_runnable(self._agent, **kwargs))
        return begun_turn(request, call, thread_id_of(config))

    def _deliver(self, state: HostState) -> Reply:
        return cast(Reply, self._surface.deliver(cast(Work, state["guard"])))


def begun_turn(request: object, call: object, conversation_id: str | None) -> GuardState:
    """The state that the machine starts from."""
    return {"guard": Work(conversation=named_conversation(request, conversation_id), request=request, call=call)}


class GuardedMessages(TypedDict, total=False):
    """State of `guard.graph(agent)` when the agent brings none of its own."""

    messages: Annotated[list[AnyMessage], add_messages]
    documents: Annotated[Sequence[object], EphemeralValue]
    """Documents of the turn that is asked for; those of an earlier turn must not linger in the state."""
    report: Annotated[TurnReport, UntrackedValue]
    guard: Annotated[Work, UntrackedValue]
    guard_attempts: Annotated[int, EphemeralValue]


@dataclass(frozen=True)
class MessageAgent:
    """An agent that is asked with a state: how to ask it, and the schema of the state that it needs."""

    call: HostCall
    schema: type[Any]


def wrap(agent: object, parts: Parts, surface: HostSurface) -> object:
    """A callable for a callable, a Runnable for a Runnable, a compiled graph for a compiled graph.

    Raises:
        ConfigError: the agent is none of these, or the gate is not for its kind or policy.
    """
    if isinstance(agent, CompiledStateGraph):
        return graph(agent, parts, surface)
    check_gate(surface.gate, parts.policy)
    if is_generator_function(agent):
        return guarded_generator(agent, GatedStream(parts, surface, agent_name(agent)))
    if not isinstance(agent, Runnable) and not callable(agent):
        raise ConfigError(
            f"the agent is {type(agent).__name__}; wrap a callable, a LangChain Runnable or a compiled LangGraph"
        )
    machine = build_graph(
        parts,
        agent=agent_node(
            lambda state, config: cast(Work, state["guard"]), lambda work: {}, parts.telemetry, surface.find_documents
        ),
        checkpointer=False,
    )
    if isinstance(agent, Runnable):
        return GuardedRunnable(agent, machine, GatedStream(parts, surface, agent_name(agent)))
    return _guarded_function(agent, machine, surface)


def graph(agent: object, parts: Parts, surface: HostSurface, *, checkpointer: Checkpointer = None) -> AnyGraph:
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
    asked = _message_agent(agent)
    keys = set(get_type_hints(asked.schema))

    def make_work(state: HostState, config: RunnableConfig) -> Work:
        request = {key: value for key, value in state.items() if key not in GUARD_CHANNELS | {"report"}}
        conversation = read_request(request).model_copy(update={"id": thread_id_of(config)})
        return Work(conversation=conversation, request=request, call=asked.call)

    def make_update(work: Work) -> dict[str, object]:
        update = _state_update(work, surface.deliver(work), keys)
        return update if work.report is None else {**update, "report": work.report}

    own = agent.checkpointer if isinstance(agent, CompiledStateGraph) else None
    return build_graph(
        parts,
        agent=agent_node(make_work, make_update, parts.telemetry, surface.find_documents),
        make_update=make_update,
        schema=asked.schema,
        checkpointer=checkpointer if checkpointer is not None else own,
    )


def _guarded_function(agent: Callable[..., object], machine: AnyGraph, surface: HostSurface) -> Callable[..., object]:
    def begun(request: object, conversation_id: str | None, call: HostCall) -> GuardState:
        return begun_turn(request, call_in_run_of(ensure_config(), call), conversation_id)

    if is_async(agent):

        async def aguarded(
            request: object, *args: object, conversation_id: str | None = None, **kwargs: object
        ) -> object:
            state = await machine.ainvoke(begun(request, conversation_id, call_function(agent, *args, **kwargs)))
            return surface.deliver(state["guard"])

        return named_like(agent, aguarded)

    def guarded(request: object, *args: object, conversation_id: str | None = None, **kwargs: object) -> object:
        state = machine.invoke(begun(request, conversation_id, call_function(agent, *args, **kwargs)))
        return surface.deliver(state["guard"])

    return named_like(agent, guarded)


def _message_agent(agent: object) -> MessageAgent:
    if isinstance(agent, CompiledStateGraph):
        inner = agent.copy(update={"checkpointer": None})
        hints = get_type_hints(agent.builder.state_schema, include_extras=True)
        extra = get_type_hints(GuardedMessages, include_extras=True)
        schema = TypedDict("GuardedState", {**extra, **hints}, total=False)  # type: ignore[misc]  # made from the agent's own
        return MessageAgent(call_runnable(inner), schema)
    if isinstance(agent, Runnable):
        return MessageAgent(_asked_with_messages(call_runnable(agent)), GuardedMessages)
    if callable(agent):
        return MessageAgent(_asked_with_messages(call_function(agent)), GuardedMessages)
    raise ConfigError(
        f"the agent is {type(agent).__name__}; give a callable, a LangChain Runnable or a compiled LangGraph"
    )


def _asked_with_messages(call: HostCall) -> HostCall:
    """A callable or Runnable takes the list of messages, and its answer is one more."""

    def messages(request: object) -> object:
        return cast(HostState, request)["messages"]

    async def ask(request: object, config: RunnableConfig) -> object:
        return await call.asynchronous(messages(request), config)

    return AgentCall(lambda request, config: call.sync(messages(request), config), ask, call.name)


def _state_update(work: Work, reply: object, keys: set[str]) -> dict[str, object]:
    """The host's state update that makes the delivered reply of its state."""
    if isinstance(reply, BaseMessage):
        return {"messages": [reply]}
    if not isinstance(reply, Mapping) or "messages" not in reply:
        return {"messages": [AIMessage(content=work.response or "")]} if work.spoke else {}
    request = cast(HostState, work.request)
    asked = cast("Sequence[object]", request.get("messages", ()))
    changed = {key for key in keys & reply.keys() if request.get(key) is not reply[key]}
    # Any other part of the agent's state may repeat a draft that was withheld or mended: only messages go through then.
    replaced = work.spoke and work.response != work.turn.text
    others = {} if replaced else {key: reply[key] for key in changed - {"messages"}}
    return {**others, "messages": _message_update(asked, convert_to_messages(reply["messages"]))}


def _message_update(asked: Sequence[object], replied: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The update that turns the request's messages into the reply's."""
    before = {message.id: message for message in asked if isinstance(message, BaseMessage)}
    after = {message.id for message in replied}
    # A regenerated run has the withheld draft and the note on it before the last human message.
    new = [message for message in replied[answer_start(replied) :] if before.get(message.id) != message]
    return [*(RemoveMessage(id=identity) for identity in before if identity and identity not in after), *new]
