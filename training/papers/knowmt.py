"""The figures that KnowMT-Bench prints, and the checks on them that need no model.

`vista_lab/papers/tables/knowmt.toml` has the figures, and the reasons for those that contradict others.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from functools import partial
from statistics import harmonic_mean

from training.papers.checks import Check, Verdict, agrees, count, figure, verdict
from vista_guard._extras import require
from vista_lab.dialogues.tables.settings import SAME_MODEL
from vista_lab.papers import part, table

R_F, P_F, S_F, R_M, P_FC, S_H, D_F, D_H, D_R = range(9)
"""Places in a row of Table 12."""
COLUMNS = ("R_f", "P_f", "S_f", "R_m", "P_fc", "S_h", "D_f", "D_h", "D_R")
TESTED = {15: ("S_f", S_F, -1), 16: ("S_h", S_H, 1), 17: ("D_f", D_F, 1), 18: ("D_h", D_H, 1)}
"""Tables of tests: figure, its place in Table 12, and the direction that is expected."""
FIGURE_4 = 4
"""Stands for the table's number of what Figure 4 and its text print."""
FOUR = (("S_f", S_F), ("S_h", S_H), ("D_f", D_F), ("D_h", D_H))
STARS = {"***": Decimal("0.001"), "**": Decimal("0.01"), "*": Decimal("0.05")}

printed = partial(part, "knowmt")


def check_all() -> Verdict:
    """Recomputes all figures of the paper that need no model.

    Raises:
        ConfigError: the extra `evaluation` is not installed.

    Examples:
        >>> len(check_all().wrong)
        0
    """
    require("the checks on KnowMT-Bench's figures", "scipy", extra="evaluation")
    checks = (
        *(sizes, by_domain, settings, strategies, changes, equations, relations, rankings, other_judges, weighted),
        *(impartial, naturalness, tests, summary),
    )
    # One reason may be about many figures of a table.
    known = [{**entry, "what": what} for entry in table("knowmt")["known"] for what in entry["figures"]]
    return verdict((check for part in checks for check in part()), known)


def sizes() -> Iterator[Check]:
    """§3.1 and Table 1: the items of all sources, and the share of those of several domains."""
    text = printed("text")
    yield count(1, "items of all sources", text["items"], sum(text["sources"]))
    several = sum(text["domains"].values()) - text["items"]
    yield figure(1, "items of several domains, percent", text["several_domains"], 100 * several / text["items"])


def by_domain() -> Iterator[Check]:
    """Table 2: means of all items, by finance and by medicine, and Table 12's; the shares of the domains are the text's."""
    text = printed("text")
    for setting in ("single", "multi"):
        rows = {domain: row[setting] for domain, row in printed("table02")["Qwen-2.5-7B"].items()}
        for place, (name, column) in enumerate(FOUR[:2]):
            means = []
            for domain in ("finance", "medicine"):
                share = Decimal(text["domains"][domain]) / text["items"]
                means.append(share * rows[domain][place] + (1 - share) * rows[f"not {domain}"][place])
            what = f"Qwen-2.5-7B, {setting}, {name}"
            half = Decimal("0.01")  # of two figures that round to .005
            fits = abs(means[0] - means[1]) <= half
            yield Check(2, f"{what} by finance and by medicine", f"{means[0]:.2f}", f"{means[1]:.2f}", fits)
            yield figure(
                2, f"{what} as in Table 12", printed("table12")[setting]["Qwen-2.5-7B"][column], float(means[0])
            )


def settings() -> Iterator[Check]:
    """Tables 3, 4, 19 and 20: the rows without the change are Table 12's."""
    for number, model in SAME_MODEL.items():
        rows = printed(f"table{number:02}")
        for setting in ("single", "multi"):
            row = rows.get(setting) or rows[f"{setting}, 1,024 tokens"]
            for value, (name, place) in zip(row, FOUR, strict=True):
                other = Decimal(printed("table12")[setting][model][place])
                what = f"{model}, {setting}, {name} as in Table 12"
                yield Check(number, what, f"{value}", f"{other}", agrees(other, float(value)))


def strategies() -> Iterator[Check]:
    """§5, App. H.5 and H.8: the best of several settings, and what the text says of them."""
    rag, refined, longer, drift = (printed(f"table{number:02}") for number in (3, 4, 19, 20))
    for name, place, best in (("S_f", 0, max), ("S_h", 1, min), ("D_f", 2, min)):
        values = {setting: row[place] for setting, row in rag.items() if setting.startswith("multi+")}
        found = next(setting for setting, value in values.items() if value == best(values.values()))
        yield Check(3, f"best {name} of several turns", "multi+rag=rounds", found, found == "multi+rag=rounds")
    values = {setting: row[0] for setting, row in refined.items()}
    found = max(values, key=lambda setting: values[setting])
    yield Check(4, "best S_f", "multi+mitigate=select", found, found == "multi+mitigate=select")
    for setting in ("single", "multi"):
        short, long = (longer[f"{setting}, {most} tokens"] for most in ("1,024", "2,048"))
        yield _rises(19, f"{setting}, S_f with fewer tokens", long[0], short[0])
        yield _rises(19, f"{setting}, D_f with more tokens", short[2], long[2])
    for place, name in enumerate(("S_f", "S_h")):
        yield _rises(20, f"{name} with drift", drift["multi"][place], drift["multi+drift"][place])


def _rises(number: int, what: str, before: Decimal, after: Decimal) -> Check:
    return Check(number, f"{what} is higher", f"> {before}", f"{after}", after > before)


def changes() -> Iterator[Check]:
    """Tables 12 and 13: printed changes in percent follow from the printed figures, within their rounding."""
    heads = {12: COLUMNS, 13: ("BLEU-4", "R-1", "R-2", "R-L", "S_f", "S_h", "D_f", "D_h")}
    for number, columns in heads.items():
        rows = printed(f"table{number}")
        for model, row in rows["change"].items():
            for place, name in enumerate(columns):
                before, after = (Decimal(rows[setting][model][place]) for setting in ("single", "multi"))
                low, high = _possible(before, after)
                half = Decimal("0.05")
                fits = low - half <= row[place] <= high + half
                change = 100 * (after / before - 1)
                yield Check(number, f"{model}, change of {name}", f"{row[place]}", f"{change:.1f}", fits)


def _possible(before: Decimal, after: Decimal) -> tuple[Decimal, Decimal]:
    """The least and largest change in percent of figures that round to these two."""
    first, second = (Decimal(1).scaleb(int(value.as_tuple().exponent)) / 2 for value in (before, after))
    ends = [100 * ((after + b) / (before + a) - 1) for a in (-first, first) for b in (-second, second)]
    return min(ends), max(ends)


def equations() -> Iterator[Check]:
    """Table 12: S_f and S_h as Eq. 2 and 3 have them, of the printed means."""
    for setting in ("single", "multi"):
        for model, row in printed("table12")[setting].items():
            for name, place, parts in (("S_f", S_F, (P_F, R_F)), ("S_h", S_H, (P_FC, R_M))):
                computed = harmonic_mean((float(row[parts[0]]), float(row[parts[1]])))
                yield figure(12, f"{model}, {setting}, {name} by its equation", row[place], computed)


def _columns(place: int) -> list[float]:
    rows = printed("table12")
    return [float(row[place]) for setting in ("single", "multi") for row in rows[setting].values()]


def relations() -> Iterator[Check]:
    """Figure 4: regressions of S_h on S_f and of D_h on D_f, over the 24 rows of Table 12."""
    from scipy.stats import linregress  # type: ignore[import-untyped]

    for name, r2, places in (("S_f and S_h", "0.49", (S_F, S_H)), ("D_f and D_h", "0.82", (D_F, D_H))):
        fit = linregress(_columns(places[0]), _columns(places[1]))
        yield figure(FIGURE_4, f"R² of {name}", Decimal(r2), fit.rvalue**2)
        yield Check(FIGURE_4, f"p of {name}", "< 0.001", f"{fit.pvalue:.1e}", fit.pvalue < 0.001)


def residuals() -> Mapping[str, float]:
    """Residual of D_h given D_f of each row of Table 12 (Fig. 14), in tokens, by `model, setting`.

    Examples:
        >>> round(residuals()["Gemini-2.5-Pro, single"])
        329
    """
    from scipy.stats import linregress

    d_f, d_h = _columns(D_F), _columns(D_H)
    line = linregress(d_f, d_h)
    names = [f"{model}, {setting}" for setting in ("single", "multi") for model in printed("table12")[setting]]
    return {name: y - (line.slope * x + line.intercept) for name, x, y in zip(names, d_f, d_h, strict=True)}


def rankings() -> Iterator[Check]:
    """Table 9: correlations of S_f under another evaluator and another decomposer, and the ranks."""
    from scipy.stats import pearsonr, rankdata, spearmanr

    rows = printed("table09")
    original = [float(row[0]) for row in rows.values()]
    for name, place, r, rho in (("evaluator", 1, "0.984", "0.905"), ("decomposer", 3, "0.996", "0.905")):
        other = [float(row[place]) for row in rows.values()]
        yield figure(9, f"{name}, Pearson's r", Decimal(r), float(pearsonr(original, other).statistic))
        yield figure(9, f"{name}, Spearman's rho", Decimal(rho), float(spearmanr(original, other).statistic))
        for (model, row), rank in zip(rows.items(), rankdata([-score for score in other]), strict=True):
            yield count(9, f"{name}, rank of {model}", row[place + 1], round(float(rank)))


def other_judges() -> Iterator[Check]:
    """Table 10 against Tables 9 and 12."""
    rows, ranked = printed("table10"), printed("table09")
    for name, row in rows.items():
        model, _, way = name.partition(") ")
        short, _, setting = model.rpartition(" (")
        if way == "original":
            other = printed("table12")[setting.lower()][short]
            for what, place, own in (("S_f", S_F, 0), ("S_h", S_H, 1), ("D_f", D_F, 2), ("D_h", D_H, 3)):
                yield _same(10, f"{model}), {what} as in Table 12", row[own], other[place])
        else:
            place = 1 if way.endswith("eval") else 3
            yield _same(10, f"{model}), {way}, S_f as in Table 9", row[0], ranked[f"{model})"][place])


def _same(number: int, what: str, one: Decimal | int, other: Decimal | int) -> Check:
    return Check(number, what, f"{one}", f"{other}", one == other)


def weighted() -> Iterator[Check]:
    """Tables 6 and 7: precision, recall and F1 are weighted by class, so that recall equals accuracy."""
    for number in (6, 7):
        for name, (accuracy, _, _, recall) in printed(f"table{number:02}").items():
            yield _same(number, f"{name}, recall as accuracy", accuracy, recall)


def impartial() -> Iterator[Check]:
    """Tables 7b and 8: the mark `ns` from p of .01; one pair of the decomposer's is below .05."""
    for number, name in ((7, "table07b"), (8, "table08")):
        rows = printed(name)
        for pair, (p, mark) in rows.items():
            expected = "ns" if p >= printed("text")["least_p"] else ""
            yield Check(number, f"{pair}, mark of p {p}", mark, expected, mark == expected)
        yield count(number, "pairs below .05", int(number == 8), sum(p < STARS["*"] for p, _ in rows.values()))


def naturalness() -> Iterator[Check]:
    """Table 11's means; Kruskal and Wallis' tests of Appendix D.3.2."""
    from scipy.stats import chi2

    for name, (*ratings, mean, _) in printed("table11").items():
        yield figure(11, f"{name}, mean", mean, float(sum(ratings)) / len(ratings))
    for number, h, p in ((7, "1.9552", "0.582"), (8, "6.1147", "0.1062")):
        yield figure(number, "Kruskal-Wallis, p", Decimal(p), float(chi2.sf(float(h), 3)))


def tests() -> Iterator[Check]:
    """Tables 15 to 18: differences of their own means, and the means beside Table 12's."""
    for number, (name, place, sign) in TESTED.items():
        for model, (multi, single, difference, aligned, p, stars) in printed(f"table{number}").items():
            digits = -int(difference.as_tuple().exponent)
            slack = Decimal(1).scaleb(-digits) * Decimal("1.5")
            exact = multi - single
            fits = abs(exact - difference) <= slack if number < 17 else abs(exact - difference) <= Decimal("0.01")
            yield Check(number, f"{model}, difference", f"{difference}", f"{exact}", fits)
            goes = sign * exact > 0 or exact == 0
            yield Check(number, f"{model}, aligned", f"{aligned}", f"{int(goes)}", bool(aligned) == goes or exact == 0)
            fits = _stars(p - Decimal("0.005")) == stars or _stars(p + Decimal("0.005")) == stars or _stars(p) == stars
            yield Check(number, f"{model}, stars of p {p}", stars, _stars(p), fits)
            likely = bool(aligned) or p > Decimal("0.5")
            yield Check(number, f"{model}, p of its direction", f"{p}", "above .5" if not aligned else "–", likely)
            for setting, value in (("multi", multi), ("single", single)):
                other = Decimal(printed("table12")[setting][model][place])
                expected = float(other) / 100 if number < 17 else float(other)
                holds = agrees(value, expected) if number < 17 else agrees(other, float(value))
                yield Check(number, f"{model}, {setting}, {name} as in Table 12", f"{value}", f"{other}", holds)


def _stars(p: Decimal) -> str:
    return next((mark for mark, limit in STARS.items() if p < limit), "")


def summary() -> Iterator[Check]:
    """Table 14 from Tables 15 to 18."""
    for number, (name, _, _) in TESTED.items():
        rows = printed(f"table{number}").values()
        pairs = [(bool(aligned), bool(stars)) for *_, aligned, _, stars in rows]
        counts: Sequence[int] = printed("table14")[name]
        for kind, value in zip(((True, True), (True, False), (False, True), (False, False)), counts, strict=True):
            what = f"{'aligned' if kind[0] else 'opposite'}{' and significant' if kind[1] else ''}"
            yield count(14, f"{name}, {what}", value, pairs.count(kind))
