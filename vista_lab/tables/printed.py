"""The paper's tables as sheets: as printed, and beside them what was computed from other printed figures."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from vista_guard.types import Label
from vista_lab.metrics.intervals import Discordant
from vista_lab.metrics.labels import accuracy, macro_f1
from vista_lab.papers import dad, knowmt, oasis
from vista_lab.papers.checking import Verdict
from vista_lab.papers.checks import (
    check_all,
    detection_counts,
    marks,
    of_coconot,
    of_majority,
    original_against_consensus,
    sets_with_jaccard,
)
from vista_lab.papers.vista import DATA_SETS, MODELS, SYSTEMS, accuracies, confusion, differences, table, whole_number
from vista_lab.tables.writers import Cell, Heading, Row, Sheet, headings, markdown, percent, row


def sheets() -> list[Sheet]:
    """The tables that need no model, in their order."""
    significant = [differing_labels(name) for name in ("AIS", "BEGIN", "FADE", "FaithDial")]
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
        met, right = confusion(model), whole_number(turn, printed["turns"])
        figures = (percent(accuracy(met)), str(f1), percent(macro_f1(met)))
        rows.append(row(model, str(turn), f"{right} of {printed['turns']}", str(claim), *figures))
    always, majority = printed["majority"], of_majority()
    first = row(
        "majority", str(always["turn"]), f"{printed['unverifiable']} of {printed['turns']}", str(always["claim"]),
        percent(accuracy(majority)), str(always["macro_f1"]), percent(macro_f1(majority)),
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
        said = f"{right:,} of {printed['turns']:,}" if right is not None else "no whole number"
        rows.append(row(printed["names"][system], str(value), said))
    heads = headings(["setting"], "accuracy", "turns right")
    return Sheet("paper-table-4", f"Table 4. {printed['title']}", heads, tuple(rows))


def contradictions() -> Sheet:
    """Table 5, with the counts that its percentages come from."""
    printed = table("table05")
    rows = []
    for model, systems in printed["models"].items():
        for system, values in systems.items():
            found = detection_counts(values)
            shares = (found.accuracy.value, found.precision.value, found.recall.value, found.f1)
            counts = (str(found.tp), str(found.fp))
            rows.append(row(model, SYSTEMS[system], *map(str, values), *counts, *(percent(one, 1) for one in shares)))
    four = ("Acc.", "Prec", "Rec", "F1")
    heads = headings(("model", "method"), ("printed", *four), "tp", "fp", ("computed", *four))
    every = frozenset(range(4, len(rows), 4))
    return Sheet("paper-table-5", f"Table 5. {printed['title']}", heads, tuple(rows), rule_before=every)


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
    found = original_against_consensus()
    rows = [row(one["name"], str(one["count"])) for one in printed["categories"]]
    diverged = found.fp + found.fn
    notes = (
        f"{diverged} of {found.turns} turns diverge, {percent(diverged / found.turns, 1)} %; {found.fp} of them newly "
        f"unverifiable, {percent(found.fp / diverged, 1)} %.",
        f"Unverifiable by people: {found.tp + found.fp}; by the data sets: {found.tp + found.fn}.",
    )
    total = row("sum", str(found.turns))
    columns = headings(["category"], "turns")
    title = f"Table 7. {printed['title']}"
    return Sheet("paper-table-7", title, columns, (*rows, total), notes, frozenset({len(rows)}))


def differing_labels(data_set: str) -> Sheet:
    """One of Tables 8 to 11, with p and stars from the discordant pairs."""
    rows, number = [], 0
    for one in differences():
        if one.data_set == data_set:
            number = one.number
            found = Discordant(one.only_first, one.only_second, 0)
            pair = f"{SYSTEMS[one.first]} – {SYSTEMS[one.second]}"
            rows.append(
                row(one.model, pair, str(one.difference), str(one.p), one.stars, str(one.only_first), str(one.only_second),
                    f"{found.p:.6f}", found.stars)
            )  # fmt: skip
    heads = headings(("model", "comparison"), "Δ", ("printed", "p", "sig."), "b", "c", ("computed", "p", "sig."))
    title = f"Table {number}. {data_set}: {table('table08_11')['title']}"
    every = frozenset(range(3, len(rows), 3))
    return Sheet(f"paper-table-{number}", title, heads, tuple(rows), rule_before=every)


def confusions(model: str) -> Sheet:
    """One of Tables 12 to 19, with its margins."""
    printed = table("table12_19")
    number = printed[model]["number"]
    title = f"Table {number}. {printed['title']}: {model}"
    return claim_confusion(f"paper-table-{number}", title, printed[model]["rows"])


def claim_confusion(name: str, title: str, rows: Sequence[Sequence[int]], notes: Sequence[str] = ()) -> Sheet:
    """Counts with margins in the layout of Tables 12 to 19."""
    labels = [str(label) for label in table("table12_19")["labels"]]
    heads = headings(["human \\ model"], *labels, "Total")
    shown: list[Row] = [row(name, *map(str, counts)) for name, counts in zip([*labels, "Total"], rows, strict=True)]
    return Sheet(name, title, heads, tuple(shown), tuple(notes), frozenset({len(labels)}))


def abstentions() -> Sheet:
    printed, found = table("table20_21"), of_coconot()
    rows = [
        row("abstention", str(found.tp), str(found.fn), _sorted(printed["missed"])),
        row("no abstention", str(found.fp), str(found.tn), _sorted(printed["false_alarms"])),
    ]
    notes = (
        f"Accuracy {percent(found.accuracy.value, 1)}, precision {percent(found.precision.value, 1)}, recall "
        f"{percent(found.recall.value, 1)}. The errors were sorted by hand.",
    )
    heads = (*headings(["gold"], ("VISTA", str(Label.ABSTENTION), "none")), Heading("errors (Table 21)", figures=False))
    return Sheet("paper-table-20", f"Tables 20 and 21. {printed['title']}", heads, tuple(rows), notes)


def contradicting(found: Verdict, paper: str = "") -> Sheet:
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
    """Prints VISTA's tables as far as no model is needed, and the figures of all four papers that contradict each other.

    Returns:
        0, or 1 where a figure is neither as printed nor a named contradiction.
    """
    verdicts = {
        "": check_all(),
        "LLM-OASIS": oasis.check_all(),
        "DAD": dad.check_all(),
        "KnowMT-Bench": knowmt.check_all(),
    }
    print(markdown([*sheets(), *(contradicting(found, paper) for paper, found in verdicts.items())]))
    wrong = [problem for found in verdicts.values() for problem in found.wrong]
    for problem in wrong:
        print(f"error: {problem}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
