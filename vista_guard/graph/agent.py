"""The state machine of a turn, and the agent as its first node: asked again with what failed, never streamed past the guard."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from time import perf_counter
from typing import (
    Annotated,
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    TypedDict,
    TypeGuard,
    TypeVar,
    cast,
    get_args,
    overload,
)

from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.channels import EphemeralValue, UntrackedValue
from langgraph.config import get_stream_writer
from langgraph.errors import ParentCommand
from langgraph.graph import END, START, StateGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Checkpointer, Command, StreamMode

from vista_guard import _aio
from vista_guard.errors import Blocked, ConfigError
from vista_guard.graph.host_objects import HostState, ReplyDraft, read_reply, replace_text, with_feedback
from vista_guard.graph.vendor_private import entered_context, host_callbacks, silent_config, untraced
from vista_guard.reading.chat_json import FindDocuments, GivenDocuments, GivenFinder, find_documents_of, given_documents
from vista_guard.stream.gates import Gate, Streamed, without_message
from vista_guard.stream.source import Passed
from vista_guard.telemetry.config import Telemetry
from vista_guard.turn import stages
from vista_guard.turn.repair import EARLIER, feedback
from vista_guard.turn.stages import with_trace
from vista_guard.turn.work import Emit, Parts, Work
from vista_guard.types import Action, RepairMode, Role, Turn, TurnReport

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
        return self._sync(input, config or {})

    async def ainvoke(self, input: State, config: RunnableConfig | None = None, **kwargs: object) -> Update:
        return await self._asynchronous(input, config or {})


MakeUpdate = Callable[[Work], Mapping[str, object]]

GUARD_CHANNELS = frozenset({"guard", "guard_attempts"})
"""Channels that no host sees."""


class GuardState(TypedDict, total=False):
    """`guard` is the turn in progress. Untracked: it is in no checkpoint, so a withheld draft is in none either.

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

    `agent` puts a `Work` with the agent's draft into the state; without it the graph starts at gather. `make_update` makes the
    host's own state update of the finished work, and `schema` is the host's state with the channels of `GuardState`.
    """
    builder = StateGraph(schema)
    for stage in stages.STAGES:
        builder.add_node(stage, _node(stage, parts, make_update if stage == "report" else None))
    if agent is not None:
        builder.add_node("agent", agent)
        builder.add_conditional_edges("agent", _next_after_agent, {"gather": "gather", "end": END})
    builder.add_edge(START, "agent" if agent is not None else "gather")
    for before, after in pairwise(("gather", "decompose", "verify", "categorize", "decide")):
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

    async def step(state: GuardState, emit: Emit) -> dict[str, object]:
        work = await stages.run(name, state["guard"], parts, emit)
        update = make_update(work) if make_update else {}
        attempts = {"guard_attempts": len(work.attempts)} if name == "repair" else {}
        return {"guard": work, **update, **attempts}

    def node(state: GuardState, config: RunnableConfig) -> dict[str, object]:
        return _aio.run(step(state, get_stream_writer()))

    async def anode(state: GuardState, config: RunnableConfig) -> dict[str, object]:
        return await step(state, get_stream_writer())

    return GraphNode(name, node, anode)


AnyRunnable = Runnable[Any, Any]

AsyncFunction = Callable[..., Coroutine[object, object, object]]

Request = TypeVar("Request", contravariant=True)
Reply = TypeVar("Reply", covariant=True)
Result = TypeVar("Result")
Further = ParamSpec("Further")


@dataclass(frozen=True)
class AgentCall(Generic[Request, Reply]):
    sync: Callable[[Request, RunnableConfig], Reply]
    asynchronous: Callable[[Request, RunnableConfig], Awaitable[Reply]]
    name: str | None = None


HostCall = AgentCall[object, object]
"""A call of an agent with the host's own objects, which only `graph.host_objects` looks into."""


@overload
def call_function(
    function: Callable[Concatenate[Request, Further], Coroutine[Any, Any, Reply]],
    *args: Further.args,
    **kwargs: Further.kwargs,
) -> AgentCall[Request, Reply]: ...


@overload
def call_function(
    function: Callable[Concatenate[Request, Further], Reply], *args: Further.args, **kwargs: Further.kwargs
) -> AgentCall[Request, Reply]: ...


def call_function(
    function: Callable[Concatenate[Request, Further], object], *args: Further.args, **kwargs: Further.kwargs
) -> AgentCall[Request, object]:
    """A plain or async callable; further arguments are passed on."""
    if is_async(function):
        call = function  # as narrowed; a closure would forget

        async def ask(request: Request, config: RunnableConfig) -> object:
            return await _await_quietly(config, lambda: call(request, *args, **kwargs))

        return AgentCall(lambda request, config: _aio.run(ask(request, config)), ask, agent_name(function))

    def ask_here(request: Request, config: RunnableConfig) -> object:
        return _run_quietly(config, lambda: function(request, *args, **kwargs))

    async def ask_in_thread(request: Request, config: RunnableConfig) -> object:
        return await asyncio.to_thread(ask_here, request, config)

    return AgentCall(ask_here, ask_in_thread, agent_name(function))


def call_runnable(runnable: Runnable[Request, Reply], **kwargs: Any) -> AgentCall[Request, Reply]:

    async def ask(request: Request, config: RunnableConfig) -> Reply:
        return await _await_quietly(config, lambda: runnable.ainvoke(request, **kwargs))

    def ask_here(request: Request, config: RunnableConfig) -> Reply:
        return _run_quietly(config, lambda: runnable.invoke(request, **kwargs))

    return AgentCall(ask_here, ask, agent_name(runnable))


def call_machine(machine: AnyGraph, write: Callable[[object], object]) -> AgentCall[Work, Work]:
    """Calls a guard's machine: its events go to `write`, and it returns the finished turn."""
    modes: list[StreamMode] = ["custom", "values"]

    def judge(work: Work) -> Work:
        for mode, chunk in machine.stream({"guard": work}, stream_mode=modes):
            work = forward(mode, chunk) or work
        return work

    async def ajudge(work: Work) -> Work:
        async for mode, chunk in machine.astream({"guard": work}, stream_mode=modes):
            work = forward(mode, chunk) or work
        return work

    def forward(mode: str, chunk: object) -> Work | None:
        return cast(Work, chunk) if mode == "values" else cast(None, write(chunk))

    return AgentCall(call_function(judge).sync, call_function(ajudge).asynchronous)


def agent_name(agent: object) -> str | None:
    name = agent.get_name() if isinstance(agent, Runnable) else getattr(agent, "__name__", None)
    return None if name == "<lambda>" else name


def call_in_run_of(host: RunnableConfig, call: AgentCall[Request, Reply]) -> AgentCall[Request, Reply]:
    """Calls the agent as if in the caller's run: an `interrupt()` in it belongs to the LangGraph node that called.

    Otherwise it would belong to the guard's machine, which keeps no checkpoints, and the answer to it would be lost.
    """

    def with_host(config: RunnableConfig) -> RunnableConfig:
        return {**config, "configurable": {**(host.get("configurable") or {}), **host_callbacks(config)}}

    return AgentCall(
        sync=lambda request, config: call.sync(request, with_host(config)),
        asynchronous=lambda request, config: call.asynchronous(request, with_host(config)),
        name=call.name,
    )


def _run_quietly(config: RunnableConfig, call: Callable[[], Result]) -> Result:
    # LangChain merges what it is passed with the settings of the surrounding run, so it is these that must be silent.
    with entered_context(silent_config(config)) as context, _handing_over_to_host():
        return context.run(call)


async def _await_quietly(config: RunnableConfig, call: Callable[[], Coroutine[object, object, Result]]) -> Result:
    with entered_context(silent_config(config)) as context, _handing_over_to_host():
        return await asyncio.create_task(call(), context=context)


@contextmanager
def _handing_over_to_host() -> Iterator[None]:
    """Sends an agent's handover to its parent's nodes on to the host's: the guard around it has none."""
    try:
        yield
    except ParentCommand as exc:
        raise ParentCommand(replace(exc.args[0], graph=Command.PARENT)) from None


def is_async(function: Callable[..., object]) -> TypeGuard[AsyncFunction]:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def agent_node(
    telemetry: Telemetry,
    find_documents: FindDocuments | None = None,
    *,
    make_work: Callable[[HostState, RunnableConfig], Work] = lambda state, _: cast(Work, state["guard"]),
    make_update: MakeUpdate = lambda _: {},
    may_call: bool = False,
) -> GraphNode[HostState, dict[str, object]]:
    """The node: makes work of the host's state, and the host's update where there is nothing to judge.

    With `may_call` the agent may answer the note on its draft by something that is no turn, such as a tool call: its reply is
    then a mapping whose `messages` are empty.
    """

    def begin(state: HostState, config: RunnableConfig) -> tuple[Work, object]:
        current = cast("Work | None", state.get("guard"))
        if current is not None and current.repair is RepairMode.REGENERATE:
            return current, with_feedback(current.request, current.turn.text, feedback(current))
        # An agent interrupted during a retry is asked anew: checkpoints have no draft, only the number of drafts.
        work = make_work(state, config)
        rejected = cast("int | None", state.get("guard_attempts")) or 0
        work = with_trace(work.with_(attempts=work.attempts or (EARLIER,) * rejected), telemetry, agent=True)
        return work, work.request

    def finish(work: Work, request: object, reply: object, started: float) -> dict[str, object]:
        timings = {**work.timings, "agent": work.timings.get("agent", 0.0) + (perf_counter() - started) * 1000}
        work = _with_draft(work, reply, read_reply(request, reply), find_documents).with_(timings=timings)
        if may_call and isinstance(reply, Mapping) and not reply.get("messages", True):
            work = work.with_(spoke=False)
        if not work.spoke and work.trace is not None:
            work.trace.end_unspoken()
        return {"guard": work, **({} if work.spoke else make_update(work))}

    def node(state: HostState, config: RunnableConfig) -> dict[str, object]:
        started = perf_counter()
        work, request = begin(state, config)
        with _asking(work):
            reply = _call_of(work).sync(request, config)
        return finish(work, request, reply, started)

    async def anode(state: HostState, config: RunnableConfig) -> dict[str, object]:
        started = perf_counter()
        work, request = begin(state, config)
        with _asking(work):
            reply = await _call_of(work).asynchronous(request, config)
        return finish(work, request, reply, started)

    return GraphNode("agent", node, anode)


@contextmanager
def _asking(work: Work) -> Iterator[None]:
    """The agent's span, and the end of the turn's where the agent fails, or is interrupted for a human."""
    trace = work.trace
    if trace is None:
        raise AssertionError("an agent is asked before its turn has a trace")
    try:
        with trace.agent(_call_of(work).name):
            yield
    except BaseException as exc:
        trace.abandon(exc)
        raise


def _call_of(work: Work) -> HostCall:
    return cast(HostCall, work.call)


def _with_draft(work: Work, reply: object, draft: ReplyDraft, find_documents: FindDocuments | None) -> Work:
    again = work.repair is RepairMode.REGENERATE
    if draft.text is None and not again:
        return work.with_(reply=reply, spoke=False)
    past = work.history if again else work.conversation.turns
    turn = Turn(role=Role.ASSISTANT, text=draft.text or "", documents=draft.documents)
    conversation = work.conversation.model_copy(update={"turns": (*past, turn)})
    if find_documents is not None:
        turn = turn.model_copy(update={"documents": (*turn.documents, *find_documents(conversation))})
        conversation = conversation.model_copy(update={"turns": (*past, turn)})
    return Work(
        conversation=conversation,
        request=work.request,
        reply=reply,
        call=work.call,
        can_regenerate=True,
        attempts=work.attempts,
        timings=work.timings,
        usage=work.usage,
        warnings=work.warnings,
        trace=work.trace,
    )


def delivered_reply(work: Work) -> object:
    if not work.spoke or work.response == work.turn.text:
        return work.reply
    return replace_text(work.reply, work.response or "", work.request)


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
    """The checked options of `Guard.wrap`, `Guard.graph` and the integrations; see there."""

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
        """Passes the report to `on_report`. Blocked: the turn was withheld and `on_block` is raise."""
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
        """A gated stream without its report, which goes to `tell`."""
        async with aclosing(self.shown_stream(stream, message)) as items:
            async for item in items:
                if not isinstance(item, TurnReport):
                    yield item
                elif item.response:  # A turn without a word is none.
                    self.tell(item)

    def shown_stream(self, stream: AsyncGenerator[Streamed, None], message: str) -> AsyncGenerator[Streamed, None]:
        """A gated stream, with `on_block` raise without the policy's message: the exception stands for it."""
        return without_message(stream, message) if self.on_block == "raise" else stream


def build_surface(
    *,
    gate: Gate | None = None,
    documents: GivenDocuments | GivenFinder | None = None,
    on_report: OnReport | None = None,
    on_block: OnBlock = "replace",
) -> HostSurface:
    """Checks the options. ConfigError: an unknown value, or documents that are none."""
    find_documents = find_documents_of(documents)
    if find_documents is not None and is_async(find_documents):
        raise ConfigError(
            "documents is an async function, which is not awaited here; give a sync function that returns the documents"
        )
    find = None if find_documents is None else lambda draft: given_documents(find_documents(draft))
    return HostSurface(gate, find, on_report, on_block)


def known_options(door: str, options: WrapOptions, *further: str) -> WrapOptions:
    """Returns the options if all are known; `further` names others that the door takes. TypeError: an unknown one."""
    allowed = WrapOptions.__annotations__
    unknown = sorted(options.keys() - allowed.keys())
    if unknown:
        names = ", ".join(map(repr, unknown))
        raise TypeError(f"{door}() got an unknown option {names}; options are {', '.join((*allowed, *further))}")
    return options
