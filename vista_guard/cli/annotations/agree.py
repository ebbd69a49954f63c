"""`vista-guard agree`: how far annotators agree, what they settle, and the paper's tables of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vista_guard.cli.annotations.commands import StudyOption  # typer reads it
from vista_guard.cli.common import exit_codes
from vista_guard.cli.reports import DataDirOption, ReportsOption, configured  # typer reads them

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vista_guard.evaluation.study.annotated import AnnotatedTurn
    from vista_guard.evaluation.study.records import Material
    from vista_guard.evaluation.study.results import Results
    from vista_guard.evaluation.study.settling import SettledTurn
    from vista_lab.tables.output import Picture
    from vista_lab.tables.writers import Sheet

TITLE = "What annotators say"
"""Of the HTML page."""

How = Literal["cosine", "text"]

WORDS = {"cosine": "they read the same, or the cosine of their embeddings is above 0.9", "text": "they read the same"}


def agree(
    sheets: Annotated[
        list[Path] | None, typer.Argument(metavar="SHEET...", help="Filled sheets, named after annotators.")
    ] = None,
    batch: Annotated[
        str | None, typer.Option(metavar="NAME", help="In place of sheets: a batch of the dashboard's database.")
    ] = None,
    match: Annotated[
        How, typer.Option(help="Which claims are one: as in the paper, or by the same text alone.")
    ] = "cosine",
    settled: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The discuss.tsv of an earlier call, filled in.")
    ] = None,
    runs: Annotated[
        list[Path] | None,
        typer.Option("--run", metavar="RUN", help="Folders of vista-guard eval, for Figure 2; may be repeated."),
    ] = None,
    disfluent: Annotated[
        str | None, typer.Option(metavar="IDS", help="Turns whose text is disfluent, for Table 7: c003.t1,c007.t3.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Where tables, consensus, labels and discuss.tsv go.  [default: tables to stdout]"
        ),
    ] = None,
    formats: Annotated[
        str, typer.Option("--format", metavar="LIST", help="Of tables: md, tex, csv and html; several need --out.")
    ] = "md",
    figures: Annotated[
        bool, typer.Option("--figures", help="Draw Figure 2 as SVG and PNG into --out (needs the extra evaluation).")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    study: StudyOption = None,
    reports: ReportsOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Say how far annotators agree, settle what most of them say, and list what is left to discuss.

    Jaccard and F1 of claim sets, Krippendorff's alpha, Cohen's and Fleiss' kappa are of the work as it came in. With --out, the
    consensus goes to consensus.json, a log for eval and replay with --claims given, and to labels.jsonl for calibrate. Claims
    without a majority go to discuss.tsv: fill it in and give it back with --settled. Tables 1, 6 and 7 of the paper, and with
    --run Figure 2. Exits with 0, or 2 for wrong usage or input.
    """
    with exit_codes():
        from vista_guard.errors import ConfigError
        from vista_lab.tables.output import chosen_formats

        wanted = chosen_formats(formats, out, figures=figures)
        if bool(sheets) == bool(batch):
            raise ConfigError(
                "agree takes filled sheets, or --batch with a batch of the dashboard; give one of the two"
            )
        if sheets and len(sheets) == 1:
            raise ConfigError(f"{sheets[0]} is one person's; agreement is of two or more: give all sheets")
        if figures and not runs:
            raise ConfigError("--figures draws Figure 2, which is of runs: give their folders with --run")
        _check_queue(out, settled)
        found = _results(sheets or [], batch, match, settled, study, disfluent, configured(reports, data_dir)[1])
        _tell(found, wanted, out, runs or [], settled, figures=figures, as_json=as_json)


def _results(
    sheets: Sequence[Path],
    batch: str | None,
    match: How,
    discussed: Path | None,
    study: Path | None,
    disfluent: str | None,
    url: str,
) -> Results:
    from vista_guard.evaluation.study import annotated
    from vista_guard.evaluation.study.results import Results
    from vista_guard.evaluation.study.settling import read_answers, settle
    from vista_guard.stores.entries import OnnxEmbedder

    material, turns, before, about = _work(sheets, batch, study, url)
    how = annotated.match(turns, OnnxEmbedder() if match == "cosine" else None)
    answers = None if discussed is None else read_answers(discussed, turns, how)
    settled = [before.get(one.turn.id, one) for one in settle(turns, how, answers)]
    return Results(turns, how, WORDS[match], settled, material, about, _disfluent(disfluent, turns))


def _work(
    sheets: Sequence[Path], batch: str | None, study: Path | None, url: str
) -> tuple[Material | None, Sequence[AnnotatedTurn], Mapping[str, SettledTurn], list[str]]:
    """The study, everybody's work, what the dashboard settled already, and what is to be said of all."""
    from contextlib import closing

    from vista_guard.errors import InputError
    from vista_guard.evaluation.study.annotated import of_sheets
    from vista_guard.evaluation.study.database import take
    from vista_guard.evaluation.study.filled import read_sheets
    from vista_guard.evaluation.study.records import load
    from vista_guard.stores.reports import Database

    material = load(study or sheets[0].parent) if study is not None or sheets else None
    about = (
        [material.study.about]
        if material is not None
        else [f"Batch {batch} of the dashboard, as it was put together there."]
    )
    if batch is not None:
        with closing(Database(url, create=False)) as database:
            kept = take(database, batch, material)
        left = [f"{kept.left_out:,} turns are left out: somebody saw the judge's labels."] if kept.left_out else []
        return material, kept.turns, kept.settled, about + left
    assert material is not None  # there are sheets
    filled = read_sheets(sheets, material)
    open_turns = [f"{one.annotator} left {one.open:,} turns as they were." for one in filled if one.open]
    turns = of_sheets(filled, material)
    if not turns:
        raise InputError("no sheet has a turn that was begun; there is nothing to compare")
    return material, turns, {}, about + open_turns


def _disfluent(given: str | None, turns: Sequence[AnnotatedTurn]) -> frozenset[str]:
    from vista_guard.errors import ConfigError

    names = frozenset(name.strip() for name in given.split(",")) if given else frozenset()
    unknown = sorted(names - {turn.id for turn in turns})
    if unknown:
        raise ConfigError(
            f"--disfluent names turn {unknown[0]!r}, which nobody annotated; ids are in the sheets' first column"
        )
    return names


def _check_queue(out: Path | None, settled: Path | None) -> None:
    """Answers that somebody has written into the queue are not lost by a call that forgets them."""
    from vista_guard.errors import ConfigError
    from vista_guard.evaluation.study.settling import QUEUE, has_answers

    path = None if out is None else out / QUEUE
    if path is None or not path.exists() or (settled is not None and settled.resolve() == path.resolve()):
        return
    if has_answers(path):
        raise ConfigError(f"{path} holds answers; give it with --settled, or choose another --out")


def _tell(
    found: Results,
    wanted: Sequence[str],
    out: Path | None,
    runs: Sequence[Path],
    settled: Path | None,
    *,
    figures: bool,
    as_json: bool,
) -> None:
    import json

    from vista_guard.cli.common import visible
    from vista_lab.tables.output import text

    tables = found.sheets()
    pictures: list[Picture] = []
    if runs:
        more, pictures = _figure_2(found, runs, out if figures else None)
        tables.append(more)
    written = [] if out is None else _write(found, tables, wanted, out, pictures, settled)
    if as_json:
        typer.echo(json.dumps({**found.told(), "files": list(map(str, written))}, indent=2, ensure_ascii=False))
    elif out is None:
        typer.echo(text(tables, wanted[0], TITLE), nl=False)
    else:
        for path in written:
            typer.echo(f"wrote {visible(str(path))}")
    _remind(found, out, settled)


def _figure_2(found: Results, runs: Sequence[Path], out: Path | None) -> tuple[Sheet, list[Picture]]:
    from vista_guard.errors import ConfigError
    from vista_guard.evaluation.study.judged import measured
    from vista_guard.evaluation.study.tables import figure_2
    from vista_lab.tables.pictures import draw_readings

    if found.material is None:
        raise ConfigError(
            "--run needs the study that the batch is of: give the folder of annotations export with --study"
        )
    held = measured(runs, found.settled, found.material)
    remark = "enriched sample" if found.material.study.enriched else ""
    pictures = [] if out is None else draw_readings(held, out / "figures", remark)
    return figure_2(held, found.notes), pictures


def _write(
    found: Results,
    tables: Sequence[Sheet],
    wanted: Sequence[str],
    out: Path,
    pictures: Sequence[Picture],
    settled: Path | None,
) -> list[Path]:
    from vista_guard.evaluation.study.records import write
    from vista_guard.evaluation.study.settling import QUEUE
    from vista_lab.tables.output import write as write_tables

    queue, given = found.queue(), settled is not None and settled.resolve() == (out / QUEUE).resolve()
    files = {**found.files(), **({QUEUE: queue} if queue is not None and not given else {})}
    if queue is None and not given:
        (out / QUEUE).unlink(missing_ok=True)  # of an earlier call, and without answers
    drawn = [path for one in pictures for path in one.files]
    return [*write_tables(tables, wanted, out, pictures, TITLE), *write(out, files), *drawn]


def _remind(found: Results, out: Path | None, settled: Path | None) -> None:
    from vista_guard.cli.common import visible
    from vista_guard.evaluation.study.settling import QUEUE

    left = sum(len(one.open) for one in found.settled)
    for note in found.notes if out is not None else ():
        typer.echo(visible(note), err=True)
    if left:
        where = (
            "with --out they go to discuss.tsv"
            if out is None
            else f"fill in {settled or out / QUEUE}, and give it with --settled"
        )
        typer.echo(f"{left:,} claims have no majority: {where}", err=True)
