"""DAD's own figures, recomputed: what holds, the contradictions by name, and metrics that cannot change unnoticed."""

from __future__ import annotations

import inspect
import textwrap
from collections import Counter
from decimal import Decimal

import pytest

from training.papers import dad
from training.papers.checks import Verdict
from training.papers.dad import check_all, fitting, printed, three_way
from vista_lab.decompose.tables import printed_rows
from vista_lab.metrics import detection
from vista_lab.metrics.detection import Detection


@pytest.fixture(scope="module")
def found() -> Verdict:
    return check_all()


def test_every_figure_is_as_printed_or_a_named_contradiction(found: Verdict) -> None:
    assert found.wrong == ()
    assert (len(found.held), len(found.known)) == (111, 23)


def test_39_of_table_1s_48_pairs_follow_from_whole_counts(found: Verdict) -> None:
    held = Counter(one.what.split(",")[0] for one in found.held if one.what.endswith(", counts"))
    assert held == {
        "PerplexityAI A-1": 8, "PerplexityAI A-2": 7, "ChatGPT A-1": 6, "ChatGPT A-2": 7, "FELM": 5, "BINGCHAT": 6,
    }  # fmt: skip
    assert held.total() == 39


@pytest.mark.parametrize(("size", "fit"), [((208, 188), 3), ((206, 187), 3), ((197, 181), 0)])
def test_bingchat_fits_two_sizes_and_not_ours(size: tuple[int, int], fit: int) -> None:
    assert sum(bool(fitting(row[5], size, True)) for row in printed_rows().values()) == fit


@pytest.mark.parametrize("size", [(102, 47), (93, 56), (87, 62)])
def test_no_pair_of_149_fits_a_row_as_well(size: tuple[int, int]) -> None:
    assert sum(bool(fitting(row[1], size, False)) for row in printed_rows().values()) < 3


def test_the_macro_f1_of_responses_is_the_f1_of_supported() -> None:
    (met,) = fitting(printed_rows()["DAD, Llama-3.1-8B"][5], (208, 188), True)
    assert (met.tn, met.tp) == (127, 94)
    assert 100 * (met.other.f1 or 0) == pytest.approx(59.21, abs=0.005)
    assert 100 * (met.macro_f1 or 0) == pytest.approx(55.50, abs=0.005)


@pytest.mark.parametrize(
    ("table", "what", "as_printed", "computed"),
    [
        (0, "gain over DyDecomp, balanced accuracy", "+7.09", "+6.70"),
        (0, "gain of 405B over 70B, F1", "+0.23", "-0.23"),
        (1, "Prompt, Llama-3.1-8B, balanced accuracy and F1 on ChatGPT A-1 differ", "79.73", "79.73"),
        (1, "Prompt, Llama-3.3-70B, FELM and BINGCHAT differ", "53.38", "53.38"),
        (1, "ChatGPT A-2, best balanced accuracy", "DAD", "Prompt, Llama-3.1-405B"),
        (1, "BINGCHAT, best F1", "VeriScore or Prompt", "DyDecomp, Llama-3-70B"),
        (2, "settings and metrics in which DAD is better", "12", "9"),
        (4, "size, PerplexityAI A-2", "149", "143"),
        (5, "three-way, Uniqueness", "92.9", "92.45"),
        (5, "three-way, Verifiability", "81.9", "81.75"),
        (5, "three-way, Clarity", "81.2", "80.95"),
    ],
)
def test_what_contradicts_other_figures_is_named_with_a_reason(
    found: Verdict, table: int, what: str, as_printed: str, computed: str
) -> None:
    ((check, why),) = [(one, why) for one, why in found.known if (one.table, one.what) == (table, what)]
    assert (check.printed, check.found) == (as_printed, computed)
    assert why


def test_all_overall_means_hold(found: Verdict) -> None:
    assert sum(one.what.startswith("overall, ") for one in found.held) == 24


def test_three_way_agreement_follows_for_completeness_and_coherence(found: Verdict) -> None:
    assert [one.what for one in found.held if one.table == 5] == ["three-way, Completeness", "three-way, Coherence"]
    assert three_way([Decimal("81.1"), Decimal("85.3"), Decimal("80.9")]) == Decimal("73.65")


def test_figures_keep_their_printed_digits() -> None:
    assert [str(value) for value in printed_rows()["FActScore, Llama-3.1-8B"][4]] == ["53.93", "64.04", "8.9"]
    assert str(printed("table03")["rows"]["RL, sparse"][0][0]) == "70.86"


_CHANGES = {
    "balanced_accuracy": [("/ 2", "/ 3"), ("self.recall", "self.precision"), ("self.specificity", "self.recall")],
    "f1": [("2 * self.tp / total", "self.tp / total"), ("self.fp", "self.tn"), ("self.fn", "self.tn")],
    "other": [("tp=self.tn", "tp=self.tp"), ("fp=self.fn", "fp=self.fp"), ("tn=self.tp", "tn=self.tn")],
    "macro_f1": [("/ 2", "/ 3"), ("one + other", "one - other"), ("self.other.f1", "self.f1")],
    "recall": [("self.tp + self.fn", "self.tp + self.fp"), ("Share(self.tp", "Share(self.fn")],
    "specificity": [("self.tn + self.fp", "self.tn + self.fn"), ("Share(self.tn", "Share(self.tp")],
}


@pytest.mark.parametrize(
    ("name", "old", "new"), [(name, *change) for name, changes in _CHANGES.items() for change in changes]
)
def test_a_changed_metric_is_noticed(name: str, old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    source = textwrap.dedent(inspect.getsource(getattr(Detection, name).fget)).replace("@property\n", "")
    assert old in source
    made = dict(vars(detection))
    exec(compile("from __future__ import annotations\n" + source.replace(old, new), "changed", "exec"), made)
    monkeypatch.setattr(Detection, name, property(made[name]))
    turned = Detection(tp=1, fp=2, fn=3, tn=4, unchecked=5).other == Detection(tp=4, fp=3, fn=2, tn=1, unchecked=5)
    assert check_all().wrong or not turned


def test_a_changed_aggregate_of_table_5_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dad, "three_way", lambda pairwise: sum(pairwise, Decimal()) / 3)
    assert check_all().wrong
