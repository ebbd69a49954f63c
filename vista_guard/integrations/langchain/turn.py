"""One model call of an agent as a turn of a conversation: what was said before it, what it says, what is said in its place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast

from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain.agents.middleware.types import ExtendedModelResponse
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolCall, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from vista_guard.errors import InputError
from vista_guard.graph.agent import AgentCall, call_function
from vista_guard.graph.host_objects import (
    FindDocuments,
    HostState,
    in_words,
    is_assistant,
    read_reply,
    read_request,
    replace_text,
    thread_id_of,
)
from vista_guard.turn.repair import EARLIER
from vista_guard.turn.work import Work
from vista_guard.types import Conversation, TurnReport

MARK = "vista_guard"
"""Key in `response_metadata` of an answer that was replaced: the decision's action."""

Handler = Callable[[ModelRequest[Any]], ModelResponse]
AsyncHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse]]

Response = ModelResponse | ExtendedModelResponse
"""What middleware may answer the agent with."""

ModelCall = AgentCall[HostState, HostState]
"""The model behind other middleware: asked with the agent's state, it answers with `messages`, none where it is no turn."""


class ModelTurn:
    """One model call of an agent: what was said before it, how the model is asked, what it answered last."""

    def __init__(self, request: ModelRequest[Any], config: RunnableConfig) -> None:
        self.request, self.config = request, config
        self.response: ModelResponse | None = None
        # Other middleware may have shortened request.messages for the model; the evidence is in the state.
        messages = request.state["messages"]
        humans = [place for place, message in enumerate(messages) if message.type == "human"]
        start = humans[-1] + 1 if humans else 0
        self._before, self._so_far = list(messages[:start]), list(messages[start:])

    @property
    def conversation(self) -> Conversation:
        """The conversation before the turn."""
        return read_request(self._before).model_copy(update={"id": thread_id_of(self.config)})

    def document_finder(self, find: FindDocuments | None) -> FindDocuments:
        """The turn's evidence, before a word of it is known."""
        brought = read_reply(self.request.state, {"messages": [*self._so_far, AIMessage("-")]}).documents
        return lambda conversation: (*brought, *(find(conversation) if find else ()))

    def work(self, call: ModelCall) -> Work:
        """The turn at its beginning."""
        rejected = cast(int, self.request.state.get("vista_guard_attempts", 0))
        return Work(
            conversation=self.conversation,
            request={**self.request.state, "messages": self.request.messages},
            call=call,
            attempts=(EARLIER,) * rejected,
        )

    def call(self, handler: Handler) -> ModelCall:
        """The model behind the other middleware, as an agent."""

        def ask(asked: HostState) -> HostState:
            if self.response is None or asked["messages"] is not self.request.messages:
                self.response = handler(self._request_with(asked))
            return self._reply(self.response)

        quiet = call_function(ask)
        return AgentCall(sync=lambda asked, _: quiet.sync(asked, self.config), asynchronous=quiet.asynchronous)

    def acall(self, handler: AsyncHandler) -> ModelCall:
        """Async version of `call`."""

        async def ask(asked: HostState) -> HostState:
            if self.response is None or asked["messages"] is not self.request.messages:
                self.response = await handler(self._request_with(asked))
            return self._reply(self.response)

        quiet = call_function(ask)
        return AgentCall(sync=quiet.sync, asynchronous=lambda asked, _: quiet.asynchronous(asked, self.config))

    def heard_work(self, mode: str, chunk: object) -> Work | None:
        """Passes an event on to the host's stream; gives back where the turn is."""
        if mode == "custom":
            self.request.runtime.stream_writer(chunk)
            return None
        return cast(Work, chunk)

    def with_attempts(self, response: ModelResponse, attempts: int) -> Response:
        """The response; drafts that were rejected on the way to it count against the turn's attempts."""
        if not attempts:
            return response
        command: Command[Any] = Command(update={"vista_guard_attempts": attempts})
        return ExtendedModelResponse(response, command)

    def response_with(self, reply: HostState, work: Work) -> ModelResponse:
        """The response with what is delivered."""
        response = self.answered
        known = set(map(id, self._so_far))
        result = [said for said in cast("list[BaseMessage]", reply["messages"]) if id(said) not in known]
        if work.response != work.turn.text:
            marked = {"response_metadata": {MARK: work.finished.decision.action.value}}
            result = [message.model_copy(update=marked) if _is_answer(message) else message for message in result]
        return replace(response, result=result)

    @property
    def answered(self) -> ModelResponse:
        """The model's last response."""
        if self.response is None:
            raise AssertionError("the response is read before the model was asked")
        return self.response

    def _request_with(self, asked: HostState) -> ModelRequest[Any]:
        return self.request.override(messages=cast("list[AnyMessage]", asked["messages"]))

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
    """The model's text to the user beside its tool calls."""
    if response.structured_response is not None or not tool_calls_of(response):
        return ""
    return "\n\n".join(
        said for one in response.result if is_assistant(one) and (said := str(in_words(one).text).strip())
    )


def with_words_beside_call(response: ModelResponse, report: TurnReport) -> ModelResponse:
    """The response with the calls as they are, and beside them what the report lets through: nothing, where that was withheld."""
    delivered = "" if report.blocked else report.response
    if delivered == words_beside_call(response):
        return response
    # In one message: a second one of an assistant's between a call and its answer is refused by most endpoints.
    first, *_ = (message for message in response.result if is_assistant(message))
    update = {"tool_calls": tool_calls_of(response), "response_metadata": {MARK: report.decision.action.value}}
    said = replace_text(first, delivered).model_copy(update=update)
    return replace(response, result=[said, *(message for message in response.result if not is_assistant(message))])


def check_answerers(response: ModelResponse) -> None:
    """Passes when a model speaks as an assistant does, and tools only where one was called.

    Raises:
        InputError: a message of another kind, which nobody would judge.
    """
    called = any(isinstance(message, AIMessage) and message.tool_calls for message in response.result)
    for message in response.result:
        if not is_assistant(message) and not (called and isinstance(message, ToolMessage)):
            raise InputError(
                f"the model call gave a {type(message).__name__}; vista-guard judges what an assistant says. Let the model "
                "answer in AIMessage, or put the middleware that made this message before VistaGuardMiddleware"
            )


def tool_calls_of(response: ModelResponse) -> list[ToolCall]:
    """The tools that the answer calls."""
    return [call for message in response.result if isinstance(message, AIMessage) for call in message.tool_calls]


def _is_answer(message: BaseMessage) -> bool:
    return is_assistant(message) and not getattr(message, "tool_calls", ())
