"""`vista-guard oasis sheets` and `oasis agree`: people check a generated set, and what nobody marks is its gold."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from vista_guard.cli.common import DataDirOption, exit_codes, visible  # typer reads it
from vista_guard.cli.reports import ReportsOption, settings_and_url  # typer reads them
from vista_guard.errors import ConfigError, InputError
from vista_lab.annotate.commands import check_answers_kept, discuss_sheet
from vista_lab.cli.tables import FormatsOption, tell_written

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from vista_guard.stores.reports import Database
    from vista_lab.annotate.study import StudyData
    from vista_lab.oasis.people import OasisResults, Step, StepWork
    from vista_lab.oasis.records import Record
    from vista_lab.tables.writers import Sheet

Kind = Literal["xlsx", "tsv"]

TITLE = "People on a generated set"
"""Title of the HTML page."""

SetArgument = Annotated[Path, typer.Argument(metavar="SET", help="Folder that vista-guard oasis generate wrote.")]


def sheets(
    folder: SetArgument,
    annotators: Annotated[
        str,
        typer.Option(
            metavar="NAMES", help="Annotators' names: ada,ben,cleo. Each gets a sheet for each of the four steps."
        ),
    ],
    sample: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Accepted passages that one annotator each marks.  [default: all others]"
        ),
    ] = None,
    shared: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="K",
            help="Passages beside them that everybody marks.  [default: 100; a tenth of a small set]",
        ),
    ] = None,
    part: Annotated[
        Literal["test", "all"],
        typer.Option(
            help="test: the part that oasis export and oasis train set aside. all: of a set that nothing is trained on."
        ),
    ] = "test",
    test: Annotated[
        float, typer.Option(min=0, max=0.9, metavar="SHARE", help="Share that is set aside, as given to oasis export.")
    ] = 0.1,
    seed: Annotated[int, typer.Option(metavar="S", help="Random seed for the sample.")] = 0,
    kind: Annotated[
        Kind,
        typer.Option(
            "--sheets",
            help="Excel and LibreOffice open xlsx (needs the extra evaluation); tsv is plain text in the columns of the paper.",
        ),
    ] = "xlsx",
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER", help="Folder to write sheets to; existing sheets are kept.  [default: SET/sheets]"
        ),
    ] = None,
    batch: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Instead of sheets: four batches of the dashboard, NAME-extraction and so on."
        ),
    ] = None,
    reports: ReportsOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Draw passages of a set for people to mark: claims, falsification, factual and unfactual text.

    Each annotator marks N / M passages alone and K that all of them mark; the same passages at each step. Marks are v
    (right), x (wrong) and d (discard), with guidelines beside them. The folder `study` in each step's folder belongs to
    the sheets: keep it.

    Example: `vista-guard oasis sheets ours --annotators ada,ben`
    """
    with exit_codes():
        from vista_lab.oasis.people import SHEETS, Drawing, draw

        names = [name.strip() for name in annotators.split(",")]
        steps = draw(folder, Drawing(names, sample, shared, seed, part, test))
        if batch is None:
            _write_sheets(steps, out or folder / SHEETS, f".{kind}")
        else:
            _make_batches(steps, batch, settings_and_url(reports, data_dir)[1])


def _write_sheets(steps: Mapping[Step, StudyData], out: Path, suffix: str) -> None:
    from vista_lab.annotate.study import hand_out

    if out.exists() and any(out.iterdir() if out.is_dir() else [out]):
        raise ConfigError(f"{out} exists and may hold an annotator's work. Choose another --out")
    for step, data in steps.items():
        tell_written(hand_out(data, out / step, suffix))
    _tell(next(iter(steps.values())))


def _tell(data: StudyData) -> None:
    counts = {name: sum(item.is_for(name) for item in data.items) for name in data.study.annotators}
    typer.echo(visible(data.study.about), err=True)
    typer.echo(", ".join(f"{name} {count:,}" for name, count in counts.items()) + " passages at each step", err=True)


def _make_batches(steps: Mapping[Step, StudyData], batch: str, url: str) -> None:
    from vista_guard.stores.reports import Database
    from vista_lab.annotate.batches import Batches
    from vista_lab.annotate.database import WHO

    with closing(Database(url)) as database:
        batches = Batches(database)
        existing = next((name for step in steps if batches.find(name := f"{batch}-{step}") is not None), None)
        if existing is not None:
            raise InputError(f"batch {existing!r} exists already; give another --batch")
        for step, data in steps.items():
            name, wanted = f"{batch}-{step}", len(data.study.annotators)
            batches.create(name, data.study.form, data.items, wanted=wanted, who=WHO, about=data.study.about)
            typer.echo(f"made batch {name} of {len(data.items):,} {data.study.form.item}s")
    _tell(next(iter(steps.values())))


def agree(
    folder: SetArgument,
    place: Annotated[
        Path | None, typer.Option("--sheets", metavar="FOLDER", help="The filled sheets.  [default: SET/sheets]")
    ] = None,
    batch: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Instead of sheets: the dashboard's batches of oasis sheets --batch."),
    ] = None,
    settled: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The discuss sheet of an earlier call, filled in.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Folder for tables, gold, tasks and discuss.tsv.  [default: SET/gold]"),
    ] = None,
    formats: FormatsOption = "md",
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
    reports: ReportsOption = None,
    data_dir: DataDirOption = None,
) -> None:
    """Score each step by people's marks: accuracy, agreement on the shared passages, and the gold set.

    A record is gold when nobody marked it wrong at any step: gold.jsonl holds the records; task1.json (texts, true or
    not) and task2.json (claims with a factual text as evidence) are logs for eval, compare and calibrate. Rows without
    a majority go to discuss.tsv: fill it in and pass it back with --settled; this does not change the gold set. If a
    cell is wrong, it is named by file, row, column and value, and nothing is counted. Exits with 0, or 2 for wrong
    usage or input.

    Example: `vista-guard oasis agree ours`
    """
    with exit_codes():
        from vista_lab.oasis.people import DISCUSS, GOLD_FOLDER, SHEETS, OasisResults, read_work, with_discussed
        from vista_lab.oasis.people_tables import tables
        from vista_lab.oasis.records import read_records
        from vista_lab.tables.output import chosen_formats

        target = out or folder / GOLD_FOLDER
        wanted = chosen_formats(formats, target, figures=False)
        check_answers_kept([target / DISCUSS], settled)
        records = list(read_records(folder))
        if batch is None:
            works = read_work(place or folder / SHEETS, records)
        else:
            works = _batch_work(batch, records, settings_and_url(reports, data_dir)[1])
        if settled is not None:
            works = with_discussed(works, settled)
        results = OasisResults(works, records)
        _report(folder, results, tables(results), wanted, target, settled, as_json=as_json)


def _batch_work(batch: str, records: Sequence[Record], url: str) -> list[StepWork]:
    from vista_guard.stores.reports import Database
    from vista_lab.oasis.people import Step

    with closing(Database(url, create=False)) as database:
        works = [_step_work(database, f"{batch}-{step}", step, records) for step in Step]
    if not any(work.items for work in works):
        raise InputError(
            f"nobody has submitted a passage of batch {batch} to the end yet; agreement needs at least one"
        )
    return works


def _step_work(database: Database, name: str, step: Step, records: Sequence[Record]) -> StepWork:
    from vista_lab.annotate.batches import Batches, results_of
    from vista_lab.oasis.people import StepWork, check_items

    batches = Batches(database)
    batch = batches.find(name)
    if batch is None:
        raise InputError(
            f"batch {name!r} does not exist; vista-guard oasis sheets --batch makes four, one for each step"
        )
    tasks = batches.complete(name)
    check_items(step, [task.item for task in tasks], records)
    left = batch.items - len(tasks)
    note = f"{step}: {left:,} of {batch.items:,} are not submitted by all."
    return StepWork.of(step, results_of(batch, tasks, *([note] if left else [])))


def _report(
    folder: Path,
    results: OasisResults,
    tables: Sequence[Sheet],
    wanted: Sequence[str],
    out: Path,
    settled: Path | None,
    *,
    as_json: bool,
) -> None:
    from vista_lab.oasis.exports import TASK_1, TASK_2
    from vista_lab.oasis.people import DISCUSS, GOLD, discussion, gold_note
    from vista_lab.runs.made import EXPORT
    from vista_lab.tables.output import text, write, write_files

    contents: dict[str, str | bytes] = dict(results.gold.files())
    if contents:
        contents[EXPORT] = gold_note(folder, results.gold)
    for name in {GOLD, TASK_1, TASK_2, EXPORT} - contents.keys():
        (out / name).unlink(missing_ok=True)  # from an earlier call with gold
    contents |= discuss_sheet(discussion(results.works), out / DISCUSS, settled)
    written = [*write(tables, wanted, out, (), TITLE), *write_files(out, contents)]
    if as_json:
        typer.echo(json.dumps({**results.as_json(), "files": list(map(str, written))}, indent=2, ensure_ascii=False))
    else:
        typer.echo(text(tables, "md", TITLE), nl=False)
        tell_written(written, err=True)
    if not results.gold.records:
        typer.echo("no gold: no passage was marked by all of its annotators and by nobody as wrong", err=True)
    if results.open:
        typer.echo(
            f"{results.open:,} marks have no majority: fill in {settled or out / DISCUSS}, and give it with --settled",
            err=True,
        )
