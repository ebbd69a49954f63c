"""LLM-OASIS's own figures, recomputed: what holds, the contradictions by name, and metrics that cannot change unnoticed."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from decimal import Decimal

import pytest

from training.papers import oasis
from training.papers.checks import Verdict
from training.papers.oasis import check_all, claim_detection, printed, retriever_pairs, verifier_triplets
from vista_lab import papers
from vista_lab.metrics import agreement, detection
from vista_lab.metrics.agreement import fleiss_kappa
from vista_lab.metrics.detection import Detection
from vista_lab.papers import table as figures_of


@pytest.fixture(scope="module")
def found() -> Verdict:
    return check_all()


def test_every_figure_is_as_printed_or_a_named_contradiction(found: Verdict) -> None:
    assert found.wrong == ()
    assert (len(found.held), len(found.known)) == (12, 10)


@pytest.mark.parametrize(
    ("what", "computed"),
    [
        ("passages in natural language", "162550"),
        ("claims per passage", "8.381"),
        ("instances of an annotator", "450"),
        ("GPT-4o", "90.78 (2,411 of 2,656)"),
        ("GPT-3.5", "75.56 (2,007 of 2,656)"),
        ("Our Model", "93.30 (2,478 of 2,656)"),
        ("passages that were released", "81275"),
    ],
)
def test_what_holds(found: Verdict, what: str, computed: str) -> None:
    assert [one.found for one in found.held if one.what == what] == [computed]


@pytest.mark.parametrize(
    ("table", "what", "as_printed", "computed"),
    [
        (0, "training pairs of the retriever, in millions", "3.2", "2.3"),
        (0, "triplets of the verifier, in millions", "3.5", "2.4"),
        (0, "released split, percent for training", "80", "83"),
        (0, "extractor's rows for training, in thousands", "67", "65"),
        (0, "GPT-4o without evidence, percent", "60", "61"),
        (0, "GPT-4o's gain from evidence, points", "8", "7.27"),
        (2, "falsified claims that were released", "81275", "52390"),
        (3, "one number of instances that gives all four accuracies", "one of 1750, 1850, 2250", "none"),
        (5, "Llama 3", "76.63", "76.62 (2,035 of 2,656)"),
        (5, "Mistral", "64.37", "64.38 (1,710 of 2,656)"),
    ],
)
def test_what_contradicts_other_figures_is_named_with_a_reason(
    found: Verdict, table: int, what: str, as_printed: str, computed: str
) -> None:
    ((check, why),) = [one for one in found.known if (one[0].table, one[0].what) == (table, what)]
    assert (check.printed, check.found) == (as_printed, computed)
    assert why


def test_sizes_of_the_training_data_follow_from_the_formulas() -> None:
    made = printed("table02")
    assert retriever_pairs(made["claims"], made["passages"]) == 2_287_428
    assert verifier_triplets(made["claims"], made["passages"]) == 2_368_703


def test_figures_keep_their_printed_digits() -> None:
    assert printed("table03")["rows"]["Unfactual Text Gen."] == [Decimal("89.20"), Decimal("0.72")]
    assert str(printed("table04")["rows"]["Our Model"][2]) == "69.24"
    assert len(printed("table08")["rows"]) == 5


def test_which_claims_are_right_makes_no_difference_to_the_balanced_accuracy() -> None:
    split = Detection(tp=1239, fp=89, fn=89, tn=1239)
    assert claim_detection(2478, 2656).balanced_accuracy == pytest.approx(split.balanced_accuracy)
    assert claim_detection(1000, 2656) == Detection(tp=1000, fp=1328, fn=328, tn=0)


# A changed character of a metric

_CHANGES = {
    "balanced_accuracy": [
        ("/ 2", "/ 3"),
        ("/ 2", "* 2"),
        ("self.recall", "self.precision"),
        ("self.specificity", "self.recall"),
        ("self.recall, self.specificity", "self.recall, self.accuracy"),
    ],
    "specificity": [
        ("self.tn + self.fp", "self.tn - self.fp"),
        ("self.tn + self.fp", "self.tn + self.fn"),
        ("Share(self.tn", "Share(self.tp"),
    ],
    "recall": [
        ("self.tp + self.fn", "self.tp - self.fn"),
        ("self.tp + self.fn", "self.tp + self.fp"),
        ("Share(self.tp", "Share(self.fn"),
    ],
}


@pytest.mark.parametrize(
    ("name", "old", "new"), [(name, *change) for name, changes in _CHANGES.items() for change in changes]
)
def test_a_changed_metric_is_noticed(name: str, old: str, new: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = _changed(getattr(Detection, name).fget, old, new, vars(detection))
    monkeypatch.setattr(Detection, name, property(changed))
    fixed = Detection(tp=30, fp=45, fn=10, tn=15).balanced_accuracy
    assert check_all().wrong or fixed != 0.5


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("count - 1", "count + 1"),
        ("raters - 1", "raters + 1"),
        ("** 2", "** 3"),
        ("agreed - chance", "agreed + chance"),
        ("1 - chance)", "1 + chance)"),
    ],
)
def test_a_changed_kappa_is_noticed(old: str, new: str) -> None:
    """Fleiss (1971), Table 1: ten subjects, fourteen raters, kappa .210."""
    changed = _changed(fleiss_kappa, old, new, vars(agreement))
    assert fleiss_kappa(_FLEISS) == pytest.approx(0.2099, abs=1e-4)
    assert changed(_FLEISS) != pytest.approx(0.2099, abs=1e-4)


_COUNTS = (
    (0, 0, 0, 0, 14), (0, 2, 6, 4, 2), (0, 0, 3, 5, 6), (0, 3, 9, 2, 0), (2, 2, 8, 1, 1),
    (7, 7, 0, 0, 0), (3, 2, 6, 3, 0), (2, 5, 3, 2, 2), (6, 5, 2, 1, 0), (0, 2, 2, 3, 7),
)  # fmt: skip
_FLEISS = [[value for value, count in enumerate(row) for _ in range(count)] for row in _COUNTS]


def _changed(function: Callable[..., object], old: str, new: str, names: dict[str, object]) -> Callable[..., object]:
    """The function with one place of its source changed."""
    source = textwrap.dedent(inspect.getsource(function)).replace("@property\n", "")
    assert old in source
    made: dict[str, object] = dict(names)
    exec(compile(source.replace(old, new), "changed", "exec"), made)
    result = made[function.__name__]
    assert callable(result)
    return result


def test_an_exception_that_holds_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A contradiction cannot be named where there is none."""
    known = [*printed("known"), {"table": 5, "what": "GPT-4o", "why": "nobody knows"}]
    parts = {**figures_of("oasis"), "known": known}
    for module in (oasis, papers):
        monkeypatch.setattr(module, "table", lambda _: parts)
    (wrong,) = check_all().wrong
    assert wrong.startswith("Table 5, GPT-4o: printed 90.78")
