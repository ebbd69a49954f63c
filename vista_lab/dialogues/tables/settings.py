"""KnowMT-Bench's experiments: settings of one model side by side, on the items that all of them have, and other judges.

Tables 3 (retrieval), 4 (mitigations), 19 (longest answer), 20 (drift), Figures 6 to 9 (budget, form, histories of others, noise);
Tables 9 and 10 (the same answers under another decomposer or judge).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

import numpy as np

from vista_lab.dialogues.delivery import Delivery, DeliveryFigures, PairReading, delivery, figures
from vista_lab.dialogues.records import CUT_OFF
from vista_lab.dialogues.scored import Cohort
from vista_lab.dialogues.settings import DialogueSetting, read_setting
from vista_lab.metrics.intervals import mean_interval
from vista_lab.papers import part
from vista_lab.tables.writers import NOTHING, PAPER, Cell, Row, Sheet, decimals, file_name, headings, percent, row

SAME_MODEL = {3: "Qwen-2.5-7B", 4: "Qwen-2.5-32B", 19: "QwQ-32B", 20: "Qwen-2.5-7B"}
"""Tables of one model in several settings, of S_f, S_h, D_f and D_h; `single` and `multi` are in Table 12, too."""

MOST_TOKENS = "19"
"""The table whose rows differ in the longest answer, not in the setting."""


BRIEF = ("answers", "S_f", "95 %", "S_h ↓", "95 %", "D_f ↓", "D_h")
"""Headings of the short tables' figures."""


@dataclass(frozen=True)
class Experiment:
    """Settings that the paper compares. `parts`: the fields of `DialogueSetting` that vary."""

    name: str
    title: str
    parts: tuple[str, ...]

    @property
    def printed(self) -> list[Row]:
        """The paper's rows; none of a figure, which prints no numbers."""
        if not self.name.isdigit():
            return []
        model = SAME_MODEL[int(self.name)]
        rows = part("knowmt", f"table{int(self.name):02}")
        return [paper_row(("", PAPER + model, setting), figures) for setting, figures in rows.items()]


def paper_row(names: Sequence[str], figures: Sequence[object]) -> Row:
    """A row of the paper's S_f, S_h, D_f and D_h, under `BRIEF`."""
    s_f, s_h, d_f, d_h = map(str, figures)
    return row(*names, None, s_f, None, s_h, None, d_f, d_h)


EXPERIMENTS = (
    Experiment("3", "Table 3. With and without retrieval", ("rag",)),
    Experiment("4", "Table 4. Mitigations", ("mitigate",)),
    Experiment(MOST_TOKENS, "Table 19. The longest answer", ()),
    Experiment("20", "Table 20. Topic drift", ("drift",)),
    Experiment("fig6", "Figure 6. Tokens of history", ("budget",)),
    Experiment("fig7", "Figure 7. History in one message", ("concat",)),
    Experiment("fig8", "Figure 8. The history of another", ("swap", "static")),
    Experiment("fig9", "Figure 9. Noise in the turn before", ("noise", "concat")),
)


@dataclass(frozen=True)
class ComparedSetting:
    """One setting of an experiment on the items that all of its settings have.

    Attributes:
        label: of the row.
        base: True for a setting that the others are compared with.
        history: `single` or `multi`.
        figures: on these items.
        intervals: 95 % of S_f and S_h.
        better: figures by name that are better than those of the base with the same history.
    """

    cohort: Cohort
    label: str
    base: bool
    history: str
    figures: DeliveryFigures
    intervals: tuple[tuple[float, float], tuple[float, float]]
    better: frozenset[str] = frozenset()

    @property
    def values(self) -> Mapping[str, float | None]:
        """S_f and S_h in percent, D_f and D_h in tokens."""
        means = self.figures
        return {"S_f": 100 * means.s_f, "S_h": 100 * means.s_h, "D_f": means.d_f.mean, "D_h": means.d_h.mean}


SIGNS = {"S_f": 1, "S_h": -1, "D_f": -1, "D_h": 1}
"""1 where more is better, -1 where less is."""


def comparisons(cohorts: Sequence[Cohort], one: Experiment, reading: PairReading) -> Iterator[list[ComparedSetting]]:
    """An experiment's rows for each model that has at least two of its settings."""
    for model in dict.fromkeys(cohort.model for cohort in cohorts):
        of_model = [cohort for cohort in cohorts if cohort.model == model]
        chosen = list(_lengths(of_model) if one.name == MOST_TOKENS else _compared_settings(of_model, one))
        shared = set.intersection(*(set(cohort.by_id) for cohort, *_ in chosen)) if chosen else set()
        if shared and len(chosen) > 1 and not all(base for *_, base in chosen):
            rows = [_row(cohort, label, base, shared, reading) for cohort, label, base in chosen]
            yield [replace(each, better=_better(each, rows)) for each in rows]


def _compared_settings(cohorts: Sequence[Cohort], experiment: Experiment) -> Iterator[tuple[Cohort, str, bool]]:
    """Cohort, label and whether it is a base: the bases first, then settings with the experiment's parts alone."""
    main = set(experiment.parts) - {"concat"} or set(experiment.parts)
    for base in (True, False):
        for cohort in cohorts:
            has = _parts(read_setting(cohort.setting))
            if (
                (base and not has)
                or (base and has <= set(experiment.parts) - main and has)
                or (not base and has & main and has <= set(experiment.parts))
            ):
                yield cohort, cohort.setting, base


def _parts(setting: DialogueSetting) -> set[str]:
    return {name for name, value in vars(setting).items() if value and name not in ("history", "guard_at")}


def _lengths(cohorts: Sequence[Cohort]) -> Iterator[tuple[Cohort, str, bool]]:
    """Settings run with several limits of tokens; the smallest is the base."""
    for setting in dict.fromkeys(cohort.setting for cohort in cohorts):
        own = sorted((one for one in cohorts if one.setting == setting), key=lambda one: one.most_tokens)
        least = own[0].most_tokens
        if own[-1].most_tokens != least:
            yield from ((one, f"{setting}, {one.most_tokens:,} tokens", one.most_tokens == least) for one in own)


def _row(cohort: Cohort, label: str, base: bool, shared: set[str], reading: PairReading) -> ComparedSetting:
    answers = [answer for name, answer in cohort.by_id.items() if name in shared]
    deliveries = [delivery(item, reading) for item in answers]
    history = read_setting(cohort.setting).history
    values = ([item.s_f for item in deliveries], [item.s_h for item in deliveries])
    s_f, s_h = (interval_over_items(own, deliveries) for own in values)
    intervals = s_f, s_h
    return ComparedSetting(cohort, label, base, history, figures(answers, reading), intervals)


def interval_over_items(values: Sequence[float], each: Sequence[Delivery]) -> tuple[float, float]:
    """95 % interval of a mean over answers, drawing items."""
    return mean_interval([item.id for item in each], values)


def range_text(interval: tuple[float, float]) -> str:
    """An interval of shares in percent; a dash where all draws came to one figure, which says nothing of chance."""
    low, high = interval
    return f"{100 * low:.1f}–{100 * high:.1f}" if low < high else NOTHING


def _better(setting: ComparedSetting, rows: Sequence[ComparedSetting]) -> frozenset[str]:
    bases = [base for base in rows if base.base and base.history == setting.history]
    if setting.base or not bases:
        return frozenset()

    def gains(name: str, value: float | None, other: float | None) -> bool:
        return value is not None and other is not None and SIGNS[name] * (value - other) > 0

    values = setting.values.items()
    return frozenset(name for name, value in values if all(gains(name, value, base.values[name]) for base in bases))


def experiment_sheets(
    cohorts: Sequence[Cohort], asked: frozenset[str] | None, where: str, reading: PairReading
) -> Iterator[Sheet]:
    """A table for each experiment of `asked` that the cohorts fill; of all when None. `where` is set and judge, for titles."""
    for experiment in EXPERIMENTS:
        groups = list(comparisons(cohorts, experiment, reading)) if asked is None or experiment.name in asked else []
        if groups:
            yield _sheet(experiment, groups, where)


def _sheet(experiment: Experiment, groups: Sequence[Sequence[ComparedSetting]], where: str) -> Sheet:
    first = groups[0][0].cohort
    columns = headings(("run", "model", "setting"), *BRIEF)
    rows = tuple(_cells(setting, group) for group in groups for setting in group)
    rules = frozenset(np.cumsum([len(group) for group in groups])[:-1].tolist())
    note = (
        "On the items that all rows of a model have. Underlined: better than without, in the same history; bold: best of several "
        "dialogues with it."
    )
    settings = [setting for group in groups for setting in group]
    oracle = ["oracle: retrieved from the reference answers"] if any(one.cohort.oracle for one in settings) else []
    notes = (note, *oracle, *_abstention_notes(settings), *_budget_notes(settings))
    cuts = cut_notes([setting.cohort for setting in settings])
    name = file_name(experiment.title.split(".")[0], first.data, first.decomposer, first.judge)
    sheet = Sheet(name, f"{experiment.title} ({where})", columns, rows, (*notes, *cuts), rules)
    return sheet.below(experiment.printed)


def _abstention_notes(settings: Sequence[ComparedSetting]) -> Iterator[str]:
    for setting in settings:
        if count := setting.figures.abstentions:
            yield f"{setting.cohort.model}, {setting.label}: {count} abstentions, in no D"


def _budget_notes(settings: Sequence[ComparedSetting]) -> Iterator[str]:
    for setting in settings:
        left = [line.history for line in setting.cohort.lines.values() if line.history is not None]
        if left:
            messages, tokens = (fmean(counts) for counts in zip(*left, strict=True))
            left_over = f"{messages:.1f} messages and {tokens:.0f} tokens ({setting.cohort.budgeted_by})"
            yield f"{setting.cohort.model}, {setting.label}: {left_over} of history in the mean"


def cut_remark(cohort: Cohort) -> str:
    """Answers cut at the token limit, and what became of them; empty where there is no limit."""
    count = sum(line.cut for line in cohort.lines.values()) + cohort.missing.get(CUT_OFF, 0)
    if not count and not cohort.most_tokens:
        return ""
    limit = f"{cohort.most_tokens:,} tokens" if cohort.most_tokens else "the limit"
    return f"{count} cut at {limit}, {'counted as they are' if cohort.cut == 'count' else 'dropped'}"


def cut_notes(cohorts: Iterable[Cohort]) -> list[str]:
    """The remarks on answers that were cut, for tables that have no others; each cohort once."""
    remarks = {cohort.title: remark for cohort in cohorts if (remark := cut_remark(cohort))}
    return [f"{name}: {remark}" for name, remark in remarks.items() if not remark.startswith("0 ")]


def _cells(setting: ComparedSetting, group: Sequence[ComparedSetting]) -> Row:
    rivals = [rival for rival in group if not rival.base and rival.history == "multi"]

    def cell(name: str) -> Cell:
        value = setting.values[name]
        of_rivals = [one for rival in rivals if (one := rival.values[name]) is not None]
        best = max(of_rivals, key=lambda one: SIGNS[name] * one, default=None)
        bold = len(rivals) > 1 and setting in rivals and value is not None and value == best
        text = decimals(value, 2 if name.startswith("S") else 1)
        return Cell(text, bold=bold, underlined=name in setting.better)

    s_f, s_h = map(range_text, setting.intervals)
    names = (setting.cohort.run, setting.cohort.model, setting.label)
    return row(*names, setting.figures.answers, cell("S_f"), s_f, cell("S_h"), s_h, cell("D_f"), cell("D_h"))


FEWEST = 3
"""Fewest rows for a correlation or a line."""


def other_judges(cohorts: Sequence[Cohort], asked: frozenset[str] | None, reading: PairReading) -> list[Sheet]:
    """Tables 9 and 10: the same answers under another decomposer or judge; none where all were judged in one way."""
    if asked is not None and not asked & {"9", "10"}:
        return []
    tables: list[Sheet] = []
    for data in dict.fromkeys((cohort.data, cohort.counter) for cohort in cohorts):
        same_data = [cohort for cohort in cohorts if (cohort.data, cohort.counter) == data and cohort.by_id]
        ways = list(dict.fromkeys((cohort.decomposer, cohort.judge) for cohort in same_data))
        answers: dict[tuple[str, str, str], dict[tuple[str, str], Cohort]] = {}
        for cohort in same_data:
            answers.setdefault((cohort.run, cohort.model, cohort.setting), {})[cohort.decomposer, cohort.judge] = cohort
        several = {place: by for place, by in answers.items() if len(by) > 1}
        if several:
            tables += [*_rankings(several, ways, reading), _configurations(several, ways, reading)]
    return tables


Ways = Mapping[tuple[str, str, str], Mapping[tuple[str, str], Cohort]]


def _mean(cohort: Cohort, shared: set[str], reading: PairReading) -> float:
    return fmean(delivery(answer, reading).s_f for name, answer in cohort.by_id.items() if name in shared)


def _rankings(several: Ways, ways: Sequence[tuple[str, str]], reading: PairReading) -> list[Sheet]:
    """Correlation of S_f, by value and by rank, under the first decomposer and judge and under each other pair."""
    from scipy.stats import pearsonr, spearmanr  # type: ignore[import-untyped]

    rows = []
    for way in ways[1:]:
        pairs = [(by[ways[0]], by[way]) for by in several.values() if ways[0] in by and way in by]
        shared = [(one, other, set(one.by_id) & set(other.by_id)) for one, other in pairs]
        points = [(_mean(one, names, reading), _mean(other, names, reading)) for one, other, names in shared if names]
        if len(points) >= FEWEST and all(len(set(values)) > 1 for values in zip(*points, strict=True)):
            first, second = zip(*points, strict=True)
            r, rho = float(pearsonr(first, second).statistic), float(spearmanr(first, second).statistic)
            rows.append(row(" and ".join(ways[0]), " and ".join(way), len(points), f"{r:.3f}", f"{rho:.3f}"))
    heads = headings(("first", "other"), "rows", "Pearson r", "Spearman ρ")
    title = "Table 9. S_f under another decomposer or judge"
    note = "Over rows of models and settings, each on the items that both judged whole. Few rows tell little."
    return [Sheet(file_name("rankings"), title, heads, tuple(rows), (note,))] if rows else []


def _configurations(several: Ways, ways: Sequence[tuple[str, str]], reading: PairReading) -> Sheet:
    rows = []
    for place, by in several.items():
        shared = set.intersection(*(set(cohort.by_id) for cohort in by.values()))
        for way in ways:
            if way in by and shared:
                result = _row(by[way], "", True, shared, reading)
                s_f, s_h = map(range_text, result.intervals)
                means = result.figures
                costs = (decimals(result.values[name], 1) for name in ("D_f", "D_h"))
                shares = (percent(means.s_f), s_f, percent(means.s_h), s_h)
                rows.append(row(*place, " and ".join(way), means.answers, *shares, *costs))
    heads = headings(("run", "model", "setting", "decomposer and judge"), *BRIEF)
    note = "The same answers, on the items that every decomposer and judge judged whole."
    return Sheet(file_name("configurations"), "Table 10. Other decomposers and judges", heads, tuple(rows), (note,))
