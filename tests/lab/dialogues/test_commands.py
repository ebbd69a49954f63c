"""`vista-guard knowmt`: killed in each stage, and given what it cannot use."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("openai")
pytest.importorskip("scipy")

from typer.testing import CliRunner

from tests.pace import until
from vista_guard.cli import app
from vista_guard.testing import Answer, ReceivedRequest, ScriptedChatServer
from vista_lab.dialogues.records import read_dialogue_manifest

ITEMS = [
    {"id": f"i{n}", "questions": ["Hello?", "Name them."], "answer": "One. Two.", "facts": ["One.", "Two."]}
    for n in range(4)
]


def script(request: ReceivedRequest) -> str:
    asked = str(request.body["messages"])
    if "<premise>" in asked:
        return "The answer is False." if "contradict" in asked.casefold() else "The answer is True."
    return "It opened in 1925. It is free."


def questions(folder: Path) -> Path:
    path = folder / "set.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in ITEMS), "utf-8")
    return path


def started(*arguments: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "vista_guard", *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )


def killed_after(server: ScriptedChatServer, requests: int, *arguments: str) -> None:
    """Runs a command and kills it, without a word, once the server has so many more requests."""
    wanted = len(server.requests) + requests
    with started(*arguments) as process:
        until(lambda: len(server.requests) >= wanted or process.poll() is not None)
        os.kill(process.pid, signal.SIGKILL)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == 0, result.stderr
    return result.stdout


def lines(path: Path) -> list[str]:
    """The file's lines, without times and in an order of their own."""
    return sorted(
        json.dumps({**json.loads(line), "seconds": 0}) for line in path.read_text("utf-8").splitlines(keepends=False)
    )


def test_a_kill_in_each_stage_costs_one_call_at_most(tmp_path: Path, careful_judge: None) -> None:
    path = questions(tmp_path)
    with ScriptedChatServer(script, latency=0.05) as server:
        models = ["--model", f"openai:one@{server.base_url}", "--model", f"openai:two@{server.base_url}"]
        whole, broken = tmp_path / "whole", tmp_path / "broken"

        def asking(out: Path) -> list[str]:
            return ["knowmt", "run", str(path), *models, "--out", str(out), "--at-once", "1"]

        def judging(out: Path) -> list[str]:
            return ["knowmt", "judge", str(out), "--judge", f"openai:judge@{server.base_url}", "--at-once", "1"]

        run(*asking(whole))
        calls = len(server.requests)
        assert calls == 2 * (4 + 8)
        run(*judging(whole))
        judged = len(server.requests) - calls
        begun = len(server.requests)
        killed_after(server, 5, *asking(broken))
        run(*asking(broken))
        assert len(server.requests) - begun <= calls + 1
        begun = len(server.requests)
        killed_after(server, 7, *judging(broken))
        run(*judging(broken))
        assert (
            len(server.requests) - begun <= judged + 2 * 2
        )  # the pairs of one direction of one answer are one piece of work
    for name in ("answers.jsonl", "statements.jsonl", "judgements.jsonl"):
        assert lines(whole / name) == lines(broken / name)


def test_answers_cut_at_the_limit_are_dropped_or_counted_and_the_tables_say_so(tmp_path: Path) -> None:
    path = str(questions(tmp_path))

    def cut(request: ReceivedRequest) -> Answer:
        long = len(request.body["messages"]) == 1 and "Name" in request.body["messages"][0]["content"]
        return Answer("One. Two. And th", finish="length") if long else Answer("One.")

    with ScriptedChatServer(cut) as server:
        model = ["--model", f"openai:m@{server.base_url}", "--max-tokens", "64"]
        dropped = CliRunner().invoke(app, ["knowmt", "run", path, *model, "--out", str(tmp_path / "drop")])
        assert (dropped.exit_code, "4 of 8 dialogues" in dropped.output) == (1, True)
        run("knowmt", "run", path, *model, "--cut", "count", "--out", str(tmp_path / "count"))
        paper = CliRunner().invoke(
            app, ["knowmt", "run", path, *model, "--preset", "paper", "--references", "oracle", "--limit", "2",
                  "--tokens", "words", "--out", str(tmp_path / "paper")],
        )  # fmt: skip
        assert paper.exit_code == 0, paper.output
    found = {name: read_dialogue_manifest(tmp_path / name) for name in ("drop", "count", "paper")}
    assert {name: (one.cut, one.tokens) for name, one in found.items()} == {
        "drop": ("drop", ""), "count": ("count", ""), "paper": ("count", "words")
    }  # fmt: skip
    for name in ("drop", "count"):
        run("knowmt", "judge", str(tmp_path / name), "--decomposer", "sentence")
    table = run("knowmt", "report", str(tmp_path / "drop"), str(tmp_path / "count"), "--tables", "12,14")
    assert table.count("4 cut at 64 tokens, counted as they are") == 2
    assert "4 cut at 64 tokens, dropped" not in table  # a setting without any answer has no row
    assert "drop, " in table
    assert "0 cut at 64 tokens, dropped" in table


def test_a_limit_of_costs_needs_a_price(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app,
        ["knowmt", "run", str(questions(tmp_path)), "--model", "openai:unheard-of@http://127.0.0.1:9/v1", "--max-cost", "1",
         "--out", str(tmp_path / "run")],
    )  # fmt: skip
    assert result.exit_code == 2
    assert "price" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "set.jsonl", "--model", "agent:nowhere:at_all", "--out", "x"], "agent:MODULE:NAME"),
        (["run", "set.jsonl", "--model", "gpt", "--out", "x"], "--model is 'gpt'; give openai:MODEL"),
        (["run", "set.jsonl", "--model", "gpt", "--out", "x"], "PROVIDER:MODEL, agent:MODULE:NAME for a function"),
        (["run", "set.jsonl", "--model", "openai:a", "--model", "openai:a", "--out", "x"], "given twice"),
        (
            ["run", "set.jsonl", "--model", "openai:a", "--setting", "multi+rag=base", "--out", "x"],
            "no item has documents",
        ),
        (["run", "set.jsonl", "--model", "openai:a", "--setting", "multi+swap=nowhere", "--out", "x"], "nowhere"),
        (["run", "set.jsonl", "--model", "openai:a", "--references", "nowhere.json", "--out", "x"], "nowhere.json"),
        (["run", "set.jsonl", "--model", "openai:a", "--system", "b=set.jsonl", "--out", "x"], "names no --model"),
        (["judge", "nowhere"], "knowmt run"),
        (["report", "."], "no run's folder"),
        (["report", "nowhere"], "give folders that vista-guard knowmt run wrote"),
        (["validate", "nowhere.csv"], "nowhere.csv"),
    ],
)
def test_what_cannot_be_used_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], said: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    questions(tmp_path)
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["knowmt", *arguments])
    assert result.exit_code == 2, result.output
    assert said in result.stderr
    assert "Traceback" not in result.output


def test_an_endpoint_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISTA_GUARD_MODEL__MAX_RETRIES", "0")
    command = [
        "knowmt",
        "run",
        str(questions(tmp_path)),
        "--model",
        "openai:m@http://127.0.0.1:9/v1",
        "--setting",
        "multi",
    ]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "run")])
    assert done.exit_code == 1, done.output
    assert "no answer: no answer" not in done.stdout
    assert "have no last answer: openai:m@http://127.0.0.1:9/v1 cannot be reached" in done.stderr


def test_a_setting_that_no_answer_has_is_named_with_those_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own_agent.py").write_text("def say(messages):\n    return 'One. Two.'\n", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    questions(tmp_path)
    for command in (
        ["run", "set.jsonl", "--model", "agent:own_agent:say", "--setting", "multi", "--out", "run"],
        ["judge", "run"],
    ):
        assert CliRunner().invoke(app, ["knowmt", *command]).exit_code == 0
    done = CliRunner().invoke(app, ["knowmt", "report", "run", "--setting", "mulit"])
    assert done.exit_code == 2
    assert "--setting mulit is of no answer that is judged; there are multi" in done.stderr


def test_a_budget_ends_the_run_and_the_same_command_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISTA_GUARD_MODEL__PRICES", '{"small": {"input": 10, "output": 100}}')
    with ScriptedChatServer(script) as server:
        command = [
            "knowmt",
            "run",
            str(questions(tmp_path)),
            "--model",
            f"openai:small@{server.base_url}",
            "--at-once",
            "1",
        ]
        command += ["--setting", "multi", "--max-tokens", "64", "--out", str(tmp_path / "run")]
        first = CliRunner().invoke(app, [*command, "--max-cost", "0.002"])
        assert first.exit_code == 1, first.output
        assert "8 answers to ask for in all, at most $" in first.stderr
        assert "run the same command again" in first.stderr
        asked = len(server.requests)
        assert 0 < asked < 8
        assert CliRunner().invoke(app, [*command, "--max-cost", "1"]).exit_code == 0
        assert len(server.requests) == 8


def test_a_full_disk_is_named_and_the_run_goes_on_afterwards(tmp_path: Path) -> None:
    with ScriptedChatServer(script) as server:
        command = [
            "knowmt",
            "run",
            str(questions(tmp_path)),
            "--model",
            f"openai:m@{server.base_url}",
            "--at-once",
            "1",
        ]
        command += ["--out", str(tmp_path / "run")]
        limited = (
            "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (1500, 1500)); "
            "from vista_guard.cli import app; app(sys.argv[1:])"
        )
        failed = subprocess.run(
            [sys.executable, "-B", "-c", limited, *command], capture_output=True, text=True, check=False
        )
        assert failed.returncode != 0
        assert "answers.jsonl" in failed.stderr
        assert "Traceback" not in failed.stderr
        run(*command)
        answers = [json.loads(line) for line in (tmp_path / "run" / "answers.jsonl").read_text("utf-8").splitlines()]
        assert len({(one["setting"], one["sample"], one["turn"]) for one in answers}) == 12
        whole = (tmp_path / "run" / "answers.jsonl").read_text("utf-8")
        (tmp_path / "run" / "answers.jsonl").write_text("{broken}\n" + whole, "utf-8")
        broken = CliRunner().invoke(app, command)
        assert (broken.exit_code, "line " in broken.stderr) == (2, True), broken.output
