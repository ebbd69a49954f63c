"""Tables as Markdown, CSV and HTML. Pure.

Names in a table come from files that anybody may have written: each writer escapes what its form would take for something else.
"""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Iterable, Sequence

from vista_guard.evaluation.figures.sheets import Cell, Column, Row, Sheet, one_line

FORMATS = ("md", "tex", "csv", "html")

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$&])")


def markdown(sheets: Iterable[Sheet]) -> str:
    """GitHub's tables. A common head stands in each column's own."""
    return "\n".join(_markdown(sheet) for sheet in sheets)


def comma_separated(sheet: Sheet) -> str:
    """One table with one line of heads; marks follow their figure after a blank. Notes are left out."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([_csv(column.whole) for column in sheet.columns])
    for cells in sheet.rows:
        writer.writerow([_csv(f"{cell.text} {cell.mark}".strip()) for cell in cells])
    return file.getvalue()


def page(sheets: Sequence[Sheet], title: str, pictures: Sequence[tuple[str, str]] = ()) -> str:
    """One HTML page that needs nothing else: no script, no network.

    Args:
        sheets: the tables.
        title: of the page.
        pictures: what each shows, and its address, which may be a `data:` URL.
    """
    body = "\n".join(map(_html, sheets))
    drawn = "\n".join(_picture(_plain_html(what), html.escape(address)) for what, address in pictures)
    head = (
        f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{_plain_html(title)}</title>'
    )
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n'
        f"<body><h1>{_plain_html(title)}</h1>\n{body}\n{drawn}\n</body></html>\n"
    )


def _picture(what: str, address: str) -> str:
    return f'<figure><img src="{address}" alt="{what}"><figcaption>{what}</figcaption></figure>'


def _markdown(sheet: Sheet) -> str:
    rule = ["---:" if column.figures else "---" for column in sheet.columns]
    lines = [_line(map(_md, [column.whole for column in sheet.columns])), _line(rule)]
    lines += [_line(map(_md_cell, cells)) for cells in sheet.rows]
    notes = "".join(f"- {_md(note)}\n" for note in sheet.notes)
    return f"### {_md(sheet.title)}\n\n" + "\n".join(lines) + "\n" + (f"\n{notes}" if notes else "")


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _md_cell(cell: Cell) -> str:
    text = f"**{_md(cell.text)}**" if cell.bold else _md(cell.text)
    return f"{text}<sup>{_md(cell.mark)}</sup>" if cell.mark else text


def _md(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def _csv(text: str) -> str:
    # A spreadsheet runs a cell that begins like a formula; a figure may begin with its sign.
    known = one_line(text)
    formula = known[:1] in tuple("=+-@\t") and not re.fullmatch(r"[+-]?[\d.,]+( \S+)?", known)
    return f"'{known}" if formula else known


def _html(sheet: Sheet) -> str:
    groups = "".join(
        f'<th colspan="{width}" scope="colgroup">{_plain_html(group)}</th>' if group else f'<td colspan="{width}"></td>'
        for group, width in sheet.groups
    )
    above = f"<tr>{groups}</tr>" if any(group for group, _ in sheet.groups) else ""
    heads = "".join(f'<th scope="col"{_side(column)}>{_plain_html(column.head)}</th>' for column in sheet.columns)
    rows = "\n".join(_html_row(sheet, number, cells) for number, cells in enumerate(sheet.rows))
    notes = "".join(f"<li>{_plain_html(note)}</li>" for note in sheet.notes)
    return (
        f'<section id="{sheet.name}"><h2>{_plain_html(sheet.title)}</h2><div class="wide" tabindex="0"><table>\n'
        f"<thead>{above}<tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>"
        + (f"<ul>{notes}</ul>" if notes else "")
        + "</section>"
    )


def _html_row(sheet: Sheet, number: int, cells: Row) -> str:
    ruled = ' class="rule"' if number in sheet.rule_before else ""
    shown = "".join(
        f"<td{_side(column)}>{_html_cell(cell)}</td>" for column, cell in zip(sheet.columns, cells, strict=True)
    )
    return f"<tr{ruled}>{shown}</tr>"


def _side(column: Column) -> str:
    return "" if column.figures else ' class="name"'


def _html_cell(cell: Cell) -> str:
    text = f"<b>{_plain_html(cell.text)}</b>" if cell.bold else _plain_html(cell.text)
    return f"{text}<sup>{_plain_html(cell.mark)}</sup>" if cell.mark else text


def _plain_html(text: str) -> str:
    return html.escape(one_line(text))


_STYLE = (
    ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:1.5rem auto;max-width:110rem;padding:0 1rem}"
    ".wide{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}"
    "th,td{padding:.2rem .6rem;text-align:right;white-space:nowrap}th.name,td.name{text-align:left}"
    "thead tr:last-child{border-bottom:1px solid}tr.rule{border-top:1px solid}th[scope=colgroup]{text-align:center}"
    "figure{margin:2rem 0}img{max-width:100%;background:#fff}ul{font-size:.9em}"
)
