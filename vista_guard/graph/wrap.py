"""Wraps an agent in the state machine: a callable, a Runnable or a compiled graph goes in and comes out, streams included."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from contextvars import copy_context
from dataclasses import dataclass
from typing import Annotated, Any, TypeGuard, TypeVar, cast, get_type_hints

from langchain_core.documents import Document as LangChainDocument
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    AnyMessage,
    BaseMessage,
    FunctionMessage,
    RemoveMessage,
    ToolMessage,
    convert_to_messages,
)
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.channels import EphemeralValue, UntrackedValue
from langgraph.graph.message import add_messages
from langgraph.graph.state import CompiledStateGraph
from langgraph.types import Checkpointer
from typing_extensions import TypedDict

from vista_guard._aio import Bridged, in_task, in_thread
from vista_guard.errors import ConfigError, InputError
from vista_guard.graph.agent import (
    GUARD_CHANNELS,
    AgentCall,
    AnyGraph,
    GuardState,
    HostCall,
    HostSurface,
    agent_name,
    agent_node,
    build_graph,
    call_function,
    call_in_run_of,
    call_runnable,
    is_async,
)
from vista_guard.graph.host_objects import (
    ANSWER_KEYS,
    HostState,
    answer_start,
    in_words,
    is_assistant,
    read_reply,
    read_request,
    replace_text,
    thread_id_of,
    with_feedback,
    without_text,
)
from vista_guard.graph.vendor_private import (
    ainvoke_as_run,
    astream_as_run,
    context_of,
    invoke_as_run,
    silent_config,
    stream_as_run,
)
from vista_guard.reading.chat_json import read_document, read_documents
from vista_guard.stream.gates import Gate, check_gate, gated
from vista_guard.stream.source import Delta, Found, Passed
from vista_guard.telemetry.spans import TurnTrace, end_span, run_under
from vista_guard.turn.work import Parts, Work, check_id
from vista_guard.types import Conversation, Document, TurnReport

Ask = Callable[[object], AsyncGenerator[object, None]]


Generated = Iterator[object] | AsyncIterator[object]

Function = TypeVar("Function", bound=Callable[..., object])


@dataclass(frozen=True)
class GatedStream:
    parts: Parts
    surface: HostSurface
    name: str | None = None

    @property
    def gate(self) -> Gate:
        return self.surface.gate or "sentence"

    async def run(self, request: object, conversation: Conversation, ask: Ask) -> AsyncGenerator[object, None]:
        """The chunks that may be shown. Blocked: the turn was withheld, and `on_block` is raise."""
        answer = AnswerChunks()
        request_documents = read_reply(request, "-").documents
        find = self.surface.find_documents

        def documents(draft: Conversation) -> tuple[Document, ...]:
            return (*request_documents, *(find(draft) if find else ()))

        def again(draft: str, note: str) -> AsyncGenerator[Delta, None]:
            return answer.deltas(self._traced(trace, ask, with_feedback(request, draft, note)))

        trace = TurnTrace(self.parts.telemetry, conversation.id, len(conversation.turns), gate=self.gate, agent=True)
        deltas = answer.deltas(self._traced(trace, ask, request))
        stream = gated(self.parts, conversation, deltas, gate=self.gate, documents=documents, again=again, trace=trace)
        async with aclosing(self.surface.without_report(stream, self.parts.policy.message)) as items:
            async for item in items:
                if isinstance(item, Passed):
                    yield item.item
                elif (chunk := answer.chunk_saying(item)) is not None:
                    yield chunk
        if (whole := answer.whole()) is not None:
            yield whole

    async def _traced(self, trace: TurnTrace, ask: Ask, request: object) -> AsyncGenerator[object, None]:
        """The agent's chunks. Its span is current where the agent runs, and nowhere else."""
        span = trace.start_agent(self.name)
        try:
            async with aclosing(run_under(span, lambda: ask(request))) as chunks:
                async for chunk in chunks:
                    yield chunk
        except BaseException as exc:
            end_span(span, exc)
            raise
        end_span(span)


class AnswerChunks:
    """Splits a stream's chunks into text and all else, and puts released text into chunks of the same kind.

    Reads texts, message chunks, messages, documents, and mappings with `answer`, `output`, `response`, `result` or `text`
    (a text or a message chunk) or with `documents`, `context` or `source_documents`.
    """

    def __init__(self) -> None:
        self._like: object = ""
        self._key: str | None = None
        self._whole: object = None
        self._said = self._released = ""

    async def deltas(self, chunks: AsyncGenerator[object, None]) -> AsyncGenerator[Delta, None]:
        async with aclosing(chunks):
            async for chunk in chunks:
                for delta in self._deltas_of(chunk):
                    yield delta

    def chunk_saying(self, text: str) -> object:
        """A chunk with this text; None when the agent's answer came as a whole, and goes out so."""
        if self._whole is not None:
            self._released += text
            return None
        piece = AIMessageChunk(content=text, id=self._like.id) if isinstance(self._like, AIMessageChunk) else text
        return piece if self._key is None else {self._key: piece}

    def whole(self) -> object:
        """The whole answer, with what was released of it; None when it came in pieces."""
        if self._whole is None or self._released == self._said:
            return self._whole
        return replace_text(self._whole, self._released)

    def _deltas_of(self, chunk: object) -> Iterator[Delta]:
        if isinstance(chunk, str | BaseMessage):
            yield from self._deltas_of_message(chunk, None, None)
        elif isinstance(chunk, Document | LangChainDocument):
            yield Found((chunk if isinstance(chunk, Document) else read_document(chunk),))
        elif isinstance(chunk, Mapping) and "messages" not in chunk and "content" not in chunk:
            yield from self._deltas_of_mapping(chunk)
        else:
            raise InputError(
                f"the agent streamed {type(chunk).__name__}; vista-guard reads texts, message chunks, documents, and mappings "
                f"with one of {', '.join(ANSWER_KEYS)}. Use gate='turn' for an agent that streams something else"
            )

    def _deltas_of_mapping(self, chunk: HostState) -> Iterator[Delta]:
        if documents := read_documents(chunk):
            yield Found(documents)
        for key in ANSWER_KEYS:
            value = chunk.get(key)
            if isinstance(value, str | BaseMessage):
                yield from self._deltas_of_message(value, key, chunk if len(chunk) > 1 else None)
                return
        yield Passed(chunk)

    def _deltas_of_message(self, answer: str | BaseMessage, key: str | None, whole: object) -> Iterator[Delta]:
        """The deltas of one message or text. `whole` is the chunk if it is a complete answer."""
        if isinstance(answer, BaseMessage):
            answer = _assistant_message(answer)
        if isinstance(answer, AIMessage) and not isinstance(answer, AIMessageChunk):
            whole = whole or (answer if key is None else {key: answer})
        text = answer if isinstance(answer, str) else str(answer.text) if isinstance(answer, AIMessage) else ""
        non_text = without_text(answer) if isinstance(answer, AIMessageChunk) else None if text else answer
        if non_text is not None and not isinstance(non_text, str):
            # A tool call has effects: it is not repeated.
            binding = bool(getattr(non_text, "tool_calls", ()) or getattr(non_text, "tool_call_chunks", ()))
            yield Passed(non_text if key is None else {key: non_text}, binding=binding)
        if text:
            self._like, self._key, self._whole = answer, key, whole
            self._said += text
            yield text


def _assistant_message(message: BaseMessage) -> BaseMessage:
    """The message with all its words as text; a tool's unchanged. InputError: any other, which would go unjudged."""
    if not is_assistant(message) and not isinstance(message, ToolMessage | FunctionMessage):
        raise InputError(
            f"the agent streamed a {type(message).__name__}; vista-guard reads what an assistant says (AIMessageChunk, AIMessage)"
        )
    return in_words(message)


def is_generator_function(agent: object) -> TypeGuard[Callable[..., Generated]]:
    return is_async_generator_function(agent) or _is_it_or_its_call(inspect.isgeneratorfunction, agent)


def is_async_generator_function(agent: object) -> TypeGuard[Callable[..., AsyncIterator[object]]]:
    return _is_it_or_its_call(inspect.isasyncgenfunction, agent)


def _is_it_or_its_call(predicate: Callable[[object], bool], agent: object) -> bool:
    return predicate(agent) or predicate(getattr(agent, "__call__", None))  # noqa: B004


def guarded_generator(agent: Callable[..., Generated], stream: GatedStream) -> Callable[..., Generated]:
    if is_async_generator_function(agent):
        return _guarded_async_generator(agent, stream)
    return _guarded_sync_generator(cast("Callable[..., Iterator[object]]", agent), stream)


def _guarded_async_generator(
    agent: Callable[..., AsyncIterator[object]], stream: GatedStream
) -> Callable[..., AsyncGenerator[object, None]]:
    async def astreamed(
        *args: object, conversation_id: str | None = None, **kwargs: object
    ) -> AsyncGenerator[object, None]:
        request, *further = _arguments(agent, args, kwargs, conversation_id)

        def ask(agent_input: object) -> AsyncGenerator[object, None]:
            return in_task(lambda: agent(agent_input, *further, **kwargs), copy_context())

        async with aclosing(stream.run(request, named_conversation(request, conversation_id), ask)) as chunks:
            async for chunk in chunks:
                yield chunk

    return with_name_of(agent, astreamed)


def _guarded_sync_generator(
    agent: Callable[..., Iterator[object]], stream: GatedStream
) -> Callable[..., Iterator[object]]:
    def streamed(*args: object, conversation_id: str | None = None, **kwargs: object) -> Iterator[object]:
        request, *further = _arguments(agent, args, kwargs, conversation_id)
        context = copy_context()

        def ask(agent_input: object) -> AsyncGenerator[object, None]:
            return in_thread(lambda: agent(agent_input, *further, **kwargs), context.copy())

        with closing(Bridged(stream.run(request, named_conversation(request, conversation_id), ask))) as chunks:
            yield from chunks

    return with_name_of(agent, streamed)


def _arguments(
    agent: Callable[..., object], args: tuple[object, ...], kwargs: dict[str, object], conversation_id: str | None
) -> tuple[object, ...]:
    """The call's positional arguments: the request first, also where the call names it as the agent does.

    Puts `conversation_id` into `kwargs` for an agent that has a parameter of that name.
    """
    parameters = inspect.signature(agent).parameters
    if conversation_id is not None and "conversation_id" in parameters:
        kwargs["conversation_id"] = conversation_id
    if args:
        return args
    name = next(iter(parameters), "request")
    if name not in kwargs:
        raise TypeError(f"{agent_name(agent) or 'the agent'}() needs its first argument, {name}: a text or messages")
    return (kwargs.pop(name),)


def named_conversation(request: object, conversation_id: str | None) -> Conversation:
    check_id(conversation_id)
    return read_request(request).model_copy(update={"id": conversation_id} if conversation_id else {})


def with_name_of(agent: Callable[..., object], guarded: Function) -> Function:
    # An instance with __call__ has no name of its own to pass on.
    if hasattr(agent, "__name__"):
        functools.update_wrapper(guarded, agent)
    return guarded


Request = TypeVar("Request", contravariant=True)
Reply = TypeVar("Reply", covariant=True)


class GuardedRunnable(Runnable[Request, Reply]):
    """A Runnable whose answers went through the guard. With the gate `turn` its stream yields the delivered answer, whole."""

    def __init__(self, agent: Runnable[Request, Reply], machine: AnyGraph, stream: GatedStream) -> None:
        self._agent, self._machine, self._stream, self._surface = agent, machine, stream, stream.surface

    def invoke(self, input: Request, config: RunnableConfig | None = None, **kwargs: Any) -> Reply:
        """Like the agent's own; `configurable.thread_id` names the conversation."""

        def deliver(request: Request, config: RunnableConfig) -> Reply:
            return self._deliver(self._machine.invoke(self._start(request, config, kwargs), config))

        return invoke_as_run(self, input, config, deliver)

    async def ainvoke(self, input: Request, config: RunnableConfig | None = None, **kwargs: Any) -> Reply:
        async def deliver(request: Request, config: RunnableConfig) -> Reply:
            return self._deliver(await self._machine.ainvoke(self._start(request, config, kwargs), config))

        return await ainvoke_as_run(self, input, config, deliver)

    def stream(self, input: Request, config: RunnableConfig | None = None, **kwargs: Any) -> Iterator[Reply]:
        """Yields chunks of the agent's own kind, each once it is judged."""

        def chunks(request: Request, config: RunnableConfig) -> Iterator[Reply]:
            if self._stream.gate == "turn":
                yield self._deliver(self._machine.invoke(self._start(request, config, kwargs), config))
                return

            def ask(agent_input: object) -> AsyncGenerator[object, None]:
                context = context_of(silent_config(config))
                return in_thread(lambda: self._agent.stream(cast(Request, agent_input), **kwargs), context)

            with closing(Bridged(self._gated(request, config, ask))) as pieces:
                yield from pieces

        return stream_as_run(self, input, config, chunks)

    def astream(self, input: Request, config: RunnableConfig | None = None, **kwargs: Any) -> AsyncIterator[Reply]:

        async def chunks(request: Request, config: RunnableConfig) -> AsyncGenerator[Reply, None]:
            if self._stream.gate == "turn":
                yield self._deliver(await self._machine.ainvoke(self._start(request, config, kwargs), config))
                return

            def ask(agent_input: object) -> AsyncGenerator[object, None]:
                context = context_of(silent_config(config))
                return in_task(lambda: self._agent.astream(cast(Request, agent_input), **kwargs), context)

            async with aclosing(self._gated(request, config, ask)) as pieces:
                async for piece in pieces:
                    yield piece

        return astream_as_run(self, input, config, chunks)

    def _gated(self, request: Request, config: RunnableConfig, ask: Ask) -> AsyncGenerator[Reply, None]:
        conversation = named_conversation(request, thread_id_of(config))
        return cast("AsyncGenerator[Reply, None]", self._stream.run(request, conversation, ask))

    def _start(self, request: Request, config: RunnableConfig, kwargs: HostState) -> GuardState:
        call = call_in_run_of(config, call_runnable(self._agent, **kwargs))
        return start_turn(request, call, thread_id_of(config))

    def _deliver(self, state: HostState) -> Reply:
        return cast(Reply, self._surface.deliver(cast(Work, state["guard"])))


def start_turn(request: object, call: object, conversation_id: str | None) -> GuardState:
    return {"guard": Work(conversation=named_conversation(request, conversation_id), request=request, call=call)}


class GuardedMessages(TypedDict, total=False):
    """State of `guard.graph(agent)` when the agent brings none of its own."""

    messages: Annotated[list[AnyMessage], add_messages]
    documents: Annotated[Sequence[object], EphemeralValue]
    """Documents of the turn that is asked for; those of an earlier turn must not linger in the state."""
    report: Annotated[TurnReport, UntrackedValue]
    guard: Annotated[Work, UntrackedValue]
    guard_attempts: Annotated[int, EphemeralValue]


def wrap(agent: object, parts: Parts, surface: HostSurface) -> object:
    """A callable for a callable, a Runnable for a Runnable, a graph for a graph. ConfigError: the agent cannot be wrapped."""
    if isinstance(agent, CompiledStateGraph):
        return graph(agent, parts, surface)
    check_gate(surface.gate, parts.policy)
    if is_generator_function(agent):
        return guarded_generator(agent, GatedStream(parts, surface, agent_name(agent)))
    if not isinstance(agent, Runnable) and not callable(agent):
        raise ConfigError(
            f"the agent is {type(agent).__name__}; wrap a callable, a LangChain Runnable or a compiled LangGraph. For an OpenAI "
            "client use vista_guard.integrations.openai.guarded"
        )
    machine = build_graph(
        parts,
        agent=agent_node(parts.telemetry, surface.find_documents),
        checkpointer=False,
    )
    if isinstance(agent, Runnable):
        return GuardedRunnable(agent, machine, GatedStream(parts, surface, agent_name(agent)))
    return _guarded_function(agent, machine, surface)


def graph(agent: object, parts: Parts, surface: HostSurface, *, checkpointer: Checkpointer = None) -> AnyGraph:
    """The compiled state machine around the agent, with the host's own state and `messages` in it.

    The agent's checkpointer, when it has one, is taken over: inside, the agent runs without, so that no checkpoint ever
    holds a draft that was not delivered, unless the agent is interrupted.
    """
    if surface.gate not in (None, "turn"):
        raise ConfigError(
            f"gate is {surface.gate!r}, and which of a graph's model calls speaks to the user is not known: a graph is guarded "
            "by the turn. Guard the node that speaks by guard_node, or use VistaGuardMiddleware, for streams by the sentence"
        )
    call, schema = _message_agent(agent)
    keys = set(get_type_hints(schema))

    def make_work(state: HostState, config: RunnableConfig) -> Work:
        request = {key: value for key, value in state.items() if key not in GUARD_CHANNELS | {"report"}}
        conversation = read_request(request).model_copy(update={"id": thread_id_of(config)})
        return Work(conversation=conversation, request=request, call=call)

    def make_update(work: Work) -> dict[str, object]:
        update = _state_update(work, surface.deliver(work), keys)
        return update if work.report is None else {**update, "report": work.report}

    agent_checkpointer = agent.checkpointer if isinstance(agent, CompiledStateGraph) else None
    return build_graph(
        parts,
        agent=agent_node(parts.telemetry, surface.find_documents, make_work=make_work, make_update=make_update),
        make_update=make_update,
        schema=schema,
        checkpointer=checkpointer if checkpointer is not None else agent_checkpointer,
    )


def _guarded_function(agent: Callable[..., object], machine: AnyGraph, surface: HostSurface) -> Callable[..., object]:
    def start(request: object, conversation_id: str | None, call: HostCall) -> GuardState:
        return start_turn(request, call_in_run_of(ensure_config(), call), conversation_id)

    if is_async(agent):

        async def aguarded(*args: object, conversation_id: str | None = None, **kwargs: object) -> object:
            request, *further = _arguments(agent, args, kwargs, conversation_id)
            state = await machine.ainvoke(start(request, conversation_id, call_function(agent, *further, **kwargs)))
            return surface.deliver(state["guard"])

        return with_name_of(agent, aguarded)

    def guarded(*args: object, conversation_id: str | None = None, **kwargs: object) -> object:
        request, *further = _arguments(agent, args, kwargs, conversation_id)
        state = machine.invoke(start(request, conversation_id, call_function(agent, *further, **kwargs)))
        return surface.deliver(state["guard"])

    return with_name_of(agent, guarded)


def _message_agent(agent: object) -> tuple[HostCall, type[Any]]:
    if isinstance(agent, CompiledStateGraph):
        inner = agent.copy(update={"checkpointer": None})
        hints = get_type_hints(agent.builder.state_schema, include_extras=True)
        extra = get_type_hints(GuardedMessages, include_extras=True)
        schema = TypedDict("GuardedState", {**extra, **hints}, total=False)  # type: ignore[misc]  # made from the agent's own
        return call_runnable(inner), schema
    if isinstance(agent, Runnable):
        return _call_with_messages(call_runnable(agent)), GuardedMessages
    if callable(agent):
        return _call_with_messages(call_function(agent)), GuardedMessages
    raise ConfigError(
        f"the agent is {type(agent).__name__}; give a callable, a LangChain Runnable or a compiled LangGraph"
    )


def _call_with_messages(call: HostCall) -> HostCall:
    """A callable or Runnable takes the list of messages, and its answer is one more."""

    def messages(request: object) -> object:
        return cast(HostState, request)["messages"]

    async def ask(request: object, config: RunnableConfig) -> object:
        return await call.asynchronous(messages(request), config)

    return AgentCall(lambda request, config: call.sync(messages(request), config), ask, call.name)


def _state_update(work: Work, reply: object, keys: set[str]) -> dict[str, object]:
    """The update that turns the host's state into the delivered reply."""
    if isinstance(reply, BaseMessage):
        return {"messages": [reply]}
    if not isinstance(reply, Mapping) or "messages" not in reply:
        return {"messages": [AIMessage(content=work.response or "")]} if work.spoke else {}
    request = cast(HostState, work.request)
    past_messages = cast("Sequence[object]", request.get("messages", ()))
    changed = {key for key in keys & reply.keys() if request.get(key) is not reply[key]}
    # Any other part of the agent's state may repeat a draft that was withheld or repaired: only messages go through then.
    replaced = work.spoke and work.response != work.turn.text
    others = {} if replaced else {key: reply[key] for key in changed - {"messages"}}
    return {**others, "messages": _message_update(past_messages, convert_to_messages(reply["messages"]))}


def _message_update(past_messages: Sequence[object], reply_messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """The update that turns the request's messages into the reply's."""
    before = {message.id: message for message in past_messages if isinstance(message, BaseMessage)}
    after = {message.id for message in reply_messages}
    # A regenerated run has the withheld draft and the note on it before the last human message.
    new = [message for message in reply_messages[answer_start(reply_messages) :] if before.get(message.id) != message]
    return [*(RemoveMessage(id=identity) for identity in before if identity and identity not in after), *new]
