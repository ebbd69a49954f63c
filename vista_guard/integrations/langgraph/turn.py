"""One run of a host's node as a turn of a conversation: what was said before it, what it says, what is said in its place."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import fields, is_dataclass, replace
from typing import cast

from langchain_core.messages import AIMessage, BaseMessage, MessageLikeRepresentation, convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.config import get_store, get_stream_writer
from langgraph.runtime import get_runtime
from langgraph.types import Command
from pydantic import BaseModel

from vista_guard.errors import InputError
from vista_guard.graph.agent import (
    AgentCall,
    AnyRunnable,
    AsyncFunction,
    HostCall,
    call_function,
    call_in_run_of,
    call_runnable,
    is_async,
)
from vista_guard.graph.host_objects import (
    ANSWER_KEYS,
    DOCUMENT_KEYS,
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
from vista_guard.integrations.langgraph.words import run_in_thread
from vista_guard.turn.work import Work
from vista_guard.types import Conversation, Document, TurnReport

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
        """As calling it."""
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

    Attributes:
        conversation: what was said before.
        documents: what the state brings as evidence.
        update: what the node answers the graph with.
        said: the draft; None when it says nothing to the user.
        drafts: the texts that make the draft.
        is_judged: whether `update` holds only what was judged.
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
        """The turn at its beginning. A node that has answered already is not asked before that is judged."""
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
        self.update, self._has_answered = update, True
        self._values = _values_of(update)
        self._messages = convert_to_messages(_message_list(self._values.get("messages")))
        self.said = read_reply(self._request, self._reply()).text
        places = places_of_draft(self._messages)
        self.drafts = frozenset(str(in_words(self._messages[place]).text) for place in places)
        self._has_answered = True

    def deliver(self, report: TurnReport) -> None:
        """Puts what is delivered in place of the draft."""
        self.is_judged = True
        if self.said is None or report.response == self.said:
            return
        kept = {key: value for key, value in self._values.items() if key in DOCUMENT_KEYS or _is_plain(value)}
        if "messages" in self._values:
            kept["messages"] = self._messages_with(report)
        else:
            answer = {key: value for key, value in self._values.items() if key in ANSWER_KEYS}
            kept |= replace_text(answer, report.response)
        self.update = replace(self.update, update=kept) if isinstance(self.update, Command) else kept

    def _messages_with(self, report: TurnReport) -> list[BaseMessage]:
        """The update's messages, with what is delivered in the last one of the draft, and the others of it gone."""
        *others, last = places_of_draft(self._messages)
        said = {last: _with_response(self._messages[last], report)}
        return [said.get(place, message) for place, message in enumerate(self._messages) if place not in others]

    def _reply(self) -> HostState:
        """The update as the guard reads an agent's answer."""
        self._has_answered = False
        documents = {key: self._values[key] for key in DOCUMENT_KEYS if key in self._values}
        if any(_speaks(message) for message in self._messages):
            # What the node files under a user's name ends no turn: it is read for what the assistant says.
            said = [message for message in self._messages if message.type not in ("remove", "human")]
            return {**documents, "messages": [*self._so_far, *said]}
        if any(isinstance(self._values.get(key), str | BaseMessage) for key in ANSWER_KEYS):
            return self._values
        return {"messages": []}


def _function_of_state(node: Callable[..., object]) -> Callable[[object], object]:
    """The node as a function of the state alone."""
    named = [name for name in _PROVIDED if name in inspect.signature(node).parameters]

    async def acall(state: object) -> object:
        return await cast(AsyncFunction, node)(state, **{name: _PROVIDED[name]() for name in named})

    def call(state: object) -> object:
        return node(state, **{name: _PROVIDED[name]() for name in named})

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
    """The request as the host's kind of state."""
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
    marked = {"response_metadata": {MARK: report.decision.action.value}, **calls}
    return replace_text(message, report.response).model_copy(update=marked)


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float)
