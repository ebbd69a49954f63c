"""Tables as LaTeX: what stands in the file, and what comes of it where pdfLaTeX is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from vista_lab.tables.writers import ROWS, Cell, Heading, Sheet, latex, row

SHEET = Sheet(
    name="table-2",
    title="Table 2. Accuracy & more",
    columns=(
        Heading("model", figures=False),
        Heading("VISTA", "AIS"),
        Heading("FActScore", "AIS"),
        Heading("n"),
    ),
    rows=(row("GPT-5", Cell("60.20", "†", bold=True), "59.20", "500"), row("a_b", None, "-1.5", 3)),
    notes=("On 50 % of it.",),
    rule_before=frozenset({1}),
)

HOSTILE = "<script>alert(1)</script> | `x` [a](b) \\input{x} 100% $y_1$ &amp;\n\x1b[2J\u202e{#^~}"

NAMES = (
    "a_b%c&d#e~f^g{h}i\\j$k", "--limit -- ,, '' ``x''", "[1]", "*", "†αβκΩΔ −1 ≥ ≤ ≠ ≈ × · ∞", "déjà Łódź ñ Straße",
    "de\u0301compose\u0301", "“so” ‘so’ – — … • € ™ ← →", "Оценка", "裁判 モデル", "🎉 x\u200by", "x\ufffdy", '|<>|"',
    "no\u00a0break", "-2.5",
)  # fmt: skip


def wide(columns: int, cell: str = "12.34 [10.00–20.00]") -> Sheet:
    heads = (
        Heading("run", figures=False),
        *(Heading(f"c{number}", f"g{number // 2}") for number in range(columns)),
    )
    return Sheet("wide", "Wide", heads, (row("x", *[cell] * columns),), ("A note.",))


def test_one_table() -> None:
    assert latex([SHEET]).splitlines() == [
        r"\begin{table}[tp]",
        r"\centering\small",
        r"\sbox0{%",
        r"\begin{tabular}{lrrr}",
        r"\toprule",
        r"\multicolumn{1}{c}{} & \multicolumn{2}{c}{AIS} & \multicolumn{1}{c}{} \\",
        r"\cmidrule(lr){2-3}",
        r"model & VISTA & FActScore & n \\",
        r"\midrule",
        r"GPT-5 & \textbf{60.20}\textsuperscript{\dag{}} & 59.20 & 500 \\",
        r"\midrule",
        r"a\_b & -- & $-$1.5 & 3 \\",
        r"\bottomrule",
        r"\end{tabular}}",
        r"\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi",
        r"\caption{Accuracy \& more (the paper's Table 2). On 50 \% of it.}",
        r"\label{tab:table-2}",
        r"\end{table}",
    ]


def test_a_wide_table_spans_both_columns() -> None:
    tex = latex([wide(4)])
    assert (tex.count(r"\begin{table*}[tp]"), tex.count(r"\end{table*}")) == (1, 1)


def test_a_table_that_nobody_could_read_comes_in_parts() -> None:
    parts = re.findall(r"\\begin\{table\*\}.*?\\end\{table\*\}", latex([wide(14)]), re.DOTALL)
    heads = [re.findall(r"\\cmidrule.*\n(.*) \\\\", part)[0].split(" & ") for part in parts]
    # Groups of two stay together, and each part names its rows.
    assert heads == [
        ["run", *(f"c{number}" for number in range(start, min(start + 6, 14)))] for start in range(0, 14, 6)
    ]
    assert [re.findall(r"\\caption\{(.*)\}", part)[0] for part in parts] == [
        "Wide (part 1 of 3). A note.",
        "Wide (part 2 of 3).",
        "Wide (part 3 of 3).",
    ]
    assert [re.findall(r"\\label\{(.*)\}", part)[0] for part in parts] == ["tab:wide", "tab:wide-2", "tab:wide-3"]


def test_a_long_table_comes_in_parts() -> None:
    rows = tuple(row(f"r{number}", number) for number in range(2 * ROWS + 1))
    tex = latex(
        [
            Sheet(
                "long",
                "Long",
                (Heading("run", figures=False), Heading("n")),
                rows,
                (),
                frozenset({ROWS, ROWS + 1}),
            )
        ]
    )
    parts = re.findall(r"\\begin\{tabular\}(.*?)\\end\{tabular\}", tex, re.DOTALL)
    assert [len(re.findall(r"^r\d+ & \d+ ", part, re.MULTILINE)) for part in parts] == [ROWS, ROWS, 1]
    # A line between the rows of two parts is their border.
    assert [part.count(r"\midrule") for part in parts] == [1, 2, 1]


def test_a_row_does_not_begin_like_an_option() -> None:
    lines = latex([Sheet("x", "x", (Heading("[a"),), (row("[1]"), row("*"), row("a*[")))]).splitlines()
    assert lines[5:10] == [r"{}[a \\", r"\midrule", r"{}[1] \\", r"{}* \\", r"a*[ \\"]


def test_nothing_hostile_stays() -> None:
    tex = latex([Sheet("x", HOSTILE, (Heading(HOSTILE, HOSTILE),), (row(Cell(HOSTILE, HOSTILE)),), (HOSTILE,))])
    assert r"\input" not in tex
    assert r"\textbackslash{}input\{x\} 100\% \$y\_1\$ \&amp;" in tex
    assert "\x1b" not in tex


def test_letters_that_only_some_engines_set() -> None:
    tex = latex([Sheet("x", "裁判 é", (Heading("a"),), ())])
    assert (
        r"\caption{\ifdefined\directlua 裁判\else\ifdefined\XeTeXversion 裁判\else{[U+88C1 U+5224]}\fi\fi{} é.}" in tex
    )


@pytest.mark.skipif(
    shutil.which("pdflatex") is None, reason="pdfLaTeX is not installed (Debian: texlive-latex-recommended)"
)
@pytest.mark.parametrize("options", ["", "twocolumn"])
def test_pdflatex_sets_all_of_it_and_nothing_runs_off_the_page(tmp_path: Path, options: str) -> None:
    names = Sheet(
        "names",
        "Table 7. " + " ".join(NAMES),
        (Heading("name", figures=False), *(Heading(name) for name in NAMES)),
        tuple(row(name, *[Cell(name, name, bold=True)] * len(NAMES)) for name in NAMES),
        NAMES,
    )
    long = Sheet("long", "Long", (Heading("n"),), tuple(row(number) for number in range(3 * ROWS)))
    many = [replace(SHEET, name=f"table-{number}") for number in range(100, 180)]
    (tmp_path / "tables.tex").write_text(
        latex([SHEET, names, wide(4), replace(wide(40), name="wider"), long, *many]), "utf-8"
    )
    (tmp_path / "paper.tex").write_text(
        f"\\documentclass[{options}]{{article}}\n\\usepackage[T1]{{fontenc}}\n\\usepackage{{booktabs,graphicx}}\n"
        "\\begin{document}\n\\input{tables}\n\\listoftables\n\\end{document}\n"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "paper.tex"]
    for _ in range(2):  # the list of tables is of the run before
        done = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, timeout=120)
        log = (tmp_path / "paper.log").read_text("utf-8", "replace")
        assert done.returncode == 0, log[-3000:]
    tables = log.partition("paper.lot")[0]
    assert not re.findall(r"Overfull \\hbox \(\d{2,}\.|too large|Missing character", tables)
    assert "multiply defined" not in log
