"""Published benchmarks through `eval` and `compare`: figures that were counted by hand, printed rows, and wrong input."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.lab.datasets import benchmarks, rows
from vista_guard.cli import app
from vista_lab.evaluate.published import JudgedTurns, auroc, best_threshold, with_thresholds
from vista_lab.tables.runs import read_measured


def run(*arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout, stderr."""
    done = CliRunner().invoke(app, [*map(str, arguments)])
    return done.exit_code, done.stdout, done.stderr


def evaluated(folder: Path, name: str, out: Path) -> Path:
    code, _, err = run("eval", name, "--data", folder, "--system", "overlap", "--out", out)
    assert code == 0, err
    return out


def table(text: str) -> list[dict[str, str]]:
    """The rows of a CSV table below its title."""
    return list(csv.DictReader(io.StringIO(text.partition("\n")[2])))


def figures(cells: dict[str, str], *columns: str) -> list[str]:
    """Figures without their intervals."""
    return [cells[column].partition(" [")[0] for column in columns]


def test_ragtruth_by_task_response_and_span(tmp_path: Path) -> None:
    folder = evaluated(benchmarks.ragtruth(tmp_path), "ragtruth-test", tmp_path / "run")
    code, out, _ = run("compare", folder, "--paper", "sets", "--format", "csv")
    own, *printed = table(out)
    assert code == 0
    assert (own["data set"], own["system"], own["n"], own["coverage"]) == ("ragtruth-test", "overlap", "20", "100.0")
    counted = {
        # of responses (found, wrongly found, missed): QA 3, 1, 1; data 2, 1, 0; summaries 1, 0, 2
        "QA": ["75.00", "75.00", "75.00"],
        "Data2txt": ["66.67", "100.00", "80.00"],
        "Summary": ["100.00", "33.33", "50.00"],
        "Overall": ["75.00", "66.67", "70.59"],
    }
    spans = {
        # of characters (both, found, marked): QA 15, 64, 19; data 10, 48, 10; summaries 5, 16, 13
        "QA": ["23.44", "78.95", "36.14"],
        "Data2txt": ["20.83", "100.00", "34.48"],
        "Summary": ["31.25", "38.46", "34.48"],
        "Overall": ["23.44", "71.43", "35.29"],
    }
    for place in counted:
        assert figures(own, *(f"{place}: {name}" for name in ("P", "R", "F1"))) == counted[place]
        assert figures(own, *(f"{place}: span {name}" for name in ("P", "R", "F1"))) == spans[place]
    gpt4 = next(line for line in printed if "GPT-4" in line["model"])
    assert (gpt4["QA: F1"], gpt4["Overall: F1"], gpt4["QA: P"]) == ("45.6", "63.4", "–")


def test_llm_aggrefact_by_set_and_on_average(tmp_path: Path) -> None:
    folder = evaluated(benchmarks.aggrefact(tmp_path), "llm-aggrefact-test", tmp_path / "run")
    own, *printed = table(run("compare", folder, "--paper", "sets", "--format", "csv")[1])
    # (found, missed, wrongly found, rightly not): Wice 3, 1, 1, 3; Reveal 2, 1, 0, 3; Lfqa 1, 1, 2, 2
    columns = [f"{name}: balanced accuracy" for name in ("Wice", "Reveal", "Lfqa", "Average", "ExpertQA")]
    assert figures(own, *columns) == ["75.00", "83.33", "50.00", "69.44", "–"]
    bespoke = next(line for line in printed if "Bespoke" in line["model"])
    assert figures(bespoke, *columns) == ["83.0", "88.0", "86.7", "77.4", "59.2"]


def test_compare_shows_the_set_s_own_table_beside_vista_s(tmp_path: Path) -> None:
    part = evaluated(benchmarks.ragtruth(tmp_path), "ragtruth-test:QA", tmp_path / "run")
    code, out, _ = run("compare", part)
    assert code == 0
    assert "### Overview" in out
    assert "### RAGTruth, by its own measures" in out
    assert "### RAGTruth" not in run("compare", part, "--paper", "vista")[1]


def test_halueval_sets_share_a_table(tmp_path: Path) -> None:
    rows.lines(tmp_path / "dialogue_data.json", rows.HALUEVAL)
    pair = {"knowledge": benchmarks.TRUE, "question": "?", "right_answer": "1911", "hallucinated_answer": "gulls"}
    rows.lines(tmp_path / "qa_data.json", pair)
    folders = [evaluated(tmp_path, f"halueval-{name}", tmp_path / "runs" / name) for name in ("qa", "dialogue")]
    lines = table(run("compare", *folders, "--paper", "sets", "--format", "csv")[1])
    assert [(line["data set"], figures(line, "accuracy")[0]) for line in lines[:2]] == [
        ("halueval-qa", "100.00"),
        ("halueval-dialogue", "100.00"),
    ]
    assert [line["model"] for line in lines[2:]] == ["paper: ChatGPT", "paper: Claude 2"] * 2


def judged(gold: Sequence[bool], risk: Sequence[float], part: Sequence[int] | None = None) -> JudgedTurns:
    """Turns with gold and risk alone."""
    nothing, n = np.zeros(len(gold)), len(gold)
    return JudgedTurns(
        gold=np.array(gold, bool),
        predicted=np.zeros(n, bool),
        risk=np.array(risk, float),
        rates=np.zeros((n, 2)),
        marked=nothing,
        found=nothing,
        both=nothing,
        part=np.array(part or [0] * n),
        group=np.array([str(place) for place in range(n)], object),
        parts=("a", "b") if part else ("a",),
    )


def test_auroc_counts_ties_as_half() -> None:
    assert auroc(judged([True, True, False, False], [0.9, 0.5, 0.5, 0.1])) == 0.875
    assert auroc(judged([True, True], [0.9, 0.5])) is None
    assert auroc(judged([True, False], [0.9, float("nan")])) is None


def test_each_part_has_the_threshold_that_is_best_on_the_fitted_set() -> None:
    gold = [True, True, False, False, True, False]
    fitted = judged(gold, [0.8, 0.6, 0.5, 0.1, 0.3, 0.2], [0, 0, 0, 0, 1, 1])
    assert best_threshold(fitted.of_part("a")) == 0.6
    measured = with_thresholds(judged([True] * 4, [0.7, 0.55, 0.3, 0.25], [0, 0, 1, 1]), fitted)
    assert measured is not None
    assert measured.predicted.tolist() == [True, False, True, False]
    assert with_thresholds(fitted, judged([True, False], [0.3, 0.2])) is None


def test_runs_are_read_without_a_risk_or_a_claim_s_place(tmp_path: Path) -> None:
    folder = evaluated(benchmarks.aggrefact(tmp_path), "llm-aggrefact-test", tmp_path / "run")
    turns = JudgedTurns.of(read_measured(folder))
    assert (turns.parts, turns.gold.sum(), turns.detection.tp) == (("Wice", "Reveal", "Lfqa"), 9, 6)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("ragtruth-test", "response.jsonl is missing, to be had from https://raw.githubusercontent.com/ParticleMedia"),
        ("ragtruth", "data set 'ragtruth' is unknown; did you mean ragtruth-"),
        ("ragtruth-test:Qa", "no part 'Qa'; its parts are QA, Data2txt, Summary"),
        ("delucionqa-test", "DelucionQA_final/test.csv is missing, to be had from github.com/boschresearch/DelucionQA"),
    ],
)
def test_wrong_names_and_folders_are_told_with_the_next_step(tmp_path: Path, name: str, said: str) -> None:
    code, _, err = run("eval", name, "--data", tmp_path, "--out", tmp_path / "run")
    assert (code, said in err) == (2, True), err


def test_a_table_of_published_sets_needs_a_run_over_one(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    rows.lines(log, {"messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "Yes."}]})
    folder = tmp_path / "run"
    assert run("eval", log, "--system", "overlap", "--out", folder)[0] == 0
    code, _, err = run("compare", folder, "--paper", "sets")
    assert (code, "a run over a published set has one" in err) == (2, True), err
