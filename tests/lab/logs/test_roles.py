"""Names of speakers: which are known, and how a user maps others."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.lab.logs.rows import broken, turns, written
from tests.raising import raises
from vista_guard.errors import ConfigError
from vista_lab.logs.formats import BrokenEntry, Columns, open_entries, read_log
from vista_lab.logs.roles import parse_roles, snake
from vista_lab.runs.plan import of_log

ASKED, LONG = "How long is the pier?", "It is 310 m long."
TALK = [("user", ASKED, ()), ("assistant", LONG, ())]


def chat(asks: str, answers: str) -> list[dict[str, Any]]:
    """Rows of every kind in which speakers have these names."""
    said = ((asks, ASKED), (answers, LONG))
    messages = [{"role": name, "content": text} for name, text in said]
    return [
        {"messages": messages},
        {"messages": messages[:1], "choices": [{"message": messages[1]}]},
        {"conversation": messages},
        {"conversations": [{"from": name, "value": text} for name, text in said]},
        {"id": "t", "sessionId": "s", "input": {"messages": messages[:1]}, "output": messages[1], "observations": []},
    ]


@pytest.mark.parametrize("asks", ["visitor", "End-User", "end user", "lead", "Customer", "contact"])
@pytest.mark.parametrize("answers", ["bot", "Chatbot", "virtual_agent", "business"])
def test_usual_names_of_speakers_are_known(tmp_path: Path, asks: str, answers: str) -> None:
    for row in chat(asks, answers):
        (entry,) = read_log(written(tmp_path / "log.jsonl", [row]))
        assert not isinstance(entry, BrokenEntry)
        assert turns(entry.conversation) == TALK


@pytest.mark.parametrize("number", range(5))
def test_a_user_maps_other_names(tmp_path: Path, number: int) -> None:
    log = written(tmp_path / "log.jsonl", [chat("Bot User", "operator")[number]])
    roles = parse_roles("bot user=user, operator=assistant")
    entries = [*read_log(log, roles=roles), *of_log(log, roles="bot_user=user,Operator=assistant").read()]
    entries += open_entries(log, roles=roles).entries
    assert [not isinstance(one, BrokenEntry) and turns(one.conversation) for one in entries] == [TALK] * 3


def test_a_mapped_name_may_have_a_usual_role(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", [{"messages": [{"role": "user", "content": LONG}]}])
    (entry,) = read_log(log, roles={"user": "assistant"})
    assert not isinstance(entry, BrokenEntry)
    assert turns(entry.conversation) == TALK[1:]


def test_names_in_a_column_of_any_name_and_in_json_within_a_cell(tmp_path: Path) -> None:
    roles = {"caller": "user", "kiosk": "assistant"}
    table = tmp_path / "log.csv"
    table.write_text(f"talk,who,said\na,caller,{ASKED}\na,kiosk,{LONG}\n", encoding="utf-8")
    packed = written(tmp_path / "log.jsonl", [{"messages": json.dumps(chat("caller", "kiosk")[0]["messages"])}])
    for log, columns in ((table, Columns.parse("conversation=talk,role=who,content=said")), (packed, None)):
        (entry,) = read_log(log, columns=columns, roles=roles)
        assert not isinstance(entry, BrokenEntry)
        assert turns(entry.conversation) == TALK


@pytest.mark.parametrize("number", range(4))
def test_an_unknown_name_is_told_with_its_line_and_the_option(tmp_path: Path, number: int) -> None:
    rows = [chat("user", "bot")[number], chat("user", "operator")[number]]
    (told,) = broken(written(tmp_path / "log.jsonl", rows))
    assert told.startswith("line 2: ")
    assert "'operator'" in told
    assert "--roles operator=user, or =assistant" in told


@pytest.mark.parametrize("told", ["operator", "operator=boss", "=user", "operator=assistant,", ""])
def test_what_is_no_map(told: str) -> None:
    with raises(ConfigError, "--roles", "operator=assistant"):
        parse_roles(told)


def test_keys_and_names_are_compared_without_their_spelling() -> None:
    assert {snake(name) for name in ("Session ID", "sessionId", "session-id", " SESSION_ID")} == {"session_id"}
