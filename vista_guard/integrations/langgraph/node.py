"""A node of a LangGraph behind the guard: what it says was judged before it is in the state, a checkpoint or a stream."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing, closing
from typing import TYPE_CHECKING

from langchain_core.messages import AIMessageChunk
from langchain_core.runnables import Runnable, RunnableConfig
from langgraph.config import get_stream_writer

from vista_guard._aio.streams import Bridged, in_task
from vista_guard.errors import ConfigError
from vista_guard.graph.agent import AnyRunnable, call_machine, speaker_node
from vista_guard.graph.host_objects import GivenDocuments, GivenFinder
from vista_guard.graph.machine import GraphNode, build_graph
from vista_guard.graph.surface import HostSurface, OnBlock, OnReport, build_surface
from vista_guard.graph.vendor_private import context_of, has_stream_handler, silent_config
from vista_guard.integrations.langgraph.turn import HostNode, NodeTurn
from vista_guard.integrations.langgraph.words import HeardCall, HeardCalls, Released, listening_context, released_chunks
from vista_guard.stream.gates import Gate, Streamed, check_gate, gated
from vista_guard.turn.work import Work
from vista_guard.types import Conversation, Document

if TYPE_CHECKING:
    from vista_guard.guard import Guard


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
        on_report: is told of every report.
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
    """The two doors of a guarded node."""

    def __init__(self, guard: Guard, node: HostNode, surface: HostSurface) -> None:
        self._parts, self._node, self._surface = guard.parts, node, surface
        speaker = speaker_node(surface.find_documents, guard.parts.telemetry)
        machine = build_graph(guard.parts, agent=speaker, checkpointer=False)
        self._judge = call_machine(machine, lambda event: get_stream_writer()(event))

    def run(self, state: object, config: RunnableConfig) -> object:
        turn, calls = NodeTurn(self._node, state, config), HeardCalls()
        if self._surface.gate == "sentence" and has_stream_handler(config.get("callbacks")):
            with closing(Bridged(calls.run_node(self._runner(turn, calls, asynchronous=False)))) as begun:
                for call in begun:
                    Released(chunks=Bridged(self._chunks(turn, call))).invoke([])
            self._take_streamed_reports(turn, calls)
        elif self._surface.gate == "none":
            turn.take_update(self._node(state))

        return turn.update if turn.is_judged else self._deliver(turn, self._judge.sync(turn.work(), config))

    async def arun(self, state: object, config: RunnableConfig) -> object:
        turn, calls = NodeTurn(self._node, state, config), HeardCalls()
        if self._surface.gate == "sentence" and has_stream_handler(config.get("callbacks")):
            async with aclosing(calls.run_node(self._runner(turn, calls, asynchronous=True))) as begun:
                async for call in begun:
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
        """The released chunks of one model call."""

        def documents(draft: Conversation) -> tuple[Document, ...]:
            found = self._surface.find_documents(draft) if self._surface.find_documents else ()
            return (*turn.documents, *call.before, *found)

        def shown() -> AsyncGenerator[Streamed, None]:
            stream = gated(self._parts, turn.conversation, call.deltas(), gate="sentence", documents=documents)
            return self._surface.shown_stream(stream, self._parts.policy.message)

        pieces = in_task(shown, context_of(silent_config(turn.config)))
        async with aclosing(released_chunks(pieces, call)) as chunks:
            async for chunk in chunks:
                yield chunk
        call.report = call.report if call.said else None

    def _take_streamed_reports(self, turn: NodeTurn, calls: HeardCalls) -> None:
        """Tells the reports, and takes the one on what the node answered; an answer that nobody heard is still to be judged."""
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
