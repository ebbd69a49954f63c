"""DAD's tables from runs: an oracle that is right at a set rate about sentences of small biographies, and folders by hand."""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.lab.tables.folders import LACKING, VERIFIED, Told, written
from tests.raising import raises
from vista_guard.cli import app
from vista_guard.errors import InputError
from vista_guard.testing import ScriptedChatServer, Verdict, judge_script
from vista_guard.types import Claim, Finding, Label, Outcome, Span, Unchecked
from vista_lab.datasets.sets.factscore import splits
from vista_lab.decompose import tables as dad
from vista_lab.logs.source import PlaceGold
from vista_lab.metrics.intervals import Share
from vista_lab.systems.protocol import EvidenceInfo
from vista_lab.tables.runs import RunMeasures, read_measured

SENTENCES = 4
RATE = 0.8


def sentences(number: int) -> list[tuple[str, bool]]:
    """A biography's sentences, and whether each is supported."""
    draw = random.Random(number)
    return [(f"Mill {number} has part {part}.", draw.random() < 0.6) for part in range(SENTENCES)]


def biography(number: int) -> Mapping[str, Any]:
    said = sentences(number)
    annotations = [
        {"text": text, "human-atomic-facts": [{"text": f"Fact: {text}", "label": "S" if good else "NS"}] * 2}
        for text, good in said
    ]
    output = " ".join(text for text, _ in said)
    return {"input": f"Tell of mill {number}.", "output": output, "topic": f"Mill {number}", "annotations": annotations}


def oracle(seed: int) -> Mapping[str, Sequence[Verdict]]:
    """A claim for each sentence, of which so many are judged as the gold has it."""
    found = {}
    for number in range(len(splits())):
        draw = random.Random(f"{seed} {number}")
        said = [(text, good is (draw.random() < RATE)) for text, good in sentences(number)]
        found[" ".join(text for text, _ in said)] = [
            Verdict(text, Label.VERIFIED if good else Label.LACKING_EVIDENCE) for text, good in said
        ]
    return found


def search(claim: str) -> list[str]:
    """Stands in for the search engine behind `--evidence search:…`."""
    return [f"Of mills: {claim}"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs of two models over the test sentences, and of one over their pairs."""
    place = tmp_path_factory.mktemp("dad")
    (place / "factscore").mkdir()
    lines = "".join(json.dumps(biography(number)) + "\n" for number in range(len(splits())))
    (place / "factscore/ChatGPT.jsonl").write_text(lines, encoding="utf-8")
    with ScriptedChatServer(judge_script(oracle(1))) as one, ScriptedChatServer(judge_script(oracle(2))) as other:
        for run, data_set, model, server in (
            ("a1", "factscore-chatgpt-a1-test", "m", one),
            ("a2", "factscore-chatgpt-a2-test", "m", one),
            ("b1", "factscore-chatgpt-a1-test", "other", other),
        ):
            words = ["eval", data_set, "--data", str(place), "--judge", f"openai:{model}@{server.base_url}"]
            words += ["--limit", "12", "--evidence", f"search:{__name__}:search", "--out", str(place / "runs" / run)]
            done = CliRunner().invoke(app, words)
            assert done.exit_code == 0, done.stderr
    return place


def compare(*words: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["compare", *map(str, words), "--paper", "dad"])
    return done.exit_code, done.stdout, done.stderr


def table(text: str, title: str) -> list[dict[str, str]]:
    """The rows of one table in CSV, by its heads."""
    part = next(part for part in text.split("# ") if part.startswith(title))
    return list(csv.DictReader(io.StringIO(part.partition("\n")[2].strip())))


def test_a_model_that_is_right_about_80_percent_of_sentences_measures_80(folder: Path) -> None:
    run = read_measured(folder / "runs/a1")
    setting = dad.setting_of(run)
    assert setting is not None
    met = setting.results.detection
    assert (setting.name, setting.part, met.turns, met.unchecked) == ("ChatGPT A-1", "test", 12 * SENTENCES, 0)
    assert Share(met.tp + met.tn, met.turns).low <= RATE <= Share(met.tp + met.tn, met.turns).high
    assert (setting.results.claims, setting.results.atomicity) == (1.0, 1.0)


def test_pairs_are_supported_where_both_sentences_are(folder: Path) -> None:
    singles, pairs = (dad.units_of(read_measured(folder / "runs" / name)) for name in ("a1", "a2"))
    for (talk, turn, place), pair in pairs.items():
        both = [singles[talk, turn, 2 * place + one] for one in (0, 1)]
        assert pair.supported is all(one.supported for one in both)
        assert pair.predicted() is all(one.predicted() for one in both)
        assert pair.facts == 4


def test_tables_have_runs_as_rows_settings_as_columns_and_the_papers_figures_below(folder: Path) -> None:
    code, out, err = compare(folder / "runs", "--format", "csv")
    assert (code, err) == (0, "")
    first = table(out, "Table 1")
    names = [line["decomposer and verifier"] for line in first]
    assert [name.partition("@")[0] for name in names[:2]] == ["openai:m", "openai:other"]
    assert names[-1] == "paper: DAD, Llama-3.1-8B"
    assert first[0]["ChatGPT A-1: n"] == str(12 * SENTENCES)
    assert first[0]["ChatGPT A-1: B-Acc."].endswith("]")
    assert first[0]["FELM: n"] == first[0]["Overall: B-Acc."] == "–"
    assert (first[-1]["FELM: macro-F1"], first[-1]["FELM: F1 of SUPPORTED"]) == ("–", "67.23")
    assert (first[-1]["ChatGPT A-1: macro-F1"], first[-1]["Overall: claims"]) == ("81.74", "8.14")
    (test,) = table(out, "Differences")
    assert (test["setting"], test["n"]) == ("ChatGPT A-1", str(12 * SENTENCES))
    assert {line["metric"] for line in table(out, "Table 2")} == set(dad.METRICS)
    sizes = table(out, "Table 4")[0]
    assert int(sizes["SUPPORTED"]) + int(sizes["NOT SUPPORTED"]) == int(sizes["n"]) == 12 * SENTENCES
    assert sizes["evidence"] == f"search {__name__}:search, top 10"


def test_tables_that_nothing_fills_are_named(folder: Path) -> None:
    code, out, err = compare(folder / "runs", "--tables", "3")
    assert (code, out) == (2, "")
    assert "Table 3" in err
    assert compare(folder / "runs", "--tables", "5")[0] == 2


@pytest.mark.parametrize("suffix", ["tsv", "xlsx"])
def test_wrong_units_are_listed_with_a_cause_to_fill_in(folder: Path, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"errors.{suffix}"
    code, _, err = compare(folder / "runs", "--errors", path)
    assert code == 0
    runs = [dad.units_of(read_measured(folder / "runs" / name)) for name in ("a1", "a2", "b1")]
    wrong = {(number == 1, name) for number, units in enumerate(runs) for name, unit in units.items()
             if unit.predicted() is not unit.supported}  # fmt: skip
    assert f"wrote {len(wrong)} units" in err
    if suffix == "xlsx":
        return
    listed = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig")), delimiter="\t"))
    assert len(listed) == len(wrong)
    first = listed[0]
    assert first["text"].startswith("Mill ")
    assert first["gold"] in ("SUPPORTED", "NOT SUPPORTED")
    assert sum(head.endswith(": steps") for head in first) == sum(head.endswith(": claims") for head in first) > 0
    claims, evidence = (next(head for head in first if head.endswith(end)) for end in (": claims", ": evidence"))
    assert first["text"] in first[claims]
    assert "Of mills" in "".join(line[evidence] for line in listed)
    assert {line["cause"] for line in listed} == {""}


def test_errors_need_a_sheets_ending_and_dads_tables(folder: Path, tmp_path: Path) -> None:
    assert compare(folder / "runs", "--errors", tmp_path / "errors.doc")[0] == 2
    done = CliRunner().invoke(app, ["compare", str(folder / "runs"), "--errors", str(tmp_path / "e.tsv")])
    assert (done.exit_code, "--paper dad" in done.stderr) == (2, True)


def test_topics_that_the_other_model_trains_on_can_be_left_out(folder: Path, tmp_path: Path) -> None:
    moved = [{**biography(number), "topic": f"Mill {number + 20}"} for number in range(len(splits()))]
    lines = "".join(json.dumps(row) + "\n" for row in moved)
    (tmp_path / "factscore").mkdir()
    (tmp_path / "factscore/PerplexityAI.jsonl").write_text(lines, encoding="utf-8")
    (tmp_path / "factscore/ChatGPT.jsonl").write_bytes((folder / "factscore/ChatGPT.jsonl").read_bytes())
    words = ["eval", "factscore-chatgpt-a1-test", "--data", str(tmp_path), "--system", "majority"]
    words += ["--option", "label=LACKING_EVIDENCE", "--disjoint-topics", "--out", str(tmp_path / "run")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.stderr
    run = read_measured(tmp_path / "run")
    left = {place for place, part in splits().items() if part == "test" and splits().get(place - 20) != "train"}
    assert (run.data_set, len(run.gold)) == ("factscore-chatgpt-a1-test-disjoint", len(left))
    words[1] = "felm-wk"
    assert (CliRunner().invoke(app, words)).exit_code == 2


# Folders by hand


def measured(folder: Path, found: Sequence[Label | None], data_set: str = "felm-wk", **more: Any) -> RunMeasures:
    told = [Told([label], positive) for label, positive in zip(found, (False, False, True, True), strict=True)]
    return read_measured(written(folder, told, data_set=data_set, **more))


def test_a_row_with_all_six_settings_has_their_mean(tmp_path: Path) -> None:
    sets = ["factscore-perplexity-a1-test", "factscore-perplexity-a2-test", "factscore-chatgpt-a1-test",
            "factscore-chatgpt-a2-test", "felm-wk", "bingcheck"]  # fmt: skip
    runs = [measured(tmp_path / name, [VERIFIED, LACKING, LACKING, LACKING], name) for name in sets]
    sheet = dad.table_1(dad.lines_of(runs))
    overall = [cell.text for cell in sheet.rows[0]][-4:]
    assert overall == ["75.00", "73.33", "66.67", "1.00"]


def test_splits_and_disjoint_topics_are_rows_of_their_own(tmp_path: Path) -> None:
    found = [VERIFIED, LACKING, LACKING, LACKING]
    names = ["factscore-chatgpt-a1-test", "factscore-chatgpt-a1-test-disjoint", "factscore-chatgpt-a1-validation"]
    lines = dad.lines_of([measured(tmp_path / name, found, name) for name in names])
    assert list(lines) == ["gpt-4o", "gpt-4o, test-disjoint", "gpt-4o, validation"]
    assert dad.differences(lines).rows == ()


def with_evidence(run: RunMeasures, evidence: EvidenceInfo | None) -> RunMeasures:
    system = run.manifest.system.model_copy(update={"evidence": evidence})
    return replace(run, manifest=run.manifest.model_copy(update={"system": system}))


def test_runs_of_other_evidence_are_refused_with_what_differs(tmp_path: Path) -> None:
    labels = [VERIFIED, LACKING, LACKING, LACKING]
    one, other = (measured(tmp_path / name, labels, judge=name) for name in ("one", "other"))
    wiki = EvidenceInfo(kind="wiki", source="enwiki.db", k=5, fingerprint="ab")
    with raises(InputError, "wiki"):
        dad.lines_of([with_evidence(one, wiki), with_evidence(other, None)])
    with raises(InputError, "5", "10"):
        dad.lines_of([with_evidence(one, wiki), with_evidence(other, wiki.model_copy(update={"k": 10}))])
    replayed = wiki.model_copy(update={"replayed": "cd"})
    assert len(dad.lines_of([with_evidence(one, wiki), with_evidence(other, replayed)])) == 2


def test_the_datas_own_claims_may_stand_beside_a_judges(tmp_path: Path) -> None:
    labels = [VERIFIED, LACKING, LACKING, LACKING]
    runs = [measured(tmp_path / name, labels, claims=name) for name in ("judge", "given")]
    assert list(dad.lines_of(runs)) == ["gpt-4o (claims judge)", "gpt-4o (claims given)"]


def test_two_runs_of_one_system_are_refused(tmp_path: Path) -> None:
    labels = [VERIFIED, LACKING, LACKING, LACKING]
    with raises(InputError, "system"):
        dad.lines_of([measured(tmp_path / name, labels) for name in ("one", "other")])


def test_units_that_were_not_judged_count_in_the_coverage_alone(tmp_path: Path) -> None:
    run = measured(tmp_path / "run", [VERIFIED, None, LACKING, LACKING], reported=3)
    setting = dad.setting_of(run)
    assert setting is not None
    assert (setting.results.detection.judged, setting.results.detection.unchecked, setting.results.without_claims) == (
        2,
        2,
        0,
    )
    assert dad.details(dad.lines_of([run])).rows[0][3].text == "50.0"


PLACES = [PlaceGold(spans=(Span(start=start, end=start + 10),), positive=False) for start in (0, 10, 30)]


def outcome(start: int | None, end: int = 0, *, judged: bool = True) -> Outcome:
    claim = Claim(id=f"c{start}", text="It is.", span=None if start is None else Span(start=start, end=end))
    return (
        Finding(claim=claim, label=VERIFIED, confidence=1, reason="") if judged else Unchecked(claim=claim, error="?")
    )


@pytest.mark.parametrize(
    ("one", "places"),
    [
        (outcome(0, 10), [1, 0, 0]),
        (outcome(4, 18), [0, 1, 0]),
        (outcome(5, 15), [1, 0, 0]),
        (outcome(20, 30), [0, 0, 0]),
        (outcome(None), [0, 0, 0]),
        (outcome(0, 40, judged=False), [1, 1, 1]),
    ],
)
def test_a_claim_is_of_the_sentence_that_it_shares_most_with(one: Outcome, places: list[int]) -> None:
    assert [len(found) for found in dad.outcomes_by_place(PLACES, [one])] == places
