"""Refusals and the guard's own message: no statements, in neither P nor D, counted beside."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

pytest.importorskip("scipy")

from tests.lab.dialogues.runs import HARBOUR, TOWER, BySentence, Literal, Scripted, hold
from vista_guard.judges.model import Message
from vista_lab.dialogues.abstaining import is_abstention, statements_of
from vista_lab.dialogues.delivery import JudgedAnswer, PairFinding, delivery, figures
from vista_lab.dialogues.judging import judge_dialogues
from vista_lab.dialogues.questions import QuestionItem, QuestionSet
from vista_lab.dialogues.records import (
    JUDGEMENT_LINES,
    JUDGEMENTS,
    STATEMENTS,
    STATEMENTS_LINES,
    AnswerLine,
    read_lines,
)
from vista_lab.dialogues.scored import Cohort, read_cohorts
from vista_lab.dialogues.tables.papers import MEASURES, change, failures, sheets
from vista_lab.dialogues.tokens import token_counter
from vista_lab.dialogues.validating import answers_of, pairs_of

YES, NO, AGAINST = PairFinding(True, False), PairFinding(False, False), PairFinding(False, True)
TOLD = JudgedAnswer("told", 20, (YES, YES), (YES, NO))
WRONG = JudgedAnswer("wrong", 30, (AGAINST, NO), (AGAINST,))
SILENT = JudgedAnswer("silent", 9, (NO, NO), ())
ABSTAINS = replace(SILENT, id="abstains", abstains=True)


def answer(text: str, action: str | None = None) -> AnswerLine:
    return AnswerLine(
        model="m",
        setting="single",
        sample="i",
        turn=0,
        question="What is the fee?",
        is_last=True,
        answer=text,
        action=action,
    )


@pytest.mark.parametrize(
    "texts",
    [
        ["I can't help with that."],
        ["I'm sorry.", "The assistant cannot provide legal advice.", "You should consult a lawyer."],
        ["The assistant must decline to answer this."],
        ["The assistant does not know what the fee is.", "Please ask your advisor."],
        ["The documents do not mention the price."],
    ],
)
def test_a_refusal_states_nothing(texts: list[str]) -> None:
    line = answer(" ".join(texts))
    assert statements_of(line, texts) == {}
    assert is_abstention(line, texts)
    assert is_abstention(line, [])  # a decomposer that makes nothing of it


def test_what_is_stated_beside_a_refusal_counts() -> None:
    texts = ["I can't give legal advice.", "The fee is 3 percent.", "Contact a lawyer."]
    line = answer(" ".join(texts))
    assert statements_of(line, texts) == {1: "The fee is 3 percent."}
    assert not is_abstention(line, texts)


@pytest.mark.parametrize(
    "texts",
    [
        ["Consult a lawyer before you sign."],  # advice is an answer, where nothing is refused
        ["Dogs cannot travel on the ferry."],
        ["The bank may decline to pay."],
        ["You may refuse the offer within a month."],
    ],
)
def test_an_answer_about_refusals_is_a_statement(texts: list[str]) -> None:
    assert statements_of(answer(" ".join(texts)), texts) == dict(enumerate(texts))


def test_silence_is_no_abstention() -> None:
    assert not is_abstention(answer("Hello there!"), [])


def test_all_of_a_blocked_answer_is_the_guards_message() -> None:
    line = answer("Part of my answer did not hold up.", "BLOCK")
    assert is_abstention(line, ["Part of the answer did not hold up."])
    assert not is_abstention(line.model_copy(update={"action": "FLAG"}), ["Part of the answer did not hold up."])


def test_an_abstention_has_no_precision_and_no_cost() -> None:
    one = delivery(ABSTAINS)
    assert (one.p_f, one.p_fc, one.d_f, one.d_h, one.d_r) == (None,) * 5
    assert (one.r_f, one.r_m, one.s_f, one.s_h) == (0.0,) * 4
    assert (delivery(SILENT).p_f, delivery(SILENT).d_f) == (0.0, inf)


def test_abstentions_leave_p_and_d_and_stay_in_r_and_s() -> None:
    without, beside = figures([TOLD, WRONG]), figures([TOLD, WRONG, ABSTAINS])
    assert (beside.abstentions, beside.without_statements, beside.answers) == (1, 0, 3)
    assert (beside.p_f, beside.p_fc, beside.d_f, beside.d_h, beside.d_r) == (
        without.p_f, without.p_fc, without.d_f, without.d_h, without.d_r
    )  # fmt: skip
    assert beside.r_f == pytest.approx(without.r_f * 2 / 3)
    assert beside.s_f == pytest.approx(without.s_f * 2 / 3)
    silent = figures([TOLD, WRONG, SILENT])
    assert silent.without_statements == 1
    assert silent.p_f == pytest.approx(without.p_f * 2 / 3 if without.p_f is not None else None)
    alone = figures([ABSTAINS])
    assert (alone.p_f, alone.d_f.mean, alone.d_f.pooled, alone.s_f_of_means, alone.s_f) == (None, None, None, 0.0, 0.0)


def script(messages: Sequence[Message]) -> str:
    """Knows the cost; refuses the height alone, and errs about it in a dialogue."""
    if messages[-1].content == TOWER.single:
        return "I'm sorry, I can't help with that." if len(messages) == 1 else "not: It is 40 metres high."
    return "It cost nine million. The city paid half. I cannot say who else paid."


def judged(folder: Path, *settings: str, items: Sequence[QuestionItem] = (HARBOUR, TOWER)) -> list[Cohort]:
    hold(folder, Scripted(script), *settings, items=items)
    asyncio.run(judge_dialogues(folder, items, BySentence(), Literal(), at_once=1))
    return read_cohorts(folder, QuestionSet("own", "0" * 64, tuple(items)), token_counter("words"))


def test_a_models_refusal_is_counted_beside(tmp_path: Path) -> None:
    single, multi = judged(tmp_path, "single", "multi")
    assert {name: one.abstains for name, one in single.by_id.items()} == {"harbour": False, "tower": True}
    assert single.statements == {"harbour": ("It cost nine million.", "The city paid half."), "tower": ()}
    table = next(one for one in sheets([single, multi]) if one.title.startswith("Table 12"))
    heads = [column.whole for column in table.columns]
    alone, dialogue = (dict(zip(heads, (cell.text for cell in cells), strict=True)) for cells in table.rows)
    assert (alone["abstained"], alone["factual: P_f"], alone["factual: R_f"]) == ("1", "100.00", "50.00")
    assert (alone["tokens a fact: D_f ↓"], alone["tokens a fact: no D_f %"]) == ("8.5", "0.0")
    assert (dialogue["abstained"], dialogue["tokens a fact: no D_f %"]) == ("0", "50.0")
    d_f, s_f = (next(one for one in MEASURES if one.name == name) for name in ("D_f", "S_f"))
    of_costs, of_all = change(single, multi, d_f), change(single, multi, s_f)
    assert of_costs is not None
    assert of_all is not None
    assert (of_costs.items, of_all.items) == (1, 2)
    asked = [line for line in read_lines(tmp_path / JUDGEMENTS, JUDGEMENT_LINES) if line.direction == "statement"]
    assert {(line.sample, line.setting, line.index) for line in asked} == {
        *(("harbour", setting, place) for setting in ("single", "multi") for place in (0, 1)), ("tower", "multi", 0)
    }  # fmt: skip
    claims = [pair["claim"] for pair in pairs_of(tmp_path, [HARBOUR, TOWER], 4)]
    assert not [claim for claim in claims if "I can" in claim]


def test_a_gate_on_p_fails_where_all_abstain(tmp_path: Path) -> None:
    (single,) = judged(tmp_path, "single", items=[TOWER])
    assert len(failures([single], "P_f<0.1")) == 1
    assert failures([single], "S_h>0") == []
    assert sheets([single])


def test_what_a_guard_withholds_is_decomposed_by_nobody(tmp_path: Path) -> None:
    wrong = replace(HARBOUR, questions=(HARBOUR.questions[-1],))
    hold(tmp_path, Scripted(lambda _: "It cost two million."), "single", "single+guard=balanced", items=[wrong])
    asyncio.run(judge_dialogues(tmp_path, [wrong], BySentence(), Literal()))
    bare, guarded = read_cohorts(tmp_path, QuestionSet("own", "0" * 64, (wrong,)), token_counter("words"))
    assert (bare.by_id["harbour"].abstains, guarded.by_id["harbour"].abstains) == (False, True)
    lines = list(read_lines(tmp_path / STATEMENTS, STATEMENTS_LINES))
    assert [line.statements for line in lines if "guard" in line.setting] == [()]
    assert [row["answer"] for row in answers_of(tmp_path, 5)] == ["It cost two million."]
    notes = [note for sheet in sheets([bare, guarded]) for note in sheet.notes]
    assert any("1 abstentions, in no D" in note or "Abstentions" in note for note in notes)
