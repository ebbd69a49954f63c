"""The tutorial, as a new user follows it: its five commands are read out of the page and run in their order."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.cli import after_notice
from vista_guard.cli import app
from vista_guard.types import Role, Turn
from vista_lab.logs.formats import LoggedConversation, detect, read_log
from vista_lab.logs.readers import names

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial-replay.md").read_text(encoding="utf-8")
COMMANDS = [block.removeprefix("$ ").rstrip() for block in re.findall(r"```console\n(.*?)```", PAGE, re.DOTALL)]


def run(command: str) -> str:
    """The standard output of a command of the page. Those of this package run in this process."""
    if not command.startswith("vista-guard "):
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
        return done.stdout
    result = CliRunner().invoke(app, command.split()[1:])
    told = after_notice(result.stderr) if command.startswith("vista-guard replay") else result.stderr
    assert (result.exit_code, told) == (0, ""), command
    return result.stdout


def test_from_an_export_to_a_page_in_five_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in (ROOT / "examples" / "tutorial").iterdir():
        shutil.copy(file, tmp_path)
    monkeypatch.chdir(tmp_path)
    assert len(COMMANDS) == 5
    judged, compared, _, paged, labelled = map(run, COMMANDS)
    assert "│ turns                           │    11 │" in judged
    assert len(Path("reports.jsonl").read_bytes().splitlines()) == 11
    shown = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
    assert shown
    for block in shown:
        assert block in compared, (
            "docs/tutorial-replay.md shows other figures than the command: write the new ones there"
        )
    assert "11 (11 of an earlier run)" in compared
    assert "wrote comparison.html" in paged
    assert "bad turns let through" in labelled
    page = Path("comparison.html").read_text("utf-8")
    assert "11 turns have a person" in page
    assert "Maria Lund" in page
    assert "<script" not in page


def test_the_export_of_the_tutorial_holds_whole_threads() -> None:
    entries = list(read_log(ROOT / "examples" / "tutorial" / "runs.jsonl"))
    talks = {one.conversation.id: one.conversation.turns for one in entries if isinstance(one, LoggedConversation)}
    assert len(talks) == len(entries) == 5
    asked, answered, *_ = talks["visit-102"]
    assert asked == Turn(role=Role.USER, text="How much is a visit for my son, he is 12?")
    assert answered.text == "A single visit costs 4 pounds for children under 16."
    assert [document.title for document in answered.documents] == ["prices.md"]
    assert [len(turns) for turns in talks.values()] == [4, 4, 4, 6, 4]


def test_the_examples_of_formats_are_read(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "replay.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```jsonl\n(.*?)```", page, re.DOTALL)
    lines = block.splitlines()
    log = tmp_path / "log"
    found = []
    for line in lines:
        log.write_text(f"[{line}]", encoding="utf-8")
        found.append(detect(log).name)
        (entry,) = read_log(log)
        assert isinstance(entry, LoggedConversation)
        assert [turn.text for turn in entry.conversation.turns] == ["How long is the pier?", "310 m."]
    assert sorted(found) == names()
    table = page.split("## Logs")[1].split("###")[0]
    assert re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE) == found


def test_the_policy_of_the_page_is_one(tmp_path: Path) -> None:
    from vista_guard.settings.sources import Settings
    from vista_lab.policies.named import named_policy

    page = (ROOT / "docs" / "replay.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    path = tmp_path / "careful.yaml"
    path.write_text(block, encoding="utf-8")
    assert named_policy(str(path), Settings()).recipe.preset == "balanced"
