"""People on a generated set: who gets which passages, marks that come back, accuracy at a set error, agreement, and the gold."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.lab.oasis.generated_set import (
    CLAIMS,
    Marker,
    all_right,
    mark_tsv,
    mark_xlsx,
    record,
    rows_of,
    write_rows,
    write_set,
    wrong_rows,
)
from tests.raising import raises
from vista_guard.cli import app
from vista_guard.errors import ConfigError, InputError
from vista_lab.annotate.forms import ChoiceMark, Form, form_names, load_form
from vista_lab.metrics.agreement import fleiss_kappa
from vista_lab.oasis.people import Drawing, OasisResults, Step, draw, item_of, read_work
from vista_lab.oasis.people_tables import tables
from vista_lab.oasis.records import Record, read_records
from vista_lab.oasis.splits import SetPart, Splitting
from vista_lab.runs.made import RECORDS

FIVE = ("ada", "ben", "cleo", "dan", "eve")
STEPS = tuple(map(str, Step))


def vista(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["oasis", *words])
    return done.exit_code, done.stdout, done.stderr


def made(folder: Path, records: int, annotators: tuple[str, ...] = FIVE, kind: str = "tsv", **sizes: int) -> Path:
    """A set with its sheets."""
    write_set(folder, records, rejected=3)
    asked = [word for name, size in sizes.items() for word in (f"--{name}", str(size))]
    code, _, told = vista(
        "sheets", str(folder), "--annotators", ",".join(annotators), "--sheets", kind, "--part", "all", *asked
    )
    assert code == 0, told
    return folder


def mark(folder: Path, markers: Mapping[tuple[str, str], Marker], annotators: tuple[str, ...] = FIVE) -> None:
    """Every annotator marks every sheet, with `all_right` where nothing else is named by step and annotator."""
    for step in STEPS:
        for who in annotators:
            mark_tsv(folder / "sheets" / step / f"{who}.tsv", markers.get((step, who), all_right))


def results(folder: Path) -> OasisResults:
    records = list(read_records(folder))
    return OasisResults(read_work(folder / "sheets", records), records)


def agreed(folder: Path, *more: str) -> dict[str, Any]:
    code, shown, told = vista("agree", str(folder), "--json", *more)
    assert code == 0, told
    found: dict[str, Any] = json.loads(shown)
    return found


# Drawing


def test_each_annotator_has_his_part_and_the_shared_passages_at_every_step(tmp_path: Path) -> None:
    """Section 4.1: N / M + K = 1,750 / 5 + 100 = 450 for each of five, of 1,850 passages."""
    write_set(tmp_path, 1900)
    steps = draw(tmp_path, Drawing(FIVE, 1750, 100, part="all"))
    by_step = [{item.id: item.annotators for item in data.items} for data in steps.values()]
    assert all(one == by_step[0] for one in by_step)
    assert len(by_step[0]) == 1850
    assert sum(given == FIVE for given in by_step[0].values()) == 100
    assert [sum(who in given for given in by_step[0].values()) for who in FIVE] == [450] * 5
    assert {len(given) for given in by_step[0].values()} == {1, 5}
    about = steps[Step.EXTRACTION].study.about
    assert "1,850 of 1,900 passages" in about
    assert "100 of them are marked by all 5" in about


def test_only_accepted_passages_are_drawn_and_the_same_for_a_seed(tmp_path: Path) -> None:
    write_set(tmp_path, 30, rejected=10)
    one, same, other = (draw(tmp_path, Drawing(("ada",), 10, seed=seed, part="all")) for seed in (1, 1, 2))
    names = [[item.id for item in data[Step.EXTRACTION].items] for data in (one, same, other)]
    assert names[0] == names[1] != names[2]
    accepted = {record(number).passage.id for number in range(30)}
    assert set(names[0]) | set(names[2]) <= accepted


def test_the_test_part_is_drawn_from_unless_asked_otherwise(tmp_path: Path) -> None:
    """Gold that something was trained on measures nothing: whole documents are set aside, as for `oasis export`."""
    records = write_set(tmp_path, 400)
    splitting = Splitting()
    aside = {one.passage.id for one in records if splitting.part(one.passage) is SetPart.TEST}
    data = draw(tmp_path, Drawing(("ada", "ben"), shared=4))[Step.EXTRACTION]
    assert {item.id for item in data.items} == aside
    assert "(test part)" in data.study.about
    with raises(InputError, "--part"):
        draw(tmp_path, Drawing(("ada", "ben"), len(aside) + 1, 0))


def test_what_annotators_are_shown() -> None:
    one = record(3)
    assert one.pair is not None
    extraction, pair, factual, unfactual = (item_of(step, one) for step in Step)
    assert extraction.texts == {"passage": one.passage.text}
    assert pair.texts == {"original": "The mill 3 grinds rye.", "falsified": "The mill 3 presses oil."}
    assert pair.parts == ()
    assert factual.texts == {"paraphrase": one.pair.factual}
    assert [part.texts["text"] for part in unfactual.parts][1] == one.pair.falsified
    assert [part.id for part in extraction.parts] == [f"claim {number}" for number in range(1, CLAIMS + 1)]
    assert unfactual.group == one.passage.document


@pytest.mark.parametrize(
    ("wanted", "error"),
    [
        (Drawing(("ada", "ben"), 60, part="all"), InputError),
        (Drawing(("ada", "ben"), 40, 12, part="all"), InputError),
        (Drawing(("ada",), 5, 5, part="all"), ConfigError),
        (Drawing(("ada", "ada"), part="all"), ConfigError),
        (Drawing(("ada", "b/n"), part="all"), ConfigError),
    ],
)
def test_what_cannot_be_drawn_is_refused(tmp_path: Path, wanted: Drawing, error: type[Exception]) -> None:
    write_set(tmp_path, 50)
    with pytest.raises(error):
        draw(tmp_path, wanted)


def test_sheets_have_the_columns_that_the_paper_prints(tmp_path: Path) -> None:
    """Tables 9, 11 and 12, and E.2's text; the id is added as the last."""
    folder = made(tmp_path / "ours", 12, ("ada", "ben"), sample=6, shared=2)
    heads = {step: [*rows_of(folder / "sheets" / step / "ada.tsv")[0]] for step in STEPS}
    assert heads == {
        "extraction": ["Identifier", "Text", "Annotation", "id"],
        "falsification": ["Original claim", "Unfactual claim", "Annotation", "id"],
        "factual": ["Identifier", "Text", "Semantics Preserved", "Paraphrased", "id"],
        "unfactual": ["Identifier", "Text", "Annotation", "id"],
    }
    first = [row["Identifier"] for row in rows_of(folder / "sheets" / "extraction" / "ada.tsv")[: CLAIMS + 1]]
    last = [row["Identifier"] for row in rows_of(folder / "sheets" / "factual" / "ada.tsv")[: CLAIMS + 1]]
    claims = [f"claim {number}" for number in range(1, CLAIMS + 1)]
    assert (first, last) == (["original_text", *claims], [*claims, "paraphrase"])
    assert rows_of(folder / "sheets" / "unfactual" / "ada.tsv")[0]["Identifier"] == "unfactual_text"
    told = (folder / "sheets" / "extraction" / "HOW-TO.txt").read_text("utf-8")
    assert "2 of them are marked by all 2 annotators" in told
    code, _, error = vista("sheets", str(folder), "--annotators", "ada", "--part", "all")
    assert code == 2
    assert "may hold an annotator's work" in error


def test_the_forms_ship() -> None:
    ours = [name for name in form_names() if name.startswith("oasis_")]
    assert ours == [f"oasis_{step}" for step in sorted(STEPS)]
    for name in ours:
        form = load_form(name)
        assert form.layout is not None
        assert all(isinstance(mark, ChoiceMark) for mark in form.marks)


def test_a_layout_places_each_column_once() -> None:
    given = load_form("oasis_extraction").model_dump()
    given["layout"]["columns"][2]["of"] = ("mark",)
    with raises(ValueError, "layout"):
        Form.model_validate(given)


# What comes back


def test_five_annotators_come_out_at_their_set_error(tmp_path: Path) -> None:
    """Each is unlike the others on so many shared rows, no two on the same, and calls so many of their own rows wrong."""
    folder = made(tmp_path / "ours", 200, sample=150, shared=25)
    (first, *_) = draw(folder, Drawing(FIVE, 150, 25, part="all")).values()
    shared = [item.id for item in first.items if len(item.annotators) == 5]
    errors = dict(zip(FIVE, (1, 2, 3, 4, 5), strict=True))
    places = iter(shared)
    slips = {who: [next(places) for _ in range(count)] for who, count in errors.items()}
    own = {who: [item.id for item in first.items if item.annotators == (who,)] for who in FIVE}
    markers: dict[tuple[str, str], Marker] = {}
    for who in FIVE:
        wrong = {(name, "claim 2") for name in slips[who]} | {(name, "claim 1") for name in own[who][:6]}
        markers["extraction", who] = wrong_rows(wrong)
    mark(folder, markers)
    found = results(folder)
    (extraction,) = (one for one in found.lines if one.line.step is Step.EXTRACTION)
    assert (extraction.rows.n, extraction.rows.hits) == (175 * CLAIMS, 175 * CLAIMS - 5 * 6)
    assert (extraction.passages.n, extraction.passages.hits) == (175, 175 - 30)
    assert extraction.interval is not None
    assert extraction.interval[0] < extraction.rows.value < extraction.interval[1]
    rows = 4 * CLAIMS - CLAIMS + 1  # claims of three steps, and the pair
    compared = 25 * rows
    assert {one.name: (one.rows, one.unlike.hits, one.unlike.n) for one in found.annotators} == {
        who: (30 * rows + compared, errors[who], compared) for who in FIVE
    }
    assert {one.name: one.wrong.hits for one in found.annotators} == {who: 6 + errors[who] for who in FIVE}
    cases = [["v"] * 5] * (25 * CLAIMS - 15) + [["x", *"vvvv"]] * 15
    assert extraction.shared == 25 * CLAIMS
    assert extraction.kappa == pytest.approx(fleiss_kappa(cases))
    marked_somewhere = 30 + 15
    assert len(found.gold.records) == 175 - marked_somewhere
    assert found.gold.lost == {Step.EXTRACTION: marked_somewhere, **dict.fromkeys([*Step][1:], 0)}


def test_kappa_of_shared_pairs_is_the_textbook_s(tmp_path: Path) -> None:
    """Ten pairs, three people: two pairs that all call wrong, one on which one person is alone."""
    folder = made(tmp_path / "ours", 10, ("ada", "ben", "cleo"), sample=1, shared=9)
    (first, *_) = draw(folder, Drawing(("ada", "ben", "cleo"), 1, 9, part="all")).values()
    shared = [item.id for item in first.items if len(item.annotators) == 3]
    wrong = {(name, "pair") for name in shared[:2]}
    mark(
        folder,
        {
            ("falsification", "ada"): wrong_rows(wrong | {(shared[2], "pair")}),
            ("falsification", "ben"): wrong_rows(wrong),
            ("falsification", "cleo"): wrong_rows(wrong),
        },
        ("ada", "ben", "cleo"),
    )
    line = results(folder).lines[1]
    agreed_pairs, chance = (8 * 3 + 1) / 27, (20 / 27) ** 2 + (7 / 27) ** 2
    assert line.kappa == pytest.approx((agreed_pairs - chance) / (1 - chance))
    assert (line.rows.hits, line.rows.n, line.shared) == (8, 10, 9)


def test_both_marks_of_a_factual_text_count(tmp_path: Path) -> None:
    folder = made(tmp_path / "ours", 8, ("ada",), sample=8)
    names = [item.id for item in draw(folder, Drawing(("ada",), 8, part="all"))[Step.FACTUAL].items]

    def marker(item: str, row: str, head: str) -> str:
        lost = head == "Semantics Preserved" and (item, row) == (names[0], "claim 1")
        copied = head == "Paraphrased" and (item, row) == (names[1], "claim 4")
        return "x" if lost or copied else "v"

    mark(folder, {("factual", "ada"): marker}, ("ada",))
    by_title = {one.line.title: one.rows for one in results(folder).lines}
    whole = 8 * CLAIMS
    assert (by_title["Factual text: semantics"].hits, by_title["Factual text: semantics"].n) == (whole - 1, whole)
    assert (by_title["Factual text: paraphrased"].hits, by_title["Factual text: both"].hits) == (whole - 1, whole - 2)
    assert len(results(folder).gold.records) == 6


def test_what_is_discarded_is_in_no_share_and_in_no_gold(tmp_path: Path) -> None:
    """App. E: a passage as a whole, whose claims then stay empty, or one claim."""
    folder = made(tmp_path / "ours", 8, ("ada",), sample=8)
    mark(folder, {}, ("ada",))
    path = folder / "sheets" / "extraction" / "ada.tsv"
    rows = rows_of(path)
    first, second = rows[0]["id"], rows[CLAIMS + 1]["id"]
    for row in rows:
        if row["id"] == first:
            row["Annotation"] = "d" if row["Identifier"] == "original_text" else ""
        if (row["id"], row["Identifier"]) == (second, "claim 2"):
            row["Annotation"] = "discard"
    write_rows(path, rows)
    found = results(folder)
    line = found.lines[0]
    assert (line.rows.hits, line.rows.n, line.discarded, line.open) == (7 * CLAIMS - 1, 7 * CLAIMS - 1, CLAIMS + 1, 0)
    assert (line.passages.hits, line.passages.n) == (7, 7)
    assert {first, second}.isdisjoint(one.passage.id for one in found.gold.records)


def test_workbooks_say_the_same(tmp_path: Path) -> None:
    pytest.importorskip("openpyxl")
    text, book = (made(tmp_path / kind, 10, ("ada", "ben"), kind, sample=6, shared=2) for kind in ("tsv", "xlsx"))
    name = rows_of(text / "sheets" / "extraction" / "ben.tsv")[0]["id"]
    markers = {("unfactual", "ben"): wrong_rows({(name, "claim 3")})}
    mark(text, markers, ("ada", "ben"))
    for step in STEPS:
        for who in ("ada", "ben"):
            mark_xlsx(book / "sheets" / step / f"{who}.xlsx", markers.get((step, who), all_right))
    assert results(text).lines == results(book).lines
    assert results(text).gold == results(book).gold


def test_with_a_wrong_cell_nothing_is_taken(tmp_path: Path) -> None:
    folder = made(tmp_path / "ours", 12, ("ada", "ben"), sample=6, shared=2)
    mark(folder, {}, ("ada", "ben"))
    extraction, falsification = (folder / "sheets" / step / "ben.tsv" for step in ("extraction", "falsification"))
    rows = rows_of(extraction)
    rows[1]["Annotation"], rows[2]["Text"] = "yes", "Something else."
    write_rows(extraction, rows)
    pairs = rows_of(falsification)
    pairs[0]["Annotation"], pairs[1]["Original claim"] = "", pairs[2]["Original claim"]
    pairs[2]["id"] = "nowhere.md#0+5"
    write_rows(falsification, pairs)
    code, shown, told = vista("agree", str(folder))
    assert (code, shown) == (2, "")
    assert not (folder / "gold").exists()
    for part in (
        f"{extraction}, row 3, column Annotation is 'yes': give v, x, d",
        f"{extraction}, row 4, column Text is 'Something else.'",
        f"{falsification}, row 3, column Original claim is",
        f"{falsification}, row 4, column id is 'nowhere.md#0+5': the study has no such pair",
    ):
        assert part in told


def test_files_that_are_not_these_sheets_are_refused(tmp_path: Path) -> None:
    folder = made(tmp_path / "ours", 12, ("ada", "ben"), sample=6, shared=2)
    mark(folder, {}, ("ada", "ben"))
    sheet = folder / "sheets" / "extraction" / "ada.tsv"
    good = sheet.read_bytes()
    others = {
        "no column": (folder / "sheets" / "falsification" / "ada.tsv").read_bytes(),
        "is for ben, not for ada": (folder / "sheets" / "extraction" / "ben.tsv").read_bytes(),
        "another kind": b"PK\x03\x04",
        "is empty": b"",
    }
    for told, content in others.items():
        sheet.write_bytes(content)
        code, _, error = vista("agree", str(folder))
        assert (code, told in error) == (2, True), error
    sheet.write_bytes(good)
    assert vista("agree", str(folder))[0] == 0
    for place in (tmp_path / "nothing", folder / "sheets"):
        code, _, error = vista("agree", str(folder), "--sheets", str(place / "x"))
        assert code == 2
        assert "--sheets" in error


def test_sheets_of_another_set_are_refused(tmp_path: Path) -> None:
    folder = made(tmp_path / "ours", 12, ("ada",), sample=6)
    mark(folder, {}, ("ada",))
    changed = list(read_records(folder))
    assert changed[0].pair is not None
    for number, one in enumerate(changed):
        assert one.pair is not None
        changed[number] = one.model_copy(update={"pair": one.pair.model_copy(update={"factual": "Other words."})})
    _write(folder, changed)
    code, _, error = vista("agree", str(folder))
    assert code == 2
    assert "has other texts for it now" in error
    _write(folder, [])
    code, _, error = vista("agree", str(folder))
    assert code == 2
    assert "lacks it" in error


def _write(folder: Path, records: list[Record]) -> None:
    (folder / RECORDS).write_text("".join(f"{one.model_dump_json()}\n" for one in records), encoding="utf-8")


def test_rows_without_a_majority_are_discussed(tmp_path: Path) -> None:
    folder = made(tmp_path / "ours", 12, ("ada", "ben"), sample=6, shared=2)
    (first, *_) = draw(folder, Drawing(("ada", "ben"), 6, 2, part="all")).values()
    (name, _) = (item.id for item in first.items if len(item.annotators) == 2)
    slips = {
        ("falsification", "ada"): wrong_rows({(name, "pair")}),
        ("factual", "ben"): wrong_rows({(name, "claim 1")}),
    }
    mark(folder, slips, ("ada", "ben"))
    before = agreed(folder)
    assert before["to_discuss"] == 3
    path = folder / "gold" / "discuss.tsv"
    rows = rows_of(path)
    assert [(row["step"], row["id"], row["claim"], row["mark"]) for row in rows] == [
        ("falsification", name, "", "mark"),
        ("factual", name, "claim 1", "semantics"),
        ("factual", name, "claim 1", "paraphrased"),
    ]
    assert rows[0]["versions"] == "ada: x\nben: v"
    for row in rows:
        row["answer"] = "v"
    write_rows(path, rows)
    code, _, error = vista("agree", str(folder))
    assert code == 2
    assert "--settled" in error
    after = agreed(folder, "--settled", str(path))
    assert after["to_discuss"] == 0
    assert after["gold"] == before["gold"] == 7  # what somebody marked stays out
    assert [one["right"] for one in after["steps"] if one["step"] == "falsification"] == [8]
    rows[0]["answer"], rows[1]["step"] = "maybe", "first"
    write_rows(path, rows)
    code, _, error = vista("agree", str(folder), "--settled", str(path))
    assert code == 2
    assert "column answer is 'maybe': give v, x, d" in error
    assert "column step is 'first'" in error


def test_gold_is_two_logs_that_are_evaluated_as_they_are(tmp_path: Path) -> None:
    folder = made(tmp_path / "ours", 12, ("ada", "ben"), sample=8, shared=2)
    mark(folder, {}, ("ada", "ben"))
    found = agreed(folder)
    assert found["gold"] == 10
    gold = list(read_records_of(folder / "gold" / "gold.jsonl"))
    assert {one.passage.id for one in gold} <= {one.passage.id for one in read_records(folder)}
    runs = {}
    for task, more in (("task1", []), ("task2", []), ("task2", ["--claims", "given"])):
        out = tmp_path / f"{task}{len(more)}"
        words = ["eval", str(folder / "gold" / f"{task}.json"), "--system", "overlap", "--out", str(out), *more]
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.stderr
        runs[out.name] = json.loads((out / "summary.json").read_text("utf-8"))
    assert {name: run["readings"]["original"]["turns"] for name, run in runs.items()} == dict.fromkeys(runs, 20)
    assert runs["task22"]["readings"]["strict"]["turns"] == 20
    gold_line = json.loads((tmp_path / "task10" / "gold.jsonl").read_text("utf-8").splitlines()[0])
    assert gold_line["group"] in {one.passage.document for one in gold}


def read_records_of(path: Path) -> list[Record]:
    return [Record.model_validate_json(line) for line in path.read_text("utf-8").splitlines()]


def test_unfinished_work_is_said_and_is_no_gold(tmp_path: Path) -> None:
    folder = made(tmp_path / "ours", 12, ("ada", "ben"), sample=6, shared=2)
    mark(folder, {}, ("ada", "ben"))
    (folder / "sheets" / "unfactual" / "ben.tsv").unlink()
    found = results(folder)
    assert found.gold.unfinished == 3 + 2
    assert len(found.gold.records) == 3
    assert "unfactual: ben has no sheet." in found.notes
    (sheet, *_) = tables(found)
    assert any("unfactual: ben has no sheet." in note for note in sheet.notes)
    for step in STEPS:
        for who in ("ada", "ben"):
            (folder / "sheets" / step / f"{who}.tsv").unlink(missing_ok=True)
    with pytest.raises(InputError):
        results(folder)
