"""KnowMT-Bench's tables from runs of dialogues, and what a guard before the assistant changes.

Figures (Table 12), the change from one setting to another (Tables 14 to 18), by number of turns (Fig. 5) and by domain (Table 2).
Cohorts stand in one table only where data, decomposer, judge and counter of tokens are the same.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import inf, isfinite, nan
from statistics import fmean
from typing import Any

import numpy as np

from vista_guard._extras import require
from vista_guard.errors import ConfigError
from vista_guard.types import Action
from vista_lab.metrics.delivery import (
    Cost,
    Delivery,
    DeliveryFigures,
    JudgedAnswer,
    PairReading,
    delivery,
    figures,
    filled,
)
from vista_lab.metrics.intervals import bootstrap_interval, stars
from vista_lab.runs.dialogues.scored import Cohort
from vista_lab.tables.knowmt_settings import (
    BRIEF,
    EXPERIMENTS,
    experiment_sheets,
    other_judges,
    range_text,
    share_interval,
)
from vista_lab.tables.writers import NOTHING, Cell, Row, Sheet, decimals, file_name, headings, percent, row

NUMBERS = ("2", "12", "13", "14", "9", "10", "fig4", "fig5", "guard", *(one.name for one in EXPERIMENTS))
"""Of the paper's tables and figures that runs fill; 14 stands for 14 to 18, which are its tests one by one, fig4 also for 14."""
SIGNIFICANT = 0.05

NOTES = (
    "S_f, S_h: means of each answer's harmonic mean, in percent; brackets: 95 %, drawing items. ↓: less is better.",
    "D: tokens a fact told (D_f) or contradicted (D_h), over the share told (D_R); behind it the share of answers that have no "
    "such fact, and count with the largest cost of the others. Pooled: all tokens over all such facts, which no cohort moves.",
    "Unjudged answers stand in no mean: bounds say what S_f and S_h could be with them.",
)


@dataclass(frozen=True)
class DeliveryMeasure:
    """A figure of one answer. `sign`: which way the paper expects it to go from one question to a dialogue (App. H.2)."""

    name: str
    of: Callable[[Delivery], float]
    share: bool = True
    sign: int = 1


MEASURES = (
    DeliveryMeasure("S_f", lambda one: one.s_f, sign=-1),
    DeliveryMeasure("R_f", lambda one: one.r_f, sign=-1),
    DeliveryMeasure("P_f", lambda one: one.p_f, sign=-1),
    DeliveryMeasure("S_h", lambda one: one.s_h),
    DeliveryMeasure("R_m", lambda one: one.r_m),
    DeliveryMeasure("P_fc", lambda one: one.p_fc),
    DeliveryMeasure("D_f", lambda one: one.d_f, share=False),
    DeliveryMeasure("D_h", lambda one: one.d_h, share=False),
    DeliveryMeasure("D_R", lambda one: one.d_r, share=False),
    DeliveryMeasure("tokens", lambda one: float(one.tokens), share=False),
)
_BY_NAME = {one.name: one for one in MEASURES}


@dataclass(frozen=True)
class Change:
    """One measure before and after, on the same items.

    Attributes:
        before, after: means; infinite where no answer has such a fact.
        interval: 95 % of the difference, drawing items.
        p: Wilcoxon's signed-rank test on the pairs; 1.0 where no pair differs.
        items: pairs.
    """

    measure: DeliveryMeasure
    before: float
    after: float
    interval: tuple[float, float]
    p: float
    items: int

    @property
    def difference(self) -> float:
        return self.after - self.before if isfinite(self.before) and isfinite(self.after) else nan


def sheets(
    cohorts: Sequence[Cohort], asked: frozenset[str] | None = None, reading: PairReading = PairReading.CODE
) -> list[Sheet]:
    """The tables that cohorts fill: those of `asked`, names of `NUMBERS`; all but 13 when None."""
    makers: Mapping[str, Callable[[Sequence[Cohort], str, PairReading], list[Sheet]]] = {
        "12": _delivery, "13": _overlap, "14": _changes, "2": _parts, "fig5": _by_turns, "fig4": _relations, "guard": _guarded,
    }  # fmt: skip
    found: list[Sheet] = []
    known = sorted((one for one in cohorts if one.by_id), key=lambda one: one.judged_by)
    for judged_by, together in groupby(known, key=lambda one: one.judged_by):
        group = list(together)
        where = f"{judged_by[1]} and {judged_by[2]} on data {judged_by[0]}, tokens: {judged_by[3]}"
        for name, make in makers.items():
            if name in asked if asked is not None else name != "13":
                found += make(group, where, reading)
        found += experiment_sheets(group, asked, where, reading)
    return [*found, *other_judges(known, asked, reading)]


def numbers(asked: str) -> frozenset[str]:
    """The tables in a list such as `2,12,fig9`.

    Raises:
        ConfigError: runs fill no table of that number.
    """
    found = frozenset(part.strip() for part in asked.split(","))
    if unknown := sorted(found - set(NUMBERS)):
        raise ConfigError(
            f"--tables has {unknown[0]!r}; of KnowMT-Bench runs fill {', '.join(NUMBERS)} (14 with 15 to 18, fig4 with 14)"
        )
    return found


def _names(cohorts: Sequence[Cohort]) -> tuple[str, ...]:
    """Heads of the columns that tell cohorts apart: the run only where there are several."""
    return ("run", "model", "setting") if len({one.run for one in cohorts}) > 1 else ("model", "setting")


def _place(cohort: Cohort, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(getattr(cohort, name)) for name in names)


def _delivery(cohorts: Sequence[Cohort], where: str, reading: PairReading) -> list[Sheet]:
    names = _names(cohorts)
    each = [(one, figures(one.answers, reading)) for one in cohorts]
    best = {"s_f": max(found.s_f for _, found in each), "s_h": min(found.s_h for _, found in each)}
    columns = headings(
        names,
        *("dialogues", "answered", "judged %"),
        ("factual", "R_f", "P_f", "S_f", "95 %"),
        ("contradicted ↓", "R_m", "P_fc", "S_h", "95 %"),
        ("tokens a fact", "D_f ↓", "no D_f %", "D_h", "no D_h %", "D_R ↓"),
        ("pooled", "D_f ↓", "D_h"),
        "tokens",
    )
    rows = tuple(_row(one, found, names, best, reading) for one, found in each)
    name, notes = file_name("delivery", *_judged_name(cohorts[0])), (*NOTES, *_remarks(each))
    return [Sheet(name, f"Table 12. Facts delivered ({where})", columns, rows, notes)]


def _judged_name(cohort: Cohort) -> tuple[str, ...]:
    return cohort.data, cohort.decomposer, cohort.judge


def _row(
    cohort: Cohort, found: DeliveryFigures, names: Sequence[str], best: Mapping[str, float], reading: PairReading
) -> Row:
    each = [delivery(one, reading) for one in cohort.by_id.values()]

    def mean(name: str) -> Cell:
        value = getattr(found, name)
        return Cell(percent(value), bold=value == best[name])

    return row(
        *_place(cohort, names),
        len(cohort.lines) + sum(cohort.missing.values()),
        len(cohort.lines),
        percent(found.coverage, 1),
        percent(found.r_f),
        percent(found.p_f),
        mean("s_f"),
        _interval(each, "S_f"),
        percent(found.r_m),
        percent(found.p_fc),
        mean("s_h"),
        _interval(each, "S_h"),
        *_cost(found.d_f),
        *_cost(found.d_h),
        _tokens(found.d_r.mean),
        _tokens(found.d_f.pooled),
        _tokens(found.d_h.pooled),
        f"{fmean(one.tokens for one in each):.1f}",
    )


def _interval(each: Sequence[Delivery], name: str) -> str:
    return range_text(share_interval([_BY_NAME[name].of(one) for one in each], each))


def _cost(cost: Cost) -> tuple[str, str]:
    return _tokens(cost.mean), percent(cost.filled, 1)


def _tokens(value: float | None) -> str:
    return decimals(value if value is not None and isfinite(value) else None, 1)


def _remarks(each: Sequence[tuple[Cohort, DeliveryFigures]]) -> Iterator[str]:
    """Remarks that fit no column, one a cohort that has any."""
    for cohort, found in each:
        parts = [f"{count} × {reason}" for reason, count in sorted(cohort.missing.items())]
        said = [f"no answer: {', '.join(parts)}"] if parts else []
        said += ["oracle: retrieved from the reference answers"] if cohort.oracle else []
        said += [f"{cohort.bare} without facts or reference, not scored"] if cohort.bare else []
        thought = sum(bool(line.thoughts) for line in cohort.lines.values())
        said += [f"{thought} with thoughts before the answer, not scored"] if thought else []
        if found.unjudged:
            (low, high), (least, most) = found.bounds
            said.append(
                f"{found.unjudged} unjudged: S_f {percent(low)} to {percent(high)}, S_h {percent(least)} to {percent(most)}"
            )
        said += [f"{found.without_statements} without statements (P = S = 0)"] if found.without_statements else []
        said += [f"{found.conflicts} pairs both entailed and contradicted"] if found.conflicts else []
        s_f, s_h = percent(found.s_f_of_means), percent(found.s_h_of_means)
        said.append(f"Eq. 2 and 3 of the means: S_f {s_f}, S_h {s_h}")
        yield f"{cohort.run}, {cohort.model}, {cohort.setting}: {'; '.join(said)}"


def change(
    before: Cohort, after: Cohort, measure: DeliveryMeasure, reading: PairReading = PairReading.CODE, *, sides: int = 1
) -> Change | None:
    """A measure in two cohorts on the items that both have judged whole; None where they share none.

    A cost counts with the largest of its cohort where an answer has no such fact. With one side the test asks whether the measure
    goes the way of its `sign`, with two `sides` whether it changes.
    """
    shared = [name for name in before.by_id if name in after.by_id]
    if not shared:
        return None
    first, second = (
        filled([measure.of(delivery(one.by_id[name], reading)) for name in shared]) for one in (before, after)
    )
    known = isfinite(first[0]) and isfinite(second[0])
    gains = np.array(second) - np.array(first) if known else np.zeros(len(shared))
    interval = bootstrap_interval(shared, lambda rows: float(gains[rows].mean())) if known else (nan, nan)
    return Change(
        measure,
        fmean(first) if isfinite(first[0]) else inf,
        fmean(second) if isfinite(second[0]) else inf,
        interval,
        _wilcoxon(gains, "two-sided" if sides == 2 else "greater" if measure.sign > 0 else "less"),
        len(shared),
    )


def _wilcoxon(gains: np.ndarray, alternative: str) -> float:
    if not gains.any():
        return 1.0
    from scipy.stats import wilcoxon  # type: ignore[import-untyped]

    return float(wilcoxon(gains, alternative=alternative).pvalue)


def setting_pairs(cohorts: Sequence[Cohort], *, guarded: bool) -> Iterator[tuple[Cohort, Cohort]]:
    """Cohorts of one run and model: one question against dialogues, or no guard against a guard."""
    for before in cohorts:
        for after in cohorts:
            if (before.run, before.model) == (after.run, after.model) and before is not after:
                without = re.sub(r"\+guard=[^+]+", "", after.setting)
                if guarded and without != after.setting and before.setting == without:
                    yield before, after
                if not guarded and before.setting == "single" and without == after.setting:
                    yield before, after


def _changes(cohorts: Sequence[Cohort], where: str, reading: PairReading) -> list[Sheet]:
    pairs = list(setting_pairs(cohorts, guarded=False))
    title = f"Tables 14 to 18. From one question to a dialogue ({where})"
    note = (
        "p: one-sided Wilcoxon signed-rank test, in the direction of the arrow, fixed beforehand (App. H.2); * .05, ** .01, "
        "*** .001. A larger D_h is sparser in contradictions: better."
    )
    return _change_sheet(pairs, "change", title, reading, 1, note)


def _change_sheet(
    pairs: Sequence[tuple[Cohort, Cohort]], name: str, title: str, reading: PairReading, sides: int, note: str
) -> list[Sheet]:
    rows = [
        _change_row(before, after, found, sides)
        for before, after in pairs
        for measure in MEASURES
        if (found := change(before, after, measure, reading, sides=sides)) is not None
    ]
    if not rows:
        return []
    columns = headings(("run", "model", "from", "to", "figure"), *("items", "from", "to", "change", "95 %", "p", ""))
    return [Sheet(file_name(name, *_judged_name(pairs[0][0])), title, columns, tuple(rows), (note, NOTES[0], NOTES[1]))]


def _change_row(before: Cohort, after: Cohort, found: Change, sides: int) -> Row:
    arrow = "" if sides == 2 else " ↑" if found.measure.sign > 0 else " ↓"
    factor, digits = (100, 2) if found.measure.share else (1, 1)

    def shown(value: float, sign: str = "") -> str:
        return f"{factor * value:{sign}.{digits}f}" if isfinite(value) else NOTHING

    low, high = found.interval
    return row(
        *(before.run, before.model, before.setting, after.setting, found.measure.name + arrow),
        found.items,
        shown(found.before),
        shown(found.after),
        shown(found.difference, "+"),
        f"{shown(low, '+')} to {shown(high, '+')}" if isfinite(low) else NOTHING,
        f"{found.p:.4f}",
        stars(found.p),
    )


def _parts(cohorts: Sequence[Cohort], where: str, reading: PairReading) -> list[Sheet]:
    """By number of turns and by domain."""
    by: Mapping[str, Callable[[Cohort, str], Sequence[str]]] = {
        "turns": lambda cohort, name: [str(len(cohort.items[name].questions))],
        "domain": _domains,
        "source": lambda cohort, name: [one for one in [cohort.items[name].source] if one],
    }
    titles = {"turns": "By number of turns", "domain": "Table 2. By domain", "source": "By source"}
    found = []
    names = _names(cohorts)
    for what, keys in by.items():
        rows = [
            row(*_place(cohort, names), key, len(answers), *_brief(answers, reading))
            for cohort in cohorts
            for key, answers in sorted(_split(cohort, keys).items())
        ]
        if rows:
            name, title = file_name("by", what, *_judged_name(cohorts[0])), f"{titles[what]} ({where})"
            found.append(Sheet(name, title, headings((*names, what), *BRIEF), tuple(rows), NOTES[:2]))
    return found


def _domains(cohort: Cohort, name: str) -> list[str]:
    """An item's domains, and those of the set that it is not of, as Table 2 has both."""
    own = cohort.items[name].domains
    known = {one for item in cohort.items.values() for one in item.domains}
    return [*own, *(f"not {one}" for one in sorted(known) if one not in own and len(known) > 1)]


def _by_turns(cohorts: Sequence[Cohort], where: str, reading: PairReading) -> list[Sheet]:
    """How far each figure goes from one question to a dialogue, relatively, by the number of turns."""
    rows = []
    for before, after in setting_pairs(cohorts, guarded=False):
        turns = {name: len(after.items[name].questions) for name in after.by_id if name in before.by_id}
        for number in sorted(set(turns.values())):
            names = [name for name, count in turns.items() if count == number]
            first, second = (figures([one.by_id[name] for name in names], reading) for one in (before, after))
            changes = (_relative(*pair) for pair in zip(four(first), four(second), strict=True))
            rows.append(row(after.run, after.model, after.setting, number, len(names), *changes))
    if not rows:
        return []
    columns = headings(("run", "model", "to"), "turns", "items", *(f"Δ {name} %" for name in FOUR))
    note = "(dialogue − one question) / one question, of the means over the same items; intervals stand in the table by turns."
    title = f"Figure 5. Change from one question by number of turns ({where})"
    return [Sheet(file_name("by turns change", *_judged_name(cohorts[0])), title, columns, tuple(rows), (note,))]


FOUR = ("S_f", "S_h", "D_f", "D_h")


def four(found: DeliveryFigures) -> tuple[float | None, ...]:
    """`FOUR` of a cohort, in order."""
    return found.s_f, found.s_h, found.d_f.mean, found.d_h.mean


def _relative(before: float | None, after: float | None) -> str:
    return NOTHING if not before or after is None else f"{100 * (after / before - 1):+.1f}"


def _split(cohort: Cohort, keys: Callable[[Cohort, str], Sequence[str]]) -> dict[str, list[JudgedAnswer]]:
    found: dict[str, list[JudgedAnswer]] = {}
    for name, answer in cohort.by_id.items():
        for key in keys(cohort, name):
            found.setdefault(key, []).append(answer)
    return found


def _brief(answers: Sequence[JudgedAnswer], reading: PairReading) -> tuple[str, ...]:
    found, each = figures(answers, reading), [delivery(one, reading) for one in answers]
    return (
        percent(found.s_f),
        _interval(each, "S_f"),
        percent(found.s_h),
        _interval(each, "S_h"),
        _tokens(found.d_f.mean),
        _tokens(found.d_h.mean),
    )


def _overlap(cohorts: Sequence[Cohort], where: str, reading: PairReading) -> list[Sheet]:
    """Table 13: overlap of n-grams with the reference answer, and how far it goes with S_f (Fig. 15)."""
    from scipy.stats import pearsonr

    names, rows = _names(cohorts), []
    for cohort in cohorts:
        found = {name: overlaps(cohort.lines[name].answer or "", cohort.items[name].answer) for name in cohort.by_id}
        s_f = [delivery(one, reading).s_f for one in cohort.by_id.values()]
        cells: list[str | None] = []
        for place in range(len(OVERLAPS)):
            values = [found[name][place] for name in cohort.by_id]
            varied = len(values) > 2 and len(set(values)) > 1 and len(set(s_f)) > 1
            cells += [percent(fmean(values)), f"{pearsonr(values, s_f).statistic:.2f}" if varied else None]
        rows.append(row(*_place(cohort, names), len(s_f), *cells))
    heads = headings(names, "answers", *((name, "mean", "r with S_f") for name in OVERLAPS))
    note = "Means over answers, in percent: BLEU-4 of sentences (sacrebleu, smoothed), F of ROUGE with stems (rouge-score)."
    name, title = (
        file_name("overlap", *_judged_name(cohorts[0])),
        f"Table 13. Overlap of n-grams with the reference ({where})",
    )
    return [Sheet(name, title, heads, tuple(rows), (note,))]


OVERLAPS = ("BLEU-4", "ROUGE-1", "ROUGE-2", "ROUGE-L")


def overlaps(answer: str, reference: str) -> tuple[float, ...]:
    """Overlap of n-grams of an answer with its reference, each in [0, 1]: `OVERLAPS` in order.

    Raises:
        ConfigError: the extra `ngrams` is not installed.
    """
    require("Table 13", "sacrebleu", "rouge_score", extra="ngrams")
    from rouge_score.rouge_scorer import RougeScorer  # type: ignore[import-untyped]
    from sacrebleu import sentence_bleu

    kinds = ["rouge1", "rouge2", "rougeL"]
    rouge = RougeScorer(kinds, use_stemmer=True).score(reference, answer)
    return (sentence_bleu(answer, [reference]).score / 100, *(float(rouge[kind].fmeasure) for kind in kinds))


FEWEST = 3
"""Rows that a line is drawn through at least."""


def _relations(cohorts: Sequence[Cohort], where: str, reading: PairReading) -> list[Sheet]:
    """How far S_f tells S_h and D_f tells D_h over the rows (Fig. 4), and what each row has beyond that (Fig. 14)."""
    each = [(one, figures(one.answers, reading)) for one in cohorts]
    lines, beyond = [], {}
    pairs: Mapping[str, Callable[[DeliveryFigures], tuple[float | None, float | None]]] = {
        "S_f, S_h": lambda one: (100 * one.s_f, 100 * one.s_h),
        "D_f, D_h": lambda one: (one.d_f.mean, one.d_h.mean),
    }
    for name, of in pairs.items():
        found = [(cohort, *of(one)) for cohort, one in each]
        points = [(cohort, x, y) for cohort, x, y in found if x is not None and y is not None]
        line = least_squares([x for _, x, _ in points], [y for *_, y in points])
        if line is None:
            continue
        lines.append(row(name, len(points), f"{line.slope:.3f}", f"{line.rvalue**2:.3f}", f"{line.pvalue:.4f}"))
        beyond[name] = {id(cohort): y - (line.slope * x + line.intercept) for cohort, x, y in points}
    if not lines:
        return []
    names = _names(cohorts)
    rows = [
        row(*_place(one, names), *(f"{own[id(one)]:+.2f}" if id(one) in own else None for own in beyond.values()))
        for one in cohorts
    ]
    heads = headings(["figures"], "rows", "slope", "R²", "p")
    note = "Least squares over the rows of this report; p: t-test of the slope. Few rows tell little."
    above = "S_h or D_h of a row above what its S_f or D_f lets expect: S_h in points, D_h in tokens a fact."
    judged = _judged_name(cohorts[0])
    title = f"Figure 14. Beyond the line ({where})"
    return [
        Sheet(file_name("relations", *judged), f"Figure 4. Relations ({where})", heads, tuple(lines), (note,)),
        Sheet(file_name("beyond", *judged), title, headings(names, *beyond), tuple(rows), (above,)),
    ]


def least_squares(given: Sequence[float], found: Sequence[float]) -> Any:
    """Slope, intercept, r and p of the line through points; None where they are too few or stand above each other."""
    if len(given) < FEWEST or len(set(given)) < 2:
        return None
    from scipy.stats import linregress

    return linregress(given, found)


def _guarded(cohorts: Sequence[Cohort], where: str, reading: PairReading) -> list[Sheet]:
    """A guard's actions and their effect on the figures."""
    pairs = list(setting_pairs(cohorts, guarded=True))
    if not pairs:
        return []
    same = f"Guarded by {pairs[0][1].guarded_by}, scored by {cohorts[0].judge}: what both misjudge, these figures do not show."
    columns = headings(
        ("run", "model", "setting"),
        ("answers", "all", "allowed", "flagged", "repaired", "blocked", "asked again", "withheld"),
        ("delivered only", "n", "S_f", "S_h ↓"),
        *("seconds", "calls", "guard's calls"),
    )
    rows = [_guard_row(after, reading) for _, after in pairs]
    note = (
        "Seconds and calls are of the last answer, in the mean. What the guard delivered is scored; delivered only: without "
        f"dialogues whose last answer it changed. {same}"
    )
    name, title = file_name("guard", *_judged_name(cohorts[0])), f"What the guard did ({where})"
    did = Sheet(name, title, columns, tuple(rows), (note,))
    test = f"p: two-sided Wilcoxon signed-rank test on the same items. {same}"
    return [did, *_change_sheet(pairs, "guard change", f"Without and with a guard ({where})", reading, 2, test)]


def _guard_row(cohort: Cohort, reading: PairReading) -> Row:
    did = [line.action for line in cohort.lines.values()]
    delivered = [answer for name, answer in cohort.by_id.items() if name not in cohort.withheld]
    found = figures(delivered, reading) if delivered else None
    return row(
        *(cohort.run, cohort.model, cohort.setting, len(did)),
        *(did.count(action.value) for action in (Action.ALLOW, Action.FLAG, Action.REPAIR, Action.BLOCK)),
        sum(line.drafts > 1 for line in cohort.lines.values()),
        len(cohort.withheld),
        len(delivered),
        percent(found.s_f if found else None),
        percent(found.s_h if found else None),
        f"{fmean(line.seconds for line in cohort.lines.values()):.2f}",
        f"{fmean(line.calls for line in cohort.lines.values()):.2f}",
        f"{fmean(line.guard_calls for line in cohort.lines.values()):.2f}",
    )


_CONDITION = re.compile(r"\s*(?P<name>\w+)\s*(?P<sign><=|>=|<|>)\s*(?P<limit>\d+(?:\.\d+)?|\.\d+)\s*")


def failed(cohorts: Sequence[Cohort], condition: str, reading: PairReading = PairReading.CODE) -> list[str]:
    """The cohorts for which a condition such as `S_f<0.2` holds, in words.

    Raises:
        ConfigError: it is none; shares lie in [0, 1].
    """
    parsed = _CONDITION.fullmatch(condition)
    if parsed is None or parsed["name"] not in _BY_NAME:
        raise ConfigError(
            f"--fail-if {condition!r} is no condition; give such as 'S_f<0.2', with one of {', '.join(_BY_NAME)}"
        )
    measure, limit, sign = _BY_NAME[parsed["name"]], float(parsed["limit"]), parsed["sign"]
    if measure.share and limit > 1:
        raise ConfigError(f"--fail-if {condition!r}: {measure.name} is a share from 0 to 1")
    found = []
    for cohort in cohorts:
        if not cohort.by_id:
            found.append(f"{cohort.run}, {cohort.model}, {cohort.setting}: no answer is judged whole")
            continue
        value = fmean(filled([measure.of(delivery(one, reading)) for one in cohort.by_id.values()]))
        holds = (value < limit if "<" in sign else value > limit) or ("=" in sign and value == limit)
        if holds:
            found.append(
                f"{cohort.run}, {cohort.model}, {cohort.setting}: {measure.name} is {value:.4f}, {sign} {limit:g}"
            )
    return found


def losses(
    cohorts: Sequence[Cohort], against: Sequence[Cohort], reading: PairReading = PairReading.CODE
) -> tuple[list[Sheet], list[str]]:
    """Cohorts beside those of an earlier run: a table of the changes, and significant losses (S_f falls, S_h rises) in words.

    Models are matched by name; where both sides have one model in a setting, these two are.

    Raises:
        ConfigError: no cohort has a counterpart.
    """
    pairs = []
    for after in cohorts:
        alike = [one for one in against if (one.judged_by, one.setting) == (after.judged_by, after.setting)]
        named = [one for one in alike if one.model == after.model]
        own = [one for one in cohorts if (one.judged_by, one.setting) == (after.judged_by, after.setting)]
        match = named or (alike if len(alike) == len(own) == 1 else [])
        pairs += [(one, after) for one in match]
    if not pairs:
        raise ConfigError(
            "no model and setting has a counterpart in the run of --against: data, decomposer, judge and counter of tokens "
            "must be the same, and the model's name"
        )
    found = []
    for before, after in pairs:
        for name in ("S_f", "S_h"):
            one = change(before, after, _BY_NAME[name], reading)
            if one is not None and one.p < SIGNIFICANT:
                found.append(
                    f"{after.run}, {after.model}, {after.setting}: {name} went from {one.before:.4f} ({before.run}) to "
                    f"{one.after:.4f} on {one.items} items (p = {one.p:.4f})"
                )
    table = _change_sheet(
        pairs, "against", "Against an earlier run", reading, 1, "p: one-sided Wilcoxon signed-rank test of a loss."
    )
    return table, found
