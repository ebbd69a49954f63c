"""A log replayed on a model judge, in a process of its own: killed, out of budget, and gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.pace import PATIENCE_S, until
from vista_guard.cli import app
from vista_guard.testing import ReceivedRequest, ScriptedChatServer, Verdict, judge_script

CONVERSATIONS, TURNS = 12, 10
CONCURRENCY = 4


def turn(conversation: int, number: int) -> str:
    return f"Mill {conversation}-{number} grinds oats."


def write_log(path: Path, conversations: int, turns: int) -> None:
    def messages(conversation: int) -> list[dict[str, object]]:
        said: list[dict[str, object]] = []
        for number in range(turns):
            text = turn(conversation, number)
            document = {"id": f"d{number}", "text": f"{text} It stands by the river."}
            said.append({"role": "user", "content": f"What of mill {number}?"})
            said.append({"role": "assistant", "content": text, "documents": [document]})
        return said

    lines = ({"id": f"talk-{number}", "messages": messages(number)} for number in range(conversations))
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def scripted(conversations: int, turns: int, latency: Callable[[ReceivedRequest], float]) -> ScriptedChatServer:
    texts = [turn(c, n) for c in range(conversations) for n in range(turns)]
    return ScriptedChatServer(judge_script({text: [Verdict(text)] for text in texts}), latency=latency)


def replay(server: ScriptedChatServer, folder: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "vista_guard", "replay", "log.jsonl", "--out", "reports.jsonl"]
    judge = ["--judge", f"openai:gpt-4o-mini@{server.base_url}", "--concurrency", str(CONCURRENCY)]
    variables = {**os.environ, **environment}
    return subprocess.Popen(
        [*command, *judge, *arguments],
        cwd=folder,
        env=variables,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def judged(folder: Path) -> list[tuple[str, int, str]]:
    """Conversation, turn and label of every whole report."""
    lines = (folder / "reports.jsonl").read_text().splitlines()
    reports = [json.loads(line) for line in lines]
    return [(one["conversation_id"], one["turn_index"], one["outcomes"][0]["label"]) for one in reports]


def test_killed_in_the_middle_every_turn_is_judged_once_and_no_call_is_paid_twice(tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl", CONVERSATIONS, TURNS)
    everything = [(f"talk-{c}", 2 * n + 1, "VERIFIED") for c in range(CONVERSATIONS) for n in range(TURNS)]
    killed = threading.Event()

    def latency(request: ReceivedRequest) -> float:  # the first run gets no further than half
        return 0.0 if request.number <= len(everything) or killed.is_set() else 3600.0

    with scripted(CONVERSATIONS, TURNS, latency) as server:
        first = replay(server, tmp_path, "--cache", "cache")
        try:
            until(lambda: server.calls > len(everything) or first.poll() is not None)
            assert first.poll() is None, first.communicate()
        finally:
            first.send_signal(signal.SIGKILL)
            first.communicate()
            killed.set()
        before = server.calls
        second = replay(server, tmp_path, "--cache", "cache")
        out, err = second.communicate(timeout=PATIENCE_S)
        assert second.returncode == 0, out + err
        server.assert_accepted()
        paid = Counter(request.user for request in server.requests)
    assert sorted(judged(tmp_path)) == sorted(everything)
    assert before < 2 * len(everything)
    # Two calls a turn, and of the first run at most what was on its way in each of the conversations at work.
    assert set(paid.values()) <= {1, 2}
    assert len(paid) == 2 * len(everything)
    assert sum(paid.values()) - len(paid) <= CONCURRENCY


def test_a_spent_budget_stops_the_replay_and_a_new_one_goes_on(tmp_path: Path) -> None:
    write_log(tmp_path / "log.jsonl", 3, 4)
    with scripted(3, 4, lambda _: 0.0) as server:
        first = replay(server, tmp_path, VISTA_GUARD_MODEL__BUDGET__RUN__CALLS="9")
        out, err = first.communicate(timeout=PATIENCE_S)
        assert (first.returncode, server.calls) == (1, 9), out + err
        done = judged(tmp_path)
        assert {label for _, _, label in done} == {"VERIFIED"}
        assert (
            f"{len(done)} reports are in reports.jsonl; run the same command again, with a new budget, to resume" in err
        )
        assert "Traceback" not in err
        second = replay(server, tmp_path)
        out, err = second.communicate(timeout=PATIENCE_S)
        assert second.returncode == 0, out + err
    assert sorted(judged(tmp_path)) == sorted((f"talk-{c}", 2 * n + 1, "VERIFIED") for c in range(3) for n in range(4))
    assert len(done) < 12


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--judge", "openai:"], "judge is 'openai:', which does not exist"),
        (["--judge", "cascade:embedded"], "it takes two judges with commas between them"),
        (["--judge", "ensemble:embedded,cascade:a,b"], "none of them of the kind cascade or ensemble"),
        (["--judge", "openai:m@ftp://host/v1"], "ftp"),
        (["--judge", "recorded:missing.jsonl"], "missing.jsonl"),
        (["--judge", "langchain:nobody:m"], "langchain:nobody:m cannot be made"),
    ],
)
def test_judges_that_cannot_be(
    tmp_path: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_log(tmp_path / "log.jsonl", 1, 1)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["replay", "log.jsonl", "--out", "reports.jsonl", *arguments])
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert not (tmp_path / "reports.jsonl").exists()


def test_an_endpoint_that_is_not_there_leaves_every_turn_unchecked_which_is_said_and_is_no_success(
    tmp_path: Path,
) -> None:
    write_log(tmp_path / "log.jsonl", 1, 1)
    command = [sys.executable, "-m", "vista_guard", "replay", "log.jsonl", "--out", "reports.jsonl"]
    judge = ["--judge", "openai:m@http://127.0.0.1:9/v1"]
    variables = {**os.environ, "VISTA_GUARD_MODEL__MAX_RETRIES": "0"}
    done = subprocess.run(
        [*command, *judge], cwd=tmp_path, env=variables, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "1 of 1 claims are unchecked, 1 of them: openai:m@http://127.0.0.1:9/v1 cannot be reached" in done.stderr
    assert "drop their lines from reports.jsonl first" in done.stderr
    (report,) = map(json.loads, (tmp_path / "reports.jsonl").read_text().splitlines())
    assert report["score"] is None
    assert "127.0.0.1:9" in report["outcomes"][0]["error"]
