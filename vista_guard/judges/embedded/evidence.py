"""Picks the pieces of evidence for each claim before the verifier reads any.

Each sentence comes with what it stands under (`layout`). Beside the nearest passages, the sentence that shares the rarest words
with the claim is included. A claim that names one row of a table, or one item of a list, is held against no other.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from vista_guard.judges.embedded.english.speakers import name_speakers, names
from vista_guard.judges.embedded.english.words import content_words
from vista_guard.judges.embedded.forms import clean
from vista_guard.judges.embedded.layout import Above, ParallelItem, in_context, item_of, places, stems
from vista_guard.judges.embedded.mentions.clauses import read
from vista_guard.judges.embedded.mentions.cues import MentionKind, SentenceReading
from vista_guard.judges.embedded.mentions.passage import read_passage
from vista_guard.protocols import Embedder
from vista_guard.reading.canonical import Reading, canonical, folded
from vista_guard.types import EvidenceSet, Passage, Role, SourceKind, Span, Turn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


COMMON = 200
"""Sentences from which on a word that they share tells nothing: what it would add lies below the price of a sentence's length."""
_PRICE = 0.01
"""Length penalty per word; the shortest match wins."""

WindowPlace = tuple[int, int]
"""Number of the passage, number of the sentence in it."""


@dataclass(frozen=True)
class WordIndex:
    """Where each word stands. Asking costs the postings of the claim's own words, however many documents there are."""

    sentences: Mapping[str, tuple[WindowPlace, ...]]
    lengths: Mapping[WindowPlace, int]

    @classmethod
    def of(cls, passages: Sequence[Sequence[frozenset[str]]]) -> WordIndex:
        """The index of passages, each given by the words of its sentences; a sentence without words is none."""
        found, lengths = defaultdict[str, list[WindowPlace]](list), dict[WindowPlace, int]()
        for number, sentences in enumerate(passages):
            for index, words in enumerate(sentences):
                lengths[number, index] = len(words)
                for word in words:
                    found[word].append((number, index))
        return cls({word: tuple(places) for word, places in found.items()}, lengths)

    def best(self, wanted: frozenset[str]) -> WindowPlace | None:
        """Where the sentence stands that shares most with the words; None where none shares a word that is rare enough."""
        scores = defaultdict[WindowPlace, float](float)
        for word in sorted(wanted):
            places = self.sentences.get(word, ())
            for place in places if len(places) <= COMMON else ():
                scores[place] += 1 / len(places)
        return max(sorted(scores), key=lambda place: scores[place] - _PRICE * self.lengths[place], default=None)


DOCUMENT_PASSAGES = 4
"""Passages of documents that one claim is held against: all when there are no more, else the nearest in meaning."""
PAIRED = 2
"""Passages of which two sentences together are held against a claim too."""
NEIGHBOURS = 1
"""Sentences on either side that the best sentence of all documents is read with."""
KNOWN_CLAIMS = 2
"""Known claims that one claim is held against, at most."""
HISTORY_TURNS = 3
"""Earlier turns that one claim is held against, at most, with context = full."""
KNOWN_COSINE = 0.5
"""Least cosine similarity for a known claim or an earlier turn to be held against a claim."""
COUNTER_COSINE = 0.3
"""Least cosine similarity of a sentence to the claim that it refutes: what speaks of something else contradicts nothing."""
MAX_PAIRS = 2400
"""Most pairs in one turn; with very many claims each is held against fewer passages."""

T = TypeVar("T")

_WORD = re.compile(r"\w+")
_THAT = re.compile(r"(?<=[a-z]) that (?=(?:the|a|an|it|he|she|they|there|we)\b)")


@dataclass(frozen=True)
class EvidencePiece:
    """A quote that one claim is held against. `text` is what the verifier reads; `origin` is the passage it comes from."""

    quote: Passage
    text: str
    origin: Passage
    supports: bool = True
    refutes: bool = True
    denies: bool = False
    """True if the evidence says that `text` is false: what supports the text speaks against the claim."""
    framed: SentenceReading | None = None
    """How `text` mentions what it says: it supports only claims that mention it likewise."""
    cell: str = ""
    """Of a table's row the cell that the claim names by row and column, where it has figures."""


@dataclass(frozen=True)
class EvidenceSource:
    """A passage of a document as it is read: its sentences, what each states, and the words of that."""

    passage: Passage
    reading: Reading
    spans: tuple[Span, ...]
    sentences: tuple[SentenceReading, ...]
    words: tuple[frozenset[str], ...]
    items: tuple[ParallelItem | None, ...]
    common: Counter[str]

    @classmethod
    def read(
        cls, passage: Passage, above: tuple[MentionKind | None, Above] = (None, Above())
    ) -> tuple[EvidenceSource, tuple[MentionKind | None, Above]]:
        """The passage, and what stands over the text that follows it: the kind of its last heading, and its layout."""
        reading = canonical(passage.text)
        spans, sentences, under = read_passage(reading.text, above[0])
        lines, layout = places(reading.text, above[1])
        sentences = tuple(
            one if one.regions else replace(one, stated=in_context(one.stated, span, lines))
            for span, one in zip(spans, sentences, strict=True)
        )
        found = tuple(content_words(sentence.stated) for sentence in sentences)
        common = Counter(word for one in found for word in one)
        items = tuple(item_of(span, lines) for span in spans)
        return cls(passage, reading, spans, sentences, found, items, common), (under, layout)

    @property
    def whole(self) -> EvidencePiece:
        """All of the passage as it stands, for claims in languages that the rules do not know."""
        return EvidencePiece(self.passage, _with_title(self.passage.title, self.passage.text), self.passage)

    def pieces(self, claim: str, *, pair: bool) -> Iterator[EvidencePiece]:
        """The sentence that shares most with the claim, and with the one that completes it.

        The verifier read single sentences when it was trained: on the dev set a sentence out of a passage of 150 tokens is
        judged as well as in the original, the whole passage much worse (support accuracy 0.86 against 0.79), at a third
        of the cost. The `pair` is for what two sentences say between them, where a second one has words of the claim that
        the best lacks; it may support, but not refute. What a sentence only mentions is no part of a piece, but for claims
        that mention it too; what it calls false is a piece that denies.
        """
        wanted = content_words(claim)
        yield from self._for(claim, wanted)._statements(claim, wanted, pair)
        yield from self._denials(wanted)

    def _statements(self, claim: str, wanted: frozenset[str], pair: bool) -> Iterator[EvidencePiece]:
        stating = [index for index, reading in enumerate(self.sentences) if reading.stated]
        if not stating:
            return
        best = max(stating, key=lambda index: self._overlap(index, wanted))
        item = self.items[best]
        yield replace(self._piece([best], refutes=True), cell=item.cell(stems(claim)) if item else "")
        open_words = wanted - self.words[best]
        second = max(stating, key=lambda index: self._overlap(index, open_words))
        if pair and open_words & self.words[second]:
            yield self._piece(sorted([best, second]), refutes=False)

    def window(self, index: int, claim: str) -> EvidencePiece | None:
        """A sentence between its neighbours: "it", "this method" and what a claim adds from the next one stand there. It may
        support, but not refute: what speaks against a claim is said in one sentence."""
        source = self._for(claim, content_words(claim)) if any(self.items) else self
        around = range(max(0, index - NEIGHBOURS), min(len(self.sentences), index + NEIGHBOURS + 1))
        stating = [one for one in around if source.sentences[one].stated]
        return source._piece(stating, refutes=False) if stating else None

    def _for(self, claim: str, wanted: frozenset[str]) -> EvidenceSource:
        """The source as the claim may lean on it: what is framed as the claim is counts as stated, and of rows and items beside
        each other those that are about another say nothing."""
        if not any(reading.regions or item for reading, item in zip(self.sentences, self.items, strict=True)):
            return self
        asserted, asked = read(clean(claim)), stems(claim)
        readings = tuple(
            replace(one, stated=one.said)
            if one.regions and _may_support(one, asserted, wanted)
            else _as_item(one, item, claim, asked)
            for one, item in zip(self.sentences, self.items, strict=True)
        )
        found = tuple(
            old if new is one else content_words(new.stated)
            for old, new, one in zip(self.words, readings, self.sentences, strict=True)
        )
        return replace(self, sentences=readings, words=found)

    def _denials(self, wanted: frozenset[str]) -> Iterator[EvidencePiece]:
        """The nearest sentence that calls something false."""
        denials = [index for index, reading in enumerate(self.sentences) if reading.denied]
        if denials:
            index = max(denials, key=lambda index: _share(wanted, self.sentences[index].denied))
            piece = self._quoting([index], self.sentences[index].denied, refutes=True)
            yield replace(piece, supports=False, denies=True)

    def _piece(self, indices: list[int], *, refutes: bool) -> EvidencePiece:
        return self._quoting(indices, " ".join(self.sentences[index].stated for index in indices), refutes=refutes)

    def _quoting(self, indices: list[int], text: str, *, refutes: bool) -> EvidencePiece:
        first, last = self.spans[indices[0]], self.spans[indices[-1]]
        place = self.reading.span(first.start, last.end)
        quote = _part(self.passage, place.start, place.end)
        return EvidencePiece(quote, _with_title(self.passage.title, text), self.passage, refutes=refutes)

    def _overlap(self, index: int, wanted: frozenset[str]) -> float:
        # A word in every sentence tells nothing; length is paid for a little, so that the tightest sentence wins.
        return sum(1.0 / max(1, self.common[word]) for word in wanted & self.words[index]) - 0.01 * len(
            self.words[index]
        )


@dataclass(frozen=True)
class Pool:
    """All that a turn's claims may be held against, by kind."""

    documents: tuple[EvidenceSource, ...]
    known: tuple[EvidencePiece, ...]
    history: tuple[EvidencePiece, ...]
    index: WordIndex
    """Of the documents' sentences."""

    def windows(self, claim: str, beside: Sequence[EvidencePiece]) -> list[EvidencePiece]:
        """The sentence of all documents that shares most with the claim, between its neighbours.

        Args:
            claim: folded.
            beside: pieces read already; the same words are not read twice.
        """
        place = self.index.best(content_words(claim))
        window = self.documents[place[0]].window(place[1], claim) if place else None
        return [window] if window and all(window.text != piece.text for piece in beside) else []


def pool(evidence: EvidenceSet) -> Pool:
    """The evidence, read once for all claims."""
    documents = tuple(_read(evidence.documents))
    known = tuple(piece for one in evidence.knowledge if one.text.strip() for piece in _pieces_of_claim(one))
    history = tuple(_piece_of_turn(index, turn) for index, turn in enumerate(evidence.history) if turn.text.strip())
    return Pool(documents, known, history, WordIndex.of([source.words for source in documents]))


def _read(passages: Sequence[Passage]) -> Iterator[EvidenceSource]:
    """Each passage, under its own headings, else under the last heading of its document that was read before it."""
    above = dict[str, tuple[MentionKind | None, Above]]()
    for passage in passages:
        if passage.headings:
            over = passage.model_copy(update={"text": "\n\n".join(passage.headings), "headings": ()})
            _, above[passage.source_id] = EvidenceSource.read(over)
        elif passage.found:  # ranked passages do not follow one another
            above.pop(passage.source_id, None)
        if passage.text.strip():
            source, above[passage.source_id] = EvidenceSource.read(
                passage, above.get(passage.source_id, (None, Above()))
            )
            yield source


def choose(
    claims: Sequence[str], pool: Pool, embedder: Embedder, *, whole: Collection[str] = ()
) -> list[list[EvidencePiece]]:
    """The pieces to hold against each claim, in the order of `claims`; those in `whole` are held against whole passages."""
    most = max(1, min(DOCUMENT_PASSAGES, MAX_PAIRS // (2 * len(claims)))) if claims else 1
    passages = [folded(one.passage.text) for one in pool.documents]
    documents = _nearest(claims, pool.documents, passages, embedder, most, least=None)
    known = _nearest(claims, pool.known, [one.text for one in pool.known], embedder, KNOWN_CLAIMS, least=KNOWN_COSINE)
    said = [one.text for one in pool.history]
    history = _nearest(claims, pool.history, said, embedder, HISTORY_TURNS, least=KNOWN_COSINE)
    return [
        [
            *(
                piece
                for rank, source in enumerate(sources)
                for piece in ([source.whole] if claim in whole else source.pieces(claim, pair=rank < PAIRED))
            ),
            *facts,
            *turns,
        ]
        for claim, sources, facts, turns in zip(claims, documents, known, history, strict=True)
    ]


def _may_support(reading: SentenceReading, asserted: SentenceReading, wanted: frozenset[str]) -> bool:
    """True if a sentence that mentions something may support the claim: it is framed likewise, or tells of what
    follows from a condition ("If you file late, you pay a fee"), and not of the condition."""
    if reading.framed_like(asserted):
        return True
    condition = content_words(reading.said) - content_words(reading.stated)
    return reading.is_rule and len(wanted & content_words(reading.stated) - condition) > 1


def _as_item(reading: SentenceReading, item: ParallelItem | None, claim: str, asked: frozenset[str]) -> SentenceReading:
    """The sentence as it speaks of the claim, where it is a row or an item among others."""
    said = reading.stated if item is None or reading.regions else item.stated(reading.stated, claim, asked)
    return reading if said == reading.stated else replace(reading, stated=said)


def _share(wanted: frozenset[str], text: str) -> float:
    """How many of the words a text has; length is paid for a little."""
    found = content_words(text)
    return len(wanted & found) - 0.01 * len(found)


def same_statement(first: str, second: str) -> bool:
    """True if two claims have the same words, apart from case, punctuation and the "that" of "says that"."""
    said, other = (_WORD.findall(_THAT.sub(" ", text.lower())) for text in (first, second))
    return bool(said) and said == other


def _nearest(
    claims: Sequence[str], items: Sequence[T], texts: Sequence[str], embedder: Embedder, most: int, least: float | None
) -> list[list[T]]:
    """For each claim the items nearest in meaning. Without a `least` cosine all are taken when they are at most `most`."""
    if not items or not claims:
        return [[] for _ in claims]
    if least is None and len(items) <= most:
        return [list(items) for _ in claims]
    scores: NDArray[np.float32] = embedder.embed(claims) @ embedder.embed(texts).T
    chosen = []
    for row in scores:
        order = (-row).argsort(kind="stable")[:most]
        chosen.append([items[index] for index in order if least is None or row[index] >= least])
    return chosen


def _part(passage: Passage, start: int, end: int) -> Passage:
    """A piece of the passage, with its place in the source when the passage's own is known."""
    offset = passage.span.start if passage.span is not None else None
    span = None if offset is None else Span(start=offset + start, end=offset + end)
    return passage.model_copy(update={"text": passage.text[start:end], "span": span})


def _with_title(title: str | None, text: str) -> str:
    """The text under its title: what a passage is about often stands only there."""
    text, title = clean(folded(text)), clean(folded(title or ""))
    return f"{title}. {text}" if title and title.lower() not in text.lower() else text


def _pieces_of_claim(passage: Passage) -> Iterator[EvidencePiece]:
    """A known claim as a piece: what it states, for every claim; all of it, for claims that are framed as it is."""
    said = clean(folded(passage.text))
    reading = read(said)
    if not reading.regions:
        yield EvidencePiece(passage, said, passage)
        return
    if reading.stated:
        yield EvidencePiece(passage, reading.stated, passage)
    if reading.denied:
        yield EvidencePiece(passage, reading.denied, passage, supports=False, denies=True)
    yield EvidencePiece(passage, said, passage, refutes=False, framed=reading)


def _piece_of_turn(index: int, turn: Turn) -> EvidencePiece:
    """An earlier turn as a piece: third person, as claims are.

    What the assistant said before is no evidence for what it says now; it can only be contradicted.
    """
    said = name_speakers(clean(folded(turn.text)), *names(turn.role))
    whole = Span(start=0, end=len(turn.text))
    passage = Passage(source=SourceKind.HISTORY, source_id=f"turn {index}", text=turn.text, span=whole)
    return EvidencePiece(passage, said, passage, supports=turn.role is Role.USER)
