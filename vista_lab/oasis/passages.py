"""Passages of a folder's documents: windows of consecutive sentences (LLM-OASIS, §3.1, K = 5), drawn by seed.

A sentence ends with a full stop, a question mark or an exclamation mark: headings, menu entries and table cells are none. A
document with fewer sentences than a window is taken whole. Which windows are drawn depends on the seed and the document's name
alone, so that a run that is resumed, or split into shards, draws the same ones.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import blake2b, sha256
from pathlib import Path
from random import Random

from vista_guard.errors import ConfigError, InputError
from vista_guard.judges.embedded.english.words import word_set
from vista_guard.reading.files import DocumentFile, FileReader, SkippedFile, find_files
from vista_guard.reading.passages import sentence_spans
from vista_guard.types import Document
from vista_lab.oasis.records import Passage
from vista_lab.oasis.rewriters.carrier import stems

FEWEST = 2
"""Fewest sentences of a passage: one sentence leaves nothing for a paraphrase to keep."""
NEAR = 0.8
"""Word-triple overlap (Jaccard) from which two passages count as the same text."""
_ENDS = frozenset(".!?…。！？")
_CLOSING = "\"')]}”’»"
_HASHES = 32
_PERIOD = (1 << 61) - 1


@dataclass(frozen=True)
class Cut:
    """Settings for cutting documents and drawing passages.

    `sentences`: of a window, K in the paper. `stride`: sentences between the starts of two windows. `per_document`: windows drawn
    of each document, which do not overlap; 0 for all windows. `limit`: passages in all, 0 for all. `shard` of `shards`: the part
    of the documents that this run takes, from 1.
    """

    sentences: int = 5
    stride: int = 1
    per_document: int = 1
    language: str = "en"
    limit: int = 0
    seed: int = 0
    shard: int = 1
    shards: int = 1

    def __post_init__(self) -> None:
        if self.language != "en":
            raise ConfigError(
                f"language is {self.language!r}; documents are cut into sentences in English only: give en"
            )
        for name, least in (("sentences", FEWEST), ("stride", 1), ("per_document", 0), ("limit", 0)):
            if getattr(self, name) < least:
                raise ConfigError(f"{name} is {getattr(self, name)}; it must be at least {least}")
        if not 1 <= self.shard <= self.shards:
            raise ConfigError(
                f"shard is {self.shard}/{self.shards}; give 1/{self.shards} to {self.shards}/{self.shards}"
            )


@dataclass
class Corpus:
    """A folder's documents, cut once before generation, and the passages drawn from them.

    Holds names, hashes and the words of each window as numbers, not texts: about 2 kB a passage.
    """

    folder: Path
    cut: Cut
    files: dict[str, str] = field(default_factory=dict)
    """sha256 of each document's text, by its path below the folder."""
    drawn: frozenset[str] = frozenset()
    """Names of the passages that are drawn, before they are divided into shards."""
    repeats: dict[str, str] = field(default_factory=dict)
    """Near-duplicate passages, each with the earlier one it repeats."""
    skipped: list[SkippedFile] = field(default_factory=list)
    languages: dict[str, str] = field(default_factory=dict)
    """Language of each document that is in another one."""
    reader: FileReader = field(default_factory=FileReader, repr=False)
    """The process that reads files: starting another one for the second reading takes seconds on a busy machine."""

    def close(self) -> None:
        """Ends the reader process; it restarts when needed."""
        self.reader.close()

    @property
    def documents(self) -> list[str]:
        """Documents of this shard, in order."""
        return [name for name in self.files if shard_of(name, self.cut.shards) == self.cut.shard]

    @property
    def passages(self) -> int:
        """Number of passages in this shard."""
        return sum(shard_of(name.rpartition("#")[0], self.cut.shards) == self.cut.shard for name in self.drawn)

    def read(self) -> Iterator[tuple[Document, list[Passage]]]:
        """Each document of the shard with its drawn passages, read again from the disk.

        Raises InputError: a file changed since it was cut.
        """
        wanted = set(self.documents)
        for document in _documents(self.folder, [], self.reader):
            if document.id not in wanted:
                continue
            if _digest(document) != self.files[document.id]:
                raise InputError(f"{self.folder / document.id} changed while it was read; run the same command again")
            yield document, [passage for passage in windows(document, self.cut) if passage.id in self.drawn]

    def everywhere(self) -> Iterator[Passage]:
        """Windows of all shards' documents that do not overlap."""
        whole = replace(self.cut, stride=self.cut.sentences, shard=1, shards=1)
        for document in _documents(self.folder, [], self.reader):
            yield from windows(document, whole)

    def elsewhere(self) -> Elsewhere:
        """Index of all windows, where a claim may be true too."""
        index = Elsewhere()
        index.add(self.everywhere())
        return index


def survey(folder: Path, cut: Cut) -> Corpus:
    """Reads and cuts all documents of a folder.

    Raises InputError: the folder does not exist, or holds no text that can be cut.
    """
    corpus = Corpus(folder, cut)
    nearby = _Nearby()
    drawn: list[str] = []
    for document in _documents(folder, corpus.skipped, corpus.reader):
        corpus.files[document.id] = _digest(document)
        chosen = draw(list(windows(document, cut)), cut)
        drawn += [passage.id for passage in chosen]
        language = _language(document.text)
        if chosen and language != cut.language:
            corpus.languages[document.id] = language
        for passage in chosen:
            earlier = nearby.add(passage)
            if earlier:
                corpus.repeats[passage.id] = earlier
    if not corpus.files:
        raise InputError(
            f"{folder} holds no document that can be read; give a folder of text, Markdown, HTML or PDF files"
        )
    if not drawn:
        raise InputError(
            f"{folder}: none of {len(corpus.files):,} documents has {FEWEST} sentences that end with a mark"
        )
    if 0 < cut.limit < len(drawn):
        drawn = heapq.nsmallest(cut.limit, drawn, key=lambda name: _hash(f"{cut.seed}:{name}"))
    corpus.drawn = frozenset(drawn)
    return corpus


def windows(document: Document, cut: Cut) -> Iterator[Passage]:
    """All windows of a document, in order; the whole document where it is shorter than one."""
    texts = sentences_of(document.text)
    if FEWEST <= len(texts) < cut.sentences:
        yield Passage(document=document.id, first=0, sentences=len(texts), text=" ".join(texts))
    for first in range(0, len(texts) - cut.sentences + 1, cut.stride):
        text = " ".join(texts[first : first + cut.sentences])
        yield Passage(document=document.id, first=first, sentences=cut.sentences, text=text)


def sentences_of(text: str) -> list[str]:
    """The sentences of a text, without headings and other lines that end without a mark.

    Examples:
        >>> sentences_of("Opening hours\\nThe hall opens at 9. It closes at 17:00.")
        ['The hall opens at 9.', 'It closes at 17:00.']
    """
    sentences = (" ".join(text[span.start : span.end].split()) for span in sentence_spans(text))
    return [sentence for sentence in sentences if sentence.rstrip(_CLOSING)[-1:] in _ENDS and len(sentence.split()) > 1]


def draw(found: list[Passage], cut: Cut) -> list[Passage]:
    """`per_document` windows that do not overlap, by the seed and the document's name; all windows where it is 0."""
    if not cut.per_document or not found:
        return found
    order = Random(_hash(f"{cut.seed}:{found[0].document}")).sample(found, len(found))
    chosen: list[Passage] = []
    for passage in order:
        if len(chosen) == cut.per_document:
            break
        if not any(overlap(passage, other) for other in chosen):
            chosen.append(passage)
    return sorted(chosen, key=lambda passage: passage.first)


def overlap(one: Passage, other: Passage) -> bool:
    """True if two windows share a sentence."""
    apart = one.first + one.sentences <= other.first or other.first + other.sentences <= one.first
    return one.document == other.document and not apart


def shard_of(document: str, shards: int) -> int:
    """The shard that a document belongs to, from 1: all its passages are in one."""
    return _hash(document) % shards + 1


class _Nearby:
    """Finds earlier passages with nearly the same word triples: candidates by MinHash (8 bands of 4), then all triples."""

    def __init__(self) -> None:
        self._bands: list[dict[bytes, int]] = [{} for _ in range(_HASHES // 4)]
        self._names: list[str] = []
        self._triples: list[array[int]] = []
        rng = Random(11)
        self._mixes = [(rng.randrange(1, _PERIOD), rng.randrange(_PERIOD)) for _ in range(_HASHES)]

    def add(self, passage: Passage) -> str:
        """Adds the passage; returns the name of the earlier one that it repeats, or an empty text."""
        triples = _triples(passage.text)
        least = array("Q", (min((scale * gram + shift) % _PERIOD for gram in triples) for scale, shift in self._mixes))
        keys = [least[4 * band : 4 * band + 4].tobytes() for band in range(len(self._bands))]
        places = {place for band, key in zip(self._bands, keys, strict=True) if (place := band.get(key)) is not None}
        for place in sorted(places):
            earlier = set(self._triples[place])
            if len(earlier & triples) >= NEAR * len(earlier | triples):
                return self._names[place]
        for band, key in zip(self._bands, keys, strict=True):
            band.setdefault(key, len(self._names))
        self._names.append(passage.id)
        self._triples.append(array("L", sorted(triples)))
        return ""


def _triples(text: str) -> set[int]:
    words = text.lower().split()
    return {_hash(" ".join(words[place : place + 3])) & 0xFFFFFFFF for place in range(max(1, len(words) - 2))}


class Elsewhere:
    """Word index of all documents' windows: finds other passages that a claim could be about."""

    def __init__(self) -> None:
        self._postings: dict[str, array[int]] = {}
        self._places: list[tuple[str, int, int]] = []
        self._texts: list[str] = []
        self._own: dict[str, list[int]] = {}

    def __len__(self) -> int:
        return len(self._places)

    def add(self, passages: Iterable[Passage]) -> None:
        """Adds windows."""
        for passage in passages:
            for word in stems(passage.text):
                self._postings.setdefault(word, array("L")).append(len(self._places))
            self._own.setdefault(passage.document, []).append(len(self._places))
            self._places.append((passage.document, passage.first, passage.sentences))
            self._texts.append(passage.text)

    def nearest(self, claim: str, passage: Passage, count: int = 3) -> list[str]:
        """Texts of the windows that share most rare words with the claim and no sentence with the passage."""
        scores: dict[int, float] = {}
        for word in stems(claim):
            postings = self._postings.get(word)
            if postings is not None:
                weight = 1.0 / len(postings)
                for place in postings:
                    scores[place] = scores.get(place, 0.0) + weight
        best = heapq.nlargest(count + 8, scores, key=lambda place: (scores[place], -place))
        apart = [place for place in best if not overlap(self._window(place), passage)]
        return [self._texts[place] for place in apart[:count]]

    def of(self, passage: Passage) -> list[str]:
        """Texts of the passage's document's windows that share no sentence with it."""
        own = self._own.get(passage.document, ())
        return [self._texts[place] for place in own if not overlap(self._window(place), passage)]

    def _window(self, place: int) -> Passage:
        document, first, sentences = self._places[place]
        return Passage(document=document, first=first, sentences=sentences, text=self._texts[place])


def _documents(folder: Path, skipped: list[SkippedFile], reader: FileReader) -> Iterator[Document]:
    """The readable documents of a folder, in order of their names; what cannot be read is added to `skipped`."""
    for file in find_files(folder):
        read = file if isinstance(file, SkippedFile) else _read(reader, file)
        if isinstance(read, SkippedFile):
            skipped.append(read)
        elif read is not None:
            yield read


def _read(reader: FileReader, file: DocumentFile) -> Document | SkippedFile | None:
    try:
        return reader.read(file)
    except InputError as exc:
        return SkippedFile(file.path, str(exc), broken=True)


_ENGLISH = word_set(
    "the of and to in a is that for it as was with be by on not he his are this at from or have an they which"
)
_SHARE = 0.15
"""Share of English function words from which a text is English, whatever the language identifier says."""


def _language(text: str) -> str:
    from py3langid import classify

    words = text[:4000].lower().split()
    if sum(word in _ENGLISH for word in words) >= _SHARE * len(words):
        return "en"
    return str(classify(text[:4000])[0])


def _digest(document: Document) -> str:
    return sha256(document.text.encode()).hexdigest()


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
