"""`vista-guard eval`: data sets and logs into runs' folders, what it says, and what it refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import get_args

import pytest
from typer.testing import CliRunner, Result

from tests.lab.runs.ruled import lasting
from vista_guard.cli import app
from vista_guard.testing import ScriptedChatServer, Verdict, judge_script
from vista_lab.evaluate.eval import Gold
from vista_lab.evaluate.replay import Claims
from vista_lab.metrics.detection import Reading
from vista_lab.runs.loop import ClaimsMode
from vista_lab.runs.summary import RunSummary
from vista_lab.systems.evidence import FoundEvidence

ROOT = Path(__file__).parents[3]
LABELS = ("Fully attributable", "Not fully attributable", "Generic")


@pytest.fixture
def begin(tmp_path: Path) -> Path:
    """A folder with BEGIN's file in its publisher's format: twelve rows of three kinds, and one that cannot be read."""
    lines = ["model_name\tdata_source\tknowledge\tmessage\tresponse\tbegin_label"]
    for number in range(12):
        known, asked = f"Mill {number} grinds oats by the river.", f"What of mill {number}?"
        said = (f"Mill {number} grinds oats.", "Castles float upon clouds.", "I see, that sounds nice.")[number % 3]
        lines.append("\t".join(("t5", "wow", known, asked, said, LABELS[number % 3])))
    lines.append("t5\twow\tMill 12\tWhat?\tIt is.\tMaybe")
    folder = tmp_path / "BEGIN-dataset-main" / "wow"
    folder.mkdir(parents=True)
    (folder / "begin_dev_wow.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


def mills(path: Path, talks: int, turns: int = 2) -> Path:
    """A log of chat messages."""

    def said(talk: int, turn: int) -> list[dict[str, object]]:
        text = f"Mill {talk}-{turn} grinds oats."
        document = {"id": f"d{turn}", "text": f"{text} It stands by the river."}
        return [{"role": "user", "content": "?"}, {"role": "assistant", "content": text, "documents": [document]}]

    chats = [
        {"id": f"m{talk}", "messages": [one for n in range(turns) for one in said(talk, n)]} for talk in range(talks)
    ]
    path.write_text("".join(json.dumps(chat) + "\n" for chat in chats), encoding="utf-8")
    return path


def evaluate(*arguments: object) -> Result:
    return CliRunner().invoke(app, ["eval", *map(str, arguments)])


def cells(output: str) -> set[tuple[str, ...]]:
    return {tuple(cell.strip() for cell in line.split("│")[1:-1]) for line in output.splitlines() if "│" in line}


def summary(folder: Path) -> RunSummary:
    return RunSummary.model_validate_json((folder / "summary.json").read_bytes())


def test_choices_are_those_of_the_evaluation() -> None:
    assert set(get_args(Claims)) == set(ClaimsMode)
    assert set(get_args(Gold)) == set(Reading)


def test_what_is_left_out_or_changes_nothing_is_told(tmp_path: Path) -> None:
    log = mills(tmp_path / "mills.jsonl", 2)
    asked = {"id": "asked", "messages": [{"role": "user", "content": "Is anybody there?"}]}
    seen = [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": "https://example.org/m.png"}},
    ]
    shown = {
        "id": "shown",
        "messages": [{"role": "user", "content": seen}, {"role": "assistant", "content": "A mill."}],
    }
    more = "".join(json.dumps(one) + "\n" for one in (asked, shown))
    log.write_text(log.read_text(encoding="utf-8") + more, encoding="utf-8")
    done = evaluate(log, "--system", "overlap", "--judge", "embedded", "--out", tmp_path / "run")
    assert done.exit_code == 0
    assert "overlap asks no judge: --judge embedded changes nothing\n" in done.stderr
    assert "there is no assistant turn to judge: conversation asked (line 3)\n" in done.stderr
    assert "'image_url', keys image_url: conversation shown (line 4), message 0" in done.stderr


def test_a_baseline_is_fitted_on_another_set_than_it_measures(begin: Path, tmp_path: Path) -> None:
    dev = begin / "BEGIN-dataset-main" / "wow" / "begin_dev_wow.tsv"
    rows = dev.read_text(encoding="utf-8").splitlines()
    dev.with_name("begin_test_wow.tsv").write_text("\n".join(rows[:-1]) + "\n", encoding="utf-8")
    fitted = ("--fit-on", "begin-dev-wow", "--data", begin, "--out", tmp_path / "run")
    done = evaluate("begin-test-wow", "--system", "overlap", *fitted)
    assert done.exit_code == 0
    assert "overlap: fitted on begin-dev-wow dev, threshold 1.0\n" in done.stderr
    options = json.loads((tmp_path / "run" / "manifest.json").read_text())["system"]["options"]
    assert (options["fitted on"], options["threshold"]) == ("begin-dev-wow dev", "1.0")
    both = evaluate("begin-test-wow", "--system", "overlap", "--option", "threshold=0.4", *fitted)
    assert both.exit_code == 2
    assert "--fit-on sets threshold" in both.stderr
    same = evaluate("begin-dev-wow", "--system", "majority", *fitted)
    assert same.exit_code == 2
    assert "majority would be fitted on begin-dev-wow" in same.stderr
    log = evaluate(mills(tmp_path / "mills.jsonl", 2), "--system", "vista", *fitted)
    assert log.exit_code == 2
    assert "system 'vista' cannot be fitted" in log.stderr


def test_a_data_set_is_found_by_name_and_its_rows_are_counted(begin: Path, tmp_path: Path) -> None:
    arguments = ("begin-dev-wow", "--system", "overlap", "--data", begin, "--out", tmp_path / "run")
    done = evaluate(*arguments)
    file = next(begin.rglob("begin_dev_wow.tsv"))
    assert done.exit_code == 0
    assert done.stderr.startswith(f"{file} row 13: begin_label is 'Maybe'; the labels are")
    assert {
        ("turns to judge", "12"),
        ("rows that could not be read", "1"),
        ("turns with gold", "8"),
        ("found, missed", "4, 0"),
        ("wrongly found, rightly not", "0, 4"),
    } <= cells(done.stdout)
    made = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert (made["rows"]["name"], made["rows"]["split"], made["system"]["name"]) == ("begin-dev-wow", "dev", "overlap")
    assert list(made["rows"]["files"]) == ["begin_dev_wow.tsv"]
    assert sum(made["rows"]["skipped"].values()) == 1
    before = lasting(tmp_path / "run")
    again = evaluate(*arguments, "--gold", "strict")
    assert again.exit_code == 0
    assert "The data has no gold for --gold strict; it has original." in again.stdout
    assert ("turns", "12 (12 of an earlier run)") in cells(again.stdout)
    assert lasting(tmp_path / "run") == before


def test_a_run_is_not_mixed_with_another(begin: Path, tmp_path: Path) -> None:
    arguments = ("begin-dev-wow", "--data", begin, "--out", tmp_path / "run", "--limit", 5)
    assert evaluate(*arguments, "--system", "overlap").exit_code == 0
    for more, field in (
        (("--system", "majority", "--option", "label=VERIFIED"), "system overlap instead of majority"),
        (
            ("--system", "overlap", "--option", "threshold=0.9"),
            "judge overlap threshold 0.5 instead of overlap threshold 0.9",
        ),
        (("--system", "overlap", "--policy", "strict"), "option policy monitor instead of strict"),
        (("--system", "overlap", "--seed", "4"), "seed 0 instead of 4"),
    ):
        done = evaluate(*arguments, *more)
        assert done.exit_code == 2
        assert field in done.stderr
    file = next(begin.rglob("begin_dev_wow.tsv"))
    file.write_text(file.read_text() + "\t".join(("t5", "wow", "A", "B", "C", LABELS[0])) + "\n")
    changed = evaluate(*arguments, "--system", "overlap")
    assert (changed.exit_code, "sha256 of begin_dev_wow.tsv" in changed.stderr) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["begin-dev-wo"], "data set 'begin-dev-wo' is unknown; did you mean begin-dev-wow"),
        (["begin-dev-wow"], "give their folder with --data or VISTA_GUARD_DATA"),
        (["begin-dev-wow", "--data", "."], "begin_dev_wow.tsv is missing, to be had from"),
        (["./talk.jsonl"], "log ./talk.jsonl does not exist"),
        (["log.jsonl", "--format", "xml"], "--format is 'xml'"),
        (["log.jsonl", "--claims", "given"], "no turn carries claims; evaluate it with --claims judge"),
        (["log.jsonl", "--option", "threshold"], "--option is 'threshold'; give NAME=VALUE"),
        (["log.jsonl", "--address", "auto"], "--address needs --engine ray"),
        (["log.jsonl", "--each", "2"], "--each needs --engine ray"),
        (["log.jsonl", "--system", "best"], "system 'best' is unknown"),
        (["log.jsonl", "--system", "zero-shot"], "zero-shot needs a chat model"),
        (["log.jsonl", "--columns", "role"], "--columns has 'role'"),
    ],
)
def test_what_cannot_be_evaluated(
    arguments: Sequence[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VISTA_GUARD_DATA", raising=False)
    mills(tmp_path / "log.jsonl", 1)
    system = [] if "--system" in arguments else ["--system", "overlap"]
    done = evaluate(*arguments, *system, "--out", "run")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert not (tmp_path / "run" / "manifest.json").exists()


def test_lines_of_a_log_that_cannot_be_read_are_named_and_lead_to_exit_code_2(tmp_path: Path) -> None:
    log = mills(tmp_path / "log.jsonl", 2)
    log.write_text(log.read_text() + '{"messages": [}\n' + '{"messages": 7}\n' * 25)
    done = evaluate(log, "--system", "overlap", "--out", tmp_path / "run")
    told = done.stderr.splitlines()
    assert done.exit_code == 2
    assert told[0].startswith(f"{log} line 3: is not JSON: ")
    assert told[1].startswith(f"{log} line 4: is not a chat")
    assert (len(told), told[20]) == (21, "… 6 more entries cannot be read")
    assert {("rows that could not be read", "26"), ("with a report", "4")} <= cells(done.stdout)


def test_a_run_that_judged_nothing_says_why_and_is_no_success(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISTA_GUARD_MODEL__MAX_RETRIES", "0")
    log, out = mills(tmp_path / "log.jsonl", 1), tmp_path / "run"
    done = evaluate(log, "--system", "llm-judge", "--judge", "openai:m@http://127.0.0.1:9/v1", "--out", out)
    assert done.exit_code == 1, done.stderr
    assert "2 of 2 claims are unchecked, " in done.stderr
    assert "cannot be reached" in done.stderr
    assert f"drop their lines from {out / 'reports.jsonl'} first" in done.stderr


def test_a_model_is_estimated_first_stops_at_its_budget_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISTA_GUARD_MODEL__PRICES", '{"gpt-4o-mini": {"input": 0.15, "output": 0.6}}')
    log = mills(tmp_path / "log.jsonl", 3)
    texts = [f"Mill {talk}-{turn} grinds oats." for talk in range(3) for turn in range(2)]
    with ScriptedChatServer(judge_script({text: [Verdict(text)] for text in texts})) as server:
        judge = ("--judge", f"openai:gpt-4o-mini@{server.base_url}", "--workers", 1)
        arguments = (log, *judge, "--out", tmp_path / "run")
        first = evaluate(*arguments, "--max-cost", "0.001")
        told = first.stderr.splitlines()
        assert first.exit_code == 1, first.stderr
        assert told[0].startswith("estimate for 6 turns: 12 calls, ")
        assert told[0].endswith(" (6 turns rehearsed)")
        assert "about $" in told[0]
        assert told[1].startswith("that is more than --max-cost 0.001")
        reported = summary(tmp_path / "run").reported
        assert 0 < reported < 6
        assert told[2].startswith("stopped: the run's budget of $0.001 is spent")
        assert f"; {reported} of 6 turns are in {tmp_path / 'run'}; run the same command again" in told[2]
        second = evaluate(*arguments)
        assert second.exit_code == 0
        assert second.stderr.startswith(f"estimate for {6 - reported} turns: {2 * (6 - reported)} calls")
    figures = summary(tmp_path / "run")
    assert (figures.complete, figures.micro) == (True, 1.0)
    made = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert set(made["system"]["prompts"]) == set(made["system"]["shots"])
    assert made["system"]["prompts"]


ENGINE = """
from pathlib import Path

def find(claim):
    with Path(__file__).with_name("asked").open("a") as asked:
        asked.write(claim + "\\n")
    return [] if "-3" in claim else [claim]
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A search function that writes down what it was asked, in a module where the command is run."""
    (tmp_path / "engine.py").write_text(ENGINE, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), str(ROOT)]))
    yield "search:engine:find"
    sys.modules.pop("engine", None)


KILLED = """
import itertools, os, signal
from vista_guard.cli import main
from vista_guard.stores.line_file import LineFile
append, numbers = LineFile.append, itertools.count(1)
def last(file, line):
    append(file, line)
    if file.path.name == "reports.jsonl" and next(numbers) == 10:
        os.kill(os.getpid(), signal.SIGKILL)
LineFile.append = last
main()
"""
"""The command, killed after its tenth report."""


@pytest.mark.parametrize("by_claim", [False, True])
def test_killed_in_the_middle_it_goes_on_to_the_same_reports(tmp_path: Path, engine: str, by_claim: bool) -> None:
    log = mills(tmp_path / "log.jsonl", 30, turns=5)
    arguments = [str(log), "--system", "overlap", *(("--evidence", engine) if by_claim else ()), "--out"]
    assert evaluate(*arguments, tmp_path / "whole").exit_code == 0
    command = [sys.executable, "-c", KILLED, "eval", *arguments, str(tmp_path / "run")]
    assert subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode == -signal.SIGKILL
    assert (tmp_path / "run" / "reports.jsonl").read_bytes().count(b"\n") == 10
    assert not (tmp_path / "run" / "summary.json").exists()
    assert evaluate(*arguments, tmp_path / "run").exit_code == 0
    assert lasting(tmp_path / "run") == lasting(tmp_path / "whole")
    whole, gone_on = summary(tmp_path / "whole"), summary(tmp_path / "run")
    assert gone_on.model_copy(update={"judging_seconds": whole.judging_seconds}) == whole
    if by_claim:
        assert found_in(tmp_path / "run") == found_in(tmp_path / "whole")
        asked = (tmp_path / "asked").read_text(encoding="utf-8").split("\n")[:-1]
        # Of the killed run no more than what was in flight is asked again.
        assert len(found_in(tmp_path / "whole")) * 2 <= len(asked) <= len(found_in(tmp_path / "whole")) * 2 + 4


def found_in(folder: Path) -> dict[tuple[str, int, str], FoundEvidence]:
    lines = (folder / "evidence.jsonl").read_bytes().splitlines()
    found = [FoundEvidence.model_validate_json(line) for line in lines]
    assert len({line.key for line in found}) == len(found)
    return {line.key: line for line in found}


def test_runs_of_different_evidence_are_not_mixed_and_a_recording_is_replayed(tmp_path: Path, engine: str) -> None:
    log, run = mills(tmp_path / "log.jsonl", 2), tmp_path / "run"
    arguments = (log, "--system", "overlap", "--out")
    assert evaluate(*arguments, run, "--evidence", engine).exit_code == 0
    made = json.loads((run / "manifest.json").read_text())["system"]["evidence"]
    assert (made["kind"], made["source"], made["k"], made["replayed"]) == ("search", "engine:find", 10, "")
    for more, named in (
        (("--evidence", "given"), "evidence kind search instead of given"),
        (("--evidence", engine, "--passages", "3"), "evidence k 10 instead of 3"),
        ((), "evidence kind search instead of -"),
        (("--evidence", f"recorded:{run / 'evidence.jsonl'}"), "is this run's own"),
        (("--evidence", engine, "--engine", "ray"), "--evidence search is recorded by one process"),
        (("--evidence", "wiki"), "give wiki:FILE"),
        (("--passages", "3"), "--passages needs --evidence"),
    ):
        done = evaluate(*arguments, run, *more)
        assert done.exit_code == 2
        assert named in " ".join(done.stderr.split())
    before = (tmp_path / "asked").read_text(encoding="utf-8")
    again = evaluate(*arguments, tmp_path / "again", "--evidence", f"recorded:{run / 'evidence.jsonl'}")
    assert again.exit_code == 0
    assert lasting(tmp_path / "again") == lasting(run)
    assert (tmp_path / "asked").read_text(encoding="utf-8") == before
    assert not (tmp_path / "again" / "evidence.jsonl").exists()
    alone = tmp_path / "alone" / "evidence.jsonl"
    alone.parent.mkdir()
    alone.write_bytes((run / "evidence.jsonl").read_bytes())
    lost = evaluate(*arguments, tmp_path / "lost", "--evidence", f"recorded:{alone}")
    assert lost.exit_code == 2
    assert "manifest.json cannot be read" in " ".join(lost.stderr.split())


def test_felm_is_judged_by_a_search_once_and_by_its_recording_ever_after(tmp_path: Path, engine: str) -> None:
    said = {number: [f"Mill {number} grinds oats.", f"Mill-3 of {number} grinds rye."] for number in range(4)}
    rows = [
        {
            "index": str(number),
            "prompt": f"What of mill {number}?",
            "response": " ".join(segments[: 1 + number % 2]),
            "segmented_response": segments[: 1 + number % 2],
            "labels": [True, False][: 1 + number % 2],
        }
        for number, segments in said.items()
    ]
    (tmp_path / "felm").mkdir()
    (tmp_path / "felm" / "wk.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    arguments = ("felm-wk", "--data", tmp_path, "--system", "overlap", "--decomposer", "sentence", "--out")
    none = evaluate(*arguments, tmp_path / "none")
    assert none.exit_code == 0
    assert evaluate(*arguments, tmp_path / "live", "--evidence", engine).exit_code == 0
    asked = (tmp_path / "asked").read_text(encoding="utf-8")
    recorded = f"recorded:{tmp_path / 'live' / 'evidence.jsonl'}"
    assert evaluate(*arguments, tmp_path / "again", "--evidence", recorded).exit_code == 0
    assert (tmp_path / "asked").read_text(encoding="utf-8") == asked
    assert lasting(tmp_path / "again") == lasting(tmp_path / "live")
    assert lasting(tmp_path / "none") != lasting(tmp_path / "live")
    table = CliRunner().invoke(app, ["compare", str(tmp_path / "again"), "--paper", "dad", "--tables", "1"])
    assert table.exit_code == 0
    assert "FELM" in table.stdout
