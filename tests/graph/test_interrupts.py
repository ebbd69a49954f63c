"""Agents that stop to ask a human, and agents that hand over, behind the guard."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from tests.conftest import guard_with
from vista_guard import Conversation, Document, Label, TurnReport
from vista_guard.policy.label_policy import MESSAGE
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict

TRUTH = "The whale hall opened in 1925."
LIE = "The whale hall opened under Queen Zubrowka."
ASIDE = "I ask a colleague."
RUN: Any = {"configurable": {"thread_id": "visit"}}
ASKED: Any = {"messages": [HumanMessage("Book the whale hall.")]}
OUTCOME = [
    ("human", "Book the whale hall."),
    ("ai", ""),
    ("tool", "The whale hall opened in 1925. Booked: yes, sure."),
]


class Chat(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]


def judge() -> ScriptedJudge:
    return ScriptedJudge({TRUTH: [Verdict(TRUTH, needs="1925")], LIE: [Verdict(LIE, Label.CONTRADICTED)], ASIDE: []})


def booking(answer: str, asked: list[str]) -> Any:
    """An agent that plans a booking, asks twice whether it may, and then answers."""

    def plan(state: Chat) -> Any:
        asked.append("plan")
        return {"messages": [AIMessage("", tool_calls=[{"name": "book", "args": {}, "id": "call-1"}])]}

    def approve(state: Chat) -> Any:
        said = f"{interrupt('May I?')}, {interrupt('Really?')}"
        return {"messages": [ToolMessage(f"The whale hall opened in 1925. Booked: {said}.", tool_call_id="call-1")]}

    def reply(state: Chat) -> Any:
        return {"messages": [AIMessage(answer)]}

    builder = StateGraph(Chat)
    for name, node in (("plan", plan), ("approve", approve), ("reply", reply)):
        builder.add_node(name, node)
    for before, after in ((START, "plan"), ("plan", "approve"), ("approve", "reply"), ("reply", END)):
        builder.add_edge(before, after)
    return builder.compile()


def notes(_: Conversation) -> list[Document]:
    return [Document(id="halls", text="The whale hall opened in 1925.")]


def said(state: Any) -> list[tuple[str, str]]:
    return [(message.type, message.content) for message in state["messages"]]


def questions(state: Any) -> list[Any]:
    return [pending.value for pending in state.get("__interrupt__", ())]


def everything(database: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(database.parent.glob(f"{database.name}*")))


@pytest.mark.parametrize(("answer", "delivered"), [(TRUTH, TRUTH), (LIE, MESSAGE)], ids=["delivered", "blocked"])
def test_a_guarded_graph_goes_on_where_it_was_interrupted(
    answer: str, delivered: str, knowledge: MemoryKnowledge, tmp_path: Path
) -> None:
    asked: list[str] = []
    database = tmp_path / "checkpoints.db"
    with SqliteSaver.from_conn_string(str(database)) as saver:
        first = guard_with(judge(), knowledge).graph(booking(answer, asked), checkpointer=saver)
        assert questions(first.invoke(ASKED, RUN)) == ["May I?"]
    with SqliteSaver.from_conn_string(str(database)) as saver:  # the process was restarted meanwhile
        agent = guard_with(judge(), knowledge).graph(booking(answer, asked), checkpointer=saver)
        assert questions(agent.invoke(Command(resume="yes"), RUN)) == ["Really?"]
        assert said(agent.invoke(Command(resume="sure"), RUN)) == [*OUTCOME, ("ai", delivered)]
        # What was approved is what was planned: the model was not asked for its plan again.
        assert asked == ["plan"]
        assert said(agent.get_state(RUN).values) == [*OUTCOME, ("ai", delivered)]
        assert agent.get_state(RUN).next == ()
        assert (b"Zubrowka" in everything(database)) is False


async def test_the_same_async_and_streamed(knowledge: MemoryKnowledge, tmp_path: Path) -> None:
    asked: list[str] = []
    async with AsyncSqliteSaver.from_conn_string(str(tmp_path / "checkpoints.db")) as saver:
        agent = guard_with(judge(), knowledge).graph(booking(LIE, asked), checkpointer=saver)
        assert questions(await agent.ainvoke(ASKED, RUN)) == ["May I?"]
        events = [event async for event in agent.astream(Command(resume="yes"), RUN, stream_mode="updates")]
        assert [questions(event) for event in events] == [["Really?"]]
        events = [event async for event in agent.astream(Command(resume="sure"), RUN, stream_mode="values")]
        assert said(events[-1]) == [*OUTCOME, ("ai", MESSAGE)]
        assert "Zubrowka" not in str([said(event) for event in events])
    assert asked == ["plan"]
    assert b"Zubrowka" not in everything(tmp_path / "checkpoints.db")


def test_as_a_part_of_a_host_graph(knowledge: MemoryKnowledge) -> None:
    asked: list[str] = []
    builder = StateGraph(Chat)
    builder.add_node("bot", guard_with(judge(), knowledge).graph(booking(TRUTH, asked)))
    builder.add_edge(START, "bot")
    host = builder.compile(checkpointer=InMemorySaver())
    assert questions(host.invoke(ASKED, RUN)) == ["May I?"]
    assert questions(host.invoke(Command(resume="yes"), RUN)) == ["Really?"]
    assert said(host.invoke(Command(resume="sure"), RUN)) == [*OUTCOME, ("ai", TRUTH)]
    assert asked == ["plan"]


def test_a_wrapped_agent_asks_as_the_node_that_calls_it(knowledge: MemoryKnowledge) -> None:
    def clerk(question: Any) -> str:
        return TRUTH if (interrupt("May I?"), interrupt("Really?")) == ("yes", "sure") else LIE

    guard = guard_with(judge(), knowledge)
    for wrapped in (guard.wrap(clerk), guard.wrap(RunnableLambda(clerk)).invoke):

        def node(state: Chat, wrapped: Any = wrapped) -> Any:
            return {"messages": [AIMessage(wrapped("Is it open?"))]}

        builder = StateGraph(Chat)
        builder.add_node("bot", node)
        builder.add_edge(START, "bot")
        host = builder.compile(checkpointer=InMemorySaver())
        assert questions(host.invoke(ASKED, RUN)) == ["May I?"]
        assert questions(host.invoke(Command(resume="yes"), RUN)) == ["Really?"]
        assert said(host.invoke(Command(resume="sure"), RUN)) == [("human", "Book the whale hall."), ("ai", TRUTH)]


@pytest.mark.parametrize("way", ["sync", "async"])
async def test_an_agent_that_hands_over_goes_to_the_hosts_nodes(way: str, knowledge: MemoryKnowledge) -> None:
    """As the agents of a swarm or under a supervisor do."""
    reports: list[TurnReport] = []

    def hand_over(state: Chat) -> Any:
        return Command(goto="second", update={"messages": [AIMessage(ASIDE)]}, graph=Command.PARENT)

    def answer(state: Chat) -> Any:
        return {"messages": [AIMessage(LIE)]}

    def agent(node: Any) -> Any:
        builder = StateGraph(Chat)
        builder.add_node("speak", node)
        builder.add_edge(START, "speak")
        return guard_with(judge(), knowledge).graph(builder.compile(), documents=notes, on_report=reports.append)

    builder = StateGraph(Chat)
    builder.add_node("first", agent(hand_over), destinations=("second",))
    builder.add_node("second", agent(answer))
    builder.add_edge(START, "first")
    host = builder.compile(checkpointer=InMemorySaver())
    state = host.invoke(ASKED, RUN) if way == "sync" else await host.ainvoke(ASKED, RUN)
    assert said(state) == [("human", "Book the whale hall."), ("ai", ASIDE), ("ai", MESSAGE)]
    assert [report.response for report in reports] == [MESSAGE]


@pytest.mark.parametrize("answers", [True, False], ids=["yes", "no"])
def test_a_question_asked_while_a_draft_is_made_again(answers: bool, knowledge: MemoryKnowledge) -> None:
    def reply(state: Chat) -> Any:
        told = any("did not hold up" in str(message.content) for message in state["messages"])
        return {"messages": [AIMessage(TRUTH if told and interrupt("Look it up?") else LIE)]}

    builder = StateGraph(Chat)
    builder.add_node("reply", reply)
    builder.add_edge(START, "reply")
    doubtful = ScriptedJudge({TRUTH: [Verdict(TRUTH, needs="1925")], LIE: [Verdict(LIE, Label.LACKING_EVIDENCE)]})
    guard = guard_with(doubtful, knowledge, "strict")
    reports: list[TurnReport] = []
    agent = guard.graph(builder.compile(), checkpointer=InMemorySaver(), documents=notes, on_report=reports.append)
    state = agent.invoke(ASKED, RUN)
    times = 0
    while questions(state) == ["Look it up?"]:
        times += 1
        state = agent.invoke(Command(resume=answers), RUN)
    assert said(state) == [("human", "Book the whale hall."), ("ai", TRUTH if answers else MESSAGE)]
    # Attempts are counted through the interruption: the policy allows one.
    assert (times, len(reports[-1].attempts)) == (1, 1)
