"""The tutorial on one's own documents: its commands are read out of the page and run in their order, without any key."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from collections import Counter
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.lab.oasis.generated_set import all_right, mark_tsv, rows_of, wrong_rows
from vista_guard.cli import app

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


def test_from_a_folder_to_a_verified_text_before_and_after(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ROOT / "examples" / "oasis", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    generate, sheets, agree, export, calibrate, evaluate, compare, before, after = COMMANDS
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
    assert {pair["label"] for pair in pairs} == {"supported", "contradicted", "not_enough"}
    assert documents.isdisjoint(pair["document"] for pair in pairs)
    run(calibrate)
    run(evaluate)
    judged = json.loads(Path("runs/calibrated/summary.json").read_text("utf-8"))["readings"]["original"]
    assert judged["turns"] == 2 * len(passages)
    assert judged["unchecked"] == 0
    five = run(compare).partition("### Table 5")[2]
    assert f"| task2.json | vista | embedded | {judged['turns']} | 100.0 |" in five
    assert "| paper: GPT-4o |" in five
    table = [row.split("|") for row in PAGE.splitlines() if re.match(r"\| \d+ (?:true|false) claims", row)]
    for command, moment in ((before, "before"), (after, "after")):
        shown = run(command, code=3)
        counts = {kind: Counter[str]() for kind in ("true", "false")}
        for label, claim in re.findall(r"^([A-Z_]+) \d\.\d\d  (.+)$", shown, re.MULTILINE):
            counts["false" if claim.startswith(FALSE) else "true"][label] += 1
        for kind, found in counts.items():
            (row,) = (cells for cells in table if kind in cells[1] and moment in cells[1])
            assert [found[label] for label in LABELS] == [int(cell) for cell in row[2:6]], (
                f"docs/tutorial-oasis.md has other counts of the {kind} claims {moment}: write {found}"
            )
            assert kind == "false" or found["CONTRADICTED"] == 0


LABELS = ("VERIFIED", "CONTRADICTED", "LACKING_EVIDENCE", "OUT_OF_SCOPE")
FALSE = (
    "Food is welcome", "Its letters are stored in steel", "The north hall is smaller", "The choir sings there before",
    "Books of the music room are kept in tin", "In winter it drives", "Sailors may keep books for two", "The gardener cuts",
    "Its ink is kept in wooden",
)  # fmt: skip
"""The leaflet's sentences that the handbook denies."""
