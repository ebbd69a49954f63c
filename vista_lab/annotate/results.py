"""The results of annotators on the claims of turns: agreement, consensus and open questions.

They come as Tables 1, 6, 7 and Figure 2 of the paper, as files, and as JSON.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from importlib.util import find_spec
from typing import Any

from vista_guard.protocols import Embedder
from vista_guard.types import Label
from vista_lab.annotate import consensus
from vista_lab.annotate.agreement import (
    ANSWER,
    LABEL,
    NO_CLAIM,
    Case,
    CaseConsensus,
    FormResults,
    MarkFigures,
    measure,
    versions_of,
    with_interval,
)
from vista_lab.annotate.claims import Match, SettledTurn, answered, claims_of, key_of
from vista_lab.annotate.consensus import Category, Transitions, label_counts, transitions
from vista_lab.annotate.forms import ChoiceMark, Item, Measure, Value
from vista_lab.annotate.sheets import Faults, Field
from vista_lab.annotate.sheets import Row as Line
from vista_lab.annotate.study import TURN, StudyData
from vista_lab.metrics.agreement import (
    Agreement,
    AnnotatedClaim,
    ClaimVersions,
    Method,
    PairAgreement,
    agreement,
    answers,
    compare,
    method_of,
)
from vista_lab.metrics.claim_sets import groups
from vista_lab.metrics.detection import Reading
from vista_lab.papers import table
from vista_lab.tables.overview import accuracy_text
from vista_lab.tables.runs import RunMeasures, names_of, title_of
from vista_lab.tables.writers import NOTHING, PAPER, Row, Sheet, decimals, headings, percent, row

READ, ALIKE = "they read the same", "they read the same, or the cosine of their embeddings is above 0.9"
"""When two claims are one, without an embedder and with it."""


@dataclass(frozen=True)
class ClaimResults(FormResults):
    """Results on the claims of turns, which are settled turn by turn. The items have the text of their turn.

    Claims match by their texts' embeddings, or by text alone if `embedder` is None. `data` is None for a batch whose study is
    not known. `before` are turns that people settled in the dashboard, `others` the results on the form's other marks.
    """

    embedder: Embedder | None
    data: StudyData | None = None
    disfluent: Collection[str] = ()
    before: Mapping[str, SettledTurn] = field(default_factory=dict)
    others: FormResults | None = None

    noun = "claims"
    guide = f"Talk about each claim. Write its words into {ANSWER}, or {NO_CLAIM!r}, and give its {LABEL}."
    gone = "the sheets have no such open claim; they were changed since, it is settled, or --match was another"
    names = ("item",)
    text = TURN
    fields = read_columns = (ANSWER, LABEL)

    @cached_property
    def labels(self) -> ChoiceMark:
        assert self.form.labels is not None  # a form with claims has them
        return self.form.labels

    @property
    def how(self) -> str:
        """When two claims are one, in words."""
        return READ if self.embedder is None else ALIKE

    # Claims

    @cached_property
    def claims(self) -> Mapping[str, Mapping[str, tuple[AnnotatedClaim, ...]]]:
        """Each annotator's claims of the turns that somebody annotated, deleted ones included."""
        by_turn: dict[str, dict[str, tuple[AnnotatedClaim, ...]]] = {}
        for item in self.items:
            for who, given in self.answers.items():
                if item.id in given:
                    by_turn.setdefault(item.id, {})[who] = claims_of(given[item.id], item, self.form)
        return by_turn

    @cached_property
    def match(self) -> Match:
        return Match.of((claim for by in self.claims.values() for own in by.values() for claim in own), self.embedder)

    @cached_property
    def sets(self) -> Agreement:
        """Agreement on the sets of claims and on labels, before any consensus. Intervals resample conversations."""
        talks = [item.group for item in self.items if item.id in self.claims]
        return agreement(list(self.claims.values()), steps=self.match.sets, conversations=talks)

    @cached_property
    def kappas(self) -> MarkFigures:
        """Cohen's and Fleiss' kappa of the labels, where the form declares them."""
        aligned = (groups(by, self.match.sets) for by in self.claims.values())
        cases = [Case("", "", "", group.labels) for own in aligned for group in own]
        people = sorted({who for by in self.claims.values() for who in by})
        figures = measure(self.labels, cases, people, (Measure.COHEN, Measure.FLEISS))
        return replace(figures, shared=sum(len(case.by) == len(people) for case in cases))

    # Settling

    @cached_property
    def versions(self) -> Mapping[str, Sequence[ClaimVersions]]:
        """The claims of each turn of several annotators, with everybody's version."""
        return {name: compare(by, self.match.versions) for name, by in self.claims.items() if len(by) >= self.least}

    @cached_property
    def settled(self) -> list[CaseConsensus]:
        """The claims without a majority; what a discussion agreed on are their words and label, or nothing for no such claim."""
        cases = (self._case(name, claim) for name, own in self.versions.items() for claim in own if claim.open)
        given = ((case, self.discussed.get((case.item, case.part, ""))) for case in cases)
        return [CaseConsensus("", case, value, value is None and case.item not in self.before) for case, value in given]

    def _case(self, name: str, claim: ClaimVersions) -> Case:
        by = {who: claim.group.by.get(who) for who in self.claims[name]}
        words = {who: NO_CLAIM if own is None else f"{own.text} [{self._word(own)}]" for who, own in by.items()}
        return Case(name, key_of(claim), "", words)

    def _word(self, claim: AnnotatedClaim) -> str:
        return "no label" if claim.label is None else self.form.word_for(claim.label)

    @cached_property
    def turns(self) -> Sequence[SettledTurn]:
        """The turns of several annotators. They are settled by majority, else by the discussion."""
        return [self.before.get(name) or self._settle(name, claims) for name, claims in self.versions.items()]

    def _settle(self, name: str, claims: Sequence[ClaimVersions]) -> SettledTurn:
        given = [(claim, self.discussed.get((name, key_of(claim), ""))) for claim in claims if claim.open]
        if any(value is None for _, value in given):
            return SettledTurn(name, (), None)
        told = ((claim, value) for claim, value in given if isinstance(value, tuple) and value)
        discussed = (answered(claim, value[0], Label(value[1])) for claim, value in told)
        method = Method.DISCUSSION if given else method_of(claims)
        return SettledTurn(name, (*answers(claims), *discussed), method)

    @property
    def settled_turns(self) -> Sequence[SettledTurn]:
        return [turn for turn in self.turns if turn.settled]

    def row(self, item: Item, one: CaseConsensus) -> list[str | Field]:
        claim = next(claim for claim in self.versions[item.id] if key_of(claim) == one.case.part)
        texts = {own.text for own in claim.group.by.values()}
        # Where all that have the claim have the same words, only the label is open.
        words, label = Field(text=texts.pop() if len(texts) == 1 else ""), Field(self.labels, self.labels.values)
        return [one.case.part, item.texts[TURN], versions_of(one.case), words, label, " ".join(self.about)]

    def read(self, line: Line, one: CaseConsensus, faults: Faults) -> Value | None:  # noqa: ARG002  # the item's name holds its versions
        no_claim, chosen = line[ANSWER].lower() == NO_CLAIM, self.labels.find(line[LABEL])
        if no_claim and line[LABEL]:
            faults.append(line.fault(LABEL, f"the answer is {NO_CLAIM!r}; it gets no label"))
        elif no_claim:
            return ()
        elif line[LABEL] and chosen is None:
            faults.append(line.fault(LABEL, f"the labels are {', '.join(self.labels.values)}"))
        elif chosen is not None and not line[ANSWER]:
            faults.append(line.fault(ANSWER, f"give the claim's words, or {NO_CLAIM!r}"))
        elif chosen is not None:
            return line[ANSWER], str(chosen.label)
        return None

    # Output

    @property
    def label_counts(self) -> Mapping[Label, int]:
        return label_counts(self.settled_turns)

    @cached_property
    def transitions(self) -> Transitions | None:
        """Turns by their data set's label and the consensus. None if no turn has both."""
        if self.data is None:
            return None
        known = [(settled_turn, self.data.turns[settled_turn.id]) for settled_turn in self.settled_turns]
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
        if left := len(self.turns) - len(self.settled_turns):
            notes.append(f"{left:,} of {len(self.turns):,} turns have no consensus yet, and are in no table of it.")
        if alone := len(self.claims) - len(self.turns):
            notes.append(f"{alone:,} turns were annotated by one person alone, and settle nothing.")
        return notes

    def sheets(self) -> list[Sheet]:
        """Tables 1, 6 and 7, and the turns behind the last."""
        tables = [table_1(self), table_6(self)]
        if self.transitions is not None:
            tables += [table_7(self.transitions, self.notes), diverging(self.transitions)]
        return tables if self.others is None else [*tables, *self.others.sheets()]

    def files(self) -> dict[str, str]:
        """Files written beside the tables if the study's texts are known: the consensus, and labels to calibrate with."""
        if self.data is None:
            return {}
        made = {consensus.LOG: consensus.log, consensus.LABELS: consensus.labels}
        return {name: text(self.turns, self.data) for name, text in made.items()}

    def as_json(self) -> dict[str, Any]:
        figures, kappas, moved = self.sets, self.kappas, self.transitions
        return {
            "study": list(self.about),
            "enriched": None if self.data is None else self.data.study.enriched,
            "match": self.how,
            "turns": len(self.claims),
            "settled": len(self.settled_turns),
            "to_discuss": self.open,
            "alpha": {**asdict(figures.alpha), "claims": figures.units},
            "fleiss": {"value": kappas.fleiss, "claims": kappas.shared},
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
                    "cohen": kappas.pairs[pair.annotators].cohen,
                }
                for pair in figures.pairs
            ],
            "labels": {str(label): count for label, count in self.label_counts.items()},
            "transitions": None if moved is None else {str(name): count for name, count in moved.counts.items()},
        }


def of_study(results: FormResults, data: StudyData, embedder: Embedder | None) -> ClaimResults:
    """The results on a study's sheets as those on its claims and labels, and on the form's other marks."""
    turns = ((item, data.turns[item.id]) for item in data.items)
    texts = {item.id: data.conversations[turn.talk].turns[turn.turn_index].text for item, turn in turns}
    items = [replace(item, texts={TURN: texts[item.id]}) for item in data.items]
    form, revise, labels = results.form, results.form.revision, results.form.labels
    own = () if revise is None or labels is None else (revise.by, revise.words, labels.name)
    marks = tuple(mark for mark in form.marks if mark.name not in own and mark.agreement)
    others = replace(results, form=form.model_copy(update={"marks": marks})) if marks else None
    return ClaimResults(form, items, results.answers, results.about, {}, embedder, data, others=others)


# The paper's tables


ALPHA = "Krippendorff's α"


def table_1(found: ClaimResults) -> Sheet:
    printed, counted, sets = table("table01"), found.label_counts, found.sets
    total = sum(counted.values())
    cells = (
        (label, counted[label], str(printed["counts"][label]), f"{share}")
        for label, share in printed["percents"].items()
    )
    rows = [row(label, f"{count:,}", _share(count, total), *paper) for label, count, *paper in cells]
    rows.append(row("total", f"{total:,}", "100.0" if total else None, str(printed["total"]), "100"))
    heads = headings(["label"], ("consensus", "claims", "percent"), ("paper", "claims", "percent"))
    alpha = f"{ALPHA} {with_interval(sets.alpha)} over {sets.units:,} claims, before the consensus."
    notes = (alpha, f"Paper: {ALPHA} {printed['alpha']}; its percents are not those of its counts.", *found.notes)
    return Sheet("table-1", f"Table 1. {printed['title']}", heads, tuple(rows), notes, frozenset({len(rows) - 1}))


def table_6(found: ClaimResults) -> Sheet:
    """Claim sets of each pair of annotators, with kappas, which the paper lacks."""
    printed, sets, kappas = table("table06"), found.sets, found.kappas
    rows = [_pair(pair, kappas.pairs[pair.annotators].cohen) for pair in sets.pairs]
    mean = row("mean", None, None, decimals(sets.jaccard), decimals(sets.f1), None)
    heads = headings(["pair"], "turns", "claims", "Jaccard", "F1", "Cohen's κ")
    notes = (
        f"Pooled over turns: F1 = 2J / (1 + J). Two claims are one where {found.how}; each has one partner at most.",
        f"Brackets: 95 % over conversations drawn again. {ALPHA} of labels {with_interval(sets.alpha)} over "
        f"{sets.units:,} claims; Fleiss' κ {decimals(kappas.fleiss)} over the {kappas.shared:,} that everybody has.",
        *(["Cohen's κ needs the extra evaluation."] if find_spec("sklearn") is None else []),
        *found.notes,
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
        "Over turns with a consensus, and a label of their data set if any turn has one. Claims: those that people settled on "
        "(given), or the run's own (judge). Found: some claim is not VERIFIED. Brackets: 95 %.",
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
