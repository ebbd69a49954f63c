"""Guarded graphs on real checkpointers, SQLite's and Postgres's, by the sync door and the async one."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph

from tests.conftest import guard_with
from tests.proxy.test_admin import postgres
from tests.stores.conftest import missing
from vista_guard import Blocked, Document, Guard, Label, TurnReport
from vista_guard.policy.label_policy import MESSAGE
from vista_guard.stores.chroma.client import chroma_client
from vista_guard.stores.chroma.knowledge import ChromaKnowledge
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder

__all__ = ["postgres"]  # a fixture

LIE = "The whale hall opened under Queen Zubrowka."
TRUTH = "The whale hall opened in 1925."
AGAIN = "As I said, in 1925."
NOTES = Document(id="notes", text="The whale hall of the tide museum opened in 1925.")
SAID = {"When did it open?": TRUTH, "When again?": AGAIN, "And under whom?": LIE}


@dataclass(frozen=True)
class Database:
    """Where checkpoints are. `open` gives a checkpointer of its own each time, `dump` all rows."""

    open: Callable[[], AbstractAsyncContextManager[Any]]
    dump: Callable[[], bytes]
    is_async: bool


def sqlite(folder: Path, is_async: bool) -> Database:
    """A file."""
    file = folder / "checkpoints.sqlite"

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        if is_async:
            async with AsyncSqliteSaver.from_conn_string(str(file)) as asynchronous:
                yield asynchronous
        else:
            with SqliteSaver.from_conn_string(str(file)) as saver:
                yield saver

    def dump() -> bytes:
        connection = sqlite3.connect(file)
        tables = [name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")]
        cells = [cell for table in tables for row in connection.execute(f"select * from {table}") for cell in row]
        connection.close()
        return b"\n".join(cell if isinstance(cell, bytes) else str(cell).encode() for cell in cells)

    return Database(opened, dump, is_async)


def database_in(server: str, name: str, is_async: bool) -> Database:
    """A database of this name, made anew, in a Postgres server."""
    import psycopg

    try:
        from langgraph.checkpoint.postgres import PostgresSaver
        from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
    except ImportError:
        missing("langgraph-checkpoint-postgres is not installed")
    url = server.replace("postgresql+psycopg", "postgresql")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"create database {name}".encode())
    own = f"{url.rpartition('/')[0]}/{name}"

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        if is_async:
            async with AsyncPostgresSaver.from_conn_string(own) as asynchronous:
                await asynchronous.setup()
                yield asynchronous
        else:
            with PostgresSaver.from_conn_string(own) as saver:
                saver.setup()
                yield saver

    def dump() -> bytes:
        with psycopg.connect(own) as connection:
            tables = connection.execute("select tablename from pg_tables where schemaname = 'public'").fetchall()
            found = b""
            for (table,) in tables:
                with connection.cursor().copy(f"copy {table} to stdout (format binary)".encode()) as rows:
                    found += b"".join(map(bytes, rows))
            return found

    return Database(opened, dump, is_async)


@pytest.fixture(params=["sqlite sync", "sqlite async", "postgres sync", "postgres async"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    """An empty one."""
    kind, _, door = request.param.partition(" ")
    if kind == "sqlite":
        return sqlite(tmp_path, door == "async")
    return database_in(request.getfixturevalue("postgres"), f"test_{uuid4().hex}", door == "async")


def script(**more: Any) -> ScriptedJudge:
    """Knows the truth, the lie, and what is said again."""
    return ScriptedJudge(
        {
            TRUTH: [Verdict(TRUTH, needs="1925")],
            AGAIN: [Verdict("It opened in 1925.", needs="in 1925")],
            LIE: [Verdict(LIE, Label.CONTRADICTED, 0.97)],
            **more,
        }
    )


def guarded(guard: Guard, saver: Any = None, **options: Any) -> Any:
    """A graph around a chatbot that has documents for the first question only."""

    def find(conversation: Any) -> list[Document]:
        return [NOTES] if conversation.turns[-2].text == "When did it open?" else []

    return guard.graph(lambda messages: SAID[messages[-1].text], checkpointer=saver, documents=find, **options)


async def ask(database: Database, graph: Any, question: str, thread: str = "talk") -> list[str]:
    """One turn; the texts of all messages after it."""
    asked, run = {"messages": [HumanMessage(question)]}, _in(thread)
    if database.is_async:
        result = await graph.ainvoke(asked, run, durability="sync")
    else:
        result = await asyncio.to_thread(graph.invoke, asked, run, durability="sync")
    return _texts(result)


async def history(database: Database, graph: Any, thread: str = "talk") -> list[Any]:
    """The snapshots of a thread, oldest first."""
    if database.is_async:
        snapshots = [snapshot async for snapshot in graph.aget_state_history(_in(thread))]
    else:
        snapshots = await asyncio.to_thread(lambda: list(graph.get_state_history(_in(thread))))
    return snapshots[::-1]


def _in(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


def _texts(state: Mapping[str, Any]) -> list[str]:
    messages: list[BaseMessage] = state["messages"]
    return [message.text for message in messages]


async def _known(knowledge: Any, name: str) -> list[str]:
    return [passage.text for passage in await knowledge.recall(name, persona=None, query="", limit=9)]


async def test_two_turns_on_one_thread(database: Database, knowledge: MemoryKnowledge) -> None:
    reports: list[TurnReport] = []
    judge = script()
    async with database.open() as saver:
        graph = guarded(guard_with(judge, knowledge), saver, on_report=reports.append)
        await ask(database, graph, "When did it open?")
        await ask(database, graph, "When again?", thread="another")
        texts = await ask(database, graph, "When again?")
        snapshots = await history(database, graph)
    assert texts == ["When did it open?", TRUTH, "When again?", AGAIN]
    assert _texts(snapshots[-1].values) == texts
    assert snapshots[-1].next == ()
    assert {key for snapshot in snapshots for key in snapshot.values} <= {"messages", "documents"}
    # The thread is the conversation: what was said in it supports what is said in it, and nothing elsewhere.
    assert [(report.conversation_id, report.turn_index, report.findings[0].label) for report in reports] == [
        ("talk", 1, Label.VERIFIED),
        ("another", 1, Label.LACKING_EVIDENCE),
        ("talk", 3, Label.VERIFIED),
    ]
    assert await _known(knowledge, "talk") == [TRUTH, "It opened in 1925."]
    assert await _known(knowledge, "another") == []
    assert judge.asked == [TRUTH, AGAIN, AGAIN]


@pytest.mark.parametrize("on_block", ["replace", "raise"])
async def test_a_withheld_draft_is_nowhere_in_the_database(
    database: Database, on_block: str, knowledge: MemoryKnowledge
) -> None:
    async with database.open() as saver:
        graph = guarded(guard_with(script(), knowledge, "strict"), saver, on_block=on_block)
        await ask(database, graph, "When did it open?")
        if on_block == "raise":
            with pytest.raises(Blocked):
                await ask(database, graph, "And under whom?")
        else:
            texts = await ask(database, graph, "And under whom?")
            assert texts == ["When did it open?", TRUTH, "And under whom?", MESSAGE]
        told = repr(await history(database, graph))
    rows = database.dump()
    assert "Zubrowka" not in told
    assert b"Zubrowka" not in rows
    assert (TRUTH.encode() in rows, b"And under whom?" in rows, MESSAGE.encode() in rows) == (
        True,
        True,
        on_block == "replace",
    )
    assert await _known(knowledge, "talk") == [TRUTH]


async def test_nor_is_a_draft_that_was_written_anew(database: Database, knowledge: MemoryKnowledge) -> None:
    judge = script(**{LIE: [Verdict(LIE, Label.LACKING_EVIDENCE)]})
    drafts = iter([LIE, TRUTH])
    async with database.open() as saver:
        guard = guard_with(judge, knowledge, "strict")
        graph = guard.graph(lambda messages: next(drafts), checkpointer=saver, documents=lambda draft: [NOTES])
        assert await ask(database, graph, "When did it open?") == ["When did it open?", TRUTH]
    rows = database.dump()
    assert TRUTH.encode() in rows
    assert b"Zubrowka" not in rows
    assert b"your last draft" not in rows.lower()


@pytest.mark.parametrize("kept", [True, False], ids=["knowledge kept", "knowledge lost"])
async def test_another_process_goes_on(database: Database, kept: bool, tmp_path: Path) -> None:
    async def turn(question: str) -> tuple[list[str], TurnReport, list[str]]:
        reports: list[TurnReport] = []
        judge = script()
        knowledge: ChromaKnowledge | MemoryKnowledge = MemoryKnowledge(WordEmbedder())
        if kept:
            knowledge = ChromaKnowledge(chroma_client(str(tmp_path / "chroma")), WordEmbedder())
        async with database.open() as saver:
            texts = await ask(
                database, guarded(Guard(judge, knowledge=knowledge), saver, on_report=reports.append), question
            )
        await knowledge.aclose()
        return texts, reports[0], judge.asked

    await turn("When did it open?")
    texts, report, asked = await turn("When again?")
    assert texts == ["When did it open?", TRUTH, "When again?", AGAIN]
    assert (report.conversation_id, report.turn_index) == ("talk", 3)
    # An earlier turn that nobody knows of is judged once more; without its documents it is not believed.
    assert asked == ([AGAIN] if kept else [TRUTH, AGAIN])
    assert [finding.label for finding in report.findings] == [Label.VERIFIED if kept else Label.LACKING_EVIDENCE]


@pytest.mark.parametrize("memory", [None, True], ids=["for the run", "of its own"])
async def test_a_part_of_a_graph_with_a_checkpointer(
    database: Database, memory: Any, knowledge: MemoryKnowledge
) -> None:
    judge = script()
    outer = StateGraph(MessagesState)
    outer.add_node("guarded", guarded(guard_with(judge, knowledge), memory))
    outer.add_edge(START, "guarded")
    async with database.open() as saver:
        graph = outer.compile(checkpointer=saver)
        for question in SAID:
            texts = await ask(database, graph, question)
        snapshots = await history(database, graph)
    assert texts == ["When did it open?", TRUTH, "When again?", AGAIN, "And under whom?", MESSAGE]
    assert _texts(snapshots[-1].values) == texts
    rows = database.dump()
    assert (TRUTH.encode() in rows, b"Zubrowka" in rows) == (True, False)
    assert judge.asked == [TRUTH, AGAIN, LIE]
    assert await _known(knowledge, "talk") == [TRUTH, "It opened in 1925."]


async def test_called_by_a_node_of_a_graph_with_a_checkpointer(database: Database, knowledge: MemoryKnowledge) -> None:
    inner = guarded(guard_with(script(), knowledge))

    def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": inner.invoke({"messages": state["messages"]})["messages"][-1:]}

    async def anode(state: MessagesState) -> dict[str, Any]:
        return {"messages": (await inner.ainvoke({"messages": state["messages"]}))["messages"][-1:]}

    outer = StateGraph(MessagesState)
    outer.add_node("guarded", anode if database.is_async else node)
    outer.add_edge(START, "guarded")
    async with database.open() as saver:
        graph = outer.compile(checkpointer=saver)
        for question in SAID:
            texts = await ask(database, graph, question)
    assert texts == ["When did it open?", TRUTH, "When again?", AGAIN, "And under whom?", MESSAGE]
    rows = database.dump()
    assert (TRUTH.encode() in rows, b"Zubrowka" in rows) == (True, False)
    assert await _known(knowledge, "talk") == [TRUTH, "It opened in 1925."]
