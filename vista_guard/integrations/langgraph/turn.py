"""One run of a host's node as a turn of a conversation: what was said before it, what it says, what is said in its place."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context
from dataclasses import fields, is_dataclass, replace
from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.config import get_store, get_stream_writer
from langgraph.runtime import get_runtime
from langgraph.types import Command
from pydantic import BaseModel

from vista_guard.errors import InputError
from vista_guard.graph.agent import AgentCall, call_function, call_runnable, in_place, is_async
from vista_guard.graph.documents import DOCUMENT_KEYS
from vista_guard.graph.hosts import ANSWER_KEYS, read_reply, read_request, replace_text
from vista_guard.graph.wrap import thread_of
from vista_guard.integrations.model_words import in_thread
from vista_guard.turn.work import Work
from vista_guard.types import Conversation, Document, TurnReport

MARK = "vista_guard"
"""Key in `response_metadata` of a message that was replaced: the decision's action."""

_PROVIDED: Mapping[str, Callable[[], Any]] = {
    "config": ensure_config,
    "runtime": get_runtime,
    "writer": get_stream_writer,
    "store": get_store,
}


class HostNode:
    """A function or Runnable that the host would have given to its graph."""

    def __init__(self, node: Any) -> None:
        self._runnable = node if isinstance(node, Runnable) else None
        self._function: Any = _with_what_it_names(node) if self._runnable is None else None
        self.call: AgentCall = call_runnable(node) if self._function is None else call_function(self._function)

    def __call__(self, state: Any) -> Any:
        """The update, from a node that the host's streams hear."""
        if self._runnable is not None:
            return self._runnable.invoke(state)
        if is_async(self._function):
            return self.call.sync(state, ensure_config())
        return self._function(state)

    async def acall(self, state: Any) -> Any:
        """As calling it."""
        if self._runnable is not None:
            return await self._runnable.ainvoke(state)
        if is_async(self._function):
            return await self._function(state)
        return await asyncio.to_thread(self._function, state)

    def start(self, state: Any, context: Context, *, asynchronous: bool) -> Awaitable[Any]:
        """Begins to run in the given context, in a thread of its own unless it is async."""
        runnable, function = self._runnable, self._function
        if runnable is not None and asynchronous:
            return asyncio.create_task(runnable.ainvoke(state), context=context)
        if runnable is not None:
            return in_thread(context, lambda: runnable.invoke(state))
        if is_async(function):
            return asyncio.create_task(function(state), context=context)
        return in_thread(context, lambda: function(state))


class NodeTurn:
    """What one run of a node says.

    Attributes:
        conversation: what was said before.
        documents: what the state brings as evidence.
        update: what the node answers the graph with.
        said: the draft; None when it says nothing to the user.
        judged: whether `update` holds only what was judged.
    """

    def __init__(self, node: HostNode, state: Any, config: RunnableConfig) -> None:
        self.state, self.config = state, config
        self.update: Any = None
        self.said: str | None = None
        self.judged = False
        self._node, self._fresh = node, False
        self._values: Mapping[str, Any] = {}
        self._messages: list[BaseMessage] = []
        self._request = _mapping(state)
        messages = convert_to_messages(self._request.get("messages") or [])
        humans = [place for place, message in enumerate(messages) if message.type == "human"]
        start = humans[-1] + 1 if humans else 0
        before, self._so_far = messages[:start], messages[start:]
        request = {**self._request, "messages": before} if "messages" in self._request else self._request
        self.conversation: Conversation = read_request(request).model_copy(update={"id": thread_of(config)})
        placeholder = {"messages": [*self._so_far, AIMessage("-")]}
        self.documents: tuple[Document, ...] = read_reply(self._request, placeholder).documents

    def begun(self) -> Work:
        """The turn at its beginning. A node that has answered already is not asked before that is judged."""
        call = in_place(self._node.call, self.config)

        def asked(request: Any) -> Any:
            return self.state if request is self._request else _like(self.state, request)

        def ask(request: Any, config: RunnableConfig) -> Any:
            if not self._fresh:
                self.answered(call.sync(asked(request), config))
            return self._reply()

        async def aask(request: Any, config: RunnableConfig) -> Any:
            if not self._fresh:
                self.answered(await call.asynchronous(asked(request), config))
            return self._reply()

        return Work(conversation=self.conversation, request=self._request, call=AgentCall(ask, aask))

    def answered(self, update: Any) -> None:
        """Takes the node's update."""
        self.update, self._fresh = update, True
        self._values = _values(update)
        self._messages = convert_to_messages(_listed(self._values.get("messages")))
        self.said = read_reply(self._request, self._reply()).text
        self._fresh = True

    def deliver(self, report: TurnReport) -> None:
        """Puts what is delivered in place of the draft."""
        self.judged = True
        if self.said is None or report.response == self.said:
            return
        kept = {key: value for key, value in self._values.items() if key in DOCUMENT_KEYS or _is_plain(value)}
        if "messages" in self._values:
            place = max(place for place, message in enumerate(self._messages) if _speaks(message))
            kept["messages"] = [*self._messages]
            kept["messages"][place] = _replaced(self._messages[place], report)
        else:
            answer = {key: value for key, value in self._values.items() if key in ANSWER_KEYS}
            kept |= replace_text(answer, report.response)
        self.update = replace(self.update, update=kept) if isinstance(self.update, Command) else kept

    def _reply(self) -> Mapping[str, Any]:
        """The update as the guard reads an agent's answer."""
        self._fresh = False
        documents = {key: self._values[key] for key in DOCUMENT_KEYS if key in self._values}
        if any(_speaks(message) for message in self._messages):
            said = [message for message in self._messages if message.type != "remove"]
            return {**documents, "messages": [*self._so_far, *said]}
        if any(isinstance(self._values.get(key), str | BaseMessage) for key in ANSWER_KEYS):
            return self._values
        return {"messages": []}


def _with_what_it_names(node: Callable[..., Any]) -> Callable[[Any], Any]:
    """The node as a function of the state alone."""
    named = [name for name in _PROVIDED if name in inspect.signature(node).parameters]

    async def acall(state: Any) -> Any:
        return await node(state, **{name: _PROVIDED[name]() for name in named})

    def call(state: Any) -> Any:
        return node(state, **{name: _PROVIDED[name]() for name in named})

    return acall if is_async(node) else call


def _mapping(state: Any) -> Mapping[str, Any]:
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


def _like(state: Any, request: Mapping[str, Any]) -> Any:
    """The request as the host's kind of state."""
    if isinstance(state, BaseModel):
        return state.model_copy(update=dict(request))
    if is_dataclass(state) and not isinstance(state, type):
        return replace(state, **request)
    return request if isinstance(state, Mapping) else request["messages"]


def _values(update: Any) -> Mapping[str, Any]:
    """The keys that an update sets."""
    values = update.update if isinstance(update, Command) else update
    if values is None:
        return {}
    if isinstance(values, Mapping):
        return values
    if isinstance(values, BaseModel) or is_dataclass(values):
        return _mapping(values)
    if isinstance(update, Command) and isinstance(values, Sequence):
        return dict(values)
    raise InputError(
        f"the node answered with {type(values).__name__}; vista-guard reads a state update: a mapping with messages or one of "
        f"{', '.join(ANSWER_KEYS)}, or a Command with one"
    )


def _listed(messages: Any) -> list[Any]:
    if messages is None:
        return []
    return list(messages) if isinstance(messages, list | tuple) else [messages]


def _speaks(message: BaseMessage) -> bool:
    return isinstance(message, AIMessage) and bool(str(message.text).strip())


def _replaced(message: BaseMessage, report: TurnReport) -> AIMessage:
    calls = {} if report.blocked or not isinstance(message, AIMessage) else {"tool_calls": message.tool_calls}
    marked = {"response_metadata": {MARK: report.decision.action.value}, **calls}
    said: AIMessage = replace_text(message, report.response).model_copy(update=marked)
    return said


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, bool | int | float)
