"""LangSmith's runs: threads out of traces, whatever their order and their messages' shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from uuid import UUID

from langchain_core.documents import Document
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langchain_core.tools import tool
from langchain_core.tracers.run_collector import RunCollectorCallbackHandler
from langsmith.schemas import Run

from tests.lab.logs.rows import broken, read, run, written
from tests.raising import raises
from vista_lab.logs.formats import detect, named

DOCUMENT = {"page_content": "The pier is 310 m long.", "metadata": {"source": "guide.md"}, "type": "Document"}
LONG = ("assistant", "It is 310 m long.", ("The pier is 310 m long.",))


def exchange(
    name: str, question: str, answer: str, *, thread: str | None = "visit", at: int = 0
) -> list[dict[str, Any]]:
    """A chain with a retriever and a model in it."""
    child = {"trace_id": name, "parent_run_id": name, "at": at}
    return [
        run(name, "chain", {"question": question}, {"answer": answer}, thread=thread, at=at),
        run(f"{name}.r", "retriever", {"query": question}, {"documents": [DOCUMENT]}, **child),
        run(f"{name}.m", "llm", {"messages": [["human", question]]}, {"generations": [[{"text": answer}]]}, **child),
    ]


def test_traces_of_a_thread_come_together_by_time_in_any_order(tmp_path: Path) -> None:
    rows = [
        *exchange("b", "And wide?", "It is 8 m wide.", at=5),
        *exchange("a", "How long?", "It is 310 m long.", at=1),
    ]
    alone = exchange("z", "Hello?", "Hello.", thread=None, at=3)
    log = written(tmp_path / "runs.jsonl", [*rows, *alone])
    assert detect(log) is named("langsmith")
    found = read(log)
    assert found == {
        "visit": [
            ("user", "How long?", ()),
            LONG,
            ("user", "And wide?", ()),
            ("assistant", "It is 8 m wide.", ("The pier is 310 m long.",)),
        ],
        "z": [("user", "Hello?", ()), ("assistant", "Hello.", ("The pier is 310 m long.",))],
    }
    assert read(written(tmp_path / "turned.jsonl", reversed([*rows, *alone])))["visit"] == found["visit"]
    listed = tmp_path / "runs.json"
    listed.write_text(json.dumps([*rows, *alone]), encoding="utf-8")
    assert read(listed) == found


def test_runs_as_the_sdk_writes_them(tmp_path: Path) -> None:
    whole = Run(
        **{
            **exchange("a", "How long?", "It is 310 m long.")[0],
            "id": UUID(int=1),
            "trace_id": UUID(int=1),
            "session_id": UUID(int=9),
            "dotted_order": "20261102T090000000000Z",
        },
    )
    log = tmp_path / "runs.jsonl"
    log.write_text(f"{whole.model_dump_json()}\n", encoding="utf-8")
    assert read(log) == {"visit": [("user", "How long?", ()), ("assistant", "It is 310 m long.", ())]}


def test_runs_as_the_sdks_new_queries_give_them(tmp_path: Path) -> None:
    from langsmith.types.run import Run as QueriedRun

    rows = []
    for row in exchange("a", "How long?", "It is 310 m long."):
        parents = [row["parent_run_id"]] if row["parent_run_id"] else []
        kept = {key: row[key] for key in ("id", "trace_id", "start_time", "inputs", "outputs")}
        given = {**kept, "run_type": row["run_type"].upper(), "parent_run_ids": parents, "thread_id": "visit"}
        rows.append(json.loads(QueriedRun.construct(**given).to_json()))
    assert read(written(tmp_path / "runs.jsonl", rows)) == {"visit": [("user", "How long?", ()), LONG]}


def test_an_agents_state_with_its_whole_past_is_not_said_twice(tmp_path: Path) -> None:
    first = [HumanMessage("How long?"), AIMessage("", tool_calls=[{"name": "search", "args": {}, "id": "c1"}])]
    first += [ToolMessage("The pier is 310 m long.", tool_call_id="c1"), AIMessage("It is 310 m long.")]
    second = [*first, HumanMessage("How long?"), AIMessage("As I said, 310 m.")]
    rows = [
        run("a", "chain", {"messages": dumpd(first[:1])}, {"messages": dumpd(first)}, thread="t", at=1),
        run("a.t", "tool", {"input": "pier"}, {"output": dumpd(first[2])}, trace_id="a", parent_run_id="a", at=1),
        run("b", "chain", {"messages": dumpd(second[4:5])}, {"messages": dumpd(second)}, thread="t", at=2),
    ]
    assert read(written(tmp_path / "runs.jsonl", rows)) == {
        "t": [("user", "How long?", ()), LONG, ("user", "How long?", ()), ("assistant", "As I said, 310 m.", ())]
    }


def test_a_past_that_is_sent_again_under_another_system_message(tmp_path: Path) -> None:
    said = [HumanMessage("How long?"), AIMessage("It is 310 m long."), HumanMessage("Sure?"), AIMessage("Yes.")]
    rows = [
        run(
            name,
            "llm",
            {"messages": [dumpd([SystemMessage(f"It is day {name}."), *said[:count]])]},
            {"generations": [[{"text": said[count].text, "message": dumpd(said[count])}]]},
            extra={"metadata": {"conversation_id": "t"}},
            at=count,
        )
        for name, count in (("a", 1), ("b", 3))
    ]
    spoken = [("user", "How long?", ()), ("assistant", "It is 310 m long.", ())]
    again = [("user", "Sure?", ()), ("assistant", "Yes.", ())]
    assert read(written(tmp_path / "runs.jsonl", rows)) == {
        "t": [("system", "It is day a.", ()), *spoken, ("system", "It is day b.", ()), *again]
    }
    # Without the thread's first trace its words are known from the second.
    assert read(written(tmp_path / "later.jsonl", rows[1:])) == {"t": [("system", "It is day b.", ()), *spoken, *again]}


def test_the_same_words_twice_are_two_turns(tmp_path: Path) -> None:
    rows = [run(str(at), "chain", {"input": "Open?"}, {"output": "Yes."}, thread="t", at=at) for at in (1, 2)]
    assert read(written(tmp_path / "runs.jsonl", rows)) == {"t": [("user", "Open?", ()), ("assistant", "Yes.", ())] * 2}


def test_bulk_export(tmp_path: Path) -> None:
    from pyarrow import Table
    from pyarrow.parquet import write_table

    texts = ("inputs", "outputs", "extra")
    rows = exchange("a", "How long?", "It is 310 m long.")
    packed = [{key: json.dumps(one) if key in texts else one for key, one in row.items()} for row in rows]
    folder = tmp_path / "export" / "year=2026"
    folder.mkdir(parents=True)
    write_table(Table.from_pylist(packed[:1]), folder / "1.parquet")
    write_table(Table.from_pylist(packed[1:]), folder / "2.parquet")
    assert read(tmp_path / "export") == {"visit": [("user", "How long?", ()), LONG]}
    damaged = tmp_path / "cut.parquet"
    damaged.write_bytes((folder / "1.parquet").read_bytes()[:-20])
    with raises(Exception, "cut.parquet", "Parquet"):
        read(damaged)


def test_pages_and_children(tmp_path: Path) -> None:
    root, *children = exchange("a", "How long?", "It is 310 m long.")
    log = tmp_path / "page.json"
    log.write_text(json.dumps({"runs": [{**root, "child_runs": children}]}, indent=2), encoding="utf-8")
    assert read(log) == {"visit": [("user", "How long?", ()), LONG]}


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    good = run("a", "chain", {"input": "Open?"}, {"output": "Yes."})
    rows = [
        good,
        good,
        run("c", "chain", {"input": "Open?"}, None, error="TimeoutError()"),
        {**good, "id": ""},
        {**good, "id": "e", "start_time": "soon"},
        7,
    ]
    log = written(tmp_path / "runs.jsonl", rows)
    log.write_text(log.read_text("utf-8") + '{"id": "f", "run_type": "chain", "inp', encoding="utf-8")
    assert broken(log) == [
        f"line 2: has the id a of {log} line 1 again; the first one is used",
        "line 4: is a run without an id",
        "line 5: has the time 'soon'; expected ISO 8601 or a number of seconds since 1970",
        "line 6: is not a run; expected a mapping with id, trace_id, run_type, inputs and outputs",
        "line 7: is not JSON: Unterminated string starting at: line 1 column 34 (char 33)",
        "line 3: trace c has no readable answer",
        f"line 1: thread a is not judged, as {log} line 4 cannot be read; mend that first",
    ]


class Guidebook(BaseRetriever):
    """Knows one thing."""

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(page_content="The pier is 310 m long.", metadata={"source": "guide.md"})]


@tool
def weather(city: str) -> str:
    """The weather."""
    return f"It rains in {city}."


def test_runs_of_a_real_chain_as_langchains_tracer_records_them(tmp_path: Path) -> None:
    model = GenericFakeChatModel(messages=iter([AIMessage("It is 310 m long."), AIMessage("It rains, yes.")]))

    def agent(asked: dict[str, str], config: RunnableConfig) -> dict[str, Any]:
        found = Guidebook().invoke(asked["question"], config)
        sky = weather.invoke({"city": "Hull"}, config)
        prompt = [SystemMessage(f"Use: {found[0].page_content} {sky}"), HumanMessage(asked["question"])]
        return {"answer": model.invoke(prompt, config)}

    collected = RunCollectorCallbackHandler(_schema_format="original+chat")  # as LangSmith's own tracer
    for question in ("How long?", "Does it rain?"):
        settings: RunnableConfig = {"callbacks": [collected], "metadata": {"thread_id": "visit"}}
        RunnableLambda(agent).invoke({"question": question}, settings)

    def whole(one: Any) -> list[Any]:
        return [one, *(inner for child in one.child_runs for inner in whole(child))]

    runs = [one for root in collected.traced_runs for one in whole(root)]
    assert {one.run_type for one in runs} == {"chain", "retriever", "tool", "chat_model"}
    rows = [
        json.loads(one.model_dump_json(exclude={"client", "ls_client", "parent_run", "child_runs"})) for one in runs
    ]
    brought = ("The pier is 310 m long.", "It rains in Hull.")
    said = [
        ("user", "How long?", ()),
        ("assistant", "It is 310 m long.", brought),
        ("user", "Does it rain?", ()),
        ("assistant", "It rains, yes.", brought),
    ]
    assert read(written(tmp_path / "runs.jsonl", reversed(rows))) == {"visit": said}
    # Without their roots the calls of the model tell what was said.
    (talk,) = read(written(tmp_path / "children.jsonl", [one for one in rows if one["parent_run_id"]])).values()
    assert [one for one in talk if one[0] != "system"] == said
