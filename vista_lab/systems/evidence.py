"""Evidence by claim: where `vista-guard eval --evidence` finds it, and the recording of all that was found.

A source finds passages for one claim of one turn: in the row's own documents, in the document store, on the page of the topic in
a dump of Wikipedia, or by a function of the user's. What it finds is written to the run's folder at once, so a resumed run looks
nothing up twice and another run can be held against the same passages. A source that fails leaves the claim unchecked.
"""

from __future__ import annotations

import asyncio
import inspect
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol, cast, get_args
from typing import Literal as OneOf

import numpy as np
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from vista_guard import _aio
from vista_guard.errors import ConfigError, InputError, JudgeError
from vista_guard.judges.composed.pipeline import Find, RetrievingJudge
from vista_guard.judges.contract import meter
from vista_guard.protocols import DocumentStore, Embedder, Judge
from vista_guard.reading.passages import passages
from vista_guard.reading.visible import storable
from vista_guard.stores.entries import cut, query_vector
from vista_guard.stores.line_file import LineFile, LineKind
from vista_guard.types import Document, EvidenceSet, Passage, Role, SourceKind
from vista_lab.datasets.files import fingerprint
from vista_lab.logs.source import LoggedConversation
from vista_lab.systems.metrics import import_named
from vista_lab.systems.protocol import AnyMaker, EvidenceInfo

Kind = OneOf["given", "corpus", "wiki", "search", "recorded"]
KINDS: tuple[Kind, ...] = get_args(Kind)
EVIDENCE = "evidence.jsonl"
"""The recording in a run's folder."""
PASSAGES: Mapping[str, int] = {"search": 10}
"""Most passages for a claim, as in DAD (§4.1): top 10 of a web search,"""
OF_A_PAGE = 5
"""and top 5 of everything else."""
SEPARATOR = "####SPECIAL####SEPARATOR####"
"""Between the passages of a page in FActScore's dump."""
_MARKS = ("<s>", "</s>")
_BLOCK, _BLOCKS = 1 << 20, 64


@dataclass(frozen=True)
class Place:
    """The turn of a claim."""

    conversation: str
    turn: int
    topic: str
    documents: tuple[Document, ...]


class EvidenceSource(Protocol):
    """Finds evidence for claims.

    class Nothing:
        info = EvidenceInfo(kind="nothing", source="-", k=5, fingerprint="-")

        async def find(self, claim, place):
            return []
    """

    @property
    def info(self) -> EvidenceInfo: ...

    async def find(self, claim: str, place: Place) -> Sequence[Passage]:
        """At most `info.k` passages, best first; none where it looked and found nothing.

        Raises JudgeError, StoreError if it could not look.
        """
        ...


@dataclass(frozen=True)
class EvidenceOrder:
    """`--evidence` as plain values.

    Attributes:
        kind: one of `KINDS`.
        source: the dump of `wiki`, MODULE:NAME of `search`, the file of `recorded`; empty for the others.
        k: most passages for a claim.
        record: the file that everything found is written to; nothing is when None.
        recorded: of `recorded`, the evidence of the run that the recording is of.
    """

    kind: Kind
    source: str = ""
    k: int = OF_A_PAGE
    record: Path | None = None
    recorded: EvidenceInfo | None = None

    @classmethod
    def parse(cls, text: str, k: int | None = None, record: Path | None = None) -> EvidenceOrder:
        """Reads KIND or KIND:SOURCE.

        Examples:
            >>> EvidenceOrder.parse("search:engine:ask").k
            10

        Raises:
            ConfigError: the kind is unknown, or its source is missing or superfluous.
        """
        kind, _, source = text.partition(":")
        needed = {"wiki": "FILE", "search": "MODULE:NAME", "recorded": "FILE"}
        if kind not in KINDS:
            kinds = ", ".join(f"{name}:{needed[name]}" if name in needed else name for name in KINDS)
            raise ConfigError(f"--evidence is {text!r}, of an unknown kind; the kinds are {kinds}")
        if bool(source) != (kind in needed):
            expected = f"{kind}:{needed[kind]}" if kind in needed else f"{kind} alone"
            raise ConfigError(f"--evidence is {text!r}; give {expected}")
        resolved = str(Path(source).resolve()) if needed.get(kind) == "FILE" else source
        return cls(kind, resolved, k or PASSAGES.get(kind, OF_A_PAGE), record)


def open_evidence(order: EvidenceOrder, embedder: Embedder, documents: DocumentStore | None) -> ClaimEvidence:
    """Opens the ordered evidence; `embedder` ranks the passages of `given` and `wiki`, `documents` is the store of `corpus`.

    Raises:
        ConfigError: the dump, the function or the recording cannot be used, or there is no document store.
        StoreError: the document store cannot be read.
    """
    source: EvidenceSource
    match order.kind:
        case "given":
            source = OwnDocuments(embedder, order.k)
        case "wiki":
            source = Wikipedia(Path(order.source), embedder, order.k)
        case "search":
            source = SearchFunction(order.source, order.k)
        case "corpus":
            source = StoredDocuments(documents, order.k)
        case "recorded":
            source = RecordedEvidence(Path(order.source), order.recorded)
    return ClaimEvidence(source, order.record)


class FoundEvidence(BaseModel):
    """A line of a recording: the passages that were found for one claim, best first."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    conversation_id: str
    turn_index: int
    claim: str
    passages: tuple[Passage, ...]

    @property
    def key(self) -> tuple[str, int, str]:
        """The key under which a claim's evidence is kept."""
        return self.conversation_id, self.turn_index, self.claim


EVIDENCE_LINES = LineKind(
    FoundEvidence,
    noun="claim's evidence",
    group=lambda line: line.conversation_id,
    key=lambda line: line.key,
    again=lambda line: f"has evidence of the claim {line.claim[:60]!r} again",
)


@dataclass
class ClaimEvidence:
    """Evidence for the claims of a run: each is looked up once, and written down.

    `give_out` replaces a turn's documents with one that only names the turn, by which the judge finds its evidence.

    Args:
        source: finds passages.
        path: the recording, opened with the first conversation; nothing is recorded when None.
        owner: whether closing it closes the source.
    """

    source: EvidenceSource
    path: Path | None = None
    owner: bool = True
    _places: dict[str, Place] = field(default_factory=dict)
    _found: dict[tuple[str, int, str], tuple[Passage, ...]] = field(default_factory=dict)
    _file: LineFile[FoundEvidence] | None = None

    @property
    def info(self) -> EvidenceInfo:
        """The source, as the run's manifest names it."""
        return self.source.info

    def rehearsal(self) -> ClaimEvidence:
        """A copy for a rehearsal, which records nothing and asks no search engine."""
        calls_engine = self.info.kind == "search" and not self.info.replayed
        return ClaimEvidence(RehearsedSearch(self.info) if calls_engine else self.source, owner=False)

    def without_page(self, topics: Iterable[str]) -> list[str]:
        """The topics that the dump of Wikipedia has no page of, each once; none of another source."""
        source = self.source
        if not isinstance(source, Wikipedia):
            return []
        return [topic for topic in dict.fromkeys(topics) if not source.has(topic)]

    def around(self, judge: Judge) -> Judge:
        """Wraps a judge so that each claim is checked against its own evidence."""
        return _Sourced(judge, self)

    def give_out(self, entry: LoggedConversation) -> LoggedConversation:
        """The conversation with documents that name its turns. Loads what the recording has of it."""
        name = str(entry.conversation.id)
        if self.path is not None:
            self._file = self._file or LineFile.open(self.path, EVIDENCE_LINES, AnyMaker())
            self._found |= {line.key: line.passages for line in self._file.of_group(name)}
        turns = list(entry.conversation.turns)
        for index, turn in enumerate(turns):
            if turn.role is Role.ASSISTANT:
                place = Place(name, index, entry.topic, turn.documents)
                marker = Document(id=f"{name} {index}", text="Its evidence is found claim by claim.")
                self._places[marker.id] = place
                turns[index] = turn.model_copy(update={"documents": (marker,)})
        return replace(entry, conversation=entry.conversation.model_copy(update={"turns": tuple(turns)}))

    def finder(self, evidence: EvidenceSet) -> Find | None:
        """The search for claims of the turn that this evidence names; None where it names none."""
        names = (self._places.get(passage.source_id) for passage in evidence.documents)
        place = next((candidate for candidate in names if candidate is not None), None)
        return None if place is None else (lambda claim: self._find(claim, place))

    async def _find(self, claim: str, place: Place) -> tuple[Passage, ...]:
        key = (place.conversation, place.turn, claim)
        if key not in self._found:
            passages = tuple(await self.source.find(claim, place))
            # Asked again meanwhile, by another stage: the first answer is the one that was written.
            if key not in self._found:
                if self._file is not None:
                    line = FoundEvidence(conversation_id=key[0], turn_index=key[1], claim=claim, passages=passages)
                    self._file.append(line)
                self._found[key] = passages
        if not self._found[key]:
            meter().warn(f"{self.info.kind} evidence: nothing was found for the claim {claim!r}")
        return self._found[key]

    def forget(self, conversation: str) -> None:
        """Forgets a conversation that is done."""
        self._places = {name: place for name, place in self._places.items() if place.conversation != conversation}
        self._found = {key: passages for key, passages in self._found.items() if key[0] != conversation}

    async def aclose(self) -> None:
        """Closes the recording, and the store of a corpus."""
        if self._file is not None:
            self._file.close()
        close = getattr(self.source, "aclose", None)
        if close is not None and self.owner:
            await close()


class _Sourced(RetrievingJudge):
    def __init__(self, judge: Judge, evidence: ClaimEvidence) -> None:
        self._judge = judge
        self._evidence = evidence

    def finder(self, evidence: EvidenceSet) -> Find | None:
        return self._evidence.finder(evidence)


class OwnDocuments:
    """Implements `EvidenceSource` with the row's own documents, the nearest passages of them for each claim."""

    def __init__(self, embedder: Embedder, k: int) -> None:
        self._embedder = embedder
        self.info = EvidenceInfo(kind="given", source="the rows' own documents", k=k, fingerprint="that of the rows")

    async def find(self, claim: str, place: Place) -> Sequence[Passage]:
        pool = tuple(passage for document in place.documents for passage in passages(document))
        return await asyncio.to_thread(nearest, self._embedder, claim, pool, self.info.k)


class StoredDocuments:
    """Implements `EvidenceSource` with a document store, which is closed with it."""

    def __init__(self, documents: DocumentStore | None, k: int) -> None:
        if documents is None:
            raise ConfigError("--evidence corpus finds no documents; add some with vista-guard documents add")
        self._documents = documents
        stored = getattr(documents, "stored", None)
        entries = [] if stored is None else _aio.run(stored())
        text = "\n".join(f"{entry.id}\0{entry.passages}\0{entry.version}" for entry in entries)
        digest = sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        self.info = EvidenceInfo(kind="corpus", source=f"{len(entries)} documents", k=k, fingerprint=digest)

    async def find(self, claim: str, place: Place) -> Sequence[Passage]:
        return await self._documents.search(claim, self.info.k)

    async def aclose(self) -> None:
        await self._documents.aclose()


class Wikipedia:
    """Implements `EvidenceSource` with the page of the topic in FActScore's dump, a SQLite file of `documents(title, text)`.

    Its own passages are ranked, by the topic and the claim, as FActScore does (Min et al. 2023); titles are compared letter for
    letter. The fingerprint is of the file's size and of blocks all over it: a dump has 20 GB.
    """

    def __init__(self, file: Path, embedder: Embedder, k: int) -> None:
        self._file = file
        self._embedder = embedder
        self._page = lru_cache(64)(self._read_page)
        if not file.is_file():
            raise ConfigError(
                f"--evidence wiki: {file} does not exist; give FActScore's dump of Wikipedia, a SQLite file"
            )
        self._query("SELECT title, text FROM documents LIMIT 1")
        self.info = EvidenceInfo(kind="wiki", source=file.name, k=k, fingerprint=_sample_digest(file))

    def _query(self, sql: str, *values: str) -> list[tuple[Any, ...]]:
        try:
            with closing(sqlite3.connect(f"{self._file.resolve().as_uri()}?mode=ro", uri=True)) as dump:
                return dump.execute(sql, values).fetchall()
        except sqlite3.Error as exc:
            how = "Give a SQLite file with the table documents(title, text)"
            raise ConfigError(
                f"--evidence wiki: {self._file} cannot be read as a dump of Wikipedia: {exc}. {how}"
            ) from exc

    def has(self, topic: str) -> bool:
        """True if the topic has a page."""
        return bool(self._query("SELECT 1 FROM documents WHERE title = ?", topic))

    def _read_page(self, topic: str) -> tuple[Passage, ...]:
        rows = self._query("SELECT text FROM documents WHERE title = ?", topic)
        if not rows:
            return ()
        texts = (_plain(text) for text in str(rows[0][0]).split(SEPARATOR))
        known = ((f"{topic}#{number}", text) for number, text in enumerate(texts, 1) if text)
        source = SourceKind.DOCUMENT
        return tuple(Passage(source=source, source_id=name, text=text, title=topic) for name, text in known)

    async def find(self, claim: str, place: Place) -> Sequence[Passage]:
        if not place.topic:
            raise JudgeError(
                f"conversation {place.conversation} names no topic, so it has no page in {self._file.name}"
            )
        try:
            page = await asyncio.to_thread(self._page, place.topic)
        except ConfigError as exc:
            raise JudgeError(str(exc)) from exc
        if not page:
            raise JudgeError(f"the topic {place.topic!r} has no page in {self._file.name}")
        return await asyncio.to_thread(nearest, self._embedder, f"{place.topic} {claim}", page, self.info.k)


def _plain(text: str) -> str:
    for mark in _MARKS:
        text = text.replace(mark, " ")
    return storable(" ".join(text.split()))


def _sample_digest(file: Path) -> str:
    """The sha256 of a file's size and of at most 64 blocks of 1 MiB, evenly spread over it."""
    size = file.stat().st_size
    digest = sha256(str(size).encode())
    with file.open("rb") as content:
        for start in np.linspace(0, max(size - _BLOCK, 0), min(_BLOCKS, size // _BLOCK + 1), dtype=np.int64):
            content.seek(int(start))
            digest.update(content.read(_BLOCK))
    return digest.hexdigest()


class WebPassage(BaseModel):
    """A search function's result with more than its text."""

    model_config = ConfigDict(extra="forbid")

    text: str
    title: str | None = None
    url: str | None = None


_RESULTS = TypeAdapter(list[str | WebPassage])


class SearchFunction:
    """Implements `EvidenceSource` with a user's function of a claim.

    It returns a list of texts, or of mappings with text, title and url. It may be async; a sync one runs in a thread. An
    exception leaves the claim unchecked.
    """

    def __init__(self, name: str, k: int) -> None:
        module, _, attribute = name.rpartition(":")
        try:
            function = import_named(module or name, attribute)
        except Exception as exc:  # a user's module may raise anything
            why = f"{type(exc).__name__}: {exc}"
            raise ConfigError(f"--evidence search:{name} cannot be imported: {why}. Name MODULE:FUNCTION") from exc
        if not callable(function):
            raise ConfigError(f"--evidence search:{name} is a {type(function).__name__}; name a function of a claim")
        self._name = name
        self._search = cast("Callable[[str], Any]", function)
        self.info = EvidenceInfo(kind="search", source=name, k=k, fingerprint=_source_of(function))

    async def find(self, claim: str, place: Place) -> Sequence[Passage]:
        try:
            results = _RESULTS.validate_python(await self._ask(claim))
        except ValidationError as exc:
            fault = exc.errors()[0]
            given = f"search {self._name} gave {str(fault['input'])[:80]!r} for the claim {claim[:80]!r}"
            raise JudgeError(f"{given}; it must give a list of texts, or of mappings with text, title and url") from exc
        except Exception as exc:  # a user's code, and a network behind it
            raise JudgeError(f"search {self._name} failed: {type(exc).__name__}: {exc}") from exc
        web_passages = [WebPassage(text=result) if isinstance(result, str) else result for result in results]
        found = [_passage(one, number) for number, one in enumerate(web_passages, 1) if one.text.strip()]
        return found[: self.info.k]

    async def _ask(self, claim: str) -> object:
        if inspect.iscoroutinefunction(self._search):
            answer: object = await self._search(claim)
        else:
            answer = await asyncio.to_thread(self._search, claim)
        return list(answer) if isinstance(answer, tuple) else answer


def _passage(result: WebPassage, number: int) -> Passage:
    title = None if result.title is None else storable(result.title)
    name = storable(result.url or f"result {number}")
    return Passage(source=SourceKind.DOCUMENT, source_id=name, text=storable(result.text), title=title)


def _source_of(function: object) -> str:
    """The sha256 of the function's module; of its name where it has no source, as a compiled one."""
    try:
        text = inspect.getsource(inspect.getmodule(function) or type(function))
    except (OSError, TypeError):
        text = repr(getattr(function, "__qualname__", type(function)))
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


class RecordedEvidence:
    """Implements `EvidenceSource` with what another run found, from its `evidence.jsonl`; `recorded` is of that run's manifest.

    A claim that is not in the recording is an error.
    """

    def __init__(self, file: Path, recorded: EvidenceInfo | None) -> None:
        if recorded is None:
            raise ConfigError(f"{file} is a recording of a run without evidence by claim; give one that eval wrote")
        self._name = f"{file.parent.name}/{file.name}"
        try:
            self.info = recorded.model_copy(update={"replayed": fingerprint(file)})
            with file.open("rb") as lines:
                evidence_lines = [EVIDENCE_LINES.read(file, line, number) for number, line in enumerate(lines, 1)]
        except (OSError, InputError) as exc:
            raise ConfigError(f"--evidence recorded: {file} cannot be read: {exc}") from exc
        self._found = {line.key: line.passages for line in evidence_lines}

    async def find(self, claim: str, place: Place) -> Sequence[Passage]:
        try:
            return self._found[place.conversation, place.turn, claim]
        except KeyError:
            raise JudgeError(
                f"{self._name} has no evidence of the claim {claim!r} (turn {place.turn} of conversation {place.conversation}): "
                "it was recorded with other claims. Record it with this decomposer"
            ) from None


class RehearsedSearch:
    """Implements `EvidenceSource` in an estimate: made-up passages, as many as a search returns."""

    def __init__(self, info: EvidenceInfo) -> None:
        self.info = info

    async def find(self, claim: str, place: Place) -> Sequence[Passage]:
        text = "These words stand for those of a result. " * 10
        return [_passage(WebPassage(text=text), number) for number in range(1, self.info.k + 1)]


def nearest(embedder: Embedder, query: str, pool: Sequence[Passage], k: int) -> list[Passage]:
    """The passages nearest in meaning to the query, best first; of equal ones the first.

    A passage that is longer than the embedder reads counts by its nearest part.
    """
    parts: list[tuple[int, str]] = []
    for number, passage in enumerate(pool):
        parts += [(number, part.text) for part in cut(Document(id="-", text=passage.text), embedder)]
    if not parts:
        return []
    vectors = embedder.embed([text for _, text in parts])
    # Rounded, as in the stores: the last digits depend on the shape of the product.
    scores = np.round(vectors @ query_vector(embedder, query), 5)
    best = np.full(len(pool), -2.0)
    np.maximum.at(best, [number for number, _ in parts], scores)
    order = np.argsort(-best, kind="stable")[:k]
    return [pool[number] for number in order if best[number] > -2.0]
