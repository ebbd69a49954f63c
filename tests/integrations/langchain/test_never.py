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
from tests.integrations.langchain.test_middleware import ASKED, LIE, TRUTH, ToolModel, agent_of, call, scripted, search
from vista_guard import Blocked, Guard, Label, StoreError, TurnReport
from vista_guard.integrations.langchain import VistaGuardMiddleware
from vista_guard.policy.label_policy import MESSAGE, build_policy
from vista_guard.stores.memory import MemoryKnowledge
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


async def test_2_an_unreadable_store_is_not_less_evidence(knowledge: MemoryKnowledge) -> None:
    class Broken(MemoryKnowledge):
        async def recall(self, *args: Any, **kwargs: Any) -> Any:
            raise StoreError("the knowledge at /data cannot be read: disk I/O error")

    guard = Guard(scripted(), "strict", knowledge=Broken(None))  # type: ignore[arg-type]
    assert (await _ainvoke(agent_of(guard, call(), TRUTH)))[-1].content == MESSAGE


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
