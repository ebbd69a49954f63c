"""The failures that a guardrail must never have (docs/design/guarantees.md), through `create_agent` and every door of it."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Awaitable, Callable
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

from tests.conftest import guard_with
from tests.integrations.test_langchain import ASKED, LIE, TRUTH, ToolModel, agent_of, call, model_of, scripted, search
from vista_guard import Action, Blocked, Guard, JudgeError, Label, StoreError, TurnReport, Unchecked
from vista_guard.integrations.langchain import VistaGuardMiddleware
from vista_guard.policies import MESSAGE, build_policy
from vista_guard.stores.knowledge_memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict

MODES: Any = ["values", "updates", "messages", "custom"]

Door = Callable[..., Awaitable[list[BaseMessage]]]
"""Runs an agent on a request, in a thread; gives the messages at its end."""


async def _invoke(agent: Any, asked: Any = ASKED, thread: str = "c", **options: Any) -> list[BaseMessage]:
    result = await asyncio.to_thread(agent.invoke, asked, _in(thread), **options)
    return list(result["messages"])


async def _ainvoke(agent: Any, asked: Any = ASKED, thread: str = "c", **options: Any) -> list[BaseMessage]:
    return list((await agent.ainvoke(asked, _in(thread), **options))["messages"])


async def _stream(agent: Any, asked: Any = ASKED, thread: str = "c", **options: Any) -> list[BaseMessage]:
    more: Any = {"stream_mode": MODES, "subgraphs": True, **options}
    return _nothing_raw(await asyncio.to_thread(lambda: list(agent.stream(asked, _in(thread), **more))))


async def _astream(agent: Any, asked: Any = ASKED, thread: str = "c", **options: Any) -> list[BaseMessage]:
    more: Any = {"stream_mode": MODES, "subgraphs": True, **options}
    return _nothing_raw([chunk async for chunk in agent.astream(asked, _in(thread), **more)])


def _in(thread: str) -> dict[str, Any]:
    return {"configurable": {"thread_id": thread}}


def _nothing_raw(chunks: list[Any]) -> list[BaseMessage]:
    """The last state of a stream that showed the lie to nobody but readers of reports, and each message once."""
    assert "Zubrowka" not in repr([chunk for _, mode, chunk in chunks if mode != "custom"])
    spoken = [message.id for _, mode, chunk in chunks if mode == "messages" for message in chunk[:1]]
    said = [one for one, _ in groupby(spoken)]  # an answer may come in chunks
    last: list[BaseMessage] = [chunk for _, mode, chunk in chunks if mode == "values"][-1]["messages"]
    assert said[-1:] == [last[-1].id]
    assert len(said) == len(set(said))
    return last


EVERY_DOOR = pytest.mark.parametrize(
    ("door", "gate"),
    [
        pytest.param(_invoke, "turn", id="sync"),
        pytest.param(_ainvoke, "turn", id="async"),
        pytest.param(_stream, "turn", id="stream"),
        pytest.param(_astream, "turn", id="astream"),
        pytest.param(_stream, "sentence", id="stream by sentence"),
        pytest.param(_astream, "sentence", id="astream by sentence"),
    ],
)
BOTH_GATES = pytest.mark.parametrize("gate", ["turn", "sentence"])


@EVERY_DOOR
@pytest.mark.parametrize(
    ("policy", "action", "said"),
    [("monitor", Action.FLAG, TRUTH), ("balanced", Action.FLAG, TRUTH), ("strict", Action.BLOCK, MESSAGE)],
)
async def test_1_no_evidence_is_said(
    door: Door, gate: Any, policy: str, action: Action, said: str, knowledge: MemoryKnowledge
) -> None:
    reports: list[TurnReport] = []
    messages = await door(
        agent_of(guard_with(scripted(), knowledge, policy), TRUTH, gate=gate, on_report=reports.append)
    )
    assert [(report.evidence_missing, report.decision.action) for report in reports] == [(True, action)]
    assert messages[-1].content == said


@EVERY_DOOR
@pytest.mark.parametrize(
    ("judge", "error"),
    [
        (ScriptedJudge({LIE: JudgeError("no answer within 10 s")}), "no answer within 10 s"),
        (ScriptedJudge({LIE: RuntimeError("CUDA on fire")}), "the judge failed: RuntimeError: CUDA on fire"),
        (ScriptedJudge({LIE: [Verdict(LIE, error="label 'maybe' is none")]}), "label 'maybe' is none"),
    ],
)
async def test_2_a_failing_judge_is_unchecked_and_the_policy_decides(
    door: Door, gate: Any, judge: ScriptedJudge, error: str, knowledge: MemoryKnowledge
) -> None:
    reports: list[TurnReport] = []
    agent = agent_of(guard_with(judge, knowledge, "strict"), call(), LIE, gate=gate, on_report=reports.append)
    assert (await door(agent))[-1].content == MESSAGE
    ((outcome,),) = [report.outcomes for report in reports]
    assert isinstance(outcome, Unchecked)
    assert outcome.error == error


async def test_2_an_unreadable_store_is_not_less_evidence(knowledge: MemoryKnowledge) -> None:
    class Broken(MemoryKnowledge):
        async def recall(self, *args: Any, **kwargs: Any) -> Any:
            raise StoreError("the knowledge at /data cannot be read: disk I/O error")

    guard = Guard(scripted(), "strict", knowledge=Broken(None))  # type: ignore[arg-type]
    assert (await _ainvoke(agent_of(guard, call(), TRUTH)))[-1].content == MESSAGE


@pytest.mark.parametrize("mode", ["values", "updates", "messages", "custom"])
@pytest.mark.parametrize("tools", [[], [search]], ids=["no tools", "tools"])
@BOTH_GATES
async def test_3_unchecked_text_is_in_no_stream(
    mode: Any, tools: list[Any], gate: Any, knowledge: MemoryKnowledge
) -> None:
    def agent() -> Any:
        middleware = VistaGuardMiddleware(guard_with(scripted(), knowledge), gate=gate)
        return create_agent(model_of(LIE), tools, middleware=[middleware])

    streams = [list(agent().stream(ASKED, stream_mode=mode, subgraphs=True))]
    streams.append([chunk async for chunk in agent().astream(ASKED, stream_mode=mode, subgraphs=True)])
    for stream in streams:
        if mode == "custom":
            assert [event["event"] for _, event in stream] == ["finding", "decision", "report"]
        else:
            assert "Zubrowka" not in repr(stream)
        if mode == "messages":
            assert "".join(message.content for _, (message, _) in stream) == MESSAGE


@BOTH_GATES
async def test_3_unchecked_text_is_in_no_event(gate: Any, knowledge: MemoryKnowledge) -> None:
    agent = agent_of(guard_with(scripted(), knowledge), call(), LIE, gate=gate)
    events = [event async for event in agent.astream_events(ASKED, version="v2")]
    assert MESSAGE in repr(events)
    assert "Zubrowka" not in repr(events)


@EVERY_DOOR
@pytest.mark.parametrize("block", ["block", "raise", "regenerate"])
async def test_4_a_rejected_draft_is_in_no_checkpoint(
    door: Door, gate: Any, block: str, tmp_path: Path, knowledge: MemoryKnowledge
) -> None:
    label = Label.LACKING_EVIDENCE if block == "regenerate" else Label.CONTRADICTED
    judge = ScriptedJudge({LIE: [Verdict(LIE, label)], TRUTH: [Verdict(TRUTH, needs="1925")]})
    file = tmp_path / "checkpoints.sqlite"
    options: Any = {"on_block": "raise"} if block == "raise" else {}
    guard = Guard(judge, build_policy("strict"), knowledge=knowledge)

    async def run(saver: Any) -> list[BaseMessage]:
        return await door(
            agent_of(guard, call(), LIE, TRUTH, gate=gate, checkpointer=saver, **options), durability="sync"
        )

    said: list[Any] = []
    try:
        if door in (_ainvoke, _astream):
            async with AsyncSqliteSaver.from_conn_string(str(file)) as asynchronous:
                said = await run(asynchronous)
        else:
            with SqliteSaver.from_conn_string(str(file)) as sync:
                said = await run(sync)
    except Blocked as blocked:
        said = [AIMessage(blocked.report.response)]
    # A gate by sentence cannot ask again where words are out: the policy's fallback is taken.
    mended = block == "regenerate" and gate == "turn"
    assert said[-1].content == (TRUTH if mended else MESSAGE)
    assert b"When did it open?" in _stored(file)
    assert b"Zubrowka" not in _stored(file)


def _stored(file: Path) -> bytes:
    """Every cell of every table, and the files' own bytes: a row that was deleted may still be in a page."""
    with sqlite3.connect(file) as connection:
        tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        rows = [row for table in tables for row in connection.execute(f"select * from {table}")]
    connection.close()
    cells = [cell if isinstance(cell, bytes) else str(cell).encode() for row in rows for cell in row]
    return b"".join([*cells, *(path.read_bytes() for path in file.parent.iterdir())])


@EVERY_DOOR
async def test_4_nor_in_the_knowledge(door: Door, gate: Any, knowledge: MemoryKnowledge) -> None:
    judge = ScriptedJudge({LIE: [Verdict("The museum has whales.", needs="whale"), Verdict(LIE, Label.CONTRADICTED)]})
    messages = await door(agent_of(guard_with(judge, knowledge), call(), LIE, gate=gate))
    assert messages[-1].content == MESSAGE
    assert await knowledge.recall("c", persona=None, query="", limit=10) == ()


@EVERY_DOOR
async def test_5_earlier_turns_become_knowledge_only_when_verified(
    door: Door, gate: Any, knowledge: MemoryKnowledge
) -> None:
    again = "As I said, 1925."
    judge = ScriptedJudge(
        {
            TRUTH: [Verdict(TRUTH, Label.OUT_OF_SCOPE)],
            "It has two floors.": [Verdict("The hall has two floors.", needs="floors")],
            again: [Verdict("It opened in 1925.", needs="1925"), Verdict("It has floors.", needs="two floors")],
        }
    )
    past = [HumanMessage("Hi"), AIMessage(TRUTH), HumanMessage("And?"), AIMessage("It has two floors.")]
    reports: list[TurnReport] = []
    agent = agent_of(guard_with(judge, knowledge), again, gate=gate, on_report=reports.append)
    messages = await door(agent, {"messages": [*past, *ASKED["messages"]]})
    assert [message.content for message in messages[:4]] == [message.content for message in past]
    (report,) = reports
    assert [finding.label for finding in report.findings] == [Label.VERIFIED, Label.LACKING_EVIDENCE]
    judge.assert_spent()


class _Echo(ToolModel):
    """Says what it was told to say: one model for all conversations."""

    def _generate(self, messages: list[BaseMessage], *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(messages[-1].text))])


@EVERY_DOOR
async def test_6_conversations_never_mix(door: Door, gate: Any, knowledge: MemoryKnowledge) -> None:
    count = 200 if (door, gate) in ((_ainvoke, "turn"), (_astream, "sentence")) else 20
    script = {
        f"Room {number} is open.": [Verdict(f"Room {number} is open.", Label.OUT_OF_SCOPE)] for number in range(count)
    }
    reports: list[TurnReport] = []
    guard = guard_with(ScriptedJudge(script), knowledge)
    middleware = VistaGuardMiddleware(guard, gate=gate, on_report=reports.append)
    agent = create_agent(_Echo(messages=iter([])), [search], middleware=[middleware])
    said = await asyncio.gather(
        *(door(agent, {"messages": [HumanMessage(f"Room {number} is open.")]}, f"c{number}") for number in range(count))
    )
    assert [messages[-1].content for messages in said] == list(script)
    for number in range(count):
        known = await knowledge.recall(f"c{number}", persona=None, query="", limit=9)
        assert [passage.text for passage in known] == [f"Room {number} is open."]
    assert sorted(str(report.conversation_id) for report in reports) == sorted(f"c{number}" for number in range(count))


@EVERY_DOOR
@pytest.mark.parametrize(("said", "delivered"), [(LIE, MESSAGE), (TRUTH, TRUTH)])
async def test_7_a_block_blocks_and_keeps_the_id(
    door: Door, gate: Any, said: str, delivered: str, knowledge: MemoryKnowledge
) -> None:
    agent = agent_of(guard_with(scripted(), knowledge, "strict"), call(), AIMessage(said, id="draft-1"), gate=gate)
    messages = await door(agent)
    assert [message.type for message in messages] == ["human", "ai", "tool", "ai"]
    assert (messages[-1].content, messages[-1].id) == (delivered, "draft-1")
