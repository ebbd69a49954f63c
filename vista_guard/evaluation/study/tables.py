"""Tables 1, 6 and 7 of the paper from a study, and the figures of its Figure 2; the paper's own beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal

from vista_guard.evaluation.study.annotated import Rates
from vista_guard.evaluation.study.original import Category, Transitions
from vista_guard.types import Label
from vista_lab.metrics.agreement import Figure, PairAgreement
from vista_lab.metrics.detection import Reading
from vista_lab.metrics.intervals import Share
from vista_lab.papers.vista import table
from vista_lab.tables.overview import bracketed
from vista_lab.tables.runs import Measured, names_of
from vista_lab.tables.vista import PAPER, title_of
from vista_lab.tables.writers import NOTHING, Cell, Column, Row, Sheet, percent, row

ALPHA = "Krippendorff's α"


def table_1(counted: Mapping[Label, int], rates: Rates, about: Sequence[str]) -> Sheet:
    """Labels of the consensus."""
    printed = table("table01")
    total = sum(counted.values())
    rows = [
        row(label, f"{counted[label]:,}", _of(Share(counted[label], total)), str(printed["counts"][label]), f"{share}")
        for label, share in printed["percents"].items()
    ]
    rows.append(row("total", f"{total:,}", "100.0" if total else None, str(printed["total"]), "100"))
    heads = (Column("label", figures=False), Column("claims", "consensus"), Column("percent", "consensus"),
             Column("claims", "paper"), Column("percent", "paper"))  # fmt: skip
    alpha = f"{ALPHA} {told(rates.figures.alpha)} over {rates.figures.units:,} claims, before the consensus."
    notes = (alpha, f"Paper: {ALPHA} {printed['alpha']}; its percents are not those of its counts.", *about)
    return Sheet("table-1", f"Table 1. {printed['title']}", heads, tuple(rows), notes, frozenset({len(rows) - 1}))


def table_6(rates: Rates, how: str, about: Sequence[str]) -> Sheet:
    """Claim sets of each two annotators; kappas beside them, which the paper has not."""
    printed = table("table06")
    cohen = rates.cohen or {}
    rows = [_pair(pair, cohen.get(pair.annotators)) for pair in rates.figures.pairs]
    mean = row("mean", None, None, _number(rates.figures.jaccard), _number(rates.figures.f1), None)
    heads = (
        Column("pair", figures=False),
        Column("turns"),
        Column("claims"),
        Column("Jaccard"),
        Column("F1"),
        Column("Cohen's κ"),
    )
    notes = (
        f"Pooled over turns: F1 = 2J / (1 + J). Two claims are one where {how}; each has one partner at most.",
        f"Brackets: 95 % over conversations drawn again. {ALPHA} of labels {told(rates.figures.alpha)} over "
        f"{rates.figures.units:,} claims; Fleiss' κ {_number(rates.fleiss)} over the {rates.shared:,} that everybody has.",
        *([] if rates.cohen is not None else ["Cohen's κ needs the extra evaluation."]),
        *about,
    )
    paper = row(f"{PAPER}mean", None, None, *map(str, printed["mean"]), None)
    found = Sheet("table-6", f"Table 6. {printed['title']}", heads, (*rows, mean), notes, frozenset({len(rows)}))
    return found.below([paper])


def table_7(found: Transitions, about: Sequence[str]) -> Sheet:
    """Turns by the data set's label and the consensus."""
    printed = table("table07")
    counted = found.counted
    rows = [row(one["name"], f"{counted[Category(one['name'])]:,}", str(one["count"])) for one in printed["categories"]]
    rows.append(row("sum", f"{found.found.turns:,}", str(printed["turns"])))
    met = found.found
    notes = (
        f"{found.diverged.hits:,} of {met.turns:,} turns diverge ({_of(found.diverged)} %; paper: "
        f"{printed['diverged_percent']}); {met.fp:,} of them are newly unverifiable ({_of(found.newly)} %; paper: "
        f"{printed['newly_unverifiable_percent']}).",
        f"Unverifiable by people: {met.tp + met.fp:,}; by the data sets: {met.tp + met.fn:,}.",
        "A turn is unverifiable to people where some claim is not VERIFIED. 3: a claim is contradicted or lacks evidence; 4: "
        "none is. 5 and 6 are told apart by hand: 6 has the turns that were named as disfluent.",
        *about,
    )
    heads = (Column("category", figures=False), Column("turns"), Column("paper"))
    return Sheet("table-7", f"Table 7. {printed['title']}", heads, tuple(rows), notes, frozenset({len(rows) - 1}))


def diverging(found: Transitions) -> Sheet:
    """The turns that people see in another way than their data set, to be looked at."""
    agreed = (Category.VERIFIED, Category.UNVERIFIABLE)
    rows = [row(one.turn_id, one.label, one.category) for one in found.turns if one.category not in agreed]
    heads = tuple(Column(head, figures=False) for head in ("turn", "data set's label", "category"))
    return Sheet("table-7-turns", "Turns on which people and data set differ", heads, tuple(rows))


def figure_2(runs: Sequence[Measured], about: Sequence[str]) -> Sheet:
    """Accuracy of runs by both kinds of gold, over the turns that have both."""
    names = names_of(runs)
    rows: list[Row] = []
    for run in runs:
        met = run.detection(Reading.STRICT)
        cells = [Cell(_accuracy(run, reading)) for reading in (Reading.ORIGINAL, Reading.STRICT)]
        covered = NOTHING if met is None else percent(met.coverage.value, 1)
        rows.append(
            row(
                run.name,
                title_of(run.system),
                names[run.name],
                run.manifest.claims,
                f"{len(run.gold):,}",
                covered,
                *cells,
            )
        )
    names_of_rows = (Column(head, figures=False) for head in ("run", "system", "judge", "claims"))
    heads = (*names_of_rows, Column("turns"), Column("coverage"),
             Column("original labels", "turn accuracy by"), Column("consensus", "turn accuracy by"))  # fmt: skip
    notes = (
        "Over turns with a label of their data set and a consensus. Claims: those that people settled on (given), or the "
        "run's own (judge). Found: some claim is not VERIFIED. Brackets: 95 %.",
        *about,
    )
    return Sheet(
        "figure-2",
        "Figure 2. Turn accuracy against original labels and against the consensus",
        heads,
        tuple(rows),
        notes,
    )


def told(figure: Figure) -> str:
    """A figure with its interval, three digits."""
    if figure.low is None or figure.high is None:
        return _number(figure.value)
    return f"{_number(figure.value)} [{figure.low:.3f}–{figure.high:.3f}]"


def _pair(pair: PairAgreement, kappa: float | None) -> Row:
    claims = f"{pair.first:,} and {pair.second:,}, {pair.shared:,} shared"
    return row(
        " – ".join(pair.annotators), f"{pair.turns:,}", claims, told(pair.jaccard), told(pair.f1), _number(kappa)
    )


def _accuracy(run: Measured, reading: Reading) -> str:
    met = run.detection(reading)
    return NOTHING if met is None else bracketed(met.accuracy.value, run.accuracy_interval(reading))


def _of(share: Share) -> str:
    return percent(share.value, 1)


def _number(value: float | Decimal | None) -> str:
    return NOTHING if value is None else f"{value:.3f}"
