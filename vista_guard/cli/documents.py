"""`vista-guard documents`: fill, list, search and clean the store that the guard retrieves from."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn
from rich.text import Text

from vista_guard.cli.common import WRONG_INPUT, exit_codes, visible
from vista_guard.cli.document_store import Location, counted
from vista_guard.errors import InputError
from vista_guard.reading.files import DocumentFile, SkippedFile, find_files, fingerprint, load, read_document
from vista_guard.stores.chroma.documents import ChromaDocuments, ListedDocument

if TYPE_CHECKING:
    from vista_guard.cli.document_store import FoundPassage


@dataclass(frozen=True)
class Collected:
    """The files of the given places. `files` are the places that are files."""

    entries: Sequence[DocumentFile | SkippedFile]
    files: Collection[Path]


def collect(places: Sequence[Path], prefix: str) -> Collected:
    """Finds every file of the places and prefixes its id. A second file with the same id counts as broken.

    Raises:
        InputError: a place does not exist, or there is no file in any of them.
    """
    entries: list[DocumentFile | SkippedFile] = []
    owners: dict[str, Path] = {}
    start = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
    for entry in [entry for place in places for entry in find_files(place)]:
        if isinstance(entry, SkippedFile):
            entries.append(entry)
            continue
        file = replace(entry, id=start + entry.id)
        owner = owners.get(file.id)
        if owner is None:
            owners[file.id] = file.path
            entries.append(file)
        elif owner.resolve() != file.path.resolve():
            reason = f"has the id {file.id!r}, as has {owner}; add it on its own, with a --prefix"
            entries.append(SkippedFile(file.path, reason, broken=True))
    if not owners:
        left_out = "".join(f"\n  {entry.path}: {entry.reason}" for entry in entries if isinstance(entry, SkippedFile))
        raise InputError(f"there is no file to add in {', '.join(map(str, places))}{left_out}")
    return Collected(entries, {place for place in places if not place.is_dir()})


class Adding:
    """One run of `documents add`. Each document is stored as soon as it is read, so an interrupted run can be resumed."""

    def __init__(self, found: Collected, location: Location, *, max_bytes: int, prune: bool, dry_run: bool) -> None:
        self._found = found
        self._location = location
        self._max_bytes = max_bytes
        self._prune = prune
        self._dry_run = dry_run
        self._counts: Counter[str] = Counter()
        self._passages = 0
        console = Console(stderr=True, highlight=False)
        columns = (BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal or dry_run)

    async def run(self) -> bool:
        """Adds everything and prints progress; True when something could not be read."""
        if self._dry_run and not self._location.exists:
            await self._add_all(None, {})
        else:
            async with self._location.opened() as store:
                known = {one.id: one for one in await store.stored()}
                await self._add_all(None if self._dry_run else store, known)
        self._summary()
        return self._counts["failed"] > 0

    async def _add_all(self, store: ChromaDocuments | None, known: Mapping[str, ListedDocument]) -> None:
        with self._progress:
            task = self._progress.add_task("", total=len(self._found.entries))
            for entry in self._found.entries:
                if isinstance(entry, SkippedFile):
                    self._left_out(entry)
                else:
                    await self._add(entry, store, known.get(entry.id))
                self._progress.advance(task)
        await self._remove_gone(store, known)

    async def _add(self, file: DocumentFile, store: ChromaDocuments | None, known: ListedDocument | None) -> None:
        try:
            raw = await asyncio.to_thread(load, file.path, self._max_bytes)
            if known is not None and known.metadata.get("fingerprint") == fingerprint(raw):
                self._counts["unchanged"] += 1
                return
            document = await asyncio.to_thread(read_document, file, raw)
        except InputError as exc:
            self._left_out(SkippedFile(file.path, str(exc), broken=True))
            return
        if isinstance(document, SkippedFile):
            self._left_out(document)
            return
        outcome = "added" if known is None else "replaced"
        self._counts[outcome] += 1
        if store is not None:
            self._passages += await store.add([document])
        self._changed(outcome, document.id)

    def _left_out(self, file: SkippedFile) -> None:
        broken = file.broken or file.path in self._found.files
        self._counts["failed" if broken else "skipped"] += 1
        self._tell(f"{'failed' if broken else 'skipped'} {file.path}: {file.reason}")

    async def _remove_gone(self, store: ChromaDocuments | None, known: Mapping[str, ListedDocument]) -> None:
        gone = self._gone(known)
        if gone and not self._prune:
            self._tell(
                f"{len(gone)} stored, but gone from the folder, such as {gone[0]}; --prune removes such documents"
            )
            return
        for one in gone:
            self._counts["removed"] += 1
            if store is not None:
                await store.delete(one)
            self._changed("removed", one)

    def _gone(self, known: Mapping[str, ListedDocument]) -> list[str]:
        """Returns the stored documents of these folders whose files are gone, even after a folder moved."""
        found = {entry.id: entry.folder for entry in self._found.entries if isinstance(entry, DocumentFile)}
        folders = {str(folder.resolve()) for folder in found.values() if folder is not None}
        moved = {str(one.metadata.get("folder")) for one in known.values() if found.get(one.id) is not None}
        folders |= {folder for folder in moved if not Path(folder).exists()}
        return [
            one.id
            for one in known.values()
            if one.id not in found
            and one.metadata.get("folder") in folders
            and not Path(str(one.metadata["path"])).exists()
        ]

    def _summary(self) -> None:
        kinds = ("added", "replaced", "unchanged", "removed", "skipped", "failed")
        counts = ", ".join(f"{self._counts[kind]} {kind}" for kind in kinds if self._counts[kind])
        if self._dry_run:
            typer.echo(visible(f"dry run, nothing was written to {self._location}: {counts}").encode())
            return
        typer.echo(visible(f"{counts}; {counted(self._passages, 'passage')} written to {self._location}").encode())
        settings = self._location.settings
        if not settings.retrieve:
            self._tell("note: the setting retrieve is off, so the guard does not look for documents")

    def _changed(self, outcome: str, name: str) -> None:
        """Prints a change: a dry run's result, a real run's progress."""
        if self._dry_run:
            typer.echo(visible(f"would be {outcome}: {name}").encode())
        else:
            self._tell(f"{outcome} {name}")

    def _tell(self, line: str) -> None:
        self._progress.console.print(Text(visible(line)), soft_wrap=True)


documents = typer.Typer(
    name="documents",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="The documents that verify turns without documents of their own.",
)

DataDir = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="Folder of the store.  [default: from the settings, else the user's data folder]"
    ),
]
ChromaUrl = Annotated[
    str | None, typer.Option(metavar="URL", help="A Chroma server, http://HOST:PORT.  [default: from the settings]")
]
Tenant = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Only this tenant's documents, which never verify another tenant's turns."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one line for each.")]


@documents.command()
def add(
    places: Annotated[list[Path], typer.Argument(metavar="FOLDER_OR_FILE", help="What to read.")],
    prefix: Annotated[
        str, typer.Option(metavar="NAME", help="Prefix of every id, to keep folders with equal names apart.")
    ] = "",
    prune: Annotated[
        bool, typer.Option("--prune", help="Also remove documents of these folders whose files are gone.")
    ] = False,
    max_mb: Annotated[float, typer.Option(metavar="MB", min=0, help="Largest file to read.")] = 50,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read everything, write nothing.")] = False,
    tenant: Tenant = None,
    data_dir: DataDir = None,
    chroma_url: ChromaUrl = None,
) -> None:
    """Add text, Markdown, HTML and PDF files.

    A document's id is its path below the folder. Adding again replaces what has changed and leaves the rest as it is.
    Hidden and binary files are skipped. A file that cannot be read is named with the reason, and the others are added all
    the same; the exit code is then 2. What already runs on the same folder does not see the change before it is started
    anew; several processes need a Chroma server.
    """
    with exit_codes():
        import asyncio

        from vista_guard.cli.document_store import Location

        location = Location.configured(data_dir, chroma_url, tenant)
        adding = Adding(
            collect(places, prefix), location, max_bytes=int(max_mb * 1_000_000), prune=prune, dry_run=dry_run
        )
        failed = asyncio.run(adding.run())
    if failed:
        raise typer.Exit(WRONG_INPUT)


@documents.command("list")
def list_documents(
    as_json: AsJson = False, tenant: Tenant = None, data_dir: DataDir = None, chroma_url: ChromaUrl = None
) -> None:
    """List what is stored: id, number of passages, title."""
    with exit_codes():
        import asyncio

        from vista_guard.cli.document_store import Location, counted

        location = Location.configured(data_dir, chroma_url, tenant)
        found = asyncio.run(location.listed())
        if not found:
            typer.echo(f"there are no documents in {location}", err=True)
        width = max((len(one.id) for one in found), default=0)
        for one in found:
            if as_json:
                _print_json(id=one.id, title=one.title, passages=one.passages, metadata=dict(one.metadata))
            else:
                _print(f"{one.id:{width}}  {counted(one.passages, 'passage'):15}  {one.title or ''}".rstrip())


@documents.command()
def remove(
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="As `list` shows them.")],
    tenant: Tenant = None,
    data_dir: DataDir = None,
    chroma_url: ChromaUrl = None,
) -> None:
    """Remove documents. Exits with 2 when one was not there; the others are removed all the same."""
    with exit_codes():
        import asyncio

        from vista_guard.cli.document_store import Location, counted

        location = Location.configured(data_dir, chroma_url, tenant)
        counts = asyncio.run(location.removed(ids))
        for one, count in counts.items():
            if count:
                _print(f"removed {one} ({counted(count, 'passage')})")
            else:
                typer.echo(
                    f"error: there is no document {one!r} in {location}; see: vista-guard documents list{location.options}",
                    err=True,
                )
    if not all(counts.values()):
        raise typer.Exit(WRONG_INPUT)


@documents.command()
def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The user's question, an answer, or both.")],
    limit: Annotated[
        int | None, typer.Option(metavar="N", min=1, help="Maximum number of passages.  [default: limits.retrieved]")
    ] = None,
    as_json: AsJson = False,
    tenant: Tenant = None,
    data_dir: DataDir = None,
    chroma_url: ChromaUrl = None,
) -> None:
    """Show the passages that the guard would find for a text, nearest first.

    The score is the cosine of the meanings, in [-1, 1]; characters count from the start of the document's text.
    """
    with exit_codes():
        import asyncio

        from vista_guard.cli.document_store import Location
        from vista_guard.errors import InputError

        if not text.strip():
            raise InputError("TEXT is empty; give what to search for")
        location = Location.configured(data_dir, chroma_url, tenant)
        found = asyncio.run(location.searched(text, limit))
        if not found:
            typer.echo(f"there are no documents in {location}", err=True)
        for number, one in enumerate(found, start=1):
            if as_json:
                _print_json(**one.passage.model_dump(mode="json"), score=round(one.score, 4), page=one.page)
            else:
                _print(_shown(number, one))


def _shown(number: int, found: FoundPassage) -> str:
    from textwrap import indent

    passage = found.passage
    place = f"  page {found.page}" if found.page else ""
    span = f"  characters {passage.span.start}-{passage.span.end}" if passage.span else ""
    title = f"  {passage.title}" if passage.title else ""
    return f"{number}. {found.score:.2f}  {passage.source_id}{place}{span}{title}\n{indent(passage.text, '   ')}\n"


def _print(text: str) -> None:
    from vista_guard.cli.common import visible

    typer.echo(visible(text).encode())


def _print_json(**fields: object) -> None:
    import json

    typer.echo(json.dumps(fields, ensure_ascii=False).encode())
