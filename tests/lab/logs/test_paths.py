"""`--columns` into lists and nested objects, and what is said where a path leads nowhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.lab.logs.rows import broken, read, turns, written
from tests.raising import raises
from vista_guard.errors import ConfigError, InputError
from vista_lab.logs.formats import Columns, LoggedConversation, detect, read_log
from vista_lab.logs.paths import steps, value_at

ASKED, LONG, GUIDE = "How long is the pier?", "It is 310 m long.", "The pier is 310 m long."
TRAJ = [{"role": "user", "content": ASKED}, {"role": "assistant", "content": LONG}]
ROW: dict[str, Any] = {"task": 7, "traj": TRAJ, "info": {"ctxs": [{"body": {"text": GUIDE}}], "hallucination": "yes"}}
GROUNDED = {"line-1": [("user", ASKED, ()), ("assistant", LONG, (GUIDE,))]}


@pytest.mark.parametrize(
    "columns",
    [
        "question=traj[0].content,answer=traj[-1].content,documents=info.ctxs[*].body.text",
        "question=traj[0],answer=traj[-1],documents=info.ctxs[].body",
        "messages=traj,documents=info.ctxs[0].body",
    ],
)
@pytest.mark.parametrize("packed", [False, True])
def test_paths_into_an_entry(tmp_path: Path, columns: str, packed: bool) -> None:
    row = {key: json.dumps(value) for key, value in ROW.items()} if packed else ROW
    assert read(written(tmp_path / "log.jsonl", [row]), columns=Columns.parse(columns)) == GROUNDED


@pytest.mark.parametrize(
    "messages",
    [
        TRAJ,
        [{"speaker": "customer", "utterance": ASKED}, {"speaker": "agent", "utterance": LONG}],
        [{"from": "human", "value": ASKED}, {"from": "gpt", "value": LONG}],
        [{"type": "human", "content": ASKED}, {"type": "ai", "content": LONG}],
        [{"role": "user", "parts": [{"text": ASKED}]}, {"role": "model", "parts": [{"text": LONG}]}],
    ],
)
def test_messages_of_many_shapes(tmp_path: Path, messages: object) -> None:
    log = written(tmp_path / "log.jsonl", [{"run": {"steps": messages}, "label": "faithful"}])
    assert read(log, columns=Columns.parse("messages=run.steps")) == {
        "line-1": [("user", ASKED, ()), ("assistant", LONG, ())]
    }


def test_labels_at_a_path_mean_what_its_last_name_says(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", [ROW])
    (entry,) = read_log(log, columns=Columns.parse("messages=traj,label=info.hallucination"))
    assert isinstance(entry, LoggedConversation)
    assert [(place, gold.positive) for place, gold in entry.gold.items()] == [(1, True)]


def test_a_column_with_dots_in_its_name_is_a_column(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", [{"in.text": ASKED, "out.text": LONG}])
    assert read(log, columns=Columns.parse("question=in.text,answer=out.text")) == {
        "line-1": [("user", ASKED, ()), ("assistant", LONG, ())]
    }


def test_an_entry_without_a_place_is_told(tmp_path: Path) -> None:
    rows = [ROW, {**ROW, "traj": []}, {**ROW, "info": {}}]
    log, columns = (
        written(tmp_path / "log.jsonl", rows),
        Columns.parse("answer=traj[-1].content,documents=info.ctxs[0].body"),
    )
    assert broken(log, columns=columns) == ["line 2: has nothing at traj[-1].content: there is no -1 in 0 items"]
    first, last = (entry for entry in read_log(log, columns=columns) if isinstance(entry, LoggedConversation))
    assert turns(last.conversation) == [("assistant", LONG, ())]
    assert [omission.what for omission in (*first.omissions, *last.omissions)] == ["no documents at info.ctxs[0].body"]


def test_the_error_names_the_keys_that_hold_messages(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", [{"task": 7, "out": {"traj": TRAJ}}])
    for columns in (None, Columns.parse("question=task"), Columns.parse("answer=nowhere")):
        with pytest.raises((ConfigError, InputError)) as raised:
            list(read_log(log, columns=columns))
        assert "out.traj holds messages: --columns messages=out.traj" in str(raised.value)
        assert "answer=out.traj[-1].content" in str(raised.value)


@pytest.mark.parametrize("path", ["[0]", "a[x]", "a[", "a..b", "a[0]]", "."])
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(ConfigError):
        steps(path)


def test_steps() -> None:
    assert steps("a.b[-1][2].c d[]") == ("a", "b", -1, 2, "c d", None)
    assert value_at({"a": [{"b": 1}, {"b": 2}]}, "a[*].b") == [1, 2]
    with pytest.raises(InputError):
        value_at({"a": 1}, "b")


def test_detection_is_as_before(tmp_path: Path) -> None:
    assert detect(written(tmp_path / "log.jsonl", [{"question": ASKED, "answer": LONG}])).name == "csv"


SAID = [
    {"m": {"t": "A", "id": 1}, "who": "user", "text": ASKED},
    {"m": {"t": "A", "id": 2}, "who": "bot", "text": LONG, "docs": [GUIDE]},
]
"""A row each; only the bot's has documents."""
MAP = "role=who,content=text,documents=docs,conversation="


@pytest.mark.parametrize("packed", [False, True])
def test_a_path_to_the_conversation_keeps_its_rows_together(tmp_path: Path, packed: bool) -> None:
    rows = [{**row, "m": json.dumps(row["m"])} for row in SAID] if packed else SAID
    found = read(written(tmp_path / "log.jsonl", rows), columns=Columns.parse(f"{MAP}m.t"))
    assert found == {"A": GROUNDED["line-1"]}


def test_a_wrong_path_to_the_conversation_is_told(tmp_path: Path) -> None:
    why = "has nothing at m.x: there is no 'x' in the keys t, id"
    log = written(tmp_path / "log.jsonl", SAID)
    assert broken(log, columns=Columns.parse(f"{MAP}m.x")) == [f"line {line}: {why}" for line in (1, 2)]


def test_a_row_with_an_id_at_a_path_is_read_once(tmp_path: Path) -> None:
    log, columns = written(tmp_path / "log.jsonl", [*SAID, SAID[1]]), Columns.parse(f"{MAP}m.t,id=m.id")
    assert broken(log, columns=columns) == ["line 3: has the id 2 of line 2 again; the first one is used"]


def test_a_column_that_no_row_has_is_told(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", SAID)
    (entry,) = read_log(log, columns=Columns.parse(f"{MAP.replace('docs', 'dosc')}m.t"))
    assert isinstance(entry, LoggedConversation)
    assert [omission.what for omission in entry.omissions] == ["no documents at dosc"]
    with raises(ConfigError, "log.jsonl", "txt"):
        read(log, columns=Columns.parse("conversation=m.t,role=who,content=txt"))
