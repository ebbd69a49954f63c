"""KnowMT-Bench's experiments: settings of one model side by side, on the items that all of them have, and other judges.

Tables 3 (retrieval), 4 (mitigations), 19 (longest answer), 20 (drift), Figures 6 to 9 (budget, form, histories of others, noise);
Tables 9 and 10 (the same answers under another decomposer or judge).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from statistics import fmean

import numpy as np

from vista_lab.metrics.delivery import Delivery, DeliveryFigures, PairReading, delivery, figures
from vista_lab.metrics.intervals import mean_interval
from vista_lab.runs.dialogues.scored import Cohort
from vista_lab.runs.dialogues.settings import DialogueSetting, read_setting
from vista_lab.tables.writers import Cell, Row, Sheet, decimals, file_name, headings, percent, row

MOST_TOKENS = "19"
"""The table whose rows differ in the longest answer, not in the setting."""


BRIEF = ("answers", "S_f", "95 %", "S_h ↓", "95 %", "D_f ↓", "D_h")
"""Heads of figures, where a table has no more."""


@dataclass(frozen=True)
class Experiment:
    """Settings that the paper compares. `parts`: those that vary, the first of which makes a setting one of the experiment."""

    name: str
    title: str
    parts: tuple[str, ...]


EXPERIMENTS = (
    Experiment("3", "Table 3. With and without retrieval", ("rag",)),
    Experiment("4", "Table 4. Mitigations", ("mitigate",)),
    Experiment(MOST_TOKENS, "Table 19. The longest answer", ()),
    Experiment("20", "Table 20. Topic drift", ("drift",)),
    Experiment("fig6", "Figure 6. Words of history", ("budget",)),
    Experiment("fig7", "Figure 7. History in one message", ("concat",)),
    Experiment("fig8", "Figure 8. The history of another", ("swap", "static")),
    Experiment("fig9", "Figure 9. Noise in the turn before", ("noise", "concat")),
)


@dataclass(frozen=True)
class Compared:
    """One setting of an experiment on the items that all of its settings have.

    Attributes:
        label: of the row.
        base: it is what the others are compared with.
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
        found = self.figures
        return {"S_f": 100 * found.s_f, "S_h": 100 * found.s_h, "D_f": found.d_f.mean, "D_h": found.d_h.mean}


SIGNS = {"S_f": 1, "S_h": -1, "D_f": -1, "D_h": 1}
"""Which way is better."""


def compared(cohorts: Sequence[Cohort], one: Experiment, reading: PairReading) -> Iterator[list[Compared]]:
    """The rows of an experiment, model by model; none for a model that has no two settings of it."""
    for model in dict.fromkeys(cohort.model for cohort in cohorts):
        own = [cohort for cohort in cohorts if cohort.model == model]
        chosen = list(_lengths(own) if one.name == MOST_TOKENS else _chosen(own, one))
        shared = set.intersection(*(set(cohort.by_id) for cohort, *_ in chosen)) if chosen else set()
        if shared and len(chosen) > 1 and not all(base for *_, base in chosen):
            rows = [_row(cohort, label, base, shared, reading) for cohort, label, base in chosen]
            yield [replace(each, better=_better(each, rows)) for each in rows]


def _chosen(cohorts: Sequence[Cohort], one: Experiment) -> Iterator[tuple[Cohort, str, bool]]:
    """Those without any part first, then those with the experiment's alone."""
    main = set(one.parts) - {"concat"} or set(one.parts)
    for base in (True, False):
        for cohort in cohorts:
            has = _parts(read_setting(cohort.setting))
            if (
                (base and not has)
                or (base and has <= set(one.parts) - main and has)
                or (not base and has & main and has <= set(one.parts))
            ):
                yield cohort, cohort.setting, base


def _parts(setting: DialogueSetting) -> set[str]:
    return {
        one.name for one in fields(setting) if one.name not in ("history", "guard_at") and getattr(setting, one.name)
    }


def _lengths(cohorts: Sequence[Cohort]) -> Iterator[tuple[Cohort, str, bool]]:
    """Settings that were asked with several limits; the smallest is the base."""
    for setting in dict.fromkeys(one.setting for one in cohorts):
        own = sorted((one for one in cohorts if one.setting == setting), key=lambda one: one.most_tokens)
        if own[0].most_tokens != own[-1].most_tokens:
            for one in own:
                yield one, f"{setting}, {one.most_tokens:,} tokens", one.most_tokens == own[0].most_tokens


def _row(cohort: Cohort, label: str, base: bool, shared: set[str], reading: PairReading) -> Compared:
    answers = [answer for name, answer in cohort.by_id.items() if name in shared]
    each = [delivery(one, reading) for one in answers]
    history = read_setting(cohort.setting).history
    intervals = (share_interval([one.s_f for one in each], each), share_interval([one.s_h for one in each], each))
    return Compared(cohort, label, base, history, figures(answers, reading), intervals)


def share_interval(values: Sequence[float], each: Sequence[Delivery]) -> tuple[float, float]:
    """95 % of a mean over answers, drawing items."""
    return mean_interval([one.id for one in each], values)


def range_text(interval: tuple[float, float]) -> str:
    """An interval of shares in percent."""
    low, high = interval
    return f"{100 * low:.1f}–{100 * high:.1f}"


def _better(one: Compared, rows: Sequence[Compared]) -> frozenset[str]:
    bases = [base for base in rows if base.base and base.history == one.history and base is not one]
    return frozenset(
        name
        for name, value in one.values.items()
        if value is not None
        and not one.base
        and bases
        and all((own := base.values[name]) is not None and SIGNS[name] * (value - own) > 0 for base in bases)
    )


def experiment_sheets(
    cohorts: Sequence[Cohort], asked: frozenset[str] | None, where: str, reading: PairReading
) -> Iterator[Sheet]:
    """A table for each experiment of `asked` that the cohorts fill; of all when None. `where` is set and judge, for titles."""
    for one in EXPERIMENTS:
        groups = list(compared(cohorts, one, reading)) if asked is None or one.name in asked else []
        if groups:
            yield _sheet(one, groups, where)


def _sheet(one: Experiment, groups: Sequence[Sequence[Compared]], where: str) -> Sheet:
    first = groups[0][0].cohort
    columns = headings(("run", "model", "setting"), *BRIEF)
    rows = tuple(_cells(each, group) for group in groups for each in group)
    rules = frozenset(np.cumsum([len(group) for group in groups])[:-1].tolist())
    note = (
        "On the items that all rows of a model have. Underlined: better than without, in the same history; bold: best of several "
        "dialogues with it."
    )
    oracle = ["oracle: retrieved from the reference answers"] if any(e.cohort.oracle for g in groups for e in g) else []
    name = file_name(one.title.split(".")[0], first.data, first.decomposer, first.judge)
    return Sheet(name, f"{one.title} ({where})", columns, rows, (note, *oracle), rules)


def _cells(one: Compared, group: Sequence[Compared]) -> Row:
    rivals = [each for each in group if not each.base and each.history == "multi"]

    def cell(name: str) -> Cell:
        value = one.values[name]
        known = [own for each in rivals if (own := each.values[name]) is not None]
        best = (
            len(rivals) > 1 and one in rivals and value == max(known, key=lambda own: SIGNS[name] * own, default=None)
        )
        text = decimals(value, 2 if name.startswith("S") else 1)
        return Cell(text, bold=best and value is not None, underlined=name in one.better)

    s_f, s_h = map(range_text, one.intervals)
    return row(
        one.cohort.run,
        one.cohort.model,
        one.label,
        one.figures.answers,
        cell("S_f"),
        s_f,
        cell("S_h"),
        s_h,
        cell("D_f"),
        cell("D_h"),
    )


FEWEST = 3
"""Rows that a correlation is taken of at least."""


def other_judges(cohorts: Sequence[Cohort], asked: frozenset[str] | None, reading: PairReading) -> list[Sheet]:
    """Tables 9 and 10: the same answers under another decomposer or judge; none where all were judged in one way."""
    if asked is not None and not asked & {"9", "10"}:
        return []
    found: list[Sheet] = []
    for data in dict.fromkeys((one.data, one.counter) for one in cohorts):
        own = [one for one in cohorts if (one.data, one.counter) == data and one.by_id]
        ways = list(dict.fromkeys((one.decomposer, one.judge) for one in own))
        answers: dict[tuple[str, str, str], dict[tuple[str, str], Cohort]] = {}
        for one in own:
            answers.setdefault((one.run, one.model, one.setting), {})[one.decomposer, one.judge] = one
        several = {place: by for place, by in answers.items() if len(by) > 1}
        if several:
            found += [*_rankings(several, ways, reading), _configurations(several, ways, reading)]
    return found


Ways = Mapping[tuple[str, str, str], Mapping[tuple[str, str], Cohort]]


def _mean(one: Cohort, shared: set[str], reading: PairReading) -> float:
    return fmean(delivery(answer, reading).s_f for name, answer in one.by_id.items() if name in shared)


def _rankings(several: Ways, ways: Sequence[tuple[str, str]], reading: PairReading) -> list[Sheet]:
    """S_f under the first way beside each other one: correlation of values and of ranks."""
    from scipy.stats import pearsonr, spearmanr  # type: ignore[import-untyped]

    rows = []
    for way in ways[1:]:
        both = [(by[ways[0]], by[way]) for by in several.values() if ways[0] in by and way in by]
        shared = [(one, other, set(one.by_id) & set(other.by_id)) for one, other in both]
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
        shared = set.intersection(*(set(one.by_id) for one in by.values()))
        for way in ways:
            if way in by and shared:
                one = _row(by[way], "", True, shared, reading)
                s_f, s_h = map(range_text, one.intervals)
                found = one.figures
                costs = (decimals(one.values[name], 1) for name in ("D_f", "D_h"))
                shares = (percent(found.s_f), s_f, percent(found.s_h), s_h)
                rows.append(row(*place, " and ".join(way), found.answers, *shares, *costs))
    heads = headings(("run", "model", "setting", "decomposer and judge"), *BRIEF)
    note = "The same answers, on the items that every decomposer and judge judged whole."
    return Sheet(file_name("configurations"), "Table 10. Other decomposers and judges", heads, tuple(rows), (note,))
