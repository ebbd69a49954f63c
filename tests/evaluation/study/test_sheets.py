"""Sheets go out, through spreadsheets, and come back: what annotators wrote, and each cell that is wrong."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evaluation.study.people import (
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
)
from vista_guard.errors import ConfigError, InputError
from vista_guard.evaluation.study.cells import escaped, plain
from vista_guard.evaluation.study.drawing import Wish, draw
from vista_guard.evaluation.study.filled import Work, read_sheets
from vista_guard.evaluation.study.forms import form, too_long
from vista_guard.evaluation.study.records import Material, load
from vista_guard.stores.reviews.records import AnnotatedClaim, Op
from vista_guard.types import Label

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


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter="\t"))


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
def test_a_cell_comes_back_as_it_was(text: str) -> None:
    cell = escaped(text)
    assert not cell.startswith(("=", "+", "-", "@", "\t"))
    assert plain(cell).strip(" \n") == text.strip(" \n") or text.startswith((" ", "\n"))


@pytest.mark.parametrize(
    "text",
    ["1925", "3/4", "1e5", "007", "12e45678", "1dec2024", "(5)", "£9", "90 %", "12:30 pm", "5 May 2020", "Mai 5", "2020年5月",
     "1'000", "True", "WAHR"],
)  # fmt: skip
def test_what_reads_like_a_figure_is_written_as_text(text: str) -> None:
    assert (escaped(text), plain(f"'{text}"), plain(text)) == (f"'{text}", text, text)


@pytest.mark.parametrize(
    "text", ["c001.t1", "t1.c10", "new 1", "It has 210 steps.", "'90s", "'1984'", "640 lamps", "falsehood"]
)
def test_words_are_written_as_they_are(text: str) -> None:
    assert escaped(text) == plain(text) == text


WORK: Change = {
    ("c001.t1", "t1.c2"): {"handling": "delete", "label": ""},
    ("c001.t1", "new 2"): {"new_text": "It is liked.", "label": "Out-of-scope", "notes": "two\r\nlines; and a ;"},
    ("c001.t3", "t3.c1"): {"handling": "", "new_text": "The pier is long.", "label": "LACKING_EVIDENCE"},
    ("c002.t1", ""): {"notes": "hard"},
}


@pytest.mark.parametrize("saved", SAVED)
def test_whatever_saved_it_the_same_is_read(tmp_path: Path, saved: str) -> None:
    study(tmp_path)
    (found,) = read_sheets([fill(tmp_path / "ada.tsv", WORK, then=SAVED[saved])], load(tmp_path))
    assert (found.annotator, found.open) == ("ada", 0)
    assert found.turns["c001.t1"] == Work(
        (
            AnnotatedClaim(text="The pier opened in 1911.", label=V, source_claim_id="t1.c1"),
            AnnotatedClaim(text="The assistant loves it.", op=Op.DELETE, source_claim_id="t1.c2"),
            AnnotatedClaim(text="It is liked.", op=Op.ADD, label=SCOPE),
        ),
        "new 2: two\nlines; and a ;",
    )
    edited = AnnotatedClaim(text="The pier is long.", op=Op.EDIT, label=LACKING, source_claim_id="t3.c1")
    assert found.turns["c001.t3"] == Work((edited,))
    assert found.turns["c002.t1"].notes == "hard"


def test_turns_that_nobody_began_are_counted(tmp_path: Path) -> None:
    material = study(tmp_path)
    empty = {
        (turn.id, claim.id): {"handling": "", "label": ""} for turn in material.study.turns for claim in turn.claims
    }
    changes = {**empty, ("c002.t1", "t1.c1"): {"handling": "", "label": "contradicted"}}
    (found,) = read_sheets([fill(tmp_path / "ada.tsv", changes)], material)
    assert (list(found.turns), found.open) == (["c002.t1"], 4)


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        (("c001.t1", "t1.c1", "label", "probably"), "row 3, column label is 'probably': the labels are verifiable, "),
        (("c001.t1", "t1.c1", "label", ""), "row 3, column label is '': the labels are"),
        (("c001.t1", "t1.c1", "handling", "keep"), "row 3, column handling is 'keep': give confirm, edit, delete"),
        (("c001.t1", "t1.c1", "handling", "edit"), "column new_text is '': an edited claim needs its new words"),
        (("c001.t1", "t1.c1", "handling", "delete"), "column label is 'verifiable': the claim is to be deleted"),
        (
            ("c001.t1", "t1.c1", "new_text", "x"),
            "column new_text is 'x': the claim is to be confirmed; new words are for edit",
        ),
        (
            ("c001.t1", "t1.c1", "text", "The pier"),
            "column text is 'The pier': the claim read 'The pier opened in 1911.'",
        ),
        (("c001.t1", "t1.c1", "claim", "t9.c9"), "column claim is 't9.c9': turn c001.t1 has no such claim"),
        (("c001.t1", "t1.c1", "id", "c9.t9"), "column id is 'c9.t9': the study has no such turn"),
        (
            ("c001.t1", "t1.c2", "claim", "t1.c1"),
            "row 4, column claim is 't1.c1': turn c001.t1 has it in row 3 already",
        ),
        (
            ("c001.t1", "new 1", "label", "verifiable"),
            "row 5, column new_text is '': a claim that is added needs its words",
        ),
        (
            ("c001.t1", "new 1", "handling", "edit"),
            "column handling is 'edit': a claim that is added takes add or nothing",
        ),
        (("c001.t1", "", "label", "verifiable"), "row 2, column label is 'verifiable': this is the turn's own row"),
        (
            ("c001.t1", "", "handling", "done"),
            "column handling is 'done': the turn's own row takes 'no claims' or nothing",
        ),
        (("c001.t1", "", "handling", "no claims"), "the turn has claims that are not deleted"),
        (("c001.t1", "t1.c1", "notes", "x" * 10_001), "column notes is 'xxx"),
    ],
)
def test_each_wrong_cell_is_named(tmp_path: Path, cell: tuple[str, str, str, str], said: str) -> None:
    turn, claim, column, value = cell
    study(tmp_path)
    path = fill(tmp_path / "ada.tsv", {(turn, claim): {column: value}})
    with pytest.raises(InputError) as caught:
        read_sheets([path], load(tmp_path))
    assert str(path) in str(caught.value)
    assert said in str(caught.value)
    assert "nothing was taken" in str(caught.value)


def test_all_wrong_cells_of_all_sheets_are_named_at_once(tmp_path: Path) -> None:
    study(tmp_path)
    paths = [fill(tmp_path / f"{name}.tsv", {("c001.t1", "t1.c1"): {"label": "?"}}) for name in ("ada", "ben")]
    with pytest.raises(InputError, match=r"the sheets: 2 cells are wrong[\s\S]*ada.tsv, row 3[\s\S]*ben.tsv, row 3"):
        read_sheets(paths, load(tmp_path))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PK\x03\x04rest", "is a spreadsheet's own file; save it as text with tabs"),
        (b"", "is empty"),
        (
            b"id\tclaim\n1\t2\n",
            "has no column 'text'; it has id, claim. Keep the first row, and open the sheet as UTF-8 with tabs",
        ),
        (b"id\tclaim\ttext\thandling\tnew_text\tlabel\tnotes\n", "has no rows"),
        (
            b"id\tclaim\ttext\thandling\tnew_text\tlabel\tnotes\nc001.t1\tt1.c1\tpi\xe9r\t\t\t\t\n",
            "byte 0xe9 at position 2 is not UTF-8",
        ),
        (
            b"id\tclaim\ttext\thandling\tnew_text\tlabel\tnotes\nc001.t1\tt1.c1\t\t\t\t\t\tx\ty\n",
            "row 2: has 9 cells, and the header has 7",
        ),
        ("\ufeffid".encode("utf-16-le") + b"x", "begins as UTF-16 and is none"),
        (None, "cannot be read: No such file"),
    ],
)
def test_a_file_that_is_no_sheet(tmp_path: Path, content: bytes | None, said: str) -> None:
    study(tmp_path)
    path = tmp_path / "dora.tsv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"dora\.tsv") as caught:
        read_sheets([path], load(tmp_path))
    assert said in str(caught.value)


def test_rows_that_are_missing_are_said(tmp_path: Path) -> None:
    material = study(tmp_path)
    path = tmp_path / "ada.tsv"
    lines = fill(path, {}).read_bytes().split(b"\r\n")
    path.write_bytes(b"\r\n".join(line for line in lines if b"t1.c2" not in line and not line.startswith(b"c004")))
    with pytest.raises(
        InputError, match=r"the row of claim t1.c2 is missing[\s\S]*the rows of turn c004.t1 are missing"
    ):
        read_sheets([path], material)


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
    material = draw([source("one"), source("two")], [judged("two")], Wish(("ada",), (2, 3)))
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
    longer = Material(
        material.study,
        {**material.conversations, "tower": talk.model_copy(update={"turns": (talk.turns[0], said)})},
        {},
    )
    assert {name: len(text) for name, text in too_long(longer).items()} == {"c002.t1.turn.txt": 40_000}
    (cell,) = [row["turn"] for row in rows_of(form(longer)) if row["turn"].startswith("xxx")]
    assert len(cell) < 30_000
    assert cell.endswith("[cut here: all 40,000 characters are in texts/c002.t1.turn.txt]")


@pytest.mark.parametrize(
    ("wish", "error", "said"),
    [
        (Wish(("ada", "Ada")), ConfigError, "give each a name of their own"),
        (Wish(("a/b",)), ConfigError, "annotator 'a/b': a sheet is named after them"),
        (Wish(("ada",), (9,)), InputError, "harbour has 4 conversations with claims; a sample of 9 cannot be drawn"),
        (Wish(("ada",), (1, 2)), ConfigError, "--sample has 2 numbers, and there are 1 data sets"),
        (
            Wish(("ada",), (2,), {ABSTENTION: 2}),
            InputError,
            "the run found ABSTENTION in 1 more conversations of harbour",
        ),
        (
            Wish(("ada",), (1,), {ABSTENTION: 1, V: 1}),
            ConfigError,
            "2 conversations of harbour are to be chosen, and 1 drawn",
        ),
    ],
)
def test_a_wish_that_makes_no_sense(wish: Wish, error: type[Exception], said: str) -> None:
    with pytest.raises(error) as caught:
        draw([source()], [judged()], wish)
    assert said in str(caught.value)


def test_a_run_of_other_data_is_refused() -> None:
    with pytest.raises(InputError, match="run run is of elsewhere, and the study is of harbour"):
        draw([source()], [judged("elsewhere")], Wish(("ada",)))
    with pytest.raises(ConfigError, match="need a run over harbour: give its folder with --run"):
        draw([source()], [], Wish(("ada",), enrich={V: 1}))


def test_two_logs_of_one_name_are_refused() -> None:
    with pytest.raises(ConfigError, match="two data sets or logs are named harbour"):
        draw([source(), source()], [], Wish(("ada",)))


def test_no_study_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no study: .*study.json cannot be read: No such file"):
        load(tmp_path)
