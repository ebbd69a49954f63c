"""One log, judged once, under two policies."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.lab.policies.replays import PIER, chat, judged, written
from vista_guard.settings.sources import Settings
from vista_guard.types import Action
from vista_lab.logs.formats import Columns, read_log
from vista_lab.policies import replayed as words
from vista_lab.policies.named import NamedPolicy, named_policy
from vista_lab.policies.replayed import LogNotes, decide, turns
from vista_lab.runs.gold import read_gold

Log = tuple[Path, LogNotes]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    return judged(tmp_path_factory.mktemp("log"))


def two(first: str, second: str) -> tuple[NamedPolicy, NamedPolicy]:
    settings = Settings()
    return named_policy(first, settings), named_policy(second, settings)


def test_what_each_would_have_done_turn_by_turn(log: Log) -> None:
    out, heard = log
    replayed = decide(out, heard, two("balanced", "strict"))
    done = [
        (turn.report.conversation_id, turn.report.turn_index, turn.first.action, turn.second.action)
        for turn in turns(out, heard, replayed)
    ]
    assert done == [
        ("good", 1, Action.ALLOW, Action.ALLOW),
        ("good", 3, Action.ALLOW, Action.ALLOW),
        ("bad", 1, Action.BLOCK, Action.BLOCK),
        ("bad", 3, Action.FLAG, Action.REPAIR),
        ("bad", 5, Action.FLAG, Action.BLOCK),
        ("vague", 1, Action.ALLOW, Action.ALLOW),
    ]
    first, second = replayed.found.totals
    assert list(first.actions.values()) == [3, 2, 0, 1]
    assert list(second.actions.values()) == [3, 0, 1, 2]
    assert (replayed.conversations, replayed.unjudged, replayed.unreported, replayed.fine) == (3, 1, 0, {})
    assert [turn.question for turn in turns(out, heard, replayed, ())] == []
    assert replayed.limits() == [
        words.STREAMED,
        words.ONWARDS,
        words.REPAIRS,
        "1 turns have claims that were not judged; each policy says what becomes of them.",
        "No risk was fitted for rules 1: risks that are taken as fitted decide nothing for their turns.",
    ]


def test_people_say_who_is_right(log: Log, tmp_path: Path) -> None:
    out, heard = log
    labels = tmp_path / "labels.jsonl"
    said = [("good", 1, True), ("bad", 1, False), ("bad", 3, True), ("vague", 1, False), ("gone", 1, True)]
    written(labels, [{"conversation_id": name, "turn_index": at, "fine": fine} for name, at, fine in said])
    replayed = decide(out, heard, two("balanced", "strict"), read_gold(labels))
    mild, hard = replayed.found.agreement(replayed.fine)
    assert (str(mild.false_alarms), str(hard.false_alarms)) == ("0.0 % (0.0–65.8)", "50.0 % (9.5–90.5)")
    assert (str(mild.missed), str(hard.missed)) == ("50.0 % (9.5–90.5)", "50.0 % (9.5–90.5)")
    assert "1 labels are of turns that were not reported, and are not counted." in replayed.limits()


def test_a_logs_own_word_counts_where_no_labels_are_given(tmp_path: Path) -> None:
    turn = {"role": "assistant", "utterance": PIER, "dataset": "SHORE", "conversation_id": 7}
    claims = [
        {"claim_text": PIER, "human_judgement": "verifiable"},
        {"claim_text": "It is.", "human_judgement": "contradicted"},
    ]
    log = tmp_path / "labelled.json"
    log.write_text(
        json.dumps([[{**turn, "human_claims": claims[:1]}, {**turn, "human_claims": claims}]]), encoding="utf-8"
    )
    heard = LogNotes()
    assert len(list(heard.listening(read_log(log)))) == 1
    assert {name: gold.fine for name, gold in heard.gold.items()} == {("SHORE-7", 0): True, ("SHORE-7", 1): False}
    table = tmp_path / "talks.csv"
    table.write_text(
        "question,answer,label\nHow long?,310 m,faithful\nHow wide?,310 m,hallucinated\n", encoding="utf-8"
    )
    heard = LogNotes()
    assert len(list(heard.listening(read_log(table, columns=Columns())))) == 2
    assert {name: gold.fine for name, gold in heard.gold.items()} == {("line-2", 1): True, ("line-3", 1): False}


def test_turns_of_other_logs_and_turns_without_a_report(tmp_path: Path) -> None:
    out, _ = judged(tmp_path, [chat("a", PIER), chat("b", PIER)])
    heard = LogNotes()
    log = written(tmp_path / "other.jsonl", [chat("b", PIER), chat("c", PIER)])
    assert len(list(heard.listening(read_log(log)))) == 2
    replayed = decide(out, heard, two("monitor", "strict"))
    assert [case.conversation_id for case in replayed.found.cases] == ["b"]
    assert "1 turns of the log have no report, and are not counted." in replayed.limits()
