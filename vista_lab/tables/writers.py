"""Tables, and writers for Markdown, CSV, HTML and LaTeX. Pure.

Names in a table come from files that anybody may have written: each writer escapes what its form would interpret. In LaTeX a
table wider than its column is scaled when it is set; one that would become too small is split, and each part repeats the
columns that name the rows.
"""

from __future__ import annotations

import csv
import html
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import groupby

from vista_guard.reading.visible import as_cell

_STEERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

NOTHING = "–"
"""Shown where there is no figure."""

PAPER = "paper: "
"""Prefix of rows taken from the paper."""

LONGEST_PART = 60
"""Most letters of a data set, system or judge in a file name; disks take some 250 bytes in all."""


@dataclass(frozen=True)
class Cell:
    """One figure or name. `mark` is its superscript."""

    text: str
    mark: str = ""
    bold: bool = False
    underlined: bool = False


@dataclass(frozen=True)
class Heading:
    """The heading of a column. Neighbours of one `group` share a heading above. Figures are aligned right."""

    head: str
    group: str = ""
    figures: bool = True

    @property
    def whole(self) -> str:
        return f"{self.group}: {self.head}" if self.group else self.head


Row = tuple[Cell, ...]


@dataclass(frozen=True)
class Sheet:
    """A table. `name` is its file's name, lower-case words and dashes; `rule_before` are rows with a line above them."""

    name: str
    title: str
    columns: tuple[Heading, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...] = ()
    rule_before: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        odd = next((row for row in self.rows if len(row) != len(self.columns)), None)
        if odd is not None:
            raise ValueError(
                f"table {self.name} has {len(self.columns)} columns and a row with {len(odd)} cells: {odd}"
            )

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Group headings with the number of columns each spans, in order; empty where there is none."""
        return [(group, len(list(columns))) for group, columns in groupby(column.group for column in self.columns)]

    def below(self, rows: Sequence[Row]) -> Sheet:
        """The sheet with more rows under a line."""
        if not rows:
            return self
        return replace(self, rows=self.rows + tuple(rows), rule_before=self.rule_before | {len(self.rows)})


def headings(names: Sequence[str], *figures: str | tuple[str, ...]) -> tuple[Heading, ...]:
    """Headings of the columns that name the rows, then of figures; a tuple is a group with its columns.

    Examples:
        >>> [column.whole for column in headings(["system"], "n", ("found", "P", "R"))]
        ['system', 'n', 'found: P', 'found: R']
    """
    columns = [Heading(name, figures=False) for name in names]
    for figure in figures:
        group, *heads = ("", figure) if isinstance(figure, str) else figure
        columns += [Heading(head, group) for head in heads]
    return tuple(columns)


def row(*values: Cell | str | float | None) -> Row:
    """Cells of values: a number is written as it is, None as a dash."""
    texts = (NOTHING if value is None else value for value in values)
    return tuple(value if isinstance(value, Cell) else Cell(str(value)) for value in texts)


def decimals(value: float | Decimal | None, digits: int = 3) -> str:
    """A number with this many decimals; a dash for None."""
    return NOTHING if value is None else f"{value:.{digits}f}"


def percent(value: float | None, digits: int = 2) -> str:
    """A share in [0, 1] as a percentage without the % sign; a dash for None and NaN."""
    return NOTHING if value is None or value != value else f"{100 * value:.{digits}f}"


def one_line(text: str) -> str:
    """A text on one line, with `�` for control characters and others that XML forbids."""
    return _STEERS.sub("�", " ".join(text.split()))


def file_name(*parts: str) -> str:
    """A lower-case file name; other characters than letters and digits become dashes."""
    return re.sub(r"[^a-z0-9]+", "-", " ".join(part[:LONGEST_PART] for part in parts).lower()).strip("-") or "table"


def unique_names(names: Iterable[str]) -> list[str]:
    """Unique names for files: a second `own-json` becomes `own-json-2`."""
    unique: dict[str, None] = {}
    for name in names:
        candidate, number = name, 1
        while candidate in unique:
            number += 1
            candidate = f"{name}-{number}"
        unique[candidate] = None
    return list(unique)


FORMATS = ("md", "tex", "csv", "html")

_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~$&])")


def markdown(sheets: Iterable[Sheet]) -> str:
    """Tables in GitHub's Markdown. A group heading is repeated in the heading of each column.

    Examples:
        >>> sheet = Sheet("turns", "Turns", headings(["system"], "turns"), (row("vista", 12),))
        >>> markdown([sheet]).splitlines()[-1]
        '| vista | 12 |'
    """
    return "\n".join(_markdown(sheet) for sheet in sheets)


def comma_separated(sheet: Sheet) -> str:
    """A table as CSV with one header line; marks follow their figure after a blank. Notes are left out."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([_csv(column.whole) for column in sheet.columns])
    for cells in sheet.rows:
        writer.writerow([_csv(f"{cell.text} {cell.mark}".strip()) for cell in cells])
    return file.getvalue()


def page(sheets: Sequence[Sheet], title: str, pictures: Sequence[tuple[str, str]] = ()) -> str:
    """A self-contained HTML page: no script, no network.

    `pictures` are captions and addresses, which may be `data:` URLs.
    """
    body = "\n".join(map(_html, sheets))
    shown = ((_plain_html(text), html.escape(address)) for text, address in pictures)
    captions = (f'<img src="{address}" alt="{text}"><figcaption>{text}</figcaption>' for text, address in shown)
    figures = "\n".join(f"<figure>{caption}</figure>" for caption in captions)
    size = '<meta name="viewport" content="width=device-width">'
    head = f'<meta charset="utf-8">{size}<title>{_plain_html(title)}</title>'
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}<style>{_STYLE}</style></head>\n'
        f"<body><h1>{_plain_html(title)}</h1>\n{body}\n{figures}\n</body></html>\n"
    )


def _markdown(sheet: Sheet) -> str:
    rule = ["---:" if column.figures else "---" for column in sheet.columns]
    lines = [_line(map(_md, [column.whole for column in sheet.columns])), _line(rule)]
    lines += [_line(map(_md_cell, cells)) for cells in sheet.rows]
    notes = "".join(f"- {_md(note)}\n" for note in sheet.notes)
    return f"### {_md(sheet.title)}\n\n" + "\n".join(lines) + "\n" + (f"\n{notes}" if notes else "")


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _md_cell(cell: Cell) -> str:
    text = f"<u>{_md(cell.text)}</u>" if cell.underlined else _md(cell.text)
    text = f"**{text}**" if cell.bold else text
    return f"{text}<sup>{_md(cell.mark)}</sup>" if cell.mark else text


def _md(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", one_line(text))


def _csv(text: str) -> str:
    return as_cell(one_line(text))


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
    placed = zip(sheet.columns, cells, strict=True)
    body = "".join(f"<td{_side(column)}>{_html_cell(cell)}</td>" for column, cell in placed)
    return f"<tr{ruled}>{body}</tr>"


def _side(column: Heading) -> str:
    return "" if column.figures else ' class="name"'


def _html_cell(cell: Cell) -> str:
    text = f"<u>{_plain_html(cell.text)}</u>" if cell.underlined else _plain_html(cell.text)
    text = f"<b>{text}</b>" if cell.bold else text
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

NARROW = 215
"""Points: wider tables span both columns of a page that has two."""

WIDEST = 650
"""Points: wider tables are split. On a text of 455 points this is scaled to 70 %."""

ROWS = 40
"""Longer tables are split too, as a float must fit on one page."""

WAITING = 30
"""Floats between forced page breaks; LaTeX fails at 52 that wait for a page."""

_GAP = 12.0

_SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}", "–": "--",
    "|": r"\textbar{}", '"': r"\textquotedbl{}", "`": r"\textasciigrave{}", "†": r"\dag{}", "·": r"$\cdot$", "≠": r"$\neq$",
    "−": "$-$", "≥": r"$\geq$", "≤": r"$\leq$", "≈": r"$\approx$", "∞": r"$\infty$", "×": r"$\times$", "ο": "o", "�": "?",
}  # fmt: skip
_SMALL = (
    r"\alpha \beta \gamma \delta \epsilon \zeta \eta \theta \iota \kappa \lambda \mu \nu \xi \pi \rho \sigma \tau "
    r"\upsilon \phi \chi \psi \omega"
)
_CAPITAL = r"\Gamma \Delta \Theta \Lambda \Xi \Pi \Sigma \Upsilon \Phi \Psi \Omega"
_LETTERS = zip("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ", f"{_SMALL} {_CAPITAL}".split(), strict=True)
_GREEK = {letter: f"${name}$" for letter, name in _LETTERS}
_KNOWN = {**_SPECIAL, **_GREEK}
# Beyond ASCII, pdfLaTeX sets these with T1 and no further package.
_SET = frozenset(map(chr, range(0xA0, 0x17F))) - frozenset("ĦħĸĿŀŉŦŧ") | frozenset("ȘșȚț‐‑‒—―‘’‚“”„‡•…‰‹›€№™←→↑↓ẞ")
# Letters that TeX would join into another: "--" is a dash, ",," a quote.
_JOINED = re.compile(r"([-,'])(?=\1)")
_NAMED = re.compile(r"((?:Table|Figure) \d+)\. (.+)", re.DOTALL)


def latex(sheets: Iterable[Sheet]) -> str:
    """Floats for a document that loads `booktabs`, `graphicx` and, with pdfLaTeX, `fontenc` with T1.

    Letters that pdfLaTeX cannot set without more, such as Chinese ones, stand there by their number in Unicode; XeLaTeX and
    LuaLaTeX set them in a font that has them. The document numbers its tables itself: a title's own number becomes a remark.
    """
    floats = [_float(part) for sheet in sheets for part in _parts(sheet)]
    together = ("\n".join(floats[first : first + WAITING]) for first in range(0, len(floats), WAITING))
    return "\n\\clearpage\n\n".join(together)


def _parts(sheet: Sheet) -> list[Sheet]:
    parts = [part for columns in _columns(sheet) for part in _rows(columns)]
    if len(parts) == 1:
        return parts
    first, *others = (
        replace(part, title=f"{part.title.removesuffix('.')} (part {number} of {len(parts)})")
        for number, part in enumerate(parts, 1)
    )
    return [first, *(replace(part, name=f"{sheet.name}-{number}", notes=()) for number, part in enumerate(others, 2))]


def _columns(sheet: Sheet) -> Iterator[Sheet]:
    """Parts that are not too wide. Columns of one group stay together where they can."""
    widths = [_width(sheet, place) for place in range(len(sheet.columns))]
    if sum(widths) <= WIDEST:
        yield sheet
        return
    names = next((place for place, column in enumerate(sheet.columns) if column.figures), len(widths))
    room = WIDEST - sum(widths[:names])

    def head(place: int) -> str:
        return sheet.columns[place].group or str(place)

    together = [list(places) for _, places in groupby(range(names, len(widths)), key=head)]
    blocks = [block for places in together for block in _split_columns(places, widths, room)]
    part: list[int] = []
    for block in blocks:
        if part and sum(widths[place] for place in [*part, *block]) > room:
            yield _only(sheet, [*range(names), *part])
            part = []
        part += block
    yield _only(sheet, [*range(names), *part])


def _split_columns(block: list[int], widths: Sequence[float], room: float) -> list[list[int]]:
    return [block] if sum(widths[place] for place in block) <= room else [[place] for place in block]


def _only(sheet: Sheet, places: Sequence[int]) -> Sheet:
    columns = tuple(sheet.columns[place] for place in places)
    rows = tuple(tuple(cells[place] for place in places) for cells in sheet.rows)
    return replace(sheet, columns=columns, rows=rows)


def _rows(sheet: Sheet) -> Iterator[Sheet]:
    for first in range(0, max(len(sheet.rows), 1), ROWS):
        ruled = frozenset(number - first for number in sheet.rule_before if first < number < first + ROWS)
        yield replace(sheet, rows=sheet.rows[first : first + ROWS], rule_before=ruled)


def _width(sheet: Sheet, place: int) -> float:
    """Approximate width of a column in points, set at 9 points."""
    texts = [sheet.columns[place].head, *(cells[place].text + cells[place].mark for cells in sheet.rows)]
    return _GAP + max(sum(6.5 if letter.isupper() else 4.5 for letter in text) for text in texts)


def _float(sheet: Sheet) -> str:
    heads = _row(map(_tex, [column.head for column in sheet.columns]))
    lines = [_groups(sheet)] if any(group for group, _ in sheet.groups) else []
    lines += [heads, r"\midrule"]
    for number, cells in enumerate(sheet.rows):
        lines += [r"\midrule"] if number in sheet.rule_before else []
        lines.append(_row(map(_cell, cells)))
    shape = "".join("r" if column.figures else "l" for column in sheet.columns)
    wide = sum(_width(sheet, place) for place in range(len(sheet.columns))) > NARROW
    kind = "table*" if wide else "table"
    match = _NAMED.fullmatch(sheet.title)
    title = f"{match[2].removesuffix('.')} (the paper's {match[1]})" if match else sheet.title
    caption = " ".join(_sentence(_tex(text)) for text in (title, *sheet.notes))
    return "\n".join([
        rf"\begin{{{kind}}}[tp]",
        r"\centering\small",
        r"\sbox0{%",
        rf"\begin{{tabular}}{{{shape}}}",
        r"\toprule",
        *lines,
        r"\bottomrule",
        r"\end{tabular}}",
        # Only TeX knows the width of the page: the same table fits one and is too wide for another.
        r"\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi",
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{sheet.name}}}",
        rf"\end{{{kind}}}",
        "",
    ])  # fmt: skip


def _row(cells: Iterable[str]) -> str:
    line = " & ".join(cells) + r" \\"
    # After a row's end or a rule, TeX reads a bracket or a star as its option.
    return "{}" + line if line.startswith(("[", "*")) else line


def _groups(sheet: Sheet) -> str:
    cells, rules, at = [], [], 1
    for group, width in sheet.groups:
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{_tex(group)}}}")
        rules += [rf"\cmidrule(lr){{{at}-{at + width - 1}}}"] if group else []
        at += width
    return " & ".join(cells) + r" \\" + "\n" + "".join(rules)


def _cell(cell: Cell) -> str:
    content = _tex(re.sub(r"^-(?=[\d.])", "−", cell.text))
    content = rf"\underline{{{content}}}" if cell.underlined else content
    text = rf"\textbf{{{content}}}" if cell.bold else content
    return rf"{text}\textsuperscript{{{_tex(cell.mark)}}}" if cell.mark else text


def _tex(text: str) -> str:
    # pdfLaTeX does not know decomposed letters, which some systems use in file names.
    composed = unicodedata.normalize("NFC", one_line(text))
    visible = (letter for letter in composed if unicodedata.category(letter) != "Cf")
    pieces = groupby(visible, key=lambda letter: letter > "~" and letter not in _SET and letter not in _KNOWN)
    return "".join(_foreign("".join(letters)) if foreign else _escape("".join(letters)) for foreign, letters in pieces)


def _foreign(text: str) -> str:
    """The letters where the engine knows them, else their numbers."""
    numbers = " ".join(f"U+{ord(letter):04X}" for letter in text)
    return rf"\ifdefined\directlua {text}\else\ifdefined\XeTeXversion {text}\else{{[{numbers}]}}\fi\fi{{}}"


def _escape(text: str) -> str:
    apart = _JOINED.sub("\\1\u200b", text)
    return "".join(r"\/" if letter == "\u200b" else _KNOWN.get(letter, letter) for letter in apart)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."
