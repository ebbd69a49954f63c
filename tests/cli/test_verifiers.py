"""`vista-guard verifiers test`, `calibrate --verifier` and `--verifier`: from a model's folder to a guard that uses it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from tests.judges.verifiers import tiny
from tests.judges.verifiers.test_local import NLI
from vista_guard.cli import app
from vista_guard.judges.verifiers import VerifierCalibration


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def model() -> str:
    """A model that supports what has as many years as the evidence, and two of them in all."""
    folder = tiny.write_folder(Path("years"), {**NLI, "id2label": {"0": "entailment", "1": "not_entailment"}})
    numbers = np.zeros((tiny.SIZE, 2), np.float32)
    numbers[tiny.VOCABULARY["1925"], 0] = 1.0
    numbers[tiny.VOCABULARY["1930"], 1] = 1.0
    tiny.write_graph(folder / "model.onnx", numbers)
    return str(folder)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(app, list(arguments))


def pairs(file: str = "pairs.jsonl") -> str:
    """Forty halls, each with a claim that its document supports, one that it contradicts and one that it does not speak of."""
    lines = []
    for number in range(40):
        evidence = f"The hall {number} opened in 1925."
        for year, label in (("1925", "supported"), ("1930", "contradicted")):
            claim = f"The hall number {number} opened in {year}."
            lines.append({"evidence": evidence, "claim": claim, "label": label, "document": f"hall {number}"})
        apart = {"claim": f"The barn number {number} was sold.", "label": "not_enough"}
        lines.append({"evidence": evidence, **apart, "document": f"hall {number}"})
    Path(file).write_text("\n".join(map(json.dumps, lines)) + "\n", encoding="utf-8")
    return file


def test_a_verifier_is_measured_on_the_challenge(model: str) -> None:
    result = run("verifiers", "test", model, "--limit", "1")
    assert (result.exit_code, result.stderr) == (0, "")
    first, *table, last = result.stdout.strip().splitlines()
    assert first == "challenge, development half, verifier years, policy balanced"
    assert table[-1].split()[:2] == ["all", "16"]
    assert re.fullmatch(r"\d+ pairs of evidence and claim, \d+\.\d ms a pair", last)


def test_a_verifier_is_fitted_and_the_file_rules_a_guard(model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    result = run("calibrate", "--verifier", model, "--pairs", pairs(), "--out", "years.json")
    assert result.exit_code == 0
    assert "set verifier_options.calibration to it" in result.stdout
    found = VerifierCalibration.load(Path("years.json"), "years")
    assert (found.fitted_on.name, found.fitted_on.documents, found.fitted_on.claims) == ("pairs.jsonl", 40, 120)
    assert found.fitted_on.supported_or_not == 1.0
    assert found.thresholds.contradicted == 1.0  # such a model contradicts nothing
    monkeypatch.setenv("VISTA_GUARD_VERIFIER_OPTIONS__CALIBRATION", "years.json")
    Path("hall.txt").write_text("The hall opened in 1925.", encoding="utf-8")
    for year, exit_code in (("1925", 0), ("1930", 3)):
        check = (
            "check",
            f"The great hall opened in {year}.",
            "-d",
            "hall.txt",
            "--verifier",
            model,
            "--policy",
            "strict",
        )
        assert (year, run(*check).exit_code) == (year, exit_code)
    assert "made for the verifier years, and shipped verifies" in run("check", "It opened.").stderr


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (lambda row: row["label"] != "not_enough", "40 supported, 40 contradicted, 0 not_enough"),
        (lambda row: int(row["document"].split()[1]) < 30, "90 claims of 30 documents"),
        (lambda row: row["label"] != "contradicted" or int(row["document"].split()[1]) < 29, "29 contradicted"),
    ],
)
def test_too_few_pairs_are_refused(kept: Callable[[dict[str, str]], bool], said: str, model: str) -> None:
    rows = [json.loads(line) for line in Path(pairs()).read_text(encoding="utf-8").splitlines()]
    Path("few.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows if kept(row)), encoding="utf-8")
    result = run("calibrate", "--verifier", model, "--pairs", "few.jsonl", "--out", "x.json")
    assert (result.exit_code, Path("x.json").exists()) == (2, False)
    assert said in result.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("calibrate", "--out", "x.json"), "REPORTS with --labels FILE"),
        (("calibrate", "r.jsonl", "--verifier", "shipped", "--out", "x.json"), "give one of them"),
        (("calibrate", "--verifier", "nowhere", "--out", "x.json"), "verifier is 'nowhere', which is neither"),
        (("calibrate", "--verifier", "shipped", "--pairs", "gone", "--out", "x.json"), "gone cannot be read"),
        (("verifiers", "test", "nowhere"), "verifier is 'nowhere', which is neither"),
        (("check", "It opened.", "--verifier", "nowhere"), "verifier is 'nowhere', which is neither"),
        (
            ("replay", "log.jsonl", "--out", "o.jsonl", "--verifier", "nowhere"),
            "verifier is 'nowhere', which is neither",
        ),
    ],
)
def test_wrong_usage_is_said_in_one_line(arguments: tuple[str, ...], said: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 2
    assert said in result.stderr
