"""Question sets are read: the benchmark's file, own sets in three forms, and rows that cannot be asked."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from pathlib import Path
from statistics import fmean

import pytest

from tests.raising import raises
from vista_guard.errors import InputError
from vista_lab.dialogues.questions import find_questions, read_questions

ROW = {
    "id": "a",
    "questions": ["Open?", "Until when?"],
    "answer": "Until six.",
    "facts": ["It closes at six."],
    "domain": ["d"],
}


def test_three_forms_hold_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps([ROW]), "utf-8")
    (tmp_path / "a.jsonl").write_text(json.dumps(ROW) + "\n\n", "utf-8")
    with (tmp_path / "a.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(ROW))
        writer.writeheader()
        writer.writerow({name: "\n".join(value) if isinstance(value, list) else value for name, value in ROW.items()})
    items = [read_questions(tmp_path / f"a.{form}").items for form in ("json", "jsonl", "csv")]
    assert items[0] == items[1] == items[2]
    assert items[0][0].single == "Until when?"


def test_rows_that_cannot_be_asked_are_named_and_the_others_kept(tmp_path: Path) -> None:
    rows = [ROW, ROW, {"id": "b"}, {"id": "c", "questions": ["Open?", " "]}, {"id": "d", "questions": 4}, "text",
            {"questions": ["Open?"]}, {"id": "e", "questions": ["Open?"], "facts": [""]}]  # fmt: skip
    path = tmp_path / "set.json"
    path.write_text(json.dumps(rows), "utf-8")
    found = read_questions(path)
    assert [item.id for item in found.items] == ["a"]
    assert [one.partition(": ")[0] for one in found.skipped] == [f"set.json item {n}" for n in range(2, 9)]
    for why, said in zip(
        [
            "was there before",
            "no questions",
            "blank text at place 2",
            "4, not a list",
            "str, not an object",
            "no id",
            "blank",
        ],
        found.skipped,
        strict=True,
    ):
        assert why in said


def test_odd_rows_are_kept_and_told(tmp_path: Path) -> None:
    path = tmp_path / "set.json"
    odd = {"id": "a", "questions": ["Open?", "Open?"], "question": "Is it open?", "facts": ["Yes.", "Yes."]}
    path.write_text(json.dumps([odd, {"id": "b", "questions": ["Is it open?"]}]), "utf-8")
    found = read_questions(path)
    assert len(found.items) == 2
    assert [one for one in found.told if one.startswith("a: ")] == [
        "a: the last question of the dialogue is not the single question",
        "a: a turn is repeated",
        "a: a fact stands there twice: Yes.",
    ]
    assert "a, b: the same dialogue" in found.told


@pytest.mark.parametrize(
    ("content", "why"), [(b"\xff", ("UTF-8",)), (b"{", ("JSON",)), (b"{}", ("list",)), (b"[]", ("question",))]
)
def test_a_file_that_is_none_says_why(tmp_path: Path, content: bytes, why: tuple[object, ...]) -> None:
    path = tmp_path / "set.json"
    path.write_bytes(content)
    with raises(InputError, *why):
        read_questions(path)
    with pytest.raises(InputError):
        read_questions(tmp_path / "nothing.json")


def test_a_published_set_is_found_by_its_name(tmp_path: Path) -> None:
    with raises(InputError, "--data"):
        find_questions("knowmt")
    with raises(InputError, "KnowMT_QA.json"):
        find_questions("knowmt", tmp_path)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "KnowMT_QA.json").write_text("[]", "utf-8")
    assert find_questions("knowmt", tmp_path) == tmp_path / "deep" / "KnowMT_QA.json"
    assert find_questions("own.csv", tmp_path) == Path("own.csv")


def test_the_benchmarks_file() -> None:
    folder = os.environ.get("VISTA_GUARD_DATA", "")
    if not folder or not (Path(folder) / "knowmt").is_dir():
        pytest.skip("VISTA_GUARD_DATA names no data folder with knowmt")
    found = read_questions(find_questions("knowmt", Path(folder)))
    assert len(found.items) == 801
    assert not found.skipped
    assert sorted(Counter(len(item.questions) for item in found.items).items()) == [
        (2, 300),
        (3, 300),
        (4, 120),
        (5, 81),
    ]
    domains = Counter(name for item in found.items for name in item.domains)
    assert (domains["finance"], domains["law"], domains["medicine"]) == (579, 278, 209)
    assert sum(len(item.domains) > 1 for item in found.items) == 265
    assert sum(len(item.facts) for item in found.items) == 4469
    assert fmean(len(item.answer.split()) for item in found.items) == pytest.approx(75.75, abs=0.01)
