"""The tutorial on one's own documents: its eight commands are read out of the page and run in their order, without any key."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.lab.oasis.generated_set import all_right, mark_tsv, rows_of, wrong_rows
from vista_guard.cli import app
from vista_lab.oasis.splits import SetPart

pytest.importorskip("textblob")
pytest.importorskip("lemminflect")
pytest.importorskip("num2words")

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "tutorial-oasis.md").read_text(encoding="utf-8")
COMMANDS = [block.removeprefix("$ ").rstrip() for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)]


def run(command: str, code: int = 0) -> str:
    """The standard output of a command of the page."""
    words = shlex.split(command)
    given = dict(word.split("=", 1) for word in words if word.startswith("VISTA_GUARD_"))
    result = CliRunner().invoke(app, words[len(given) + 1 :], env=given)
    assert result.exit_code == code, f"{command}\n{result.stderr}"
    return result.stdout


def test_from_a_folder_to_a_verified_text_in_eight_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples" / "oasis", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    assert len(COMMANDS) == 8
    generate, sheets, agree, export, calibrate, evaluate, compare, verify = COMMANDS
    run(generate)
    run(sheets)
    steps = [Path("ours/sheets") / step for step in ("extraction", "falsification", "factual", "unfactual")]
    shared, *_ = {row["id"] for row in rows_of(steps[0] / "ada.tsv")} & {
        row["id"] for row in rows_of(steps[0] / "ben.tsv")
    }
    for step in steps:
        mark_tsv(step / "ada.tsv", all_right)
        mark_tsv(step / "ben.tsv", wrong_rows({(shared, "pair")}) if step.name == "falsification" else all_right)
    told = run(agree)
    lines = Path("ours/gold/gold.jsonl").read_text("utf-8").splitlines()
    passages = [json.loads(line)["passage"] for line in lines]
    assert len(passages) >= 3
    assert f"| gold | {len(passages)} |" in told
    assert f"| passages | {len(passages) + 1} |" in told
    documents = {passage["document"] for passage in passages}
    run(export)
    pairs = [json.loads(line) for line in Path("data/train/pairs.jsonl").read_text("utf-8").splitlines()]
    assert {pair["label"] for pair in pairs} == {"supported", "contradicted"}
    assert documents.isdisjoint(pair["document"] for pair in pairs)
    assert not any(
        (Path("data") / part / "pairs.jsonl").read_text("utf-8") == "" for part in (SetPart.TRAIN, SetPart.TEST)
    )
    run(calibrate)
    run(evaluate)
    judged = json.loads(Path("runs/calibrated/summary.json").read_text("utf-8"))["readings"]["original"]
    assert judged["turns"] == 2 * len(passages)
    assert judged["unchecked"] == 0
    five = run(compare).partition("### Table 5")[2]
    assert f"| task2.json | vista | embedded | {judged['turns']} | 100.0 |" in five
    assert "| paper: GPT-4o |" in five
    shown = run(verify, code=3)
    for block in re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL):
        assert block.strip() in shown, (
            "docs/tutorial-oasis.md shows another line than the command: write the new one there"
        )
