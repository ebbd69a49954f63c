"""The tutorial on decomposers: its commands are read out of the page and run in their order, without any key."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vista_guard.cli import app

pytest.importorskip("sklearn")

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "tutorial-decomposer.md").read_text(encoding="utf-8")
COMMANDS = [block.removeprefix("$ ").rstrip() for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)]


def run(command: str) -> str:
    """The standard output of a command of the page."""
    result = CliRunner().invoke(app, shlex.split(command)[1:])
    assert result.exit_code == 0, f"{command}\n{result.stderr}"
    return result.stdout


def test_from_a_log_to_a_table_in_six_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, careful_judge: None
) -> None:
    for name in ("museum.json", "completions.jsonl"):
        shutil.copy(ROOT / "examples" / "study" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert len(COMMANDS) == 8
    exemplars, rewards, *evaluations, quality, compare = COMMANDS[:6]
    told = run(exemplars) + run(rewards)
    chats = [json.loads(line) for line in Path("exemplars/train.jsonl").read_text("utf-8").splitlines()]
    assert all(chat["messages"][-1]["content"].startswith("<think>") for chat in chats)
    scores = {row["id"]: row for row in map(json.loads, Path("scores.jsonl").read_text("utf-8").splitlines())}
    best = max((row for row in scores.values() if row["group"] == "tower"), key=lambda row: row["advantage"])
    assert best["id"] == "tower-split"
    assert scores["tower-whole"]["dense"] < scores["tower-split"]["dense"]
    assert scores["prices-half"]["dense"] < 0.5 < scores["prices-split"]["dense"]
    for evaluate in evaluations:
        run(evaluate)
    told += run(quality)
    items = [json.loads(line) for line in Path("items.jsonl").read_text("utf-8").splitlines()]
    assert len({item["sentence"] for item in items}) < len(items)
    table = run(compare)
    assert "claims by sentence" in table
    assert "claims by steps:embedded" in table
    shown = [
        block for block in re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL) if not block.startswith("vista-guard")
    ]
    assert len(shown) == 3
    for block in shown:
        assert block.strip() in told, (
            "docs/tutorial-decomposer.md shows another line than the command: write the new one there"
        )


@pytest.mark.filterwarnings("default")  # the libraries' own
def test_both_stages_of_the_training_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("trl", reason="trl is not installed; extra rl")
    for name in ("museum.json", "completions.jsonl"):
        shutil.copy(ROOT / "examples" / "study" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    for command in (COMMANDS[0], *COMMANDS[6:]):
        run(command)
    for folder, steps in (("sft", 6), ("tuned", 2)):
        assert json.loads(Path(folder, "training.json").read_text("utf-8"))["finished"]
        assert len(Path(folder, "log.jsonl").read_text("utf-8").splitlines()) == steps
