"""Commands for studies with people: `annotations export` and `import`, `agree`, and `reviews export`."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vista_guard.cli.common import DataDirOption, command_group, exit_codes, visible  # typer reads it
from vista_guard.cli.reports import ReportsOption, settings_and_url  # typer reads them
from vista_guard.errors import ConfigError, InputError
from vista_lab.cli.tables import FormatsOption, tell_written

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from vista_guard.protocols import Embedder
    from vista_guard.stores.reports import Database
    from vista_guard.types import Label
    from vista_lab.annotate.agreement import FormResults
    from vista_lab.annotate.sheets import FilledSheet, Table
    from vista_lab.annotate.study import StudyData
    from vista_lab.tables.output import Picture
    from vista_lab.tables.writers import Sheet

Kind = Literal["xlsx", "tsv"]

annotations_app = command_group("annotations", "Make annotation sheets, and batches for the dashboard.")

StudyOption = Annotated[
    Path | None,
    typer.Option(
        "--study", metavar="FOLDER", help="Folder that annotations export wrote.  [default: the first sheet's folder]"
    ),
]


@annotations_app.command()
def export(
    data: Annotated[
        list[str],
        typer.Argument(
            metavar="DATASET|LOG|ITEMS...",
            help="Names of vista-guard datasets or logs' files; a file of items for a form that is not of turns.",
        ),
    ],
    out: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder to write sheets to; existing sheets are kept.")],
    annotators: Annotated[
        str, typer.Option(metavar="NAMES", help="Annotators' names: ada,ben,cleo. Each gets a sheet.")
    ],
    form: Annotated[
        str,
        typer.Option(
            metavar="NAME|FILE", help="What annotators mark: vista, desiderata, or a form's .yaml or .toml file."
        ),
    ] = "vista",
    sheets: Annotated[
        Kind,
        typer.Option(
            "--sheets", help="Excel and LibreOffice open xlsx (needs the extra evaluation); tsv is plain text."
        ),
    ] = "xlsx",
    run: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="RUN",
            help="Run whose claims are annotated: a folder of vista-guard eval over the data, or a file of reports; one for each "
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
            help="Draw this many conversations in which the run found the label: abstention=5,contradicted=5. "
            "The sheets' shares of labels then mean nothing, and every result says so.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="S", help="Random seed for the sample.")] = 0,
    suggestions: Annotated[
        bool, typer.Option("--suggestions", help="Show the run's labels: for training, not for figures.")
    ] = False,
    folder: Annotated[
        Path | None,
        typer.Option("--data", metavar="FOLDER", envvar="VISTA_GUARD_DATA", help="Where the data sets' files are."),
    ] = None,
    log_format: Annotated[
        str, typer.Option("--format", metavar="NAME", help="Format of a log; auto detects it.")
    ] = "auto",
    columns: Annotated[
        str | None, typer.Option(metavar="WHAT=COLUMN,…", help="Columns of a log that is a table.")
    ] = None,
    roles: Annotated[
        str | None,
        typer.Option(metavar="NAME=ROLE,…", help="Roles of a log's speakers: operator=assistant,caller=user."),
    ] = None,
) -> None:
    """Write one sheet for each annotator: what to read, and what to mark.

    The default form is VISTA's: turns with context, question and documents, whose claims annotators confirm, edit,
    delete, add and label. Sheets hold no label of the judge or the data set. The folder `study` beside them does: keep
    it.

    Example: `vista-guard annotations export log.jsonl --annotators ada,ben --out sheets`
    """
    with exit_codes():
        from vista_lab.annotate.forms import load_form
        from vista_lab.annotate.study import Sampling, draw, draw_items, of_turns, read_run
        from vista_lab.logs.notes import ReadingNotes
        from vista_lab.runs.plan import source_of

        names, shape = [name.strip() for name in annotators.split(",")], load_form(form)
        wanted = Sampling(names, _counts(sample), _labels(enrich), seed, suggestions, shape)
        if of_turns(shape):
            sources = [source_of(one, folder, log_format, columns, roles) for one in data]
            notes = ReadingNotes()
            study = draw([source.heard(notes) for source in sources], [read_run(one) for one in run or ()], wanted)
            for line in (*notes.unread_told(), *notes.told()):
                typer.echo(visible(line), err=True)
            tests = [source.name for source in sources if source.test]
        else:
            study, tests = draw_items(_only_file(data, run), wanted), []
        for name in tests:
            typer.echo(f"{name} is a test set: its figures are final, choose nothing on it", err=True)
        _write_study(study, out, f".{sheets}")


@annotations_app.command("import")
def import_(
    batch: Annotated[str, typer.Option(metavar="NAME", help="The new batch.")],
    sheets: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[SHEET...]",
            help="Filled sheets, named after annotators. Without any, people work in the dashboard.",
        ),
    ] = None,
    study: StudyOption = None,
    reports: ReportsOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Import filled sheets into the dashboard, whose page Annotate shows agreement and disputes.

    If a cell is wrong, it is named by file, sheet, row, column and value, and nothing is imported. The run's reports
    are imported too, and count as any others do: use a separate database to keep a study apart. Without sheets, the
    items of --study become a batch that people fill in on the page. (VISTA's form always needs sheets; make its batches
    on the page.)

    Example: `vista-guard annotations import sheets/*.xlsx --batch pilot`
    """
    with exit_codes():
        from vista_guard.stores.reports import Database
        from vista_lab.annotate.sheets import read_sheets
        from vista_lab.annotate.study import load

        if study is None and not sheets:
            raise ConfigError(
                "nothing to import; give filled sheets, or with --study the folder that annotations export wrote"
            )
        data = load(study or (sheets or [])[0].parent)
        filled = read_sheets(sheets or [], data.study.form, data.items)
        with closing(Database(settings_and_url(reports, data_dir)[1])) as database:
            typer.echo(_take_in(database, batch, filled, data), err=True)


@annotations_app.command()
def remove(
    batch: Annotated[str, typer.Argument(metavar="NAME", help="A batch that import made of a form's items.")],
    reports: ReportsOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Delete a form's batch from the dashboard's database, with its texts and all work on it.

    Batches of guarded turns are deleted with their reports: see `vista-guard forget`.

    Example: `vista-guard annotations remove pilot`
    """
    with exit_codes():
        from vista_guard.stores.reports import Database
        from vista_lab.annotate.batches import Batches

        with closing(Database(settings_and_url(reports, data_dir)[1], create=False)) as database:
            Batches(database).remove(batch)
        typer.echo(f"removed batch {batch}", err=True)


def _take_in(database: Database, batch: str, filled: Sequence[FilledSheet], data: StudyData) -> str:
    from vista_guard.stores.entries import OnnxEmbedder
    from vista_lab.annotate.agreement import by_annotator
    from vista_lab.annotate.batches import Batches
    from vista_lab.annotate.database import WHO, import_sheets

    study = data.study
    if study.form.revision is None:
        wanted = len(filled) or len(study.annotators)
        Batches(database).create(
            batch, study.form, data.items, wanted=wanted, who=WHO, about=study.about, finished=by_annotator(filled)
        )
        return f"made batch {batch} of {len(data.items):,} items, {wanted} annotators each"
    if not filled:
        raise ConfigError("form vista needs filled sheets to import; without sheets, make a batch of turns in Annotate")
    imported = import_sheets(database, batch, filled, data, OnnxEmbedder())
    return f"took in {imported.turns:,} turns as batch {batch}, with {imported.reports:,} reports that were new"


def _only_file(data: Sequence[str], runs: Sequence[Path] | None) -> Path:
    if len(data) != 1 or runs:
        raise ConfigError(f"this form takes one file of items and no --run; {len(data)} files were given")
    return Path(data[0])


def _counts(sample: str | None) -> Sequence[int | None]:
    if sample is None:
        return (None,)
    parts = sample.split(",")
    if not all(part.strip().isdecimal() and int(part) for part in parts):
        raise ConfigError(f"--sample is {sample!r}; give a number, or one for each data set: 40,40,40,20")
    return [int(part) for part in parts]


def _labels(enrich: str | None) -> dict[Label, int]:
    from vista_lab.annotate.forms import load_form

    labels = load_form("vista").labels
    counts = {}
    for part in (enrich or "").split(",") if enrich else ():
        name, _, count = part.partition("=")
        choice = None if labels is None else labels.find(name)
        label = None if choice is None else choice.label
        if label is None or not count.strip().isdecimal() or label in counts:
            raise ConfigError(f"--enrich has {part!r}; give labels with numbers: abstention=5,contradicted=5")
        counts[label] = int(count)
    return counts


def _write_study(data: StudyData, out: Path, suffix: str) -> None:
    from vista_lab.annotate.study import FOLDER, hand_out

    study = data.study
    files = [f"{name}{ending}" for name in study.annotators for ending in (".xlsx", ".tsv")]
    existing = next((name for name in [*files, FOLDER] if (out / name).exists()), None)
    if existing is not None:
        raise ConfigError(f"{out / existing} exists and may hold an annotator's work. Choose another --out")
    tell_written(hand_out(data, out, suffix))
    parts = sum(len(item.parts) for item in data.items)
    unit = "" if study.form.parts is None else f" with {parts:,} {study.form.parts.unit}s"
    typer.echo(f"{len(data.items):,} {study.form.item}s{unit}. {visible(study.about)}", err=True)
    typer.echo(
        f"keep {visible(str(out / FOLDER))} from annotators: it holds the labels of judge and data set", err=True
    )


# Agreement

TITLE = "What annotators say"
"""Title of the HTML page."""

How = Literal["cosine", "text"]


def agree(
    sheets: Annotated[
        list[Path] | None, typer.Argument(metavar="SHEET...", help="Filled sheets, named after annotators.")
    ] = None,
    batch: Annotated[
        str | None, typer.Option(metavar="NAME", help="Instead of sheets: a batch of the dashboard's database.")
    ] = None,
    match: Annotated[
        How, typer.Option(help="When two claims are the same: similar in meaning, as in the paper, or equal in text.")
    ] = "cosine",
    settled: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The discuss sheet of an earlier call, filled in.")
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
            metavar="FOLDER",
            help="Folder for tables, consensus, labels and the discuss sheet.  [default: tables to stdout]",
        ),
    ] = None,
    formats: FormatsOption = "md",
    figures: Annotated[
        bool, typer.Option("--figures", help="Draw Figure 2 as SVG and PNG into --out (needs the extra evaluation).")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    study: StudyOption = None,
    reports: ReportsOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Measure how far annotators agree, settle majorities, and list disputes.

    The form declares the measures. For VISTA's form: Jaccard and F1 of claim sets, Krippendorff's alpha, Cohen's and
    Fleiss' kappa of the sheets as filled in (Tables 1, 6 and 7), and with --run Figure 2. With --out, the consensus
    goes to consensus.json, a log for eval and replay with --claims given, and to labels.jsonl for calibrate; of other
    forms to consensus.jsonl. Items without a majority go to a sheet named discuss: fill it in and pass it back with
    --settled. Exits with 0, or 2 for wrong usage or input.

    Example: `vista-guard agree sheets/*.xlsx --out consensus`
    """
    with exit_codes():
        from vista_guard.stores.entries import OnnxEmbedder
        from vista_lab.annotate.sheets import QUEUES
        from vista_lab.tables.output import chosen_formats

        wanted = chosen_formats(formats, out, figures=figures)
        if bool(sheets) == bool(batch):
            raise ConfigError("give filled sheets or --batch NAME of the dashboard, and not both")
        if sheets and len(sheets) == 1:
            raise ConfigError(f"{sheets[0]} is a single annotator's sheet; agreement needs at least two")
        if figures and not runs:
            raise ConfigError("--figures draws Figure 2 from runs; give their folders with --run")
        check_answers_kept([] if out is None else [out / name for name in QUEUES], settled)
        embedder = OnnxEmbedder() if match == "cosine" else None
        results = _results(sheets or [], batch, study, settings_and_url(reports, data_dir)[1], embedder)
        results = _with_discussion(results, settled, disfluent)
        as_text = sheets and sheets[0].suffix.lower() != ".xlsx"
        suffix = ".tsv" if as_text or find_spec("openpyxl") is None else ".xlsx"
        _print_results(results, wanted, out, runs or [], settled, suffix=suffix, figures=figures, as_json=as_json)


def _results(
    paths: Sequence[Path], batch: str | None, study: Path | None, url: str, embedder: Embedder | None
) -> FormResults:
    """Results of sheets of a study, or of a batch of the database."""
    from vista_lab.annotate.study import load

    data = load(study or paths[0].parent) if study is not None or paths else None
    if batch is not None or data is None:
        return _batch_results(batch or "", data, url, embedder)
    return _sheet_results(paths, data, embedder)


def _sheet_results(paths: Sequence[Path], data: StudyData, embedder: Embedder | None) -> FormResults:
    from vista_lab.annotate.agreement import FormResults, by_annotator
    from vista_lab.annotate.results import of_study
    from vista_lab.annotate.sheets import read_sheets

    form = data.study.form
    filled = read_sheets(paths, form, data.items)
    if not any(sheet.answers for sheet in filled):
        raise InputError(f"every sheet is empty; fill in at least one {form.item} to compare")
    unfinished = [f"{sheet.annotator} left {sheet.open:,} {form.item}s as they were." for sheet in filled if sheet.open]
    results = FormResults(form, data.items, by_annotator(filled), [data.study.about, *unfinished], {})
    return results if form.revision is None else of_study(results, data, embedder)


def _batch_results(batch: str, data: StudyData | None, url: str, embedder: Embedder | None) -> FormResults:
    from vista_guard.stores.reports import Database
    from vista_lab.annotate.batches import Batches, results_of
    from vista_lab.annotate.database import take

    with closing(Database(url, create=False)) as database:
        batches = Batches(database)
        known = {one.name: one for one in batches.all()}
        if batch not in known:
            raise InputError(f"batch {batch!r} does not exist; there are {', '.join(known) or 'none'}")
        found = known[batch]
        if found.of_turns:
            return take(database, found, data, embedder)
        tasks = batches.complete(batch)
    left = found.items - len(tasks)
    note = f"{left:,} of {found.items:,} {found.form.item}s are not submitted by all."
    return results_of(found, tasks, *([note] if left else []))


def _with_discussion(results: FormResults, settled: Path | None, disfluent: str | None) -> FormResults:
    """Adds the decisions of a discussion, and the turns that were named as disfluent."""
    from vista_lab.annotate.results import ClaimResults

    if disfluent is not None and not isinstance(results, ClaimResults):
        raise ConfigError("--disfluent needs the form vista: it changes Table 7")
    if settled is not None:
        results = results.with_answers(settled)
    if not isinstance(results, ClaimResults):
        return results
    return replace(results, disfluent=_disfluent(disfluent, results.claims))


def _disfluent(ids: str | None, turns: Collection[str]) -> frozenset[str]:
    names = frozenset(name.strip() for name in ids.split(",")) if ids else frozenset()
    unknown = sorted(names.difference(turns))
    if unknown:
        raise ConfigError(
            f"--disfluent names turn {unknown[0]!r}, which no sheet annotates; copy an id from the sheets' first column"
        )
    return names


def check_answers_kept(queues: Iterable[Path], settled: Path | None) -> None:
    """Checks that no answers in a discuss sheet would be overwritten.

    Raises ConfigError: a sheet has answers, and is not the one given with `--settled`.
    """
    from vista_lab.annotate.agreement import has_answers

    for path in queues:
        if path.exists() and not is_same(path, settled) and has_answers(path):
            raise ConfigError(f"{path} has answers that would be lost; give it with --settled, or choose another --out")


def is_same(path: Path, other: Path | None) -> bool:
    return other is not None and other.resolve() == path.resolve()


def discuss_sheet(table: Table | None, path: Path, settled: Path | None) -> dict[str, bytes]:
    """The sheet for the discussion as a file; none in place of the one given with `--settled`. Deletes others beside it.

    Those are from an earlier call and without answers: see `check_answers_kept`.
    """
    from vista_lab.annotate.sheets import QUEUES, content

    if is_same(path, settled):
        return {}
    for one in map(path.with_name, QUEUES):
        if not is_same(one, settled):
            one.unlink(missing_ok=True)
    return {} if table is None else {path.name: content(table, path.suffix)}


def _print_results(
    results: FormResults,
    wanted: Sequence[str],
    out: Path | None,
    runs: Sequence[Path],
    settled: Path | None,
    *,
    suffix: str,
    figures: bool,
    as_json: bool,
) -> None:
    from vista_lab.annotate.sheets import QUEUE
    from vista_lab.tables.output import text, write, write_files

    tables = results.sheets()
    pictures: list[Picture] = []
    if runs:
        figure, pictures = _figure_2(results, runs, out if figures else None)
        tables.append(figure)
    queue, written = settled, list[Path]()
    if out is not None:
        path = out / f"{QUEUE}{suffix}"
        files: dict[str, str | bytes] = {**results.files(), **discuss_sheet(results.queue(), path, settled)}
        queue, written = settled or path, [*write(tables, wanted, out, pictures, TITLE), *write_files(out, files)]
    if as_json:
        typer.echo(json.dumps({**results.as_json(), "files": list(map(str, written))}, indent=2, ensure_ascii=False))
    elif out is None:
        typer.echo(text(tables, wanted[0], TITLE), nl=False)
    else:
        tell_written(written)
    _remind(results, out, queue)


def _figure_2(results: FormResults, runs: Sequence[Path], out: Path | None) -> tuple[Sheet, list[Picture]]:
    from vista_lab.annotate.consensus import measure_runs
    from vista_lab.annotate.results import ClaimResults, figure_2
    from vista_lab.tables.pictures import draw_readings

    if not isinstance(results, ClaimResults):
        raise ConfigError("--run compares runs with a consensus on claims; this form has no claims, so drop --run")
    if results.data is None:
        raise ConfigError("--run needs the batch's study: give the folder that annotations export wrote with --study")
    measured = measure_runs(runs, results.turns, results.data)
    remark = "enriched sample" if results.data.study.enriched else ""
    pictures = [] if out is None else draw_readings(measured, out / "figures", remark)
    return figure_2(measured, results.notes), pictures


def _remind(results: FormResults, out: Path | None, queue: Path | None) -> None:
    for note in results.notes if out is not None else ():
        typer.echo(visible(note), err=True)
    if results.open:
        where = "with --out they go to a sheet, discuss"
        if out is not None:
            where = f"fill in {queue}, and give it with --settled"
        typer.echo(f"{results.open:,} {results.noun} have no majority: {where}", err=True)


# Decisions of reviewers and annotators


def export_decided(
    out: Annotated[
        Path, typer.Argument(metavar="REPORTS", help="File to write reports to; an existing file is replaced.")
    ],
    labels: Annotated[
        Path, typer.Option(metavar="FILE", help="File to write people's labels to; an existing file is replaced.")
    ],
    judge: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Name and version of the judge.  [default: the one with most decided turns]"),
    ] = None,
    reports: ReportsOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Write the decisions of reviewers and annotators in the format that `calibrate` reads.

    `vista-guard calibrate REPORTS --labels FILE --out risk.json` then makes a risk table from them. Rewritten turns and
    turns of other judges are left out and counted.

    Example: `vista-guard reviews export reports.jsonl --labels labels.jsonl`
    """
    with exit_codes():
        from vista_guard.stores.reports import Database, ReportReader
        from vista_guard.stores.reviews.queue import Reviews
        from vista_lab.annotate.decided import export as run

        database = Database(settings_and_url(reports, data_dir)[1], create=False)
        with closing(database):
            exported = run(ReportReader(database), Reviews(database), out, labels, judge=judge)
        typer.echo(f"wrote {exported.turns:,} turns of {exported.judge} and {exported.labels:,} labels", err=True)
        for why, count in exported.left_out.items():
            typer.echo(f"left out: {count:,} {why}", err=True)
