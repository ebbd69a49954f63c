"""Picks the pieces of evidence for each claim, before verification.

Each sentence comes with its headings (`layout`). Besides the nearest passages, the sentence that shares the rarest words with
the claim is included. A claim that names one row of a table, or one item of a list, is checked against no other.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from vista_guard.judges.embedded.english.speakers import name_speakers, names
from vista_guard.judges.embedded.english.words import content_words
from vista_guard.judges.embedded.forms import clean
from vista_guard.judges.embedded.layout import Above, ParallelItem, in_context, item_of, places, stems
from vista_guard.judges.embedded.mentions.clauses import read
from vista_guard.judges.embedded.mentions.cues import MentionKind, SentenceReading
from vista_guard.judges.embedded.mentions.passage import read_passage
from vista_guard.judges.embedded.quantities import in_one_form
from vista_guard.protocols import Embedder
from vista_guard.reading.canonical import Reading, canonical, folded
from vista_guard.types import EvidenceSet, Passage, Role, SourceKind, Span, Turn

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


COMMON = 200
"""Words in more sentences than this are ignored: their score is below the length penalty."""
_PRICE = 0.01
"""Length penalty per word; the shortest match wins."""

WindowPlace = tuple[int, int]
"""Index of the passage, index of the sentence in it."""


@dataclass(frozen=True)
class WordIndex:
    """Inverted index of words. A query costs the postings of the claim's words, however many documents there are."""

    sentences: Mapping[str, tuple[WindowPlace, ...]]
    lengths: Mapping[WindowPlace, int]

    @classmethod
    def of(cls, passages: Sequence[Sequence[frozenset[str]]]) -> WordIndex:
        """Builds the index from the words of each passage's sentences."""
        postings, lengths = defaultdict[str, list[WindowPlace]](list), dict[WindowPlace, int]()
        for number, sentences in enumerate(passages):
            for index, words in enumerate(sentences):
                lengths[number, index] = len(words)
                for word in words:
                    postings[word].append((number, index))
        return cls({word: tuple(places) for word, places in postings.items()}, lengths)

    def best(self, wanted: frozenset[str]) -> WindowPlace | None:
        """Place of the sentence that shares most with the words; None if none shares a rare enough word."""
        scores = defaultdict[WindowPlace, float](float)
        for word in sorted(wanted):
            places = self.sentences.get(word, ())
            for place in places if len(places) <= COMMON else ():
                scores[place] += 1 / len(places)
        return max(sorted(scores), key=lambda place: scores[place] - _PRICE * self.lengths[place], default=None)


DOCUMENT_PASSAGES = 4
"""Most document passages per claim, the nearest in meaning."""
PAIRED = 2
"""Nearest passages that also give a pair of sentences."""
NEIGHBOURS = 1
"""Sentences on either side of the best sentence of all documents."""
TOGETHER, TOGETHER_WORDS = 3, 40
"""Most sentences, and their most words, that the careful reader reads beside a piece; the nearest has as many as it has."""
KNOWN_CLAIMS = 2
"""Most known claims per claim."""
HISTORY_TURNS = 3
"""Most earlier turns per claim, with context = full."""
KNOWN_COSINE = 0.5
"""Minimum cosine similarity of a known claim or an earlier turn to the claim."""
TOPIC_COSINE = 0.3
"""Minimum cosine similarity of a text to a sentence in code that it speaks of."""
MAX_PAIRS = 2400
"""Most pairs per turn; with very many claims each gets fewer passages."""

T = TypeVar("T")

_WORD = re.compile(r"\w+")
_THAT = re.compile(r"(?<=[a-z]) that (?=(?:the|a|an|it|he|she|they|there|we)\b)")


@dataclass(frozen=True)
class EvidencePiece:
    """A quote to check a claim against. `text` is the verifier's input; `origin` is the quote's passage."""

    quote: Passage
    text: str
    origin: Passage
    supports: bool = True
    refutes: bool = True
    denies: bool = False
    """True if the evidence says that `text` is false: a claim from which it follows is contradicted."""
    framed: SentenceReading | None = None
    """The frame of `text`: it supports only claims with the same frame."""
    cell: str = ""
    """The cell with figures that the claim names by row and column."""
    places: tuple[int, ...] = ()
    """Which sentences of its passage stand in `text` as they are; empty for other pieces."""

    @property
    def is_plain(self) -> bool:
        """True for sentences of a passage as they are, which the nearest sentences may join."""
        return bool(self.places) and not self.cell

    def pair(self, claim: str) -> tuple[str, str]:
        """The verifier's premise and hypothesis. "It is not open on Mondays" denies "It is open all week", not "It is open"."""
        return in_one_form(claim, self.text) if self.denies else in_one_form(self.text, claim)


@dataclass(frozen=True)
class EvidenceSource:
    """A document passage, read: its sentences, their stated parts, and the words of these."""

    passage: Passage
    reading: Reading
    spans: tuple[Span, ...]
    sentences: tuple[SentenceReading, ...]
    words: tuple[frozenset[str], ...]
    items: tuple[ParallelItem | None, ...]
    common: Counter[str]
    contexts: tuple[str, ...]
    """The headings and the lead-in of each sentence, and the question before it, as they are read before it."""

    @classmethod
    def read(
        cls, passage: Passage, above: tuple[MentionKind | None, Above] = (None, Above())
    ) -> tuple[EvidenceSource, tuple[MentionKind | None, Above]]:
        """Reads a passage; also returns the context for the text that follows: last heading's kind, and layout."""
        reading = canonical(passage.text)
        spans, sentences, under = read_passage(reading.text, above[0])
        lines, layout = places(reading.text, above[1])
        sentences = tuple(
            entry if entry.regions else replace(entry, stated=in_context(entry.stated, span, lines))
            for span, entry in zip(spans, sentences, strict=True)
        )
        contexts = [
            _context(one.said, in_context(one.said, span, lines) if one.regions else one.stated)
            for span, one in zip(spans, sentences, strict=True)
        ]
        for index, before in enumerate(sentences[:-1], start=1):
            if before.said.endswith("?") and before.said.rstrip("?") not in contexts[index]:
                contexts[index] += f"{before.said} "
        words = tuple(content_words(sentence.stated) for sentence in sentences)
        common = Counter(word for group in words for word in group)
        items = tuple(item_of(span, lines) for span in spans)
        return cls(passage, reading, spans, sentences, words, items, common, tuple(contexts)), (under, layout)

    @property
    def whole(self) -> EvidencePiece:
        """The whole passage, for claims in languages without rules."""
        return EvidencePiece(self.passage, _with_title(self.passage.title, self.passage.text), self.passage)

    def pieces(self, claim: str, *, pair: bool) -> Iterator[EvidencePiece]:
        """The sentence that shares most with the claim; with `pair`, also together with the one that completes it.

        The verifier was trained on single sentences: on the dev set a sentence out of a passage of 150 tokens is judged as
        well as in the original, the whole passage much worse (support accuracy 0.86 against 0.79), at a third of the cost.
        The `pair` is for claims that two sentences cover together, if a second one has words of the claim that the best
        lacks; it may support, but not refute. Mentions are part of a piece only for claims that mention the same; a
        statement that the sentence calls false is a piece that denies.
        """
        wanted = content_words(claim)
        yield from self._for_claim(claim, wanted)._statements(claim, wanted, pair)
        yield from self._denials(wanted)

    def _statements(self, claim: str, wanted: frozenset[str], pair: bool) -> Iterator[EvidencePiece]:
        stating = [index for index, reading in enumerate(self.sentences) if reading.stated]
        if not stating:
            return
        best = max(stating, key=lambda index: self._overlap(index, wanted))
        item = self.items[best]
        cell = item.cell(stems(claim)) if item else ""
        yield replace(self._piece([best], refutes=True), cell=cell)
        open_words = wanted - self.words[best]
        second = max(stating, key=lambda index: self._overlap(index, open_words))
        if pair and open_words & self.words[second]:
            yield self._piece(sorted([best, second]), refutes=False)

    def window(self, index: int, claim: str) -> EvidencePiece | None:
        """A sentence between its neighbours, which resolve "it" or "this method" and complete it. It may support, but not refute:
        a contradiction is said in one sentence."""
        source = self._for_claim(claim, content_words(claim)) if any(self.items) else self
        around = range(max(0, index - NEIGHBOURS), min(len(self.sentences), index + NEIGHBOURS + 1))
        stating = [number for number in around if source.sentences[number].stated]
        return source._piece(stating, refutes=False) if stating else None

    def _for_claim(self, claim: str, wanted: frozenset[str]) -> EvidenceSource:
        """The source for this claim: mentions with the claim's frame count as stated, and parallel rows and items about
        another are empty."""
        if not any(reading.regions or item for reading, item in zip(self.sentences, self.items, strict=True)):
            return self
        asserted, claim_stems = read(clean(claim)), stems(claim)
        readings = tuple(
            replace(sentence, stated=sentence.said)
            if sentence.regions and _may_support(sentence, asserted, wanted)
            else _as_item(sentence, item, claim, claim_stems)
            for sentence, item in zip(self.sentences, self.items, strict=True)
        )
        words = tuple(
            old if new is sentence else content_words(new.stated)
            for old, new, sentence in zip(self.words, readings, self.sentences, strict=True)
        )
        return replace(self, sentences=readings, words=words)

    def _denials(self, wanted: frozenset[str]) -> Iterator[EvidencePiece]:
        """The nearest sentence that calls something false."""
        denials = [index for index, reading in enumerate(self.sentences) if reading.denied]
        if denials:
            index = max(denials, key=lambda index: _word_score(wanted, self.sentences[index].denied))
            piece = self._make_piece([index], self.sentences[index].denied, refutes=True)
            yield replace(piece, supports=False, denies=True, places=())

    def _piece(self, indices: list[int], *, refutes: bool) -> EvidencePiece:
        return self._make_piece(indices, " ".join(self.sentences[index].stated for index in indices), refutes=refutes)

    def _make_piece(self, indices: list[int], text: str, *, refutes: bool) -> EvidencePiece:
        end = indices[-1]
        if self.sentences[end].said.endswith("?"):  # its answer says whether it holds
            end = min(end + 1, len(self.spans) - 1)
        first, last = self.spans[indices[0]], self.spans[end]
        place = self.reading.span(first.start, last.end)
        quote = _part(self.passage, place.start, place.end)
        told = _with_title(self.passage.title, text)
        return EvidencePiece(quote, told, self.passage, refutes=refutes, places=tuple(indices))

    def _overlap(self, index: int, wanted: frozenset[str]) -> float:
        # Common words count little; a small length penalty lets the shortest match win.
        return sum(1.0 / max(1, self.common[word]) for word in wanted & self.words[index]) - 0.01 * len(
            self.words[index]
        )


class StatedSentence(NamedTuple):
    """A sentence that may speak of a claim."""

    passage: int
    """Its number in `Pool.documents`."""
    place: int
    """Its number in the passage."""
    context: str
    """The headings, lead-ins or cells that it stands below, as they stand before it."""
    said: str

    @property
    def text(self) -> str:
        return f"{self.context}{self.said}"


@dataclass(frozen=True)
class Pool:
    """All evidence for a turn's claims, by kind."""

    documents: tuple[EvidenceSource, ...]
    known: tuple[EvidencePiece, ...]
    history: tuple[EvidencePiece, ...]
    index: WordIndex
    """Index of the documents' sentences."""

    def windows(self, claim: str, beside: Sequence[EvidencePiece]) -> list[EvidencePiece]:
        """The sentence of all documents that shares most with the claim, between its neighbours.

        Args:
            claim: folded.
            beside: pieces read already, which are not repeated.
        """
        place = self.index.best(content_words(claim))
        window = self.documents[place[0]].window(place[1], claim) if place else None
        return [window] if window and all(window.text != piece.text for piece in beside) else []

    def around(
        self, piece: EvidencePiece, near: Sequence[StatedSentence], alike: Sequence[StatedSentence]
    ) -> EvidencePiece:
        """The piece with the text of its own sentences that are `alike`, and of those `near`; titles and headings stand once.

        Its quote is the first of these that is `alike`, which has most of the claim's words.
        """
        own = [
            one for one in alike if self.documents[one.passage].passage is piece.origin and one.place in piece.places
        ]
        told, last, below = "", None, ""
        for one in sorted({one.text: one for one in (*near, *own)}.values()):
            title = self.documents[one.passage].passage.title
            text = f"{_new_part(one.context, below)}{one.said}"
            told, last = f"{told} {_with_title(title if title != last else None, text)}".strip(), title
            below = one.context
        best = next((one for one in alike if one in own or one in near), near[0])
        # An answer is quoted with its question.
        places = [best.place - 1, best.place] if best.context.endswith("? ") else [best.place]
        quoted = self.documents[best.passage]._piece(places, refutes=piece.refutes)
        return replace(quoted, text=told, supports=piece.supports)


def pool(evidence: EvidenceSet) -> Pool:
    """The evidence, read once for all claims."""
    documents = tuple(_read(evidence.documents))
    known = tuple(piece for fact in evidence.knowledge if fact.text.strip() for piece in _pieces_of_claim(fact))
    history = tuple(_piece_of_turn(index, turn) for index, turn in enumerate(evidence.history) if turn.text.strip())
    return Pool(documents, known, history, WordIndex.of([source.words for source in documents]))


def _read(passages: Sequence[Passage]) -> Iterator[EvidenceSource]:
    """Reads each passage under its own headings, else under the document's last heading before it."""
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
    """The pieces for each claim, in the order of `claims`; claims in `whole` get whole passages."""
    most = max(1, min(DOCUMENT_PASSAGES, MAX_PAIRS // (2 * len(claims)))) if claims else 1
    passages = [folded(document.passage.text) for document in pool.documents]
    documents = _nearest(claims, pool.documents, passages, embedder, most, least=None)
    known = _nearest(claims, pool.known, [fact.text for fact in pool.known], embedder, KNOWN_CLAIMS, least=KNOWN_COSINE)
    turn_texts = [turn.text for turn in pool.history]
    history = _nearest(claims, pool.history, turn_texts, embedder, HISTORY_TURNS, least=KNOWN_COSINE)
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


def with_nearest(
    claims: Sequence[str],
    decisive: Sequence[Sequence[EvidencePiece]],
    weighed: Sequence[Sequence[EvidencePiece]],
    pool: Pool,
    embedder: Embedder,
) -> list[list[EvidencePiece]]:
    """The decisive pieces as the careful reader reads them: with the sentences nearest in meaning to the claim, in their order.

    A piece shares words with its claim; what decides a claim in other words often stands in two places. The sentences are as they
    are said: an answer needs its question, a rule its condition. Denials, cells, known claims and earlier turns stay as they are.

    Args:
        claims: folded.
        decisive: the pieces of each claim that are read again.
        weighed: all of its pieces: the sentences are those of their passages.
        pool: the turn's evidence.
        embedder: of claims and sentences.
    """
    stated = [
        list(_stated(claim, among, pool)) if any(piece.is_plain for piece in pieces) else []
        for claim, pieces, among in zip(claims, decisive, weighed, strict=True)
    ]
    asked = [claim for claim, found in zip(claims, stated, strict=True) if found]
    texts = list(dict.fromkeys([*asked, *(place.text for found in stated for place in found)]))
    vectors = dict(zip(texts, embedder.embed(texts), strict=True)) if texts else {}
    chosen = []
    for claim, pieces, found in zip(claims, decisive, stated, strict=True):
        # Rounded: the last digits may depend on the batch, and the order must not.
        ranked = sorted(found, key=lambda place: -round(float(vectors[claim] @ vectors[place.text]), 4))
        near, words = list(_together(ranked)), content_words(claim)
        shared = [(len(content_words(place.text) & words), place) for place in found]
        alike = [place for count, place in sorted(shared, key=lambda pair: -pair[0]) if count]
        chosen.append([pool.around(piece, near, alike) if near and piece.is_plain else piece for piece in pieces])
    return chosen


def _together(ranked: Sequence[StatedSentence]) -> Iterator[StatedSentence]:
    """The first sentences that are read together. Neighbouring passages overlap: what stands in both is read once."""
    first = dict[str, StatedSentence]()
    for one in ranked:
        first.setdefault(one.text, one)
    words = 0
    for one in list(first.values())[:TOGETHER]:
        words += len(one.said.split())
        if words > TOGETHER_WORDS and one is not ranked[0]:
            return
        yield one


def _stated(claim: str, among: Sequence[EvidencePiece], pool: Pool) -> Iterator[StatedSentence]:
    """The sentences that may speak of the claim, in the passages of these pieces: questions, mentions and conditions too."""
    for number, source in enumerate(pool.documents):
        if not any(piece.origin is source.passage for piece in among):
            continue
        fitting = source._for_claim(claim, content_words(claim)).sentences
        above = " ".join(source.contexts)
        for index, (one, at_all) in enumerate(zip(fitting, source.sentences, strict=True)):
            if at_all.stated and not one.stated:  # a row or an item about another
                continue
            # A heading or a question is read before what it is about.
            if not one.stated and one.said.rstrip(" .:?") in above:
                continue
            context = source.contexts[index]
            said = one.said if one.regions or one.stated.endswith(one.said) else one.stated
            if said:
                yield StatedSentence(number, index, context if said == one.said else "", said)


def _context(said: str, told: str) -> str:
    return told.removesuffix(said) if said and told.endswith(said) else ""


def _new_part(context: str, before: str) -> str:
    """The context without the headings that it begins with and shares with the one before: "Fees: " below "Library: Loans: "."""
    parts, others = context.split(": "), before.split(": ")
    while len(parts) > 1 and others and parts[0] == others[0]:
        parts, others = parts[1:], others[1:]
    return ": ".join(parts)


def _may_support(reading: SentenceReading, asserted: SentenceReading, wanted: frozenset[str]) -> bool:
    """True if a sentence with mentions may support the claim: it has the same frame, or states the consequence of a
    condition ("If you file late, you pay a fee") rather than the condition."""
    if reading.framed_like(asserted):
        return True
    condition = content_words(reading.said) - content_words(reading.stated)
    return reading.is_rule and len(wanted & content_words(reading.stated) - condition) > 1


def _as_item(
    reading: SentenceReading, item: ParallelItem | None, claim: str, claim_stems: frozenset[str]
) -> SentenceReading:
    """The sentence as it applies to the claim, if it is a parallel row or item."""
    stated = reading.stated if item is None or reading.regions else item.stated(reading.stated, claim, claim_stems)
    return reading if stated == reading.stated else replace(reading, stated=stated)


def _word_score(wanted: frozenset[str], text: str) -> float:
    """Number of the words in a text, minus a small length penalty."""
    words = content_words(text)
    return len(wanted & words) - 0.01 * len(words)


def same_statement(first: str, second: str) -> bool:
    """True if two claims have the same words, apart from case, punctuation and the "that" of "says that"."""
    first_words, second_words = (_WORD.findall(_THAT.sub(" ", text.lower())) for text in (first, second))
    return bool(first_words) and first_words == second_words


def _nearest(
    claims: Sequence[str], items: Sequence[T], texts: Sequence[str], embedder: Embedder, most: int, least: float | None
) -> list[list[T]]:
    """The items nearest in meaning for each claim. Without a `least` cosine, all if there are at most `most`."""
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
    """A part of the passage, with its span in the source if the passage has one."""
    offset = passage.span.start if passage.span is not None else None
    span = None if offset is None else Span(start=offset + start, end=offset + end)
    return passage.model_copy(update={"text": passage.text[start:end], "span": span})


def _with_title(title: str | None, text: str) -> str:
    """The text under its title, which often alone names the topic."""
    text, title = clean(folded(text)), clean(folded(title or ""))
    return f"{title}. {text}" if title and title.lower() not in text.lower() else text


def _pieces_of_claim(passage: Passage) -> Iterator[EvidencePiece]:
    """A known claim as pieces: its stated part for every claim, all of it for claims with the same frame."""
    text = clean(folded(passage.text))
    reading = read(text)
    if not reading.regions:
        yield EvidencePiece(passage, text, passage)
        return
    if reading.stated:
        yield EvidencePiece(passage, reading.stated, passage)
    if reading.denied:
        yield EvidencePiece(passage, reading.denied, passage, supports=False, denies=True)
    yield EvidencePiece(passage, text, passage, refutes=False, framed=reading)


def _piece_of_turn(index: int, turn: Turn) -> EvidencePiece:
    """An earlier turn as a piece, in the third person like claims.

    The assistant's earlier turns are no evidence for its claims; they can only contradict them.
    """
    text = name_speakers(clean(folded(turn.text)), *names(turn.role))
    whole = Span(start=0, end=len(turn.text))
    passage = Passage(source=SourceKind.HISTORY, source_id=f"turn {index}", text=turn.text, span=whole)
    return EvidencePiece(passage, text, passage, supports=turn.role is Role.USER)
