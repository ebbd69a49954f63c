"""The state machine: which stage follows which. The stages know nothing of LangGraph, and LangGraph nothing of claims."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Annotated, Any, TypedDict, TypeVar

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.channels import EphemeralValue, UntrackedValue
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Checkpointer

from vista_guard._aio import loop
from vista_guard.graph.vendor_private import untraced
from vista_guard.turn import stages
from vista_guard.turn.work import Emit, Parts, Work
from vista_guard.types import Action, RepairMode

State = TypeVar("State", contravariant=True)
Update = TypeVar("Update", covariant=True)


class GraphNode(Runnable[State, Update]):
    """Calls one of two functions with the state and the run's settings.

    LangGraph takes a function as a sync or as an async node, not as both, and `RunnableLambda`, which is both, inspects
    signatures and opens a run of its own at each call: measured, that was half of the engine's time.
    """

    def __init__(
        self,
        name: str,
        sync: Callable[[State, RunnableConfig], Update],
        asynchronous: Callable[[State, RunnableConfig], Coroutine[Any, Any, Update]],
    ) -> None:
        self.name = name
        self._sync = sync
        self._asynchronous = asynchronous

    def invoke(self, input: State, config: RunnableConfig | None = None, **kwargs: object) -> Update:
        """The state update."""
        return self._sync(input, config or {})

    async def ainvoke(self, input: State, config: RunnableConfig | None = None, **kwargs: object) -> Update:
        """The state update."""
        return await self._asynchronous(input, config or {})


MakeUpdate = Callable[[Work], Mapping[str, object]]
"""Makes the host's state update from finished work."""

GUARD_CHANNELS = frozenset({"guard", "guard_attempts"})
"""Channels that no host sees."""


class GuardState(TypedDict, total=False):
    """`guard` is the turn on its way. Untracked: it is in no checkpoint, so a withheld draft is in none either.

    `guard_attempts` counts the drafts that were rejected so far: it outlives an agent that is interrupted while it tries again.
    """

    guard: Annotated[Work, UntrackedValue]
    guard_attempts: Annotated[int, EphemeralValue]


AnyGraph = CompiledStateGraph[Any, Any, Any, Any]


def build_graph(
    parts: Parts,
    *,
    agent: GraphNode[GuardState, dict[str, object]] | None = None,
    make_update: MakeUpdate | None = None,
    schema: type[Any] = GuardState,
    checkpointer: Checkpointer = None,
    name: str = "vista_guard",
) -> AnyGraph:
    """The compiled state machine.

    Args:
        parts: the guard's collaborators.
        agent: node that puts a `Work` with the agent's draft into the state; without it the graph starts at gather.
        make_update: the host's own state update, made from the finished work.
        schema: the host's state with the channels of `GuardState`.
        checkpointer: the host's checkpointer.
        name: how the graph is called in traces and as a sub-graph.
    """
    builder = StateGraph(schema)
    for stage in stages.STAGES:
        builder.add_node(stage, _node(stage, parts, make_update if stage == "report" else None))
    if agent is not None:
        builder.add_node("agent", agent)
        builder.add_conditional_edges("agent", _next_after_agent, {"gather": "gather", "end": END})
    builder.add_edge(START, "agent" if agent is not None else "gather")
    for before, after in (
        ("gather", "decompose"),
        ("decompose", "verify"),
        ("verify", "categorize"),
        ("categorize", "decide"),
    ):
        builder.add_edge(before, after)
    builder.add_conditional_edges("decide", _next_after_decide, {"repair": "repair", "remember": "remember"})
    after_repair = ["remember", "agent"] if agent is not None else ["remember"]
    builder.add_conditional_edges("repair", _next_after_repair, after_repair)
    builder.add_edge("remember", "report")
    builder.add_edge("report", END)
    compiled: AnyGraph = builder.compile(checkpointer=checkpointer, name=name)
    if not parts.host_tracing:
        compiled = untraced(compiled)
    # What a stream of values or updates shows is the host's state only: never the turn that is still being judged.
    compiled.stream_channels = [key for key in compiled.stream_channels_list if key not in GUARD_CHANNELS] or "guard"
    return compiled


def _next_after_agent(state: GuardState) -> str:
    # An agent that only called a tool, or said nothing, made no claim: there is no turn to judge.
    return "gather" if state["guard"].spoke else "end"


def _next_after_decide(state: GuardState) -> str:
    return "repair" if state["guard"].decided.action is Action.REPAIR else "remember"


def _next_after_repair(state: GuardState) -> str:
    return "agent" if state["guard"].repair is RepairMode.REGENERATE else "remember"


def _node(
    name: stages.StageName, parts: Parts, make_update: MakeUpdate | None
) -> GraphNode[GuardState, dict[str, object]]:
    """A stage as a node with a sync and an async door."""

    async def step(state: GuardState, emit: Emit) -> dict[str, object]:
        work = await stages.run(name, state["guard"], parts, emit)
        if name == "report":
            return {"guard": work, **(make_update(work) if make_update else {})}
        update: dict[str, object] = {"guard": work}
        return {**update, "guard_attempts": len(work.attempts)} if name == "repair" else update

    def node(state: GuardState, config: RunnableConfig) -> dict[str, object]:
        return loop.run(step(state, get_stream_writer()))

    async def anode(state: GuardState, config: RunnableConfig) -> dict[str, object]:
        return await step(state, get_stream_writer())

    return GraphNode(name, node, anode)
