"""Labels of claims, contradictions and abstentions: Tables 3, 5, and 12 to 21."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from decimal import Decimal

from vista_guard.evaluation.metrics.detection import Detection
from vista_guard.evaluation.metrics.labels import Confusion, accuracy, macro_f1
from vista_guard.evaluation.paper.checks.check import Check, count, figure
from vista_guard.evaluation.paper.printed import MODELS, SYSTEMS, confusion, table, whole_number
from vista_guard.types import Label


def margins() -> Iterator[Check]:
    """Tables 12 to 19: rows and columns add up, and the rows to Table 1."""
    labels, people = table("table12_19")["labels"], table("table01")["counts"]
    for model in MODELS:
        rows = table("table12_19")[model]["rows"]
        number = table("table12_19")[model]["number"]
        sums = [sum(row[:-1]) for row in rows]
        yield Check(number, "sums of the rows", _listed(row[-1] for row in rows), _listed(sums), _last(rows) == sums)
        columns = [sum(column) for column in zip(*rows[:-1], strict=True)]
        yield Check(number, "sums of the columns", _listed(rows[-1]), _listed(columns), rows[-1] == columns)
        human = {label: people.get(label, 0) for label in labels}
        found = dict(zip(labels, sums, strict=False))
        yield Check(
            number, "human labels as in Table 1", _listed(human.values()), _listed(found.values()), human == found
        )


def claim_figures() -> Iterator[Check]:
    """Table 3, from Tables 12 to 19; turn accuracies as whole numbers of turns."""
    printed = table("table03")
    for model, (turn, claim, f1) in printed["models"].items():
        met = confusion(model)
        yield _whole(3, f"turn accuracy of {model}", turn, printed["turns"])
        yield figure(3, f"claim accuracy of {model}", claim, 100 * (accuracy(met) or 0))
        yield figure(3, f"macro-F1 of {model}", f1, 100 * (macro_f1(met) or 0))
    always, majority = printed["majority"], of_majority()
    turns = Detection(tp=printed["unverifiable"], fp=printed["turns"] - printed["unverifiable"], fn=0, tn=0)
    yield figure(3, "turn accuracy of the majority", always["turn"], 100 * turns.accuracy.value)
    yield figure(3, "claim accuracy of the majority", always["claim"], 100 * (accuracy(majority) or 0))
    yield figure(3, "macro-F1 of the majority", always["macro_f1"], 100 * (macro_f1(majority) or 0))


def of_majority() -> Confusion:
    """Table 1's claims, each called VERIFIED."""
    return Counter({(Label(label), Label.VERIFIED): n for label, n in table("table01")["counts"].items()})


def contradictions() -> Iterator[Check]:
    """Table 5: twenty rows from whole numbers of turns. Recall gives the true, accuracy the false positives."""
    printed = table("table05")
    for model, rows in printed["models"].items():
        for system, values in rows.items():
            yield _same(5, f"{model}, {SYSTEMS[system]}", values, recovered(values))
    even = Detection(tp=printed["contradictory"], fp=printed["other"], fn=0, tn=0)
    yield figure(5, "random baseline", printed["random"], 100 * even.accuracy.value)


def recovered(values: list[Decimal]) -> Detection:
    """The counts behind a row of Table 5: accuracy, precision, recall, F1."""
    bad, fine = table("table05")["contradictory"], table("table05")["other"]
    right, tp = round(values[0] * (bad + fine) / 100), round(values[2] * bad / 100)
    fp = tp + fine - right
    return Detection(tp=tp, fp=fp, fn=bad - tp, tn=fine - fp)


def abstentions() -> Iterator[Check]:
    """Tables 20 and 21."""
    printed = table("table20_21")
    found = of_coconot()
    yield figure(20, "accuracy", printed["accuracy"], 100 * found.accuracy.value)
    yield count(20, "non-compliant responses", 250, found.tp + found.fn)
    yield count(20, "compliant responses", 250, found.fp + found.tn)
    yield count(21, "missed abstentions", found.fn, sum(printed["missed"].values()))
    yield count(21, "false alarms", found.fp, sum(printed["false_alarms"].values()))


def of_coconot() -> Detection:
    """Table 20's counts."""
    printed = table("table20_21")
    return Detection(**{name: printed[name] for name in ("tp", "fp", "fn", "tn")})


def _same(number: int, what: str, printed: list[Decimal], found: Detection) -> Check:
    figures = [found.accuracy.value, found.precision.value, found.recall.value, found.f1 or 0]
    checks = [figure(number, what, one, 100 * value) for one, value in zip(printed, figures, strict=True)]
    said = f"{_listed(check.found for check in checks)} (tp {found.tp}, fp {found.fp})"
    return Check(number, what, _listed(printed), said, all(check.holds for check in checks))


def _whole(number: int, what: str, printed: Decimal, of: int) -> Check:
    found = whole_number(printed, of)
    return Check(number, what, f"{printed}", f"{round(printed * of / 100)} of {of}", found is not None)


def _last(rows: list[list[int]]) -> list[int]:
    return [row[-1] for row in rows]


def _listed(values: Iterable[object]) -> str:
    return " ".join(map(str, values))
