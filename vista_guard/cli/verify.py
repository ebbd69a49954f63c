"""`vista-guard verify`: texts of any length against a document store, claim by claim."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from vista_guard.cli.common import (
    BLOCKED,
    FAILED,
    DecomposerOption,
    EmbedderOption,
    JudgeOption,
    VerifierOption,
    exit_codes,
    given_options,
    progress_bar,
    visible,
)

if TYPE_CHECKING:
    from vista_guard.protocols import DocumentStore, Embedder
    from vista_guard.settings.sources import Settings
    from vista_guard.types import Document
    from vista_guard.verification import TextResult

Weighing = Literal["all", "first"]
Verifying = Callable[..., "AsyncIterator[TextResult]"]


def verify(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Texts to verify: text, Markdown, HTML or PDF of any length.")
    ],
    documents: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER|STORE",
            help="Documents to verify against: a folder of files, a data folder of `vista-guard documents add --data-dir`, or "
            "a Chroma server's URL.  [default: the settings' document store]",
        ),
    ] = None,
    first: Annotated[
        bool, typer.Option("--first", help="Stop in each text at the first claim that is not factual.")
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep results piece by piece; the same command resumes from this file."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one line for each text.")] = False,
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the results as an HTML page.")] = None,
    passages: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Passages retrieved for each claim.  [default: limits.retrieved]"),
    ] = None,
    weighing: Annotated[
        Weighing | None,
        typer.Option(
            help="all: weigh all evidence. first: the first passage that speaks of a claim decides, and a claim that none "
            "speaks of passes (LLM-OASIS, Algorithm 1).  [default: from the settings, else all]"
        ),
    ] = None,
    judge: JudgeOption = None,
    verifier: VerifierOption = None,
    decomposer: DecomposerOption = None,
    embedder: EmbedderOption = None,
    concurrency: Annotated[int, typer.Option(min=1, metavar="N", help="Pieces judged at the same time.")] = 4,
) -> None:
    """Verify texts against documents.

    Cuts each text at its sections and paragraphs, splits the pieces into claims, retrieves passages for each claim, and
    shows its label, quote and source. A text is factual when no claim is contradicted or lacks evidence. Exits with 0
    when no text is found unfactual, 3 when one is, 1 when claims could not be checked and so a text is undecided, 2 for
    wrong usage or input, including an empty document store.

    Example: `vista-guard verify report.md --documents notes`
    """
    with exit_codes():
        import asyncio

        from vista_guard import verification
        from vista_guard.cli.render import page
        from vista_guard.errors import ConfigError
        from vista_guard.settings.sources import Settings
        from vista_guard.stores.line_file import write_whole

        if html is not None and (html.is_dir() or not html.parent.is_dir()):
            raise ConfigError(f"--html {html} cannot be written; give a file in a folder that exists")
        models = {"judge": judge, "verifier": verifier, "decomposer": decomposer, "embedder": embedder}
        settings = Settings.load(**given_options(**models, weighing=weighing))
        if passages is not None:
            limits = settings.limits.model_copy(update={"retrieved": passages})
            settings = settings.model_copy(update={"limits": limits})
        texts = read_texts(files)
        run = partial(verification.verify, first=first, out=out, at_once=concurrency)
        results = asyncio.run(_verify(texts, documents, settings, run, _show_json if as_json else _show_view))
        if html is not None:
            write_whole(html, page(results, {text.id: text.text for text in texts}), "Choose another --html")
    raise typer.Exit(exit_code(results))


def exit_code(results: Sequence[TextResult]) -> int:
    """3 when a text is not factual, else 1 when one is undecided, else 0."""
    from vista_guard.verification import Verdict

    verdicts = {result.verdict for result in results}
    if Verdict.NOT_FACTUAL in verdicts:
        return BLOCKED
    return FAILED if Verdict.UNDECIDED in verdicts else 0


def read_texts(files: Sequence[Path]) -> list[Document]:
    """Reads the texts; the id of each is its path as given.

    Raises:
        InputError: a file cannot be read as text, is a folder, or is named twice.
    """
    from vista_guard.errors import InputError
    from vista_guard.reading.files import DocumentFile, FileReader, SkippedFile

    texts: list[Document] = []
    with FileReader() as reader:
        for path in files:
            if path.is_dir():
                raise InputError(f"{path} is a folder; name the files in it: {path}/*")
            if any(text.id == str(path) for text in texts):
                raise InputError(f"{path} is named twice; name each text once")
            try:
                document = reader.read(DocumentFile(path, str(path)))
            except InputError as exc:
                raise InputError(f"{path} {exc}") from exc
            if document is None or isinstance(document, SkippedFile):
                raise InputError(f"{path} is {document.reason if document else 'empty'}; there is nothing to verify")
            texts.append(document)
    return texts


async def _verify(
    texts: Sequence[Document], place: str | None, settings: Settings, run: Verifying, show: Callable[[TextResult], None]
) -> list[TextResult]:
    """Runs `vista_guard.verification.verify` on the texts, and shows each result as it comes."""
    from vista_guard.stores.embedders import build_embedder
    from vista_guard.verification import PieceManifest, verifying_guard

    embedder = build_embedder(settings.embedder, settings.embedder_options)
    store, mark = await open_documents(place, settings, embedder)
    guard = verifying_guard(settings, store, embedder)
    results = []
    try:
        made = PieceManifest.of(guard, settings, mark, texts)
        with progress_bar() as bar:
            task = bar.add_task("", total=None)

            def tell(name: str, done: int, of: int) -> None:
                bar.update(task, description=visible(name), completed=done, total=of)

            async for result in run(guard, texts, made, tell=tell):
                results.append(result)
                show(result)
    finally:
        await guard.aclose()
    return results


def _show_json(result: TextResult) -> None:
    typer.echo(result.model_dump_json().encode())


def _show_view(result: TextResult) -> None:
    from rich.console import Console

    from vista_guard.cli.render import result_view

    Console(highlight=False).print(result_view(result))


async def open_documents(place: str | None, settings: Settings, embedder: Embedder) -> tuple[DocumentStore, str]:
    """The store to search, and a fingerprint of its contents.

    Raises:
        InputError: there is no such place, or it holds no documents.
        StoreError: the store cannot be opened.
    """
    from hashlib import sha256

    from vista_guard.errors import InputError
    from vista_guard.stores.entries import SearchedDocuments

    store = _kept_store(place, settings, embedder)
    if store is None and place is not None:
        store = await _folder_store(Path(place), settings, embedder)
    where = place or "the settings' document store"
    advice = "give --documents FOLDER, or add some with: vista-guard documents add FOLDER_OR_FILE"
    if not isinstance(store, SearchedDocuments):
        raise InputError(f"{where} holds no documents: {advice}")
    documents = await store.stored()
    if not documents:
        await store.aclose()
        raise InputError(f"{where} holds no documents: {advice}")
    content = [f"{document.id}\0{document.passages}\0{document.metadata.get('fingerprint')}" for document in documents]
    return store, sha256("\n".join(content).encode()).hexdigest()[:16]


def _kept_store(place: str | None, settings: Settings, embedder: Embedder) -> DocumentStore | None:
    """The store that `vista-guard documents add` filled, of the settings or at `place`; None where there is none."""
    from vista_guard.assembly import kept_documents
    from vista_guard.errors import InputError

    if place is None:
        return kept_documents(settings, embedder)
    if place.startswith(("http://", "https://")):
        return kept_documents(settings.model_copy(update={"chroma_url": place, **_KEPT}), embedder)
    folder = Path(place).expanduser()
    if not place or not folder.exists():
        raise InputError(
            f"--documents {place!r} does not exist; give a folder of files, a data folder, or a Chroma URL"
        )
    for data in (folder, folder.parent):
        if (data / "chroma" / "chroma.sqlite3").is_file() and folder in (data, data / "chroma"):
            overrides = {"chroma_url": None, "data_dir": data, **_KEPT}
            return kept_documents(settings.model_copy(update=overrides), embedder)
    return None


_KEPT: Mapping[str, Any] = {"store": "chroma", "retrieve": True}
"""Settings for searching the documents of a place."""


async def _folder_store(folder: Path, settings: Settings, embedder: Embedder) -> DocumentStore:
    """Reads and embeds the files of a folder, for this run alone."""
    import asyncio

    from vista_guard.cli.document_store import collect
    from vista_guard.errors import InputError
    from vista_guard.reading.files import FileReader, SkippedFile
    from vista_guard.stores.memory import MemoryDocuments

    store = MemoryDocuments(embedder, search=settings.search)
    most = settings.limits.document_chars
    with FileReader() as reader:
        for entry in collect([folder], ""):
            if isinstance(entry, SkippedFile):
                _tell(f"skipped {entry.path}: {entry.reason}")
                continue
            try:
                document = await asyncio.to_thread(reader.read, entry)
            except InputError as exc:
                raise InputError(f"document {entry.path} {exc}") from exc
            if document is None or isinstance(document, SkippedFile):
                _tell(f"skipped {entry.path}: {document.reason if document else 'empty'}")
            elif len(document.text) > most:
                raise InputError(
                    f"document {entry.path} holds {len(document.text):,} characters, more than {most:,}: split it, or raise "
                    "limits.document_chars"
                )
            else:
                await store.add([document])
    return store


def _tell(line: str) -> None:
    typer.echo(visible(line), err=True)
