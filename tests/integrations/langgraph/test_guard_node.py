"""A guarded node in a host's own graph: every door, every stream, and what is left in the checkpoints."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.documents import Document as LangChainDocument
from langchain_core.globals import set_llm_cache
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, AnyMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGenerationChunk
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from langgraph.types import Command, StreamWriter, interrupt
from pydantic import BaseModel

from tests.conftest import guard_with
from tests.proxy.serving import ASIDE, LIE, NOTES, TRUTH, Sentencewise, known
from tests.raising import raises
from vista_guard import Action, Blocked, ConfigError, Document, Guard, InputError, Label, TurnReport
from vista_guard.integrations.langgraph import guard_node
from vista_guard.policy.label_policy import MESSAGE
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import Verdict

RUN: Any = {"configurable": {"thread_id": "visit"}}
ASKED: Any = {"messages": [HumanMessage("When did it open?")], "context": [NOTES]}


class Chat(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    context: list[Any]
    draft: str
    tries: int


@pytest.fixture
def guard(knowledge: MemoryKnowledge) -> Guard:
    return guard_with(Sentencewise(known()), knowledge)


def model(*answers: str) -> GenericFakeChatModel:
    """Streams word by word."""
    return GenericFakeChatModel(messages=iter([AIMessage(answer) for answer in answers]))


def host(node: Any, schema: Any = Chat, checkpointer: Any = None) -> Any:
    builder = StateGraph(schema)
    builder.add_node("answer", node)
    builder.add_edge(START, "answer")
    return builder.compile(checkpointer=checkpointer)


def said(state: Any) -> list[str]:
    messages = state["messages"] if isinstance(state, dict) else state.messages
    return [message.content for message in messages if message.type == "ai"]


def asking(chat: GenericFakeChatModel) -> tuple[Any, Any]:
    """A sync and an async node around a model."""

    def answer(state: Chat) -> Any:
        return {"messages": [chat.invoke(state["messages"])]}

    async def aanswer(state: Chat) -> Any:
        return {"messages": [await chat.ainvoke(state["messages"])]}

    return answer, aanswer


class TestAnswers:
    @pytest.mark.parametrize("way", ["sync", "async", "async node asked sync", "sync node asked async"])
    @pytest.mark.parametrize(
        ("draft", "delivered"), [(TRUTH, TRUTH), (f"{TRUTH} {LIE}", MESSAGE)], ids=["fine", "false"]
    )
    async def test_what_passed_is_in_the_state(self, guard: Guard, way: str, draft: str, delivered: str) -> None:
        reports: list[TurnReport] = []
        node, anode = asking(model(draft))
        graph = host(guard_node(guard, anode if way.startswith("async") else node, on_report=reports.append))
        state = (
            graph.invoke(ASKED, RUN) if way in ("sync", "async node asked sync") else await graph.ainvoke(ASKED, RUN)
        )
        assert said(state) == [delivered]
        assert [(report.response, report.conversation_id) for report in reports] == [(delivered, "visit")]

    def test_a_replaced_message_keeps_its_id_and_is_marked(self, guard: Guard) -> None:
        state = host(guard_node(guard, lambda state: {"messages": [AIMessage(LIE, id="m1")]})).invoke(ASKED, RUN)
        assert state["messages"][-1] == AIMessage(MESSAGE, id="m1", response_metadata={"vista_guard": "BLOCK"})

    def test_nothing_of_a_withheld_draft_is_left(self, guard: Guard, tmp_path: Path) -> None:
        def answer(state: Chat) -> Any:
            return {"messages": [AIMessage(LIE)], "draft": LIE.upper(), "context": [NOTES], "tries": 2}

        with SqliteSaver.from_conn_string(str(tmp_path / "graph.db")) as saver:
            graph = host(guard_node(guard, answer), checkpointer=saver)
            events = [*graph.stream(ASKED, RUN, stream_mode=["values", "updates", "messages"])]
            assert graph.get_state(RUN).values["tries"] == 2
            assert "draft" not in graph.get_state(RUN).values
        stored = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert b"zubrowka" not in stored.lower()
        assert "zubrowka" not in str(events).lower()

    def test_other_updates_pass(self, guard: Guard) -> None:
        reports: list[TurnReport] = []

        def look(state: Chat) -> Any:
            return {"context": [NOTES], "tries": 1}

        def nothing(state: Chat) -> Any:
            return None

        def call(state: Chat) -> Any:
            return {"messages": [AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c"}])]}

        for node in (look, nothing, call):
            host(guard_node(guard, node, on_report=reports.append)).invoke(ASKED, RUN)
        assert reports == []

    def test_what_is_said_beside_a_tool_call_is_judged(self, guard: Guard) -> None:
        tool: Any = {"name": "look", "args": {}, "id": "c", "type": "tool_call"}

        def answer(text: str) -> Any:
            return guard_node(guard, lambda state: {"messages": [AIMessage(text, tool_calls=[tool])]})

        fine = host(answer(TRUTH)).invoke(ASKED, RUN)["messages"][-1]
        assert (fine.content, fine.tool_calls) == (TRUTH, [tool])
        withheld = host(answer(LIE)).invoke(ASKED, RUN)["messages"][-1]
        assert (withheld.content, withheld.tool_calls) == (MESSAGE, [])

    def test_commands_keep_where_they_go(self, guard: Guard) -> None:
        def answer(state: Chat) -> Command[Any]:
            return Command(update={"messages": [AIMessage(LIE)]}, goto="after")

        builder = StateGraph(Chat)
        builder.add_node("answer", guard_node(guard, answer), destinations=("after",))
        builder.add_node("after", lambda state: {"tries": 7})
        builder.add_edge(START, "answer")
        state = builder.compile().invoke(ASKED, RUN)
        assert (said(state), state["tries"]) == ([MESSAGE], 7)

    def test_nodes_get_what_they_name(self, guard: Guard) -> None:
        def answer(state: Chat, config: RunnableConfig, *, runtime: Runtime[Any], writer: StreamWriter) -> Any:
            writer({"thread": config["configurable"]["thread_id"], "same": runtime.stream_writer is not None})
            return {"messages": [AIMessage(TRUTH)]}

        first, *findings = host(guard_node(guard, answer)).stream(ASKED, RUN, stream_mode="custom")
        assert first == {"thread": "visit", "same": True}
        assert [event["event"] for event in findings] == ["finding", "decision", "report"]

    @pytest.mark.parametrize("kind", ["model", "dataclass"])
    def test_other_kinds_of_state(self, guard: Guard, kind: str) -> None:
        class Modelled(BaseModel):
            messages: Annotated[list[AnyMessage], add_messages]
            context: list[str] = []

        @dataclass
        class Plain:
            messages: Annotated[list[AnyMessage], add_messages]
            context: list[str]

        schema: Any = Modelled if kind == "model" else Plain

        def answer(state: Any) -> Any:
            assert isinstance(state, schema)
            return {"messages": [AIMessage(f"{TRUTH} {LIE}")]}

        assert said(host(guard_node(guard, answer), schema).invoke(ASKED, RUN)) == [MESSAGE]

    def test_a_state_without_messages(self, guard: Guard) -> None:
        class Rag(TypedDict, total=False):
            question: str
            context: list[Any]
            answer: str

        graph = host(guard_node(guard, lambda state: {"answer": LIE}), Rag)
        asked = {"question": "When?", "context": [LangChainDocument(NOTES)]}
        assert graph.invoke(asked, RUN)["answer"] == MESSAGE

    def test_tool_messages_of_the_turn_are_its_evidence(self, guard: Guard) -> None:
        call = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c"}])
        asked: Any = {"messages": [HumanMessage("When?"), call, ToolMessage(NOTES, tool_call_id="c")]}
        reports: list[TurnReport] = []
        host(guard_node(guard, lambda state: {"messages": [AIMessage(TRUTH)]}, on_report=reports.append)).invoke(
            asked, RUN
        )
        assert [finding.label for finding in reports[0].findings] == [Label.VERIFIED]

    def test_a_policy_that_regenerates_asks_the_node_again(self, knowledge: MemoryKnowledge) -> None:
        judge = Sentencewise(known((ASIDE, [Verdict(ASIDE, Label.LACKING_EVIDENCE)])))
        reports: list[TurnReport] = []
        heard: list[Any] = []

        def answer(state: Chat) -> Any:
            heard.append([message.type for message in state["messages"]])
            return {"messages": [AIMessage(TRUTH if len(heard) > 1 else ASIDE, id="m1")]}

        node = guard_node(guard_with(judge, knowledge, "strict"), answer, on_report=reports.append)
        state = host(node, checkpointer=InMemorySaver()).invoke(ASKED, RUN)
        assert [message.type for message in state["messages"]] == ["human", "ai"]
        assert said(state) == [TRUTH]
        assert heard == [["human"], ["human", "ai", "human"]]
        assert len(reports[0].attempts) == 1

    def test_raise(self, guard: Guard) -> None:
        node = guard_node(guard, lambda state: {"messages": [AIMessage(LIE)]}, on_block="raise")
        with pytest.raises(Blocked):
            host(node).invoke(ASKED, RUN)

    def test_what_cannot_be_guarded_is_refused(self, guard: Guard) -> None:
        with raises(ConfigError, "int"):
            guard_node(guard, 7)  # type: ignore[arg-type]
        with raises(ConfigError, "gate", "none", "policy"):
            guard_node(guard, lambda state: {}, gate="none")
        with raises(InputError, "str"):
            host(guard_node(guard, lambda state: "words")).invoke(ASKED, RUN)

    @pytest.mark.parametrize("gate", ["turn", "sentence"])
    def test_a_node_may_ask_a_human(self, guard: Guard, gate: Any) -> None:
        def answer(state: Chat) -> Any:
            agreed = interrupt("May I?") == "yes" and interrupt("Really?") == "sure"
            return {"messages": [AIMessage(TRUTH if agreed else LIE)]}

        graph = host(guard_node(guard, answer, gate=gate), checkpointer=InMemorySaver())
        for asked, question in ((ASKED, "May I?"), (Command(resume="yes"), "Really?")):
            *_, last = graph.stream(asked, RUN, stream_mode=["updates", "messages"])
            assert last[1]["__interrupt__"][0].value == question
        *_, last = graph.stream(Command(resume="sure"), RUN, stream_mode=["updates", "messages"])
        assert said(graph.get_state(RUN).values) == [TRUTH]


class Notes(BaseRetriever):
    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[LangChainDocument]:
        return [LangChainDocument(NOTES)]


class TestStreams:
    """The gate `sentence`."""

    async def shown(self, graph: Any, way: str, asked: Any = ASKED) -> list[str]:
        if way == "sync":
            return [chunk.content for chunk, _ in graph.stream(asked, RUN, stream_mode="messages") if chunk.content]
        stream = graph.astream(asked, RUN, stream_mode="messages")
        return [chunk.content async for chunk, _ in stream if chunk.content]

    @pytest.mark.parametrize("way", ["sync", "async"])
    async def test_sentences_come_as_they_pass(self, guard: Guard, way: str) -> None:
        reports: list[TurnReport] = []
        for number, draft in enumerate((f"{TRUTH} {ASIDE}", f"{TRUTH} {LIE} {ASIDE}")):
            nodes = asking(model(draft))
            node = guard_node(guard, nodes[way == "async"], gate="sentence", on_report=reports.append)
            graph = host(node, checkpointer=InMemorySaver())
            expected = ([TRUTH, f" {ASIDE}"], [TRUTH, f"\n\n{MESSAGE}"])[number]
            assert await self.shown(graph, way) == expected
            assert said(graph.get_state(RUN).values) == ["".join(expected)]
            assert reports[-1].response == "".join(expected)
        assert [report.decision.action for report in reports] == [Action.FLAG, Action.BLOCK]

    @pytest.mark.parametrize("way", ["sync", "async"])
    async def test_langchains_cache_does_not_mix_conversations(self, guard: Guard, way: str) -> None:
        set_llm_cache(InMemoryCache())
        try:
            for draft in (TRUTH, ASIDE):
                nodes = asking(model(draft))
                graph = host(guard_node(guard, nodes[way == "async"], gate="sentence"))
                asked: Any = {"messages": [HumanMessage(f"Tell me: {draft}")], "context": [NOTES]}
                assert await self.shown(graph, way, asked) == [draft]
        finally:
            set_llm_cache(None)

    async def test_nothing_waits_for_the_end(self, guard: Guard) -> None:
        heard = asyncio.Event()

        class Waiting(GenericFakeChatModel):
            async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
                yield ChatGenerationChunk(message=AIMessageChunk(content=f"{TRUTH} It "))
                await heard.wait()  # It goes on only when its first sentence has been read.
                yield ChatGenerationChunk(message=AIMessageChunk(content="has a glass roof."))

        _, node = asking(Waiting(messages=iter(())))
        stream = host(guard_node(guard, node, gate="sentence")).astream(ASKED, RUN, stream_mode="messages")
        first, _ = await anext(stream)
        assert first.content == TRUTH
        heard.set()
        assert "".join([chunk.content async for chunk, _ in stream]) == f" {ASIDE}"

    def test_the_message_is_streamed_once_under_its_own_id(self, guard: Guard) -> None:
        node, _ = asking(model(f"{TRUTH} {LIE}"))
        graph = host(guard_node(guard, node, gate="sentence"), checkpointer=InMemorySaver())
        chunks = [chunk for chunk, meta in graph.stream(ASKED, RUN, stream_mode="messages")]
        assert {chunk.id for chunk in chunks} == {graph.get_state(RUN).values["messages"][-1].id}

    @pytest.mark.parametrize("way", ["sync", "async"])
    async def test_what_a_retriever_in_the_node_finds_is_evidence(self, guard: Guard, way: str) -> None:
        chat = model(TRUTH)

        def answer(state: Chat) -> Any:
            found = Notes().invoke("hall")
            return {"messages": [chat.invoke(state["messages"])], "context": found}

        reports: list[TurnReport] = []
        graph = host(guard_node(guard, answer, gate="sentence", on_report=reports.append))
        assert await self.shown(graph, way, {"messages": ASKED["messages"]}) == [TRUTH]
        assert [finding.label for finding in reports[0].findings] == [Label.VERIFIED]

    def test_models_that_do_not_speak_are_not_judged_and_not_shown(self, guard: Guard) -> None:
        helper, speaker = model(LIE).with_config(tags=["nostream"]), model(TRUTH)

        def answer(state: Chat) -> Any:
            helper.invoke("Rewrite the question.")
            return {"messages": [speaker.invoke(state["messages"])]}

        reports: list[TurnReport] = []
        graph = host(guard_node(guard, answer, gate="sentence", on_report=reports.append))
        chunks = list(graph.stream(ASKED, RUN, stream_mode="messages"))
        assert [chunk.content for chunk, _ in chunks if chunk.content] == [TRUTH]
        assert [report.response for report in reports] == [TRUTH]

    def test_an_answer_that_no_model_said_is_judged_all_the_same(self, guard: Guard) -> None:
        chat = model(TRUTH)

        def answer(state: Chat) -> Any:
            chat.invoke(state["messages"])
            return {"messages": [AIMessage(LIE)]}

        reports: list[TurnReport] = []
        graph = host(guard_node(guard, answer, gate="sentence", on_report=reports.append), checkpointer=InMemorySaver())
        chunks = [chunk.content for chunk, _ in graph.stream(ASKED, RUN, stream_mode="messages") if chunk.content]
        assert chunks == [TRUTH, MESSAGE]
        assert said(graph.get_state(RUN).values) == [MESSAGE]
        assert [report.response for report in reports] == [TRUTH, MESSAGE]

    def test_runnables_as_nodes(self, guard: Guard) -> None:
        chat = model(f"{TRUTH} {LIE}")
        chain = RunnableLambda(lambda state: state["messages"]) | chat | RunnableLambda(lambda m: {"messages": [m]})
        graph = host(guard_node(guard, chain, gate="sentence"))
        chunks = [chunk.content for chunk, _ in graph.stream(ASKED, RUN, stream_mode="messages") if chunk.content]
        assert chunks == [TRUTH, f"\n\n{MESSAGE}"]

    def test_without_somebody_who_listens_it_is_judged_as_a_turn(self, guard: Guard) -> None:
        node, _ = asking(model(f"{TRUTH} {LIE}"))
        assert said(host(guard_node(guard, node, gate="sentence")).invoke(ASKED, RUN)) == [MESSAGE]

    @pytest.mark.parametrize("way", ["sync", "async"])
    async def test_a_model_that_breaks_off_ends_the_stream_with_its_error(self, guard: Guard, way: str) -> None:
        class Breaking(GenericFakeChatModel):
            def _stream(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
                yield from super()._stream(*args, **kwargs)
                raise ConnectionError("upstream is gone")

        reports: list[TurnReport] = []
        nodes = asking(Breaking(messages=iter([AIMessage(f"{TRUTH} It has")])))
        graph = host(guard_node(guard, nodes[way == "async"], gate="sentence", on_report=reports.append))
        with pytest.raises(ConnectionError, match="upstream is gone"):
            await self.shown(graph, way)
        assert reports == []

    def test_the_gate_none_shows_everything_and_reports(self, knowledge: MemoryKnowledge) -> None:
        reports: list[TurnReport] = []
        node, _ = asking(model(f"{TRUTH} {LIE}"))
        guard = guard_with(Sentencewise(known()), knowledge, "monitor")
        graph = host(guard_node(guard, node, gate="none", on_report=reports.append))
        chunks = [chunk.content for chunk, _ in graph.stream(ASKED, RUN, stream_mode="messages") if chunk.content]
        assert "".join(chunks) == f"{TRUTH} {LIE}"
        assert [report.decision.action for report in reports] == [Action.FLAG]

    def test_documents_may_be_found_for_the_draft(self, guard: Guard) -> None:
        node, _ = asking(model(TRUTH))
        reports: list[TurnReport] = []
        found = [Document(id="n", text=NOTES)]
        guarded = guard_node(guard, node, gate="sentence", documents=lambda _: found, on_report=reports.append)
        list(host(guarded).stream({"messages": ASKED["messages"]}, RUN, stream_mode="messages"))
        assert reports[0].decision.action is Action.ALLOW


def test_two_guarded_nodes_of_one_conversation(guard: Guard) -> None:
    """The second knows what the first established."""
    reports: list[TurnReport] = []
    builder = StateGraph(Chat)
    builder.add_node(
        "first", guard_node(guard, lambda state: {"messages": [AIMessage(TRUTH)]}, on_report=reports.append)
    )
    builder.add_node(
        "second", guard_node(guard, lambda state: {"messages": [AIMessage(ASIDE)]}, on_report=reports.append)
    )
    builder.add_edge(START, "first")
    builder.add_edge("first", "second")
    builder.add_edge("second", END)
    state = builder.compile().invoke(ASKED, RUN)
    assert said(state) == [TRUTH, ASIDE]
    assert [report.turn_index for report in reports] == [1, 1]
