"""The agent as a node: asked with the request, asked again with what failed, never streamed past the guard."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from contextvars import Context, copy_context
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, cast

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import set_config_context
from langchain_core.tracers._streaming import _StreamingCallbackHandler
from langgraph.errors import ParentCommand
from langgraph.types import Command

from vista_guard._aio import loop
from vista_guard.graph.documents import FindDocuments
from vista_guard.graph.hosts import Draft, read_reply, replace_text, with_feedback
from vista_guard.graph.machine import Leave
from vista_guard.graph.node import Node
from vista_guard.turn.repair import EARLIER, feedback
from vista_guard.turn.work import Work
from vista_guard.types import RepairMode, Role, Turn

_STREAM = "__pregel_stream"
"""LangGraph's key by which a graph inside a graph streams to the outer one."""

_DURABILITY = "__pregel_durability"
"""LangGraph's key for when a graph inside a graph writes checkpoints: with `exit` only when it is interrupted or fails."""

AnyRunnable = Runnable[Any, Any]


@dataclass(frozen=True)
class AgentCall:
    """An agent with a sync and an async door."""

    sync: Callable[[Any, RunnableConfig], Any]
    asynchronous: Callable[[Any, RunnableConfig], Awaitable[Any]]


def call_function(function: Callable[..., Any], *args: Any, **kwargs: Any) -> AgentCall:
    """A plain or async callable; further arguments are passed on."""
    if is_async(function):

        async def ask(request: Any, config: RunnableConfig) -> Any:
            return await _await_quietly(config, lambda: function(request, *args, **kwargs))

        return AgentCall(sync=lambda request, config: loop.run(ask(request, config)), asynchronous=ask)

    def ask_here(request: Any, config: RunnableConfig) -> Any:
        return _run_quietly(config, lambda: function(request, *args, **kwargs))

    async def ask_in_thread(request: Any, config: RunnableConfig) -> Any:
        return await asyncio.to_thread(ask_here, request, config)

    return AgentCall(sync=ask_here, asynchronous=ask_in_thread)


def call_runnable(runnable: Runnable[Any, Any], **kwargs: Any) -> AgentCall:
    """A LangChain Runnable or compiled LangGraph."""

    async def ask(request: Any, config: RunnableConfig) -> Any:
        return await _await_quietly(config, lambda: runnable.ainvoke(request, **kwargs))

    return AgentCall(
        sync=lambda request, config: _run_quietly(config, lambda: runnable.invoke(request, **kwargs)), asynchronous=ask
    )


def in_place(call: AgentCall, host: RunnableConfig) -> AgentCall:
    """The agent asked as if the caller asked it: an `interrupt()` in it is that of the LangGraph node which called it.

    Otherwise it would belong to the guard's machine, which keeps no checkpoints, and the answer to it would be lost.
    """

    def placed(config: RunnableConfig) -> RunnableConfig:
        return cast(RunnableConfig, {**config, "configurable": host.get("configurable") or {}})

    return AgentCall(
        sync=lambda request, config: call.sync(request, placed(config)),
        asynchronous=lambda request, config: call.asynchronous(request, placed(config)),
    )


def silent_context(config: RunnableConfig) -> Context:
    """A context in which nothing that runs is shown by the host."""
    # A copy: LangChain takes the settings out of its own again on leaving it.
    with set_config_context(unstreamed(config)) as context:
        return context.run(copy_context)


def _run_quietly(config: RunnableConfig, call: Callable[[], Any]) -> Any:
    # LangChain merges what it is passed with the settings of the surrounding run, so it is these that must be silent.
    with set_config_context(unstreamed(config)) as context, _handing_over():
        return context.run(call)


async def _await_quietly(config: RunnableConfig, call: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    with set_config_context(unstreamed(config)) as context, _handing_over():
        return await asyncio.create_task(call(), context=context)


@contextmanager
def _handing_over() -> Iterator[None]:
    """An agent that hands over to its parent's other nodes means the host's: the guard around it has none."""
    try:
        yield
    except ParentCommand as exc:
        raise ParentCommand(replace(exc.args[0], graph=Command.PARENT)) from None


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives an awaitable."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def agent_node(
    enter: Callable[[Mapping[str, Any], RunnableConfig], Work],
    leave: Leave,
    find_documents: FindDocuments | None = None,
) -> Node:
    """The node: `enter` makes work of the host's state, `leave` the host's update where there is nothing to judge."""

    def begin(state: Mapping[str, Any], config: RunnableConfig) -> tuple[Work, Any]:
        current = cast("Work | None", state.get("guard"))
        if current is not None and current.repair is RepairMode.REGENERATE:
            return current, with_feedback(current.request, current.turn.text, feedback(current))
        # An agent that was interrupted when it tried again is asked anew: no checkpoint has the draft, only that there was one.
        work = enter(state, config)
        work = work.with_(attempts=work.attempts or (EARLIER,) * (state.get("guard_attempts") or 0))
        return work, work.request

    def finish(work: Work, asked: Any, reply: Any, started: float) -> dict[str, Any]:
        spent = {**work.timings, "agent": work.timings.get("agent", 0.0) + (perf_counter() - started) * 1000}
        work = _with_draft(work, reply, read_reply(asked, reply), find_documents).with_(timings=spent)
        return {"guard": work, **({} if work.spoke else leave(work))}

    def node(state: Mapping[str, Any], config: RunnableConfig) -> dict[str, Any]:
        started = perf_counter()
        work, asked = begin(state, config)
        return finish(work, asked, work.call.sync(asked, config), started)

    async def anode(state: Mapping[str, Any], config: RunnableConfig) -> dict[str, Any]:
        started = perf_counter()
        work, asked = begin(state, config)
        return finish(work, asked, await work.call.asynchronous(asked, config), started)

    return Node("agent", node, anode)


def speaker_node(find_documents: FindDocuments | None) -> Node:
    """The node for an agent that may answer the note on its draft by something that is no turn, such as a tool call.

    Its reply is a mapping whose `messages` are empty then.
    """
    node = agent_node(lambda state, _: cast(Work, state["guard"]), lambda _: {}, find_documents)

    def speaking(update: dict[str, Any]) -> dict[str, Any]:
        work: Work = update["guard"]
        return update if work.reply.get("messages", True) else {"guard": work.with_(spoke=False)}

    def ask(state: Any, config: RunnableConfig) -> dict[str, Any]:
        return speaking(node.invoke(state, config))

    async def aask(state: Any, config: RunnableConfig) -> dict[str, Any]:
        return speaking(await node.ainvoke(state, config))

    return Node("agent", ask, aask)


def _with_draft(work: Work, reply: Any, draft: Draft, find_documents: FindDocuments | None) -> Work:
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
    )


def delivered(work: Work) -> Any:
    """The host's object with what is delivered in place of the draft."""
    if not work.spoke or work.response == work.turn.text:
        return work.reply
    return replace_text(work.reply, work.response or "")


def unstreamed(config: RunnableConfig) -> RunnableConfig:
    """The run's settings without what would show the agent's words as they are made: they have not been judged.

    Tracers stay. Whatever streams goes: token handlers of `stream_mode="messages"` and `astream_events`, and the channel by
    which a graph inside a graph streams its states.
    """
    configurable = {key: value for key, value in (config.get("configurable") or {}).items() if key != _STREAM}
    configurable[_DURABILITY] = "exit"
    silent = {**config, "configurable": configurable, "callbacks": _without_streams(config.get("callbacks"))}
    return cast(RunnableConfig, silent)


def _without_streams(callbacks: Any) -> Any:
    if isinstance(callbacks, BaseCallbackManager):
        manager = callbacks.copy()
        manager.handlers = _without_streams(manager.handlers)
        manager.inheritable_handlers = _without_streams(manager.inheritable_handlers)
        return manager
    return [handler for handler in callbacks or [] if not isinstance(handler, _StreamingCallbackHandler)]
