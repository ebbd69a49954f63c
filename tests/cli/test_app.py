"""The commands as a whole."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner

from tests.cli import after_notice
from vista_guard import __version__
from vista_guard.cli import app
from vista_guard.cli.common import exit_codes
from vista_guard.errors import ConfigError, InputError, JudgeError, StoreError, VistaGuardError
from vista_guard.types import TurnReport
from vista_lab.evaluate.replay import Claims
from vista_lab.runs.loop import ClaimsMode

ROOT = Path(__file__).parents[2]


def test_version() -> None:
    result = CliRunner().invoke(app, ["--version"])
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"vista-guard {__version__}\n", "")


def test_schema_is_the_published_one() -> None:
    result = CliRunner().invoke(app, ["schema"])
    published = (ROOT / "docs" / "report.schema.json").read_text(encoding="utf-8")
    assert (result.exit_code, result.stdout, result.stderr) == (0, published, "")


def test_help_loads_nothing_heavy() -> None:
    heavy = ["asyncio", "pydantic", "rich", "numpy", "yaml", "langgraph", "vista_guard.types", "vista_guard.guard"]
    script = f"import sys, vista_guard.cli; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_choices_are_those_of_the_evaluation() -> None:
    assert set(get_args(Claims)) == set(ClaimsMode)


@pytest.mark.parametrize(
    ("error", "code"), [(ConfigError, 2), (InputError, 2), (JudgeError, 1), (StoreError, 1), (VistaGuardError, 1)]
)
def test_errors_become_one_line_and_an_exit_code(
    error: type[VistaGuardError], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    from typer import Exit

    with pytest.raises(Exit) as raised, exit_codes():
        raise error("the \x1b[31mthing is wrong")
    assert raised.value.exit_code == code
    assert capsys.readouterr() == ("", "error: the �[31mthing is wrong\n")


def test_a_bug_is_shown_as_one() -> None:
    with pytest.raises(ZeroDivisionError), exit_codes():
        _ = 1 / 0


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["missing", "--out", "x"], "error: log missing cannot be read: No such file or directory\n"),
        (["empty", "--out", "x"], "error: log empty is empty; expected a JSON list or one JSON object a line\n"),
        (["log", "--out", "no/x"], "error: no/x cannot be written: No such file or directory. Choose another --out\n"),
        (
            ["log", "--out", "log"],
            "error: log has reports but no log.run.json beside it that says how they were made. Choose another --out\n",
        ),
        (
            ["log", "--out", "x", "--claims", "given"],
            "error: no turn of the log carries claims; replay it with --claims judge\n",
        ),
        (
            ["log", "--out", "x", "--policy", "lax"],
            "error: policy is 'lax'; choose one of monitor, balanced, strict, settings, or a file that ends in .toml, .yaml, "
            ".yml\n",
        ),
    ],
)
def test_replay_with_wrong_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], error: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log").write_text('{"messages": [{"role": "assistant", "content": "Hello."}]}', encoding="utf-8")
    Path("empty").touch()
    result = CliRunner().invoke(app, ["replay", *arguments])
    assert (result.exit_code, result.stdout) == (2, "")
    assert error in (result.stderr, result.stderr.partition("not read as documents")[2].partition("\n")[2])


def test_replay_with_the_judge_that_ships_touches_no_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, out, data = tmp_path / "log.jsonl", tmp_path / "reports.jsonl", tmp_path / "data"
    monkeypatch.setenv("VISTA_GUARD_DATA_DIR", str(data))
    monkeypatch.setenv("VISTA_GUARD_REPORTS", "sqlite")
    log.write_text('{"messages": [{"role": "assistant", "content": "The pier is old."}]}\n' * 3, encoding="utf-8")
    result = CliRunner().invoke(app, ["replay", str(log), "--out", str(out), "--limit", "2", "--concurrency", "1"])
    assert (result.exit_code, after_notice(result.stderr)) == (0, "")
    reports = [TurnReport.model_validate_json(line) for line in out.read_bytes().splitlines()]
    assert [(report.conversation_id, report.policy) for report in reports] == [
        ("line-1", "monitor"),
        ("line-2", "monitor"),
    ]
    assert not data.exists()


def test_demo_with_a_judge_that_nobody_knows() -> None:
    result = CliRunner().invoke(app, ["demo", "--judge", "oracle"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("error: judge is 'oracle'")


def test_the_example_of_the_documentation_runs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "replay.md").read_text(encoding="utf-8")
    example = page.split("```python\n")[1].split("```")[0]
    log = tmp_path / "conversations.jsonl"
    log.write_text('{"messages": [{"role": "assistant", "content": "The pier is old."}]}', encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = [sys.executable, "-c", example]
    done = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert len((tmp_path / "reports.jsonl").read_bytes().splitlines()) == 1
