"""The guard as middleware of LangChain's `create_agent`.

    agent = create_agent(model, tools, middleware=[VistaGuardMiddleware(guard)])

Every answer is judged inside the model call, before LangChain puts it into the state: what was withheld is in no state,
checkpoint or stream. That is also where a rejected draft is asked for again: a `jump_to="model"` would have written it into
the checkpoint first.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, cast

from langchain_core.messages import AIMessage
from langchain_core.runnables.config import ensure_config
from langgraph.channels import UntrackedValue
from langgraph.runtime import Runtime

from vista_guard._aio import loop
from vista_guard._extras import how_to_install
from vista_guard.errors import Blocked, ConfigError
from vista_guard.graph.agent import call_machine, speaker_node
from vista_guard.graph.host_objects import GivenDocuments, GivenFinder, HostState
from vista_guard.graph.machine import build_graph
from vista_guard.graph.surface import OnBlock, OnReport, build_surface
from vista_guard.stream.gates import Gate, check_gate, ending_report, gated
from vista_guard.turn.work import Work
from vista_guard.types import Action, TurnReport

try:
    from langchain.agents.middleware import AgentMiddleware, AgentState, ModelRequest, ModelResponse, hook_config
    from langchain.agents.middleware.types import PrivateStateAttr

    from vista_guard.integrations.langchain.turn import (
        AsyncHandler,
        GatedCall,
        Handler,
        ModelTurn,
        Response,
        can_stream,
        with_words_beside_call,
        words_beside_call,
    )
    from vista_guard.integrations.langgraph.turn import MARK
except ImportError as exc:
    raise ConfigError(f"the LangChain middleware needs langchain 1.x ({exc}): {how_to_install('langchain')}") from exc

if TYPE_CHECKING:
    from vista_guard.guard import Guard


class GuardedAgentState(AgentState[Any]):
    """The agent's state, and how many drafts of this turn were rejected before the agent went back to its tools."""

    vista_guard_attempts: NotRequired[Annotated[int, UntrackedValue, PrivateStateAttr]]


class VistaGuardMiddleware(AgentMiddleware[GuardedAgentState, Any, Any]):
    """Judges what the agent says to the user, before anyone sees it. Put it first: then it judges what all others made.

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
        on_report: is told of every report.
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
        speaker = speaker_node(self._surface.find_documents, guard.parts.telemetry)
        self._machine = build_graph(guard.parts, agent=speaker, checkpointer=False)

    def wrap_model_call(self, request: ModelRequest[Any], handler: Handler) -> Response:
        """Asks the model, out of every stream's sight, and judges its answer."""
        turn = ModelTurn(request, ensure_config())
        if self._gate == "sentence" and can_stream(request, turn.config):
            call = self._gated_call(turn)
            call.run(handler)
            return self._response_of(turn, call)
        if self._gate == "none":
            turn.response = handler(request)

        judge = call_machine(self._machine, request.runtime.stream_writer)
        work = judge.sync(turn.work(turn.call(handler)), turn.config)
        if not work.spoke and words_beside_call(turn.answered):
            turn.response = loop.run(self._judge_beside_call(turn))
        return self._deliver(turn, work)

    async def awrap_model_call(self, request: ModelRequest[Any], handler: AsyncHandler) -> Response:
        """Async version of `wrap_model_call`."""
        turn = ModelTurn(request, ensure_config())
        if self._gate == "sentence" and can_stream(request, turn.config):
            call = self._gated_call(turn)
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
        """The model's response, of whose words beside a call only those are left that hold up: the agent goes on without them."""

        async def words() -> AsyncGenerator[str, None]:
            yield words_beside_call(turn.answered)

        documents = turn.document_finder(self._surface.find_documents)
        report = await ending_report(gated(self._parts, turn.conversation, words(), gate="turn", documents=documents))
        self._tell(turn, report)
        return with_words_beside_call(turn.answered, report)

    def _tell(self, turn: ModelTurn, report: TurnReport) -> None:
        turn.request.runtime.stream_writer({"event": "report", "report": report.model_dump(mode="json")})
        if self._surface.on_report is not None:
            self._surface.on_report(report)

    def _gated_call(self, turn: ModelTurn) -> GatedCall:
        return GatedCall(
            self._parts,
            self._surface,
            turn.conversation,
            turn.document_finder(self._surface.find_documents),
            turn.request,
            turn.config,
        )

    def _response_of(self, turn: ModelTurn, call: GatedCall) -> ModelResponse:
        report = call.report
        if report is not None:
            self._tell(turn, report)
            if report.blocked and self._surface.on_block == "raise":
                raise Blocked(report)
        return call.response

    @hook_config(can_jump_to=["end"])
    def after_model(self, state: GuardedAgentState, runtime: Runtime[Any]) -> dict[str, Any] | None:  # noqa: ARG002
        """Ends the run on a withheld answer: an agent that owes a structured response would ask again without end."""
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
