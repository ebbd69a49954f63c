"""Checks of the paper's printed figures against others that imply them: Tables 1 to 21, in their order."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from statistics import fmean

from training.papers.checks import Check, Verdict, count, figure, verdict, whole_number
from vista_guard.types import Label
from vista_lab.evaluate.vista.figures import MODELS, Difference, accuracies, differences
from vista_lab.metrics.claim_sets import SetAgreement
from vista_lab.metrics.detection import Detection
from vista_lab.metrics.intervals import NOT_SIGNIFICANT, Discordant, Share, stars
from vista_lab.metrics.labels import Confusion, accuracy, macro_f1
from vista_lab.papers import table
from vista_lab.tables.runs import SYSTEMS

SHORT = {"factscore": "f", "llm-judge": "l"}
"""A system in Table 2's superscripts. Nothing is marked as better than VISTA."""


def confusion(model: str) -> Confusion:
    """A model's claims by human and by model label (Tables 12 to 19); None is the column NONE."""
    labels: Sequence[str] = table("table12_19")["labels"]
    rows = table("table12_19")[model]["rows"]
    matrix: Confusion = Counter()
    for human, counts in zip(labels, rows, strict=False):
        for judged, claims in zip(labels, counts, strict=False):
            if claims:
                matrix[Label(human), None if judged == "NONE" else Label(judged)] = claims
    return matrix


def whole_counts() -> Iterator[Check]:
    """Table 2: a percentage of so many turns is a whole number of them, where no turn was dropped."""
    turns = table("table02")["turns"]
    for data_set, model, system, value, _ in accuracies():
        yield _whole(2, f"{data_set}, {model}, {SYSTEMS[system]}", value, turns[data_set])


def superscripts() -> Iterator[Check]:
    """Table 2's superscripts from the p-values of Tables 8 to 11."""
    better = marks()
    for data_set, model, system, _, mark in accuracies():
        if system in ("vista", *SHORT):
            expected = better[data_set, model, system]
            what = f"superscript of {data_set}, {model}, {SYSTEMS[system]}"
            yield Check(2, what, mark or "none", expected or "none", mark == expected)


def marks() -> dict[tuple[str, str, str], str]:
    """The superscripts by data set, model and system: the systems that it beats significantly."""
    better: dict[tuple[str, str, str], str] = defaultdict(str)
    for row in differences():
        if stars(float(row.p)) != NOT_SIGNIFICANT:
            winner, loser = (row.first, row.second) if row.difference > 0 else (row.second, row.first)
            better[row.data_set, row.model, winner] += SHORT.get(loser, "")
    return defaultdict(str, {key: "†" if len(mark) == 2 else mark for key, mark in better.items()})


def significance() -> Iterator[Check]:
    """Tables 8 to 11: p from the discordant pairs, stars from the printed p, differences from Table 2."""
    cells = {(data_set, model, system): value for data_set, model, system, value, _ in accuracies()}
    rows = list(differences())
    for one in rows:
        yield figure(one.number, f"p of {one.row}", one.p, Discordant(one.only_first, one.only_second, 0).p)
        yield Check(one.number, f"stars of {one.row}", one.stars, stars(float(one.p)), one.stars == stars(float(one.p)))
        gap = cells[one.data_set, one.model, one.first] - cells[one.data_set, one.model, one.second]
        yield Check(one.number, f"difference of {one.row}", f"{one.difference}", f"{gap}", one.difference == gap)
    significant = sum(one.stars != NOT_SIGNIFICANT for one in rows)
    yield count(2, "section 6.1: significant differences (all, of 96)", len(rows), significant)
    yield count(8, "differences that their discordant pairs give (of 96)", len(rows), sum(map(_from_pairs, rows)))
    same = sum((one.only_first - one.only_second) * one.difference >= 0 for one in rows)
    yield count(8, "differences whose sign their discordant pairs have (of 96)", len(rows), same)


def _from_pairs(row: Difference) -> bool:
    # A difference of two percentages that were rounded to hundredths may be a hundredth off.
    n: int = table("table02")["turns"][row.data_set]
    return abs(100 * (row.only_first - row.only_second) / n - float(row.difference)) < 0.0101


def ablations() -> Iterator[Check]:
    """Table 4: whole numbers of FaithDial's turns."""
    printed = table("table04")
    for system, value in printed["settings"].items():
        yield _whole(4, printed["names"][system], value, printed["turns"])


def margins() -> Iterator[Check]:
    """Tables 12 to 19: rows and columns add up, and the rows to Table 1."""
    labels, people = table("table12_19")["labels"], table("table01")["counts"]
    for model in MODELS:
        rows = table("table12_19")[model]["rows"]
        number = table("table12_19")[model]["number"]
        sums = [sum(row[:-1]) for row in rows]
        last = [row[-1] for row in rows]
        yield Check(number, "sums of the rows", _join_words(last), _join_words(sums), last == sums)
        columns = [sum(column) for column in zip(*rows[:-1], strict=True)]
        yield Check(number, "sums of the columns", _join_words(rows[-1]), _join_words(columns), rows[-1] == columns)
        human = {label: people.get(label, 0) for label in labels}
        counts = dict(zip(labels, sums, strict=False))
        given, summed = _join_words(human.values()), _join_words(counts.values())
        yield Check(number, "human labels as in Table 1", given, summed, human == counts)


def claim_figures() -> Iterator[Check]:
    """Table 3, from Tables 12 to 19; turn accuracies as whole numbers of turns."""
    printed = table("table03")
    for model, (turn, claim, f1) in printed["models"].items():
        matrix = confusion(model)
        yield _whole(3, f"turn accuracy of {model}", turn, printed["turns"])
        yield figure(3, f"claim accuracy of {model}", claim, 100 * (accuracy(matrix) or 0))
        yield figure(3, f"macro-F1 of {model}", f1, 100 * (macro_f1(matrix) or 0))
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
            yield _same(5, f"{model}, {SYSTEMS[system]}", values, detection_counts(values))
    even = Detection(tp=printed["contradictory"], fp=printed["other"], fn=0, tn=0)
    yield figure(5, "random baseline", printed["random"], 100 * even.accuracy.value)


def detection_counts(values: list[Decimal]) -> Detection:
    """The counts behind a row of Table 5: accuracy, precision, recall, F1."""
    bad, fine = table("table05")["contradictory"], table("table05")["other"]
    right, tp = round(values[0] * (bad + fine) / 100), round(values[2] * bad / 100)
    fp = tp + fine - right
    return Detection(tp=tp, fp=fp, fn=bad - tp, tn=fine - fp)


def abstentions() -> Iterator[Check]:
    printed = table("table20_21")
    detection = of_coconot()
    yield figure(20, "accuracy", printed["accuracy"], 100 * detection.accuracy.value)
    yield count(20, "non-compliant responses", 250, detection.tp + detection.fn)
    yield count(20, "compliant responses", 250, detection.fp + detection.tn)
    yield count(21, "missed abstentions", detection.fn, sum(printed["missed"].values()))
    yield count(21, "false alarms", detection.fp, sum(printed["false_alarms"].values()))


def of_coconot() -> Detection:
    printed = table("table20_21")
    return Detection(**{name: printed[name] for name in ("tp", "fp", "fn", "tn")})


def _same(number: int, what: str, printed: list[Decimal], detection: Detection) -> Check:
    figures = [detection.accuracy.value, detection.precision.value, detection.recall.value, detection.f1 or 0]
    checks = [figure(number, what, one, 100 * value) for one, value in zip(printed, figures, strict=True)]
    text = f"{_join_words(check.found for check in checks)} (tp {detection.tp}, fp {detection.fp})"
    return Check(number, what, _join_words(printed), text, all(check.holds for check in checks))


def _whole(number: int, what: str, printed: Decimal, of: int) -> Check:
    turns = whole_number(printed, of)
    return Check(number, what, f"{printed}", f"{round(printed * of / 100)} of {of}", turns is not None)


def _join_words(values: Iterable[object]) -> str:
    return " ".join(map(str, values))


def label_counts() -> Iterator[Check]:
    """Table 1: counts and their percentages."""
    printed = table("table01")
    yield count(1, "sum of the counts", printed["total"], sum(printed["counts"].values()))
    for label, n in printed["counts"].items():
        yield figure(1, f"percent of {label}", printed["percents"][label], 100 * Share(n, printed["total"]).value)


def claim_sets() -> Iterator[Check]:
    """Table 6: F1 follows from Jaccard where both are pooled over turns, and only then."""
    printed = table("table06")
    for pair, (jaccard, f1) in printed["pairs"].items():
        yield figure(6, f"F1 of {pair}", f1, sets_with_jaccard(float(jaccard)).f1 or 0)
    for name, place in (("Jaccard", 0), ("F1", 1)):
        mean = fmean(float(values[place]) for values in printed["pairs"].values())
        yield figure(6, f"mean {name}", printed["mean"][place], mean)


def sets_with_jaccard(jaccard: float) -> SetAgreement:
    """Two sets of a thousand claims with this Jaccard similarity."""
    return SetAgreement(1000, 1000, 2000 * jaccard / (1 + jaccard))


def turn_labels() -> Iterator[Check]:
    """Table 7, section 5 and App. H: what the consensus says of turns, and what the data sets had said."""
    printed = table("table07")
    detection = original_against_consensus()
    diverged = Share(detection.fp + detection.fn, detection.turns)
    yield count(7, "sum of the categories", printed["turns"], detection.turns)
    yield figure(7, "percent of turns that diverge", printed["diverged_percent"], 100 * diverged.value)
    yield count(7, "turns newly unverifiable", printed["newly_unverifiable"], detection.fp)
    share = 100 * Share(detection.fp, diverged.hits).value
    yield figure(7, "percent of them newly unverifiable", printed["newly_unverifiable_percent"], share)
    yield count(7, "turns newly verified", printed["reclassified_verified"], detection.fn)
    yield count(7, "turns that people call unverifiable", table("table03")["unverifiable"], detection.tp + detection.fp)


def original_against_consensus() -> Detection:
    """Table 7 as a detection: the data sets' own labels as gold, the consensus as what was found."""
    rows = table("table07")["categories"]
    return Detection.of((row["original"], row["consensus"]) for row in rows for _ in range(row["count"]))


def check_all() -> Verdict:
    """Recomputes all figures of the paper that need no model. Takes well under a second.

    Examples:
        >>> len(check_all().wrong)
        0
    """
    first = (label_counts, whole_counts, superscripts, claim_figures, ablations, contradictions)
    parts = (*first, claim_sets, turn_labels, significance, margins, abstentions)
    return verdict((check for part in parts for check in part()), table("contradictions")["known"])
