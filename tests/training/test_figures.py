"""The recipes in training/Makefile, as make would run them, and the check of the conformal promise."""

from __future__ import annotations

import os
import shutil
import subprocess
from datetime import date
from pathlib import Path

import pytest

from training.halving import confidences, lines
from vista_guard.policy.risk import Alarm, Level, RiskGroup, RiskTable
from vista_guard.types import JudgeInfo, Label

ROOT = Path(__file__).parents[2]


def planned(*arguments: str) -> list[str]:
    """What make would do."""
    make = shutil.which("make")
    if make is None:
        pytest.skip("needs make")
    command = (make, "-n", "--no-print-directory", "-f", "training/Makefile", "PYTHON=python", "DATA=data", *arguments)
    # `make test` hands its own flags and level on; this make is nobody's child.
    own = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True, env=own)
    return done.stdout.replace("\\\n", " ").splitlines()


def modules(commands: list[str]) -> list[str]:
    return [command.split(" -m ")[1].split()[0] for command in commands if " -m " in command]


def test_the_next_verifier_is_made_step_by_step(tmp_path: Path) -> None:
    commands = planned("next", f"NEXT={tmp_path}", "VERSION=9.9.9", "MIX=wide")
    assert [name.rpartition(".")[2] for name in modules(commands)] == [
        "dequantise",
        "mixes",
        "train",
        "average",
        "export",
        "calibrate",
    ]
    assert any("--mix wide" in command for command in commands)
    assert any("--verifier-only" in command for command in commands)
    assert commands[-1].endswith(f"--run {tmp_path}/averaged --version 9.9.9")


def test_every_figure_is_made_once_and_on_development_files_alone(tmp_path: Path) -> None:
    commands = planned("figures", f"FIGURES={tmp_path}")
    assert len(modules(commands)) == 15
    assert not any(word in command for command in commands for word in ("--final", "--sealed", "--split test"))
    (tmp_path / "challenge.txt").write_text("measured before")
    again = planned("figures", f"FIGURES={tmp_path}")
    assert set(modules(commands)) - set(modules(again)) == {"training.suites.challenge"}


def test_half_of_the_fine_turns_choose_and_the_other_half_is_withheld_as_promised() -> None:
    held = {Label.LACKING_EVIDENCE: tuple(Alarm(confidence=step / 100, loss=1.0) for step in range(90, 50, -1))}
    group = RiskGroup(source="made up", n=180, alarms=held)
    assert confidences(group)[:2] == [0.9, 0.89]
    assert confidences(group)[40:] == [-1.0] * 140
    table = RiskTable(
        judge=JudgeInfo(name="j", version="1"), level=Level.TURN, created=date(2026, 1, 1), groups=(group,)
    )
    rows = [line.strip("| ").split(" | ") for line in lines(table, 200, 13) if line.startswith("| made up")]
    obtained = [float(row[3].split()[0]) for row in rows]
    assert obtained[1:] == pytest.approx([0.02, 0.05, 0.10], abs=0.012)
    assert rows[0][3:5] == ["0.0000 ± 0.0000", "200"]  # ninety turns carry no rate below 1 / 91
