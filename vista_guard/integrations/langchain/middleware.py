"""The guard as middleware of LangChain's `create_agent`.

Every answer is judged, and asked for again, inside the model call: what was withheld is in no state, checkpoint or stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, cast

from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse, hook_config
from langchain.agents.middleware.types import ExtendedModelResponse, PrivateStateAttr
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, BaseMessage, ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langgraph.channels import UntrackedValue
from langgraph.runtime import Runtime
from langgraph.types import Command

from vista_guard import _aio
from vista_guard._aio import Bridged
from vista_guard.errors import Blocked, InputError
from vista_guard.graph.agent import (
    AgentCall,
    HostSurface,
    OnBlock,
    OnReport,
    agent_node,
    build_graph,
    build_surface,
    call_function,
    call_machine,
)
from vista_guard.graph.host_objects import (
    HostState,
    answer_start,
    in_words,
    is_assistant,
    read_reply,
    read_request,
    replace_text,
    thread_id_of,
)
from vista_guard.graph.vendor_private import context_of, has_stream_handler, silent_config
from vista_guard.integrations.langgraph.node import MARK
from vista_guard.integrations.langgraph.words import (
    HeardWords,
    Released,
    listening_context,
    marked_model,
    released_chunks,
    run_in_thread,
)
from vista_guard.reading.chat_json import FindDocuments, GivenDocuments, GivenFinder
from vista_guard.stream.gates import Gate, check_gate, ending_report, gated
from vista_guard.turn.repair import EARLIER
from vista_guard.turn.work import Parts, Work
from vista_guard.types import Action, Conversation, TurnReport

if TYPE_CHECKING:
    from vista_guard.guard import Guard

Handler = Callable[[ModelRequest[Any]], ModelResponse]
AsyncHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse]]

Response = ModelResponse | ExtendedModelResponse

ModelCall = AgentCall[HostState, HostState]
"""The model behind other middleware: asked with the agent's state, it answers with `messages`, none where it is no turn."""


class ModelTurn:
    """One model call of an agent: the turns before it, the request, and the latest response."""

    def __init__(self, request: ModelRequest[Any], config: RunnableConfig) -> None:
        self.request, self.config = request, config
        self.response: ModelResponse | None = None
        # Other middleware may have shortened request.messages for the model; the evidence is in the state.
        messages = request.state["messages"]
        start = answer_start(messages)
        self._before, self._so_far = list(messages[:start]), list(messages[start:])

    @property
    def conversation(self) -> Conversation:
        return read_request(self._before).model_copy(update={"id": thread_id_of(self.config)})

    def document_finder(self, find: FindDocuments | None) -> FindDocuments:
        """Makes a finder of the turn's evidence, before a word of it is known."""
        documents = read_reply(self.request.state, {"messages": [*self._so_far, AIMessage("-")]}).documents
        return lambda conversation: (*documents, *(find(conversation) if find else ()))

    def work(self, call: ModelCall) -> Work:
        rejected = cast(int, self.request.state.get("vista_guard_attempts", 0))
        return Work(
            conversation=self.conversation,
            request={**self.request.state, "messages": self.request.messages},
            call=call,
            attempts=(EARLIER,) * rejected,
        )

    def call(self, handler: Handler) -> ModelCall:
        """The model behind the other middleware, as an agent."""

        def ask(state: HostState) -> HostState:
            if self.response is None or state["messages"] is not self.request.messages:
                self.response = handler(self._request_with(state))
            return self._reply(self.response)

        agent_call = call_function(ask)
        return AgentCall(
            sync=lambda state, _: agent_call.sync(state, self.config), asynchronous=agent_call.asynchronous
        )

    def acall(self, handler: AsyncHandler) -> ModelCall:

        async def ask(state: HostState) -> HostState:
            if self.response is None or state["messages"] is not self.request.messages:
                self.response = await handler(self._request_with(state))
            return self._reply(self.response)

        agent_call = call_function(ask)
        return AgentCall(
            sync=agent_call.sync, asynchronous=lambda state, _: agent_call.asynchronous(state, self.config)
        )

    def with_attempts(self, response: ModelResponse, attempts: int) -> Response:
        """The response; drafts rejected before it count against the turn's attempts."""
        if not attempts:
            return response
        command: Command[Any] = Command(update={"vista_guard_attempts": attempts})
        return ExtendedModelResponse(response, command)

    def response_with(self, reply: HostState, work: Work) -> ModelResponse:
        response = self.answered
        earlier = set(map(id, self._so_far))
        result = [answer for answer in cast("list[BaseMessage]", reply["messages"]) if id(answer) not in earlier]
        if work.response != work.turn.text:
            marked = {"response_metadata": {MARK: work.finished.decision.action.value}}
            result = [message.model_copy(update=marked) if _is_answer(message) else message for message in result]
        return replace(response, result=result)

    @property
    def answered(self) -> ModelResponse:
        if self.response is None:
            raise AssertionError("the response is read before the model was asked")
        return self.response

    def _request_with(self, state: HostState) -> ModelRequest[Any]:
        return self.request.override(messages=cast("list[AnyMessage]", state["messages"]))

    def _reply(self, response: ModelResponse) -> HostState:
        check_answerers(response)
        if response.structured_response is not None or tool_calls_of(response):
            return {"messages": []}
        answers = [message for message in response.result if _is_answer(message)]
        if len(answers) > 1:
            raise InputError(
                f"the model call gave {len(answers)} answers; vista-guard judges one. Put the middleware that made them "
                "before VistaGuardMiddleware"
            )
        return {"messages": [*self._so_far, *answers]} if answers else {"messages": []}


def words_beside_call(response: ModelResponse) -> str:
    if response.structured_response is not None or not tool_calls_of(response):
        return ""
    return "\n\n".join(
        words for message in response.result if is_assistant(message) and (words := str(in_words(message).text).strip())
    )


def with_words_beside_call(response: ModelResponse, report: TurnReport) -> ModelResponse:
    """The response with its calls unchanged, and beside them only the words that the report lets through."""
    delivered = "" if report.blocked else report.response
    if delivered == words_beside_call(response):
        return response
    # In one message: a second one of an assistant's between a call and its answer is refused by most endpoints.
    first, *_ = (message for message in response.result if is_assistant(message))
    update = {"tool_calls": tool_calls_of(response), "response_metadata": {MARK: report.decision.action.value}}
    replacement = replace_text(first, delivered).model_copy(update=update)
    return replace(
        response, result=[replacement, *(message for message in response.result if not is_assistant(message))]
    )


def check_answerers(response: ModelResponse) -> None:
    """Passes when a model speaks as an assistant does, and tools only where one was called; else InputError."""
    called = any(isinstance(message, AIMessage) and message.tool_calls for message in response.result)
    for message in response.result:
        if not is_assistant(message) and not (called and isinstance(message, ToolMessage)):
            raise InputError(
                f"the model call gave a {type(message).__name__}; vista-guard judges what an assistant says. Let the model "
                "answer in AIMessage, or put the middleware that made this message before VistaGuardMiddleware"
            )


def tool_calls_of(response: ModelResponse) -> list[ToolCall]:
    return [call for message in response.result if isinstance(message, AIMessage) for call in message.tool_calls]


def _is_answer(message: BaseMessage) -> bool:
    return is_assistant(message) and not getattr(message, "tool_calls", ())


def can_stream(request: ModelRequest[Any], config: RunnableConfig) -> bool:
    """True if the host shows tokens as they are made, and this call's tokens can be told from others.

    A structured response may be the text itself, and that is known only when all of it is there.
    """
    return (
        has_stream_handler(config.get("callbacks"))
        and request.response_format is None
        and isinstance(request.model, BaseChatModel)
    )


class GatedCall:
    """One model call under the sentence gate.

    `response` is its answer to the agent; `report` is None when the model said nothing to the user.
    """

    def __init__(self, parts: Parts, surface: HostSurface, turn: ModelTurn) -> None:
        self._parts, self._surface, self._config = parts, surface, turn.config
        self._conversation, self._documents = turn.conversation, turn.document_finder(surface.find_documents)
        self._request = turn.request.override(model=marked_model(turn.request.model))
        self._words = HeardWords()
        self._answered: ModelResponse | None = None

    def run(self, handler: Handler) -> None:
        """Streams what passes into the host. The model runs in a thread, the gate on the background loop."""

        async def ask() -> AIMessage | None:
            context = listening_context(self._config, self._words)
            return self._take_answer(await run_in_thread(context, lambda: handler(self._request)))

        pieces, silent = Bridged(self._chunks(ask)), context_of(silent_config(self._config))

        def chunks() -> Iterator[AIMessageChunk]:
            try:
                while (chunk := silent.run(next, pieces, None)) is not None:
                    yield chunk
            finally:
                pieces.close()

        Released(chunks=chunks()).invoke([])

    async def arun(self, handler: AsyncHandler) -> None:

        async def answer() -> ModelResponse:
            return await handler(self._request)

        async def ask() -> AIMessage | None:
            context = listening_context(self._config, self._words)
            return self._take_answer(await asyncio.create_task(answer(), context=context))

        async def chunks() -> AsyncGenerator[AIMessageChunk, None]:
            silent = context_of(silent_config(self._config))
            async with aclosing(self._chunks(ask)) as pieces:
                while (chunk := await asyncio.create_task(_next(pieces), context=silent)) is not None:
                    yield chunk

        await Released(chunks=chunks()).ainvoke([])

    @property
    def report(self) -> TurnReport | None:
        return self._words.report if self._words.said else None

    @property
    def response(self) -> ModelResponse:
        report, answered = self.report, self._answered
        if answered is not None and (report is None or report.response == self._words.said):
            return answered
        if report is None:
            raise AssertionError("a model call that ended without an answer said something that was withheld")
        mark = {MARK: report.decision.action.value}
        if answered is None or report.blocked:
            name = (self._config.get("metadata") or {}).get("lc_agent_name")
            reply = AIMessage(report.response, id=self._words.message_id, name=name, response_metadata=mark)
            return ModelResponse(result=[reply])
        (draft,) = (message for message in answered.result if is_assistant(message))
        replacement = replace_text(draft, report.response)
        update = {"tool_calls": tool_calls_of(answered), "response_metadata": mark}
        return replace(answered, result=[replacement.model_copy(update=update)])

    def _chunks(self, ask: Callable[[], Awaitable[AIMessage | None]]) -> AsyncGenerator[AIMessageChunk, None]:
        words = self._words
        stream = gated(self._parts, self._conversation, words.deltas(ask), gate="sentence", documents=self._documents)
        return released_chunks(self._surface.shown_stream(stream, self._parts.policy.message), words)

    def _take_answer(self, response: ModelResponse) -> AIMessage | None:
        check_answerers(response)
        self._answered = response
        return next((in_words(message) for message in reversed(response.result) if is_assistant(message)), None)


async def _next(pieces: AsyncGenerator[AIMessageChunk, None]) -> AIMessageChunk | None:
    return await anext(pieces, None)  # a task wants a coroutine


class GuardedAgentState(AgentState[Any]):
    """The agent's state, and the number of this turn's drafts rejected before the agent went back to its tools."""

    vista_guard_attempts: NotRequired[Annotated[int, UntrackedValue, PrivateStateAttr]]


class VistaGuardMiddleware(AgentMiddleware[GuardedAgentState, Any, Any]):
    """Judges what the agent says to the user before anyone sees it. Put it first, so that it judges what all others made.

    What the model says is judged. A tool call passes as it is, and so do structured responses; words beside a call that do not
    hold up go, and the agent goes on, whatever `on_block` says. Reasoning and other parts of an answer that is delivered
    unchanged stay untouched. An answer that is replaced keeps its id, loses whatever else could hold the draft, and says so in
    `response_metadata["vista_guard"]`; a withheld one ends the agent's run.

    Evidence is what the tools answered since the last human message: a `ToolMessage`, or the LangChain documents of its
    artifact. `configurable.thread_id` names the conversation. `stream_mode="custom"` yields each `report`, and while a whole
    turn is judged its `finding`, `unchecked` and `decision`, as on `guard.graph`: they name what was withheld, show them to
    operators.

    Args:
        guard: the guard.
        gate: `turn` holds each answer until it was judged; with `stream_mode="messages"` it then arrives in one piece.
            `sentence` lets each sentence of a stream through once it was judged, what is said beside a tool call included; a
            draft cannot be asked for again then, and the policy's fallback is taken. Calls that cannot be gated so are held
            whole: those that nobody streams, with a structured response, or of a model that is no plain chat model. Middleware
            that calls the model again, or changes its answer, goes before this one. `none` lets everything through and reports
            afterwards; it needs a policy that only flags.
        documents: further documents of every draft (a Document, a text, a list of them), or a function that finds them from the
            conversation that ends with the draft.
        on_report: called with every report.
        on_block: `replace` delivers the policy's message in place of a withheld answer; `raise` raises `Blocked`, whose text
            does not quote the draft, as LangGraph writes it into the checkpoint.

    Examples:
        >>> from langchain.agents import create_agent
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from vista_guard import Guard
        >>> from vista_guard.testing import ScriptedJudge, Verdict
        >>> guard = Guard(ScriptedJudge({"In 1925.": [Verdict("It opened in 1925.")]}))
        >>> before = [VistaGuardMiddleware(guard, documents="The hall opened in 1925.")]
        >>> agent = create_agent(FakeListChatModel(responses=["In 1925."]), middleware=before)
        >>> agent.invoke({"messages": "When did it open?"})["messages"][-1].text
        'In 1925.'

    Raises:
        ConfigError: a gate or `on_block` that does not exist, a gate that cannot hold what the policy withholds, or `documents`
            that are none.
    """

    state_schema = GuardedAgentState

    def __init__(
        self,
        guard: Guard,
        *,
        gate: Gate = "turn",
        documents: GivenDocuments | GivenFinder | None = None,
        on_report: OnReport | None = None,
        on_block: OnBlock = "replace",
    ) -> None:
        super().__init__()
        self.tools = []
        self._surface = build_surface(gate=gate, documents=documents, on_report=on_report, on_block=on_block)
        check_gate(gate, guard.parts.policy)
        self._gate, self._parts = gate, guard.parts
        speaker = agent_node(guard.parts.telemetry, self._surface.find_documents, may_call=True)
        self._machine = build_graph(guard.parts, agent=speaker, checkpointer=False)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> Response:
        """Calls the model, hidden from every stream, and judges its answer."""
        turn = ModelTurn(request, ensure_config())
        if self._gate == "sentence" and can_stream(request, turn.config):
            call = GatedCall(self._parts, self._surface, turn)
            call.run(handler)
            return self._response_of(turn, call)
        if self._gate == "none":
            turn.response = handler(request)

        judge = call_machine(self._machine, request.runtime.stream_writer)
        work = judge.sync(turn.work(turn.call(handler)), turn.config)
        if not work.spoke and words_beside_call(turn.answered):
            turn.response = _aio.run(self._judge_beside_call(turn))
        return self._deliver(turn, work)

    async def awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> Response:
        """Async version of `wrap_model_call`."""
        turn = ModelTurn(request, ensure_config())
        if self._gate == "sentence" and can_stream(request, turn.config):
            call = GatedCall(self._parts, self._surface, turn)
            await call.arun(handler)
            return self._response_of(turn, call)
        if self._gate == "none":
            turn.response = await handler(request)

        judge = call_machine(self._machine, request.runtime.stream_writer)
        work = await judge.asynchronous(turn.work(turn.acall(handler)), turn.config)
        if not work.spoke and words_beside_call(turn.answered):
            turn.response = await self._judge_beside_call(turn)
        return self._deliver(turn, work)

    async def _judge_beside_call(self, turn: ModelTurn) -> ModelResponse:
        """The model's response with only those words beside a call that hold up; the agent goes on without the others."""

        async def words() -> AsyncGenerator[str, None]:
            yield words_beside_call(turn.answered)

        documents = turn.document_finder(self._surface.find_documents)
        report = await ending_report(gated(self._parts, turn.conversation, words(), gate="turn", documents=documents))
        self._publish_report(turn, report)
        return with_words_beside_call(turn.answered, report)

    def _publish_report(self, turn: ModelTurn, report: TurnReport) -> None:
        turn.request.runtime.stream_writer({"event": "report", "report": report.model_dump(mode="json")})
        if self._surface.on_report is not None:
            self._surface.on_report(report)

    def _response_of(self, turn: ModelTurn, call: GatedCall) -> ModelResponse:
        report = call.report
        if report is not None:
            self._publish_report(turn, report)
            if report.blocked and self._surface.on_block == "raise":
                raise Blocked(report)
        return call.response

    @hook_config(can_jump_to=["end"])
    def after_model(self, state: GuardedAgentState, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """Ends the run on a withheld answer: an agent that owes a structured response would loop forever."""
        last = next((message for message in reversed(state["messages"]) if isinstance(message, AIMessage)), None)
        withheld = last is not None and not last.tool_calls and last.response_metadata.get(MARK) == Action.BLOCK
        return {"jump_to": "end"} if withheld else None

    @hook_config(can_jump_to=["end"])
    async def aafter_model(self, state: GuardedAgentState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Async version of `after_model`."""
        return self.after_model(state, runtime)

    def _deliver(self, turn: ModelTurn, work: Work) -> Response:
        if not work.spoke:
            return turn.with_attempts(turn.answered, len(work.attempts))
        return turn.response_with(cast(HostState, self._surface.deliver(work)), work)
