"""Wraps an agent in the state machine and gives back the same kind of object."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast, get_type_hints

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, RemoveMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.channels import EphemeralValue, UntrackedValue
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from typing_extensions import TypedDict

from vista_guard.errors import Blocked, ConfigError
from vista_guard.graph.agent import (
    AgentCall,
    FindDocuments,
    agent_node,
    call_function,
    call_runnable,
    delivered,
    in_place,
    is_async,
)
from vista_guard.graph.build import OWN, AnyGraph, build_graph
from vista_guard.graph.hosts import read_request
from vista_guard.graph.state import Parts, Work
from vista_guard.types import TurnReport

OnReport = Callable[[TurnReport], object]


class WrapOptions(TypedDict, total=False):
    """Keyword arguments of `Guard.wrap` and `Guard.graph`; see there."""

    documents: FindDocuments | None
    on_report: OnReport | None
    on_block: Literal["replace", "raise"]


@dataclass(frozen=True)
class Surface:
    """How a guarded agent meets its host."""

    documents: FindDocuments | None = None
    on_report: OnReport | None = None
    on_block: Literal["replace", "raise"] = "replace"

    def __post_init__(self) -> None:
        if self.on_block not in ("replace", "raise"):
            raise ConfigError(f"on_block is {self.on_block!r}; choose replace or raise")

    def deliver(self, work: Work) -> Any:
        """The host's object with what is delivered.

        Raises:
            Blocked: the turn was withheld and `on_block` is raise.
        """
        if work.report is not None:
            if self.on_report is not None:
                self.on_report(work.report)
            if work.report.blocked and self.on_block == "raise":
                raise Blocked(work.report)
        return delivered(work)


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
        ConfigError: the agent is none of these.
    """
    if isinstance(agent, CompiledStateGraph):
        return graph(agent, parts, surface)
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
        return GuardedRunnable(agent, machine, surface)
    return _guarded_function(agent, machine, surface)


def graph(agent: Any, parts: Parts, surface: Surface, *, checkpointer: Any = None) -> AnyGraph:
    """The compiled state machine around the agent, with the host's own state and `messages` in it.

    The agent's checkpointer, when it has one, is taken over: inside, the agent runs without, so that no checkpoint ever
    holds a draft that was not delivered.
    """
    call, schema = _message_agent(agent)
    keys = set(get_type_hints(schema))

    def enter(state: Mapping[str, Any], config: RunnableConfig) -> Work:
        request = {key: value for key, value in state.items() if key not in OWN | {"report"}}
        conversation = read_request(request).model_copy(update={"id": _thread(config)})
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
    """A Runnable whose answers went through the guard. Its stream yields the delivered answer, whole."""

    def __init__(self, agent: Runnable[Any, Any], machine: AnyGraph, surface: Surface) -> None:
        self._agent, self._machine, self._surface = agent, machine, surface

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """As the agent's own; `configurable.thread_id` names the conversation."""
        run = ensure_config(config)
        return self._surface.deliver(self._machine.invoke(self._start(input, run, kwargs), run)["guard"])

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """As the agent's own; `configurable.thread_id` names the conversation."""
        run = ensure_config(config)
        state = await self._machine.ainvoke(self._start(input, run, kwargs), run)
        return self._surface.deliver(state["guard"])

    def _start(self, request: Any, config: RunnableConfig, kwargs: Mapping[str, Any]) -> dict[str, Work]:
        return _start(request, in_place(call_runnable(self._agent, **kwargs), config), _thread(config))


def _guarded_function(agent: Callable[..., Any], machine: AnyGraph, surface: Surface) -> Callable[..., Any]:
    if is_async(agent):

        async def aguarded(request: Any, *args: Any, conversation_id: str | None = None, **kwargs: Any) -> Any:
            start = _start(request, in_place(call_function(agent, *args, **kwargs), ensure_config()), conversation_id)
            return surface.deliver((await machine.ainvoke(start))["guard"])

        return _named_like(agent, aguarded)

    def guarded(request: Any, *args: Any, conversation_id: str | None = None, **kwargs: Any) -> Any:
        start = _start(request, in_place(call_function(agent, *args, **kwargs), ensure_config()), conversation_id)
        return surface.deliver(machine.invoke(start)["guard"])

    return _named_like(agent, guarded)


def _named_like(agent: Callable[..., Any], guarded: Callable[..., Any]) -> Callable[..., Any]:
    # An instance with __call__ has no name of its own to pass on.
    return functools.wraps(agent)(guarded) if hasattr(agent, "__name__") else guarded


def _start(request: Any, call: AgentCall, conversation_id: str | None) -> dict[str, Work]:
    conversation = read_request(request).model_copy(update={"id": conversation_id} if conversation_id else {})
    return {"guard": Work(conversation=conversation, request=request, call=call)}


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


def _thread(config: RunnableConfig) -> str | None:
    thread = (config.get("configurable") or {}).get("thread_id")
    return str(thread) if thread not in (None, "") else None
