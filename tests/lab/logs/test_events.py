"""Exports of chat platforms: lists of events, each with its speaker, text and time in a place of its own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.lab.logs.rows import broken, read, turns, written
from vista_lab.logs.events import text_of
from vista_lab.logs.formats import Columns, LoggedConversation, detect, named, read_log
from vista_lab.logs.notes import ReadingNotes

ASKED, LONG, GUIDE = "How long is the pier?", "It is 310 m long.", "The pier is 310 m long."
TALK = [("user", ASKED, ()), ("assistant", LONG, ())]


def part(kind: str, author: str, body: str | None, at: int) -> dict[str, Any]:
    by = {"type": author, "id": "5", "name": "Ada"}
    return {"type": "conversation_part", "part_type": kind, "body": body, "created_at": 1762074000 + at, "author": by}


def chat_message(actor: str, text: str, at: int, **more: str) -> dict[str, Any]:
    parts = [{"text": {"content": text}}, {"image": {"url": "https://pier.example/a.png"}}]
    time = f"2026-11-02T09:00:0{at}.000Z"
    return {"message_parts": parts, "actor_type": actor, "message_type": "normal", "created_time": time, **more}


EXPORTS: dict[str, dict[str, Any]] = {
    "intercom": {
        "type": "conversation",
        "id": "c",
        "source": {
            "type": "conversation",
            "body": "<p>How long is <b>the</b> pier?</p>",
            "author": {"type": "lead", "name": "Ada"},
        },
        "contacts": {"type": "contact.list", "contacts": [{"type": "contact", "id": "5"}]},
        "conversation_parts": {
            "type": "conversation_part.list",
            "conversation_parts": [
                part("assignment", "bot", None, 1),
                part("comment", "bot", f"<p>{LONG}</p>", 2),
                part("note", "admin", "<p>Nice.</p>", 3),
            ],
        },
    },
    "zendesk messaging": {
        "id": "c",
        "messages": [
            {
                "author": {"type": "user", "displayName": "Ada"},
                "content": {"type": "text", "text": ASKED},
                "received": "1",
            },
            {"author": {"type": "business"}, "content": {"type": "text", "text": LONG}, "received": "2"},
        ],
    },
    "zendesk chat": {
        "id": "c",
        "history": [
            {"type": "chat.memberjoin", "name": "Ada", "sender_type": "Visitor"},
            {"type": "chat.msg", "name": "Ada", "msg": ASKED, "sender_type": "Visitor"},
            {"type": "chat.msg", "name": "Guide", "msg": LONG, "sender_type": "Agent"},
        ],
    },
    "freshchat": {
        "messages": [
            chat_message("bot", LONG, 2, conversation_id="c"),
            chat_message("user", ASKED, 1, conversation_id="c"),
            chat_message("agent", "Nice.", 3, conversation_id="c", message_type="private"),
        ],
    },
    "botpress": {
        "messages": [
            {
                "conversationId": "c",
                "createdAt": "2",
                "type": "text",
                "payload": {"text": LONG},
                "direction": "outgoing",
            },
            {
                "conversationId": "c",
                "createdAt": "1",
                "type": "text",
                "payload": {"text": ASKED},
                "direction": "incoming",
            },
        ],
    },
    "rasa": {
        "sender_id": "c",
        "latest_message": {"text": ASKED},
        "events": [
            {"event": "action", "timestamp": 1.0, "name": "action_listen", "action_text": None},
            {"event": "slot", "timestamp": 1.1, "name": "city", "value": "Rome"},
            {"event": "user", "timestamp": 2.0, "text": ASKED, "parse_data": {"text": ASKED}},
            {"event": "bot", "timestamp": 3.0, "text": LONG, "data": {"buttons": None}},
        ],
    },
    "librechat": {
        "conversationId": "c",
        "messages": [
            {
                "sender": "Ada",
                "text": ASKED,
                "isCreatedByUser": True,
                "children": [
                    {"sender": "GPT-4o", "text": "No idea.", "isCreatedByUser": False, "children": []},
                    {
                        "sender": "GPT-4o",
                        "text": "",
                        "content": [{"type": "think", "think": "Hm."}, {"type": "text", "text": LONG}],
                        "isCreatedByUser": False,
                        "children": [],
                    },
                ],
            }
        ],
    },
}


@pytest.mark.parametrize("name", EXPORTS)
@pytest.mark.parametrize("listed", [False, True])
def test_an_export_is_read(tmp_path: Path, name: str, *, listed: bool) -> None:
    log, export = tmp_path / "export.json", EXPORTS[name]
    log.write_text(json.dumps([export] if listed else export, indent=1), encoding="utf-8")
    assert detect(log) is named("csv")
    assert read(log) == {"c": TALK}


def test_what_is_no_message_is_told(tmp_path: Path) -> None:
    notes = ReadingNotes()
    list(notes.listening(read_log(written(tmp_path / "log.jsonl", [EXPORTS["intercom"]]))))
    assert notes.told() == [
        "an event without text is left out: conversation c (line 1), event 1 (bot)",
        "a note that users do not see is left out: conversation c (line 1), event 3 (admin)",
    ]


def test_one_list_holds_several_conversations(tmp_path: Path) -> None:
    messages = [{**one, "conversationId": name} for name in "ab" for one in EXPORTS["botpress"]["messages"]]
    assert read(written(tmp_path / "log.jsonl", [{"messages": messages}])) == {"a": TALK, "b": TALK}


def test_documents_of_an_event_and_beside_the_events(tmp_path: Path) -> None:
    said = [{"sender": "visitor", "text": ASKED}, {"sender": "bot", "text": LONG, "documents": [GUIDE]}]
    ((_, answer),) = read(written(tmp_path / "log.jsonl", [{"messages": said, "documents": "It is old."}])).values()
    assert answer == ("assistant", LONG, (GUIDE, "It is old."))


def test_events_beside_a_question_and_an_answer_are_not_the_conversation(tmp_path: Path) -> None:
    row = {"history": [{"sender": "visitor", "text": "Hi"}], "question": ASKED, "answer": LONG}
    assert read(written(tmp_path / "log.jsonl", [row])) == {"line-1": TALK}


def test_an_unknown_speaker_is_told_and_mapped(tmp_path: Path) -> None:
    row = {
        **EXPORTS["rasa"],
        "events": [*EXPORTS["rasa"]["events"], {"event": "kiosk", "timestamp": 4.0, "text": "Bye."}],
    }
    log = written(tmp_path / "log.jsonl", [row])
    (told,) = broken(log)
    assert told.startswith("line 1: event 4 has the role 'kiosk'; ")
    assert "--roles kiosk=user" in told
    (entry,) = read_log(log, roles={"kiosk": "assistant"})
    assert isinstance(entry, LoggedConversation)
    assert turns(entry.conversation) == [*TALK, ("assistant", "Bye.", ())]


def test_columns_name_a_list_in_any_place_and_rows_may_be_events(tmp_path: Path) -> None:
    deep = written(tmp_path / "deep.jsonl", [{"dump": {"log": EXPORTS["rasa"]["events"]}}])
    assert read(deep, columns=Columns.parse("messages=dump.log")) == {"line-1": TALK}
    flat = written(tmp_path / "flat.jsonl", EXPORTS["freshchat"]["messages"][:2])
    assert read(flat) == {"c": TALK}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("<div>It is&nbsp;old.</div>", "It is old."),
        ("<p>It is old.<br>", "It is old."),
        ("<div> is a block of HTML", "<div> is a block of HTML"),
        ("Write <b>bold</b>", "Write <b>bold</b>"),
        ([{"type": "reasoning", "text": "Hm."}, "It is old."], "It is old."),
        ({"image": "a.png"}, None),
    ],
)
def test_the_text_of_an_event(given: object, text: str | None) -> None:
    assert text_of(given) == text
