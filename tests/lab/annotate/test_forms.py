"""Forms as data: what a file may say, what sheets of any form take, and what annotators come to by the measures it declares."""

from __future__ import annotations

import json
import re
import shlex
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import load_workbook
from typer.testing import CliRunner

from tests.lab.annotate.work import Change, mark
from tests.raising import raises
from vista_guard.cli import app
from vista_guard.errors import ConfigError, InputError
from vista_guard.stores.reports import Database
from vista_guard.types import Label
from vista_lab.annotate.agreement import Case, FormResults, measure
from vista_lab.annotate.batches import Batches, answers_by_annotator, results_of
from vista_lab.annotate.forms import Answers, ChoiceMark, Form, Item, Level, Measure, NumberMark, Part, Value, load_form
from vista_lab.annotate.sheets import content, form_table, read_sheets
from vista_lab.annotate.study import load, read_items
from vista_lab.metrics.agreement import icc, krippendorff_alpha, pearson

DOCS = (Path(__file__).parents[3] / "docs" / "annotating.md").read_text("utf-8")

BASE = """
name: short
title: A form
guidelines: Read and mark.
item: pair
columns: [{name: original}, {name: altered}]
marks:
  - {name: verdict, kind: choice, choices: [v, x, d], agreement: [percent, fleiss]}
"""


def run(command: str) -> tuple[int, str, str]:
    """Exit code, stdout, stderr of a command line."""
    done = CliRunner().invoke(app, shlex.split(command))
    return done.exit_code, done.stdout, done.stderr


def written(folder: Path, text: str, name: str = "form.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


# What a form may say


def test_the_forms_that_ship() -> None:
    vista, desiderata = load_form("vista"), load_form("desiderata")
    assert vista.labels is not None
    assert [choice.label for choice in vista.labels.choices] == list(Label)
    assert vista.revision is not None
    names = {level: [one.name for one in desiderata.marks_of(level)] for level in Level}
    assert names == {
        Level.ITEM: ["coverage", "uniqueness", "notes"],
        Level.PART: ["verifiability", "faithfulness", "clarity", "notes"],
    }


def test_a_form_may_be_toml(tmp_path: Path) -> None:
    toml = """
    name = "short"
    title = "A form"
    guidelines = "Read and mark."
    item = "pair"
    columns = [{ name = "original" }, { name = "altered" }]
    [[marks]]
    name = "verdict"
    kind = "choice"
    choices = ["v", "x", "d"]
    agreement = ["percent", "fleiss"]
    """
    assert load_form(written(tmp_path, toml, "form.toml")) == load_form(written(tmp_path, BASE))


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("item: pair", "item: poem", "item"),
        ("kind: choice,", "kind: vote,", "marks.0"),
        ("choices: [v, x, d]", "choices: [v]", "choices"),
        ("choices: [v, x, d]", "choices: [v, V]", "'v'"),
        ("choices: [v, x, d]", "choices: [yes, no]", "quotes"),
        ("choices: [v, x, d]", "choices: [v, x, d], of: part", "verdict"),
        ("choices: [v, x, d]", "choices: [v, x, d], when: {mood: [good]}", "mood"),
        ("[percent, fleiss]", "[percent, icc]", "icc"),
        ("[percent, fleiss]", "[charm]", "agreement"),
        ("name: verdict", "name: original", "original"),
        ("name: verdict", "name: study", "study"),
        ("name: verdict", "name: The Verdict", "name"),
        ("title: A form", "titel: A form", "title"),
        ("title: A form", "title: A form\ntitle: Twice", "title"),
        ("kind: choice, choices: [v, x, d]", "kind: number, low: 5, high: 1", "verdict"),
        ("kind: choice, choices: [v, x, d]", "kind: text", "verdict"),
        ("item: pair", "item: pair\nparts: {unit: claim, revise: {by: verdict, words: words}}", "parts.revise"),
    ],
)
def test_a_form_that_makes_no_sense_is_named_with_its_place(tmp_path: Path, old: str, new: str, place: str) -> None:
    assert old in BASE
    path = written(tmp_path, BASE.replace(old, new))
    with pytest.raises(ConfigError) as caught:
        load_form(path)
    assert str(path) in str(caught.value)
    assert place in str(caught.value)


@pytest.mark.parametrize("name", ["poems", "none.yaml", "none.toml"])
def test_a_form_that_is_not_there(name: str) -> None:
    with raises(ConfigError, name):
        load_form(name)


# Items


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('{"id": "a", "original": "x"}', "altered"),
        ('{"original": "x", "altered": "y"}', "id"),
        ('{"id": "a", "original": "x", "altered": 3}', "3"),
        ('{"id": "a", "original": "x", "altered": "y"}\n{"id": "a", "original": "x", "altered": "y"}', "'a'"),
        ('{"id": "a"', "line 1"),
        ("[1]", "1"),
    ],
)
def test_wrong_items_are_named(tmp_path: Path, text: str, named: str) -> None:
    path = written(tmp_path, text, "items.jsonl")
    with raises(InputError, "items.jsonl") as caught:
        read_items(path, load_form(written(tmp_path, BASE)))
    assert named in str(caught.value)


SENTENCES = [
    {
        "id": "s1",
        "question": "Who was Ada?",
        "sentence": "Ada was born in 1815, in London.",
        "claims": ["Ada was born in 1815.", "=Ada was born in London."],
    },
    {
        "id": "s2",
        "question": "Who was Ada?",
        "sentence": "She wrote notes.",
        "claims": [{"id": "n", "text": "She wrote notes."}],
    },
]


def sentences(folder: Path) -> Path:
    return written(folder, "\n".join(map(json.dumps, SENTENCES)), "sentences.jsonl")


def test_a_table_gives_the_same_items_as_json(tmp_path: Path) -> None:
    form = load_form("desiderata")
    items = read_items(sentences(tmp_path), form)
    assert items[0] == Item(
        "s1",
        {"question": "Who was Ada?", "sentence": "Ada was born in 1815, in London."},
        (Part("c1", {"text": "Ada was born in 1815."}), Part("c2", {"text": "=Ada was born in London."})),
        "s1",
    )
    for suffix in (".xlsx", ".tsv"):
        path = tmp_path / f"items{suffix}"
        path.write_bytes(content(form_table(form, items, "about"), suffix))
        assert read_items(path, form) == items


# From sheets to agreement


GOOD: Change = {("s1", ""): {"coverage": "1", "uniqueness": "1"}, ("s2", ""): {"coverage": "1", "uniqueness": "1"}}
ONES = {"verifiability": "1", "faithfulness": "1", "clarity": "1"}


@pytest.mark.parametrize("kind", ["xlsx", "tsv"])
def test_desiderata_from_sheets_to_consensus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.chdir(tmp_path)
    sentences(tmp_path)
    code, _, err = run(
        f"annotations export sentences.jsonl --form desiderata --annotators ada,ben --out sheets --sheets {kind}"
    )
    assert (code, "2 of 2 documents of sentences.jsonl" in err) == (0, True), err
    mark(Path(f"sheets/ada.{kind}"), GOOD, ONES)
    mark(Path(f"sheets/ben.{kind}"), {**GOOD, ("s2", "n"): {"clarity": "0", "notes": "Who?"}}, ONES)
    command = f"agree sheets/ada.{kind} sheets/ben.{kind} --out agreed"
    code, out, err = run(f"{command} --json")
    assert code == 0, err
    told = json.loads(out)
    assert (told["form"], told["to_discuss"], told["settled"]) == ("desiderata", 1, 12)
    clarity = told["marks"]["clarity"]
    assert (clarity["cases"], clarity["percent"], clarity["alpha"]["value"]) == (3, pytest.approx(2 / 3), None)
    assert clarity["pairs"][0]["percent"] == pytest.approx(2 / 3)
    assert {"verifiability", "coverage"} < told["marks"].keys()
    queue = Path(f"agreed/discuss.{kind}")
    mark(queue, {("s2", "n"): {"answer": "0"}}, {})
    code, _, err = run(command)
    assert (code, str(queue) in err) == (2, True)
    code, _, err = run(f"{command} --settled {queue}")
    assert (code, "no majority" in err) == (0, False), err
    lines = [json.loads(line) for line in Path("agreed/consensus.jsonl").read_text("utf-8").splitlines()]
    assert [line["parts"] for line in lines][1] == {"n": {**ONES, "clarity": "0"}}
    assert [line["open"] for line in lines] == [[], []]
    tables = Path("agreed/tables.md").read_text("utf-8")
    assert "| clarity | 0 | 1 | 33.3 |" in tables


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        (("s1", "", "coverage"), "2"),
        (("s1", "", "coverage"), ""),
        (("s1", "", "clarity"), "1"),
        (("s1", "c1", "coverage"), "1"),
        (("s1", "c2", "clarity"), "maybe"),
        (("s1", "c1", "claim"), "c9"),
    ],
)
def test_wrong_marks_are_named(tmp_path: Path, cell: tuple[str, str, str], value: str) -> None:
    item, part, column = cell
    run(f"annotations export {sentences(tmp_path)} --form desiderata --annotators ada --out {tmp_path / 'sheets'}")
    path = tmp_path / "sheets" / "ada.xlsx"
    mark(path, {**GOOD, (item, part): {**GOOD.get((item, part), {}), column: value}}, ONES)
    data = load(tmp_path / "sheets")
    with pytest.raises(InputError) as caught:
        read_sheets([path], data.study.form, data.items)
    rows = {"": 2, "c1": 3, "c2": 4}
    assert f"{path}, sheet desiderata, row {rows[part]}, column {column} is {value!r}: " in str(caught.value)


def test_the_form_of_the_page_works_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    form = next(block for block in re.findall(r"```yaml\n(.*?)```", DOCS, re.DOTALL) if "name: helpful" in block)
    written(tmp_path, form, "helpful.yaml")
    pairs = [{"id": f"q{n}", "question": f"Question {n}?", "answer": f"Answer {n}."} for n in range(4)]
    written(tmp_path, "\n".join(map(json.dumps, pairs)), "pairs.jsonl")
    exporting, agreeing = re.findall(r"vista-guard (annotations export pairs.*|agree rating.*)", DOCS)
    assert run(exporting)[0] == 0
    rules = load_workbook("rating/ada.xlsx").worksheets[0].data_validations.dataValidation
    assert [(rule.type, rule.formula1, rule.formula2) for rule in rules if rule.type == "whole"] == [
        ("whole", "1", "5")
    ]
    rest = {"hedged": "No", "flaws": "too long; Vague"}
    for name, ratings in (("ada", "1345"), ("ben", "2344")):
        mark(
            Path(f"rating/{name}.xlsx"),
            {(f"q{n}", ""): {"usefulness": one, **rest} for n, one in enumerate(ratings)},
            {},
        )
    assert run(agreeing)[0] == 0
    lines = [json.loads(line)["marks"] for line in Path("agreed/consensus.jsonl").read_text("utf-8").splitlines()]
    assert lines[0] == {"usefulness": 1.5, "flaws": ["vague", "too long"], "hedged": "no"}
    tables = Path("agreed/tables.md").read_text("utf-8")
    assert [word in tables for word in ("Krippendorff's α", "ICC(2,1)", "Pearson's r", "Fleiss' κ")] == [True] * 4
    mark(Path("rating/ada.xlsx"), {("q0", ""): {"hedged": "yes"}, ("q1", ""): {"hedge": "perhaps"}}, {})
    code, _, err = run(agreeing)
    assert (code, err.count("column hedge is ")) == (2, 2)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("--form desiderata --annotators ada --sample 9", "9"),
        ("--form desiderata --annotators ada --enrich abstention=1", "--enrich"),
        ("--form desiderata --annotators ada --run runs", "--run"),
        ("--form none --annotators ada", "none"),
    ],
)
def test_wrong_use_of_a_form(tmp_path: Path, arguments: str, named: str) -> None:
    code, _, err = run(f"annotations export {sentences(tmp_path)} {arguments} --out {tmp_path / 'x'}")
    assert (code in (1, 2), named in err, (tmp_path / "x").exists()) == (True, True, False), err


def test_turns_of_a_log_by_a_form_without_claims(tmp_path: Path) -> None:
    text = BASE.replace("item: pair", "item: turn").replace("original", "question").replace("altered", "turn")
    form, log = written(tmp_path, text), Path(__file__).parents[3] / "examples" / "study" / "museum.json"
    code, _, err = run(f"annotations export {log} --form {form} --annotators ada,ben --sample 2 --out {tmp_path / 'x'}")
    assert (code, "2 of 6 conversations of museum.json" in err) == (0, True), err
    data = load(tmp_path / "x")
    assert data.study.form.name == "short"
    assert all(item.texts["turn"] and not item.parts for item in data.items)


# Measures, against printed values


KRIPPENDORFF = ["111", "222 3", "3333", "3333", "2222", "1234", "4444", "1121", "2222", " 555", "  11", " 3"]
"""The example of Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section C: 12 units, 4 observers."""


@pytest.mark.parametrize(
    ("scale", "printed"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_alpha_at_each_level_of_measurement(scale: str, printed: float) -> None:
    units = [[value for value in unit if value != " "] for unit in KRIPPENDORFF]
    assert krippendorff_alpha(units, scale, list("12345")) == pytest.approx(printed, abs=5e-4)  # type: ignore[arg-type]


def test_icc_on_the_example_of_shrout_and_fleiss() -> None:
    ratings = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], float)
    assert icc(ratings) == pytest.approx(0.29, abs=5e-3)
    assert icc(np.ones((3, 2))) is None
    assert pearson(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0])) is None
    assert pearson(np.array([1.0, 2.0, 3.0]), np.array([2.0, 4.0, 6.0])) == pytest.approx(1)


@given(st.lists(st.tuples(*[st.sampled_from(["0", "1"])] * 3), min_size=1, max_size=30))
def test_of_two_values_and_three_annotators_pairs_tell_how_often_all_agree(rows: list[tuple[str, str, str]]) -> None:
    names = ("a", "b", "c")
    verdict = ChoiceMark.model_validate(
        {"name": "m", "kind": "choice", "choices": ["0", "1"], "agreement": ["percent"]}
    )
    cases = [Case(str(n), "", str(n), dict(zip(names, row, strict=True))) for n, row in enumerate(rows)]
    found = measure(verdict, cases, names)
    pairs = [found.pairs[pair].percent or 0.0 for pair in combinations(names, 2)]
    assert found.percent == pytest.approx((sum(pairs) - 1) / 2)
    assert (found.fleiss, found.alpha.value, found.icc) == (None, None, None)  # not declared


def test_choices_left_empty_beside_other_marks_are_none_of_them() -> None:
    kind = {"kind": "choice", "choices": ["v", "x"]}
    flaws = {
        "name": "flaws",
        "kind": "choices",
        "choices": ["vague", "long"],
        "needed": False,
        "agreement": ["percent"],
    }
    told = {"name": "r", "title": "R", "guidelines": "g", "item": "document", "columns": [{"name": "text"}]}
    form = Form.model_validate({**told, "marks": [{"name": "verdict", **kind}, flaws]})
    items = [Item(f"i{n}", {"text": f"Text {n}"}, (), f"i{n}") for n in range(3)]
    done: dict[str, list[dict[str, Value]]] = {
        "ada": [{"verdict": "v", "flaws": ("vague",)}, {"verdict": "v"}, {"verdict": "v"}],
        "ben": [{"verdict": "v"}, {"verdict": "v"}, {}],
    }
    answers = {who: {f"i{n}": Answers(marks, {}) for n, marks in enumerate(own)} for who, own in done.items()}
    results = FormResults(form, items, answers, ("all",), {})
    assert [(one.mark, one.shared, one.percent) for one in results.figures] == [("flaws", 2, 0.5)]
    assert [(one.value, one.open) for one in results.settled if one.mark == "flaws"] == [(None, True), ((), False)]
    mark = form.mark("flaws")
    assert (mark.read("None"), mark.read("long; vague")) == ((), ("vague", "long"))
    for wrong in ("vague, long", "none; long"):
        with pytest.raises(ValueError, match="';'"):
            mark.read(wrong)


# The dashboard's database


@pytest.fixture
def batches(tmp_path: Path) -> Batches:
    return Batches(Database(f"sqlite:///{tmp_path / 'forms.sqlite'}"))


def rating() -> tuple[Form, list[Item]]:
    number = {"name": "score", "kind": "number", "low": 1, "high": 5, "agreement": [Measure.PERCENT]}
    choice = {"name": "verdict", "kind": "choice", "choices": ["v", "x"], "agreement": ["percent"]}
    told = {"name": "r", "title": "R", "guidelines": "g", "item": "document", "columns": [{"name": "text"}]}
    form = Form.model_validate({**told, "marks": [number, choice]})
    return form, [Item(f"i{n}", {"text": f"Text {n}"}, (), f"i{n}") for n in range(2)]


def test_a_batch_is_marked_submitted_and_settled(batches: Batches) -> None:
    form, items = rating()
    assert batches.all() == ()
    batches.create("pilot", form, items, wanted=2, who="ada", about="two texts")
    with raises(InputError, "pilot"):
        batches.create("pilot", form, items, wanted=2, who="ada", about="")
    done = {"ada": Answers({"score": 3.0, "verdict": "v"}, {}), "ben": Answers({"score": 5.0, "verdict": "x"}, {})}
    for who, answers in done.items():
        begun = batches.start(batches.tasks("pilot", who)[0].id, who)
        kept = batches.save(begun, Answers({"score": 2.0}, {}))
        with raises(InputError, "verdict"):
            batches.save(kept, Answers({"score": 2.0}, {}), submit=True)
        assert batches.save(kept, answers, seconds=4, submit=True).submitted
        with raises(InputError, who):
            batches.save(kept, answers)
    (complete,) = batches.complete("pilot")
    assert complete.item == items[0]
    assert answers_by_annotator([complete]) == {who: {"i0": one} for who, one in done.items()}
    with raises(InputError, "2"):
        batches.start(complete.id, "cleo")
    assert [task.mine for task in batches.tasks("pilot", "cleo")] == ["full", "free"]
    (found,) = batches.all()
    assert (found.form, found.items, found.complete, found.settled) == (form, 2, 1, 0)
    results = results_of(found, [complete])
    assert [(one.mark, one.value, one.open) for one in results.settled] == [
        ("score", 4.0, False),
        ("verdict", None, True),
    ]
    for value in ("v", "x"):
        batches.settle(complete.id, marks={("", "verdict"): value}, who="ada")
    assert results_of(found, batches.complete("pilot")).discussed == {("i0", "", "verdict"): "x"}
    batches.remove("pilot")
    assert not batches.all()
    assert not batches.tasks("pilot", "ada")
    with raises(InputError, "pilot"):
        batches.remove("pilot")


def test_sheets_of_a_form_become_a_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(f"annotations export {sentences(tmp_path)} --form desiderata --annotators ada,ben --out sheets")
    for name in ("ada", "ben"):
        mark(Path(f"sheets/{name}.xlsx"), GOOD, ONES)
    where = "--reports sqlite:///forms.sqlite"
    assert run(f"annotations import sheets/ada.xlsx sheets/ben.xlsx --batch done {where}")[0] == 0
    assert run(f"annotations import --study sheets --batch open {where}")[0] == 0
    code, out, err = run(f"agree --batch done {where} --json")
    assert (code, json.loads(out)["marks"]["clarity"]["percent"]) == (0, 1.0), err
    code, _, err = run(f"agree --batch other {where}")
    assert (code, "'other'" in err, "done" in err) == (2, True, True)
    batches = Batches(Database("sqlite:///forms.sqlite"))
    assert {one.name: (one.items, one.complete, one.wanted) for one in batches.all()} == {
        "done": (2, 2, 2),
        "open": (2, 0, 2),
    }
    assert run(f"annotations remove open {where}")[0] == 0
    assert [one.name for one in batches.all()] == ["done"]


def test_a_number_takes_its_range_and_no_more() -> None:
    half = NumberMark.model_validate({"name": "n", "kind": "number", "low": 0, "high": 1, "whole": False})
    assert [half.read(text) for text in ("0,5", "0.5", "1")] == [0.5, 0.5, 1.0]
    for text in ("2", "nan", "inf", "-0.1", "half", ""):
        with raises(ValueError, "0", "1"):
            half.read(text)
