"""Files as exporters and spreadsheets write them: nothing of them is left out without a word."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.lab.logs.rows import broken, read, run, written
from tests.raising import raises
from vista_guard.errors import InputError
from vista_lab.logs.formats import LoggedConversation, count, read_log
from vista_lab.logs.notes import ReadingNotes
from vista_lab.runs.loop import ClaimsMode, wanted_turns
from vista_lab.runs.plan import of_log

ASKED, LONG, GUIDE = "How long?", "It is 310 m long.", "The pier is 310 m long."
TALK = [("user", ASKED, ()), ("assistant", LONG, ())]
GROUNDED = [("user", ASKED, ()), ("assistant", LONG, (GUIDE,))]
MESSAGES = [{"role": "user", "content": ASKED}]
RESPONSE: list[dict[str, Any]] = [
    {"type": "reasoning", "summary": []},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": LONG, "annotations": []}]},
]
CHOICES = [{"index": 0, "message": {"role": "assistant", "content": LONG, "tool_calls": None}, "finish_reason": "stop"}]


@pytest.mark.parametrize(
    "row",
    [
        {"object": "chat.completion", "choices": CHOICES, "messages": MESSAGES, "metadata": {}},
        {
            "request": {"model": "m", "messages": MESSAGES},
            "response": {"object": "chat.completion", "choices": CHOICES},
        },
        {"request": json.dumps({"messages": MESSAGES}), "response": json.dumps({"choices": CHOICES})},
        {"messages": MESSAGES, "response": LONG},
        {"messages": json.dumps(MESSAGES), "response": LONG},
        {"messages": json.dumps(MESSAGES), "choices": json.dumps(CHOICES)},
        {"messages": [*MESSAGES, {"role": "assistant", "content": LONG}], "choices": CHOICES},
        {"object": "response", "input": MESSAGES, "output": RESPONSE},
        {"request": {"model": "m", "input": ASKED}, "response": {"object": "response", "output": RESPONSE}},
        {"prompt": MESSAGES, "chosen": [CHOICES[0]["message"]], "rejected": []},
        {"instruction": ASKED, "input": "", "output": LONG},
    ],
    ids=[
        "stored completion",
        "request and response",
        "request and response as texts",
        "text beside messages",
        "text beside messages as a text",
        "choices beside messages as texts",
        "said already",
        "response",
        "request and response of the Responses API",
        "preferences",
        "instruction",
    ],
)
def test_an_answer_or_a_question_beside_the_messages(tmp_path: Path, row: object) -> None:
    assert read(written(tmp_path / "log.jsonl", [row])).popitem()[1] == TALK


def test_instructions_and_searched_files_ground_a_response(tmp_path: Path) -> None:
    searched = {"type": "file_search_call", "results": [{"file_id": "f1", "filename": "pier.md", "text": GUIDE}]}
    told = "Be brief. <context>The pier is old.</context>"
    row = {"instructions": told, "input": [{"role": "user", "content": ASKED}], "output": [searched, *RESPONSE]}
    (said,) = read(written(tmp_path / "log.jsonl", [row])).values()
    assert said == [
        ("system", "Be brief.", ()),
        ("user", ASKED, ()),
        ("assistant", LONG, (GUIDE, "The pier is old.")),
    ]


CITED = {
    "citations": [
        {"content": GUIDE, "title": "Guide", "url": "https://pier.example", "filepath": "a.md", "chunk_id": "0"}
    ],
    "intent": '["pier"]',
}
TOLD = {"role": "tool", "content": json.dumps(CITED)}
ANSWER = {"role": "assistant", "content": LONG}


@pytest.mark.parametrize(
    "row",
    [
        {"messages": MESSAGES, "choices": [{"message": {**ANSWER, "context": CITED}}]},
        {"request": {"messages": MESSAGES}, "response": {"choices": [{"message": {**ANSWER, "context": CITED}}]}},
        {"messages": MESSAGES, "choices": [{"message": {**ANSWER, "context": {"messages": [TOLD]}}}]},
        {"messages": MESSAGES, "choices": [{"messages": [TOLD, ANSWER]}]},
        {"messages": [*MESSAGES, {**ANSWER, "context": CITED}]},
        {"messages": [*MESSAGES, TOLD, ANSWER]},
    ],
    ids=["choices", "request and response", "first version", "extensions", "messages", "a tool's message"],
)
def test_azures_citations_of_ones_own_data_ground_the_answer(tmp_path: Path, row: object) -> None:
    (entry,) = read_log(written(tmp_path / "log.jsonl", [row]))
    assert isinstance(entry, LoggedConversation)
    (document,) = entry.conversation.turns[-1].documents
    assert (document.text, document.title, document.url) == (GUIDE, "Guide", "https://pier.example")


@pytest.mark.parametrize("found", [{"intent": "[]"}, {"intent": "[]", "citations": []}])
def test_an_answer_without_citations_and_one_after_an_answer_with_some(tmp_path: Path, found: object) -> None:
    past = [*MESSAGES, {**ANSWER, "context": CITED}, *MESSAGES]
    alone: dict[str, Any] = {"messages": [*MESSAGES, {**ANSWER, "context": found}]}
    later: dict[str, Any] = {"messages": past, "choices": [{"message": {**ANSWER, "context": found}}]}
    for row, said in ((alone, TALK), (later, [*TALK, *TALK])):
        assert list(read(written(tmp_path / "log.jsonl", [row])).values()) == [said]


def test_bedrocks_log_of_calls(tmp_path: Path) -> None:
    used = {"toolUse": {"toolUseId": "u1", "name": "search", "input": {}}}
    result = {"toolResult": {"toolUseId": "u1", "content": [{"text": GUIDE}], "status": "success"}}
    asked = [
        {"role": "user", "content": [{"text": ASKED}]},
        {"role": "assistant", "content": [used]},
        {"role": "user", "content": [result]},
    ]
    thought = {"reasoningContent": {"reasoningText": {"text": "Hm."}}}
    converse = {
        "output": {"message": {"role": "assistant", "content": [thought, {"text": LONG}]}},
        "stopReason": "end_turn",
    }
    claude = {"type": "message", "role": "assistant", "content": [{"type": "text", "text": LONG}]}
    system = "Be brief. <context>It is old.</context>"
    bodies = [
        ({"system": [{"text": system}], "messages": asked}, converse),
        ({"system": system, "messages": MESSAGES}, claude),
        ({"messages": MESSAGES}, json.dumps(claude)),
    ]
    rows = [
        {
            "schemaType": "ModelInvocationLog",
            "requestId": f"r{number}",
            "input": {"inputContentType": "application/json", "inputBodyJson": given},
            "output": {"outputContentType": "application/json", "outputBodyJson": body},
        }
        for number, (given, body) in enumerate(bodies)
    ]
    found = read(written(tmp_path / "log.jsonl", rows))
    assert found == {
        "r0": [("system", "Be brief.", ()), ("user", ASKED, ()), ("assistant", LONG, (GUIDE, "It is old."))],
        "r1": [("system", "Be brief.", ()), ("user", ASKED, ()), ("assistant", LONG, ("It is old.",))],
        "r2": TALK,
    }


def judged(log: Path) -> list[tuple[str, int]]:
    entries = [entry for entry in read_log(log) if isinstance(entry, LoggedConversation)]
    turns = [(str(entry.conversation.id), wanted_turns(entry, ClaimsMode.JUDGE)) for entry in entries]
    return [(name, index) for name, indices in turns for index in sorted(indices)]


def test_a_request_repeats_earlier_answers_which_are_neither_judged_again_nor_held_against_its_documents(
    tmp_path: Path,
) -> None:
    asked = [*MESSAGES, {"role": "assistant", "content": "It is old."}, *MESSAGES]
    rows = [
        {"id": "r1", "messages": MESSAGES, "response": "It is old.", "documents": ["The pier is old."]},
        {"id": "r2", "messages": asked, "choices": CHOICES, "documents": [GUIDE]},
    ]
    log = written(tmp_path / "log.jsonl", rows)
    _, second = read(log).values()
    assert second == [("user", ASKED, ()), ("assistant", "It is old.", ()), *GROUNDED]
    assert judged(log) == [("r1", 1), ("r2", 3)]
    notes = ReadingNotes()
    assert len(list(notes.listening(read_log(log)))) == notes.turns == 2
    (told,) = notes.told()
    assert "history and not judged: conversation r2 (line 2), message 1" in told


def test_a_conversation_that_is_logged_anew_after_each_turn_is_judged_once(tmp_path: Path) -> None:
    talk = [*MESSAGES, {"role": "assistant", "content": "It is old."}]
    longer = [*talk, *MESSAGES, {"role": "assistant", "content": LONG}]
    other = [*MESSAGES, {"role": "assistant", "content": "No idea."}, *longer[2:]]
    rows = [{"conversation_id": "c", "messages": messages} for messages in (talk, longer, [*longer, *talk], other)]
    log = written(tmp_path / "log.jsonl", rows)
    assert judged(log) == [("c", 1), ("c#2", 3), ("c#3", 5), ("c#4", 1), ("c#4", 3)]


def test_an_object_is_no_text_of_a_table(tmp_path: Path) -> None:
    log = written(tmp_path / "batch.jsonl", [{"custom_id": "r1", "response": {"body": {"choices": CHOICES}}}])
    assert broken(log)[0].startswith("line 1: has \"{'body': {'choices': ")
    assert "name the column that holds the text with --columns" in broken(log)[0]


OBSERVATIONS: list[dict[str, Any]] = [
    {"id": "o1", "traceId": "t1", "type": "GENERATION", "startTime": "2026-11-02T09:00:01.000Z", "sessionId": "visit"},
    {"id": "o2", "traceId": "t1", "type": "RETRIEVER", "startTime": "2026-11-02T09:00:00.000Z", "sessionId": "visit"},
]
OBSERVATIONS[0] |= {"input": ASKED, "output": LONG}
OBSERVATIONS[1] |= {"input": ASKED, "output": [{"content": GUIDE}]}


@pytest.mark.parametrize("indent", [None, 1])
def test_pages_of_an_api_are_their_items(tmp_path: Path, indent: int | None) -> None:
    log = tmp_path / "page.json"
    log.write_text(json.dumps({"data": OBSERVATIONS, "meta": {"page": 1}}, indent=indent), encoding="utf-8")
    assert read(log) == {"visit": GROUNDED}
    item = {"datasource_item": {"context": GUIDE}, "sample": {"input": MESSAGES, "output": [CHOICES[0]["message"]]}}
    log.write_text(
        json.dumps({"object": "list", "data": [item, item], "has_more": False}, indent=indent), encoding="utf-8"
    )
    assert list(read(log).values()) == [GROUNDED, GROUNDED]
    assert count(log) == 2


def test_the_csv_of_langfuses_pages_where_each_cell_is_json(tmp_path: Path) -> None:
    def cell(value: object) -> str:
        return '"' + json.dumps(value).replace('"', '""') + '"'

    lines = [
        ",".join(f'"{name}"' for name in OBSERVATIONS[0]),
        *(",".join(map(cell, o.values())) for o in OBSERVATIONS),
    ]
    log = tmp_path / "observations.csv"
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert read(log) == {"visit": GROUNDED}


def test_a_data_frame_of_phoenix_as_csv_is_refused_rather_than_read_without_its_documents(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    rows: list[dict[str, object]] = [
        {"context.span_id": "s1", "context.trace_id": "t", "span_kind": "CHAIN", "attributes.output.value": LONG},
        {"context.span_id": "s2", "context.trace_id": "t", "span_kind": "RETRIEVER", "parent_id": "s1"},
    ]
    rows[1] |= {"attributes.retrieval.documents": [{"document.content": GUIDE}]}
    log = tmp_path / "spans.csv"
    pandas.DataFrame(rows).to_csv(log, index=False)
    assert read(written(tmp_path / "spans.jsonl", rows)) == {"t": [("assistant", LONG, (GUIDE,))]}
    first, second = broken(log)
    assert first.startswith("line 3: has documents as a text that is not JSON")
    assert "to_parquet" in first
    assert second == f"line 2: thread t is not judged, as {log} line 3 cannot be read; mend that first"


def test_a_conversation_with_a_row_that_cannot_be_read_is_not_judged_in_part(tmp_path: Path) -> None:
    log = tmp_path / "talks.csv"
    rows = [
        "conversation,role,content,time",
        "a,user,How long?,yesterday",
        f"a,assistant,{LONG},2026-11-02 09:00:00 UTC",
    ]
    log.write_text("\n".join([*rows, "b,user,How long?,2026-11-02", f"b,assistant,{LONG},2026-11-03", ""]), "utf-8")
    found = [one.conversation.id for one in read_log(log) if hasattr(one, "conversation")]
    assert found == ["b"]
    assert broken(log)[1] == "conversation a: is not judged, as its line 2 cannot be read; mend that first"
    log.write_text(log.read_text("utf-8").replace("yesterday", "2026-11-01"), encoding="utf-8")
    assert list(read(log)) == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    [
        "sep=;\r\nquestion;answer\r\nHow long?;It is 310 m long.\r\n",
        "\n\nquestion,answer\nHow long?,It is 310 m long.\n",
    ],
)
def test_what_spreadsheets_put_before_the_header(tmp_path: Path, text: str) -> None:
    log = tmp_path / "talks.csv"
    log.write_bytes(text.encode("utf-8-sig"))
    assert list(read(log).values()) == [TALK]


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    log = tmp_path / "talks.csv"
    log.write_text("question,answer,answer\nHow long?,a,b\n", encoding="utf-8")
    with raises(InputError, "talks.csv", "answer"):
        list(read_log(log))


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        (b"\x28\xb5\x2f\xfd\x24\x00", ()),
        (bz2.compress(b"{}"), ("bzip2",)),
        (b"PK\x03\x04\x14\x00", ("Excel",)),
        (gzip.compress(b"PAR1....", mtime=0), ("Parquet",)),
    ],
)
def test_files_that_are_not_read_are_called_what_they_are(tmp_path: Path, raw: bytes, said: tuple[str, ...]) -> None:
    log = tmp_path / "log"
    log.write_bytes(raw)
    with raises(InputError, *said):
        list(read_log(log))


@pytest.mark.parametrize("time", [math.nan, -math.inf, "nan", "1e999", 10**30])
def test_times_that_are_none(tmp_path: Path, time: object) -> None:
    log = written(tmp_path / "runs.jsonl", [run("a", "chain", {"input": ASKED}, {"output": LONG}, start_time=time)])
    assert broken(log)[0].startswith("line 1: has the time ")


def test_parts_and_paths_of_another_shape(tmp_path: Path) -> None:
    odd = {"lc": 1, "id": 1.5, "kwargs": {"content": [5, "x"], "type": "ai"}}
    rows = [
        run("a", "chain", {"messages": [odd]}, {"output": LONG}),
        run("b", "tool", {}, {"role": "tool", "content": [7, LONG]}),
        run("c", "chain", {"input": ASKED}, {"role": "assistant", "content": [7, {"text": LONG}]}),
    ]
    entries = list(read_log(written(tmp_path / "runs.jsonl", rows)))
    assert len(entries) == 3


@pytest.mark.parametrize("blank", [",,", " , ,\t", ","])
def test_blank_rows_of_a_spreadsheet_are_no_rows(tmp_path: Path, blank: str) -> None:
    log = tmp_path / "sheet.csv"
    log.write_text(f"question,answer,documents\n{blank}\n{ASKED},{LONG},{GUIDE}\n{blank}\n{blank}\n", encoding="utf-8")
    assert (read(log), count(log)) == ({"line-3": GROUNDED}, 1)


def test_blank_rows_of_a_parquet_table_are_no_rows(tmp_path: Path) -> None:
    from pyarrow import Table
    from pyarrow.parquet import write_table

    log, row = tmp_path / "sheet.parquet", {"question": ASKED, "answer": LONG, "documents": GUIDE}
    write_table(Table.from_pylist([row, dict.fromkeys(row)]), log)
    assert read(log) == {"row-1": GROUNDED}


def test_a_table_in_memory_is_closed_by_its_opener() -> None:
    from vista_lab.logs.source import csv_rows

    file = io.BytesIO(b"sep=,\na,b\n1,2\n")
    assert list(csv_rows(file, ",")) == [(3, {"a": "1", "b": "2"})]
    assert not file.closed


def test_a_file_of_a_folder_that_cannot_be_read_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    for name in ("a", "c"):
        written(tmp_path / f"{name}.jsonl", [{"id": name, "messages": [*MESSAGES, CHOICES[0]["message"]]}])
    (tmp_path / "b.jsonl").write_bytes(b"")
    (tmp_path / "d.json").write_bytes(b'[{"id": "d", ')
    entries = list(read_log(tmp_path))
    assert [one.conversation.id for one in entries if hasattr(one, "conversation")] == ["a", "c"]
    first, second = broken(tmp_path)
    assert first == "/b.jsonl: is empty; expected a JSON list or one JSON object a line"
    assert second.startswith("/d.json: starts like a JSON list but is not JSON")
    assert count(tmp_path) == 4


def test_a_log_by_a_relative_path_has_its_folders_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "a.jsonl", [{"messages": MESSAGES}])
    monkeypatch.chdir(tmp_path)
    assert of_log(Path()).name == tmp_path.name


@pytest.mark.parametrize("begun", ['{"messages": [\n', '{"id": "a",\n"messages": [', '{\n"messages": ['])
def test_one_object_over_several_lines(tmp_path: Path, begun: str) -> None:
    log = tmp_path / "log.json"
    said = ",\n".join(map(json.dumps, [*MESSAGES, CHOICES[0]["message"]]))
    log.write_text(f"{begun}{said}\n]}}\n", encoding="utf-8")
    assert list(read(log).values()) == [TALK]
