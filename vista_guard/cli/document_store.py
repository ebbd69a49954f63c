"""The document store of the settings, and adding files to it, going on where one of them fails."""

from __future__ import annotations

import asyncio
import os
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from vista_guard.cli.common import given_options, progress_bar, visible
from vista_guard.errors import ConfigError, InputError, StoreError
from vista_guard.protocols import Embedder
from vista_guard.reading.files import DocumentFile, FileReader, SkippedFile, find_files
from vista_guard.reading.visible import visible_line
from vista_guard.reading.web import WebLimits
from vista_guard.settings.sources import Settings
from vista_guard.stores.entries import (
    ListedDocument,
    SearchedDocuments,
    Written,
    is_full,
    query_vector,
)
from vista_guard.stores.folders import data_dir, default_dir
from vista_guard.types import Document, Passage

_LONGEST_WORD = 20_000
"""Characters without a space: more than even a paragraph has in a script without spaces."""


@dataclass(frozen=True)
class FoundPassage:
    """A passage with the cosine of its meaning to the query's, in [-1, 1], and its page, if the document has pages."""

    passage: Passage
    score: float
    page: int | None


@dataclass(frozen=True)
class Location:
    """The address of a Chroma server, or a folder."""

    place: str | Path
    settings: Settings
    tenant: str | None = None
    """Owner of the documents; None for those that belong to no tenant."""

    def __str__(self) -> str:
        return str(self.place) if self.tenant is None else f"{self.place} for the tenant {self.tenant}"

    @property
    def options(self) -> str:
        """The options to repeat on the command line."""
        return f" --tenant {self.tenant}" if self.tenant else ""

    @classmethod
    def configured(
        cls, folder: Path | None, chroma_url: str | None, tenant: str | None = None, embedder: str | None = None
    ) -> Location:
        """Returns the store that a guard with these settings uses.

        Raises:
            ConfigError: both places were given, the settings keep everything in memory, or no tenant has such a name.
        """
        from vista_guard.assembly import SERVERS

        if tenant is not None:
            from vista_guard.proxy.settings import check_tenant

            try:
                check_tenant(tenant)
            except ValueError as exc:
                raise ConfigError(str(exc)) from exc
        if folder is not None and chroma_url is not None:
            raise ConfigError("--data-dir and --chroma-url are two places; give one")
        settings = Settings.load(**given_options(data_dir=folder, chroma_url=chroma_url, embedder=embedder))
        if settings.store == "memory":
            raise ConfigError('the setting store is "memory", which keeps no documents; set it to "chroma"')
        if settings.store in SERVERS:
            if chroma_url is not None:
                raise ConfigError(f"--chroma-url is given, and the setting store is {settings.store}; leave it out")
            return cls(f"{settings.store}, as the settings say", settings, tenant)
        if settings.chroma_url:
            return cls(settings.chroma_url, settings, tenant)
        return cls((settings.data_dir or default_dir()).expanduser() / "chroma", settings, tenant)

    @cached_property
    def embedder(self) -> Embedder:
        """The embedder of the settings.

        Raises:
            ConfigError: there is none of that name, or it cannot be loaded.
        """
        from vista_guard.stores.embedders import build_embedder

        return build_embedder(self.settings.embedder, self.settings.embedder_options)

    @property
    def exists(self) -> bool:
        """True when the store exists; a server always counts as existing."""
        return not isinstance(self.place, Path) or (self.place / "chroma.sqlite3").is_file()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[SearchedDocuments]:
        """Opens the store, creating it if missing.

        Raises:
            StoreError: the folder cannot be used, or no server answers.
        """
        from vista_guard.assembly import open_documents

        if isinstance(self.place, Path):
            data_dir(self.place.parent)
        store = open_documents(self.settings, self.embedder, self.place)
        try:
            yield store if self.tenant is None else store.of_tenant(self.tenant)
        finally:
            await store.aclose()

    async def listed(self) -> Sequence[ListedDocument]:
        """Lists every document in the store."""
        self._expect_store()
        async with self.opened() as store:
            return await store.stored()

    async def removed(self, ids: Sequence[str]) -> dict[str, int]:
        """Removes documents; returns the number of passages of each, 0 for missing ones."""
        self._expect_store()
        async with self.opened() as store:
            return {document_id: await store.delete(document_id) for document_id in dict.fromkeys(ids)}

    async def searched(self, text: str, limit: int | None) -> list[FoundPassage]:
        """Returns the passages that the guard would retrieve for `text`, best first."""
        self._expect_store()
        async with self.opened() as store:
            passages = await store.search(text, limit or self.settings.limits.retrieved)
            if self.settings.limits.neighbours:
                passages = [*passages, *await store.neighbours(passages, self.settings.limits.neighbours)]
            pages = {entry.id: entry.metadata.get("pages") for entry in await store.stored()} if passages else {}
        if not passages:
            return []
        scores = self.embedder.embed([hit.text for hit in passages]) @ query_vector(self.embedder, text)
        return [
            FoundPassage(passage, float(score), _page(passage, pages.get(passage.source_id)))
            for passage, score in zip(passages, scores, strict=True)
        ]

    def _expect_store(self) -> None:
        if not self.exists:
            raise InputError(
                f"there is no document store at {self.place}; make one with: "
                f"vista-guard documents add FOLDER_OR_FILE{self.options}"
            )


def _page(passage: Passage, starts: Any) -> int | None:
    return bisect_right(starts, passage.span.start) if starts and passage.span else None


def plural(number: int, noun: str) -> str:
    """`1 passage`, `2 passages`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def collect(
    places: Sequence[Path], prefix: str, *, follow_links: bool = False, pages: Iterable[DocumentFile | SkippedFile] = ()
) -> list[DocumentFile | SkippedFile]:
    """Lists all files of the places, then the pages, with their ids prefixed. A second one with an id counts as broken.

    Raises:
        InputError: a place does not exist, or there is nothing to add in any of them.
    """
    entries: list[DocumentFile | SkippedFile] = []
    owners: dict[str, Path] = {}
    id_prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
    files = [entry for place in places for entry in find_files(place, follow_links=follow_links)]
    for entry in (*files, *pages):
        if isinstance(entry, SkippedFile):
            entries.append(entry)
            continue
        file = replace(entry, id=id_prefix + entry.id)
        owner = owners.get(file.id)
        if owner is None:
            owners[file.id] = file.path
            entries.append(file)
        elif os.path.realpath(owner) != os.path.realpath(file.path):
            reason = f"has the id {file.id!r}, as has {owner}; add it on its own, with a --prefix"
            entries.append(SkippedFile(file.path, reason, broken=True))
    if not owners:
        left_out = "".join(f"\n  {entry}" for entry in entries if isinstance(entry, SkippedFile))
        missing = f"no file to add in {', '.join(map(str, places))}" if places else "no page to add at these addresses"
        raise InputError(f"there is {missing}{left_out}")
    return entries


def fetch_pages(
    addresses: Sequence[str], listed: Path | None, sitemaps: Sequence[str], limits: WebLimits
) -> list[DocumentFile | SkippedFile]:
    """Fetches the pages at the addresses, of the list, and of the sitemaps.

    Raises:
        ConfigError, InputError: no list, no sitemap, or a sitemap that cannot be fetched.
    """
    if not addresses and listed is None and not sitemaps:
        return []
    from vista_guard.reading.web import WebReader, read_list

    try:
        reader = WebReader(limits)
    except ConfigError as exc:  # files are read all the same
        places = [*addresses, *([str(listed)] if listed else []), *sitemaps]
        return [SkippedFile(Path(place), str(exc), broken=True, place=place) for place in places]
    with reader as web:
        urls = [*addresses, *(read_list(listed) if listed else ())]
        for place in sitemaps:
            urls += web.sitemap(place)
        return list(web.pages(urls))


class Adding:
    """One run of `documents add`. Documents are stored a few at a time as they are read; an interrupted run can be resumed."""

    def __init__(
        self,
        entries: Sequence[DocumentFile | SkippedFile],
        files: Collection[Path],
        location: Location,
        *,
        reader: FileReader,
        prune: bool,
        dry_run: bool,
        verbose: bool = False,
    ) -> None:
        """`files` were named explicitly: one that cannot be added counts as failed. `verbose` prints each document."""
        self._entries, self._files = entries, files
        self._location = location
        self._reader = reader
        self._prune = prune
        self._dry_run = dry_run
        self._verbose = verbose
        self._counts: Counter[str] = Counter()
        self._passages = 0
        self._displaced: dict[str, str] = {}
        """Where the documents came from whose place those of other files took, by id."""
        self._needing: dict[str, list[str]] = {}
        """Files that need a library, by what is missing."""
        self._waiting = list[tuple[DocumentFile, Document, str]]()
        self._progress = progress_bar(disable=dry_run)

    async def run(self) -> bool:
        """Adds everything and prints progress; True when something could not be read."""
        if self._dry_run and not self._location.exists:
            await self._add_all(None, {})
        else:
            async with self._location.opened() as store:
                known = {document.id: document for document in await store.stored()}
                await self._add_all(None if self._dry_run else store, known)
        self._print_summary()
        return self._counts["failed"] > 0

    async def _add_all(self, store: SearchedDocuments | None, known: Mapping[str, ListedDocument]) -> None:
        with self._progress:
            task = self._progress.add_task("", total=len(self._entries))
            for entry in self._entries:
                if isinstance(entry, SkippedFile):
                    self._leave_out(entry)
                else:
                    await self._add(entry, store, known.get(entry.id))
                self._progress.advance(task)
            await self._store(store)
        await self._remove_gone(store, known)

    async def _add(self, file: DocumentFile, store: SearchedDocuments | None, known: ListedDocument | None) -> None:
        try:
            fingerprint = known and known.metadata.get("fingerprint")
            document = await asyncio.to_thread(self._reader.read, file, fingerprint)
            self._expect_text(document)
        except ConfigError as exc:  # a library is missing: other files need none, or another one
            self._counts["failed"] += 1
            self._needing.setdefault(str(exc).removeprefix(f"{file.place} is "), []).append(file.place)
            return
        except InputError as exc:
            self._leave_out(SkippedFile(file.path, str(exc), broken=True, place=file.place))
            return
        if document is None:
            self._counts["unchanged"] += 1
            return
        if isinstance(document, SkippedFile):
            self._leave_out(document)
            return
        self._waiting.append((file, document, "added" if known is None else "replaced"))
        if is_full([document for _, document, _ in self._waiting]):
            await self._store(store)

    async def _store(self, store: SearchedDocuments | None) -> None:
        """Stores what was read since the last call."""
        waiting, self._waiting = self._waiting, []
        documents = [document for _, document, _ in waiting]
        written, failures = await self._put(store, documents) if store and waiting else (Written(), {})
        self._passages += written.passages
        for file, document, outcome in waiting:
            if document.id in failures:
                self._leave_out(SkippedFile(file.path, str(failures[document.id]), broken=True, place=file.place))
                continue
            if document.id in written.outdone:
                reason = f"another program wrote {document.id!r} at the same time, and its document stays"
                self._leave_out(SkippedFile(file.path, reason, broken=True, place=file.place))
                continue
            old = written.replaced.get(document.id)
            if old is not None and _source(old.metadata) != _source(document.metadata):
                self._displaced[document.id] = _source(old.metadata) or "another program"
            outcome = outcome if old is None else "replaced"
            self._counts[outcome] += 1
            self._print_change(outcome, document.id)

    async def _put(
        self, store: SearchedDocuments, documents: Sequence[Document]
    ) -> tuple[Written, dict[str, StoreError]]:
        """Stores documents together, or one by one if that fails; returns the errors by document.

        Raises:
            StoreError: the store is gone.
        """
        try:
            return await store.put(documents), {}
        except StoreError as exc:
            if len(documents) == 1:
                await store.stored()
                return Written(), {documents[0].id: exc}
        outcomes = [await self._put(store, [document]) for document in documents]
        failures = {name: exc for _, faults in outcomes for name, exc in faults.items()}
        return Written.of_all([written for written, _ in outcomes]), failures

    def _expect_text(self, document: object) -> None:
        """Raises `InputError` for text that would take minutes or hours to embed."""
        if not isinstance(document, Document):
            return
        length, most = len(document.text), self._location.settings.limits.document_chars
        if length > most:
            raise InputError(
                f"holds {length:,} characters of text, more than {most:,}: split it, or raise limits.document_chars"
            )
        if re.search(rf"\S{{{_LONGEST_WORD}}}", document.text):
            raise InputError(f"holds a word of {_LONGEST_WORD:,} characters or more: encoded data, no text")

    def _leave_out(self, file: SkippedFile) -> None:
        broken = file.broken or file.path in self._files
        self._counts["failed" if broken else "skipped"] += 1
        if broken or self._verbose or self._dry_run:
            self._tell(f"{'failed' if broken else 'skipped'} {file}")

    async def _remove_gone(self, store: SearchedDocuments | None, known: Mapping[str, ListedDocument]) -> None:
        gone = self._gone_documents(known)
        if gone and not self._prune:
            self._tell(
                f"{len(gone)} stored, but gone from the folder, such as {gone[0]}; --prune removes such documents"
            )
            return
        for document_id in gone:
            self._counts["removed"] += 1
            if store is not None:
                await store.delete(document_id)
            self._print_change("removed", document_id)

    def _gone_documents(self, known: Mapping[str, ListedDocument]) -> list[str]:
        """Returns the stored documents of these folders whose files are gone, even after a folder moved."""
        current = {entry.id: entry.folder for entry in self._entries if isinstance(entry, DocumentFile)}
        folders = {str(folder.resolve()) for folder in current.values() if folder is not None}
        old_folders = {
            str(document.metadata.get("folder")) for document in known.values() if current.get(document.id) is not None
        }
        folders |= {folder for folder in old_folders if not Path(folder).exists()}
        return [
            document.id
            for document in known.values()
            if document.id not in current
            and document.metadata.get("folder") in folders
            and not Path(str(document.metadata["path"])).exists()
        ]

    def _print_summary(self) -> None:
        for missing, places in self._needing.items():
            self._tell(f"failed {_listed(places)}: {missing}")
        for source, names in _grouped(self._displaced).items():
            self._tell(f"replaced what came from {source}: {_listed(names)}; --prefix keeps both")
        kinds = ("added", "replaced", "unchanged", "removed", "skipped", "failed")
        counts = ", ".join(f"{self._counts[kind]} {kind}" for kind in kinds if self._counts[kind])
        if self._dry_run:
            typer.echo(visible(f"dry run, nothing was written to {self._location}: {counts}").encode())
            return
        hint = "" if self._verbose or not self._counts["skipped"] else " (-v names what was skipped)"
        where = f"{plural(self._passages, 'passage')} written to {self._location}"
        typer.echo(visible(f"{counts}; {where}{hint}").encode())
        settings = self._location.settings
        if not settings.retrieve:
            self._tell("note: the setting retrieve is off, so the guard does not look for documents")

    def _print_change(self, outcome: str, name: str) -> None:
        """Prints a change: a dry run's result, a real run's progress."""
        if self._dry_run:
            typer.echo(visible_line(f"would be {outcome}: {name}").encode())
        elif self._verbose:
            self._tell(f"{outcome} {name}")

    def _tell(self, line: str) -> None:
        self._progress.console.print(Text(visible_line(line)), soft_wrap=True)


_NAMED = 20
"""Names in one line; more are counted."""


def _source(metadata: Mapping[str, Any]) -> str | None:
    source = metadata.get("path") or metadata.get("url")
    return None if source is None else str(source)


def _grouped(displaced: Mapping[str, str]) -> dict[str, list[str]]:
    """The ids by the folder, or the page, that their documents came from."""
    groups: dict[str, list[str]] = {}
    for name, source in displaced.items():
        groups.setdefault(str(Path(source).parent) if Path(source).is_absolute() else source, []).append(name)
    return groups


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
