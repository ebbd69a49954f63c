"""KnowMT-Bench's own figures, recomputed: what holds, the contradictions by name, and metrics that cannot change unnoticed."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import pytest

pytest.importorskip("scipy")

from training.papers import knowmt
from training.papers.checks import Verdict
from training.papers.knowmt import check_all, printed, residuals
from vista_lab import papers
from vista_lab.dialogues.tables.settings import SAME_MODEL
from vista_lab.papers import table as figures_of


@pytest.fixture(scope="module")
def found() -> Verdict:
    return check_all()


def test_every_figure_is_as_printed_or_a_named_contradiction(found: Verdict) -> None:
    assert found.wrong == ()
    assert (len(found.held), len(found.known)) == (606, 100)


def test_all_changes_of_tables_12_and_13_follow_from_what_is_printed(found: Verdict) -> None:
    held = Counter(one.table for one in found.held if ", change of " in one.what)
    assert held == {12: 108, 13: 96}


def test_no_s_is_what_its_equation_gives_of_the_means(found: Verdict) -> None:
    assert sum(check.what.endswith("by its equation") for check, _ in found.known) == 48
    assert not any(one.what.endswith("by its equation") for one in found.held)


def test_the_contradictions_by_table(found: Verdict) -> None:
    named = Counter(check.table for check, _ in found.known)
    assert named == {2: 4, 8: 1, 12: 48, 9: 1, 10: 1, 15: 2, 16: 2, 17: 22, 18: 19}


def test_rows_of_one_model_are_those_of_table_12(found: Verdict) -> None:
    held = Counter(one.table for one in found.held if one.what.endswith("as in Table 12") and one.table in SAME_MODEL)
    assert held == dict.fromkeys(SAME_MODEL, 8)


@pytest.mark.parametrize(
    ("table", "row", "place", "told"),
    [
        ("table03", "multi", 2, "D_f as in Table 12"),
        ("table04", "multi+mitigate=select", 0, "best S_f"),
        ("table08", "DeepSeek-V3, GPT-4o", 0, "mark of p"),
        ("table15", "GPT-4o", 4, "stars of p"),
        ("table19", "single, 2,048 tokens", 2, "D_f with more tokens"),
        ("table20", "multi+drift", 1, "S_h with drift"),
    ],
)
def test_a_changed_row_of_one_model_is_found(
    monkeypatch: pytest.MonkeyPatch, table: str, row: str, place: int, told: str
) -> None:
    values = list(printed(table)[row])
    values[place] = Decimal(values[place]) / 100 if table != "table15" else Decimal("0.51")
    parts = {**figures_of("knowmt"), table: {**printed(table), row: values}}
    for module in (knowmt, papers):
        monkeypatch.setattr(module, "table", lambda _: parts)
    assert any(told in one for one in check_all().wrong)


def test_gemini_alone_spends_more_on_a_contradiction_than_its_length_tells() -> None:
    assert round(residuals()["Gemini-2.5-Pro, single"]) == 329
    assert sum(residuals().values()) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(
    ("table", "setting", "place"), [("table12", "single", 0), ("table12", "multi", 7), ("table13", "change", 2)]
)
def test_a_digit_that_changes_is_found(monkeypatch: pytest.MonkeyPatch, table: str, setting: str, place: int) -> None:
    rows = printed(table)[setting]
    row = list(rows["Llama-3.1-8B"])
    row[place] = Decimal(row[place]) * 2
    changed = {**printed(table), setting: {**rows, "Llama-3.1-8B": row}}
    parts = {**figures_of("knowmt"), table: changed}
    for module in (knowmt, papers):
        monkeypatch.setattr(module, "table", lambda _: parts)
    assert any("Llama-3.1-8B" in one for one in check_all().wrong)


def test_a_contradiction_that_holds_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    extra = {"table": 14, "figures": ["S_f, aligned"], "why": "made up"}
    parts = {**figures_of("knowmt"), "known": [*figures_of("knowmt")["known"], extra]}
    for module in (knowmt, papers):
        monkeypatch.setattr(module, "table", lambda _: parts)
    assert any("S_f, aligned" in one and "named as a contradiction" in one for one in check_all().wrong)
