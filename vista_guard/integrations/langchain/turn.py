"""One model call of an agent as a turn of a conversation: what was said before it, what it says, what is said in its place."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, cast

from langchain.agents.middleware import ModelRequest, ModelResponse
from langchain.agents.middleware.types import ExtendedModelResponse
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.types import Command

from vista_guard.errors import InputError
from vista_guard.graph.agent import AgentCall, call_function
from vista_guard.graph.documents import FindDocuments
from vista_guard.graph.hosts import read_reply, read_request
from vista_guard.graph.wrap import thread_of
from vista_guard.turn.repair import EARLIER
from vista_guard.turn.work import Work
from vista_guard.types import Conversation

MARK = "vista_guard"
"""Key in `response_metadata` of an answer that was replaced: the decision's action."""

Handler = Callable[[ModelRequest[Any]], ModelResponse[Any]]
AsyncHandler = Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]


class ModelTurn:
    """One model call of an agent: what was said before it, how the model is asked, what it answered last."""

    def __init__(self, request: ModelRequest[Any], config: RunnableConfig) -> None:
        self.request, self.config = request, config
        self.response: ModelResponse[Any] | None = None
        # Other middleware may have shortened request.messages for the model; the evidence is in the state.
        messages = request.state["messages"]
        humans = [place for place, message in enumerate(messages) if message.type == "human"]
        start = humans[-1] + 1 if humans else 0
        self._before, self._so_far = list(messages[:start]), list(messages[start:])

    @property
    def conversation(self) -> Conversation:
        """What was said before the turn."""
        return read_request(self._before).model_copy(update={"id": thread_of(self.config)})

    def documents(self, find: FindDocuments | None) -> FindDocuments:
        """The turn's evidence, before a word of it is known."""
        brought = read_reply(self.request.state, {"messages": [*self._so_far, AIMessage("-")]}).documents
        return lambda conversation: (*brought, *(find(conversation) if find else ()))

    def start(self, call: AgentCall) -> Work:
        """The turn at its beginning."""
        rejected = cast(int, self.request.state.get("vista_guard_attempts", 0))
        return Work(
            conversation=self.conversation,
            request={**self.request.state, "messages": self.request.messages},
            call=call,
            attempts=(EARLIER,) * rejected,
        )

    def call(self, handler: Handler) -> AgentCall:
        """The model behind the other middleware, as an agent."""

        def ask(asked: Mapping[str, Any]) -> Any:
            if self.response is None or asked["messages"] is not self.request.messages:
                self.response = handler(self.request.override(messages=asked["messages"]))
            return self._reply(self.response)

        quiet = call_function(ask)
        return AgentCall(sync=lambda asked, _: quiet.sync(asked, self.config), asynchronous=quiet.asynchronous)

    def acall(self, handler: AsyncHandler) -> AgentCall:
        """As `call`."""

        async def ask(asked: Mapping[str, Any]) -> Any:
            if self.response is None or asked["messages"] is not self.request.messages:
                self.response = await handler(self.request.override(messages=asked["messages"]))
            return self._reply(self.response)

        quiet = call_function(ask)
        return AgentCall(sync=quiet.sync, asynchronous=lambda asked, _: quiet.asynchronous(asked, self.config))

    def listen(self, mode: str, chunk: Any) -> Work | None:
        """Passes an event on to the host's stream; gives back where the turn is."""
        if mode == "custom":
            self.request.runtime.stream_writer(chunk)
            return None
        return cast(Work, chunk)

    def passed(self, attempts: int) -> Any:
        """The response as it is; drafts that were rejected on the way to it count against the turn's attempts."""
        if not attempts:
            return self.response
        command: Command[Any] = Command(update={"vista_guard_attempts": attempts})
        return ExtendedModelResponse(cast("ModelResponse[Any]", self.response), command)

    def answered(self, reply: Mapping[str, Any], work: Work) -> ModelResponse[Any]:
        """The response with what is delivered."""
        response = cast("ModelResponse[Any]", self.response)
        result = reply["messages"][len(self._so_far) :]
        if work.response != work.turn.text:
            marked = {"response_metadata": {MARK: work.finished.decision.action.value}}
            result = [message.model_copy(update=marked) if _answers(message) else message for message in result]
        return replace(response, result=result)

    def _reply(self, response: ModelResponse[Any]) -> dict[str, Any]:
        calls = any(isinstance(message, AIMessage) and message.tool_calls for message in response.result)
        if calls or response.structured_response is not None:
            return {"messages": []}
        answers = [message for message in response.result if _answers(message)]
        if len(answers) > 1:
            raise InputError(
                f"the model call gave {len(answers)} answers; vista-guard judges one. Put the middleware that made them "
                "before VistaGuardMiddleware"
            )
        return {"messages": [*self._so_far, *answers]} if answers else {"messages": []}


def _answers(message: BaseMessage) -> bool:
    return isinstance(message, AIMessage) and not message.tool_calls
