"""The tables of people's work on a generated set: Table 3 of LLM-OASIS, each annotator beside the others, and the gold."""

from __future__ import annotations

from vista_lab.metrics.intervals import Share
from vista_lab.oasis.people import GoldSet, LineFigures, OasisResults
from vista_lab.papers import part
from vista_lab.tables.overview import in_brackets
from vista_lab.tables.writers import NOTHING, Row, Sheet, decimals, headings, percent, row

UNIT = (
    "Rows are claims, of falsification pairs; a row of several annotators is what most of them say, and counts once. Discarded "
    "rows and open ones are in no share. Passages: all rows right. Brackets: 95 %, drawing documents. κ is Fleiss' over v, x and "
    "d of the rows that everybody marked, before any discussion."
)


def tables(results: OasisResults) -> list[Sheet]:
    """All tables of a set's results."""
    return [table_3(results), annotators(results), gold(results.gold)]


def table_3(results: OasisResults) -> Sheet:
    """Accuracy and agreement by step, beside the paper's."""
    of_rows, of_passages = ("rows", "accuracy, %"), ("passages", "accuracy, %")
    more = (("shared", "κ", "rows"), ("paper", "accuracy, %", "κ"))
    heads = headings(["step"], "rows", of_rows, "passages", of_passages, "discarded", "open", *more)
    sizes = ", ".join(f"{n:,}" for n in part("oasis", "table03")["sizes"])
    unit = f"The paper's unit is not stated: its accuracies are whole numbers of none of {sizes}."
    notes = (UNIT, unit, *results.notes)
    rows = tuple(map(_line, results.lines))
    return Sheet("table-3", f"Table 3. {part('oasis', 'table03')['title']}", heads, rows, notes)


def _line(figures: LineFigures) -> Row:
    paper = part("oasis", "table03")["rows"].get(figures.line.printed)
    printed = map(str, paper) if paper else (None, None)
    shares = ((figures.rows, figures.interval), (figures.passages, figures.passage_interval))
    cells = [cell for share, own in shares for cell in (f"{share.n:,}", _accuracy(share, own))]
    counts = (f"{figures.discarded:,}", f"{figures.open:,}", decimals(figures.kappa), f"{figures.shared:,}")
    return row(figures.line.title, *cells, *counts, *printed)


def _accuracy(share: Share, interval: tuple[float, float] | None) -> str:
    return in_brackets(share.value, interval) if share.n else NOTHING


def annotators(results: OasisResults) -> Sheet:
    """Share of rows that each annotator calls wrong, and of shared rows where they differ from the majority."""

    def accuracy(share: Share) -> str:
        return _accuracy(share, share.interval if share.n else None)

    found = ((one, f"{one.discarded:,}", f"{one.unlike.n:,}") for one in results.annotators)
    cells = ((one.name, f"{one.rows:,}", accuracy(one.wrong), *more, accuracy(one.unlike)) for one, *more in found)
    rows = tuple(row(*own) for own in cells)
    unlike = ("shared rows", "compared", "unlike the majority, %")
    heads = headings(["annotator"], "rows", "called wrong, %", "discarded", unlike)
    notes = ("Over all four steps; a claim of a factual text counts once, by both of its marks.",)
    return Sheet("annotators", "Annotators", heads, rows, notes)


def gold(found: GoldSet) -> Sheet:
    """Passages without a mark at any step, and the step that lost each of the others."""
    kept = len(found.records)
    total = kept + sum(found.lost.values()) + found.unfinished
    lost = ((f"marked at {step}", count) for step, count in found.lost.items())
    counted = [("gold", kept), *lost, ("unfinished", found.unfinished)]
    rows = [row(name, f"{count:,}", percent(count / total if total else None, 1)) for name, count in counted]
    rows.append(row("passages", f"{total:,}", None))
    notes = (
        "Gold: each annotator of the passage put v everywhere, at all four steps. Each gives two texts to Task 1, and two "
        "claims to Task 2.",
    )
    heads = headings(["passages"], "n", "%")
    return Sheet("gold", "Gold", heads, tuple(rows), notes, frozenset({len(rows) - 1}))
