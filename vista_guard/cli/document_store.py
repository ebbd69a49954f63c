"""The document store of the settings, for the commands."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vista_guard.errors import ConfigError, InputError
from vista_guard.settings.sources import Settings
from vista_guard.stores.chroma.documents import ChromaDocuments, ListedDocument
from vista_guard.types import Passage


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
    """Whose documents are meant; None for those that belong to no tenant."""

    def __str__(self) -> str:
        return str(self.place) if self.tenant is None else f"{self.place} for the tenant {self.tenant}"

    @property
    def options(self) -> str:
        """The options to repeat on the command line."""
        return f" --tenant {self.tenant}" if self.tenant else ""

    @classmethod
    def configured(cls, data_dir: Path | None, chroma_url: str | None, tenant: str | None = None) -> Location:
        """Returns the store that a guard with these settings uses.

        Raises:
            ConfigError: both places were given, the settings keep everything in memory, or no tenant has such a name.
        """
        if tenant is not None:
            _expect_tenant(tenant)
        if data_dir is not None and chroma_url is not None:
            raise ConfigError("--data-dir and --chroma-url are two places; give one")
        given: dict[str, Any] = {"data_dir": data_dir, "chroma_url": chroma_url}
        settings = Settings.load(**{name: value for name, value in given.items() if value is not None})
        if settings.store == "memory":
            raise ConfigError('the setting store is "memory", which keeps no documents; set it to "chroma"')
        if settings.chroma_url:
            return cls(settings.chroma_url, settings, tenant)
        from vista_guard.stores.entries import default_dir

        return cls((settings.data_dir or default_dir()).expanduser() / "chroma", settings, tenant)

    @property
    def exists(self) -> bool:
        """True when the store exists; a server always counts as existing."""
        return not isinstance(self.place, Path) or (self.place / "chroma.sqlite3").is_file()

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[ChromaDocuments]:
        """Opens the store, creating it if missing.

        Raises:
            StoreError: the folder cannot be used, or no server answers.
        """
        from vista_guard.stores.chroma.client import chroma_client
        from vista_guard.stores.entries import OnnxEmbedder, data_dir

        if isinstance(self.place, Path):
            data_dir(self.place.parent)
        store = ChromaDocuments(
            chroma_client(
                self.place,
                telemetry=self.settings.telemetry,
                free_bytes=self.settings.store_free_mb * 1_000_000,
            ),
            OnnxEmbedder(),
        )
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
            return {one: await store.delete(one) for one in dict.fromkeys(ids)}

    async def searched(self, text: str, limit: int | None) -> list[FoundPassage]:
        """Returns the passages that the guard would retrieve for `text`, best first."""
        self._expect_store()
        async with self.opened() as store:
            found = await store.search(text, limit or self.settings.limits.retrieved)
            pages = {one.id: one.metadata.get("pages") for one in await store.stored()} if found else {}
        scores = _cosines(text, found)
        return [
            FoundPassage(passage, score, _page(passage, pages.get(passage.source_id)))
            for passage, score in zip(found, scores, strict=True)
        ]

    def _expect_store(self) -> None:
        if not self.exists:
            raise InputError(
                f"there is no document store at {self.place}; make one with: "
                f"vista-guard documents add FOLDER_OR_FILE{self.options}"
            )


def _expect_tenant(name: str) -> None:
    from vista_guard.proxy.settings import check_tenant

    try:
        check_tenant(name)
    except ValueError as exc:
        raise ConfigError(str(exc)) from exc


def _cosines(text: str, found: Sequence[Passage]) -> list[float]:
    from vista_guard.stores.entries import OnnxEmbedder

    vectors = OnnxEmbedder().embed([text, *(passage.text for passage in found)])
    return [float(score) for score in vectors[1:] @ vectors[0]]


def _page(passage: Passage, starts: Any) -> int | None:
    return bisect_right(starts, passage.span.start) if starts and passage.span else None


def counted(number: int, noun: str) -> str:
    """`1 passage`, `2 passages`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
