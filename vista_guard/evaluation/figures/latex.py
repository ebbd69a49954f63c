"""Tables as LaTeX, for a document of one column or two. Pure.

What is wider than its place is scaled to it when the document is set, and what no scaling would leave legible comes in parts:
the first columns, which name the rows, stand in each.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from vista_guard.evaluation.figures.sheets import Cell, Sheet, one_line

NARROW = 215
"""Points: wider tables span both columns of a page that has two."""

WIDEST = 650
"""Points: wider tables come in parts. On a text of 455 points this is scaled to 70 %."""

ROWS = 40
"""Longer tables come in parts, too: a float is on one page."""

WAITING = 30
"""So many floats without text between them may wait for a page; LaTeX stops at 52."""

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
_GREEK = {
    letter: f"${name}$"
    for letter, name in zip("αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ", f"{_SMALL} {_CAPITAL}".split(), strict=True)
}
_KNOWN = {**_SPECIAL, **_GREEK}
# What pdfLaTeX sets with T1 and without a further package, beyond ASCII.
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
    """Parts that are not too wide. Columns under a common head stay together where they can."""
    widths = [_width(sheet, place) for place in range(len(sheet.columns))]
    if sum(widths) <= WIDEST:
        yield sheet
        return
    names = next((place for place, column in enumerate(sheet.columns) if column.figures), len(widths))
    room = WIDEST - sum(widths[:names])
    blocks = [
        block
        for _, together in groupby(
            range(names, len(widths)), key=lambda place: sheet.columns[place].group or str(place)
        )
        for block in _fitting(list(together), widths, room)
    ]
    taken: list[int] = []
    for block in blocks:
        if taken and sum(widths[place] for place in [*taken, *block]) > room:
            yield _only(sheet, [*range(names), *taken])
            taken = []
        taken += block
    yield _only(sheet, [*range(names), *taken])


def _fitting(block: list[int], widths: Sequence[float], room: float) -> list[list[int]]:
    return [block] if sum(widths[place] for place in block) <= room else [[place] for place in block]


def _only(sheet: Sheet, places: Sequence[int]) -> Sheet:
    return replace(
        sheet,
        columns=tuple(sheet.columns[place] for place in places),
        rows=tuple(tuple(cells[place] for place in places) for cells in sheet.rows),
    )


def _rows(sheet: Sheet) -> Iterator[Sheet]:
    for first in range(0, max(len(sheet.rows), 1), ROWS):
        ruled = frozenset(number - first for number in sheet.rule_before if first < number < first + ROWS)
        yield replace(sheet, rows=sheet.rows[first : first + ROWS], rule_before=ruled)


def _width(sheet: Sheet, place: int) -> float:
    """About how many points a column takes at 9 points."""
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
    named = _NAMED.fullmatch(sheet.title)
    title = f"{named[2].removesuffix('.')} (the paper's {named[1]})" if named else sheet.title
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
        # Its width is known when it is set: the same table is fine on one page, and too wide for another.
        r"\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi",
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{sheet.name}}}",
        rf"\end{{{kind}}}",
        "",
    ])  # fmt: skip


def _row(cells: Iterable[str]) -> str:
    shown = " & ".join(cells) + r" \\"
    # Behind a line's end or a rule a bracket or a star would be taken for its option.
    return "{}" + shown if shown.startswith(("[", "*")) else shown


def _groups(sheet: Sheet) -> str:
    cells, rules, at = [], [], 1
    for group, width in sheet.groups:
        cells.append(rf"\multicolumn{{{width}}}{{c}}{{{_tex(group)}}}")
        rules += [rf"\cmidrule(lr){{{at}-{at + width - 1}}}"] if group else []
        at += width
    return " & ".join(cells) + r" \\" + "\n" + "".join(rules)


def _cell(cell: Cell) -> str:
    shown = _tex(re.sub(r"^-(?=[\d.])", "−", cell.text))
    text = rf"\textbf{{{shown}}}" if cell.bold else shown
    return rf"{text}\textsuperscript{{{_tex(cell.mark)}}}" if cell.mark else text


def _tex(text: str) -> str:
    # Decomposed letters, as some systems have them in the names of files, are unknown to pdfLaTeX.
    whole = unicodedata.normalize("NFC", one_line(text))
    pieces = groupby((letter for letter in whole if unicodedata.category(letter) != "Cf"), key=_is_foreign)
    return "".join(_foreign("".join(letters)) if foreign else _escaped("".join(letters)) for foreign, letters in pieces)


def _is_foreign(letter: str) -> bool:
    return letter > "~" and letter not in _SET and letter not in _KNOWN


def _foreign(text: str) -> str:
    """The letters where the engine knows them, else their numbers."""
    numbers = " ".join(f"U+{ord(letter):04X}" for letter in text)
    return rf"\ifdefined\directlua {text}\else\ifdefined\XeTeXversion {text}\else{{[{numbers}]}}\fi\fi{{}}"


def _escaped(text: str) -> str:
    apart = _JOINED.sub("\\1\u200b", text)
    return "".join(r"\/" if letter == "\u200b" else _KNOWN.get(letter, letter) for letter in apart)


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?", "!")) else f"{text}."
