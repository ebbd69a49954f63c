"""`vista-guard datasets`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.lab.datasets import rows
from vista_guard.cli import app
from vista_lab.datasets.files import fingerprint
from vista_lab.datasets.registry import all_datasets


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two data sets, one with rows that cannot be read, and half of a third."""
    faults = [("t5", "wow", "K.", "Hi", "R.", "\x1b[31mPartly")]
    rows.tsv(tmp_path / "begin" / "begin_dev_wow.tsv", rows.BEGIN_HEADER, [*rows.BEGIN, *faults])
    rows.listed(tmp_path / "human_eval_dev.json", rows.VISTA)
    rows.table(tmp_path / "ann_wow.csv", rows.AIS)
    return tmp_path


def run(*arguments: str, **environment: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["datasets", *arguments], env=environment)
    return result.exit_code, result.stdout, result.stderr


def test_all_are_listed_without_a_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VISTA_GUARD_DATA", raising=False)
    code, shown, said = run()
    lines = shown.splitlines()
    assert (code, said) == (0, "with --data FOLDER (or VISTA_GUARD_DATA) they are looked for, read and counted\n")
    assert lines[0].split() == ["name", "split", "licence", "looked", "for"]
    assert [line.split()[0] for line in lines[1:]] == list(all_datasets())


def test_what_a_folder_holds_is_counted(data: Path) -> None:
    code, shown, said = run(VISTA_GUARD_DATA=str(data))
    found = {line.split()[0]: line.split() for line in shown.splitlines() if not line.startswith(" ")}
    digest = fingerprint(data / "begin" / "begin_dev_wow.tsv")[:12]
    assert (code, said) == (0, "")
    assert found["begin-dev-wow"][1:] == ["dev", "CC", "BY", "4.0", "unverifiable", "3", "3", "1", digest]
    assert found["vista-human-dev"][-4:-1] == ["1", "1", "0"]
    assert found["fade"][-2:] == ["human_verified_500.csv", "missing"]


def test_one_is_shown_with_what_was_skipped(data: Path) -> None:
    code, shown, said = run("begin-dev-wow", "--data", str(data))
    file = data / "begin" / "begin_dev_wow.tsv"
    pairs = [line.strip().split("  ", 1) for line in shown.splitlines()]
    known = {title: " ".join(rest[0].split()) for title, *rest in pairs if rest}
    assert (code, said) == (0, "")
    assert known["file"] == f"begin_dev_wow.tsv: {file}"
    assert known["sha256"] == fingerprint(file)
    assert known["turns"] == "3, of which 1 are looked for and 1 are left open"
    assert known["skipped"] == "1 row"
    assert known["for example"].startswith(f"{file} row 4 begin_label is '\\x1b[31mPartly'; the labels are")


def test_json_holds_all(data: Path) -> None:
    code, shown, _ = run("begin-dev-wow", "--data", str(data), "--json")
    found = json.loads(shown)
    file = data / "begin" / "begin_dev_wow.tsv"
    assert code == 0
    assert found["files"] == [
        {
            "name": "begin_dev_wow.tsv",
            "path": str(file),
            "sha256": fingerprint(file),
            "origin": "https://raw.githubusercontent.com/google/BEGIN-dataset/main/wow/begin_dev_wow.tsv",
        }
    ]
    numbers = ("conversations", "turns", "positive", "open", "claims", "missing", "error", "test", "task")
    assert [found[name] for name in numbers] == [3, 3, 1, 1, 0, [], None, False, "unverifiable"]
    assert list(found["skipped"].values()) == [1]
    every = [json.loads(line) for line in run("--json")[1].splitlines()]
    assert [one["name"] for one in every] == list(all_datasets())


def test_one_that_is_not_whole_says_what_is_missing(data: Path) -> None:
    code, shown, said = run("ais-wow", "--data", str(data))
    assert code == 2
    assert "ann_wow.csv: there" in shown
    assert said.startswith(
        f"error: data set ais-wow is incomplete in {data}: wizard_of_wikipedia/test_random_split.json"
    )


def test_a_file_that_cannot_be_read_costs_only_its_own_line(data: Path) -> None:
    (data / "begin" / "begin_dev_tc.tsv").write_text("no\theader\n", encoding="utf-8")
    code, shown, _ = run("--data", str(data), "--json")  # no path is broken into lines there
    assert code == 0
    assert "begin_dev_tc.tsv has no column knowledge, message" in shown
    assert run("begin-dev-tc", "--data", str(data))[0] == 2


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["begin-dv-wow"], "error: data set 'begin-dv-wow' is unknown; did you mean begin-dev-wow, "),
        (["--data", "none"], "error: data folder none does not exist; give one with --data or VISTA_GUARD_DATA\n"),
        (["--download", "x"], "error: --download fetches one data set at a time: give its NAME\n"),
        (["rgm", "--download", "x"], "RGM-Contradictions, in-domain: github.com/shiki-sato/rgm-contradiction"),
    ],
)
def test_wrong_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], error: str) -> None:
    monkeypatch.chdir(tmp_path)
    code, shown, said = run(*arguments)
    assert (code, shown) == (2, "")
    assert said.startswith(error)


def test_the_examples_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    rows.tsv(tmp_path / "data" / "begin_dev_wow.tsv", rows.BEGIN_HEADER, [*rows.BEGIN, ("cut", "off")])
    asked = {"id": 7, "question": "When?", "answer": "At seven.", "passages": ["Open at nine."], "grounded": "no"}
    rows.lines(tmp_path / "data" / "support.jsonl", asked)
    page = (Path(__file__).parents[3] / "docs" / "datasets.md").read_text("utf-8")
    for example in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(compile(example, "datasets.md", "exec"), {})
    told = capsys.readouterr().out
    assert "data/begin_dev_wow.tsv row 4 has 2 cells, and the header has 6" in told
    assert told.endswith("[{1: TurnGold(label='no', positive=True, places=())}]\n")
