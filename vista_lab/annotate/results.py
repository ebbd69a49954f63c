"""The results of a study of claims: agreement, consensus and open questions.

They come as Tables 1, 6, 7 and Figure 2 of the paper, as files, and as JSON.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from vista_guard.types import Label
from vista_lab.annotate import agreeing, consensus
from vista_lab.annotate.agreeing import AnnotatedTurn, Match, Rates, SettledTurn, rates
from vista_lab.annotate.agreement import FormResults, with_interval
from vista_lab.annotate.consensus import Category, Transitions, label_counts, transitions
from vista_lab.annotate.forms import Form, load_form
from vista_lab.annotate.sheets import Table
from vista_lab.annotate.study import StudyData
from vista_lab.metrics.agreement import PairAgreement
from vista_lab.metrics.detection import Reading
from vista_lab.papers import table
from vista_lab.tables.overview import accuracy_text
from vista_lab.tables.runs import RunMeasures, names_of, title_of
from vista_lab.tables.writers import NOTHING, PAPER, Row, Sheet, decimals, headings, percent, row


@dataclass(frozen=True)
class Results:
    """Agreement and consensus of the annotators. `about` describes the sample, `how` the matching of claims."""

    turns: Sequence[AnnotatedTurn]
    match: Match
    how: str
    settled: Sequence[SettledTurn]
    data: StudyData | None
    about: Sequence[str]
    disfluent: Collection[str] = ()
    others: FormResults | None = None
    """Marks of the form that are not of claims and their labels."""

    noun = "claims"

    @property
    def open(self) -> int:
        """Number of claims without a majority."""
        return sum(len(turn.open) for turn in self.settled)

    @cached_property
    def rates(self) -> Rates:
        labels = self.form.labels
        return rates(self.turns, self.match, () if labels is None else labels.agreement)

    @property
    def settled_turns(self) -> Sequence[SettledTurn]:
        return [turn for turn in self.settled if turn.settled]

    @property
    def label_counts(self) -> Mapping[Label, int]:
        return label_counts(self.settled_turns)

    @cached_property
    def transitions(self) -> Transitions | None:
        """Turns by their data set's label and the consensus. None if no turn has both."""
        if self.data is None:
            return None
        known = [(settled_turn, self.data.turns[settled_turn.turn.id]) for settled_turn in self.settled_turns]
        rows = [
            (turn.id, turn.label or "", turn.positive, [claim.label for claim in one.claims])
            for one, turn in known
            if turn.positive is not None
        ]
        return transitions(rows, self.disfluent) if rows else None

    @property
    def notes(self) -> list[str]:
        """Notes that belong beside every figure."""
        notes = list(self.about)
        if left := len(self.settled) - len(self.settled_turns):
            notes.append(f"{left:,} of {len(self.settled):,} turns have no consensus yet, and are in no table of it.")
        if alone := len(self.turns) - len(self.settled):
            notes.append(f"{alone:,} turns were annotated by one person alone, and settle nothing.")
        return notes

    def sheets(self) -> list[Sheet]:
        """Tables 1, 6 and 7, and the turns behind the last."""
        tables = [table_1(self.label_counts, self.rates, self.notes), table_6(self.rates, self.how, self.notes)]
        if self.transitions is not None:
            tables += [table_7(self.transitions, self.notes), diverging(self.transitions)]
        return tables if self.others is None else [*tables, *self.others.sheets()]

    def files(self) -> dict[str, str]:
        """Files written beside the tables if the study's texts are known: the consensus, and labels to calibrate with."""
        if self.data is None:
            return {}
        made = {consensus.LOG: consensus.log, consensus.LABELS: consensus.labels}
        return {name: text(self.settled, self.data) for name, text in made.items()}

    @property
    def form(self) -> Form:
        """The form that people filled in; in the dashboard it is the paper's."""
        return load_form("vista") if self.data is None else self.data.study.form

    def queue(self) -> Table | None:
        """The sheet of claims to discuss; None if there are none."""
        if len(self.settled_turns) == len(self.settled):
            return None
        return agreeing.queue(self.settled, self.form, " ".join(self.about))

    def as_json(self) -> dict[str, Any]:
        figures, moved = self.rates.figures, self.transitions
        return {
            "study": list(self.about),
            "enriched": None if self.data is None else self.data.study.enriched,
            "match": self.how,
            "turns": len(self.turns),
            "settled": len(self.settled_turns),
            "to_discuss": self.open,
            "alpha": {**asdict(figures.alpha), "claims": figures.units},
            "fleiss": {"value": self.rates.fleiss, "claims": self.rates.shared},
            "jaccard": figures.jaccard,
            "f1": figures.f1,
            "pairs": [
                {
                    "annotators": list(pair.annotators),
                    "turns": pair.turns,
                    "claims": [pair.first, pair.second],
                    "shared": pair.shared,
                    "jaccard": asdict(pair.jaccard),
                    "f1": asdict(pair.f1),
                    "cohen": None if self.rates.cohen is None else self.rates.cohen[pair.annotators],
                }
                for pair in figures.pairs
            ],
            "labels": {str(label): count for label, count in self.label_counts.items()},
            "transitions": None if moved is None else {str(name): count for name, count in moved.counts.items()},
        }


# The paper's tables


ALPHA = "Krippendorff's α"


def table_1(counted: Mapping[Label, int], rates: Rates, about: Sequence[str]) -> Sheet:
    printed = table("table01")
    total = sum(counted.values())
    cells = (
        (label, counted[label], str(printed["counts"][label]), f"{share}")
        for label, share in printed["percents"].items()
    )
    rows = [row(label, f"{count:,}", _share(count, total), *paper) for label, count, *paper in cells]
    rows.append(row("total", f"{total:,}", "100.0" if total else None, str(printed["total"]), "100"))
    heads = headings(["label"], ("consensus", "claims", "percent"), ("paper", "claims", "percent"))
    alpha = f"{ALPHA} {with_interval(rates.figures.alpha)} over {rates.figures.units:,} claims, before the consensus."
    notes = (alpha, f"Paper: {ALPHA} {printed['alpha']}; its percents are not those of its counts.", *about)
    return Sheet("table-1", f"Table 1. {printed['title']}", heads, tuple(rows), notes, frozenset({len(rows) - 1}))


def table_6(rates: Rates, how: str, about: Sequence[str]) -> Sheet:
    """Claim sets of each pair of annotators, with kappas, which the paper lacks."""
    printed = table("table06")
    cohen = rates.cohen or {}
    rows = [_pair(pair, cohen.get(pair.annotators)) for pair in rates.figures.pairs]
    mean = row("mean", None, None, decimals(rates.figures.jaccard), decimals(rates.figures.f1), None)
    heads = headings(["pair"], "turns", "claims", "Jaccard", "F1", "Cohen's κ")
    notes = (
        f"Pooled over turns: F1 = 2J / (1 + J). Two claims are one where {how}; each has one partner at most.",
        f"Brackets: 95 % over conversations drawn again. {ALPHA} of labels {with_interval(rates.figures.alpha)} over "
        f"{rates.figures.units:,} claims; Fleiss' κ {decimals(rates.fleiss)} over the {rates.shared:,} that everybody has.",
        *([] if rates.cohen is not None else ["Cohen's κ needs the extra evaluation."]),
        *about,
    )
    paper = row(f"{PAPER}mean", None, None, *map(str, printed["mean"]), None)
    sheet = Sheet("table-6", f"Table 6. {printed['title']}", heads, (*rows, mean), notes, frozenset({len(rows)}))
    return sheet.below([paper])


def table_7(found: Transitions, about: Sequence[str]) -> Sheet:
    """Turns by the data set's label and the consensus."""
    printed = table("table07")
    counted = found.counts
    rows = [row(one["name"], f"{counted[Category(one['name'])]:,}", str(one["count"])) for one in printed["categories"]]
    rows.append(row("sum", f"{found.detection.turns:,}", str(printed["turns"])))
    detection = found.detection
    notes = (
        f"{found.divergence.hits:,} of {detection.turns:,} turns diverge ({percent(found.divergence.value, 1)} %; paper: "
        f"{printed['diverged_percent']}); {detection.fp:,} of them are newly unverifiable ("
        f"{percent(found.newly_unverifiable.value, 1)} %; paper: "
        f"{printed['newly_unverifiable_percent']}).",
        f"Unverifiable by people: {detection.tp + detection.fp:,}; by the data sets: {detection.tp + detection.fn:,}.",
        "A turn is unverifiable to people where some claim is not VERIFIED. 3: a claim is contradicted or lacks evidence; 4: "
        "none is. 5 and 6 are told apart by hand: 6 has the turns that were named as disfluent.",
        *about,
    )
    heads = headings(["category"], "turns", "paper")
    return Sheet("table-7", f"Table 7. {printed['title']}", heads, tuple(rows), notes, frozenset({len(rows) - 1}))


def diverging(found: Transitions) -> Sheet:
    """The turns where people disagree with the data set, for inspection."""
    agreed = (Category.VERIFIED, Category.UNVERIFIABLE)
    rows = [row(turn.turn_id, turn.label, turn.category) for turn in found.turns if turn.category not in agreed]
    heads = headings(("turn", "data set's label", "category"))
    return Sheet("table-7-turns", "Turns on which people and data set differ", heads, tuple(rows))


def figure_2(runs: Sequence[RunMeasures], about: Sequence[str]) -> Sheet:
    """Accuracy of runs by both kinds of gold, over the turns that have both."""
    names = names_of(runs)
    rows: list[Row] = []
    for run in runs:
        detection = run.detection(Reading.STRICT)
        accuracies = (accuracy_text(run, reading) for reading in (Reading.ORIGINAL, Reading.STRICT))
        covered = NOTHING if detection is None else percent(detection.coverage.value, 1)
        who = (run.name, title_of(run.system), names[run.name], run.manifest.claims)
        rows.append(row(*who, f"{len(run.gold):,}", covered, *accuracies))
    accuracy = ("turn accuracy by", "original labels", "consensus")
    heads = headings(("run", "system", "judge", "claims"), "turns", "coverage", accuracy)
    notes = (
        "Over turns with a label of their data set and a consensus. Claims: those that people settled on (given), or the "
        "run's own (judge). Found: some claim is not VERIFIED. Brackets: 95 %.",
        *about,
    )
    title = "Figure 2. Turn accuracy against original labels and against the consensus"
    return Sheet("figure-2", title, heads, tuple(rows), notes)


def _pair(pair: PairAgreement, kappa: float | None) -> Row:
    claims = f"{pair.first:,} and {pair.second:,}, {pair.shared:,} shared"
    figures = (with_interval(pair.jaccard), with_interval(pair.f1), decimals(kappa))
    return row(" – ".join(pair.annotators), f"{pair.turns:,}", claims, *figures)


def _share(count: int, total: int) -> str:
    return percent(count / total if total else None, 1)
