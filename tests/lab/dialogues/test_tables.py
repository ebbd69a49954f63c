"""KnowMT-Bench's experiments from runs: settings side by side, other judges, changes by turns, and their pictures."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("scipy")

from tests.lab.dialogues.runs import BySentence, Literal, Scripted
from vista_guard.judges.model import Message
from vista_guard.testing import WordEmbedder
from vista_lab.dialogues.asking import Dialogues, ask
from vista_lab.dialogues.delivery import PairReading
from vista_lab.dialogues.judging import PairVerdict, judge_dialogues
from vista_lab.dialogues.questions import QuestionItem, QuestionSet
from vista_lab.dialogues.retrieving import PassageFinder
from vista_lab.dialogues.scored import Cohort, read_cohorts
from vista_lab.dialogues.settings import read_setting
from vista_lab.dialogues.tables.papers import numbers, sheets
from vista_lab.dialogues.tables.pictures import draw
from vista_lab.dialogues.tables.settings import EXPERIMENTS, comparisons
from vista_lab.dialogues.tokens import token_counter
from vista_lab.tables.writers import Sheet, latex, markdown, page

FACTS = ("One.", "Two.", "Three.", "Four.")
ITEMS = tuple(
    QuestionItem(f"i{n}", ("Hello?",) * (1 + n % 2) + ("Name them.",), "Name them.", "One. Two. Three. Four.", FACTS,
                 ("d", "e")[n % 2 : n % 2 + 1], documents=() if n == 0 else ("One. Two. Three. Four.",))
    for n in range(4)
)  # fmt: skip
SETTINGS = (
    "single",
    "multi",
    "multi+budget=20",
    "multi+rag=base",
    "multi+mitigate=simple",
    "multi+drift",
    "multi+concat",
)


def script(messages: Sequence[Message]) -> str:
    """More facts with passages or an instruction; one denied where other words stand before the question."""
    last = messages[-1].content
    if "information above" in last:
        return "One. Two. Three. Four."
    if "may use what was said" in last:
        return "One. Two. Three."
    return "One. Two." if len(messages) == 1 else "One. not: Two. Nine."


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[Cohort]:
    folder = tmp_path_factory.mktemp("run")
    questions = QuestionSet("own", "0" * 64, ITEMS)
    models = [Scripted(script, name) for name in ("one", "two")]
    run = Dialogues(questions, Path("own.jsonl"), models, [read_setting(one) for one in SETTINGS])
    asyncio.run(ask(run, folder, finder=PassageFinder(WordEmbedder())))
    asyncio.run(judge_dialogues(folder, ITEMS, BySentence(), Literal()))
    asyncio.run(judge_dialogues(folder, ITEMS, BySentence(), Strict()))
    return read_cohorts(folder, questions, token_counter("words"), "run")


class Strict(Literal):
    """Like `Literal`, but the second fact of an answer is never entailed."""

    name = "strict"

    async def judge(self, premise: str, claims: Sequence[str]) -> list[PairVerdict]:
        said = await super().judge(premise, claims)
        return [
            one._replace(entails=False) if claim == "Two." else one for one, claim in zip(said, claims, strict=True)
        ]


def by_title(found: Sequence[Sheet], title: str) -> Sheet:
    return next(one for one in found if one.title.startswith(title))


def test_an_experiment_is_on_the_items_that_all_its_settings_have(found: list[Cohort]) -> None:
    table = by_title(sheets(found, numbers("3")), "Table 3")
    rows = [[cell.text for cell in row][1:] for row in table.rows if row[1].text == "one"]
    assert [(row[1], row[2], row[3]) for row in rows] == [
        ("single", "3", "66.67"),  # two of four facts, both statements right
        ("multi", "3", "28.57"),  # one of four, one of three
        ("multi+rag=base", "3", "100.00"),
    ]
    assert [row[4].underlined for row in table.rows[:3]] == [False, False, True]
    assert [row[6].underlined for row in table.rows[:3]] == [False, False, True]
    assert table.rule_before == {3, 6}
    assert [cell.text for cell in table.rows[6 + 5]] == [
        "", "paper: Qwen-2.5-7B", "multi+rag=rounds", "–", "43.15", "–", "2.14", "–", "215.84", "677.44",
    ]  # fmt: skip
    domains = by_title(sheets(found, numbers("2")), "Table 2")
    assert [cell.text for cell in domains.rows[-1]][-10:-4] == [
        "paper: HuatuoGPT", "multi", "not medicine", "–", "17.67", "–",
    ]  # fmt: skip


def test_every_experiment_has_a_table_and_the_best_of_several_is_bold(found: list[Cohort]) -> None:
    titles = {one.title.split(".")[0] for one in sheets(found)}
    assert {"Table 3", "Table 4", "Table 20", "Figure 6", "Figure 7", "Figure 5", "Table 9", "Table 10"} <= titles
    (rows,) = comparisons(
        [one for one in found if one.model == "one" and one.judge == "literal"], EXPERIMENTS[-4], PairReading.CODE
    )
    assert [row.label for row in rows] == ["single", "multi", "multi+budget=20"]
    assert not rows[-1].better


def test_longer_answers_are_beside_shorter_ones(found: list[Cohort]) -> None:
    first = next(one for one in found if one.setting == "multi")
    both = [replace(first, run="short", most_tokens=1024), replace(first, run="long", most_tokens=2048)]
    table = by_title(sheets(both, numbers("19")), "Table 19")
    assert [row[2].text for row in table.rows[:2]] == ["multi, 1,024 tokens", "multi, 2,048 tokens"]
    assert [(row[1].text, row[2].text, row[4].text) for row in table.rows[-1:]] == [
        ("paper: QwQ-32B", "multi, 2,048 tokens", "17.26")
    ]


def test_the_same_answers_under_another_judge(found: list[Cohort]) -> None:
    ranks, others = (by_title(sheets(found, numbers("9,10")), title) for title in ("Table 9", "Table 10"))
    (line,) = ranks.rows
    assert [cell.text for cell in line][2:3] == ["14"]
    assert 0 < float(line[3].text) < 1
    alone = [row for row in others.rows if (row[1].text, row[2].text) == ("one", "single")]
    assert [(row[3].text, row[5].text) for row in alone] == [
        ("by sentence and literal", "66.67"), ("by sentence and strict", "33.33"),
    ]  # fmt: skip


def test_changes_by_turns_are_relative_and_domains_have_their_rest(found: list[Cohort]) -> None:
    own = [one for one in found if (one.model, one.judge) == ("one", "literal") and one.setting in ("single", "multi")]
    table = by_title(sheets(own, numbers("fig5")), "Figure 5")
    assert [[cell.text for cell in row][3:7] for row in table.rows] == [
        ["2", "2", "-57.1", "–"],
        ["3", "2", "-57.1", "–"],
    ]
    domains = by_title(sheets(own, numbers("2")), "Table 2")
    assert {row[2].text for row in domains.rows if not row[0].text.startswith("paper")} == {"d", "e", "not d", "not e"}


def test_underlines_reach_each_form(found: list[Cohort]) -> None:
    tables = sheets(found, numbers("3"))
    for text, mark in (
        (markdown(tables), "<u>100.00</u>"),
        (latex(tables), r"\underline{100.00}"),
        (page(tables, "x"), "<u>"),
    ):
        assert mark in text


def test_figures_are_drawn_with_what_they_show(found: list[Cohort], tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pictures = draw([one for one in found if one.judge == "literal"], tmp_path)
    captions = " ".join(one.caption for one in pictures)
    for name in ("Figure 4)", "Figure 5)", "Figure 6", "Figure 7", "Table 3", "Table 20"):
        assert name in captions
    for one in pictures:
        assert "two" in one.svg.read_text("utf-8")
        assert one.png.stat().st_size > 5000
