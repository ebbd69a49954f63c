"""The tutorial on dialogues: its five commands are read out of the page and run in their order, without any key."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from vista_guard.cli import app

pytest.importorskip("scipy")

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "tutorial-dialogues.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^\$ (.+)$", PAGE, re.MULTILINE)


def run(command: str) -> str:
    """The standard output of a command of the page."""
    result = CliRunner().invoke(app, shlex.split(command)[1:])
    assert result.exit_code == 0, f"{command}\n{result.stderr}"
    return result.stdout


def test_from_questions_to_tables_in_five_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("questions.jsonl", "agents.py"):
        shutil.copy(ROOT / "examples" / "dialogues" / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert len(COMMANDS) == 5
    told = "".join(map(run, COMMANDS))
    for block in re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL):
        for line in block.strip().splitlines():
            assert line in told, (
                "docs/tutorial-dialogues.md shows another line than the command: write the new one there"
            )
    (shown,) = re.findall(r"```csv\n(.*?)```", PAGE, re.DOTALL)
    (table,) = Path("tables").glob("delivery-*.csv")
    columns = (
        "run",
        "model",
        "setting",
        "answered",
        "abstained",
        "factual: S_f",
        "contradicted ↓: S_h",
        "tokens a fact: D_f ↓",
    )
    assert shown == cut(table.read_text("utf-8"), columns), (
        "docs/tutorial-dialogues.md shows other figures than the run"
    )
    run("vista-guard knowmt report runs/plain --fail-if 'S_f<0.1'")
    gate = CliRunner().invoke(app, shlex.split("knowmt report runs/plain --fail-if 'S_f<0.6'"))
    assert gate.exit_code == 4
    assert "forgetful, multi: S_f is" in gate.stderr


def cut(table: str, columns: tuple[str, ...]) -> str:
    """Some columns of a CSV file without quotes in it."""
    rows = [line.split(",") for line in table.splitlines()]
    places = [rows[0].index(name) for name in columns]
    return "".join(",".join(row[place] for place in places) + "\n" for row in rows)
