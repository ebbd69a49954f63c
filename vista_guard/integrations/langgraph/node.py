"""A LangGraph node behind the guard: its words are judged before they reach the state, a checkpoint or a stream."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing, closing
from contextvars import Context
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, cast

from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    MessageLikeRepresentation,
    convert_to_messages,
)
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.config import get_store, get_stream_writer
from langgraph.runtime import get_runtime
from langgraph.types import Command
from pydantic import BaseModel

from vista_guard._aio import Bridged, in_task
from vista_guard.errors import ConfigError, InputError
from vista_guard.graph.agent import (
    AgentCall,
    AnyRunnable,
    AsyncFunction,
    GraphNode,
    HostCall,
    HostSurface,
    OnBlock,
    OnReport,
    agent_node,
    build_graph,
    build_surface,
    call_function,
    call_in_run_of,
    call_machine,
    call_runnable,
    is_async,
)
from vista_guard.graph.host_objects import (
    ANSWER_KEYS,
    PLAIN,
    HostState,
    answer_start,
    in_words,
    is_assistant,
    places_of_draft,
    read_reply,
    read_request,
    replace_text,
    thread_id_of,
)
from vista_guard.graph.vendor_private import context_of, has_stream_handler, silent_config
from vista_guard.integrations.langgraph.words import (
    HeardCall,
    HeardCalls,
    Released,
    listening_context,
    released_chunks,
    run_in_thread,
)
from vista_guard.reading.chat_json import DOCUMENT_KEYS, GivenDocuments, GivenFinder
from vista_guard.stream.gates import Gate, Streamed, check_gate, gated
from vista_guard.turn.work import Work
from vista_guard.types import Conversation, Document, TurnReport

if TYPE_CHECKING:
    from vista_guard.guard import Guard


MARK = "vista_guard"
"""Key in `response_metadata` of a message that was replaced: the decision's action."""

_PROVIDED: Mapping[str, Callable[[], object]] = {
    "config": ensure_config,
    "runtime": get_runtime,
    "writer": get_stream_writer,
    "store": get_store,
}


class HostNode:
    """A function or Runnable that the host would have given to its graph."""

    def __init__(self, node: Callable[..., object] | AnyRunnable) -> None:
        self._node = node if isinstance(node, Runnable) else _function_of_state(node)
        self.call: HostCall = (
            call_runnable(self._node) if isinstance(self._node, Runnable) else call_function(self._node)
        )

    def __call__(self, state: object) -> object:
        """The update, from a node that the host's streams hear."""
        if isinstance(self._node, Runnable):
            return self._node.invoke(state)
        if is_async(self._node):
            return self.call.sync(state, ensure_config())
        return self._node(state)

    async def acall(self, state: object) -> object:
        if isinstance(self._node, Runnable):
            return await self._node.ainvoke(state)
        if is_async(self._node):
            return await self._node(state)
        return await asyncio.to_thread(self._node, state)

    def start(self, state: object, context: Context, *, asynchronous: bool) -> Awaitable[object]:
        """Begins to run in the given context, in a thread of its own unless it is async."""
        node = self._node
        if isinstance(node, Runnable):
            if asynchronous:
                return asyncio.create_task(node.ainvoke(state), context=context)
            return run_in_thread(context, lambda: node.invoke(state))
        if is_async(node):
            return asyncio.create_task(node(state), context=context)
        return run_in_thread(context, lambda: node(state))


class NodeTurn:
    """One run of a node as an assistant turn.

    `update` is the node's answer to the graph, and `is_judged` is true if all of it was judged. `said` is the draft, None when
    it says nothing to the user, and `drafts` are the texts that make it.
    """

    def __init__(self, node: HostNode, state: object, config: RunnableConfig) -> None:
        self.state, self.config = state, config
        self.update: object = None
        self.said: str | None = None
        self.drafts: frozenset[str] = frozenset()
        self.is_judged = False
        self._node, self._has_answered = node, False
        self._values: HostState = {}
        self._messages: list[BaseMessage] = []
        self._request = _mapping_of(state)
        messages = convert_to_messages(_message_list(self._request.get("messages")))
        start = answer_start(messages)
        before, self._so_far = messages[:start], messages[start:]
        request = {**self._request, "messages": before} if "messages" in self._request else self._request
        self.conversation: Conversation = read_request(request).model_copy(update={"id": thread_id_of(config)})
        placeholder = {"messages": [*self._so_far, AIMessage("-")]}
        self.documents: tuple[Document, ...] = read_reply(self._request, placeholder).documents

    def work(self) -> Work:
        """The turn at its beginning. A node that has already answered is not called again before that is judged."""
        call = call_in_run_of(self.config, self._node.call)

        def asked(request: object) -> object:
            return self.state if request is self._request else _state_like(self.state, cast(HostState, request))

        def ask(request: object, config: RunnableConfig) -> object:
            if not self._has_answered:
                self.take_update(call.sync(asked(request), config))
            return self._reply()

        async def aask(request: object, config: RunnableConfig) -> object:
            if not self._has_answered:
                self.take_update(await call.asynchronous(asked(request), config))
            return self._reply()

        return Work(conversation=self.conversation, request=self._request, call=AgentCall(ask, aask))

    def take_update(self, update: object) -> None:
        self.update = update
        self._values = _values_of(update)
        self._messages = convert_to_messages(_message_list(self._values.get("messages")))
        self.said = read_reply(self._request, self._reply()).text
        places = places_of_draft(self._messages)
        self.drafts = frozenset(str(in_words(self._messages[place]).text) for place in places)
        self._has_answered = True

    def deliver(self, report: TurnReport) -> None:
        self.is_judged = True
        if self.said is None or report.response == self.said:
            return
        update = {key: value for key, value in self._values.items() if key in DOCUMENT_KEYS or isinstance(value, PLAIN)}
        if "messages" in self._values:
            update["messages"] = self._messages_with(report)
        else:
            answer = {key: value for key, value in self._values.items() if key in ANSWER_KEYS}
            update |= replace_text(answer, report.response)
        self.update = replace(self.update, update=update) if isinstance(self.update, Command) else update

    def _messages_with(self, report: TurnReport) -> list[BaseMessage]:
        """The update's messages, with what is delivered in the last one of the draft, and the others of it gone."""
        *others, last = places_of_draft(self._messages)
        replaced = {last: _with_response(self._messages[last], report)}
        return [replaced.get(place, message) for place, message in enumerate(self._messages) if place not in others]

    def _reply(self) -> HostState:
        """The update as the guard reads an agent's answer."""
        self._has_answered = False
        documents = {key: self._values[key] for key in DOCUMENT_KEYS if key in self._values}
        if any(_speaks(message) for message in self._messages):
            # A human message from the node ends no turn: only the assistant's words are read.
            messages = [message for message in self._messages if message.type not in ("remove", "human")]
            return {**documents, "messages": [*self._so_far, *messages]}
        if any(isinstance(self._values.get(key), str | BaseMessage) for key in ANSWER_KEYS):
            return self._values
        return {"messages": []}


def _function_of_state(node: Callable[..., object]) -> Callable[[object], object]:
    provided = [name for name in _PROVIDED if name in inspect.signature(node).parameters]

    async def acall(state: object) -> object:
        return await cast(AsyncFunction, node)(state, **{name: _PROVIDED[name]() for name in provided})

    def call(state: object) -> object:
        return node(state, **{name: _PROVIDED[name]() for name in provided})

    return acall if is_async(node) else call


def _mapping_of(state: object) -> HostState:
    if isinstance(state, Mapping):
        return state
    if isinstance(state, BaseModel):
        return dict(state)
    if is_dataclass(state):
        return {field.name: getattr(state, field.name) for field in fields(state)}
    if isinstance(state, Sequence) and not isinstance(state, str):
        return {"messages": state}
    raise InputError(
        f"the graph's state is {type(state).__name__}; vista-guard reads a mapping, a model or a list of messages"
    )


def _state_like(state: object, request: HostState) -> object:
    if isinstance(state, BaseModel):
        return state.model_copy(update=dict(request))
    if is_dataclass(state) and not isinstance(state, type):
        return replace(state, **request)
    return request if isinstance(state, Mapping) else request["messages"]


def _values_of(update: object) -> HostState:
    values = update.update if isinstance(update, Command) else update
    if values is None:
        return {}
    if isinstance(values, Mapping):
        return values
    if isinstance(values, BaseModel) or is_dataclass(values):
        return _mapping_of(values)
    if isinstance(update, Command) and isinstance(values, Sequence):
        return dict(values)
    raise InputError(
        f"the node answered with {type(values).__name__}; vista-guard reads a state update: a mapping with messages or one of "
        f"{', '.join(ANSWER_KEYS)}, or a Command with one"
    )


def _message_list(messages: object) -> list[MessageLikeRepresentation]:
    if messages is None:
        return []
    return list(messages) if isinstance(messages, list | tuple) else [cast(MessageLikeRepresentation, messages)]


def _speaks(message: BaseMessage) -> bool:
    return is_assistant(message) and bool(str(in_words(message).text).strip())


def _with_response(message: BaseMessage, report: TurnReport) -> AIMessage:
    calls = {} if report.blocked or not isinstance(message, AIMessage) else {"tool_calls": message.tool_calls}
    update = {"response_metadata": {MARK: report.decision.action.value}, **calls}
    return replace_text(message, report.response).model_copy(update=update)


def guard_node(
    guard: Guard,
    node: Callable[..., object] | AnyRunnable,
    *,
    gate: Gate = "turn",
    documents: GivenDocuments | GivenFinder | None = None,
    on_report: OnReport | None = None,
    on_block: OnBlock = "replace",
) -> AnyRunnable:
    """The node that speaks to the user, guarded: `builder.add_node("answer", guard_node(guard, answer))`.

    Args:
        guard: judges.
        node: a function as LangGraph takes it (of the state, and of `config`, `runtime`, `writer` and `store` where it names
            them), sync or async, or a Runnable. It returns a state update with `messages`, or with `answer`, `output`,
            `response`, `result` or `text`, or a `Command` with one.
        gate: `turn` shows words when all that the node says was judged. `sentence` lets streams of messages have each sentence
            as soon as it was judged, of every model call in the node: tag models that do not speak to the user `nostream`. What
            is withheld in a stream is not asked for again. `none` lets everything through and reports afterwards.
        documents: further documents of every draft (a Document, a text, a list of them), or a function that finds them from the
            conversation that ends with the draft. Those in the state and in the update (`documents`, `context`,
            `source_documents`, tool messages), and with the gate `sentence` those that a retriever finds in the node, are known.
        on_report: called with every report.
        on_block: `replace` puts the policy's message in place of a withheld draft; `raise` raises `Blocked`.

    A message that was replaced keeps its id and says so in `response_metadata["vista_guard"]`. Of an update whose draft was
    replaced, other keys go into the state only where they hold documents, numbers or truth values: they may repeat the draft.

    Examples:
        >>> from langgraph.graph import MessagesState, StateGraph
        >>> from vista_guard import Guard
        >>> from vista_guard.testing import ScriptedJudge, Verdict
        >>> guard = Guard(ScriptedJudge({"In 1925.": [Verdict("It opened in 1925.")]}))
        >>> node = guard_node(guard, lambda state: {"messages": "In 1925."}, documents="The hall opened in 1925.")
        >>> graph = StateGraph(MessagesState).add_node("answer", node).set_entry_point("answer").compile()
        >>> graph.invoke({"messages": "When did it open?"})["messages"][-1].text
        'In 1925.'

    Raises:
        ConfigError: a gate or `on_block` that does not exist, a gate that cannot hold what the policy withholds, or a node that
            cannot be called, or `documents` that are none.
    """
    surface = build_surface(gate=gate, documents=documents, on_report=on_report, on_block=on_block)
    check_gate(gate, guard.parts.policy)
    if not callable(node) and not isinstance(node, Runnable):
        raise ConfigError(f"the node is {type(node).__name__}; give a function of the state, or a Runnable")
    guarded = _GuardedNode(guard, HostNode(node), surface)
    return GraphNode(
        getattr(node, "__name__", None) or getattr(node, "name", None) or "guarded", guarded.run, guarded.arun
    )


class _GuardedNode:
    def __init__(self, guard: Guard, node: HostNode, surface: HostSurface) -> None:
        self._parts, self._node, self._surface = guard.parts, node, surface
        speaker = agent_node(guard.parts.telemetry, surface.find_documents, may_call=True)
        machine = build_graph(guard.parts, agent=speaker, checkpointer=False)
        self._judge = call_machine(machine, lambda event: get_stream_writer()(event))

    def run(self, state: object, config: RunnableConfig) -> object:
        turn, calls = NodeTurn(self._node, state, config), HeardCalls()
        if self._surface.gate == "sentence" and has_stream_handler(config.get("callbacks")):
            with closing(Bridged(calls.run_node(self._runner(turn, calls, asynchronous=False)))) as call_stream:
                for call in call_stream:
                    Released(chunks=Bridged(self._chunks(turn, call))).invoke([])
            self._take_streamed_reports(turn, calls)
        elif self._surface.gate == "none":
            turn.take_update(self._node(state))

        return turn.update if turn.is_judged else self._deliver(turn, self._judge.sync(turn.work(), config))

    async def arun(self, state: object, config: RunnableConfig) -> object:
        turn, calls = NodeTurn(self._node, state, config), HeardCalls()
        if self._surface.gate == "sentence" and has_stream_handler(config.get("callbacks")):
            async with aclosing(calls.run_node(self._runner(turn, calls, asynchronous=True))) as call_stream:
                async for call in call_stream:
                    await Released(chunks=self._chunks(turn, call)).ainvoke([])
            self._take_streamed_reports(turn, calls)
        elif self._surface.gate == "none":
            turn.take_update(await self._node.acall(state))

        if turn.is_judged:
            return turn.update
        return self._deliver(turn, await self._judge.asynchronous(turn.work(), config))

    def _runner(self, turn: NodeTurn, calls: HeardCalls, *, asynchronous: bool) -> Callable[[], Awaitable[object]]:
        context = listening_context(turn.config, calls)
        return lambda: self._node.start(turn.state, context, asynchronous=asynchronous)

    async def _chunks(self, turn: NodeTurn, call: HeardCall) -> AsyncGenerator[AIMessageChunk, None]:

        def documents(draft: Conversation) -> tuple[Document, ...]:
            retrieved = self._surface.find_documents(draft) if self._surface.find_documents else ()
            return (*turn.documents, *call.before, *retrieved)

        def shown() -> AsyncGenerator[Streamed, None]:
            stream = gated(self._parts, turn.conversation, call.deltas(), gate="sentence", documents=documents)
            return self._surface.shown_stream(stream, self._parts.policy.message)

        pieces = in_task(shown, context_of(silent_config(turn.config)))
        async with aclosing(released_chunks(pieces, call)) as chunks:
            async for chunk in chunks:
                yield chunk
        call.report = call.report if call.said else None

    def _take_streamed_reports(self, turn: NodeTurn, calls: HeardCalls) -> None:
        """Publishes the reports and applies the one on the node's answer; an answer that was not streamed stays unjudged."""
        turn.take_update(calls.update)
        turn.is_judged = bool(turn.drafts) and turn.drafts <= {
            call.said for call in calls.spoken if call.report is not None and call.report.response == call.said
        }
        for call in calls.spoken:
            if call.report is not None:
                get_stream_writer()({"event": "report", "report": call.report.model_dump(mode="json")})
                self._surface.tell(call.report)
                if call.said == turn.said:
                    turn.deliver(call.report)

    def _deliver(self, turn: NodeTurn, work: Work) -> object:
        if work.report is not None:
            self._surface.tell(work.report)
            turn.deliver(work.report)
        return turn.update
