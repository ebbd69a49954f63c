"""`vista-guard decompose exemplars`, `rewards` and `quality`: kills, models that are down, people beside a judge, wrong input."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

pytest.importorskip("openai")

from tests.lab.decompose.test_exemplars import log, taught
from tests.lab.decompose.test_judges import checklist, checks, marks
from tests.pace import until
from vista_guard.cli import app
from vista_guard.testing import Fault, ReceivedRequest, ScriptedChatServer
from vista_lab.decompose.training.exemplars import read_exemplars

ROOT = Path(__file__).parents[3]


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["decompose", *map(str, arguments)], env={"VISTA_GUARD_MODEL__MAX_RETRIES": "0"})


def test_the_commands_of_the_group() -> None:
    told = run("--help").stdout
    for command in ("show", "exemplars", "rewards", "quality", "train"):
        assert re.search(rf"^  {command} ", told, re.MULTILINE)


# Exemplars


def test_after_kill_9_no_written_exemplar_is_asked_about_again(tmp_path: Path) -> None:
    log(tmp_path)
    asked: Counter[str] = Counter()

    killed = threading.Event()

    def counted(request: ReceivedRequest) -> str:
        asked[request.user.partition("<question>")[2]] += 1
        return taught(request)

    def latency(request: ReceivedRequest) -> float:
        return 0.0 if request.number <= 16 or killed.is_set() else 3600.0

    out = tmp_path / "out"
    with ScriptedChatServer(counted, latency=latency) as server:
        arguments = ["exemplars", tmp_path / "talks.jsonl", "--teacher", f"openai:m@{server.base_url}", "--out", out]
        command = [sys.executable, "-m", "vista_guard", "decompose", *map(str, arguments), "--at-once", "3"]
        first = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        records = out / "records.jsonl"
        until(lambda: first.poll() is not None or (records.exists() and records.read_bytes().count(b"\n") >= 10))
        os.kill(first.pid, signal.SIGKILL)
        assert first.wait() == -signal.SIGKILL
        killed.set()
        done = [one.asked for one in read_exemplars(out)]
        second = run(*arguments)
    assert second.exit_code == 0, second.stderr
    assert f"40 of 40 sentences have an exemplar ({len(done)} were there before)" in second.stdout
    left = 40 - len(done)
    assert f"estimate for {left} sentences: {left} calls" in second.stderr
    for one in done:
        (times,) = (n for text, n in asked.items() if one.question in text and f"<sentence>\n{one.sentence}" in text)
        assert times == 1
    assert len({one.asked.id for one in read_exemplars(out)}) == 40


def test_two_logs_of_two_models(tmp_path: Path) -> None:
    log(tmp_path, 8, "one.jsonl")
    log(tmp_path, 8, "two.jsonl", first=50)
    out = tmp_path / "out"
    sample = ["--limit", 8, "--teacher", "steps:embedded", "--out", out]
    told = run("exemplars", f"gpt={tmp_path / 'one.jsonl'}", f"llama={tmp_path / 'two.jsonl'}", *sample)
    assert told.exit_code == 0, told.stderr
    assert Counter(one.asked.model for one in read_exemplars(out)) == {"gpt": 4, "llama": 4}


def test_a_teacher_without_answers_fails_and_can_be_gone_on_with(tmp_path: Path) -> None:
    log(tmp_path, 6)
    with ScriptedChatServer(taught, faults=lambda request: Fault.http(500) if request.number < 4 else None) as server:
        teacher = f"openai:m@{server.base_url}"
        arguments = ["exemplars", tmp_path / "talks.jsonl", "--teacher", teacher, "--out", tmp_path / "out"]
        first, second = run(*arguments), run(*arguments)
    assert (first.exit_code, second.exit_code) == (1, 0)
    assert "3 sentences got no answer" in first.stderr
    assert "3  not asked yet" in first.stdout


# Rewards


def test_a_teacher_that_is_unknown_is_named_by_its_option(tmp_path: Path) -> None:
    log(tmp_path, 1)
    told = run("exemplars", tmp_path / "talks.jsonl", "--teacher", "gpt", "--out", tmp_path / "out")
    assert told.exit_code == 2
    assert "--teacher is 'gpt'; give openai:MODEL" in told.stderr
    assert "--model" not in told.stderr


def completions(folder: Path) -> Path:
    good = '<think>Two.</think><output>["The hall seats 90.", "The hall opened in 1925."]</output>'
    row = {"sentence": "It seats 90 and opened in 1925.", "label": "SUPPORTED", "group": "a"}
    evidence = ["The hall has 90 seats. It opened in 1925."]
    rows = [{**row, "completion": text, "evidence": evidence} for text in (good, "[]")]
    path = folder / "completions.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return path


def test_rewards_by_term_and_no_answer_is_paid_for_twice(tmp_path: Path) -> None:
    out = tmp_path / "scores.jsonl"
    with ScriptedChatServer(checklist(checks(), checks()), faults={1: Fault.http(503)}) as server:
        judge = ["--judge", f"openai:m@{server.base_url}", "--out", out, "--threshold", 0.5]
        down = run("rewards", completions(tmp_path), *judge)
        assert down.exit_code == 1
        assert "1 row unscored; row 1, checklist: " in down.stderr
        first, _ = map(json.loads, out.read_text("utf-8").splitlines())
        assert not {"checklist", "total", "advantage"} & first.keys()
        for _ in range(2):
            told = run("rewards", completions(tmp_path), *judge)
            assert told.exit_code == 0, told.stderr
        assert server.calls == 2
    first, second = map(json.loads, out.read_text("utf-8").splitlines())
    assert (first["format"], first["checklist"], first["sparse"]) == (1.0, 1.0, 1.0)
    assert first["total"] == pytest.approx(2 + first["dense"])
    assert first["advantage"] == pytest.approx(-second["advantage"])
    assert "| total (format + verifier + checklist) | 2 | 0 |" in told.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--terms", "charm"], "'charm'"),
        (["--terms", "checklist"], "--judge"),
        (["--threshold", "1.5"], "1.5"),
        (["--reward", "sparse"], "--threshold"),
        (["--judge", "gpt-4o"], "'gpt-4o'"),
        (["--verifier", "nobody"], "'nobody'"),
    ],
)
def test_wishes_for_rewards_that_make_no_sense(tmp_path: Path, arguments: list[str], said: str) -> None:
    told = run("rewards", completions(tmp_path), *arguments)
    assert told.exit_code == 2
    assert said in told.stderr


# Quality, by a judge and by people

TALKS = [
    ("When did the mill open?", "The mill opened in 1911 in Leith. It was built by two brothers."),
    ("Is it high?", "The mill is 42 metres high and has no lift."),
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two decomposers on the two conversations of `talks.jsonl` beside their runs."""
    folder = tmp_path_factory.mktemp("decomposed")
    talks = [
        {"id": f"c{n}", "messages": [{"role": "user", "content": asked}, {"role": "assistant", "content": said}]}
        for n, (asked, said) in enumerate(TALKS)
    ]
    (folder / "talks.jsonl").write_text("".join(json.dumps(one) + "\n" for one in talks), encoding="utf-8")
    for name in ("sentence", "steps:embedded"):
        out = folder / "runs" / name.partition(":")[0]
        made = ["eval", str(folder / "talks.jsonl"), "--decomposer", name, "--out", str(out)]
        assert CliRunner().invoke(app, made).exit_code == 0
    return folder / "runs"


def fill(path: Path, mark: Callable[[dict[str, str]], dict[str, str]]) -> None:
    """Fills a sheet as an annotator would."""
    rows = list(csv.DictReader(io.StringIO(path.read_text("utf-8-sig")), delimiter="\t"))
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), delimiter="\t")
        writer.writeheader()
        writer.writerows({**row, **mark(row)} for row in rows)


def all_right(row: dict[str, str]) -> dict[str, str]:
    of = ("verifiability", "faithfulness", "clarity") if row["claim"] else ("coverage", "uniqueness")
    return dict.fromkeys(of, "1")


def unclear_pronouns(row: dict[str, str]) -> dict[str, str]:
    found = all_right(row)
    return {**found, "clarity": "0"} if row["text"].startswith("It ") else found


def agree(folder: Path, *, out: Path) -> Result:
    sheets = [str(folder / f"{name}.tsv") for name in ("ada", "ben", "cleo")]
    return CliRunner().invoke(app, ["agree", *sheets, "--out", str(out)])


def test_a_judge_beside_people_who_marked_the_same_sentences(tmp_path: Path, runs: Path) -> None:
    talks, items, sheets = runs.parent / "talks.jsonl", tmp_path / "items.jsonl", tmp_path / "sheets"
    told = run("quality", runs, "--log", talks, "--items", items)
    assert told.exit_code == 0, told.stderr
    shown = items.read_text("utf-8")
    for word in ("steps", "embedded", "runs", "decomposed"):
        assert word not in shown
    given = [json.loads(line) for line in shown.splitlines()]
    assert len({one["id"] for one in given}) == len(given)
    assert {one["question"] for one in given} == {asked for asked, _ in TALKS}

    made = ["annotations", "export", str(items), "--form", "desiderata", "--annotators", "ada,ben,cleo"]
    assert CliRunner().invoke(app, [*made, "--sheets", "tsv", "--out", str(sheets)]).exit_code == 0
    for name, mark in {"ada": all_right, "ben": unclear_pronouns, "cleo": unclear_pronouns}.items():
        fill(sheets / f"{name}.tsv", mark)
    agreed = agree(sheets, out=tmp_path / "agreed")
    assert agreed.exit_code == 0, agreed.stderr
    tables = (tmp_path / "agreed" / "tables.md").read_text("utf-8")
    for head in ("all agree, %", "Fleiss' κ", "pair agrees, %", "Cohen's κ", "Pearson's r"):
        assert head in tables

    out = tmp_path / "quality"
    with ScriptedChatServer(marks) as server:
        judge = ["--judge", f"openai:m@{server.base_url}", "--people", tmp_path / "agreed" / "consensus.jsonl"]
        for _ in range(2):
            told = run("quality", runs, "--log", talks, *judge, "--out", out)
            assert told.exit_code == 0, told.stderr
        assert server.calls == len(given)
    pronouns = sum(claim.startswith("It ") for one in given for claim in one["claims"])
    assert pronouns
    rows = [line.split(" | ") for line in told.stdout.splitlines() if line.startswith(("| sentence", "| steps"))]
    by_who = {(row[0].removeprefix("| "), row[1]): row[2:] for row in rows if row[1] in ("judge", "people")}
    for name in ("sentence", "steps"):
        assert by_who[name, "judge"] == by_who[name, "people"]
    agreement = told.stdout.partition("### Agreement")[2]
    clarity = next(line for line in agreement.splitlines() if line.startswith("| clarity"))
    assert clarity.count("100.0") == 2
    assert clarity.count("1.000") == 3
    lines = [json.loads(line) for line in (out / "sentences.jsonl").read_text("utf-8").splitlines()]
    assert {line["run"] for line in lines} == {"sentence", "steps"}
    assert all(line["judge"] == line["people"] for line in lines)


@pytest.mark.parametrize("cell", ["2", "yes", "0,5"])
def test_a_cell_that_is_neither_0_nor_1_is_named(tmp_path: Path, runs: Path, cell: str) -> None:
    items, sheets = tmp_path / "items.jsonl", tmp_path / "sheets"
    assert run("quality", runs / "sentence", "--items", items).exit_code == 0
    made = ["annotations", "export", str(items), "--form", "desiderata", "--annotators", "ada,ben,cleo"]
    assert CliRunner().invoke(app, [*made, "--sheets", "tsv", "--out", str(sheets)]).exit_code == 0
    for name in ("ada", "ben", "cleo"):
        fill(sheets / f"{name}.tsv", all_right)
    fill(sheets / "ben.tsv", lambda row: {"clarity": cell} if row["claim"] else {})
    told = agree(sheets, out=tmp_path / "agreed")
    assert told.exit_code == 2
    assert re.search(rf"ben\.tsv.*row 3.*clarity.*{re.escape(cell)}", told.stderr)


def test_a_judge_that_is_down_leaves_sentences_unmarked(tmp_path: Path, runs: Path) -> None:
    out = tmp_path / "quality"
    with ScriptedChatServer(marks, faults={2: Fault.http(503)}) as server:
        judge = ["--judge", f"openai:m@{server.base_url}", "--out", out]
        first, second = run("quality", runs / "steps", *judge), run("quality", runs / "steps", *judge)
    assert (first.exit_code, second.exit_code) == (1, 0)
    assert "1 sentences are unmarked" in first.stdout
    lines = [json.loads(line) for line in (out / "sentences.jsonl").read_text("utf-8").splitlines()]
    assert all("judge" in line for line in lines)
    assert server.calls == len(lines) + 1


def test_what_quality_refuses(tmp_path: Path, runs: Path) -> None:
    other = tmp_path / "other.jsonl"
    other.write_text('{"messages": [{"role": "assistant", "content": "The sea is deep."}]}\n', encoding="utf-8")
    assert CliRunner().invoke(app, ["eval", str(other), "--out", str(tmp_path / "other")]).exit_code == 0
    consensus = tmp_path / "consensus.jsonl"
    line = {"id": "x", "marks": {"coverage": "2", "uniqueness": "1"}, "parts": {}, "open": []}
    consensus.write_text(json.dumps(line) + "\n", encoding="utf-8")
    wrong: list[tuple[list[object], str]] = [
        ([runs, "--judge", "openai:m@http://127.0.0.1:9/v1"], "--out"),
        ([runs, tmp_path / "other"], "no sentence in common"),
        ([tmp_path / "nowhere"], "nowhere"),
        ([runs, "--log", other], "other.jsonl has no turn of"),
        ([runs, "--judge", "gpt", "--out", tmp_path / "out"], "--judge is 'gpt'; give openai:MODEL"),
        ([runs, "--people", consensus], "line 1, item x has coverage '2'"),
        ([runs, "--people", runs.parent / "talks.jsonl"], "line 1"),
    ]
    for arguments, said in wrong:
        told = run("quality", *arguments)
        assert told.exit_code == 2, arguments
        assert said in told.stderr
