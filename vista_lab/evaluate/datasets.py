"""`vista-guard datasets`: the data sets of the literature that can be evaluated, and what a folder holds of them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vista_guard.cli.common import WRONG_INPUT, exit_codes, starting, visible
from vista_guard.errors import InputError
from vista_lab.cli.options import DATA_VARIABLE, DataOption

if TYPE_CHECKING:
    from rich.console import RenderableType

    from vista_lab.datasets.files import DataSet
    from vista_lab.datasets.opening import Survey

SHOWN_DIGITS = 12
"""Digits of a fingerprint in the table; `datasets NAME` and `--json` have all 64."""

WIDE = 180
"""Width of the output without a terminal: a pipe, a file."""


def known(incomplete: str) -> list[str]:
    """Names of data sets that begin as typed, for a shell's completion."""
    from vista_lab.datasets.registry import all_datasets

    return starting(*all_datasets())(incomplete)


def datasets(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", autocompletion=known, help="Show one data set in full.")
    ] = None,
    data: DataOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one line per data set.")] = False,
    download: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Download the files of NAME that FOLDER lacks.")
    ] = None,
) -> None:
    """List the data sets that can be evaluated.

    With a folder, reads each data set whose files are there, and reports conversations, turns, unreadable rows with the
    reason, and the sha256 of the unzipped files. Data sets marked "test" are for final figures: choose nothing on them.
    Exits with 2 when NAME is unknown or incomplete in the folder.

    Example: `vista-guard datasets fade --download ~/data`
    """
    with exit_codes():
        from vista_lab.datasets.opening import DataFolder, survey
        from vista_lab.datasets.registry import all_datasets, find

        if download is not None:
            if name is None:
                raise InputError("--download fetches one data set at a time: give its NAME")
            _fetch(find(name), download)
            data = download
        chosen = [find(name)] if name is not None else list(all_datasets().values())
        folder = None if data is None else DataFolder(data)
        surveys = [survey(dataset, folder) for dataset in chosen]
        _print(surveys, as_json=as_json, whole=name is not None)
        if name is not None and surveys[0].error is not None:
            typer.echo(f"error: {visible(surveys[0].error)}", err=True)
            raise typer.Exit(WRONG_INPUT)


def _fetch(dataset: DataSet, folder: Path) -> None:
    from vista_lab.datasets.opening import download

    typer.echo(f"{dataset.title}: {dataset.source}; licence: {dataset.licence}", err=True)
    written = download(dataset, folder, said=lambda line: typer.echo(line, err=True))
    told = f"wrote {', '.join(map(str, written))}" if written else f"nothing to fetch: {folder} has it all"
    typer.echo(told, err=True)


def _print(surveys: Sequence[Survey], *, as_json: bool, whole: bool) -> None:
    from rich.console import Console

    if as_json:
        for survey in surveys:
            typer.echo(json.dumps(survey.as_json(), ensure_ascii=False))
        return
    console = Console(highlight=False)
    if not console.is_terminal:
        console.width = WIDE
    looked = any(survey.opened or survey.missing for survey in surveys)
    console.print(_page(surveys[0]) if whole else _table(surveys, looked))
    if not whole and not looked:
        typer.echo(f"with --data FOLDER (or {DATA_VARIABLE}) they are looked for, read and counted", err=True)


def _table(surveys: Sequence[Survey], looked: bool) -> RenderableType:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column("name", min_width=max(len(survey.dataset.name) for survey in surveys), no_wrap=True)
    for title in ("split", "licence", "looked for"):
        table.add_column(title)
    if looked:
        for title in ("conversations", "turns", "skipped"):
            table.add_column(title, justify="right")
        table.add_column("sha256", overflow="fold")
    for survey in surveys:
        table.add_row(*_cells(survey, looked))
    return table


def _cells(survey: Survey, looked: bool) -> Iterator[str]:
    dataset = survey.dataset
    yield dataset.name
    yield _split(dataset)
    yield dataset.licence
    yield str(dataset.task)
    if looked:
        yield from _count(survey)


def _split(dataset: DataSet) -> str:
    return f"{dataset.split}, test" if dataset.test and dataset.split != "test" else dataset.split


def _count(survey: Survey) -> Iterator[str]:
    from rich.markup import escape

    from vista_lab.datasets.opening import first_of

    counts = survey.counts
    if counts is None or survey.opened is None:
        yield from ("", "", "")
        yield escape(f"{first_of(survey.missing)} missing" if survey.missing else visible(survey.error or ""))
        return
    yield from (f"{number:,}" for number in (counts.conversations, counts.turns, counts.skipped.total()))
    yield " ".join(digest[:SHOWN_DIGITS] for digest in survey.opened.fingerprints.values())


def _page(survey: Survey) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for title, text in _lines(survey):
        table.add_row(Text(title, style="bold"), Text(visible(text)))
    return table


def _lines(survey: Survey) -> Iterator[tuple[str, str]]:
    dataset = survey.dataset
    yield "name", dataset.name
    yield "title", dataset.title
    yield "source", dataset.source
    yield "licence", dataset.licence
    yield "split", f"{dataset.split} (test: final figures only)" if dataset.test else dataset.split
    yield "looked for", f"turns, {dataset.task}"
    yield "sample", dataset.sample
    if dataset.parts:
        yield "parts", f"{', '.join(dataset.parts)}; {dataset.name}:{next(iter(dataset.parts))} is one alone"
    yield from _file_lines(survey)
    if survey.counts is not None:
        yield from _count_lines(survey)


def _file_lines(survey: Survey) -> Iterator[tuple[str, str]]:
    from vista_lab.datasets.opening import can_be_fetched

    for name in survey.dataset.files:
        if survey.opened is not None:
            yield "file", f"{name}: {survey.opened.paths[name]}"
            yield "sha256", survey.opened.fingerprints[name]
        elif survey.error is not None and name not in survey.missing:
            yield "file", f"{name}: there"
        else:
            how = "--download can fetch it" if can_be_fetched(survey.dataset, name) else "to be got by hand"
            yield "file", f"{name} ({how}: {survey.dataset.origins.get(name, survey.dataset.source)})"


def _count_lines(survey: Survey) -> Iterator[tuple[str, str]]:
    counts = survey.counts
    if counts is None:
        return
    yield "conversations", f"{counts.conversations:,}"
    yield "turns", f"{counts.turns:,}, of which {counts.positive:,} are looked for and {counts.open:,} are left open"
    if counts.claims:
        yield "claims", f"{counts.claims:,} with a label"
    skipped = counts.skipped.total()
    yield "skipped", f"{skipped:,} row{'s' * (skipped != 1)}"
    for reason, number in counts.skipped.most_common():
        yield "", f"{number:,}: {reason}"
    for example in counts.examples:
        yield "for example", f"{example.source} {example.error}"
