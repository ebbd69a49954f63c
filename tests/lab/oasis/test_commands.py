"""`vista-guard oasis generate`, `join`, `stats`, `export`: kills, wrong input, and every file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from html import unescape
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

pytest.importorskip("openai")
pytest.importorskip("lemminflect")
pytest.importorskip("textblob")

from tests.lab.oasis.scripted import House, houses, pair_script
from tests.pace import until
from vista_guard.cli import app
from vista_guard.testing import ReceivedRequest, ScriptedChatServer
from vista_lab.oasis.records import read_records
from vista_lab.runs.made import RECORDS

ROOT = Path(__file__).parents[3]


def run(*arguments: object) -> Result:
    """The command, to its end, in this process."""
    return CliRunner().invoke(app, ["oasis", *map(str, arguments)])


@pytest.fixture
def known() -> list[House]:
    return houses(24)


@pytest.fixture
def folder(tmp_path: Path, known: list[House]) -> Path:
    docs = tmp_path / "docs"
    docs.mkdir()
    for house in known:
        (docs / f"{house.name.replace(' ', '-')}.txt").write_text(house.text, encoding="utf-8")
    return docs


def test_after_kill_9_no_written_record_is_asked_about_again(tmp_path: Path, folder: Path, known: list[House]) -> None:
    asked: Counter[str] = Counter()
    script = pair_script(known)

    killed = threading.Event()

    def counted(request: ReceivedRequest) -> str:
        name = next(house.name for house in known if house.name in unescape(request.user))
        asked[name] += 1
        return script(request)

    def latency(request: ReceivedRequest) -> float:
        return 0.0 if request.number <= 12 or killed.is_set() else 3600.0

    out = tmp_path / "ours"
    with ScriptedChatServer(counted, latency=latency) as server:
        model = f"openai:m@{server.base_url}"
        arguments = ["generate", folder, "--out", out, "--model", model, "--gate", "none", "--at-once", 3]
        command = [sys.executable, "-m", "vista_guard", "oasis", *map(str, arguments)]
        first = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        path = out / RECORDS
        until(lambda: first.poll() is not None or (path.exists() and path.read_bytes().count(b"\n") >= 8))
        os.kill(first.pid, signal.SIGKILL)
        assert first.wait() == -signal.SIGKILL
        killed.set()
        kept = [json.loads(line) for line in path.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
        done = {known_name(record["passage"]["text"], known) for record in kept}
        before = dict(asked)
        second = run(*arguments)
    assert second.exit_code == 0, second.stderr
    assert f"{len(kept)} were there before" in second.stdout
    assert len(list(read_records(out))) == 24
    assert {name: asked[name] for name in done} == {name: before[name] for name in done}
    assert (out / "README.md").read_text(encoding="utf-8").startswith("# Pairs of 24 documents")


def known_name(text: str, known: list[House]) -> str:
    return next(house.name for house in known if house.name in text)


def test_from_documents_to_files_without_a_model(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number, name in enumerate(("Abel", "Bruno", "Clara", "Doris", "Emil", "Frida")):
        text = (
            f"{name} Mill lends umbrellas to visitors. The council closed the upper garden of {name} Mill because of the storm. "
            f"Dogs are allowed in the cafe of {name} Mill. The tower is higher than the chapel."
        )
        (docs / f"{number}.md").write_text(f"# {name}\n\n{text}\n", encoding="utf-8")
    made = run("generate", docs, "--out", tmp_path / "ours", "--gate", "none")
    assert (made.exit_code, made.stderr) == (0, "6 passages of 6 documents\n")
    assert made.stdout.startswith(f"6 accepted; 6 of 6 passages are in {tmp_path / 'ours'}")
    again = run("generate", docs, "--out", tmp_path / "ours", "--gate", "none")
    assert "no new records (6 were there before)" in again.stdout
    told = run("stats", tmp_path / "ours", "--no-shortcuts")
    assert told.exit_code == 0
    assert "claims a passage" in told.stdout
    written = run("export", tmp_path / "ours", "--out", tmp_path / "data", "--test", "0", "--validation", "0")
    assert written.exit_code == 0
    assert "12  " in written.stdout
    refused = run("join", tmp_path / "ours", tmp_path / "ours", "--out", tmp_path / "joined")
    assert (refused.exit_code, "both hold passage" in refused.stderr) == (2, True)
    assert not (tmp_path / "joined").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["generate", "nowhere", "--out", "x"], "nowhere does not exist"),
        (["generate", ".", "--out", "x", "--shard", "two"], "--shard is 'two'"),
        (["generate", ".", "--out", "x", "--shard", "3/2"], "shard is 3/2"),
        (["generate", ".", "--out", "x", "--language", "de"], "language is 'de'"),
        (["generate", ".", "--out", "x", "--model", "gpt-4o"], "--model is 'gpt-4o'"),
        (["generate", "docs", "--out", "x", "--gate", "nobody"], "verifier is 'nobody'"),
        (["stats", "nowhere"], "nowhere/records.jsonl cannot be read"),
        (["export", "nowhere", "--out", "x"], "nowhere/records.jsonl cannot be read"),
        (["join", "nowhere", "--out", "x"], "nowhere is not a run"),
    ],
)
def test_wrong_input_is_named(arguments: list[str], said: str) -> None:
    done = run(*arguments)
    assert done.exit_code == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
