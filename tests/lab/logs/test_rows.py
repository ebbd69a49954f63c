"""Formats in which a row is a conversation, and tables of one's own."""

from __future__ import annotations

import gzip
import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from tests.lab.logs.rows import Said, broken, read, written
from tests.raising import raises
from vista_guard.errors import ConfigError, InputError
from vista_lab.logs.formats import Columns, LogFormat, LoggedConversation, TurnGold, count, detect, named, read_log

PIER = "The pier is 310 m long."
ASKED: Said = ("user", "How long?", ())
ASKED_FOR = "It is 310 m long."
LONG: Said = ("assistant", ASKED_FOR, (PIER,))
CHAT = [{"role": "user", "content": "How long?"}, {"role": "assistant", "content": "It is 310 m long."}]


@pytest.mark.parametrize(
    ("row", "log_format", "name"),
    [
        (
            {"item": {"id": "q1", "context": PIER}, "sample": {"input": CHAT[:1], "output": CHAT[1:], "model": "m"}},
            named("openai-evals"),
            "q1",
        ),
        (
            {
                "object": "eval.run.output_item",
                "datasource_item_id": 4,
                "datasource_item": {"question": "How long?", "documents": [{"text": PIER}]},
                "sample": {"output": CHAT[1:]},
                "results": [],
            },
            named("openai-evals"),
            "4",
        ),
        (
            {"item": {"input": "How long?", "output": "It is 310 m long.", "context": PIER}},
            named("openai-evals"),
            "line-1",
        ),
        ({"query": "How long?", "response": "It is 310 m long.", "context": PIER}, named("azure"), "line-1"),
        ({"conversation": {"messages": [CHAT[0], {**CHAT[1], "context": PIER}]}}, named("azure"), "line-1"),
        (
            {"messages": [CHAT[0], {**CHAT[1], "context": {"citations": [{"id": "1", "content": PIER}]}}], "id": "m"},
            named("azure"),
            "m",
        ),
        ({"conversation_id": "w", "conversation": CHAT, "documents": [PIER]}, named("hf"), "w"),
        ({"conversations": CHAT, "documents": [PIER]}, named("hf"), "line-1"),
        ({"prompt": CHAT[:1], "completion": CHAT[1:], "context": PIER}, named("hf"), "line-1"),
        ({"prompt": "How long?", "completion": "It is 310 m long.", "context": PIER}, named("hf"), "line-1"),
        ({"messages": CHAT, "documents": [PIER]}, named("openai"), "line-1"),
        ({"question": "How long?", "answer": "It is 310 m long.", "context": PIER}, named("csv"), "line-1"),
    ],
)
def test_a_row_is_a_conversation(tmp_path: Path, row: dict[str, Any], log_format: LogFormat, name: str) -> None:
    log = written(tmp_path / "log", [row])
    assert detect(log) is log_format
    assert read(log) == {name: [ASKED, LONG]}
    assert read(log, log_format) == {name: [ASKED, LONG]}


def test_what_an_agents_tools_answered_grounds_it(tmp_path: Path) -> None:
    call = {"type": "tool_call", "tool_call_id": "c1", "name": "search", "arguments": {"q": "pier"}}
    row = {
        "query": [{"role": "user", "content": [{"type": "text", "text": "How long?"}]}],
        "response": [
            {"role": "assistant", "content": [call]},
            {
                "role": "tool",
                "tool_call_id": "c1",
                "content": [{"type": "tool_result", "tool_result": {"metres": 310}}],
            },
            {"role": "assistant", "content": [{"type": "text", "text": "It is 310 m long."}]},
        ],
    }
    assert read(written(tmp_path / "log.jsonl", [row])) == {"line-1": [ASKED, ("assistant", LONG[1], ("metres: 310",))]}


def test_chats_in_parquet(tmp_path: Path) -> None:
    from pyarrow import Table
    from pyarrow.parquet import write_table

    log = tmp_path / "train.parquet"
    write_table(Table.from_pylist([{"prompt_id": "p", "prompt": "How long?", "messages": CHAT, "context": PIER}]), log)
    assert detect(log) is named("openai")
    assert read(log, named("hf")) == {"p": [ASKED, LONG]}
    assert count(log) == 1


def test_days_in_parquet_order_the_rows(tmp_path: Path) -> None:
    from pyarrow import Table
    from pyarrow.parquet import write_table

    rows = [{"session": "s", "date": date(2026, 11, day), "question": f"q{day}", "answer": f"a{day}"} for day in (3, 2)]
    write_table(Table.from_pylist(rows), tmp_path / "log.parquet")
    assert [text for _, text, _ in read(tmp_path / "log.parquet")["s"]] == ["q2", "a2", "q3", "a3"]


@pytest.mark.parametrize(
    ("log_format", "row", "error"),
    [
        (named("openai-evals"), {}, 'is not a row of an eval; expected {"item": {…}, "sample": {…}}'),
        (named("openai-evals"), {"item": {}, "sample": {"id": 1}}, "has no answer: its sample has the keys id"),
        (
            named("openai-evals"),
            {"item": {}, "sample": 7},
            "has the sample '7'; expected a mapping with input and output",
        ),
        (named("azure"), {}, 'is not in this format; expected {"query", "response", "context"} or {"messages": […]}'),
        (named("azure"), {"messages": [7]}, "has the message '7'; expected a mapping with role and content"),
        (named("hf"), {"text": "x"}, "has the keys text; expected messages or conversation, or prompt and completion"),
        (named("hf"), {"messages": [7]}, "message 0 is '7'; expected a mapping with role and content"),
        (
            named("hf"),
            {"messages": [{"role": "elf", "content": "x"}]},
            "message 0 has the role 'elf'; the roles are user, assistant, system, tool and usual names for them; map it: "
            "--roles elf=user, or =assistant, =system, =tool",
        ),
    ],
)
def test_a_row_that_is_none(tmp_path: Path, log_format: LogFormat, row: object, error: str) -> None:
    assert broken(written(tmp_path / "log.jsonl", [row]), log_format) == [f"line 1: {error}"]


TABLE = """\
thread;speaker;said;at;sources;verdict
b;customer;Open?;2026-11-02 09:05;;
a;bot;It is 310 m long.;2026-11-02 09:02;The pier is 310 m long.;faithful
a;customer;How long?;2026-11-02 09:01;;
b;bot;"Yes;
always.";2026-11-02 09:06;;hallucinated
"""
MAP = Columns.parse("conversation=thread,role=speaker,content=said,time=at,documents=sources,label=verdict")


@pytest.mark.parametrize("zipped", [True, False])
def test_a_table_with_a_map(tmp_path: Path, zipped: bool) -> None:
    log = tmp_path / "talks"
    log.write_bytes(gzip.compress(TABLE.encode()) if zipped else b"\xef\xbb\xbf" + TABLE.encode())
    assert read(log, columns=MAP) == {
        "b": [("user", "Open?", ()), ("assistant", "Yes;\nalways.", ())],
        "a": [ASKED, LONG],
    }
    gold = [one.gold for one in read_log(log, None, MAP) if isinstance(one, LoggedConversation)]
    assert gold == [{1: TurnGold("hallucinated", True)}, {1: TurnGold("faithful", False)}]
    assert count(log, columns=MAP) == 2


def test_a_table_with_the_usual_names_needs_no_map(tmp_path: Path) -> None:
    log = tmp_path / "talks.tsv"
    log.write_text("session_id\tRole\tText\n1\tuser\tOpen?\n1\tassistant\tYes.\n", encoding="utf-8")
    assert detect(log) is named("csv")
    assert read(log) == {"1": [("user", "Open?", ()), ("assistant", "Yes.", ())]}


def test_broken_rows_of_a_table(tmp_path: Path) -> None:
    log = tmp_path / "talks.csv"
    rows = [
        b"id,thread,role,text,time,label",
        b"1,a,user,Open?,,",
        b"1,a,user,Open?,,",
        b"2,a,elf,Yes,,",
        b"3,a,assistant",
    ]
    rows += [
        b"4,a,assistant,caf\xe9,,",
        b"5,b,user,Open?,soon,",
        b"6,b,user,Open?,,maybe",
        b"7,b,assistant,Yes.,,maybe",
    ]
    rows += [b"8,c,user,x,,", b"9,c,user,x,2026-11-02,", b'10,d,assistant,"Yes']
    log.write_bytes(b"\n".join(rows))
    found = broken(log)
    assert found[1].startswith("line 4: has the role 'elf'; the roles are user, assistant, system, tool and usual")
    assert found[5].startswith("line 9: has the label 'maybe' in column 'label'; it must be yes, no, true")
    assert found[4].startswith("line 7: has the time 'soon'; expected ISO 8601 or a number of seconds since 1970; ")
    assert [found[0], *found[2:4], *found[6:]] == [
        "line 3: has the id 1 of line 2 again; the first one is used",
        "line 5: has 3 cells, and the header has 6",
        "line 6: column 'text': byte 0xe9 at position 3 is not UTF-8",
        "line 12: is not a row of a table: a quote is opened here or below and never closed, nothing behind it is read",
        "conversation a: is not judged, as its line 4 cannot be read; mend that first",
        "conversation b: is not judged, as its line 7 cannot be read; mend that first",
        "line 10: has no time, and other rows of conversation c do",
    ]


def test_columns_that_are_not_there(tmp_path: Path) -> None:
    log = tmp_path / "talks.csv"
    log.write_text("a,b\n1,2\n", encoding="utf-8")
    with raises(ConfigError, "talks.csv", "c"):
        read(log, columns=Columns.parse("question=a,answer=c"))
    with pytest.raises(ConfigError):
        read(log, columns=Columns.parse("question=a"))
    with raises(ConfigError, "--columns", "azure"):
        read(log, named("azure"), Columns.parse("answer=a"))


@pytest.mark.parametrize("told", ["", "role", "role=", "wizard=a", "role=a,role=b"])
def test_a_map_that_makes_no_sense(told: str) -> None:
    with raises(ConfigError, "--columns"):
        Columns.parse(told)


def test_a_folder_of_logs(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    with raises(InputError, "csv", "json"):
        read(folder)
    (folder / "2.jsonl.gz").write_bytes(gzip.compress(json.dumps({"id": "b", "messages": CHAT}).encode()))
    written(folder / "1.jsonl", [{"id": "a", "messages": CHAT}, {"messages": [7]}])
    (folder / "notes.txt").write_text("not a log", encoding="utf-8")
    entries = list(read_log(folder))
    names = [one.conversation.id if isinstance(one, LoggedConversation) else one.source for one in entries]
    assert names == ["a", f"{folder} 1.jsonl line 2", "b"]
    assert count(folder) == 3


@pytest.mark.parametrize("times", [0, 1, 2])
def test_an_answer_that_is_json_of_its_whole_talk_is_read_as_the_talk(tmp_path: Path, times: int) -> None:
    tool = {"type": "tool", "content": PIER}
    talk: Any = {"messages": [{"type": "human", "content": "How long?"}, tool, {"type": "ai", "content": ASKED_FOR}]}
    plain: Any = ASKED_FOR
    for _ in range(times):
        talk, plain = json.dumps(talk), json.dumps(plain)
    rows = [{"input": "How long?", "output": talk}, {"input": "How long?", "output": plain, "documents": PIER}]
    log = written(tmp_path / "rows.jsonl", rows)
    assert read(log, named("csv")) == {"line-1": [ASKED, LONG], "line-2": [ASKED, LONG]}


def test_a_later_row_may_have_columns_that_the_first_one_lacks(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [
        {"question": "How long?", "answer": ASKED_FOR},
        {"query": "How long?", "output": ASKED_FOR, "contexts": [PIER]},
    ]
    said: list[Said] = [ASKED, LONG]
    assert read(written(tmp_path / "log", rows), named("csv"))["line-2"] == said
    told = Columns.parse("documents=ctx")
    more = [{**rows[0], "ctx": PIER}, {**rows[1], "ctx": "The pier is wide."}]
    found = read(written(tmp_path / "more", more), named("csv"), told)
    assert [documents for _, _, documents in found["line-2"][1:]] == [("The pier is wide.",)]


def test_a_list_as_pandas_writes_it_into_a_table_is_several_documents(tmp_path: Path) -> None:
    log = tmp_path / "rows.csv"
    log.write_text(
        "question,answer,contexts\n"
        f'How long?,{ASKED_FOR},"[\'The pier is wide.\', ""It\'s old.""]"\n'
        f'How long?,{ASKED_FOR},"[\'not closed"\n',
        encoding="utf-8",
    )
    found = read(log, named("csv"))
    assert [talk[-1][-1] for talk in found.values()] == [("The pier is wide.", "It's old."), ("['not closed",)]


def test_a_column_with_the_users_name_is_not_the_question(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("User,Assistant,Prompt,Output,Session ID\nana,nora,How long?,310 m.,s1\n", encoding="utf-8")
    assert read(log) == {"s1": [("user", "How long?", ()), ("assistant", "310 m.", ())]}
    log.write_text("user,assistant\nHow long?,310 m.\n", encoding="utf-8")
    assert read(log) == {"line-2": [("user", "How long?", ()), ("assistant", "310 m.", ())]}


def test_a_column_may_be_left_unread(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    rows = "chat_id,role,text,date\nc,user,How long?,10/9/2026 9:59 AM\nc,assistant,310 m.,10/10/2026 1:00 PM\n"
    log.write_text(rows, encoding="utf-8")
    assert all("--columns time=-" in error for error in broken(log)[:2])
    assert read(log, columns=Columns.parse("time=-")) == {"c": [("user", "How long?", ()), ("assistant", "310 m.", ())]}
