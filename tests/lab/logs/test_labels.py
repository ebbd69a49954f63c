"""Meanings of people's labels: by their words, by their column's name, as the user says, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.lab.logs.rows import broken, written
from tests.raising import raises
from vista_guard.cli import app
from vista_guard.errors import ConfigError, InputError
from vista_lab.logs.formats import Columns, LoggedConversation, read_log
from vista_lab.logs.labels import LabelColumn

FAULTS = ["hallucination", "hallucinations", "Hallucination", "hallucinated", "is_hallucination", "isHallucinated"]
FAULTS += ["has_hallucination", "hallucination_label", "human-hallucination", "error", "contains_error", "has_errors"]
FAULTS += [
    "unsupported",
    "is_unsupported",
    "unsupported_claims",
    "not_supported",
    "unfaithful",
    "ungrounded",
    "inconsistent",
]
FAULTS += [
    "incorrect",
    "is_incorrect",
    "wrong",
    "non_factual",
    "fabricated",
    "contradiction",
    "fail",
    "failed",
    "unwanted",
]
MERITS = [
    "faithful",
    "is_faithful",
    "faithfulness",
    "supported",
    "grounded",
    "groundedness",
    "correct",
    "factual",
    "good",
]
MERITS += ["consistent", "verified", "passed", "hallucination_free", "not_hallucinated", "no_error", "errorFree"]
OPEN = ["label", "gold", "ground_truth", "annotation", "verdict", "rating", "correct_or_wrong", "target", "category"]
YES, NO = ["yes", "Yes", "TRUE", "1", "1.0", "y"], ["no", "No", "false", "0", "0.0", "n"]
FINE = [
    "Not Hallucinated",
    "Not hallucinated",
    "NOT_HALLUCINATED",
    "no hallucination",
    "non-hallucinated",
    "hallucination-free",
]
FINE += [
    "PASS",
    "passed",
    "factual",
    "Consistent",
    "SUPPORTED",
    "faithful",
    "Benign",
    "not unsupported",
    "good",
    "entailment",
]
BAD = [
    "Hallucinated",
    "hallucination",
    "Partially Hallucinated",
    "partially supported",
    "FAIL",
    "non-factual",
    "not factual",
]
BAD += [
    "Unwanted",
    "Unwanted.Intrinsic",
    "Questionable",
    "unsupported",
    "Not Supported",
    "not fine",
    "contradiction",
    "bad",
]


def is_fine(column: str, cell: object, told: bool | None = None) -> bool | None:
    gold = LabelColumn(column, told).gold(cell)
    assert gold is not None
    return not gold.positive


def test_forty_names_of_columns_are_enough() -> None:
    assert len({*FAULTS, *MERITS, *OPEN}) >= 40


@pytest.mark.parametrize("column", [*FAULTS, *MERITS, *OPEN])
def test_words_mean_the_same_in_each_column(column: str) -> None:
    assert [cell for cell in FINE if not is_fine(column, cell)] == []
    assert [cell for cell in BAD if is_fine(column, cell)] == []


@pytest.mark.parametrize("column", [*FAULTS, *MERITS])
def test_yes_and_no_follow_the_name_of_the_column(column: str) -> None:
    yes = column in MERITS
    assert {is_fine(column, cell) for cell in YES} == {yes}
    assert {is_fine(column, cell) for cell in NO} == {not yes}
    assert is_fine(column, True) is yes
    assert is_fine(column, 0) is not yes
    assert is_fine(column, "yes", told=not yes) is not yes


@pytest.mark.parametrize("column", OPEN)
def test_yes_and_no_are_refused_where_nothing_says_what_they_mean(column: str) -> None:
    for cell in (*YES, *NO, True, 0):
        with raises(ConfigError, column, "bad"):
            is_fine(column, cell)
    assert is_fine(column, "yes", told=False) is False
    assert is_fine(column, "0", told=False) is True


@pytest.mark.parametrize("cell", ["maybe", "0.87", 2, "mostly faithful", "billing", "-", "not", "none"])
def test_what_is_no_verdict_is_refused(cell: object) -> None:
    with pytest.raises(InputError):
        LabelColumn("hallucination").gold(cell)


def test_several_verdicts_and_none() -> None:
    column = LabelColumn("label")
    assert column.gold("") is column.gold(None) is column.gold([]) is None
    assert is_fine("label", ["Benign", "Unwanted", "Unwanted.Extrinsic"]) is False
    assert is_fine("label", ["Consistent", "Benign"]) is True


LONG, OTHER, GUIDE = "The pier is 310 m long.", "The pier is 900 m long.", "The pier is 310 m long."


def asked(answer: str, **label: object) -> dict[str, object]:
    return {"question": "How long is the pier?", "answer": answer, "documents": GUIDE, **label}


def replayed(log: Path, *options: str) -> tuple[int, str, str]:
    arguments = ["replay", str(log), "--out", f"{log}.out", "--policy", "balanced", "--against", "strict", *options]
    result = CliRunner().invoke(app, arguments)
    return result.exit_code, " ".join(result.stdout.split()), result.stderr


def test_a_column_whose_name_is_the_fault_is_read_the_right_way_round(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", [asked(OTHER, hallucination="yes"), asked(LONG, hallucination="no")])
    code, out, _ = replayed(log, "--columns", "label=hallucination")
    assert code == 0
    assert "alarms that are right │ 100 %" in out
    assert "label yes = not fine (from the column's name): 1" in out
    assert "label no = fine (from the column's name): 1" in out


def test_a_column_that_says_nothing_needs_a_word_of_the_user(tmp_path: Path) -> None:
    log = written(tmp_path / "log.jsonl", [asked(OTHER, label=1), asked(LONG, label=0)])
    code, _, error = replayed(log)
    assert code == 2
    assert "label=label:bad" in error
    code, out, _ = replayed(log, "--columns", "label=label:bad")
    assert code == 0
    assert "label 1 = not fine (as --columns says): 1" in out


def test_labels_of_a_table_in_words(tmp_path: Path) -> None:
    log = tmp_path / "labels.csv"
    words = ["Not Hallucinated", "Hallucinated", "Partially Hallucinated", "Consistent", "Unwanted", "PASS", "FAIL"]
    words += ["factual", "non-factual", "LACKING_EVIDENCE", "OUT_OF_SCOPE"]
    rows = [f"How long?,It is 310 m long.,{GUIDE},{word}" for word in words]
    log.write_text("\n".join(["question,answer,context,label", *rows, ""]), encoding="utf-8")
    assert broken(log) == []
    entries = [entry for entry in read_log(log) if isinstance(entry, LoggedConversation)]
    positive = [gold.positive for entry in entries for gold in entry.gold.values()]
    assert positive == [False, True, True, False, True, False, True, False, True, True, False]


def test_what_the_user_says_of_a_column_is_no_part_of_its_name() -> None:
    assert Columns.parse("label=verdict:bad") == Columns({"label": "verdict"}, yes_is_fine=False)
    assert Columns.parse("label=verdict:good,answer=a:b") == Columns(
        {"label": "verdict", "answer": "a:b"}, yes_is_fine=True
    )
    assert Columns.parse("label=a:b") == Columns({"label": "a:b"})
