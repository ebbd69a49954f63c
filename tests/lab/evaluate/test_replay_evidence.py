"""Evidence of a log: read as the proxy reads it, and said first where there is none."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from vista_guard.cli import app
from vista_guard.openai_api.wire import read_chat
from vista_guard.reading.chat_json import PATTERNS, to_conversation
from vista_guard.stores.reports import ReportReader
from vista_guard.stores.reports.store import Reason
from vista_guard.stores.reviews.queue import Reviews, ReviewVerdict
from vista_guard.types import TurnReport
from vista_lab.logs.formats import open_entries

HALL = "The whale hall opened in 1925."


@pytest.fixture(autouse=True)
def _nothing_configured(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)


def chat(system: str, **more: Any) -> dict[str, Any]:
    said = [("system", system), ("user", "When did the whale hall open?"), ("assistant", HALL)]
    return {"messages": [{"role": role, "content": text} for role, text in said], **more}


def log(*chats: Mapping[str, Any]) -> Path:
    path = Path("log.jsonl")
    path.write_text("".join(f"{json.dumps(chat)}\n" for chat in chats), encoding="utf-8")
    return path


def replay(*chats: Mapping[str, Any]) -> tuple[Result, list[TurnReport]]:
    log(*chats)
    result = CliRunner().invoke(app, ["replay", "log.jsonl", "--out", "out.jsonl"])
    lines = Path("out.jsonl").read_text(encoding="utf-8").splitlines()
    reports = [TurnReport.model_validate_json(line) for line in lines if '"decision"' in line]
    return result, sorted(reports, key=lambda report: str(report.conversation_id))


SYSTEMS = [
    f"<context>{HALL}</context>\nAnswer from the context.",
    f"<documents>\n{HALL}\n</documents>",
    f"You are a guide.\n\nContext:\n{HALL}",
    f"Sources:\n{HALL}\n\nQuestion: answer briefly.",
]


def test_blocks_of_system_messages_are_evidence_as_in_the_proxy() -> None:
    result, reports = replay(*(chat(SYSTEMS[number % len(SYSTEMS)]) for number in range(12)))
    assert (result.exit_code, "bring no documents" in result.stderr) == (0, False)
    assert [(report.evidence_missing, report.score) for report in reports] == [(False, 1.0)] * 12
    for system in SYSTEMS:
        messages = chat(system)["messages"]
        *_, turn = to_conversation(messages).turns
        assert turn.documents == read_chat({"messages": messages[:-1]}, PATTERNS).grounds()


def test_turns_without_evidence_are_said_first_with_the_field_that_may_hold_it() -> None:
    bare = chat("Be brief.", context=HALL, metadata={"retrieved_chunks": [{"body": HALL}]})
    result, reports = replay(bare, chat(SYSTEMS[0]))
    first, second, *_ = result.stderr.splitlines()
    assert first.startswith("1 of 2 assistant turns bring no documents")
    assert "system messages" not in second
    # What another chat's block says is known; each field is compared by its text.
    assert [report.evidence_missing for report in reports] == [True, False]


@pytest.mark.parametrize(
    ("given", "seen"),
    [
        ({"context": "Oak."}, "context;"),
        ({"metadata": {"retrieved_chunks": [{"body": "Oak."}]}}, "metadata.retrieved_chunks;"),
        ({"metadata": json.dumps({"sources": ["Oak."]})}, "metadata.sources;"),
        ({"context": ""}, "no field that looks like evidence;"),
        ({"contexts": [], "lang": "en"}, "no field that looks like evidence;"),
    ],
)
def test_fields_are_named_by_their_place(given: Mapping[str, Any], seen: str) -> None:
    _, second = open_entries(log(chat("Be brief.", **given))).hints
    assert f"documents: {seen}" in second


def test_a_document_that_says_there_is_none_is_no_unread_one() -> None:
    turns = [
        {"role": "user", "utterance": "When?"},
        {"role": "assistant", "utterance": HALL, "retrieved_document": "N/A"},
    ]
    Path("talks.json").write_text(json.dumps([turns]), encoding="utf-8")
    _, second = open_entries(Path("talks.json")).hints
    assert "no field that looks like evidence;" in second


def test_a_long_prompt_may_hold_it() -> None:
    _, second = open_entries(log(chat("You guide through the museum. " * 20))).hints
    assert "system messages without a <context> block" in second


def test_texts_in_a_users_message_are_not_evidence_and_said() -> None:
    asking = chat("Be brief.")
    asking["messages"][1]["content"] = f"Use this context:\n{HALL * 9}\n\nQuestion: when did the hall open?"
    _, second = open_entries(log(asking)).hints
    assert "user messages that bring texts" in second


def test_names_of_files_are_no_documents() -> None:
    (hint,) = open_entries(log(chat("Be brief.", documents=["halls.pdf"]), chat("", documents=[HALL]))).hints
    assert hint.startswith("1 of 2 assistant turns")
    assert "'halls.pdf'" in hint
    assert open_entries(log(chat("", documents=["鲸鱼馆于1925年开放。"]))).hints == []


def test_a_log_that_is_newest_first_is_said() -> None:
    back = chat("Be brief.", documents=[HALL])
    back["messages"].reverse()
    (hint,) = open_entries(log(back, back)).hints
    assert "newest first" in hint
    assert open_entries(log(back, chat("Be brief.", documents=[HALL]))).hints == []


def told(chats: Sequence[Mapping[str, Any]]) -> list[str]:
    return open_entries(log(*chats)).hints


def test_nothing_is_said_of_a_log_with_documents() -> None:
    assert told([chat("Be brief.", documents=[HALL])] * 3) == []


def test_the_first_table_says_whose_decisions_it_shows() -> None:
    log(chat(SYSTEMS[0]))
    two = CliRunner().invoke(
        app, ["replay", "log.jsonl", "--out", "o.jsonl", "--policy", "balanced", "--against", "strict"]
    )
    assert "decisions of the policy monitor" in " ".join(two.stdout.split("┏")[0].split())
    one = CliRunner().invoke(app, ["replay", "log.jsonl", "--out", "p.jsonl"])
    assert one.stdout.split("┏")[0].strip() == "replay"


def test_flagged_turns_of_a_replay_can_be_reviewed_and_come_back_as_its_labels(tmp_path: Path) -> None:
    Path("vista-guard.toml").write_text('reports = "sqlite"\nrecord = "full"\n', encoding="utf-8")
    wrong = chat(SYSTEMS[0])
    wrong["messages"][-1]["content"] = "The whale hall opened in 1850."
    log(wrong, chat(SYSTEMS[0]))
    command = ["replay", "log.jsonl", "--out", "out.jsonl"]
    assert CliRunner().invoke(app, [*command, "--reports", "sqlite:///kept.sqlite"]).exit_code == 0
    reviews = Reviews("sqlite:///kept.sqlite")
    (flagged,) = reviews.queue(Reason.FLAGGED).rows
    reviews.decide(flagged.report_id, "ada", ReviewVerdict.UPHELD, "It opened in 1925.")
    reviews.close()
    export = ["reviews", "export", "reviewed.jsonl", "--labels", "labels.jsonl", "--reports", "sqlite:///kept.sqlite"]
    assert CliRunner().invoke(app, export).exit_code == 0
    (label,) = map(json.loads, Path("labels.jsonl").read_text(encoding="utf-8").splitlines())
    assert (label["conversation_id"], label["turn_index"], label["fine"]) == ("line-1", 2, False)
    with closing(ReportReader("sqlite:///kept.sqlite")) as reader:
        assert {kept.texts.user_text for kept in reader.reports() if kept.texts} == {"When did the whale hall open?"}
    compared = CliRunner().invoke(app, [*command, "--against", "strict", "--labels", "labels.jsonl"])
    assert compared.exit_code == 0, compared.stderr
