"""A Chroma folder without Chroma's clients: its compiled engine, called as they call it, and a look into its tables.

The clients load gRPC, OpenTelemetry, HTTP and a dozen makers of embeddings: a second of processor time and 60 MB in each process,
for a folder that needs none of them.
"""

from __future__ import annotations

import importlib.util
import json
import sqlite3
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from inspect import signature
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uuid import UUID

_OWNER = {"tenant": "default_tenant", "database": "default_database"}
"""Chroma's own names where a client gives none."""

_CALLED: Mapping[str, Sequence[str]] = {
    "list_collections": ("tenant", "database"),
    "get_collection": ("name", "tenant", "database"),
    "create_collection": ("name", "configuration_json_str", "metadata", "get_or_create", "tenant", "database"),
    "update_collection": ("collection_id", "new_metadata"),
    "delete_collection": ("name", "tenant", "database"),
    "get_max_batch_size": (),
    "get": ("collection_id", "ids", "where", "limit", "offset", "include"),
    "query": ("collection_id", "ids", "query_embeddings", "n_results", "where", "include"),
    "add": ("ids", "collection_id", "embeddings", "metadatas", "documents"),
    "update": ("collection_id", "ids", "metadatas"),
    "delete": ("collection_id", "ids", "where"),
    "count": ("collection_id",),
}
"""Methods of the compiled engine with the arguments that they are given here."""


def can_call() -> bool:
    """True if this version of Chroma has a compiled engine that takes our calls.

    It promises its interface to Chroma's clients only, so another version may have another one.
    """
    try:
        from chromadb_rust_bindings import Bindings, MigrationHash, MigrationMode, SqliteDBConfig

        signature(Bindings).bind(allow_reset=0, sqlite_db_config=0, hnsw_cache_size=0, persist_path=0)
        signature(SqliteDBConfig).bind(hash_type=MigrationHash.MD5, migration_mode=MigrationMode.Apply, url=0)
        for method, arguments in _CALLED.items():
            signature(getattr(Bindings, method)).bind(None, **dict.fromkeys(arguments))
    except (ImportError, AttributeError, TypeError, ValueError):
        return False
    return True


def documents_added(chroma: Path) -> bool:
    """True when the Chroma folder holds documents of no tenant. Takes a millisecond; opening the folder takes a hundred.

    Also True for an unreadable folder, since opening it says why, and where this process has loaded Chroma.
    """
    from vista_guard.stores.entries import DOCUMENTS

    file = chroma / "chroma.sqlite3"
    if not file.is_file():
        return False
    if {
        "chromadb",
        "chromadb_rust_bindings",
    } & sys.modules.keys():  # It has an SQLite of its own, and two in one process undo each other's locks.
        return True
    # Chroma notes the dimension of a collection's vectors with the first of them.
    filled = "SELECT count(*) FROM collections WHERE name = ? AND dimension IS NOT NULL"
    try:
        with closing(sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)) as database:
            return bool(database.execute(filled, [DOCUMENTS]).fetchone()[0])
    except sqlite3.Error:
        return True


def leave_out_clients() -> None:
    """Makes `import chromadb.errors` load this one module, for a process that uses none of Chroma's clients.

    The compiled engine imports it to raise its errors, and every import of it would run the package's own module first.
    """
    found = importlib.util.find_spec("chromadb")
    if found is not None and "chromadb" not in sys.modules:
        hollow = ModuleType("chromadb")
        hollow.__path__ = list(found.submodule_search_locations or ())
        sys.modules["chromadb"] = hollow


class BareClient:
    """A client for a folder, with the methods of Chroma's `PersistentClient` that the engine's process calls."""

    def __init__(self, folder: Path) -> None:
        from chromadb_rust_bindings import Bindings, MigrationHash, MigrationMode, SqliteDBConfig

        database = SqliteDBConfig(
            hash_type=MigrationHash.MD5, migration_mode=MigrationMode.Apply, url=str(folder / "chroma.sqlite3")
        )
        self._engine: Any = Bindings(
            allow_reset=False,
            sqlite_db_config=database,
            hnsw_cache_size=_most_open_files() // 5,  # each index has five files
            persist_path=str(folder),
        )

    def list_collections(self) -> list[BareCollection]:
        """Returns all collections."""
        return [self._collection(found) for found in self._engine.list_collections(**_OWNER)]

    def get_collection(self, name: str, embedding_function: None = None) -> BareCollection:  # noqa: ARG002  # as Chroma's
        """Returns the collection.

        Raises:
            chromadb.errors.NotFoundError: it was never made.
        """
        return self._collection(self._engine.get_collection(name=name, **_OWNER))

    def get_or_create_collection(
        self,
        name: str,
        embedding_function: None = None,  # noqa: ARG002  # as Chroma's
        metadata: Mapping[str, str | int] | None = None,
        configuration: Mapping[str, object] | None = None,
    ) -> BareCollection:
        """Returns the collection, created when missing."""
        stored = {"hnsw": None, "spann": None, "embedding_function": {"type": "legacy"}, **(configuration or {})}
        made = self._engine.create_collection(
            name=name,
            configuration_json_str=json.dumps(stored),
            metadata=metadata and dict(metadata),
            get_or_create=True,
            **_OWNER,
        )
        return self._collection(made)

    def delete_collection(self, name: str) -> None:
        """Deletes the collection and its rows."""
        self._engine.delete_collection(name=name, **_OWNER)

    def get_max_batch_size(self) -> int:
        """Returns the most rows that one call may carry."""
        return int(self._engine.get_max_batch_size())

    def close(self) -> None:
        """Lets go of the files."""
        del self._engine

    def _collection(self, found: Any) -> BareCollection:
        return BareCollection(self._engine, found.id, found.name, found.metadata)


class BareCollection:
    """A collection of a folder."""

    def __init__(self, engine: Any, collection_id: UUID, name: str, metadata: Mapping[str, Any] | None) -> None:
        self.name = name
        self.metadata = metadata
        self._engine = engine
        self._id = {"collection_id": str(collection_id)}

    def get(
        self,
        ids: Sequence[str] | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int | None = None,
        offset: int = 0,
        include: Sequence[str] = ("metadatas", "documents"),
    ) -> dict[str, Any]:
        """Returns rows by id or by metadata; vectors as an array of shape (rows, numbers)."""
        rows = self._engine.get(
            ids=ids, where=_as_json(where), limit=limit, offset=offset, include=list(include), **self._id
        )
        return {
            "ids": rows.ids,
            "embeddings": _matrix(rows.embeddings) if "embeddings" in include else None,
            "documents": rows.documents,
            "metadatas": rows.metadatas,
        }

    def query(
        self,
        query_embeddings: Sequence[Any],
        n_results: int,
        where: Mapping[str, Any] | None = None,
        include: Sequence[str] = ("metadatas", "documents", "distances"),
    ) -> dict[str, Any]:
        """Returns the nearest rows of each vector, nearest first."""
        rows = self._engine.query(
            ids=None,
            query_embeddings=query_embeddings,
            n_results=n_results,
            where=_as_json(where),
            include=list(include),
            **self._id,
        )
        return {
            "ids": rows.ids,
            "distances": rows.distances,
            "documents": rows.documents,
            "metadatas": rows.metadatas,
        }

    def add(
        self,
        ids: Sequence[str],
        embeddings: Sequence[Any],
        documents: Sequence[str],
        metadatas: Sequence[Mapping[str, Any]],
    ) -> None:
        """Adds rows. A row whose id is stored already stays as it is."""
        self._engine.add(ids=ids, embeddings=embeddings, documents=documents, metadatas=metadatas, **self._id)

    def update(self, ids: Sequence[str], metadatas: Sequence[Mapping[str, Any]]) -> None:
        """Merges the metadata into that of the rows."""
        self._engine.update(ids=ids, metadatas=metadatas, **self._id)

    def modify(self, metadata: Mapping[str, Any]) -> None:
        """Replaces the collection's own metadata."""
        self._engine.update_collection(new_metadata=dict(metadata), **self._id)
        self.metadata = metadata

    def delete(self, ids: Sequence[str] | None = None, where: Mapping[str, Any] | None = None) -> None:
        """Deletes rows by id or by metadata.

        Raises:
            ValueError: neither is given.
        """
        if not ids and not where:
            raise ValueError("delete which rows? Give ids, or where")
        self._engine.delete(ids=ids, where=_as_json(where), **self._id)

    def count(self) -> int:
        """Returns the number of rows."""
        return int(self._engine.count(**self._id))


def _most_open_files() -> int:
    if sys.platform == "win32":
        import ctypes

        return int(ctypes.windll.msvcrt._getmaxstdio())
    from resource import RLIMIT_NOFILE, getrlimit

    return getrlimit(RLIMIT_NOFILE)[0]


def _as_json(where: Mapping[str, Any] | None) -> str | None:
    return json.dumps(where) if where else None


def _matrix(vectors: Sequence[Sequence[float]]) -> Any:
    import numpy as np

    return np.array(vectors, np.float32)
