"""Sentences with exact offsets (sentencex), and passages of documents with exact spans. Pure, no model."""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice, zip_longest
from math import log

import sentencex

from vista_guard.errors import ConfigError
from vista_guard.reading.markdown import read_lines, title
from vista_guard.types import Document, Evidence, Nearest, Passage, SourceKind, Span

# From the best place to cut to the worst. A title or an initial ("Dr. Ito", "J. Ito") ends no sentence.
_CUTS = (
    re.compile(r"\n[^\S\n]*\n\s*"),
    re.compile(
        r"""(?<!\b[A-Z])(?<!\b(?:Dr|Mr|Ms|St|vs))(?<!\b(?:Mrs|Inc))[.!?…]["')\]”’»]{0,3}\s+|[。！？｡]["”’』」）]{0,3}"""
    ),
    re.compile(r"\n"),
    re.compile(r"\s+"),
)

# Scripts written without spaces are compared character by character.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_WORD = re.compile(rf"[^\W_{UNSPACED}]+")
UNSPACED_CHARACTER = re.compile(f"[{UNSPACED}]")
_NON_SPACE = re.compile(r"\S")
_SENTENCE_END = re.compile(r"(?<=[.!?…])\s+|(?<=[。！？｡])|\n+")

_STEM = 6
"""Letters of a word that count, so that "published" meets "publishes": a stemmer for any alphabet, without a dictionary."""


_LONGEST_HEADING = 160
_NEAR = 0.2
"""Least share of a claim's words, by weight, for a quote to come near it."""
_LONGEST_QUOTE = 500


def passages(
    document: Document, *, max_chars: int = 700, overlap: int = 120, reads: Callable[[str], int] | None = None
) -> tuple[Passage, ...]:
    """Cuts a document into passages of at most `max_chars` characters; neighbours overlap by up to `overlap`.

    With `reads`, which tells how many characters of a text an embedder reads, no passage is longer than that.

    `text == document.text[span.start:span.end]` for each; every character but white space lies in at least one. Cuts
    fall between paragraphs, else sentences, else lines, else words. A blank document has none.

    Raises:
        ConfigError: `overlap` is negative or more than half of `max_chars`.
    """
    if max_chars < 1 or not 0 <= overlap * 2 <= max_chars:
        raise ConfigError(
            f"passages of {max_chars} characters cannot overlap by {overlap}; give 0 <= overlap <= max_chars / 2"
        )
    return tuple(
        Passage(
            source=SourceKind.DOCUMENT,
            source_id=document.id,
            text=document.text[start:end],
            title=document.title,
            url=document.url,
            span=Span(start=start, end=end),
        )
        for start, end in _spans(document.text, max_chars, overlap, reads)
    )


def nearest_passages(query: str, passages: Sequence[Passage], limit: int) -> tuple[Passage, ...]:
    """Returns at most `limit` passages, in the order given: those that share most words with each sentence of `query`.

    Rare words weigh more. Each sentence ranks on its own, or the longest would take every place. Places that no word
    fills (another language, say) go to the first passages. A cheap filter before an encoder.
    """
    if len(passages) <= limit:
        return tuple(passages)
    sentences = [_words(sentence) for sentence in _SENTENCE_END.split(query)]
    vocabulary = frozenset().union(*sentences)
    shared_words = [_words(passage.text) & vocabulary for passage in passages]
    counts = Counter(word for words in shared_words for word in words)
    weights = {word: log(1 + len(passages) / count) for word, count in counts.items()}
    rankings = [_ranking(sentence, shared_words, weights) for sentence in sentences if sentence & weights.keys()]
    chosen = islice(dict.fromkeys(chain(_interleave(rankings), range(len(passages)))), limit)
    return tuple(passages[index] for index in sorted(chosen))


def headings_over(text: str, places: Sequence[int]) -> list[tuple[str, ...]]:
    """Headings above each place (in rising order): the outermost first, each with its marks.

    >>> headings_over("# Fees\\n\\n## Children\\n\\nEntry costs 5 euros.", [0, 21])
    [(), ('# Fees', '## Children')]
    """
    headings: list[tuple[str, ...]] = []
    path: list[tuple[int, str]] = []
    lines = read_lines(text) if "#" in text else ()
    following = deque((line, words) for line in lines if (words := title(text, line)))
    for place in places:
        while following and following[0][0].start < place:
            line, words = following.popleft()
            path = [heading for heading in path if heading[0] < line.level]
            path.append((line.level, f"{'#' * line.level} {words[:_LONGEST_HEADING]}"))
        headings.append(tuple(heading for _, heading in path))
    return headings


def headings_at(passage: Passage, place: int) -> tuple[str, ...]:
    """Headings above a character of the document: those of the passage and those within it."""
    if passage.span is None or not passage.span.start <= place < passage.span.end:
        return passage.headings
    above = "".join(f"{heading}\n" for heading in passage.headings)
    (headings,) = headings_over(above + passage.text, [len(above) + place - passage.span.start])
    return headings


def quote_of(passage: Passage, score: float, part: Span | None = None) -> Evidence:
    """The passage as evidence, or a part of its text; `score` says how far it decides."""
    quote, span = passage.text, passage.span
    if part is not None:
        start = span.start if span else 0
        quote, span = quote[part.start : part.end], Span(start=start + part.start, end=start + part.end)
    source, name = passage.source, passage.source_id
    return Evidence(source=source, source_id=name, quote=quote, title=passage.title, span=span, score=score)


def nearest_quote(claim: str, passages: Sequence[Passage]) -> Nearest | None:
    """The sentence that shares most words with the claim, rare ones weighing more; None where none shares a telling word.

    A word of most sentences weighs almost nothing, so that sharing only "the" is no match.
    """
    claim_words = _words(claim)
    sentences = [
        (passage, span, words & claim_words) for passage in passages for span, words in _sentences(passage.text)
    ]
    counts = Counter(word for _, _, words in sentences for word in words)
    weights = {word: log(1 + len(sentences) / (1 + counts[word])) for word in claim_words}
    whole = sum(weights.values())
    share = [sum(weights[word] for word in words) / whole for _, _, words in sentences] if whole else []
    best = max(range(len(share)), key=share.__getitem__, default=None)
    if best is None or share[best] < _NEAR:
        return None
    passage, span, _ = sentences[best]
    start = passage.span.start if passage.span else 0
    return Nearest(
        source=passage.source,
        source_id=passage.source_id,
        quote=passage.text[span.start : span.end][:_LONGEST_QUOTE],
        title=passage.title,
        span=Span(start=start + span.start, end=start + min(span.end, span.start + _LONGEST_QUOTE)),
        headings=headings_at(passage, start + span.start),
        found=passage.found,
        overlap=round(min(share[best], 1.0), 4),
    )


@lru_cache(maxsize=512)  # every claim of a turn is compared with the same evidence
def _sentences(text: str) -> tuple[tuple[Span, frozenset[str]], ...]:
    """The sentences of a text, with their words."""
    ends = [*((end.start(), end.end()) for end in _SENTENCE_END.finditer(text)), (len(text), len(text))]
    starts = [0, *(following for _, following in ends)]
    spans = [(start, end) for start, (end, _) in zip(starts, ends, strict=False) if text[start:end].strip()]
    return tuple((Span(start=start, end=end), _words(text[start:end])) for start, end in spans)


def _ranking(
    sentence: frozenset[str], shared_words: Sequence[frozenset[str]], weights: Mapping[str, float]
) -> list[int]:
    """Ranks the passages that share a word with the sentence, nearest first."""
    scores = {index: sum(weights[word] for word in words & sentence) for index, words in enumerate(shared_words)}
    return sorted((index for index, score in scores.items() if score), key=scores.__getitem__, reverse=True)


def _interleave(rankings: Sequence[Sequence[int]]) -> Iterator[int]:
    """Interleaves the rankings: the best of each, then the second best of each."""
    for place in zip_longest(*rankings):
        yield from (index for index in place if index is not None)


def _words(text: str) -> frozenset[str]:
    text = text.casefold()
    words = (word[:_STEM] for word in _WORD.findall(text))
    return frozenset(chain(words, UNSPACED_CHARACTER.findall("".join(set(text)))))


@lru_cache(maxsize=16)
def _spans(text: str, max_chars: int, overlap: int, reads: Callable[[str], int] | None) -> tuple[tuple[int, int], ...]:
    spans: list[tuple[int, int]] = []
    fresh, last = _skip_space(text, 0), len(text.rstrip())  # `fresh`: the first character no passage holds yet
    start = fresh
    while fresh < last:
        latest = _latest(text, start, max_chars, reads)
        if reads is not None and latest < last and latest - fresh < (latest - start) // 2:  # the overlap is most of it
            start = fresh
            latest = _latest(text, start, max_chars, reads)
        cut = last if latest >= last else _cut(text, max(start + (latest - start) // 2, fresh), latest)
        spans.append((start, start + len(text[start:cut].rstrip())))
        fresh = _skip_space(text, cut)
        start = _skip_space(text, _restart(text, cut, overlap))
        if fresh >= start + max_chars:  # so much white space that there is nothing to share
            start = fresh
    return tuple(spans)


def _latest(text: str, start: int, max_chars: int, reads: Callable[[str], int] | None) -> int:
    """The last place where a passage that starts at `start` may end."""
    latest = start + max_chars
    # The end of half a word may be more tokens than it was inside of the whole.
    while reads is not None and (length := max(1, reads(text[start:latest]))) < len(text[start:latest]):
        latest = start + length
    return latest


def _cut(text: str, earliest: int, latest: int) -> int:
    """Chooses the end of a passage within (earliest, latest]: the last place of the best kind, else `latest`."""
    for kind in _CUTS:
        ends = [match.end() for match in kind.finditer(text, earliest, latest)]
        if ends:
            return ends[-1]
    return latest


def _restart(text: str, cut: int, overlap: int) -> int:
    """Finds the start of the next passage: the best kind of place at most `overlap` characters before `cut`."""
    inside_word = True
    for kind in _CUTS:
        match = kind.search(text, cut - overlap, cut)
        if match is not None and match.end() < cut:
            return match.end()
        inside_word = inside_word and match is None
    return cut - overlap if inside_word else cut


def _skip_space(text: str, start: int) -> int:
    match = _NON_SPACE.search(text, start)
    return match.start() if match else len(text)


_LINE = re.compile(r"[^\n]+")
_SURROGATES = re.compile("[\ud800-\udfff]")
_ODD_SPACE = re.compile(r"[^\S \t\n]")
"""Characters that the splitter cannot take, such as U+0085: each is replaced by one other, so that offsets stay."""


def sentence_spans(text: str) -> list[Span]:
    """Returns the spans of the sentences, without surrounding white space. A line break always ends one."""
    spans: list[Span] = []
    for line in _LINE.finditer(_ODD_SPACE.sub(" ", _SURROGATES.sub("\ufffd", text))):
        for first, last in _boundaries(line.group()):
            start, end = line.start() + first, line.start() + last
            raw = text[start:end]
            if raw.strip():
                spans.append(Span(start=start + len(raw) - len(raw.lstrip()), end=start + len(raw.rstrip())))
    return spans


_CLOCK_END = re.compile(r"\b[ap]\.m\.\s*$", re.IGNORECASE)
_ZONE = re.compile(r"\s*(?:[A-Z]{1,4}T|UTC|(?:[A-Z][a-z]+ ){1,3}[Tt]ime)\b")
"""A time zone behind "9 a.m.", which ends no sentence there."""

_ORDINAL = re.compile(r"(?<![\w.,])\d{1,2}\.\s*$")
_COUNTED = frozenset(
    _WORD.findall(
        """Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember Jan Feb Apr Jun Jul
        Aug Sep Sept Okt Nov Dez Jahrhundert Jahrhunderts Jahrtausend Jahrtausends Weltkrieg Weltkriegs Stock Etage
        Auflage Klasse Platz Jahrestag"""
    )
)
"""German nouns before which "3." is the third."""
_POINT = re.compile(r"\d[.\uff0e]\d")
_ABOUT_FIGURE = re.compile(
    r"(?<!\d )(?<![\w.-])(?:approx|approximately|ca|circa|est|max|min|avg|nos)\.\s*$", re.IGNORECASE
)
_FIGURE_AHEAD = re.compile(r"\s*[-+±~≈<>£$€¥]{0,2}\s?\d")
_SIGNS_AHEAD = re.compile(r"\s*[-+±~≈<>£$€¥]{0,2}\s*\Z")
_NEXT_WORD = re.compile(r"\s*(\w+)")
_EMPHASISED = re.compile(r"(?<![\w*_])[*_]{1,3}(?P<word>[^\W\d_]{1,10}\.)\s*$")
_WORDS_AHEAD = 40
_DAY_OR_TAX = re.compile(r"(?<![\w.-])(?:Mon|Tues?|Wed|Thu(?:rs?)?|Fri|Sat|Sun|[Ii]ncl|[Ee]xcl)\.\s*$")
_AND_ON = re.compile(r"\s*(?:[a-z\d&/–-]|VAT\b|GST\b)")
_MAY_GO_ON = re.compile(r"\s*(?:V|VA|G|GS)?\Z")


def belongs_to_number(text: str, end: int, *, so_far: bool = False) -> bool:
    """True if the full stop before `end` is that of a German ordinal ("am 3. Oktober"), of a number in full-width digits or of an
    abbreviation in the middle of a sentence ("approx. 100", "Mon. to Fri.", "incl. VAT", "**Dr. Vale**").

    Args:
        text: the sentence and what follows.
        end: place behind the stop.
        so_far: more text may come: a word at the text's end counts where it may become such a noun.
    """
    if _POINT.match(text, max(0, end - 2)):
        return True
    if emphasised := _EMPHASISED.search(text[max(0, end - 16) : end]):  # the splitter knows no "**Dr. Vale**"
        ahead = f"{emphasised['word']}{text[end : end + _WORDS_AHEAD]}"
        if len(sentencex.get_sentence_boundaries("en", ahead)[0]["text"].rstrip()) > len(emphasised["word"]):
            return True
    if _ABOUT_FIGURE.search(text[max(0, end - 16) : end]):
        return _FIGURE_AHEAD.match(text, end) is not None or (so_far and _SIGNS_AHEAD.match(text, end) is not None)
    if _DAY_OR_TAX.search(text[max(0, end - 16) : end]):
        return _AND_ON.match(text, end) is not None or (so_far and _MAY_GO_ON.match(text, end) is not None)
    word = _NEXT_WORD.match(text, end)
    if word is None or not _ORDINAL.search(text[max(0, end - 5) : end]):
        return False
    next_word = word[1]
    return next_word in _COUNTED or (
        so_far and word.end() == len(text) and any(noun.startswith(next_word) for noun in _COUNTED)
    )


def _boundaries(line: str) -> list[tuple[int, int]]:
    """Returns the sentences' bounds in a line; the whole line if the splitter fails."""
    try:
        boundaries = [
            (boundary["start_index"], boundary["end_index"])
            for boundary in sentencex.get_sentence_boundaries("en", line)
        ]
    except BaseException as exc:
        # A panic inside the Rust library is no `Exception`: it would end the thread, and with it the turn, unjudged.
        if type(exc).__name__ != "PanicException":
            raise
        return [(0, len(line))]
    bounds = list[tuple[int, int]]()
    for start, end in chain.from_iterable(_split_at_units(line, *bound) for bound in boundaries):
        for marks in (_EMPHASIS_END, _NOTES) if bounds else ():
            if behind := marks.match(line, start, end):  # belongs to the sentence before
                start = behind.end()
                bounds[-1] = (bounds[-1][0], start)
        if not line[start:end].strip():
            continue
        zone = bounds and _ZONE.match(line, start) and _CLOCK_END.search(line[max(0, start - 8) : start])
        goes_on = zone or (bounds and belongs_to_number(line, len(line[:start].rstrip())))
        bounds.append((bounds.pop()[0] if goes_on else start, end))
    return bounds


_NOTES = re.compile(
    r"(?:\s*(?:\[\^[\w-]{1,40}\](?!:)|【\d{1,3}(?::\d{1,3})?†[\w.-]{0,60}】|[¹²³⁰⁴-⁹]+(?=\s|\Z)))+(?:\s+|\Z)"
)
"""Marks of footnotes and citations behind a full stop."""
_EMPHASIS_END = re.compile(r"(?<=\S)[*_~]{1,3}(?:\s+|\Z)")
_UNIT_END = re.compile(
    r"(?<![\w.,])\d[\d.,]*[^\S\n][gmlhstAVWJNKCF]\.(?=\s+(?:The|This|That|These|Those|It|Its|They|Their|We|Our|You|Your|He|She"
    r"|An?|In|On|At|For|With|To|If|When|There|Each|Every|And|But|So|Also|Please)\b)"
)
"""A unit of one letter, which is no initial where a sentence's first word follows."""


def _split_at_units(line: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    for unit in _UNIT_END.finditer(line, start, end):
        if line[unit.end() : end].strip():
            yield start, unit.end()
            start = unit.end()
    yield start, end
