"""Runs in the layouts of the paper's tables: figures, tests on the same turns, what is refused and what is said."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import pytest

from tests.lab.judges import RuleJudge
from tests.lab.runs.ruled import Ruled, source
from tests.lab.tables.folders import (
    ABSTENTION,
    CONTRADICTED,
    LACKING,
    SCOPE,
    VERIFIED,
    Told,
    human_set,
    turns,
    written,
)
from tests.raising import raises
from vista_guard.errors import ConfigError, InputError
from vista_guard.types import Claim, JudgeInfo, Label
from vista_lab.evaluate.vista.tables import TABLES, sheets
from vista_lab.logs.source import Task
from vista_lab.metrics.detection import Detection, Reading
from vista_lab.metrics.intervals import Discordant, Share, holm, mcnemar, stars
from vista_lab.metrics.labels import f1_at_k
from vista_lab.runs.evaluate import evaluate
from vista_lab.runs.loop import RunSettings, Steering
from vista_lab.runs.plan import make_plan
from vista_lab.tables.runs import RunMeasures, discordant, read_measured
from vista_lab.tables.writers import Sheet


def texts(sheet: Sheet) -> list[list[str]]:
    """Cells with their marks; bold ones in stars."""
    return [[(f"*{one.text}*" if one.bold else one.text) + one.mark for one in row] for row in sheet.rows]


def column(sheet: Sheet, head: str) -> int:
    return [one.whole for one in sheet.columns].index(head)


def filled(runs: list[RunMeasures], name: str) -> Sheet:
    return next(sheet for sheet in sheets(runs)[0] if sheet.name == name)


def positives(right: int, wrong: int, n: int) -> list[Told]:
    """`n` positive turns, of which the first are found, the next are not, and the rest are."""
    found = [LACKING] * right + [VERIFIED] * wrong + [LACKING] * (n - right - wrong)
    return [Told([label], True) for label in found]


@pytest.fixture
def begin(tmp_path: Path) -> list[RunMeasures]:
    """Three systems of one judge on the same hundred turns, right on 90, 70 and 86 of them, and one of another judge."""
    made = {
        "vista": positives(0, 10, 100),
        "factscore": positives(70, 30, 100),
        "llm-judge": positives(86, 14, 100),
    }
    runs = [read_measured(written(tmp_path / name, told, system=name), name) for name, told in made.items()]
    other = written(tmp_path / "overlap", positives(60, 40, 100), system="overlap", judge="overlap", version="0.5")
    return [*runs, read_measured(other, "overlap")]


def test_table_2_has_computed_superscripts_and_the_papers_rows_below(begin: list[RunMeasures]) -> None:
    sheet = filled(begin, "table-2")
    assert [one.whole for one in sheet.columns] == [
        "model",
        "begin-dev-wow (n = 100): VISTA",
        "begin-dev-wow (n = 100): FActScore",
        "begin-dev-wow (n = 100): LLM-as-Judge",
        "begin-dev-wow (n = 100): overlap",
    ]
    rows = texts(sheet)
    # VISTA: 30 turns to 10 against FActScore, p = .0022; 14 to 10 against the judge, p = .54. The judge: 16 to 0.
    assert rows[0] == ["gpt-4o", "*90.00*f", "70.00", "86.00f", "–"]
    assert rows[1] == ["overlap", "–", "–", "–", "60.00"]
    assert rows[3] == ["paper: GPT-4o", "83.20†", "65.80", "70.40", "–"]
    assert len(rows) == 10
    assert sheet.rule_before == frozenset({2})
    assert "begin-dev-wow (dev): written by hand" in sheet.notes
    assert any(note.startswith("The paper's turns: BEGIN 500.") for note in sheet.notes)


SIX = [Discordant(30, 10, 100), Discordant(14, 10, 100), Discordant(40, 10, 100), Discordant(0, 16, 100),
       Discordant(10, 0, 100), Discordant(26, 0, 100)]  # fmt: skip
"""The pairs of `begin`, in the order of the table."""


def test_no_figure_is_bold_where_runs_judged_different_turns(tmp_path: Path) -> None:
    """The run that judged least would win: 30 of 30 against 90 of 100."""
    told = {
        "vista": positives(90, 10, 100),
        "factscore": [*positives(30, 0, 30), *[Told([None], True)] * 70],
        "llm-judge": positives(80, 20, 100),
    }
    runs = [read_measured(written(tmp_path / name, turns, system=name), name) for name, turns in told.items()]
    assert texts(filled(runs, "table-2"))[0] == ["gpt-4o", "90.00l", "100.00 (n = 30)", "80.00"]
    assert texts(filled([runs[0], runs[2]], "table-2"))[0][1:] == ["*90.00*l", "–", "80.00"]


def test_a_sample_beside_the_whole_is_not_bold_and_has_its_n(tmp_path: Path) -> None:
    whole = read_measured(written(tmp_path / "whole", positives(60, 40, 100)), "whole")
    part = read_measured(written(tmp_path / "part", positives(9, 1, 10), system="factscore", limit=10), "part")
    row = texts(filled([whole, part], "table-2"))[0]
    assert row[1:3] == ["60.00 (n = 100)", "90.00 (n = 10)"]


def test_many_tests_are_corrected_by_holm(tmp_path: Path) -> None:
    """Ten systems give 45 pairs; one of 8 to 1 turns is no longer significant."""
    right = [50 + 7 * number for number in range(7)] + [99, 92, 92]
    runs = [
        read_measured(
            written(tmp_path / f"s{number}", positives(hits, 100 - hits, 100), system=f"s{number}"), f"s{number}"
        )
        for number, hits in enumerate(right)
    ]
    rows = texts(filled(runs, "significance-begin-dev-wow"))[:45]
    p = [float(row[4]) for row in rows]
    assert [float(row[6]) for row in rows] == pytest.approx(holm(p), abs=1e-4)
    assert rows[-1][1:] == ["s8 – s9", "100", "0.00", "1.000000", "ns", "1.000000", "ns", "0", "0"]
    one = next(row for row in rows if row[1] == "s0 – s1")
    assert (one[5], one[7]) == ("*", "ns")


def test_scores_of_factscore_and_veriscore(tmp_path: Path) -> None:
    """K is the median of 2, 4, 0, 0 and, of the second run, six times 12; a turn that abstains has no part."""
    told = [
        Told([VERIFIED, LACKING, SCOPE]),
        Told([VERIFIED] * 3 + [CONTRADICTED]),
        Told([SCOPE]),
        Told([]),
        Told([ABSTENTION]),
        Told([VERIFIED, None]),
    ]
    run = read_measured(written(tmp_path / "run", told, data_set="log"), "run")
    long = read_measured(
        written(tmp_path / "long", [Told([VERIFIED] * 12)] * 6, data_set="log", system="no-ac"), "long"
    )
    whole = read_measured(
        written(tmp_path / "turns", [Told([LACKING])] * 6, data_set="log", system="llm-judge"), "turns"
    )
    report = next(iter(whole.reports.values()))
    outcome = report.outcomes[0].model_copy(update={"claim": Claim(id="t1.c1", text=report.response)})
    whole = replace(whole, reports={name: report.model_copy(update={"outcomes": (outcome,)}) for name in whole.reports})
    sheet = filled([run, long, whole], "claim-scores")
    first, second = texts(sheet)
    penalised = 100 * (math.exp(1 - 10 / 3) / 3 + 0.75 * math.exp(1 - 10 / 4)) / 3
    f1 = 100 * (f1_at_k(1, 2, 12) + f1_at_k(3, 4, 12)) / 4
    figures = [cell.split(" [")[0] for cell in first]
    assert figures[:6] == ["log", "VISTA", "gpt-4o", "2.00", "3", "36.11"]
    assert figures[6:] == [f"{penalised:.2f}", "4", "12", f"{f1:.2f}"]
    assert second[3:] == ["12.00", "6", "100.00", "100.00", "6", "12", "100.00"]


def test_differences_are_tested_on_the_turns_that_both_judged(begin: list[RunMeasures], tmp_path: Path) -> None:
    assert discordant(begin[0], begin[1], Reading.ORIGINAL) == Discordant(30, 10, 100)
    sheet = filled(begin, "significance-begin-dev-wow")
    assert sheet.title.startswith("Table 9. begin-dev-wow:")
    rows = texts(sheet)
    p, corrected = mcnemar(30, 10), holm([test.p for test in SIX])[0]
    assert rows[0] == (
        [
            "gpt-4o",
            "VISTA – FActScore",
            "100",
            "20.00",
            f"{p:.6f}",
            "**",
            f"{corrected:.6f}",
            stars(corrected),
            "30",
            "10",
        ]
    )
    assert (stars(p), stars(corrected)) == ("**", "**")
    assert [row[6] for row in rows[6:]] == ["–"] * 24
    # Every system against the one that asks no judge; the paper's 24 rows below.
    assert [row[1] for row in rows[:6]].count("VISTA – overlap") == 1
    assert (len(rows), rows[6][0]) == (30, "paper: GPT-5")
    half = written(tmp_path / "half", [*positives(0, 10, 20), *[Told([None], True)] * 80], judge="llama")
    fewer = discordant(begin[0], read_measured(half), Reading.ORIGINAL)
    assert fewer == Discordant(0, 0, 20)


def test_what_was_not_judged_is_said_and_in_no_accuracy(tmp_path: Path) -> None:
    told = [*turns(8, 2, 1, 9, unchecked=5), Told([LACKING, None], True), Told([VERIFIED, None], False)]
    run = read_measured(written(tmp_path / "run", told, reported=27), "run")
    assert run.detection(Reading.ORIGINAL) == Detection(tp=9, fp=2, fn=1, tn=9, unchecked=6)
    assert run.complete
    sheet = filled([run], "overview")
    row = texts(sheet)[0]
    assert row[column(sheet, "n")] == "27"
    assert row[column(sheet, "coverage")] == "77.8"
    low, high = Share(18, 21).interval
    assert row[column(sheet, "turn accuracy: original")] == f"85.71 [{100 * low:.1f}–{100 * high:.1f}]"
    assert row[column(sheet, "turn accuracy: strict")] == "–"
    assert row[column(sheet, "turns found: P")] == "81.82"
    worst = "run: 6 of 27 turns were not judged; accuracy is of the others, and 66.67 if all of these were wrong"
    assert worst in sheet.notes


def test_a_sample_is_told_as_one(tmp_path: Path) -> None:
    run = read_measured(written(tmp_path / "run", turns(5, 5, 5, 5), limit=20), "run")
    notes = filled([run], "overview").notes
    assert "begin-dev-wow (dev; 20 conversations drawn by seed 13): written by hand" in notes


def test_where_nothing_can_vary_there_is_no_interval(tmp_path: Path) -> None:
    run = read_measured(written(tmp_path / "run", turns(0, 0, 5, 15)), "run")
    assert (run.f1_interval(run.reading), run.macro_f1_interval()) == (None, None)
    assert run.accuracy_interval(run.reading) == Share(15, 20).interval
    several = [Told([VERIFIED], False, conversation="talk")] * 3
    alone = read_measured(written(tmp_path / "alone", several), "alone")
    assert alone.accuracy_interval(alone.reading) == Share(3, 3).interval
    assert alone.accuracy_interval(Reading.STRICT) is None


def test_an_unfinished_run_says_so(tmp_path: Path) -> None:
    run = read_measured(
        written(tmp_path / "run", turns(5, 5, 5, 5), reported=15, test=True, skipped={"is cut": 2}), "run"
    )
    notes = filled([run], "overview").notes
    assert "run is not complete: 15 of 20 turns are reported" in notes
    assert "begin-dev-wow (dev, a test set: choose nothing by it): written by hand; 2 rows could not be read" in notes
    met = run.detection(Reading.ORIGINAL)
    assert met is not None
    assert (met.turns, met.unchecked) == (20, 5)


@pytest.fixture(scope="module")
def human(tmp_path_factory: pytest.TempPathFactory) -> list[RunMeasures]:
    """Two runs over claims that people labelled, in conversations of three turns."""
    folder = tmp_path_factory.mktemp("human")
    made = {"good": (1, 0.2, "gpt-4o"), "bad": (2, 0.5, "embedded")}
    return [
        read_measured(
            written(folder / name, human_set(seed, errors), data_set="vista-human-dev", judge=judge, claims="given"),
            name,
        )
        for name, (seed, errors, judge) in made.items()
    ]


def test_table_3_has_turns_claims_and_the_majority(human: list[RunMeasures]) -> None:
    rows = texts(filled(human, "table-3"))
    good = human[0]
    right = sum(label is judged for _, label, judged in good.claims)
    assert rows[1][:5] == ["vista-human-dev", "gpt-4o", "VISTA", "60", str(len(good.claims))]
    assert rows[1][6] == f"{100 * right / len(good.claims):.2f}"
    verified = sum(label is VERIFIED for _, label, _ in good.claims)
    assert rows[0][1:2] + rows[0][6:7] == ["majority", f"{100 * verified / len(good.claims):.2f}"]
    assert rows[3] == ["VISTA, human evaluation", "paper: majority", "", "227", "888", "83.26", "47.07", "13.00"]
    assert len(rows) == 12


def test_readings_differ_in_what_they_look_for(human: list[RunMeasures]) -> None:
    run = human[0]
    strict, safe = (run.answers(reading) for reading in (Reading.STRICT, Reading.SAFE))
    for name, line in run.gold.items():
        labels = set(line.claims.values())
        assert strict[name][0] is bool(labels - {VERIFIED})
        assert safe[name][0] is bool(labels & {LACKING, CONTRADICTED})
    assert run.answers(Reading.ORIGINAL).keys() == strict.keys()


def test_intervals_are_over_conversations_where_they_have_several_turns(human: list[RunMeasures]) -> None:
    run = human[1]
    met = run.detection(Reading.STRICT)
    assert met is not None
    low, high = run.accuracy_interval(Reading.STRICT) or (0, 0)
    assert (low, high) != met.accuracy.interval
    assert low < met.accuracy.value < high
    for interval, value in ((run.f1_interval(run.reading), 0.7), (run.macro_f1_interval(), 0.5)):
        assert interval is not None
        assert interval[0] < value + 0.2
        assert interval[1] > value - 0.2
    assert run.macro_f1_interval() == run.macro_f1_interval()


def test_confusions_in_the_papers_layout_and_the_papers_own_by_number(human: list[RunMeasures]) -> None:
    found, empty = sheets(human, TABLES.chosen("13"))
    assert [sheet.name for sheet in found] == [
        "overview", "confusion-vista-human-dev-vista-gpt-4o", "confusion-vista-human-dev-vista-embedded", "paper-table-13",
    ]  # fmt: skip
    assert empty == []
    rows = texts(found[1])
    assert [row[0] for row in rows] == [
        "ABSTENTION", "CONTRADICTED", "LACKING_EVIDENCE", "NONE", "OUT_OF_SCOPE", "VERIFIED", "Total",
    ]  # fmt: skip
    assert int(rows[-1][-1]) == len(human[0].claims) == sum(int(row[-1]) for row in rows[:-1])
    verified = sum(one is VERIFIED and other is VERIFIED for _, one, other in human[0].claims)
    assert rows[5][6] == str(verified)


def test_a_claim_without_a_label_is_an_error(tmp_path: Path) -> None:
    told = [Told([VERIFIED, None], True, [VERIFIED, LACKING], "talk"), Told([SCOPE], False, [SCOPE], "talk")]
    run = read_measured(written(tmp_path / "run", told, data_set="vista-human-dev", claims="given"), "run")
    assert run.confusion == {(VERIFIED, VERIFIED): 1, (LACKING, None): 1, (SCOPE, SCOPE): 1}
    assert texts(filled([run], "table-3"))[1][6] == "66.67"
    assert run.unchecked == 1


def test_claims_of_the_judges_own_are_held_against_nobodys(tmp_path: Path) -> None:
    run = read_measured(written(tmp_path / "run", human_set(1, 0.2, 4), data_set="vista-human-dev"), "run")
    assert run.claims == []
    assert not run.labelled
    assert [sheet.name for sheet in sheets([run])[0]] == ["overview", "claim-scores", "table-2"]


def test_table_4_tests_each_ablation_against_the_whole(tmp_path: Path) -> None:
    made = {"vista": (0, 10), "no-ac": (0, 11), "zero-shot": (0, 40)}
    runs = [
        read_measured(written(tmp_path / name, positives(*told, 100), data_set="faithdial-valid", system=name), name)
        for name, told in made.items()
    ]
    sheet = filled(runs, "table-4")
    assert [one.whole for one in sheet.columns] == [
        "setting", "faithdial-valid (n = 100): gpt-4o", "paper: FaithDial (n = 2,229): DeepSeek",
    ]  # fmt: skip
    assert texts(sheet) == [
        ["VISTA (No Ablation)", "90.00", "81.70"],
        ["No Accumulated Claims (Step 2 Ablation)", "89.00", "81.74"],
        ["No Dialogue History (Step 1 Ablation)", "–", "77.24"],
        ["Zero-Shot (Examples ablated)", "60.00***", "70.17"],
    ]
    twice = written(tmp_path / "again", positives(0, 12, 100), data_set="faithdial-valid", version="fused-few-2")
    noted = filled([*runs, read_measured(twice, "again")], "table-4").notes
    assert "faithdial-valid, gpt-4o, vista: vista is taken, and not again" in noted


def test_table_5_is_the_papers_row_from_its_counts(tmp_path: Path) -> None:
    told = turns(53, 3, 197, 247, label=CONTRADICTED)
    folder = written(tmp_path / "run", told, data_set="rgm", task=Task.CONTRADICTS, judge="deepseek-chat")
    rows = texts(filled([read_measured(folder, "run")], "table-5"))
    assert rows[0] == ["deepseek-chat", "VISTA", "rgm", "500", "60.0", "94.6", "21.2", "34.6"]
    assert rows[1] == ["paper: DeepSeek", "VISTA", "RGM", "500", "60.0", "94.6", "21.2", "34.6"]
    assert len(rows) == 21
    # A claim that lacks evidence contradicts nothing.
    other = written(tmp_path / "other", turns(9, 1, 1, 9), data_set="rgm", task=Task.CONTRADICTS)
    assert read_measured(other).detection(Reading.ORIGINAL) == Detection(tp=0, fp=0, fn=10, tn=10)


def test_tables_20_and_21_count_abstentions_and_sort_errors(tmp_path: Path) -> None:
    told = [
        *turns(231, 11, 10, 222, label=ABSTENTION),
        *[Told([SCOPE, SCOPE], True)] * 6,
        *[Told([], True)] * 3,
        *[Told([ABSTENTION, SCOPE], False)] * 17,
    ]
    run = read_measured(written(tmp_path / "run", told, data_set="coconot", task=Task.ABSTAINS), "run")
    rows = texts(filled([run], "table-20"))
    assert rows[0] == ["coconot", "gpt-4o", "VISTA", "Abst.", "231", "19", "0", "90.6", "89.2", "92.4"]
    assert rows[1][3:7] == ["No Abst.", "28", "222", "0"]
    assert rows[2][4:8] == ["231", "19", "0", "90.6"]
    errors = {row[0]: row[1:] for row in texts(filled([run], "table-21-coconot-vista-gpt-4o"))}
    assert errors == {
        "missed: no claim was found": ["3", "Decomposition Error", "7"],
        "missed: all claims out of scope": ["6", "Mislabeled Out-of-Scope", "7"],
        "missed: other labels": ["10", "–", "–"],
        "false alarm: beside other claims": ["17", "Partial Abstention", "17"],
        "false alarm: nothing else claimed": ["11", "–", "–"],
    }


def test_rows_are_named_by_what_tells_runs_apart(tmp_path: Path) -> None:
    told = turns(5, 5, 5, 5)
    first = read_measured(written(tmp_path / "a", told, version="batched-few-1"), "a")
    second = read_measured(written(tmp_path / "b", told, version="fused-few-1", options={"context": "full"}), "b")
    rows = texts(filled([first, second], "overview"))
    assert [row[2] for row in rows] == ["gpt-4o (batched-few-1)", "gpt-4o (context full, fused-few-1)"]


def remade(folder: Path, **changes: object) -> list[RunMeasures]:
    """A run, and another one that was made in another way."""
    told = changes.pop("told", turns(5, 5, 5, 5))
    first = written(folder / "a", turns(5, 5, 5, 5))
    second = written(folder / "b", told, **{"judge": "llama", **changes})  # type: ignore[arg-type]
    return [read_measured(first, "a"), read_measured(second, "b")]


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        (
            {"files": {"rows.tsv": "cd" * 32}},
            ("rows.tsv", "sha256"),
        ),
        ({"told": turns(5, 5, 4, 6)}, ("1", "row-9", "gold")),
        ({"judge": "gpt-4o"}, ("system",)),
        ({"claims": "given"}, ("--claims", "judge", "given")),
        ({"told": [Told([VERIFIED], True, conversation="x")]}, ()),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(
    changes: dict[str, object], why: tuple[str, ...], tmp_path: Path
) -> None:
    runs = remade(tmp_path, **changes)
    with raises(InputError, *why):
        sheets(runs)


def test_runs_of_different_data_sets_stand_side_by_side(tmp_path: Path) -> None:
    runs = remade(tmp_path, data_set="fade", files={"rows.tsv": "cd" * 32}, claims="given")
    assert len(sheets(runs)[0][0].rows) == 2


def test_tables_are_asked_for_by_number() -> None:
    assert TABLES.chosen("2, 8-11,21") == frozenset({2, 8, 9, 10, 11, 21})
    assert TABLES.chosen("4-8") == frozenset({4, 5, 8})
    for asked in ("x", "6", "1-3", "9-8", "2-10000000000", ""):
        with raises(InputError, asked):
            TABLES.chosen(asked)


def test_what_no_run_fills_is_said(begin: list[RunMeasures]) -> None:
    found, empty = sheets(begin, TABLES.chosen("2,5,21"))
    assert [sheet.name for sheet in found] == ["overview", "table-2"]
    assert empty == [
        "no run fills Table 5: it needs a data set of contradictions",
        "no run fills Table 21: it needs a data set of abstentions",
    ]


def test_a_log_without_gold_has_scores_and_no_accuracies(tmp_path: Path) -> None:
    told = [Told([VERIFIED, LACKING, label]) for label in (*Label, None)]
    run = read_measured(written(tmp_path / "run", told, data_set="log"), "run")
    found = sheets([run])[0]
    assert [sheet.name for sheet in found] == ["overview", "claim-scores"]
    row = texts(found[0])[0]
    assert row[column(found[0], "turn accuracy: original")] == "–"
    assert row[column(found[0], "n")] == "6"
    assert row[column(found[0], "coverage")] == "83.3"
    assert row[column(found[0], "VISTA score: micro")] == f"{100 * 9 / 17:.2f}"


async def test_what_the_runner_writes_is_read(tmp_path: Path) -> None:
    """Two systems through the real runner: the folders are the seam."""
    judges = (RuleJudge(), RuleJudge(info=JudgeInfo(name="other", version="1")))
    for judge in judges:
        plan = make_plan(source(4), RunSettings().claims, limit=None, seed=0)
        await evaluate(Ruled(judge), plan, tmp_path / judge.info.name, RunSettings(), Steering())
    runs = [read_measured(tmp_path / judge.info.name, judge.info.name) for judge in judges]
    assert [run.complete for run in runs] == [True, True]
    # In each talk the first of three turns is fine, and found to be.
    assert runs[0].detection(Reading.ORIGINAL) == Detection(tp=8, fp=0, fn=0, tn=4)
    assert [sheet.name for sheet in sheets(runs)[0]] == ["overview", "claim-scores", "table-2", "significance-piers"]
    assert discordant(runs[0], runs[1], Reading.ORIGINAL) == Discordant(0, 0, 12)


def test_a_damaged_run_names_the_file_and_the_line(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", turns(2, 2, 2, 2))
    with (folder / "reports.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"half": ')
    assert len(read_measured(folder).reports) == 8
    with (folder / "reports.jsonl").open("a", encoding="utf-8") as file:
        file.write("\n")
    with raises(InputError, "reports.jsonl", "9"):
        read_measured(folder)
    (folder / "gold.jsonl").write_text("{}\n", encoding="utf-8")
    with raises(InputError, "gold.jsonl", "1"):
        read_measured(folder)
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text("utf-8").replace('"version":"1.0"', '"version":"2.0"', 1), encoding="utf-8")
    with raises(ConfigError, "2.0"):
        read_measured(folder)
