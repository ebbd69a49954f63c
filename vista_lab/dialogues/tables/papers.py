"""KnowMT-Bench's tables from runs of dialogues, and the effect of a guard.

Figures (Table 12), the change from one setting to another (Tables 14 to 18), by number of turns (Fig. 5) and by domain (Table 2).
Cohorts share a table only if data, decomposer, judge and token counter are the same.
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
from vista_lab.dialogues.delivery import (
    Cost,
    Delivery,
    DeliveryFigures,
    JudgedAnswer,
    PairReading,
    delivery,
    figures,
    filled,
)
from vista_lab.dialogues.scored import Cohort
from vista_lab.dialogues.tables.settings import (
    BRIEF,
    EXPERIMENTS,
    FEWEST,
    cut_notes,
    cut_remark,
    experiment_sheets,
    interval_over_items,
    other_judges,
    paper_row,
    range_text,
)
from vista_lab.metrics.intervals import mean_interval, stars
from vista_lab.papers import part
from vista_lab.tables.writers import NOTHING, PAPER, Cell, Row, Sheet, decimals, file_name, headings, percent, row

NUMBERS = ("2", "12", "13", "14", "9", "10", "fig4", "fig5", "guard", *(one.name for one in EXPERIMENTS))
"""The paper's tables and figures that runs fill; 14 stands for Tables 14 to 18, fig4 also for Figure 14."""
SIGNIFICANT = 0.05

NOTES = (
    "S_f, S_h: means of each answer's harmonic mean, in percent; brackets: 95 %, drawing items. ↓: less is better.",
    "D: tokens a fact told (D_f) or contradicted (D_h), over the share told (D_R); behind it the share of answers that have no "
    "such fact, and count with the largest cost of the others. Pooled: all tokens over all such facts, which no cohort moves.",
    "Unjudged answers stand in no mean: bounds say what S_f and S_h could be with them. Abstentions (refusals, the guard's own "
    "message) tell no fact in R and S, and are left out of P and D.",
)


@dataclass(frozen=True)
class DeliveryMeasure:
    """A figure of one answer; None for an abstention's P and D.

    `sign`: the direction the paper expects from one question to a dialogue (App. H.2).
    """

    name: str
    of: Callable[[Delivery], float | None]
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
        "12": _delivery, "13": _overlap, "14": _changes, "2": _parts, "fig5": _by_turns, "fig4": _relations,
        "guard": _guard_sheets,
    }  # fmt: skip
    tables: list[Sheet] = []
    scored = sorted((cohort for cohort in cohorts if cohort.by_id), key=lambda cohort: cohort.judged_by)
    for judged_by, together in groupby(scored, key=lambda cohort: cohort.judged_by):
        group = list(together)
        where = f"{judged_by[1]} and {judged_by[2]} on data {judged_by[0]}, tokens: {judged_by[3]}"
        for name, make in makers.items():
            if name in asked if asked is not None else name != "13":
                tables += make(group, where, reading)
        tables += experiment_sheets(group, asked, where, reading)
    return [*tables, *other_judges(scored, asked, reading)]


def numbers(asked: str) -> frozenset[str]:
    """The tables in a list such as `2,12,fig9`. Raises ConfigError: runs fill no table of that number."""
    names = frozenset(part.strip() for part in asked.split(","))
    if unknown := sorted(names - set(NUMBERS)):
        raise ConfigError(
            f"--tables has {unknown[0]!r}; of KnowMT-Bench runs fill {', '.join(NUMBERS)} (14 with 15 to 18, fig4 with 14)"
        )
    return names


def _names(cohorts: Sequence[Cohort]) -> tuple[str, ...]:
    """Columns that name a cohort; the run only where there are several."""
    return ("run", "model", "setting") if len({cohort.run for cohort in cohorts}) > 1 else ("model", "setting")


def _place(cohort: Cohort, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(str(getattr(cohort, name)) for name in names)


def _delivery(cohorts: Sequence[Cohort], where: str, reading: PairReading) -> list[Sheet]:
    names = _names(cohorts)
    scored = [(cohort, figures(cohort.answers, reading)) for cohort in cohorts]
    best = {"s_f": max(found.s_f for _, found in scored), "s_h": min(found.s_h for _, found in scored)}
    columns = headings(
        names,
        *("dialogues", "answered", "abstained", "judged %"),
        ("factual", "R_f", "P_f", "S_f", "95 %"),
        ("contradicted ↓", "R_m", "P_fc", "S_h", "95 %"),
        ("tokens a fact", "D_f ↓", "no D_f %", "D_h", "no D_h %", "D_R ↓"),
        ("pooled", "D_f ↓", "D_h"),
        "tokens",
    )
    rows = tuple(_row(cohort, found, names, best, reading) for cohort, found in scored)
    name, notes = file_name("delivery", *_judged_name(cohorts[0])), (*NOTES, *_remarks(scored))
    return [Sheet(name, f"Table 12. Facts delivered ({where})", columns, rows, notes)]


def _judged_name(cohort: Cohort) -> tuple[str, ...]:
    return cohort.data, cohort.decomposer, cohort.judge


def _row(
    cohort: Cohort, found: DeliveryFigures, names: Sequence[str], best: Mapping[str, float], reading: PairReading
) -> Row:
    deliveries = [delivery(answer, reading) for answer in cohort.by_id.values()]
    s_f, s_h = _intervals(deliveries)

    def mean(name: str) -> Cell:
        value = getattr(found, name)
        return Cell(percent(value), bold=value == best[name])

    return row(
        *_place(cohort, names),
        *(len(cohort.lines) + sum(cohort.missing.values()), len(cohort.lines), found.abstentions),
        percent(found.coverage, 1),
        *(percent(found.r_f), percent(found.p_f), mean("s_f"), s_f),
        *(percent(found.r_m), percent(found.p_fc), mean("s_h"), s_h),
        *(*_cost(found.d_f), *_cost(found.d_h), _tokens(found.d_r.mean)),
        *(_tokens(found.d_f.pooled), _tokens(found.d_h.pooled)),
        f"{fmean(answer.tokens for answer in deliveries):.1f}",
    )


def _intervals(deliveries: Sequence[Delivery]) -> tuple[str, str]:
    s_f = interval_over_items([answer.s_f for answer in deliveries], deliveries)
    s_h = interval_over_items([answer.s_h for answer in deliveries], deliveries)
    return range_text(s_f), range_text(s_h)


def _cost(cost: Cost) -> tuple[str, str]:
    return _tokens(cost.mean), percent(cost.filled, 1)


def _tokens(value: float | None) -> str:
    return decimals(value if value is not None and isfinite(value) else None, 1)


def _remarks(scored: Sequence[tuple[Cohort, DeliveryFigures]]) -> Iterator[str]:
    for cohort, cohort_figures in scored:
        parts = [f"{count} × {reason}" for reason, count in sorted(cohort.missing.items())]
        remarks = [f"no answer: {', '.join(parts)}"] if parts else []
        remarks += ["oracle: retrieved from the reference answers"] if cohort.oracle else []
        remarks += [f"{cohort.bare} without facts or reference, not scored"] if cohort.bare else []
        thought = sum(bool(line.thoughts) for line in cohort.lines.values())
        remarks += [f"{thought} with thoughts before the answer, not scored"] if thought else []
        if cohort_figures.unjudged:
            (low, high), (least, most) = cohort_figures.bounds
            shares = f"S_f {percent(low)} to {percent(high)}, S_h {percent(least)} to {percent(most)}"
            remarks.append(f"{cohort_figures.unjudged} unjudged: {shares}")
        remarks += [cut] if (cut := cut_remark(cohort)) else []
        if count := cohort_figures.without_statements:
            remarks.append(f"{count} without statements (P = S = 0)")
        if count := cohort_figures.conflicts:
            remarks.append(f"{count} pairs both entailed and contradicted")
        s_f, s_h = percent(cohort_figures.s_f_of_means), percent(cohort_figures.s_h_of_means)
        remarks.append(f"Eq. 2 and 3 of the means: S_f {s_f}, S_h {s_h}")
        yield f"{cohort.title}: {'; '.join(remarks)}"


def change(
    before: Cohort, after: Cohort, measure: DeliveryMeasure, reading: PairReading = PairReading.CODE, *, sides: int = 1
) -> Change | None:
    """Change of a measure between two cohorts, over the items that have it in both; None if they share none.

    An answer without such a fact counts with its cohort's largest cost. With one side the test is in the direction of the
    measure's `sign`, with two `sides` it is two-sided.
    """
    values = [{name: measure.of(delivery(own, reading)) for name, own in one.by_id.items()} for one in (before, after)]
    pairs = {name: (one, values[1].get(name)) for name, one in values[0].items()}
    both = {name: (one, other) for name, (one, other) in pairs.items() if one is not None and other is not None}
    if not both:
        return None
    first, second = (filled([values[place] for values in both.values()]) for place in (0, 1))
    finite = isfinite(first[0]) and isfinite(second[0])
    gains = np.array(second) - np.array(first) if finite else np.zeros(len(both))
    interval = mean_interval([*both], gains.tolist()) if finite else (nan, nan)
    alternative = "two-sided" if sides == 2 else "greater" if measure.sign > 0 else "less"
    one, other = (fmean(side) if isfinite(side[0]) else inf for side in (first, second))
    return Change(measure, one, other, interval, _wilcoxon(gains, alternative), len(both))


def _wilcoxon(gains: np.ndarray, alternative: str) -> float:
    if not gains.any():
        return 1.0
    from scipy.stats import wilcoxon  # type: ignore[import-untyped]

    return float(wilcoxon(gains, alternative=alternative).pvalue)


def setting_pairs(cohorts: Sequence[Cohort], *, guarded: bool) -> Iterator[tuple[Cohort, Cohort]]:
    """Pairs of cohorts of one run and model: one question and a dialogue, or without and with a guard."""
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
    both = [(before, after, measure) for before, after in pairs for measure in MEASURES]
    deltas = [(before, after, change(before, after, of, reading, sides=sides)) for before, after, of in both]
    rows = [_change_row(before, after, delta, sides) for before, after, delta in deltas if delta is not None]
    if not rows:
        return []
    columns = headings(("run", "model", "from", "to", "figure"), *("items", "from", "to", "change", "95 %", "p", ""))
    notes = (note, *NOTES, *cut_notes([cohort for pair in pairs for cohort in pair]))
    return [Sheet(file_name(name, *_judged_name(pairs[0][0])), title, columns, tuple(rows), notes)]


def _change_row(before: Cohort, after: Cohort, delta: Change, sides: int) -> Row:
    arrow = "" if sides == 2 else " ↑" if delta.measure.sign > 0 else " ↓"
    factor, digits = (100, 2) if delta.measure.share else (1, 1)

    def shown(value: float, sign: str = "") -> str:
        return f"{factor * value:{sign}.{digits}f}" if isfinite(value) else NOTHING

    low, high = delta.interval
    names = (before.run, before.model, before.setting, after.setting, delta.measure.name + arrow)
    values = (shown(delta.before), shown(delta.after), shown(delta.difference, "+"))
    interval = f"{shown(low, '+')} to {shown(high, '+')}" if low < high else NOTHING
    tested = (f"{delta.p:.4f}", stars(delta.p)) if isfinite(delta.difference) else (NOTHING, NOTHING)
    return row(*names, delta.items, *values, interval, *tested)


def _parts(cohorts: Sequence[Cohort], where: str, reading: PairReading) -> list[Sheet]:
    by: Mapping[str, Callable[[Cohort, str], Sequence[str]]] = {
        "turns": lambda cohort, name: [str(len(cohort.items[name].questions))],
        "domain": _domains,
        "source": lambda cohort, name: [source for source in [cohort.items[name].source] if source],
    }
    titles = {"turns": "By number of turns", "domain": "Table 2. By domain", "source": "By source"}
    tables = []
    names = _names(cohorts)
    for grouping, keys in by.items():
        split = ((cohort, *one) for cohort in cohorts for one in sorted(_split(cohort, keys).items()))
        rows = [row(*_place(one, names), key, len(own), *_brief(own, reading)) for one, key, own in split]
        if rows:
            name, title = file_name("by", grouping, *_judged_name(cohorts[0])), f"{titles[grouping]} ({where})"
            notes = (*NOTES, *cut_notes(cohorts))
            sheet = Sheet(name, title, headings((*names, grouping), *BRIEF), tuple(rows), notes)
            tables.append(sheet.below(_printed_by_domain(names)) if grouping == "domain" else sheet)
    return tables


def _printed_by_domain(names: Sequence[str]) -> list[Row]:
    run = ("",) * (len(names) - 2)
    by_domain = ((model, *one) for model, domains in part("knowmt", "table02").items() for one in domains.items())
    cells = ((model, name, one) for model, name, settings in by_domain for one in settings.items())
    return [paper_row((*run, PAPER + model, setting, domain), found) for model, domain, (setting, found) in cells]


def _domains(cohort: Cohort, name: str) -> list[str]:
    """An item's domains, and `not DOMAIN` for the others of the set, as in Table 2."""
    own = cohort.items[name].domains
    all_domains = {domain for item in cohort.items.values() for domain in item.domains}
    return [*own, *(f"not {domain}" for domain in sorted(all_domains) if domain not in own and len(all_domains) > 1)]


def _by_turns(cohorts: Sequence[Cohort], where: str, reading: PairReading) -> list[Sheet]:
    """Relative change of each figure from one question to a dialogue, by number of turns."""
    rows = []
    for before, after in setting_pairs(cohorts, guarded=False):
        turns = {name: len(after.items[name].questions) for name in after.by_id if name in before.by_id}
        for number in sorted(set(turns.values())):
            names = [name for name, count in turns.items() if count == number]
            first, second = (figures([cohort.by_id[name] for name in names], reading) for cohort in (before, after))
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
    """A cohort's figures in the order of `FOUR`."""
    return found.s_f, found.s_h, found.d_f.mean, found.d_h.mean


def _relative(before: float | None, after: float | None) -> str:
    return NOTHING if not before or after is None else f"{100 * (after / before - 1):+.1f}"


def _split(cohort: Cohort, keys: Callable[[Cohort, str], Sequence[str]]) -> dict[str, list[JudgedAnswer]]:
    groups: dict[str, list[JudgedAnswer]] = {}
    for name, answer in cohort.by_id.items():
        for key in keys(cohort, name):
            groups.setdefault(key, []).append(answer)
    return groups


def _brief(answers: Sequence[JudgedAnswer], reading: PairReading) -> tuple[str, ...]:
    found = figures(answers, reading)
    s_f, s_h = _intervals([delivery(answer, reading) for answer in answers])
    return percent(found.s_f), s_f, percent(found.s_h), s_h, _tokens(found.d_f.mean), _tokens(found.d_h.mean)


def _overlap(cohorts: Sequence[Cohort], where: str, reading: PairReading) -> list[Sheet]:
    """Table 13: overlap of n-grams with the reference answer, and its correlation with S_f (Fig. 15)."""
    from scipy.stats import pearsonr

    names, rows = _names(cohorts), []
    for cohort in cohorts:
        scores = {name: overlaps(cohort.lines[name].answer or "", cohort.items[name].answer) for name in cohort.by_id}
        s_f = [delivery(answer, reading).s_f for answer in cohort.by_id.values()]
        cells: list[str | None] = []
        for place in range(len(OVERLAPS)):
            values = [scores[name][place] for name in cohort.by_id]
            varied = len(values) > 2 and len(set(values)) > 1 and len(set(s_f)) > 1
            cells += [percent(fmean(values)), f"{pearsonr(values, s_f).statistic:.2f}" if varied else None]
        rows.append(row(*_place(cohort, names), len(s_f), *cells))
    heads = headings(names, "answers", *((name, "mean", "r with S_f") for name in OVERLAPS))
    note = "Means over answers, in percent: BLEU-4 of sentences (sacrebleu, smoothed), F of ROUGE with stems (rouge-score)."
    name, title = file_name("overlap", *_judged_name(cohorts[0])), "Table 13. Overlap of n-grams with the reference"
    return [Sheet(name, f"{title} ({where})", heads, tuple(rows), (note,))]


OVERLAPS = ("BLEU-4", "ROUGE-1", "ROUGE-2", "ROUGE-L")


def overlaps(answer: str, reference: str) -> tuple[float, ...]:
    """Overlap of an answer's n-grams with its reference in the order of `OVERLAPS`, each in [0, 1].

    Raises ConfigError: the extra `ngrams` is not installed.
    """
    require("Table 13", "sacrebleu", "rouge_score", extra="ngrams")
    from rouge_score.rouge_scorer import RougeScorer  # type: ignore[import-untyped]
    from sacrebleu import sentence_bleu

    kinds = ["rouge1", "rouge2", "rougeL"]
    rouge = RougeScorer(kinds, use_stemmer=True).score(reference, answer)
    return (sentence_bleu(answer, [reference]).score / 100, *(float(rouge[kind].fmeasure) for kind in kinds))


def _relations(cohorts: Sequence[Cohort], where: str, reading: PairReading) -> list[Sheet]:
    """Regressions of S_h on S_f and of D_h on D_f over the rows (Fig. 4), and each row's residuals (Fig. 14)."""
    scored = [(one, figures(one.answers, reading)) for one in cohorts]
    lines, beyond = [], {}
    pairs: Mapping[str, Callable[[DeliveryFigures], tuple[float | None, float | None]]] = {
        "S_f, S_h": lambda one: (100 * one.s_f, 100 * one.s_h),
        "D_f, D_h": lambda one: (one.d_f.mean, one.d_h.mean),
    }
    for name, of in pairs.items():
        all_points = [(cohort, *of(means)) for cohort, means in scored]
        points = [(cohort, x, y) for cohort, x, y in all_points if x is not None and y is not None]
        line = least_squares([x for _, x, _ in points], [y for *_, y in points])
        if line is None:
            continue
        lines.append(row(name, len(points), f"{line.slope:.3f}", f"{line.rvalue**2:.3f}", f"{line.pvalue:.4f}"))
        beyond[name] = {id(cohort): y - (line.slope * x + line.intercept) for cohort, x, y in points}
    if not lines:
        return []
    names = _names(cohorts)
    residuals = {id(one): [left.get(id(one)) for left in beyond.values()] for one in cohorts}
    texts = {name: [None if left is None else f"{left:+.2f}" for left in own] for name, own in residuals.items()}
    rows = [row(*_place(one, names), *texts[id(one)]) for one in cohorts]
    heads = headings(["figures"], "rows", "slope", "R²", "p")
    note = "Least squares over the rows of this report; p: t-test of the slope. Few rows tell little."
    above = "S_h or D_h of a row above what its S_f or D_f lets expect: S_h in points, D_h in tokens a fact."
    judged = _judged_name(cohorts[0])
    title = f"Figure 14. Beyond the line ({where})"
    line = Sheet(file_name("relations", *judged), f"Figure 4. Relations ({where})", heads, tuple(lines), (note,))
    return [line, Sheet(file_name("beyond", *judged), title, headings(names, *beyond), tuple(rows), (above,))]


def least_squares(given: Sequence[float], found: Sequence[float]) -> Any:
    """Slope, intercept, r and p of the line through points; None if they are too few or share one x."""
    if len(given) < FEWEST or len(set(given)) < 2:
        return None
    from scipy.stats import linregress

    return linregress(given, found)


def _guard_sheets(cohorts: Sequence[Cohort], where: str, reading: PairReading) -> list[Sheet]:
    pairs = list(setting_pairs(cohorts, guarded=True))
    if not pairs:
        return []
    caveat = f"Guarded by {pairs[0][1].guarded_by}, scored by {cohorts[0].judge}: what both misjudge, these figures do not show."
    counts = ("answers", "all", "allowed", "flagged", "repaired", "blocked", "asked again", "withheld")
    delivered = ("delivered only", "n", "S_f", "S_h ↓")
    columns = headings(("run", "model", "setting"), counts, delivered, "seconds", "calls", "guard's calls")
    rows = [_guard_row(after, reading) for _, after in pairs]
    note = (
        "Seconds and calls are of the last answer, in the mean. What the guard delivered is scored; delivered only: without "
        f"dialogues whose last answer it changed. {caveat}"
    )
    name, title = file_name("guard", *_judged_name(cohorts[0])), f"What the guard did ({where})"
    actions = Sheet(name, title, columns, tuple(rows), (note,))
    test = f"p: two-sided Wilcoxon signed-rank test on the same items. {caveat}"
    return [actions, *_change_sheet(pairs, "guard change", f"Without and with a guard ({where})", reading, 2, test)]


def _guard_row(cohort: Cohort, reading: PairReading) -> Row:
    actions = [line.action for line in cohort.lines.values()]
    delivered = [answer for name, answer in cohort.by_id.items() if name not in cohort.withheld]
    found = figures(delivered, reading) if delivered else None
    return row(
        *(cohort.run, cohort.model, cohort.setting, len(actions)),
        *(actions.count(action.value) for action in (Action.ALLOW, Action.FLAG, Action.REPAIR, Action.BLOCK)),
        *(sum(line.drafts > 1 for line in cohort.lines.values()), len(cohort.withheld), len(delivered)),
        *(percent(found.s_f if found else None), percent(found.s_h if found else None)),
        *(
            f"{fmean(getattr(line, what) for line in cohort.lines.values()):.2f}"
            for what in ("seconds", "calls", "guard_calls")
        ),
    )


_CONDITION = re.compile(r"\s*(?P<name>\w+)\s*(?P<sign><=|>=|<|>)\s*(?P<limit>\d+(?:\.\d+)?|\.\d+)\s*")


def failures(cohorts: Sequence[Cohort], condition: str, reading: PairReading = PairReading.CODE) -> list[str]:
    """Messages about the cohorts for which a condition such as `S_f<0.2` holds.

    Raises ConfigError: the condition cannot be read, or compares a share with a number above 1.
    """
    parsed = _CONDITION.fullmatch(condition)
    if parsed is None or parsed["name"] not in _BY_NAME:
        raise ConfigError(
            f"--fail-if {condition!r} is no condition; give such as 'S_f<0.2', with one of {', '.join(_BY_NAME)}"
        )
    measure, limit, sign = _BY_NAME[parsed["name"]], float(parsed["limit"]), parsed["sign"]
    if measure.share and limit > 1:
        raise ConfigError(f"--fail-if {condition!r}: {measure.name} is a share from 0 to 1")
    messages = []
    for cohort in cohorts:
        if not cohort.by_id:
            messages.append(f"{cohort.title}: no answer is judged whole")
            continue
        values = [measure.of(delivery(answer, reading)) for answer in cohort.by_id.values()]
        known = [value for value in values if value is not None]
        if not known:
            messages.append(f"{cohort.title}: {measure.name} is of no answer, all abstain")
            continue
        value = fmean(filled(known))
        if (value < limit if "<" in sign else value > limit) or ("=" in sign and value == limit):
            messages.append(f"{cohort.title}: {measure.name} is {value:.4f}, {sign} {limit:g}")
    return messages


def losses(
    cohorts: Sequence[Cohort], against: Sequence[Cohort], reading: PairReading = PairReading.CODE
) -> tuple[list[Sheet], list[str]]:
    """Changes against an earlier run: a table, and messages about significant losses (S_f falls, S_h rises).

    Models match by name; if both runs have a single model in a setting, those two match. Raises ConfigError: no cohort has a
    counterpart.
    """
    pairs = []
    for after in cohorts:
        alike = [one for one in against if (one.judged_by, one.setting) == (after.judged_by, after.setting)]
        same_model = [one for one in alike if one.model == after.model]
        peers = [one for one in cohorts if (one.judged_by, one.setting) == (after.judged_by, after.setting)]
        match = same_model or (alike if len(alike) == len(peers) == 1 else [])
        pairs += [(one, after) for one in match]
    if not pairs:
        same = "data, decomposer, judge and counter of tokens must be the same, and the model's name"
        raise ConfigError(f"no model and setting has a counterpart in the run of --against: {same}")
    messages = []
    for before, after in pairs:
        for name in ("S_f", "S_h"):
            delta = change(before, after, _BY_NAME[name], reading)
            if delta is not None and delta.p < SIGNIFICANT:
                went = f"{name} went from {delta.before:.4f} ({before.run}) to {delta.after:.4f}"
                messages.append(f"{after.title}: {went} on {delta.items} items (p = {delta.p:.4f})")
    note = "p: one-sided Wilcoxon signed-rank test of a loss."
    return _change_sheet(pairs, "against", "Against an earlier run", reading, 1, note), messages
