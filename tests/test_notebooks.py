"""The notebooks run from top to bottom, and are kept without outputs."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from vista_guard.cli import app

NOTEBOOKS = sorted((Path(__file__).parents[1] / "examples/notebooks").glob("*.ipynb"))
SHOWN = {
    "guard_a_bot": [
        "BLOCK | I can't answer",
        "CONTRADICTED 0.",
        "BLOCK | CONTRADICTED | knowledge",
        "I can't answer that",
    ],
    "replay_a_log": ["blocked", "strict", "11 turns, "],
    "calibrate": ['"fine"', "wrote ", "risk.json", "'CONTRADICTED': 0."],
}


def cells(notebook: Path, kind: str = "code") -> list[dict[str, Any]]:
    content = json.loads(notebook.read_text(encoding="utf-8"))
    return [cell for cell in content["cells"] if cell["cell_type"] == kind]


def command(line: str, names: dict[str, Any]) -> None:
    """A line of a cell that begins with `!`, as IPython runs it: names in braces stand for their values."""
    program, *arguments = shlex.split(line.removeprefix("!").format(**names))
    assert program == "vista-guard"
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    print(done.stdout)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_and_shows(notebook: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(notebook.parent)
    names: dict[str, Any] = {"_command": command}
    for cell in cells(notebook):
        lines = [f"_command({line!r}, globals())" if line.startswith("!") else line for line in cell["source"]]
        exec(compile("\n".join(line.rstrip("\n") for line in lines), f"{notebook.stem}.{cell['id']}", "exec"), names)
    shown = capsys.readouterr().out
    assert [text for text in SHOWN[notebook.stem] if text not in shown] == [], shown


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_kept_without_outputs(notebook: Path) -> None:
    assert [cell["id"] for cell in cells(notebook) if cell["outputs"] or cell["execution_count"]] == []
    assert cells(notebook, "markdown")[0]["source"][0].startswith("# ")
