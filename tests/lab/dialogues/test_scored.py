"""Cohorts and tables: a script with known shares of facts and errors measures exactly these."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

pytest.importorskip("scipy")

from tests.lab.dialogues.runs import HARBOUR, TOWER, BySentence, Literal, Scripted, hold
from vista_guard.errors import ConfigError, InputError
from vista_guard.judges.model import Message
from vista_lab.dialogues.delivery import PairReading
from vista_lab.dialogues.judging import judge_dialogues
from vista_lab.dialogues.questions import QuestionItem, QuestionSet
from vista_lab.dialogues.records import STATEMENTS
from vista_lab.dialogues.scored import Cohort, read_cohorts
from vista_lab.dialogues.tables.answers import write_answers
from vista_lab.dialogues.tables.papers import MEASURES, change, failures, losses, numbers, overlaps, sheets
from vista_lab.dialogues.tokens import token_counter
from vista_lab.tables.writers import markdown

ITEMS = [
    QuestionItem(
        f"i{n}",
        ("Hello?", "Name them."),
        "Name them.",
        "One. Two. Three. Four.",
        ("One.", "Two.", "Three.", "Four."),
        ("d",),
    )
    for n in range(8)
]


def half(messages: Sequence[Message]) -> str:
    """All facts alone; in a dialogue two of four, one denied and one of its own."""
    return "One. Two. Three. Four." if len(messages) == 1 else "One. Two. not: Three. Nine."


def cohorts(folder: Path, items: list[QuestionItem] = ITEMS, script=half, name: str = "run") -> list[Cohort]:  # type: ignore[no-untyped-def]
    hold(folder, Scripted(script), "single", "multi", items=items)
    asyncio.run(judge_dialogues(folder, items, BySentence(), Literal()))
    return read_cohorts(folder, QuestionSet("own", "0" * 64, tuple(items)), token_counter("words"), name)


def test_shares_of_facts_and_errors_are_measured_as_scripted(tmp_path: Path) -> None:
    single, multi = cohorts(tmp_path)
    assert len(multi.answers) == 8
    table = next(one for one in sheets([single, multi]) if one.title.startswith("Table 12"))
    heads = [column.whole for column in table.columns]
    alone, dialogue = (dict(zip(heads, (cell.text for cell in cells), strict=True)) for cells in table.rows)
    assert alone["factual: S_f"] == "100.00"
    assert dialogue["factual: R_f"] == "50.00"
    assert dialogue["factual: P_f"] == "50.00"  # two of One, Two, not: Three, Nine
    assert dialogue["contradicted ↓: R_m"] == "25.00"
    assert dialogue["tokens a fact: D_f ↓"] == "5.0"  # ten tokens, two facts
    assert dialogue["tokens a fact: D_h"] == "10.0"
    assert alone["tokens a fact: D_h"] == "–"
    assert (alone["tokens a fact: no D_f %"], alone["tokens a fact: no D_h %"]) == ("0.0", "100.0")


def test_a_change_is_tested_in_the_direction_that_was_fixed(tmp_path: Path) -> None:
    single, multi = cohorts(tmp_path)
    by_name = {one.name: one for one in MEASURES}
    found = change(single, multi, by_name["S_f"])
    assert found is not None
    assert (found.before, found.after, found.difference, found.items) == (1.0, 0.5, -0.5, 8)
    assert found.p == pytest.approx(1 / 2**8)  # all eight pairs fall: exact, one-sided
    assert found.interval == (-0.5, -0.5)
    other = change(multi, single, by_name["S_f"])
    assert other is not None
    assert other.p == pytest.approx(1.0)
    hallucinated = change(single, multi, by_name["D_h"])
    assert hallucinated is not None
    assert (hallucinated.before, hallucinated.p) == (inf, 1.0)  # no cost to compare with: nothing is claimed


def test_what_cannot_vary_or_be_tested_is_a_dash(tmp_path: Path) -> None:
    single, multi = cohorts(tmp_path)
    delivered, changes = sheets([single, multi], frozenset({"12", "14"}))
    assert {row[9].text for row in delivered.rows} == {"–"}  # each of the eight answers has the same S_f
    by_figure = {row[4].text.split(" ")[0]: [cell.text for cell in row[8:]] for row in changes.rows}
    assert by_figure["S_f"][1:] == ["–", "0.0039", "**"]
    assert by_figure["D_h"] == ["–", "–", "–", "–"]  # one question has no contradiction: there is nothing to test


def test_conditions_and_losses_are_found_for_ci(tmp_path: Path) -> None:
    both = cohorts(tmp_path / "now", name="now")
    assert [one.partition(": ")[2] for one in failures(both, "S_f < .6")] == ["S_f is 0.5000, < 0.6"]
    assert failures(both, "S_f<0.5") == []
    assert len(failures(both, "S_f<=0.5")) == 1
    for wrong in ("S_f", "S_x<1", "S_f<20", "S_f=1"):
        with pytest.raises(ConfigError, match="fail-if"):
            failures(both, wrong)
    before = cohorts(tmp_path / "before", script=lambda _: "One. Two. Three. Four.", name="before")
    table, lost = losses(both, before)
    assert table
    assert [one.partition(" went")[0] for one in lost] == [f"now, scripted, multi: {name}" for name in ("S_f", "S_h")]
    assert losses(before, both)[1] == []
    with pytest.raises(ConfigError, match="counterpart"):
        losses(both, [replace(one, decomposer="another") for one in before])


def test_what_is_missing_is_counted_and_in_no_mean(tmp_path: Path) -> None:
    items = [HARBOUR, TOWER, QuestionItem("bare", ("Why?",), "Why?")]
    single, _ = cohorts(
        tmp_path, items, lambda messages: "" if "cost" in messages[-1].content else "It is 40 metres high."
    )
    assert single.bare == 1
    assert {one.id for one in single.answers} == {"harbour", "tower"}
    table = markdown(sheets([single]))
    assert "1 without facts or reference, not scored" in table


def test_an_answer_that_was_not_taken_apart_is_unjudged(tmp_path: Path) -> None:
    single, _ = cohorts(tmp_path)
    assert len(single.by_id) == 8
    lines = (tmp_path / STATEMENTS).read_text("utf-8").splitlines(keepends=True)
    (tmp_path / STATEMENTS).write_text("".join(lines[1:]), "utf-8")
    single, _ = read_cohorts(tmp_path, QuestionSet("own", "0" * 64, tuple(ITEMS)), token_counter("words"))
    assert len(single.by_id) == 7
    assert "1 unjudged: S_f 87.50 to 100.00" in "\n".join(note for one in sheets([single]) for note in one.notes)


def test_other_judges_and_data_stand_in_tables_of_their_own(tmp_path: Path) -> None:
    both = cohorts(tmp_path)
    others = [replace(one, judge="another") for one in both]
    titles = [one.title for one in sheets([*both, *others], frozenset({"12"}))]
    assert len(titles) == 2
    assert titles[0] != titles[1]


def test_both_readings_of_a_pair_that_is_entailed_and_contradicted(tmp_path: Path) -> None:
    both = cohorts(tmp_path, script=lambda _: "One. not: One.")
    assert failures(both, "R_m<0.2") == []  # the authors' code counts it in both
    assert len(failures(both, "R_m<0.2", PairReading.EXCLUSIVE)) == 2


def test_tables_are_asked_for_by_number(tmp_path: Path) -> None:
    both = cohorts(tmp_path)
    assert [one.title.split(".")[0] for one in sheets(both, numbers("14, 12"))] == ["Table 12", "Tables 14 to 18"]
    with pytest.raises(ConfigError, match="fig9"):
        numbers("11")


def test_overlap_with_the_reference_needs_no_judge(tmp_path: Path) -> None:
    pytest.importorskip("sacrebleu")
    pytest.importorskip("rouge_score")
    assert overlaps("It closes at six in the evening.", "It closes at six in the evening.") == pytest.approx(
        (1, 1, 1, 1)
    )
    assert overlaps("Blue", "It closes at six.")[1:] == (0, 0, 0)
    single, multi = sheets(cohorts(tmp_path), numbers("13"))[0].rows
    assert [cell.text for cell in single[3:5]] == ["100.00", "–"]
    assert float(multi[3].text) < 100


def test_an_unjudged_run_says_what_to_do(tmp_path: Path) -> None:
    hold(tmp_path, Scripted(half), "single", items=ITEMS)
    with pytest.raises(InputError, match="knowmt judge"):
        read_cohorts(tmp_path, QuestionSet("own", "0" * 64, tuple(ITEMS)), token_counter("words"))


def test_counters_are_named() -> None:
    assert token_counter("words").count("It’s 40 m.") == 6
    with pytest.raises(ConfigError, match="unknown"):
        token_counter("nothing")


def test_relations_over_rows_are_those_of_least_squares(tmp_path: Path) -> None:
    """Rows on a line are told exactly; two rows are too few."""
    single, multi = cohorts(tmp_path)
    assert not any("Figure 4" in one.title for one in sheets([single, multi]))
    third = replace(multi, model="another", answers=multi.answers[:4])
    found = {one.title.split(".")[0]: one for one in sheets([single, multi, third])}
    (row,) = found["Figure 4"].rows  # D_h of the single questions is not there: two rows are left
    assert [cell.text for cell in row][:2] == ["S_f, S_h", "3"]
    assert [cell.text for cell in row][3] == "1.000"
    assert [float(cells[-1].text) for cells in found["Figure 14"].rows] == [0, 0, 0]


def test_two_cohorts_stand_side_by_side_and_nothing_of_theirs_runs(tmp_path: Path) -> None:
    pytest.importorskip("jinja2")

    def answers(messages: Sequence[Message]) -> str:
        return "One. Two. Three. Four." if len(messages) == 1 else "One. not: Two. <script>alert(1)</script>\u202e."

    both = cohorts(tmp_path, script=answers)
    page = tmp_path / "page.html"
    assert write_answers(page, both) == 8
    text = page.read_text("utf-8")
    assert "<script" not in text
    assert "\u202e" not in text
    assert "default-src" in text
    assert text.count("(contradicted)") == 8 * 2  # the fact that is denied, and the statement that denies it
    assert "S_f 1.00, S_h 0.00, 8 tokens" in text
    with pytest.raises(ConfigError, match="two cohorts"):
        write_answers(page, both[:1])
    with pytest.raises(ConfigError, match="two cohorts"):
        write_answers(page, [both[0], replace(both[1], judge="another")])
