"""The paper's tables as printed, beside values computed from its other figures."""

from __future__ import annotations

import sys

from training.papers import dad, knowmt, oasis, vista
from training.papers.checks import Verdict, whole_number
from training.papers.vista import (
    confusion,
    detection_counts,
    marks,
    of_coconot,
    of_majority,
    original_against_consensus,
    sets_with_jaccard,
)
from vista_guard.types import Label
from vista_lab.evaluate.vista.figures import MODELS, accuracies, differences
from vista_lab.metrics.intervals import Discordant
from vista_lab.metrics.labels import accuracy, macro_f1
from vista_lab.papers import table
from vista_lab.tables.runs import DATA_SETS, SYSTEMS
from vista_lab.tables.writers import Cell, Heading, Sheet, headings, markdown, percent, row

PAPERS = {"": vista, "LLM-OASIS": oasis, "DAD": dad, "KnowMT-Bench": knowmt}


def sheets() -> list[Sheet]:
    """The tables that need no model, in their order."""
    significant = [significance(name) for name in ("AIS", "BEGIN", "FADE", "FaithDial")]
    return [label_counts(), turn_accuracy(), claim_figures(), ablations(), contradictions(), claim_sets(), turn_labels(),
            *significant, abstentions()]  # fmt: skip


def label_counts() -> Sheet:
    """Table 1, with the percentages of its counts."""
    printed = table("table01")
    rows = [
        row(label, str(n), str(printed["percents"][label]), percent(n / printed["total"], 1))
        for label, n in printed["counts"].items()
    ]
    heads = headings(["label"], "claims", "percent, printed", "percent of the counts")
    return Sheet("paper-table-1", f"Table 1. {printed['title']}", heads, tuple(rows))


def turn_accuracy() -> Sheet:
    """Table 2 as it is printed, but for superscripts, which follow from Tables 8 to 11."""
    better = marks()
    cells = {
        (model, data_set, system): Cell(str(value), better[data_set, model, system])
        for data_set, model, system, value, _ in accuracies()
    }
    systems = table("table02")["systems"]
    columns = [Heading(SYSTEMS[system], name) for name in DATA_SETS for system in systems]
    rows = [row(model, *(cells[model, name, system] for name in DATA_SETS for system in systems)) for model in MODELS]
    turns = ", ".join(f"{name} {table('table02')['turns'][name]:,}" for name in DATA_SETS)
    notes = (
        f"Turns: {turns}.",
        "Superscripts by the p-values of Tables 8 to 11: f better than FActScore, l than LLM-as-Judge, † than both.",
    )
    title = f"Table 2. {table('table02')['title']}"
    return Sheet("paper-table-2", title, (*headings(["model"]), *columns), tuple(rows), notes)


def claim_figures() -> Sheet:
    """Table 3, from Tables 12 to 19."""
    printed = table("table03")
    rows = []
    for model, (turn, claim, f1) in printed["models"].items():
        counts, right = confusion(model), whole_number(turn, printed["turns"])
        figures = (percent(accuracy(counts)), str(f1), percent(macro_f1(counts)))
        rows.append(row(model, str(turn), f"{right} of {printed['turns']}", str(claim), *figures))
    printed_majority, majority = printed["majority"], of_majority()
    first = row(
        "majority", str(printed_majority["turn"]), f"{printed['unverifiable']} of {printed['turns']}",
        str(printed_majority["claim"]), percent(accuracy(majority)), str(printed_majority["macro_f1"]),
        percent(macro_f1(majority)),
    )  # fmt: skip
    heads = headings(
        ["model"],
        "turns, printed",
        "turns right",
        "claims, printed",
        "claims, computed",
        "macro-F1, printed",
        "macro-F1, computed",
    )
    notes = ("Computed from the claims of Tables 12 to 19; NONE is an error, and macro-F1 is over the five labels.",)
    return Sheet("paper-table-3", f"Table 3. {printed['title']}", heads, (first, *rows), notes, frozenset({1}))


def ablations() -> Sheet:
    """Table 4, as whole numbers of turns."""
    printed = table("table04")
    rows = []
    for system, value in printed["settings"].items():
        right = whole_number(value, printed["turns"])
        turns_right = f"{right:,} of {printed['turns']:,}" if right is not None else "no whole number"
        rows.append(row(printed["names"][system], str(value), turns_right))
    heads = headings(["setting"], "accuracy", "turns right")
    return Sheet("paper-table-4", f"Table 4. {printed['title']}", heads, tuple(rows))


def contradictions() -> Sheet:
    """Table 5, with the counts that its percentages come from."""
    printed = table("table05")
    rows = []
    for model, systems in printed["models"].items():
        for system, values in systems.items():
            detection = detection_counts(values)
            shares = (detection.accuracy.value, detection.precision.value, detection.recall.value, detection.f1)
            counts = (str(detection.tp), str(detection.fp))
            rows.append(
                row(model, SYSTEMS[system], *map(str, values), *counts, *(percent(share, 1) for share in shares))
            )
    four = ("Acc.", "Prec", "Rec", "F1")
    heads = headings(("model", "method"), ("printed", *four), "tp", "fp", ("computed", *four))
    rules = frozenset(range(4, len(rows), 4))
    return Sheet("paper-table-5", f"Table 5. {printed['title']}", heads, tuple(rows), rule_before=rules)


def claim_sets() -> Sheet:
    """Table 6, with F1 from Jaccard."""
    printed = table("table06")
    rows = [
        row(pair, str(jaccard), str(f1), f"{sets_with_jaccard(float(jaccard)).f1:.3f}")
        for pair, (jaccard, f1) in printed["pairs"].items()
    ]
    heads = headings(["pair"], "Jaccard", "F1, printed", "2J / (1 + J)")
    notes = ("The identity holds for sets that are pooled over turns, and not for means over turns.",)
    mean = row("mean", *map(str, printed["mean"]), None)
    return Sheet("paper-table-6", f"Table 6. {printed['title']}", heads, (*rows, mean), notes, frozenset({len(rows)}))


def turn_labels() -> Sheet:
    """Table 7, and the percentages of section 5."""
    printed = table("table07")
    detection = original_against_consensus()
    rows = [row(category["name"], str(category["count"])) for category in printed["categories"]]
    diverged = detection.fp + detection.fn
    notes = (
        f"{diverged} of {detection.turns} turns diverge, {percent(diverged / detection.turns, 1)} %; {detection.fp} of them "
        f"newly unverifiable, {percent(detection.fp / diverged, 1)} %.",
        f"Unverifiable by people: {detection.tp + detection.fp}; by the data sets: {detection.tp + detection.fn}.",
    )
    total = row("sum", str(detection.turns))
    columns = headings(["category"], "turns")
    title = f"Table 7. {printed['title']}"
    return Sheet("paper-table-7", title, columns, (*rows, total), notes, frozenset({len(rows)}))


def significance(data_set: str) -> Sheet:
    """One of Tables 8 to 11, with p and stars from the discordant pairs."""
    rows, number = [], 0
    for difference in differences():
        if difference.data_set == data_set:
            number = difference.number
            test = Discordant(difference.only_first, difference.only_second, 0)
            pair = f"{SYSTEMS[difference.first]} – {SYSTEMS[difference.second]}"
            rows.append(
                row(difference.model, pair, str(difference.difference), str(difference.p), difference.stars,
                    str(difference.only_first), str(difference.only_second), f"{test.p:.6f}", test.stars)
            )  # fmt: skip
    heads = headings(("model", "comparison"), "Δ", ("printed", "p", "sig."), "b", "c", ("computed", "p", "sig."))
    title = f"Table {number}. {data_set}: {table('table08_11')['title']}"
    rules = frozenset(range(3, len(rows), 3))
    return Sheet(f"paper-table-{number}", title, heads, tuple(rows), rule_before=rules)


def abstentions() -> Sheet:
    printed, detection = table("table20_21"), of_coconot()
    rows = [
        row("abstention", str(detection.tp), str(detection.fn), _sorted(printed["missed"])),
        row("no abstention", str(detection.fp), str(detection.tn), _sorted(printed["false_alarms"])),
    ]
    notes = (
        f"Accuracy {percent(detection.accuracy.value, 1)}, precision {percent(detection.precision.value, 1)}, recall "
        f"{percent(detection.recall.value, 1)}. The errors were sorted by hand.",
    )
    heads = (*headings(["gold"], ("VISTA", str(Label.ABSTENTION), "none")), Heading("errors (Table 21)", figures=False))
    return Sheet("paper-table-20", f"Tables 20 and 21. {printed['title']}", heads, tuple(rows), notes)


def contradicted_figures(found: Verdict, paper: str = "") -> Sheet:
    """Printed figures that other printed figures of the paper contradict."""
    rows = [row(f"{check.table}", check.what, check.printed, check.found, why) for check, why in found.known]
    heads = (Heading("table"), Heading("figure", figures=False), Heading("printed"), Heading("computed"),
             Heading("why", figures=False))  # fmt: skip
    whose = f"{paper}: " if paper else ""
    title = f"{whose}{len(rows)} printed figures contradict others; {len(found.held)} hold"
    return Sheet(f"paper-contradictions-{paper.lower()}".rstrip("-"), title, heads, tuple(rows))


def _sorted(errors: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in errors.items())


def main() -> int:
    """Prints VISTA's tables that need no model, and the contradictory figures of all four papers.

    Returns:
        0, or 1 where a figure is neither as printed nor a named contradiction.
    """
    verdicts = {paper: module.check_all() for paper, module in PAPERS.items()}
    print(markdown([*sheets(), *(contradicted_figures(verdict, paper) for paper, verdict in verdicts.items())]))
    wrong = [problem for verdict in verdicts.values() for problem in verdict.wrong]
    for problem in wrong:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
