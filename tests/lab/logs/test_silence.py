"""No text, no turn and no document in a field that was recognised: each is told, by entry and field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.lab.logs.rows import broken, read, turns, written
from vista_guard.cli import app
from vista_lab.logs.formats import BrokenEntry, LoggedConversation, named, read_log
from vista_lab.logs.notes import ReadingNotes

ASKED, LONG, GUIDE = "How long is the pier?", "It is 310 m long.", "The pier is 310 m long."
QUESTION = {"role": "user", "content": ASKED}
SAID = [("user", ASKED, ()), ("assistant", LONG, ())]


def answered(content: object, **more: object) -> dict[str, Any]:
    return {"messages": [QUESTION, {"role": "assistant", "content": content, **more}]}


@pytest.mark.parametrize(
    "content",
    [
        LONG,
        [LONG],
        [{"type": "text", "text": LONG}],
        [{"type": "text", "value": LONG}],
        [{"type": "text", "content": LONG}],
        [{"type": "output_text", "text": LONG, "annotations": []}],
        [{"type": "text", "text": {"value": LONG, "annotations": []}}],
        [{"text": LONG}],
        {"type": "text", "text": LONG},
        [{"type": "refusal", "refusal": LONG}],
        [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": LONG}],
        [{"type": "reasoning", "text": "Hm."}, {"type": "text", "text": LONG}],
    ],
)
def test_the_text_of_content_parts(tmp_path: Path, content: object) -> None:
    assert read(written(tmp_path / "log.jsonl", [answered(content)])) == {"line-1": SAID}


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (
            answered([{"type": "chart", "data": {"bars": 3}}]),
            "message 1 (assistant) has no text that can be read: it has a",
        ),
        (answered({"type": "chart", "data": 3}), "a content part of type 'chart', keys data"),
        ({"messages": [QUESTION, {"role": "assistant", "txt": LONG}]}, "it has keys role, txt"),
        ({"messages": [{"role": "user", "body": ASKED}, {"role": "assistant", "content": LONG}]}, "message 0 (user)"),
        (answered(""), "message 1 (assistant) has no text, and there is no other answer"),
        (answered(None), "message 1 (assistant) has no text, and there is no other answer"),
        ({"messages": []}, "has no messages"),
        (
            {"conversations": [{"from": "human", "value": ASKED}, {"from": "gpt", "text": LONG}]},
            "expected a mapping with from",
        ),
        ({"query": ASKED, "response": LONG, "context": [101, 2054, 102]}, "has numbers in context (3, such as 101)"),
        (
            {"query": ASKED, "response": LONG, "context": {"body": GUIDE}},
            "item 1 of context, a dict with the keys body",
        ),
        (
            {"query": ASKED, "response": LONG, "context": [GUIDE, {"id": 3}]},
            "item 2 of context, a dict with the keys id",
        ),
        ({"question": ASKED, "answer": LONG, "documents": [101, 2054]}, "has numbers in documents (2, such as 101)"),
        ({"question": ASKED, "answer": " "}, "has no text in its column 'answer'"),
        ({"prompt": ASKED, "completion": LONG, "context": [{"page": 4}]}, "item 1 of context"),
        ({"item": {"context": [7]}, "sample": {"output": LONG}}, "has numbers in context"),
        ([{"role": "assistant", "utterance": "  "}], "turn 0 (assistant) has no text in its utterance"),
    ],
)
def test_an_entry_without_text_is_broken(tmp_path: Path, row: object, told: str) -> None:
    log = tmp_path / "log.json"
    log.write_text(json.dumps([row]), encoding="utf-8")
    (error,) = broken(log)
    assert told in error


def notes_of(log: Path) -> ReadingNotes:
    notes = ReadingNotes()
    assert not [entry for entry in notes.listening(read_log(log)) if isinstance(entry, BrokenEntry)]
    return notes


def test_what_is_left_out_is_counted_with_its_first_place(tmp_path: Path) -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.com"}}
    row = {
        "messages": [
            {"role": "user", "content": [picture, {"type": "text", "text": ASKED}]},
            answered(LONG)["messages"][1],
        ]
    }
    row["messages"] += [QUESTION, {"role": "assistant", "content": ""}]
    log = written(tmp_path / "log.jsonl", [{**row, "id": "a"}, {**row, "id": "b"}, {"id": "c", "messages": [QUESTION]}])
    assert read(log)["a"] == [*SAID, SAID[0]]
    notes = notes_of(log)
    assert (notes.conversations, notes.turns) == (3, 2)
    assert notes.told() == [
        "not read: a content part of type 'image_url', keys image_url: conversation a (line 1), message 0 (user), and 1 more",
        "an assistant's message has no text and is left out: conversation a (line 1), message 3 (assistant), and 1 more",
        "there is no assistant turn to judge: conversation c (line 3)",
    ]


def test_a_silent_message_of_a_table_leaves_labels_in_place(tmp_path: Path) -> None:
    rows = [("user", ASKED, ""), ("assistant", "", "faithful"), ("assistant", LONG, "hallucinated")]
    log = written(
        tmp_path / "log.jsonl",
        [{"conversation": "a", "role": role, "content": text, "label": label} for role, text, label in rows],
    )
    (entry,) = read_log(log)
    assert isinstance(entry, LoggedConversation)
    assert turns(entry.conversation) == SAID
    assert {place: gold.label for place, gold in entry.gold.items()} == {1: "hallucinated"}


def test_results_of_tools_in_anthropics_messages_are_documents(tmp_path: Path) -> None:
    messages = [
        QUESTION,
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "guide", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": GUIDE}]},
        {"role": "assistant", "content": [{"type": "text", "text": LONG}]},
    ]
    assert read(written(tmp_path / "log.jsonl", [{"messages": messages}])) == {
        "line-1": [SAID[0], ("assistant", LONG, (GUIDE,))]
    }


CHOSEN, REJECTED = {"role": "assistant", "content": LONG}, {"role": "assistant", "content": "It is 900 m long."}


@pytest.mark.parametrize(
    "row",
    [
        {
            "conversations": [{"from": "human", "value": ASKED}],
            "chosen": {"from": "gpt", "value": LONG},
            "rejected": {"from": "gpt", "value": REJECTED["content"]},
        },
        {"conversations": [{"from": "human", "value": ASKED}], "chosen": CHOSEN, "rejected": REJECTED},
        {"conversations": [{"from": "human", "value": ASKED}], "chosen": LONG, "rejected": REJECTED["content"]},
        {"messages": [QUESTION], "chosen": CHOSEN, "rejected": REJECTED},
        {"messages": [QUESTION, CHOSEN], "chosen": [QUESTION, CHOSEN], "rejected": [QUESTION, REJECTED]},
        {"prompt": ASKED, "chosen": LONG, "rejected": REJECTED["content"]},
        {"prompt": [QUESTION], "chosen": [CHOSEN], "rejected": [REJECTED]},
        {"chosen": [QUESTION, CHOSEN], "rejected": [QUESTION, REJECTED]},
    ],
)
def test_the_chosen_answer_or_the_rejected_one(tmp_path: Path, row: object) -> None:
    log = written(tmp_path / "log.jsonl", [row])
    assert read(log) == {"line-1": SAID}
    (entry,) = read_log(log, answer="rejected")
    assert isinstance(entry, LoggedConversation)
    assert turns(entry.conversation) == [SAID[0], ("assistant", "It is 900 m long.", ())]


def test_a_row_without_a_rejected_answer(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", [answered(LONG)])
    (entry,) = read_log(log, named("openai"), answer="rejected")
    assert isinstance(entry, BrokenEntry)
    assert entry.source == f"{log} line 1"


@pytest.mark.parametrize(
    ("row", "code", "said"),
    [
        (answered([{"type": "text", "value": LONG}]), 0, ""),
        (answered([{"type": "chart", "data": 3}]), 2, "content part of type 'chart'"),
        ({"messages": [QUESTION]}, 2, "there is no assistant turn to judge: conversation line-1 (line 1)"),
    ],
)
def test_replay_never_passes_in_silence(tmp_path: Path, row: dict[str, Any], code: int, said: str) -> None:
    log = written(tmp_path / "log.jsonl", [{**row, "documents": [GUIDE]}])
    result = CliRunner().invoke(app, ["replay", str(log), "--out", str(tmp_path / "out.jsonl")])
    assert result.exit_code == code
    assert said in result.stderr
