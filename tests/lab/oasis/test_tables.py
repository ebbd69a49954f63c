"""LLM-OASIS's tables from runs: a model that is right at a set rate, with evidence and without, texts and claims, recall."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.lab.oasis.generated_set import record
from vista_guard.cli import app
from vista_guard.testing import ReceivedRequest, ScriptedChatServer, gold_script
from vista_guard.types import Label
from vista_lab.metrics.detection import Detection, Reading, balanced_interval
from vista_lab.metrics.intervals import Share
from vista_lab.oasis.exports import claim_log, text_log
from vista_lab.runs.summary import summarise
from vista_lab.tables.runs import read_measured

RECORDS = [record(number, passages=4) for number in range(60)]
LOGS = {"task1.json": text_log(RECORDS), "task2.json": claim_log(RECORDS)}


def gold() -> Mapping[str, Label]:
    """Of every turn of both logs."""
    turns = [turn for log in LOGS.values() for (turn,) in json.loads(log)]
    labels = {"faithful": Label.VERIFIED, "hallucinated": Label.LACKING_EVIDENCE}
    return {turn["utterance"]: labels[turn["original_dataset_label"]] for turn in turns}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of a model that is right about 80 % of the turns, and of one that cannot be read now and then."""
    place = tmp_path_factory.mktemp("oasis")
    for name, log in LOGS.items():
        (place / name).write_text(log, encoding="utf-8")
    script = gold_script(gold(), accuracy=0.8)
    with ScriptedChatServer(script) as server, ScriptedChatServer(_vague(script)) as vague:
        for run, log, system, url in (
            ("plain", "task1.json", "fact-check", server.base_url),
            ("evidence", "task1.json", "fact-check+evidence", server.base_url),
            ("claims", "task2.json", "fact-check+evidence", server.base_url),
            ("vague", "task2.json", "fact-check+evidence", vague.base_url),
        ):
            model = "m" if run != "vague" else "vague"
            words = ["eval", str(place / log), "--system", system, "--judge", f"openai:{model}@{url}"]
            done = CliRunner().invoke(app, [*words, "--out", str(place / "runs" / run)])
            assert done.exit_code == 0, done.stderr
    return place


def _vague(script: Callable[[ReceivedRequest], str]) -> Callable[[ReceivedRequest], str]:
    """The same, but that nothing can be made of its answers about some mills."""
    return lambda request: "Hard to say." if "mill 1" in request.user else script(request)


def compare(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["compare", *words, "--paper", "oasis"])
    return done.exit_code, done.stdout, done.stderr


def rows(table: str) -> list[list[str]]:
    """The cells of a table in Markdown, without its head."""
    lines = [line for line in table.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_a_model_that_is_right_about_80_percent_measures_80(folder: Path) -> None:
    for run in ("plain", "evidence", "claims"):
        found = summarise(folder / "runs" / run).readings[Reading.ORIGINAL]
        share = Share(found.tp + found.tn, found.turns)
        assert share.n == 120
        assert share.low <= 0.8 <= share.high
        assert found.balanced_accuracy == pytest.approx((found.tp / 60 + found.tn / 60) / 2)
        assert found.balanced_interval is not None
        assert found.balanced_interval[0] < (found.balanced_accuracy or 0) < found.balanced_interval[1]


def test_tables_4_and_5_have_the_runs_and_the_paper(folder: Path) -> None:
    code, shown, told = compare(str(folder / "runs"), "--tables", "4,5")
    assert (code, told) == (0, "")
    (four,) = [part for part in shown.split("### ") if part.startswith("Table 4")]
    (five,) = [part for part in shown.split("### ") if part.startswith("Table 5")]
    first, *paper = rows(four)
    plain, evidence, claims, vague = (
        read_measured(folder / "runs" / name).detection(Reading.ORIGINAL)
        for name in ("plain", "evidence", "claims", "vague")
    )
    assert plain is not None
    assert evidence is not None
    assert claims is not None
    assert vague is not None
    assert first[:6] == ["task1.json", "fact-check", first[2], "120", "100.0", "–"]
    assert [cell.partition(" ")[0] for cell in first[6:]] == [
        f"{100 * (one.balanced_accuracy or 0):.2f}" for one in (plain, evidence)
    ]
    assert [row[2:] for row in paper][-2:] == [
        ["paper: GPT-4o", "1,708", "–", "N/A", "60.75", "68.02"],
        ["paper: Our Model", "1,708", "–", "1B", "–", "69.24"],
    ]
    assert "evidence gains +0.00 points" in four  # the same model, right about the same texts
    ours = {row[2].partition("@")[0].partition(":")[2]: row for row in rows(five) if row[0] == "task2.json"}
    assert ours["m"][6].startswith(f"{100 * (claims.balanced_accuracy or 0):.2f}")
    assert ours["vague"][4] == f"{100 * vague.coverage.value:.1f}" != "100.0"
    assert [row[6] for row in rows(five) if row[2] == "paper: GPT-4o"] == ["90.78"]


def test_intervals_draw_documents(folder: Path) -> None:
    """Four passages of a document are alike: they stand or fall together."""
    run = read_measured(folder / "runs" / "plain")
    assert len({line.group for line in run.gold.values()}) == 15
    answers = [(gold, said) for gold, said in run.answers(Reading.ORIGINAL).values() if said is not None]
    documents = [line.drawn_with for line in run.gold.values()]
    assert run.balanced_interval(Reading.ORIGINAL) == balanced_interval(answers, documents)
    assert balanced_interval(answers, documents) != balanced_interval(answers, [str(n) for n in range(len(answers))])


def test_table_8_and_figure_2_are_of_recalls(folder: Path, tmp_path: Path) -> None:
    recall = [1 - 0.5 / k for k in range(1, 101)]
    file = tmp_path / "e5.json"
    file.write_text(json.dumps({"embedder": "ours", "claims": 306, "recall": recall}), encoding="utf-8")
    out = tmp_path / "out"
    code, shown, told = compare("--scores", str(file), "--out", str(out), "--figures", "--format", "md,csv,html,tex")
    assert code == 0, told
    tables = (out / "tables.md").read_text("utf-8")
    (eight,) = [part for part in tables.split("### ") if part.startswith("Table 8")]
    assert rows(eight)[0] == ["ours", "306", f"{recall[29]:.3f}"]
    assert ["paper: E5-base", "–", "0.95"] in rows(eight)
    assert (out / "figures" / "oasis-figure-2.svg").is_file()
    assert "oasis-figure-2.svg" in shown
    short = tmp_path / "short.json"
    short.write_text(json.dumps({"embedder": "ours", "claims": 306, "recall": [0.5]}), encoding="utf-8")
    assert rows(compare("--scores", str(short), "--tables", "8")[1].split("### ")[1])[0] == ["ours", "306", "–"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "nothing to compare"),
        (["--scores", "{nothing}"], "cannot be read"),
        (["--scores", "{log}"], "oasis score retriever"),
        (["{runs}", "--tables", "3"], "4, 5, 8"),
        (["{runs}", "--tables", "4-6"], "4, 5, 8"),
        (["{log}"], "no folder"),
    ],
)
def test_what_cannot_be_compared_is_said(folder: Path, words: list[str], said: str) -> None:
    places = {"nothing": folder / "nothing.json", "log": folder / "task1.json", "runs": folder / "runs"}
    code, shown, told = compare(*(word.format(**places) for word in words))
    assert (code, shown) == (2, "")
    assert said in told


def test_scores_are_not_of_the_other_paper(folder: Path) -> None:
    done = CliRunner().invoke(app, ["compare", str(folder / "runs"), "--scores", "x.json"])
    assert done.exit_code == 2
    assert "--paper oasis" in done.stderr


def test_a_table_that_nothing_fills_is_named(folder: Path) -> None:
    code, _, told = compare(str(folder / "runs" / "plain"), "--tables", "5,8")
    assert code == 0
    assert "nothing fills Table 5" in told
    assert "nothing fills Table 8" in told


# Balanced accuracy


def test_balanced_accuracy_is_the_mean_of_both_recalls() -> None:
    met = Detection(tp=30, fp=45, fn=10, tn=15, unchecked=7)
    assert met.balanced_accuracy == (30 / 40 + 15 / 60) / 2
    assert met.specificity == Share(15, 60)
    assert Detection(tp=3, fp=0, fn=1, tn=0).balanced_accuracy is None
    assert Detection(0, 0, 0, 0, unchecked=4).balanced_accuracy is None


def test_balanced_accuracy_agrees_with_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    rng = random.Random(7)
    for _ in range(20):
        pairs = [(rng.random() < 0.3, rng.random() < 0.5) for _ in range(50)]
        truth, said = zip(*pairs, strict=True)
        assert Detection.of(pairs).balanced_accuracy == pytest.approx(metrics.balanced_accuracy_score(truth, said))


def test_the_interval_of_a_balanced_accuracy_holds_it_and_narrows() -> None:
    rng = random.Random(3)
    pairs = [(gold := number % 2 == 0, gold if rng.random() < 0.8 else not gold) for number in range(400)]
    few, many = (balanced_interval(pairs[:size], [str(n // 4) for n in range(size)]) for size in (60, 400))
    assert few is not None
    assert many is not None
    assert many[0] < (Detection.of(pairs).balanced_accuracy or 0) < many[1]
    assert many[1] - many[0] < few[1] - few[0]
    assert balanced_interval([(True, True), (True, False)], ["a", "b"]) is None
    assert balanced_interval([], []) is None
    assert balanced_interval([(True, True), (False, False)] * 9, [str(n) for n in range(18)]) is None
