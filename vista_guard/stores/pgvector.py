"""Documents and knowledge in Postgres with the extension pgvector: transactions, and one database for everything.

Words are ranked by BM25 in SQL over a table of their postings, since Postgres' own text search does not weigh rare words.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from vista_guard._extras import require
from vista_guard.errors import StoreError
from vista_guard.protocols import Embedder
from vista_guard.reading.visible import storable
from vista_guard.stores.entries import (
    ListedDocument,
    Ranking,
    Written,
    digest,
    document_passage,
    expect_model,
    search_text,
    version_of,
)
from vista_guard.stores.served import ServedDocuments, ServedKnowledge, StoreServer
from vista_guard.stores.words import K1, B, terms
from vista_guard.types import Document, Passage, Persona, SearchMode, Span

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from psycopg import Connection
    from psycopg_pool import ConnectionPool

T = TypeVar("T")

TIMEOUT_S = 30.0
"""Time limit in seconds of a statement, and of the wait for a free connection."""
_OPENING_S = 10
_CONNECTIONS = 8

_TABLES = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE IF NOT EXISTS vista_passages (
    tenant text NOT NULL, key text COLLATE "C" NOT NULL, owner text NOT NULL, version text NOT NULL, source_id text NOT NULL,
    title text, headings text[] NOT NULL, body text NOT NULL, starts int NOT NULL, ends int NOT NULL, words int NOT NULL,
    vector vector(%(dimension)s) NOT NULL, url text, PRIMARY KEY (tenant, key));
CREATE TABLE IF NOT EXISTS vista_words (
    tenant text NOT NULL, word text COLLATE "C" NOT NULL, key text COLLATE "C" NOT NULL, count int NOT NULL,
    PRIMARY KEY (tenant, word, key),
    FOREIGN KEY (tenant, key) REFERENCES vista_passages ON DELETE CASCADE);
CREATE INDEX IF NOT EXISTS vista_words_key ON vista_words (tenant, key);
CREATE TABLE IF NOT EXISTS vista_documents (
    tenant text NOT NULL, owner text NOT NULL, version text NOT NULL, source_id text NOT NULL, title text, passages int NOT NULL,
    about text NOT NULL, PRIMARY KEY (tenant, owner));
CREATE TABLE IF NOT EXISTS vista_probe (probe vector(%(dimension)s) NOT NULL);
"""
_KNOWLEDGE = """
CREATE TABLE IF NOT EXISTS vista_personas (persona text PRIMARY KEY);
CREATE TABLE IF NOT EXISTS vista_turns (
    conversation text NOT NULL, turn text NOT NULL, position bigserial, claims text NOT NULL, PRIMARY KEY (conversation, turn));
"""
_NO_ADDRESS = (
    "store_url is no address of Postgres; give postgresql://user:password@host/database, with %, @, / and # in the password "
    "written as %25, %40, %2F and %23"
)
_LOCK = 7_318_402
"""Advisory lock while tables are created: two processes at once would fail."""

_SERVER = re.compile(r'at "[^"]+"(?: \([^)]*\))?, port \d+')
"""The driver's name for the server in its errors."""

_BY_VECTORS = """
SELECT round((1 - (vector <=> %(vector)s::vector))::numeric, 6)::float8 AS score, key FROM vista_passages
WHERE tenant = ANY(%(tenants)s) ORDER BY score DESC, key LIMIT %(depth)s
"""
_BY_WORDS = f"""
WITH sizes AS (SELECT count(*)::float8 AS passages, greatest(avg(words), 1)::float8 AS length FROM vista_passages
               WHERE tenant = ANY(%(tenants)s)),
     found AS (SELECT * FROM vista_words WHERE tenant = ANY(%(tenants)s) AND word = ANY(%(words)s)),
     rare AS (SELECT word, count(*)::float8 AS df FROM found GROUP BY word)
SELECT round(sum(ln(1 + (passages - df + 0.5) / (df + 0.5)) * count
             / (count + {K1} * (1 - {B} + {B} * words / length)))::numeric, 5)::float8 AS score, found.key
FROM found JOIN rare USING (word) JOIN vista_passages USING (tenant, key), sizes
GROUP BY found.tenant, found.key ORDER BY score DESC, found.key LIMIT %(depth)s
"""
_LISTED = "SELECT source_id, title, passages, about, version FROM vista_documents WHERE tenant = %s AND passages > 0"
_OLDER = f"{_LISTED} AND owner = %s AND version <> %s"
_ROWS = """
SELECT key, source_id, title, headings, body, starts, ends, url FROM vista_passages WHERE tenant = ANY(%s) AND key = ANY(%s)
"""


class Postgres(StoreServer["Connection[Any]"]):
    """A pool of connections that both stores may share; each failure is a `StoreError`.

    Args:
        url: `postgresql://user:password@host/database`.

    Raises:
        ConfigError: the extra `pgvector` is not installed.
        StoreError: no database answers there.
    """

    kind = "Postgres"

    def __init__(self, url: str) -> None:
        require("a store in Postgres", "psycopg", "psycopg_pool", extra="pgvector")
        import psycopg
        from psycopg.conninfo import conninfo_to_dict
        from psycopg_pool import ConnectionPool

        address = url.replace("postgresql+psycopg://", "postgresql://")
        try:
            about = conninfo_to_dict(address)
        except psycopg.ProgrammingError:  # whose text quotes the password
            raise StoreError(_NO_ADDRESS) from None
        try:
            # Never with the password; as an address, which the proxy keeps from tenants.
            self.place = f"postgresql://{about.get('host', 'localhost')}/{about.get('dbname', '')}"
            psycopg.connect(address, connect_timeout=_OPENING_S).close()  # says at once why, which a pool does not
            options = {"options": f"-c statement_timeout={int(TIMEOUT_S * 1000)}"}
            self._pool: ConnectionPool[Connection[Any]] = ConnectionPool(
                address, min_size=1, max_size=_CONNECTIONS, open=False, timeout=TIMEOUT_S, kwargs=options
            )
            self._pool.open()
        except Exception as exc:
            raise StoreError(
                f"cannot open Postgres: {super()._told(exc)}. Check store_url, and that the server runs"
            ) from exc

    def close(self) -> None:
        self._pool.close()

    def _call(self, call: Callable[[Connection[Any]], T]) -> T:
        """Each call is a transaction."""
        with self._pool.connection() as connection:
            return call(connection)

    def _told(self, exc: BaseException) -> str:
        return _SERVER.sub(f"at {self.place}", super()._told(exc))


def _rows(query: str, given: Sequence[Any] | Mapping[str, Any]) -> Callable[[Connection[Any]], list[Any]]:
    return lambda connection: connection.execute(query, given).fetchall()


def _create_tables(connection: Connection[Any], statements: str) -> None:
    connection.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
    for statement in filter(str.strip, statements.split(";\n")):
        connection.execute(statement)  # our own text


class PgvectorDocuments(ServedDocuments["Connection[Any]"]):
    """A `DocumentStore` in Postgres. Its answers are those of `ChromaDocuments`, in the same order.

    A document is replaced in one transaction. A query is compared with every vector; for hundreds of thousands of passages make
    an index of pgvector on `vista_passages.vector`. Closing the store closes the connections.
    """

    def __init__(self, postgres: Postgres, embedder: Embedder, *, search: SearchMode = "hybrid") -> None:
        super().__init__(postgres, embedder, search=search)
        self._ready: list[bool] = []

    async def delete(self, document_id: str) -> int:
        await self._open()
        owner = [self._tenant, digest(document_id)]

        def drop(connection: Connection[Any]) -> int:
            connection.execute("DELETE FROM vista_documents WHERE tenant = %s AND owner = %s", owner)
            return connection.execute("DELETE FROM vista_passages WHERE tenant = %s AND owner = %s", owner).rowcount

        return await self._server.run(f"delete the document {document_id!r}", drop)

    async def _listed(self) -> Iterable[ListedDocument]:
        await self._open()
        return map(_listed, await self._server.run("list the documents", _rows(_LISTED, [self._tenant])))

    async def _rankings(self, query: str, depth: int) -> tuple[Ranking, Ranking]:
        await self._open()
        vector = await self._query_vector(query)
        values: dict[str, Any] = {"tenants": self._tenants, "depth": depth}
        near: Ranking = []
        shared: Ranking = []
        if vector is not None:
            near = await self._server.run(
                "search the documents", _rows(_BY_VECTORS, values | {"vector": _literal(vector)})
            )
        if self.search_mode != "vectors":
            words = list(dict.fromkeys(terms(storable(query))))
            shared = await self._server.run("search the documents", _rows(_BY_WORDS, values | {"words": words}))
        return near, shared

    async def _passages(self, keys: list[str]) -> Mapping[str, Passage]:
        rows = await self._server.run("search the documents", _rows(_ROWS, [self._tenants, keys]))
        names = ("source_id", "title", "headings", "text", "start", "end", "url")
        return {key: document_passage(dict(zip(names, fields, strict=True))) for key, *fields in rows}

    async def _open(self) -> None:
        """Creates the tables when missing.

        Raises:
            StoreError: the documents there were embedded by another model.
        """
        if self._ready:
            return
        probe = await self._probe()

        def check(connection: Connection[Any]) -> str:
            if connection.execute("SELECT to_regclass('vista_probe')").fetchone() == (None,):
                _create_tables(connection, _TABLES % {"dimension": len(probe)})
                known = connection.execute("SELECT 1 FROM vista_probe").fetchone()
                if known is None:
                    connection.execute("INSERT INTO vista_probe VALUES (%s::vector)", [_literal(probe)])
            row = connection.execute("SELECT probe::text FROM vista_probe").fetchone()
            return str(row[0]) if row else "[]"

        stored = json.loads(await self._server.run("open the documents", check))
        remedy = "Drop its tables vista_*, or use another database"
        expect_model(stored, probe, f"Postgres at {self._server.place}", remedy)
        self._ready.append(True)

    async def _replace(self, document: Document) -> Written:
        await self._open()
        passages, vectors = await self._cut(document)
        owner, version, tenant = digest(document.id), version_of(document, passages), self._tenant
        rows, words = list[tuple[Any, ...]](), list[tuple[Any, ...]]()
        for number, (passage, vector) in enumerate(zip(passages, vectors, strict=True)):
            key, span = f"{owner}:{version}:{number:06}", passage.span or Span(start=0, end=len(passage.text))
            counts = Counter(terms(storable(search_text(passage.text, passage.title, passage.headings))))
            about = (_text(document.id), _text(passage.title), list(map(_text, passage.headings)))
            place = (_text(passage.text), span.start, span.end, counts.total(), _literal(vector), _text(passage.url))
            rows.append((tenant, key, owner, version, *about, *place))
            words += [(tenant, word, key, count) for word, count in counts.items()]
        listing = (tenant, owner, version, _text(document.id), _text(document.title), len(rows))

        def store(connection: Connection[Any]) -> list[Any]:
            connection.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [tenant + owner])
            old = connection.execute(_OLDER, [tenant, owner, version]).fetchall()
            for table in ("vista_documents", "vista_passages"):
                connection.execute(f"DELETE FROM {table} WHERE tenant = %s AND owner = %s", [tenant, owner])
            about = json.dumps(document.metadata)
            connection.execute("INSERT INTO vista_documents VALUES (%s, %s, %s, %s, %s, %s, %s)", [*listing, about])
            with connection.cursor() as cursor:
                cursor.executemany(
                    f"INSERT INTO vista_passages VALUES ({', '.join(['%s'] * 11)}, %s::vector, %s)", rows
                )
                with cursor.copy("COPY vista_words FROM STDIN") as copying:
                    for row in words:
                        copying.write_row(row)
            return old

        old = await self._server.run(f"add the document {document.id!r}", store)
        return Written(len(rows), {document.id: _listed(old[0])} if old else {})


class PgvectorKnowledge(ServedKnowledge["Connection[Any]"]):
    """A `KnowledgeStore` in Postgres."""

    def _create(self, connection: Connection[Any]) -> None:
        _create_tables(connection, _KNOWLEDGE)

    async def _put_persona(self, persona: Persona) -> None:
        insert = "INSERT INTO vista_personas VALUES (%s) ON CONFLICT DO NOTHING RETURNING persona"
        await self._run(f"store the persona {persona.name!r}", _rows(insert, [persona.key]))

    async def _has_persona(self, key: str) -> bool:
        query = "SELECT 1 FROM vista_personas WHERE persona = %s"
        return bool(await self._run("recall the persona", _rows(query, [key])))

    async def _put_turn(self, owner: str, turn: str, claims: list[dict[str, Any]]) -> None:
        insert = "INSERT INTO vista_turns (conversation, turn, claims) VALUES (%s, %s, %s) ON CONFLICT DO NOTHING RETURNING turn"
        await self._run("remember a turn", _rows(insert, [owner, turn, json.dumps(claims)]))

    async def _turns(self, owner: str) -> Sequence[tuple[str, list[dict[str, Any]]]]:
        query = "SELECT turn, claims FROM vista_turns WHERE conversation = %s ORDER BY position"
        rows = await self._run("recall a conversation", _rows(query, [owner]))
        return [(turn, json.loads(claims)) for turn, claims in rows]

    async def _drop(self, owner: str) -> int:
        drop = "DELETE FROM vista_turns WHERE conversation = %s RETURNING claims"
        rows = await self._run("forget a conversation", _rows(drop, [owner]))
        return sum(len(json.loads(claims)) for (claims,) in rows)


def _listed(row: Sequence[Any]) -> ListedDocument:
    name, title, count, about, version = row
    return ListedDocument(name, title, count, json.loads(about), version)


def _text(text: str | None) -> str | None:
    """The text without NUL, which Postgres does not store; one character for one."""
    return None if text is None else storable(text).replace("\0", "\ufffd")


def _literal(vector: NDArray[np.float32]) -> str:
    return f"[{','.join(map(repr, vector.tolist()))}]"
