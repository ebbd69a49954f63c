"""The layouts of the paper's Tables 2 to 5 and 8 to 21, filled from runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path

from vista_guard.types import Label, TurnReport
from vista_lab.evaluate.vista.figures import MODELS, accuracies, differences
from vista_lab.logs.source import Task
from vista_lab.metrics.detection import Reading
from vista_lab.metrics.intervals import NOT_SIGNIFICANT, Discordant, Share, holm, stars
from vista_lab.metrics.labels import Confusion, accuracy, macro_f1
from vista_lab.papers import table
from vista_lab.tables.output import Filled, PaperTables
from vista_lab.tables.overview import claim_scores, overview
from vista_lab.tables.pictures import draw
from vista_lab.tables.runs import (
    RunMeasures,
    check_comparable,
    confusion_counts,
    data_sets_of,
    discordant,
    names_of,
    notes_of,
    paper_set,
    systems_of,
    title_of,
)
from vista_lab.tables.writers import NOTHING, PAPER, Cell, Heading, Row, Sheet, file_name, headings, percent, row


def better_than(run: RunMeasures, others: Sequence[RunMeasures]) -> str:
    """The superscript of Table 2, computed: f better than FActScore, l than LLM-as-Judge, † than both, on the same turns and
    significantly (McNemar, p < .05), with the same judge."""
    marks = ""
    for system, mark in (("factscore", "f"), ("llm-judge", "l")):
        same = [one for one in others if (one.judge, one.data_set) == (run.judge, run.data_set)]
        rivals = [one for one in same if one.system == system]
        tests = [discordant(run, rival, run.reading) for rival in rivals if rival is not run]
        if tests and all(test.stars != NOT_SIGNIFICANT and test.first > test.second for test in tests):
            marks += mark
    return "†" if len(marks) == 2 else marks


NO_CLAIM, SCOPE, OTHER = "missed: no claim was found", "missed: all claims out of scope", "missed: other labels"
PARTIAL, WHOLE = "false alarm: beside other claims", "false alarm: nothing else claimed"

NOTE = "Sorted by the labels of the turn's claims. The paper's errors were sorted by hand: its kinds are near, not the same."

OF_PAPER = {NO_CLAIM: "Decomposition Error", SCOPE: "Mislabeled Out-of-Scope", PARTIAL: "Partial Abstention"}
"""The nearest category of Table 21, whose errors people sorted."""


def table_20(runs: Sequence[RunMeasures]) -> list[Sheet]:
    """Gold against predictions, two rows per run; the paper's below."""
    fitting = _runs_of_table(runs)
    if not fitting:
        return []
    names, rows = names_of(fitting), []
    for run in fitting:
        detection = run.detection(Reading.ORIGINAL)
        assert detection is not None  # only runs with gold are here
        head = (run.data_set, names[run.name], title_of(run.system))
        none = Counter(gold for gold, predicted in run.answers(Reading.ORIGINAL).values() if predicted is None)
        shares = [percent(one.value, 1) for one in (detection.accuracy, detection.precision, detection.recall)]
        rows.append(row(*head, "Abst.", f"{detection.tp}", f"{detection.fn}", f"{none[True]}", *shares))
        rows.append(row("", "", "", "No Abst.", f"{detection.fp}", f"{detection.tn}", f"{none[False]}", "", "", ""))
    found = ("found", "Abst.", "No Abst.", "not judged")
    columns = headings(("data set", "model", "system", "gold"), found, "Acc.", "Prec", "Rec")
    notes = tuple(notes_of(fitting))
    sheet = Sheet("table-20", "Table 20. Abstention detection", columns, tuple(rows), notes)
    return [sheet.below(_printed_abstentions())]


def _printed_abstentions() -> list[Row]:
    printed = table("table20_21")
    head = ("CoCoNot", PAPER + printed["model"], "VISTA")
    abstained, other = ((str(printed[name]) for name in names) for names in (("tp", "fn"), ("fp", "tn")))
    first = row(*head, "Abst.", *abstained, "0", str(printed["accuracy"]), None, None)
    return [first, row("", "", "", "No Abst.", *other, "0", "", "", "")]


def table_21(runs: Sequence[RunMeasures]) -> list[Sheet]:
    """Errors by the labels of the turn's claims, a table for each run."""
    fitting = _runs_of_table(runs)
    names, tables = names_of(fitting), []
    printed = {**table("table20_21")["missed"], **table("table20_21")["false_alarms"]}
    heads = (*headings(["error"], "turns"), Heading("nearest of the paper", figures=False), Heading("paper"))
    for run in fitting:
        errors: Counter[str] = Counter()
        for turn, (gold, predicted) in run.answers(Reading.ORIGINAL).items():
            if predicted is not None and predicted is not gold:
                errors[_kind(run.reports[turn], missed=gold)] += 1
        kinds = ((kind, OF_PAPER.get(kind, "")) for kind in (NO_CLAIM, SCOPE, OTHER, PARTIAL, WHOLE))
        rows = [row(kind, str(errors[kind]), paper or None, printed.get(paper)) for kind, paper in kinds]
        title = f"Table 21. Errors of abstention detection: {run.data_set}, {title_of(run.system)}, {names[run.name]}"
        name = file_name("table-21", run.data_set, run.system, names[run.name])
        tables.append(Sheet(name, title, heads, tuple(rows), (NOTE,)))
    return tables


def _runs_of_table(runs: Sequence[RunMeasures]) -> list[RunMeasures]:
    return [run for run in runs if run.task is Task.ABSTAINS and run.answers(Reading.ORIGINAL)]


def _kind(report: TurnReport, *, missed: bool) -> str:
    labels = [finding.label for finding in report.findings]
    if not missed:
        return PARTIAL if any(label is not Label.ABSTENTION for label in labels) else WHOLE
    if not labels:
        return NO_CLAIM
    return SCOPE if all(label is Label.OUT_OF_SCOPE for label in labels) else OTHER


COLUMNS = headings(("data set", "model", "system"), "turns", "claims", "Turn Acc.", "Claim Acc.", "Macro F1")


def table_3(runs: Sequence[RunMeasures]) -> list[Sheet]:
    """Turn accuracy (strict), claim accuracy and macro-F1 on claims that people labelled; the paper's figures below."""
    fitting = [run for run in runs if run.confusion]
    if not fitting:
        return []
    names, rows = names_of(fitting), []
    for name in dict.fromkeys(run.data_set for run in fitting):
        set_runs = [run for run in fitting if run.data_set == name]
        rows += [_majority(set_runs[0]), *(_row(run, names[run.name]) for run in set_runs)]
    notes = (
        "Turns by the strict reading. A claim that was not judged is an error; macro-F1 is over the five labels. The majority is "
        "that of the gold: of turns, and of claims.",
        *notes_of(fitting),
    )
    title = "Table 3. Classification on claims that people labelled"
    return [Sheet("table-3", title, COLUMNS, tuple(rows), notes).below(_printed_claims())]


def _row(run: RunMeasures, name: str) -> Row:
    confusion, turns = run.confusion, run.detection(Reading.STRICT)
    n = f"{turns.turns:,}" if turns is not None else "0"
    figures = map(percent, (accuracy(confusion), macro_f1(confusion)))
    right = turns.accuracy if turns is not None else Share(0, 0)
    return row(run.data_set, name, title_of(run.system), n, f"{confusion.total():,}", _of_n(right, n), *figures)


def _majority(run: RunMeasures) -> Row:
    """Accuracy of always answering the most frequent gold: of turns, and of claims."""
    gold = [positive for positive, _ in run.answers(Reading.STRICT).values()]
    human = [label for _, label, _ in run.claims]
    (label, _), *_rest = Counter(human).most_common(1)
    confusion: Confusion = Counter((gold_label, label) for gold_label in human)
    turns = Share(max(sum(gold), len(gold) - sum(gold)), len(gold)).value
    figures = map(percent, (turns, accuracy(confusion), macro_f1(confusion)))
    return row(run.data_set, "majority", "", f"{len(gold):,}", f"{len(human):,}", *figures)


def _printed_claims() -> list[Row]:
    printed = table("table03")
    counts = (f"{printed['turns']}", f"{table('table01')['total']}")
    majority = [printed["majority"][measure] for measure in ("turn", "claim", "macro_f1")]
    shown = {"majority": majority, **printed["models"]}.items()
    of = {"majority": ""}
    named = ((PAPER + model, of.get(model, "VISTA"), *counts, *map(str, figures)) for model, figures in shown)
    return [row("VISTA, human evaluation", *cells) for cells in named]


def tables_12_to_19(runs: Sequence[RunMeasures], numbers: Collection[int] = ()) -> list[Sheet]:
    """Claims by human and by model label, a table for each run; then the paper's tables with these numbers."""
    fitting = [run for run in runs if run.confusion]
    names = names_of(fitting)
    tables = []
    for run in fitting:
        of = f"{run.data_set}, {title_of(run.system)}, {names[run.name]}"
        name = file_name("confusion", run.data_set, run.system, names[run.name])
        title = f"Claims by human and by model label: {of}"
        tables.append(claim_confusion(name, title, confusion_counts(run.confusion), notes_of([run])))
    chosen_models = [model for model in MODELS if table("table12_19")[model]["number"] in numbers]
    return tables + ([confusions(model) for model in chosen_models] if fitting else [])


Place = tuple[str, str]
"""A column of Table 2: data set and system."""


def table_2(runs: Sequence[RunMeasures]) -> list[Sheet]:
    """Accuracy on turns that cannot be verified, by the data sets' own labels; the paper's figures below."""
    fitting = [run for run in runs if run.task is Task.UNVERIFIABLE and run.answers(Reading.ORIGINAL)]
    if not fitting:
        return []
    places = _places(fitting)
    names = names_of(fitting)
    rows = [_measured_row(label, places, fitting, names) for label in dict.fromkeys(names.values())]
    heads = (Heading(title_of(system), f"{name} (n = {n})") for (name, system), n in places.items())
    columns = (*headings(["model"]), *heads)
    notes = (
        "Superscripts are computed: f better than FActScore, l than LLM-as-Judge, † than both, by McNemar's test on the same "
        "turns with p < .05.",
        "Bold: the highest of a row, if all of its runs on the data set judged the same turns. n in a cell: turns that the run "
        "judged, if not as many as in the heading.",
        *notes_of(fitting),
        *_sizes(fitting),
    )
    title = "Table 2. Turn accuracy on turns that cannot be verified"
    return [Sheet("table-2", title, columns, tuple(rows), notes).below(_printed_turns(places))]


def _places(runs: Sequence[RunMeasures]) -> dict[Place, str]:
    """Columns with the turns of their data set. A data set of the paper always has columns for its three systems."""
    columns: dict[Place, str] = {}
    for name in data_sets_of(runs):
        set_runs = [run for run in runs if run.data_set == name]
        counts = sorted({len(run.answers(Reading.ORIGINAL)) for run in set_runs})
        n = " to ".join(f"{count:,}" for count in dict.fromkeys((counts[0], counts[-1])))
        systems = systems_of(set_runs)
        if paper_set(name):
            systems = list(dict.fromkeys([*table("table02")["systems"], *systems]))
        columns |= {(name, system): n for system in systems}
    return columns


def _measured_row(
    label: str, places: Mapping[Place, str], runs: Sequence[RunMeasures], names: Mapping[str, str]
) -> Row:
    by_place = {(run.data_set, run.system): run for run in runs if names[run.name] == label}
    cells = {}
    for place, run in by_place.items():
        rivals = [other for other in by_place.values() if other.data_set == run.data_set]
        same_turns = len({other.judged(Reading.ORIGINAL) for other in rivals}) == 1
        bold = len(rivals) > 1 and same_turns and _accuracy(run).value >= max(_accuracy(one).value for one in rivals)
        cells[place] = Cell(_of_n(_accuracy(run), places[place]), better_than(run, runs), bold)
    return row(label, *(cells.get(place) for place in places))


def _accuracy(run: RunMeasures) -> Share:
    detection = run.detection(Reading.ORIGINAL)
    return Share(0, 0) if detection is None else detection.accuracy


def _of_n(share: Share, n: str) -> str:
    """A percentage, with its own n where that is not the heading's."""
    return percent(share.value) + (f" (n = {share.n:,})" if f"{share.n:,}" != n else "")


def _printed_turns(places: Mapping[Place, str]) -> list[Row]:
    if not any(paper_set(name) for name, _ in places):
        return []
    cells = {(data_set, model, system): Cell(str(value), mark) for data_set, model, system, value, mark in accuracies()}
    own = [(paper_set(name) or "", system) for name, system in places]
    return [row(PAPER + model, *(cells.get((name, model, system)) for name, system in own)) for model in MODELS]


def _sizes(runs: Sequence[RunMeasures]) -> list[str]:
    sets = dict.fromkeys(paper_name for name in data_sets_of(runs) if (paper_name := paper_set(name)))
    if not sets:
        return []
    counts = ", ".join(f"{name} {table('table02')['turns'][name]:,}" for name in sets)
    return [
        f"The paper's turns: {counts}. Its superscripts are as printed; docs/comparing.md says which its own tests contradict."
    ]


def table_4(runs: Sequence[RunMeasures]) -> list[Sheet]:
    """Ablations: one column for each data set and judge with two settings or more."""
    settings = table("table04")["settings"]
    groups: dict[Place, list[RunMeasures]] = {}
    for run in runs:
        if run.system in settings and run.task is Task.UNVERIFIABLE and run.answers(Reading.ORIGINAL):
            groups.setdefault((run.data_set, run.judge), []).append(run)
    chosen = {place: group for place, group in groups.items() if len({run.system for run in group}) > 1}
    if not chosen:
        return []
    names = table("table04")["names"]

    def turns(group: Sequence[RunMeasures]) -> str:
        return f"{max(len(run.answers(Reading.ORIGINAL)) for run in group):,}"

    sizes = [(group, turns(group)) for group in chosen.values()]
    cells = {system: [_ablation(system, *own) for own in sizes] for system in settings}
    rows = [row(names[system], *cells[system], str(printed)) for system, printed in settings.items()]
    fitting = [run for group in chosen.values() for run in group]
    columns = [Heading(judge, f"{name} (n = {turns(group)})") for (name, judge), group in chosen.items()]
    paper = Heading(table("table04")["model"], f"paper: FaithDial (n = {table('table04')['turns']:,})")
    notes = (
        "Stars: differs from VISTA on the same turns (McNemar); * p < .05, ** p < .01, *** p < .001.",
        *_duplicate_notes(chosen),
        *notes_of(fitting),
    )
    heads = (*headings(["setting"]), *columns, paper)
    return [Sheet("table-4", "Table 4. Turn accuracy on ablations", heads, tuple(rows), notes)]


def _duplicate_notes(groups: Mapping[Place, Sequence[RunMeasures]]) -> Iterator[str]:
    for (name, judge), group in groups.items():
        for system in dict.fromkeys(run.system for run in group):
            first, *more = [run.name for run in group if run.system == system]
            if more:
                yield f"{name}, {judge}, {system}: {first} is taken, and not {', '.join(more)}"


def _ablation(system: str, group: Sequence[RunMeasures], n: str) -> Cell | None:
    by_system = {member.system: member for member in reversed(group)}
    run, full = by_system.get(system), by_system.get("vista")
    if run is None:
        return None
    marks = discordant(run, full, Reading.ORIGINAL).stars if full is not None and full is not run else ""
    return Cell(_of_n(_accuracy(run), n), marks if marks != NOT_SIGNIFICANT else "")


def table_5(runs: Sequence[RunMeasures]) -> list[Sheet]:
    """Contradictions: accuracy, precision, recall and F1; the paper's figures below."""
    fitting = [run for run in runs if run.task is Task.CONTRADICTS and run.answers(Reading.ORIGINAL)]
    if not fitting:
        return []
    names = names_of(fitting)
    systems = systems_of(fitting)
    ordered = sorted(fitting, key=lambda run: (list(names.values()).index(names[run.name]), systems.index(run.system)))
    rows = [_contradictions(run, names[run.name]) for run in ordered]
    printed = table("table05")
    n = str(printed["contradictory"] + printed["other"])
    printed_rows = ((model, *one) for model, own in printed["models"].items() for one in own.items())
    paper = [row(PAPER + model, title_of(name), "RGM", n, *map(str, values)) for model, name, values in printed_rows]
    columns = headings(("model", "method", "data set"), "n", "Acc.", "Prec", "Rec", "F1")
    title = "Table 5. Contradiction detection: some claim of the turn is CONTRADICTED"
    return [Sheet("table-5", title, columns, tuple(rows), tuple(notes_of(fitting))).below(paper)]


def _contradictions(run: RunMeasures, name: str) -> Row:
    detection = run.detection(Reading.ORIGINAL)
    assert detection is not None  # only runs with gold are here
    figures = (detection.accuracy.value, detection.precision.value, detection.recall.value, detection.f1)
    of_all = f" of {detection.turns:,}" if detection.unchecked else ""
    n = f"{detection.judged:,}{of_all}"
    return row(name, title_of(run.system), run.data_set, n, *(percent(figure, 1) for figure in figures))


SIGNIFICANCE_NOTES = (
    "Δ: accuracy of the first less that of the second, in percent, over the n turns that both judged; b: turns that the first "
    "alone has right, c: that the second alone has. p: McNemar's exact test, two-sided. Holm: p corrected for the number of "
    "tests in this table.",
    "* p < .05, ** p < .01, *** p < .001, ns: else.",
)
PRINTED_ROWS = "Of the paper's rows n is its sample; p is as printed, and Δ and the pairs are of different items there."

SIGNIFICANCE_COLUMNS = headings(("model", "comparison"), "n", "Δ", "p", "sig.", ("Holm", "p", "sig."), "b", "c")


def tables_8_to_11(runs: Sequence[RunMeasures]) -> list[Sheet]:
    """A table for each data set with at least two runs, with the paper's rows below where it has the data set.

    Compares systems of one judge, one system with several judges, and all runs with systems that ask no judge.
    """
    tables = []
    for name in data_sets_of(runs):
        set_runs = [run for run in runs if run.data_set == name and run.answers(run.reading)]
        rows = _significance_rows(list(_pairs(set_runs)), names_of(set_runs))
        if rows:
            paper_name = paper_set(name)
            number = f"Table {table('table08_11')[paper_name]['number']}. " if paper_name else ""
            title = f"{number}{name}: {table('table08_11')['title']}"
            notes = (*SIGNIFICANCE_NOTES, *([PRINTED_ROWS] if paper_name else []), *notes_of(set_runs))
            sheet = Sheet(file_name("significance", name), title, SIGNIFICANCE_COLUMNS, tuple(rows), notes)
            tables.append(sheet.below(_paper_rows(paper_name) if paper_name else []))
    return tables


def _pairs(runs: Sequence[RunMeasures]) -> Iterator[tuple[RunMeasures, RunMeasures]]:
    order = systems_of(runs)
    ranked = sorted(runs, key=lambda run: order.index(run.system))
    for pair in combinations(ranked, 2):
        first, second = pair
        asks_nobody = any(run.judge == run.system for run in pair)
        if first.judge == second.judge or first.system == second.system or asks_nobody:
            yield pair


def _significance_rows(pairs: Sequence[tuple[RunMeasures, RunMeasures]], names: Mapping[str, str]) -> list[Row]:
    tests = [discordant(first, second, first.reading) for first, second in pairs]
    corrected = iter(holm([test.p for test in tests if test.n]))
    both = zip(pairs, tests, strict=True)
    return [_significance_row(pair, test, next(corrected) if test.n else None, names) for pair, test in both]


def _significance_row(
    pair: tuple[RunMeasures, RunMeasures], test: Discordant, corrected: float | None, names: Mapping[str, str]
) -> Row:
    left, right = (names[run.name] for run in pair)
    systems = " – ".join(title_of(run.system) for run in pair)
    model = left if left == right else f"{left} / {right}"
    known = [] if corrected is None else [test.p, corrected]
    p = [text for one in known for text in (f"{one:.6f}", stars(one))] or [NOTHING] * 4
    return row(model, systems, f"{test.n:,}", percent(test.difference), *p, f"{test.first}", f"{test.second}")


def _paper_rows(data_set: str) -> list[Row]:
    turns = f"{table('table02')['turns'][data_set]:,}"
    return [
        row(PAPER + difference.model, f"{title_of(difference.first)} – {title_of(difference.second)}", turns,
            str(difference.difference), str(difference.p), difference.stars, None, None, str(difference.only_first),
            str(difference.only_second))
        for difference in differences()
        if difference.data_set == data_set
    ]  # fmt: skip


NUMBERS = (2, 3, 4, 5, *range(8, 22))
"""The paper's tables that runs can fill. Tables 1, 6 and 7 come from annotations."""


def sheets(runs: Sequence[RunMeasures], asked: Collection[int] | None = None) -> tuple[list[Sheet], list[str]]:
    """The overview and the tables by number, and messages about requested ones that no run fills.

    `asked` are numbers of tables; all when None. Raises InputError: runs on one data set cannot be compared.
    """
    check_comparable(runs)
    tables, empty = [overview(runs), *(claim_scores(runs) if asked is None else [])], []
    for table_numbers, fill, need in _FILLERS:
        if asked is None or not {*asked}.isdisjoint(table_numbers):
            filled = tables_12_to_19(runs, asked or ()) if fill is tables_12_to_19 else fill(runs)
            tables += filled
            if not filled and asked is not None:
                name = f"{table_numbers[0]} to {table_numbers[-1]}" if len(table_numbers) > 1 else f"{table_numbers[0]}"
                empty.append(f"no run fills Table {name}: it needs {need}")
    return tables, empty


_FILLERS: Sequence[tuple[Sequence[int], Callable[[Sequence[RunMeasures]], list[Sheet]], str]] = (
    ([2], table_2, "a data set of unverifiable turns with labels of its own"),
    ([3], table_3, "claims that people labelled, judged with --claims given"),
    ([4], table_4, "two of vista, no-ac, no-history and zero-shot, with one judge on one data set"),
    ([5], table_5, "a data set of contradictions"),
    (range(8, 12), tables_8_to_11, "two runs on one data set"),
    (range(12, 20), tables_12_to_19, "claims that people labelled, judged with --claims given"),
    ([20], table_20, "a data set of abstentions"),
    ([21], table_21, "a data set of abstentions"),
)
"""Numbers of tables, the function that fills them, and what it needs of the runs."""


def _fill(runs: Sequence[RunMeasures], asked: Collection[int] | None, _scores: Sequence[Path]) -> Filled:
    return Filled(*sheets(runs, asked), lambda folder: draw(runs, folder))


TABLES = PaperTables(NUMBERS, "Tables 1, 6 and 7 come from annotations: see vista-guard agree", _fill)
"""For `vista-guard compare`."""


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
    body: list[Row] = [row(name, *map(str, counts)) for name, counts in zip([*labels, "Total"], rows, strict=True)]
    return Sheet(name, title, heads, tuple(body), tuple(notes), frozenset({len(labels)}))
