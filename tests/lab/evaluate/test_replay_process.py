"""The replay command as a process: signals, kills, full disks, and what goes where."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli import after_notice
from tests.pace import PATIENCE_S, until
from vista_guard.types import Label, TurnReport

ROOT = Path(__file__).parents[3]
NAMES = [f"n{number}" for number in range(6)]
TURNS = [(name, index) for name in NAMES for index in (1, 3, 5)]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Six conversations of three assistant turns; later turns are verified only by what the first one established."""
    path = tmp_path / "log.jsonl"
    chats = []
    for name in NAMES:
        fact = f"Pier {name} is old"
        messages: list[dict[str, object]] = [
            {"role": "user", "content": "?"},
            {"role": "assistant", "content": fact, "documents": [f"{fact} and long."]},
        ]
        for number in (1, 2):
            messages += [
                {"role": "user", "content": "?"},
                {"role": "assistant", "content": f"{fact}. I like it {number} times"},
            ]
        chats.append(json.dumps({"id": name, "messages": messages}))
    path.write_text("\n".join(chats), encoding="utf-8")
    return path


def command(log: Path, out: Path, *, free: int = 99, claims: str = "judge", most: int = 0) -> list[str]:
    return [
        sys.executable,
        "-m",
        "tests.lab.evaluate.replay_with_rules",
        str(log),
        str(out),
        str(free),
        claims,
        str(most),
    ]


def start(arguments: list[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def finish(arguments: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=PATIENCE_S, check=False)


def wait_for_reports(out: Path, number: int) -> None:
    until(lambda: out.exists() and out.read_bytes().count(b"\n") >= number)


def turns(out: Path) -> list[tuple[str | None, int]]:
    reports = [TurnReport.model_validate_json(line) for line in out.read_bytes().splitlines()]
    return [(report.conversation_id, report.turn_index) for report in reports]


def assert_complete(out: Path) -> None:
    assert sorted(turns(out)) == TURNS
    for line in out.read_bytes().splitlines():
        report = TurnReport.model_validate_json(line)
        expected = [Label.VERIFIED] if report.turn_index == 1 else [Label.VERIFIED, Label.OUT_OF_SCOPE]
        assert [finding.label for finding in report.findings] == expected


def test_stdout_holds_the_summary_and_stderr_nothing(log: Path, tmp_path: Path) -> None:
    done = finish(command(log, tmp_path / "reports.jsonl"))
    assert (done.returncode, after_notice(done.stderr)) == (0, "")
    cells = [tuple(cell.strip() for cell in line.split("│")[1:-1]) for line in done.stdout.splitlines()]
    assert {("conversations", "6"), ("turns", "18"), ("decision ALLOW", "18"), ("VERIFIED", "18", "0.600")} <= set(
        cells
    )
    assert_complete(tmp_path / "reports.jsonl")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_after_the_turns_in_flight(log: Path, tmp_path: Path, number: int, code: int) -> None:
    out = tmp_path / "reports.jsonl"
    running = start(command(log, out, free=2))
    wait_for_reports(out, 3)
    running.send_signal(number)
    assert running.stderr is not None
    errors = "".join(running.stderr.readline() for _ in range(3))
    Path(f"{out}.go").touch()
    errors += running.communicate(timeout=PATIENCE_S)[1]
    safe = len(turns(out))
    assert running.returncode == code
    assert after_notice(errors) == (
        "stopping after the turns that are being judged; once more to stop at once\n"
        f"stopped: {safe} reports are in {out}; run the same command again to resume\n"
    )
    assert 3 <= safe < 18
    assert finish(command(log, out)).returncode == 0
    assert_complete(out)


def test_a_second_ctrl_c_stops_at_once(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "reports.jsonl"
    running = start(command(log, out, free=0))
    assert running.stderr is not None
    wait_for_reports(out, 2)
    running.send_signal(signal.SIGINT)
    assert after_notice(running.stderr.readline() + running.stderr.readline()) == ""
    assert running.stderr.readline() == "stopping after the turns that are being judged; once more to stop at once\n"
    running.send_signal(signal.SIGINT)
    _, errors = running.communicate(timeout=PATIENCE_S)
    assert (running.returncode, errors) == (130, "interrupted\n")
    assert sorted(turns(out)) == [("n0", 1), ("n1", 1)]


def test_a_kill_at_any_moment_loses_and_doubles_nothing(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "reports.jsonl"
    for reports in (2, 7, 12):
        running = start(command(log, out, free=4))
        wait_for_reports(out, reports)
        running.send_signal(signal.SIGKILL)
        running.communicate(timeout=PATIENCE_S)
        assert running.returncode == -signal.SIGKILL
    with out.open("ab") as file:
        file.write(b'{"schema_version":"1.0","conversation_id":"n5","turn_')
    assert finish(command(log, out)).returncode == 0
    assert_complete(out)


def test_a_file_that_can_grow_no_further(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "reports.jsonl"
    done = finish(command(log, out, most=5000))
    safe = len(turns(out))
    assert 0 < safe < 18
    assert (done.returncode, done.stdout) == (1, "")
    error = after_notice(done.stderr)
    assert error.startswith(f"error: {out} cannot be written: File too large (")
    assert f"{safe} reports are safe in it" in error
    assert "MB left" not in error  # the disk has room
    assert finish(command(log, out)).returncode == 0
    assert_complete(out)


def test_broken_lines_are_named_and_lead_to_exit_code_2(log: Path, tmp_path: Path) -> None:
    with log.open("a", encoding="utf-8") as file:
        file.write('\n{"messages": [}\n' + '{"messages": 7}\n' * 25)
    out = tmp_path / "reports.jsonl"
    done = finish(command(log, out))
    assert done.returncode == 2
    errors = after_notice(done.stderr).splitlines()
    assert errors[0] == f"{log} line 7: is not JSON: Expecting value: line 1 column 15 (char 14)"
    assert errors[1:20] == [
        f'{log} line {line}: is not a chat; expected {{"messages": [...]}}' for line in range(8, 27)
    ]
    assert errors[20:] == ["… more entries cannot be read; they are counted below"]
    assert "│ entries of the log not read     │    26 │" in done.stdout
    assert_complete(out)


def test_a_reader_of_stdout_that_goes_away(log: Path, tmp_path: Path) -> None:
    running = start(command(log, tmp_path / "reports.jsonl"))
    assert running.stdout is not None
    running.stdout.close()
    assert running.stderr is not None
    errors = running.stderr.read()
    running.stderr.close()
    assert (running.wait(timeout=PATIENCE_S), after_notice(errors)) == (1, "")
    assert_complete(tmp_path / "reports.jsonl")


def test_a_terminal_sees_how_far_it_is(log: Path, tmp_path: Path) -> None:
    pty = pytest.importorskip("pty", reason="terminals are opened as on Unix")
    terminal, other_end = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    arguments = command(log, tmp_path / "reports.jsonl")
    running = subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=other_end, env=environment)
    os.close(other_end)
    shown = b""
    try:
        while block := os.read(terminal, 65_536):
            shown += block
    except OSError:  # Linux' way to say that the other end was closed.
        pass
    os.close(terminal)
    summary, _ = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 0
    assert b"6/6" in shown
    assert b"18 turns" in shown
    assert b"\x1b" not in summary
