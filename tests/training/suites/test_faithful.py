"""Faithful answers and their falsified twins, through the guard."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path

import pytest

from tests.raising import raises
from training.suites.faithful import answerable, falsified_twins, judge, policies, risk_auc, table
from vista_guard import Action, Guard, InputError, Label
from vista_guard.policy.label_policy import PRESETS
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder

TRUE, FALSE = "The pool opens at seven.", "The pool opens at nine."


def row(conversation: str, answerability: str = "ANSWERABLE") -> dict[str, object]:
    return {
        "conversation_id": conversation,
        "task_id": f"{conversation}::1",
        "answerability": [answerability],
        "contexts": [{"document_id": "p", "text": "Pool: 7 a.m. to 9 p.m.", "title": "Pool"}],
        "input": [{"speaker": "user", "text": "When does the pool open?"}],
        "targets": [{"text": TRUE}],
    }


@pytest.fixture
def reference(tmp_path: Path) -> Path:
    path = tmp_path / "reference.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.writelines(json.dumps(one) + "\n" for one in (row("a0"), row("b4"), row("c5"), row("d1", "UNANSWERABLE")))
    return path


def test_answers_and_twins_are_judged_and_told_apart(reference: Path, tmp_path: Path) -> None:
    (tmp_path / "twins.jsonl").write_text(json.dumps({"task_id": "a0::1", "text": FALSE}) + "\n")
    said = {TRUE: [Verdict(TRUE, Label.VERIFIED, 0.9)], FALSE: [Verdict(FALSE, Label.CONTRADICTED, 0.9)]}
    guard = Guard(ScriptedJudge(said), "balanced", knowledge=MemoryKnowledge(WordEmbedder()))
    faithful = asyncio.run(judge(guard, list(answerable(reference))))
    twins = asyncio.run(judge(guard, list(falsified_twins(reference, tmp_path / "twins.jsonl"))))
    assert [report.decision.action for report in (*faithful, *twins)] == [Action.ALLOW, Action.ALLOW, Action.BLOCK]
    assert risk_auc(faithful, twins) == 1.0
    lines = list(table({"faithful answers": faithful, "falsified twins": twins}, policies(None)))
    assert lines[2:] == [
        *(f"| faithful answers | 2 | {name} | 0.0 % (0.0–65.8) | 0.0 % (0.0–65.8) |" for name in PRESETS),
        "| falsified twins | 1 | monitor | 100.0 % (20.7–100.0) | 0.0 % (0.0–79.3) |",
        *(
            f"| falsified twins | 1 | {name} | 100.0 % (20.7–100.0) | 100.0 % (20.7–100.0) |"
            for name in ("balanced", "strict")
        ),
        "",
        "2 faithful answers: claims held against them 0.0 % (0.0–65.8) of 2, 0 unchecked",
        "1 falsified twins: claims held against them 100.0 % (20.7–100.0) of 1, 0 unchecked",
        "AUC of the turn's risk, faithful answers against falsified twins: 1.000",
    ]


def test_a_line_that_is_no_twin_is_named(reference: Path, tmp_path: Path) -> None:
    (tmp_path / "twins.jsonl").write_text('{"task_id": "a0::1"}\n')
    with raises(InputError, "twins.jsonl", "1", "text"):
        list(falsified_twins(reference, tmp_path / "twins.jsonl"))
