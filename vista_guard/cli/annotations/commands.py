"""The commands that hand sheets out, and take them in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vista_guard.cli.common import exit_codes
from vista_guard.cli.reports import DataDirOption, ReportsOption, configured  # typer reads them

if TYPE_CHECKING:
    from collections.abc import Sequence

    from vista_guard.evaluation.study.records import Material
    from vista_guard.types import Label

sheets_app = typer.Typer(
    name="annotations",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Sheets for people who label claims, outside of the dashboard.",
)

StudyOption = Annotated[
    Path | None,
    typer.Option("--study", metavar="FOLDER", help="Of annotations export.  [default: the first sheet's folder]"),
]


@sheets_app.command()
def export(
    data: Annotated[
        list[str], typer.Argument(metavar="DATASET|LOG...", help="Names of vista-guard datasets, or logs' files.")
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Where the sheets go. Sheets that are there stay.")],
    annotators: Annotated[str, typer.Option(metavar="NAMES", help="Who annotates: ada,ben,cleo. Each gets a sheet.")],
    run: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RUN",
            help="Whose claims are annotated: a folder of vista-guard eval over the data, or a file of reports; one for each "
            "data set.  [default: the log's own claims]",
        ),
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option(metavar="N", help="Conversations of each data set; 40,40,40,20 for four.  [default: all]"),
    ] = None,
    enrich: Annotated[
        str | None,
        typer.Option(
            metavar="LABEL=N,…",
            help="So many of the sample are conversations in which the run found the label: abstention=5,contradicted=5. "
            "Shares of labels then mean nothing, and all that is made of the sheets says so.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", help="Of the sample.")] = 0,
    suggestions: Annotated[
        bool, typer.Option("--suggestions", help="Show the run's labels: for training, not for figures.")
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option("--data", metavar="FOLDER", envvar="VISTA_GUARD_DATA", help="Where the data sets' files are."),
    ] = None,
    log_format: Annotated[
        str, typer.Option("--format", metavar="NAME", help="A log's format; auto looks at it.")
    ] = "auto",
    columns: Annotated[
        str | None, typer.Option(metavar="WHAT=COLUMN,…", help="Columns of a log that is a table.")
    ] = None,
) -> None:
    """Write one sheet for each annotator: turns with context, question and documents, and their claims to label.

    Sheets are tab-separated values for any spreadsheet, with the paper's form: confirm, edit, delete or add claims, five labels,
    notes. They hold no label of the judge or the data set. The folder study beside them does: it is for who evaluates.
    """
    with exit_codes():
        from vista_guard.evaluation.study.drawing import Wish, draw, read_judged
        from vista_lab.cli.eval import source_of

        names = [name.strip() for name in annotators.split(",")]
        wish = Wish(names, _counts(sample), _labels(enrich), seed, suggestions)
        sources = [source_of(one, folder, log_format, columns) for one in data]
        material = draw(sources, [read_judged(one) for one in run or ()], wish)
        for source in sources:
            if source.test:
                typer.echo(f"{source.name} is a test set: its figures are final, nothing is chosen on it", err=True)
        _write(material, out)


@sheets_app.command("import")
def import_(
    sheets: Annotated[list[Path], typer.Argument(metavar="SHEET...", help="Filled sheets, named after annotators.")],
    batch: Annotated[str, typer.Option(metavar="NAME", help="The new batch that they become.")],
    study: StudyOption = None,
    reports: ReportsOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Take filled sheets into the dashboard's database, where Annotate shows agreement and what to discuss.

    Each wrong cell is named by file, row, column and value; while there is one, nothing is taken in. The run's reports come into
    the database with them, and count there as any other: a database of its own keeps a study apart.
    """
    with exit_codes():
        from contextlib import closing

        from vista_guard.evaluation.study.database import put
        from vista_guard.evaluation.study.filled import read_sheets
        from vista_guard.evaluation.study.records import load
        from vista_guard.stores.entries import OnnxEmbedder
        from vista_guard.stores.reports import Database

        material = load(study or sheets[0].parent)
        filled = read_sheets(sheets, material)
        with closing(Database(configured(reports, data_dir)[1])) as database:
            done = put(database, batch, filled, material, OnnxEmbedder())
        typer.echo(
            f"took in {done.turns:,} turns as batch {batch}, with {done.reports:,} reports that were new", err=True
        )


def _counts(sample: str | None) -> Sequence[int | None]:
    from vista_guard.errors import ConfigError

    if sample is None:
        return (None,)
    parts = sample.split(",")
    if not all(part.strip().isdecimal() and int(part) for part in parts):
        raise ConfigError(f"--sample is {sample!r}; give a number, or one for each data set: 40,40,40,20")
    return [int(part) for part in parts]


def _labels(enrich: str | None) -> dict[Label, int]:
    from vista_guard.errors import ConfigError
    from vista_guard.evaluation.study.filled import label_in

    found = {}
    for part in (enrich or "").split(",") if enrich else ():
        name, _, count = part.partition("=")
        label = label_in(name)
        if label is None or not count.strip().isdecimal() or label in found:
            raise ConfigError(f"--enrich has {part!r}; give labels with numbers: abstention=5,contradicted=5")
        found[label] = int(count)
    return found


def _write(material: Material, out: Path) -> None:
    from vista_guard.cli.common import visible
    from vista_guard.errors import ConfigError
    from vista_guard.evaluation.study.forms import HOW_TO, form, too_long
    from vista_guard.evaluation.study.records import FOLDER, save, write

    study, sheet = material.study, form(material)
    there = next((name for name in study.annotators if (out / f"{name}.tsv").exists()), None)
    if there is not None or (out / FOLDER).exists():
        name = FOLDER if there is None else f"{there}.tsv"
        raise ConfigError(f"{out / name} is there already, and may hold somebody's work. Choose another --out")
    save(material, out)
    told = HOW_TO.format(about=study.about)
    if texts := too_long(material):
        write(out / "texts", texts)
    for path in write(out, {"HOW-TO.txt": told, **{f"{name}.tsv": sheet for name in study.annotators}}):
        typer.echo(f"wrote {visible(str(path))}")
    claims = sum(len(turn.claims) for turn in study.turns)
    typer.echo(f"{len(study.turns):,} turns with {claims:,} claims. {visible(study.about)}", err=True)
    typer.echo(
        f"keep {visible(str(out / FOLDER))} from annotators: it holds the labels of judge and data set", err=True
    )
