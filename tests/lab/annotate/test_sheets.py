"""Sheets go out, through spreadsheets, and come back: what annotators wrote, and each cell that is wrong."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lab.annotate.work import (
    ABSTENTION,
    CONTRADICTED,
    LACKING,
    SCOPE,
    Change,
    V,
    fill,
    judged,
    source,
    study,
    works,
)
from tests.raising import raises
from vista_guard.errors import ConfigError, InputError
from vista_guard.stores.reviewed import Op
from vista_guard.types import Label
from vista_lab.annotate.sheets import FilledSheet, Table, content, form_table, read_sheets, too_long
from vista_lab.annotate.study import Sampling, StudyData, draw, load
from vista_lab.metrics.agreement import AnnotatedClaim

SAVED = {
    "as it was": lambda text: ("\ufeff" + text).encode("utf-8"),
    "without a mark": lambda text: text.encode("utf-8"),
    "Unicode text": lambda text: text.encode("utf-16"),
    "semicolons": lambda text: _again(text, ";").encode("utf-8-sig"),
    "line feeds": lambda text: text.replace("\r\n", "\n").encode("utf-8"),
}


def _again(text: str, delimiter: str) -> str:
    file = io.StringIO()
    rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t")
    csv.writer(file, delimiter=delimiter, lineterminator="\r\n", quoting=csv.QUOTE_ALL).writerows(rows)
    return file.getvalue()


def form(data: StudyData) -> str:
    table = form_table(data.study.form, data.items, data.study.about, hints=data.study.shown)
    return content(table, ".tsv").decode("utf-8-sig")


def _zip(content: bytes) -> bytes:
    file = io.BytesIO()
    with ZipFile(file, "w") as packed:
        packed.writestr("xl/workbook.xml", content)
    return file.getvalue()


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), delimiter="\t"))


def read(path: Path, data: StudyData) -> FilledSheet:
    (found,) = read_sheets([path], data.study.form, data.items)
    return found


def test_a_sheet_has_what_is_to_be_read_and_no_label(tmp_path: Path) -> None:
    material = study(tmp_path)
    text = form(material)
    rows = rows_of(text)
    head, first, *_ = (row for row in rows if row["id"] == "c001.t3")
    assert (head["context"], head["question"]) == (
        "user: Question 1?\nassistant: The pier opened in 1911. I love it.",
        "Question 2?",
    )
    assert (head["document"], head["turn"]) == ("Guide\nAbout the pier:\tit is old.", "'=It is 310 m long.")
    assert (first["claim"], first["text"]) == ("t3.c1", "'=The pier is 310 m long.")
    assert [row["claim"] for row in rows[:6]] == ["", "t1.c1", "t1.c2", "new 1", "new 2", "new 3"]
    assert not any(row["label"] or row["handling"] for row in rows)
    assert not any(str(word) in text for word in [*Label, "hallucinated", "faithful"])
    assert "4 of 4 conversations of harbour, by seed 0." in rows[0]["study"]


@given(st.text(alphabet="'=+-@\ta \n1.e/", max_size=8))
def test_no_cell_of_plain_text_is_run_as_a_formula(text: str) -> None:
    cell = content(Table("t", ["a"], [[text], ["b"]]), ".tsv").decode("utf-8-sig").splitlines()[1]
    assert not cell.strip('"').startswith(("=", "+", "-", "@", "\t"))


WORK: Change = {
    ("c001.t1", "t1.c2"): {"handling": "delete", "label": ""},
    ("c001.t1", "new 2"): {"new_text": "It is liked.", "label": "Out-of-scope", "notes": "two\r\nlines; and a ;"},
    ("c001.t3", "t3.c1"): {"handling": "", "new_text": "The pier is long.", "label": "LACKING_EVIDENCE"},
    ("c002.t1", ""): {"notes": "hard"},
}


@pytest.mark.parametrize("saved", [*SAVED, "workbook"])
def test_whatever_saved_it_the_same_is_read(tmp_path: Path, saved: str) -> None:
    suffix = ".xlsx" if saved == "workbook" else ".tsv"
    study(tmp_path, suffix=suffix)
    data = load(tmp_path)
    found = read(fill(tmp_path / f"ada{suffix}", WORK, then=SAVED.get(saved)), data)
    assert (found.annotator, found.open) == ("ada", 0)
    done = works(found, data)
    assert done["c001.t1"] == (
        (
            AnnotatedClaim(text="The pier opened in 1911.", label=V, source_claim_id="t1.c1"),
            AnnotatedClaim(text="The assistant loves it.", op=Op.DELETE, source_claim_id="t1.c2"),
            AnnotatedClaim(text="It is liked.", op=Op.ADD, label=SCOPE),
        ),
        "new 2: two\nlines; and a ;",
    )
    edited = AnnotatedClaim(text="The pier is long.", op=Op.EDIT, label=LACKING, source_claim_id="t3.c1")
    assert done["c001.t3"] == ((edited,), "")
    assert done["c002.t1"][1] == "hard"


@pytest.mark.parametrize("suffix", [".xlsx", ".tsv"])
def test_turns_that_nobody_began_are_counted(tmp_path: Path, suffix: str) -> None:
    data = study(tmp_path, suffix=suffix)
    empty = {(turn.id, claim.id): {"handling": "", "label": ""} for turn in data.study.turns for claim in turn.claims}
    noted = {("c001.t1", ""): {"notes": "later"}}
    changes = {**empty, **noted, ("c002.t1", "t1.c1"): {"handling": "", "label": "contradicted"}}
    found = read(fill(tmp_path / f"ada{suffix}", changes), data)
    assert (list(found.answers), found.open) == (["c002.t1"], 4)


@pytest.mark.parametrize("suffix", [".xlsx", ".tsv"])
@pytest.mark.parametrize(
    ("turn", "claim", "column", "value", "row"),
    [
        ("c001.t1", "t1.c1", "label", "probably", 3),
        ("c001.t1", "t1.c1", "label", "", 3),
        ("c001.t1", "t1.c1", "handling", "keep", 3),
        ("c001.t1", "t1.c1", "handling", "add", 3),
        ("c001.t1", "t1.c1", "new_text", "x", 3),
        ("c001.t1", "t1.c1", "text", "The pier", 3),
        ("c001.t1", "t1.c1", "claim", "t9.c9", 3),
        ("c001.t1", "t1.c1", "id", "c9.t9", 3),
        ("c001.t1", "t1.c2", "claim", "t1.c1", 4),
        ("c001.t1", "new 1", "handling", "edit", 5),
        ("c001.t1", "", "label", "verifiable", 2),
        ("c001.t1", "", "handling", "done", 2),
        ("c001.t1", "", "handling", "no claims", 2),
        ("c001.t1", "t1.c1", "notes", "x" * 10_001, 3),
    ],
)
def test_each_wrong_cell_is_named(
    tmp_path: Path, suffix: str, turn: str, claim: str, column: str, value: str, row: int
) -> None:
    data = study(tmp_path, suffix=suffix)
    path = fill(tmp_path / f"ada{suffix}", {(turn, claim): {column: value}})
    sheet = ", sheet vista" if suffix == ".xlsx" else ""
    assert any(f"{path}{sheet}, row {row}, column {column} is {value[:60]!r}: " in line for line in faults(path, data))


@pytest.mark.parametrize(
    ("claim", "given", "column"),
    [
        ("t1.c1", {"handling": "edit"}, "new_text"),
        ("t1.c1", {"handling": "delete"}, "label"),
        ("new 1", {"label": "verifiable"}, "new_text"),
    ],
)
def test_what_one_mark_needs_or_forbids_of_another(
    tmp_path: Path, claim: str, given: dict[str, str], column: str
) -> None:
    data = study(tmp_path)
    (line,) = faults(fill(tmp_path / "ada.tsv", {("c001.t1", claim): given}), data)
    assert f"column {column} is " in line


def faults(path: Path, data: StudyData) -> list[str]:
    """The lines of the error, a wrong cell each; nothing was taken."""
    with pytest.raises(InputError) as caught:
        read(path, data)
    return str(caught.value).splitlines()[1:]


def test_all_wrong_cells_of_all_sheets_are_named_at_once(tmp_path: Path) -> None:
    study(tmp_path)
    paths = [fill(tmp_path / f"{name}.tsv", {("c001.t1", "t1.c1"): {"label": "?"}}) for name in ("ada", "ben")]
    with raises(InputError, "2", "ada.tsv", "3", "ben.tsv"):
        read_sheets(paths, load(tmp_path).study.form, load(tmp_path).items)


@pytest.mark.parametrize(
    ("name", "raw"),
    [
        ("dora.tsv", b"PK\x03\x04rest"),
        ("dora.tsv", b""),
        ("dora.tsv", b"id\tclaim\n1\t2\n"),
        ("dora.tsv", b"id\tclaim\ttext\thandling\tnew_text\tlabel\tnotes\n"),
        ("dora.tsv", b"id\tclaim\ttext\thandling\tnew_text\tlabel\tnotes\nc001.t1\tt1.c1\tpi\xe9r\t\t\t\t\n"),
        ("dora.tsv", b"id\tclaim\ttext\thandling\tnew_text\tlabel\tnotes\nc001.t1\tt1.c1\t\t\t\t\t\tx\ty\n"),
        ("dora.tsv", "\ufeffid".encode("utf-16-le") + b"x"),
        ("dora.tsv", None),
        ("dora.xlsx", b"id\tclaim\n"),
        ("dora.xlsx", b"PK\x03\x04rest"),
        ("dora.xlsx", _zip(b"not a workbook")),
        ("dora.xlsx", content(Table("t", ["id"], [["c001.t1"]]), ".xlsx")),
    ],
)
def test_a_file_that_is_no_sheet(tmp_path: Path, name: str, raw: bytes | None) -> None:
    data = study(tmp_path)
    path = tmp_path / name
    if raw is not None:
        path.write_bytes(raw)
    with raises(InputError, name):
        read(path, data)


def test_rows_that_are_missing_are_said(tmp_path: Path) -> None:
    material = study(tmp_path)
    path = tmp_path / "ada.tsv"
    lines = fill(path, {}).read_bytes().split(b"\r\n")
    path.write_bytes(b"\r\n".join(line for line in lines if b"t1.c2" not in line and not line.startswith(b"c004")))
    with raises(InputError, "t1.c2", "c004.t1"):
        read(path, material)


def test_a_study_is_enriched_and_says_so(tmp_path: Path) -> None:
    material = study(tmp_path, each=(3,), enrich={ABSTENTION: 1, CONTRADICTED: 1}, seed=4)
    names = {turn.conversation_id for turn in material.study.turns}
    assert {"ferry", "tower"} < names
    assert len(names) == 3
    assert material.study.enriched
    about = (
        "3 of 4 conversations of harbour, by seed 4. Enriched: 1 with ABSTENTION and 1 with CONTRADICTED chosen by the labels of "
        "scripted in harbour. Shares of labels say nothing of how frequent they are elsewhere."
    )
    assert material.study.about == about
    assert about in rows_of(form(material))[0]["study"]
    again = study(tmp_path / "again", each=(3,), enrich={ABSTENTION: 1, CONTRADICTED: 1}, seed=4)
    assert again.study.turns == material.study.turns.__class__(
        turn.model_copy(update={"report_id": other.report_id})
        for turn, other in zip(material.study.turns, again.study.turns, strict=True)
    )


def test_suggestions_are_shown_where_they_are_asked_for(tmp_path: Path) -> None:
    material = study(tmp_path, shown=True)
    assert [row["suggested"] for row in rows_of(form(material))[:4]] == ["", "verifiable", "out of scope", ""]
    assert material.study.about.endswith("Not blind: annotators saw the run's labels.")


def test_without_a_run_the_logs_own_claims_are_annotated(tmp_path: Path) -> None:
    material = study(tmp_path, run=False)
    assert [len(turn.claims) for turn in material.study.turns] == [2, 1, 1, 1, 1]
    assert (material.reports, load(tmp_path)) == ({}, material)


def test_two_data_sets_with_the_same_names_of_conversations(tmp_path: Path) -> None:
    material = draw([source("one"), source("two")], [judged("two")], Sampling(("ada",), (2, 3)))
    assert [(one.name, one.conversations, one.run) for one in material.study.sets] == [
        ("one", 2, None),
        ("two", 3, "run"),
    ]
    assert len({turn.talk for turn in material.study.turns}) == 5
    assert {turn.id for turn in material.study.turns if turn.data_set == "two"} == set(material.reports)
    assert all(material.turns[name].talk == report.conversation_id for name, report in material.reports.items())


def test_a_document_that_no_cell_holds_goes_into_a_file(tmp_path: Path) -> None:
    material = study(tmp_path)
    talk = material.conversations["tower"]
    said = talk.turns[1].model_copy(update={"text": "x" * 40_000})
    longer = StudyData(
        material.study,
        {**material.conversations, "tower": talk.model_copy(update={"turns": (talk.turns[0], said)})},
        {},
    )
    assert {name: len(text) for name, text in too_long(longer.study.form, longer.items).items()} == {
        "c002.t1.turn.txt": 40_000
    }
    (cell,) = [row["turn"] for row in rows_of(form(longer)) if row["turn"].startswith("xxx")]
    assert len(cell) < 30_000
    assert cell.endswith("[cut here: all 40,000 characters are in texts/c002.t1.turn.txt]")


@pytest.mark.parametrize(
    ("wish", "error", "said"),
    [
        (Sampling(("ada", "Ada")), ConfigError, "'ada,Ada'"),
        (Sampling(("a/b",)), ConfigError, "annotator is 'a/b'"),
        (
            Sampling(("ada",), (9,)),
            InputError,
            "harbour has 4 conversations",
        ),
        (Sampling(("ada",), (1, 2)), ConfigError, "--sample has 2 numbers for 1 data sets"),
        (
            Sampling(("ada",), (2,), {ABSTENTION: 2}),
            InputError,
            "the run found ABSTENTION in 1 more conversations of harbour",
        ),
        (
            Sampling(("ada",), (1,), {ABSTENTION: 1, V: 1}),
            ConfigError,
            "2 conversations of harbour, and --sample for 1",
        ),
    ],
)
def test_a_wish_that_makes_no_sense(wish: Sampling, error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        draw([source()], [judged()], wish)
    assert said in str(caught.value)


def test_a_run_of_other_data_is_refused() -> None:
    with raises(InputError, "elsewhere", "harbour"):
        draw([source()], [judged("elsewhere")], Sampling(("ada",)))
    with raises(ConfigError, "harbour", "--run"):
        draw([source()], [], Sampling(("ada",), enrich={V: 1}))


def test_two_logs_of_one_name_are_refused() -> None:
    with raises(ConfigError, "harbour"):
        draw([source(), source()], [], Sampling(("ada",)))


def test_no_study_is_said(tmp_path: Path) -> None:
    with raises(InputError, "study.json"):
        load(tmp_path)


def test_a_study_of_an_earlier_version_opens(tmp_path: Path) -> None:
    data = study(tmp_path)
    place = tmp_path / "study" / "study.json"
    told = json.loads(place.read_text("utf-8"))
    del told["form"]
    place.write_text(json.dumps({**told, "version": "1.0"}), encoding="utf-8")
    (tmp_path / "study" / "items.jsonl").unlink()
    again = load(tmp_path)
    assert (again.study.form, again.items) == (data.study.form, data.items)
