"""The demo as a user runs it: with the shipped judge and with Chroma on disk."""

from __future__ import annotations

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from typer.testing import CliRunner

from vista_guard.cli import app
from vista_guard.demo import run
from vista_guard.demo.museum import VISIT
from vista_guard.inference.weights import WEIGHTS
from vista_guard.testing import ScriptedJudge
from vista_guard.types import Action

needs_weights = pytest.mark.skipif(not (WEIGHTS / "verifier.onnx").is_file(), reason="the weights are not here")


def command(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`vista-guard demo`, in a process of its own and without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "vista_guard", "demo", *arguments],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **environment},
        check=False,
        timeout=300,
    )


def shown_by(judge: ScriptedJudge, folder: Path) -> tuple[bool, str]:
    """What `run` answers, and what it shows on a terminal that is not one."""
    screen = StringIO()
    return run(folder, judge, Console(file=screen, width=80, highlight=False)), screen.getvalue()


def test_the_script_shows_every_decision() -> None:
    assert [step.action for step in VISIT] == [
        Action.ALLOW,
        Action.ALLOW,
        Action.ALLOW,
        Action.FLAG,
        Action.BLOCK,
        Action.BLOCK,
        Action.REPAIR,
    ]


@needs_weights
def test_every_turn_comes_out_as_scripted() -> None:
    done = command(TERM="dumb", NO_COLOR="1", COLUMNS="80")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert "Every turn came out as scripted." in done.stdout
    assert "VISTA score 0.70 over claims (micro), 0.64 over turns (macro)" in done.stdout
    assert "said earlier" in done.stdout, "one contradiction is found in the knowledge, not in a document"
    assert "\x1b" not in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@needs_weights
def test_it_can_be_shown_again_from_the_same_folder_on_a_narrow_screen(tmp_path: Path) -> None:
    runs = [CliRunner().invoke(app, ["demo", "--data-dir", str(tmp_path)], env={"COLUMNS": "50"}) for _ in range(2)]
    assert [(done.exit_code, done.stderr) for done in runs] == [(0, ""), (0, "")]
    assert (tmp_path / "chroma" / "chroma.sqlite3").is_file()
    assert max(len(line) for done in runs for line in done.stdout.splitlines()) <= 50


def test_what_does_not_come_out_as_scripted_is_said(tmp_path: Path) -> None:
    as_scripted, screen = shown_by(ScriptedJudge({}), tmp_path)
    assert not as_scripted
    assert screen.count("NOT AS SCRIPTED: expected ") == len(VISIT)
    assert "7 of 7 turns did not come out as scripted; see above." in screen
    assert "Every turn came out as scripted." not in screen
