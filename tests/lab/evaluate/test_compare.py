"""`vista-guard compare`: what it prints, what it writes, and what it says of wrong input."""

from __future__ import annotations

import os
import shutil
import xml.etree.ElementTree as ElementTree
from importlib.util import find_spec
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.lab.tables.folders import human_set, turns, written
from vista_guard.cli import app

FIGURES = find_spec("matplotlib") is not None


def compare(*arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    done = CliRunner().invoke(app, ["compare", *map(str, arguments)])
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two systems on one data set and claims that people labelled, in folders of one folder."""
    folder = tmp_path_factory.mktemp("runs")
    written(folder / "vista", turns(8, 1, 2, 9), version="batched-few-1")
    written(folder / "vista-fused", turns(7, 1, 3, 9), version="fused-few-1", seconds=0.01)
    written(folder / "factscore", turns(5, 4, 5, 6), system="factscore", version="1", reported=15)
    written(folder / "people", human_set(1, 0.2), data_set="vista-human-dev", claims="given", judge="模型 $x$\x1b[2J")
    return folder


def test_tables_go_to_stdout_and_remarks_to_stderr(runs: Path) -> None:
    code, out, err = compare(runs, "--tables", "2,20")
    assert code == 0
    assert "| begin-dev-wow | vista | gpt-4o (batched-few-1) | 20 |" in out
    assert "### Table 2. Turn accuracy on turns that cannot be verified" in out
    assert "### Table 3" not in out
    assert err == (
        "no run fills Table 20: it needs a data set of abstentions\n"
        "factscore is not complete: 15 of 20 turns are reported; its figures are of these\n"
    )


@pytest.mark.parametrize(
    ("form", "first"),
    [("tex", "\\begin{table*}[tp]"), ("csv", "# Overview"), ("html", "<!doctype html>"), ("md", "### Overview")],
)
def test_each_format_goes_to_stdout(runs: Path, form: str, first: str) -> None:
    code, out, _ = compare(runs / "vista", "--format", form)
    assert (code, out.splitlines()[0]) == (0, first)


def test_files_and_figures_are_written(runs: Path, tmp_path: Path) -> None:
    if find_spec("matplotlib") is None and os.environ.get("VISTA_GUARD_REQUIRE_ALL") != "1":
        pytest.skip("needs matplotlib: the extra evaluation")
    out = tmp_path / "out"
    code, told, _ = compare(runs, "--format", "md,tex,csv,html", "--figures", "--out", out)
    assert code == 0
    assert told.splitlines() == [f"wrote {path}" for path in _as_told(told)]
    files = [path for path in out.rglob("*") if path.is_file() and path.suffix != ".png"]
    assert sorted(path.relative_to(out).as_posix() for path in files) == [
        "claim-scores.csv",
        "confusion-vista-human-dev-vista-x-2j.csv",
        "figures/accuracy-begin-dev-wow.svg",
        "figures/accuracy-vista-human-dev.svg",
        "figures/batching-begin-dev-wow.svg",
        "figures/confusion-vista-human-dev-vista-x-2j.svg",
        "figures/cost-begin-dev-wow.svg",
        "figures/figure-2-vista-human-dev.svg",
        "figures/latency-begin-dev-wow.svg",
        "figures/reliability-vista-human-dev.svg",
        "figures/score-over-turns-vista-human-dev.svg",
        "overview.csv",
        "significance-begin-dev-wow.csv",
        "table-2.csv",
        "table-3.csv",
        "tables.html",
        "tables.md",
        "tables.tex",
    ]
    drawn = sorted((out / "figures").glob("*.svg"))
    assert [path.with_suffix(".png").read_bytes()[:4] for path in drawn] == [b"\x89PNG"] * len(drawn)
    shown = {path.stem: _texts(path) for path in drawn}
    # Text stays text, so that it can be searched; a logarithmic axis has plain numbers.
    assert "VISTA, gpt-4o (fused-few-1)" in shown["latency-begin-dev-wow"]
    assert not any("mathdefault" in text for texts in shown.values() for text in texts)
    assert "vista-human-dev VISTA, 模型 $x$�[2J" in " ".join(shown["confusion-vista-human-dev-vista-x-2j"])
    assert {"one call a turn", "a turn's claims a call"} <= set(shown["batching-begin-dev-wow"])
    assert (out / "tables.html").read_text("utf-8").count("data:image/svg+xml;base64,") == len(drawn)


def _as_told(told: str) -> list[Path]:
    found = [Path(line.removeprefix("wrote ")) for line in told.splitlines()]
    assert all(path.is_file() for path in found)
    return found


def _texts(svg: Path) -> list[str]:
    return ["".join(one.itertext()) for one in ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_names_in_a_run_are_no_code(tmp_path: Path) -> None:
    name = "<img src=x onerror=alert(1)>|\\input{x}$x$\x1b[2J"
    written(tmp_path / "run", turns(8, 1, 2, 9), judge=name, sample=name)
    for form, kept in (
        ("html", "&lt;img src=x onerror=alert(1)&gt;|\\input{x}$x$�[2J"),
        ("tex", r"\textless{}img src=x onerror=alert(1)\textgreater{}\textbar{}\textbackslash{}input\{x\}\$x\$?[2J"),
        ("md", r"\<img src=x onerror=alert(1)\>\|\\input\{x\}\$x\$�\[2J"),
    ):
        assert kept in compare(tmp_path / "run", "--format", form)[1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none"], "none is no folder; give folders that vista-guard eval wrote"),
        (["."], "is no run's folder: neither it nor one below it has a manifest.json"),
        (["{runs}", "--format", "pdf"], "--format 'pdf' is unknown; there are md, tex, csv, html"),
        (["{runs}", "--format", "md,tex"], "2 formats cannot go to stdout; name a folder with --out"),
        (["{runs}", "--figures"], "figures cannot go to stdout; name a folder with --out"),
        (["{runs}", "--tables", "7"], "table 7 cannot be filled"),
        (["{runs}", "--paper", "dad"], "no run fills a table of --paper dad"),
        (["{runs}", "--paper", "dad", "--tables", "2"], "nothing fills Table 2: it needs"),
        (["{runs}", "{runs}/vista/gold.jsonl"], "gold.jsonl is no folder"),
        (["{runs}", "--out", "{runs}/vista/gold.jsonl"], "gold.jsonl cannot be written: "),
    ],
)
def test_wrong_input_is_an_error_that_says_why(
    arguments: list[str], said: str, runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = compare(*(one.replace("{runs}", str(runs)) for one in arguments))
    assert (code, out) == (2, "")
    assert said in err


def test_runs_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    for number, version in enumerate(("batched-few-1", "fused-few-1")):
        written(tmp_path / f"day-{number}" / "run", turns(8, 1, 2, 9), version=version, reported=5)
    _, _, err = compare(tmp_path)
    assert [line.split(" is ")[0] for line in err.splitlines()] == ["day-0/run", "day-1/run"]
    code, _, err = compare(tmp_path / "day-0" / "run", tmp_path / "day-0")
    assert (code, len(err.splitlines())) == (0, 1)


def test_two_runs_of_one_system_are_refused(runs: Path, tmp_path: Path) -> None:
    again = written(tmp_path / "again", turns(8, 1, 2, 9), version="batched-few-1")
    code, _, err = compare(runs, again)
    assert code == 2
    assert err.endswith("vista and again are of the same system on begin-dev-wow. Give one of them\n")


def test_no_table_and_no_figure_takes_the_file_of_another(tmp_path: Path) -> None:
    names = ["own log.json", "own-log.json", "記録.json", "会話.json", f"{'long' * 60}.json"]
    for place, name in enumerate(names):
        for version in ("batched-few-1", "fused-few-1"):
            run = tmp_path / "runs" / f"{place}-{version}"
            written(run, human_set(1, 0.2), data_set=name, claims="given", version=version)
    out = tmp_path / "tables"
    files = _written("--format", "csv", "--out", out, of=tmp_path / "runs")
    # For each log two runs: what differs, and claims by label of both.
    assert len([file for file in files if file.suffix == ".csv" and file.name.startswith("significance-")]) == len(
        names
    )
    assert len([file for file in files if file.suffix == ".csv" and file.name.startswith("confusion-")]) == 2 * len(
        names
    )
    if FIGURES:  # of the two whose names have no letter that a file's name keeps
        for place in (0, 1, 4):
            shutil.rmtree(tmp_path / "runs" / f"{place}-batched-few-1")
            shutil.rmtree(tmp_path / "runs" / f"{place}-fused-few-1")
        files = _written("--format", "csv", "--figures", "--out", tmp_path / "figures", of=tmp_path / "runs")
        drawn = [file for file in files if file.suffix == ".svg" and file.name.startswith("confusion-")]
        assert len(drawn) == 2 * 2


def _written(*options: object, of: Path) -> list[Path]:
    """The files that the command wrote, each once."""
    code, told, _ = compare(of, *options)
    assert code == 0
    files = _as_told(told)
    assert len(files) == len(set(files))
    return files
