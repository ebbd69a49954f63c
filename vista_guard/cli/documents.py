"""`vista-guard documents`: fill, list, search and clean the store that the guard retrieves from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vista_guard.cli.common import WRONG_INPUT, EmbedderOption, command_group, exit_codes, visible
from vista_guard.reading.visible import visible_line

if TYPE_CHECKING:
    from vista_guard.cli.document_store import FoundPassage

documents = command_group("documents", "Manage the documents that verify turns without documents of their own.")

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
    places: Annotated[
        list[str] | None,
        typer.Argument(metavar="FOLDER_FILE_OR_URL", help="Folders, files or URLs to add.", show_default=False),
    ] = None,
    sitemap: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Also read the pages that this sitemap names. May be repeated."),
    ] = None,
    urls: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also read the pages at these addresses, one a line.")
    ] = None,
    max_pages: Annotated[int, typer.Option(metavar="N", min=1, help="Maximum number of web pages to fetch.")] = 1000,
    allow_private: Annotated[
        bool,
        typer.Option("--allow-private", help="Also fetch from this machine and from private networks, at your risk."),
    ] = False,
    prefix: Annotated[
        str, typer.Option(metavar="NAME", help="Prefix of every id, to keep folders with equal names apart.")
    ] = "",
    prune: Annotated[
        bool, typer.Option("--prune", help="Also remove documents of these folders whose files are gone.")
    ] = False,
    max_mb: Annotated[float, typer.Option(metavar="MB", min=0, help="Maximum size of a file.")] = 50,
    max_seconds: Annotated[
        float,
        typer.Option(
            metavar="S",
            min=0.1,
            help="Maximum processor time for reading a file, and maximum time for fetching a page.",
        ),
    ] = 10,
    follow_links: Annotated[
        bool,
        typer.Option("--follow-links", help="Also read files outside a folder that symbolic links in it point to."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read everything, write nothing.")] = False,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", "-v", help="Print each document that was added, and each file that was skipped."),
    ] = False,
    tenant: Tenant = None,
    data_dir: DataDir = None,
    chroma_url: ChromaUrl = None,
    embedder: EmbedderOption = None,
) -> None:
    """Add files, folders and web pages: text, Markdown, HTML, PDF, DOCX, PPTX, XLSX, CSV, TSV, JSON.

    A document's id is its path below the folder, or its address. Adding a folder again replaces the files that changed.
    Hidden and binary files are skipped. A file that cannot be read is named with the reason; the others are still
    added, and the exit code is 2. Running guards see the change with their next turn.

    Example: `vista-guard documents add handbook`
    """
    with exit_codes():
        import asyncio

        from vista_guard.cli.document_store import Adding, Location, collect, fetch_pages
        from vista_guard.errors import InputError
        from vista_guard.reading.files import FileReader
        from vista_guard.reading.web import WebLimits, is_url

        location = Location.configured(data_dir, chroma_url, tenant, embedder)
        if not places and urls is None and not sitemap:
            raise InputError("nothing to add; give a folder, a file or an address, --urls FILE or --sitemap URL")
        if "" in (places or ()):
            raise InputError("an argument is empty, as an unset variable of the shell is; the working folder is .")
        addresses = [place for place in places or () if is_url(place)]
        limits = WebLimits(
            max_bytes=int(max_mb * 1_000_000), seconds=max_seconds, pages=max_pages, allow_private=allow_private
        )
        pages = fetch_pages(addresses, urls, sitemap or (), limits)
        files = [Path(place) for place in places or () if place not in addresses]
        entries = collect(files, prefix, follow_links=follow_links, pages=pages)
        named = {file for file in files if not file.is_dir()}
        with FileReader(max_bytes=int(max_mb * 1_000_000), seconds=max_seconds) as reader:
            adding = Adding(entries, named, location, reader=reader, prune=prune, dry_run=dry_run, verbose=verbose)
            failed = asyncio.run(adding.run())
    if failed:
        raise typer.Exit(WRONG_INPUT)


@documents.command("list")
def list_documents(
    as_json: AsJson = False,
    tenant: Tenant = None,
    data_dir: DataDir = None,
    chroma_url: ChromaUrl = None,
    embedder: EmbedderOption = None,
) -> None:
    """List stored documents: id, number of passages, title.

    Example: `vista-guard documents list`
    """
    with exit_codes():
        import asyncio

        from vista_guard.cli.document_store import Location, plural

        location = Location.configured(data_dir, chroma_url, tenant, embedder)
        listed = asyncio.run(location.listed())
        if not listed:
            typer.echo(f"there are no documents in {location}", err=True)
        width = max((len(entry.id) for entry in listed), default=0)
        for entry in listed:
            if as_json:
                _print_json(id=entry.id, title=entry.title, passages=entry.passages, metadata=dict(entry.metadata))
            else:
                row = f"{entry.id:{width}}  {plural(entry.passages, 'passage'):15}  {entry.title or ''}".rstrip()
                typer.echo(visible_line(row).encode())


@documents.command()
def remove(
    ids: Annotated[list[str], typer.Argument(metavar="ID", help="Ids, as `list` shows them.")],
    tenant: Tenant = None,
    data_dir: DataDir = None,
    chroma_url: ChromaUrl = None,
    embedder: EmbedderOption = None,
) -> None:
    """Remove documents.

    Exits with 2 if an id is not in the store; the others are still removed.

    Example: `vista-guard documents remove prices.md`
    """
    with exit_codes():
        import asyncio

        from vista_guard.cli.document_store import Location, plural

        location = Location.configured(data_dir, chroma_url, tenant, embedder)
        counts = asyncio.run(location.removed(ids))
        for name, count in counts.items():
            if count:
                _print(f"removed {name} ({plural(count, 'passage')})")
            else:
                advice = f"see: vista-guard documents list{location.options}"
                typer.echo(f"error: there is no document {name!r} in {location}; {advice}", err=True)
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
    embedder: EmbedderOption = None,
) -> None:
    """Show the passages that the guard would find for a text, best first.

    The score is the cosine similarity of the embeddings, in [-1, 1]; after it stands how the passage was found: by
    vectors, by words or both. Characters count from the start of the document's text.

    Example: `vista-guard documents search "When does the hall open?"`
    """
    with exit_codes():
        import asyncio

        from vista_guard.cli.document_store import Location
        from vista_guard.errors import InputError

        if not text.strip():
            raise InputError("TEXT is empty; give what to search for")
        location = Location.configured(data_dir, chroma_url, tenant, embedder)
        passages = asyncio.run(location.searched(text, limit))
        if not passages:
            typer.echo(f"there are no documents in {location}", err=True)
        for number, hit in enumerate(passages, start=1):
            if as_json:
                retrieval = hit.passage.found and hit.passage.found.model_dump(mode="json")
                fields = hit.passage.model_dump(mode="json")
                _print_json(**fields, score=round(hit.score, 4), page=hit.page, found=retrieval)
            else:
                _print(_passage_lines(number, hit))


def _passage_lines(number: int, hit: FoundPassage) -> str:
    from textwrap import indent

    passage = hit.passage
    place = f"  page {hit.page}" if hit.page else ""
    span = f"  characters {passage.span.start}-{passage.span.end}" if passage.span else ""
    by = f"  by {' and '.join(passage.found.by)}" if passage.found else ""
    headings = " › ".join(filter(None, [passage.title, *(heading.lstrip("# ") for heading in passage.headings)]))
    title = f"  {headings}" if headings else ""
    return f"{number}. {hit.score:.2f}{by}  {passage.source_id}{place}{span}{title}\n{indent(passage.text, '   ')}\n"


def _print(text: str) -> None:
    typer.echo(visible(text).encode())


def _print_json(**fields: object) -> None:
    import json

    typer.echo(json.dumps(fields, ensure_ascii=False).encode())
