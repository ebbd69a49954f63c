"""The paper's own figures, recomputed: what holds, and the exceptions by name."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal

import pytest

from training.papers import tables as command
from training.papers import vista as checks
from training.papers.checks import Check, Verdict, agrees, figure, verdict, whole_number
from training.papers.vista import check_all, confusion
from vista_lab.evaluate.vista.figures import MODELS, differences
from vista_lab.evaluate.vista.tables import confusions
from vista_lab.metrics import detection, intervals, labels
from vista_lab.papers import table


@pytest.fixture(scope="module")
def found() -> Verdict:
    return check_all()


def test_every_figure_is_as_printed_or_a_named_contradiction(found: Verdict) -> None:
    assert found.wrong == ()
    assert (len(found.held), len(found.known)) == (553, 28)


@pytest.mark.parametrize(
    ("begins", "held", "known"),
    [
        ("p of ", 85, 11),
        ("stars of ", 96, 0),
        ("difference of ", 95, 1),
        ("superscript of ", 91, 5),
        ("turn accuracy of ", 9, 0),
        ("claim accuracy of ", 9, 0),
        ("macro-F1 of ", 8, 1),
        ("percent of ", 3, 4),
        ("F1 of ", 3, 0),
        ("mean ", 2, 0),
        ("sums of the ", 16, 0),
        ("human labels ", 8, 0),
    ],
)
def test_how_many_hold(found: Verdict, begins: str, held: int, known: int) -> None:
    assert sum(one.what.startswith(begins) for one in found.held) == held
    assert sum(one.what.startswith(begins) for one, _ in found.known) == known


def test_tables_hold_as_far_as_they_do(found: Verdict) -> None:
    held = Counter(one.table for one in found.held)
    assert {number: held[number] for number in (3, 4, 5, 6, 7, 20, 21)} == {
        3: 26,
        4: 3,
        5: 21,
        6: 5,
        7: 6,
        20: 3,
        21: 2,
    }
    assert {one.table for one, _ in found.known} == {1, 2, 3, 4, 8, 9, 10, 11}
    assert len(list(differences())) == 96


def test_the_turns_behind_the_percentages() -> None:
    turns = [one.found for one in checks.claim_figures() if one.what.startswith("turn accuracy of ")]
    assert [text.split()[0] for text in turns[:8]] == ["210", "207", "210", "181", "191", "196", "204", "191"]
    assert [one.found for one in checks.ablations()][:2] == ["1821 of 2229", "1822 of 2229"]
    assert [checks.detection_counts([Decimal(60), Decimal("94.6"), Decimal("21.2"), Decimal("34.6")])] == [
        detection.Detection(tp=53, fp=3, fn=197, tn=247)
    ]
    coconot = checks.of_coconot()
    assert f"{coconot.precision.value:.3f} {coconot.recall.value:.3f}" == "0.892 0.924"


def test_nothing_hides_behind_an_exception() -> None:
    named = {"table": 1, "what": "percent of VERIFIED"}
    holds = Check(named["table"], named["what"], "47.1", "47.1", holds=True)  # type: ignore[arg-type]
    wrong = verdict(
        [holds, Check(9, "p of nothing", "0.1", "0.2", holds=False)], table("contradictions")["known"]
    ).wrong
    assert (
        wrong[0]
        == "Table 1, percent of VERIFIED: printed 47.1, found 47.1, which holds, and is named as a contradiction"
    )
    assert wrong[1] == "Table 9, p of nothing: printed 0.1, found 0.2"
    assert "Table 1, percent of LACKING_EVIDENCE is named as a contradiction, and no figure is called so" in wrong


@pytest.mark.parametrize(
    ("module", "name", "changed"),
    [
        (checks, "accuracy", labels.supported_accuracy),
        (checks, "macro_f1", labels.accuracy),
        (intervals, "mcnemar", lambda better, worse: intervals._ratio(1, better + worse)),
        (checks, "stars", lambda p: "*" if p < 0.05 else "ns"),
    ],
)
def test_a_metric_that_is_another_one_is_noticed(
    module: object, name: str, changed: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, name, changed)
    assert check_all().wrong


@pytest.mark.parametrize(
    ("printed", "value", "same"),
    [
        ("69.09", 69.0851, True),
        ("69.09", 69.0949, True),
        ("69.09", 69.0951, False),
        ("0.05", 0.0451, True),
        ("7", 7.6, False),
    ],
)
def test_a_figure_agrees_within_half_a_unit_of_its_last_digit(printed: str, value: float, same: bool) -> None:
    assert agrees(Decimal(printed), value) is same
    assert figure(1, "it", Decimal(printed), value).holds is same


def test_counts_behind_percentages() -> None:
    assert whole_number(Decimal("81.70"), 2229) == 1821
    assert whole_number(Decimal("77.24"), 2229) is None


def test_confusions_hold_all_claims_and_what_has_no_label() -> None:
    assert [confusion(model).total() for model in MODELS] == [888] * 8
    none = sum(n for (_, judged), n in confusion("Mistral-7B").items() if judged is None)
    assert none == 10
    sheet = confusions("Mistral-7B")
    assert sheet.title.startswith("Table 19.")
    assert [cell.text for cell in sheet.rows[-1]] == ["Total", "19", "0", "26", "10", "318", "515", "888"]


def test_the_command_prints_tables_and_contradictions(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert command.main() == 0
    printed = capsys.readouterr().out
    for line in (
        "| DeepSeek | 92.51 | 210 of 227 | 79.73 | 79.73 | 67.15 | 67.15 |",
        "| No Dialogue History (Step 1 Ablation) | 77.24 | no whole number |",
        "### 28 printed figures contradict others; 553 hold",
    ):
        assert line in printed
    monkeypatch.setattr(checks, "check_all", lambda: Verdict((), (), ("Table 1, sum: printed 1, found 2",)))
    assert command.main() == 1
    assert capsys.readouterr().err == "error: Table 1, sum: printed 1, found 2\n"
