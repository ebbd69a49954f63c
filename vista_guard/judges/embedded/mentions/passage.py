"""Reads a passage line by line: each sentence stated, mentioned or denied, by its words, title, heading, label and neighbours."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from vista_guard.judges.embedded.english.segment import unwrap
from vista_guard.judges.embedded.english.words import word_set
from vista_guard.judges.embedded.forms import clean
from vista_guard.judges.embedded.layout import BOLD
from vista_guard.judges.embedded.mentions.clauses import (
    agrees,
    answer,
    declines,
    is_open,
    question,
    read,
    statement_of_question,
)
from vista_guard.judges.embedded.mentions.cues import (
    AUTHORITIES,
    DENYING,
    LABELS,
    LEFT_OVER,
    LONE_LABELS,
    SAYING,
    STATING_LABELS,
    THINKING,
    MentionKind,
    Region,
    SentenceReading,
    is_closed,
    speaks_of_neighbour,
)
from vista_guard.reading.canonical import canonical, folded
from vista_guard.reading.markdown import LETTERED, Line, read_line, read_lines, title
from vista_guard.reading.passages import sentence_spans
from vista_guard.types import Claim, Span

_I = re.IGNORECASE
_LABEL = re.compile(
    r"^[\W_]*(?P<label>[A-Za-z][\w', ]{0,30}?(?:[\s,#]*\d+)?(?:\s*\([^)]{0,30}\))?)\s*(?::|\s[–—-])\s+(?=\S)"
)
_LEADS = re.compile(
    r"\b(?:which|what|who) of (?:these|the following|them)\b|\b(?:true or false|fact or fiction|multiple choice|guess which)\b"
    r"|\b(?:rejected|common) (?:\w+ )?(?:statements?|answers?|claims?|beliefs?|ideas?|notions?|facts?|sentences?|options?)\b"
    r"|\b(?:some|many|people|rivals?|critics?|visitors?|they) (?:\w+ )?(?:say|claim|believe|think|said"
    r"|claimed|believed|thought|ask|asked|wonder)\b"
    r"|\b(?:imagine|suppose|assume|hypothetical|what if|proposals?|plans? to|rumou?rs?|myths?|misconceptions?)\b",
    _I,
)
_ASKS_IF_TRUE = re.compile(
    r"\W*(?:true or false|right or wrong|yes or no|is (?:this|that) (?:true|so|right|correct))\?", _I
)
_OF_TRUTH = re.compile(r"\b(?:true|correct|right|so|case|statements?|claims?|sentences?|following|th[ei]se?)\b", _I)
"""Words that a denying heading needs: "Not true", but not "Deleted items"."""
_AHEAD = re.compile(r"\b(?:following|follows|next|below)\b", _I)
_ALL = re.compile(r"\b(?:none|all|everything|nothing|any|both|these|those|neither|statements|claims)\b", _I)
_MOST_BACK = 20
"""How many sentences back "none of this is true" reaches."""
_REAL = re.compile(
    r"^\W*(?:in (?:reality|fact|truth|real life)|actually|really|the truth is|to return to the facts)\b", _I
)
_STORY = r"\b(?:novel|film|movie|story|plot|legend|fairy tale|fiction)\b"
_ASKING = word_set("quiz question q trivia")
_TELLING = word_set("fiction fictional imaginary fantasy novel story tale legend legends satire parody spoof")
_SMALL = word_set("the a an and or of about on our its their no nr s")
_NUMBERED = re.compile(r"\W*(?:a|answer)?\s*\d*[.:)]*", _I)
_LAID_TO_REST = re.compile(
    r"\b(?:is|are|was|were|has been|have been) (?:now |finally )?(?:dead|over|settled|busted|debunked"
    r"|refuted|put to rest|answered)\b",
    _I,
)
_SOMEONE_SAID = re.compile(
    r"^\W*(?:or |at least |well,? |but )*(?:(?:so |(?:that|this)(?:'s| is| was) (?:what|how"
    rf"|all) )(?P<who>[^.!?]{{0,60}}?)\b(?:{SAYING.pattern}|{THINKING.pattern}|goes|has it)|says who"
    rf"|source\?)\b[^.!?]{{0,30}}[.!?]?$",
    _I,
)
_WRONG_VALUE = re.compile(
    r"^[^.!?:]{0,80}\b(?:wrong|false|incorrect|inaccurate|mistaken|erroneous|outdated) (?:\w+ )?(?:figure|number|price|date"
    r"|value|detail|information|answer|statement|version|wording|text|line|entry)s?\s*:\s+(?=\S)",
    _I,
)
"""Beginnings that deny the rest: "The old page has the wrong price: ..."."""
_CONTENT = re.compile(r"\w+")


@dataclass(frozen=True)
class PassageLine:
    """A sentence of a passage, without markup, and its layout."""

    said: str
    heading: bool = False
    item: bool = False
    opens: bool = False
    """True if it begins a line."""


def readings(
    lines: Sequence[PassageLine], above: MentionKind | None = None
) -> tuple[list[SentenceReading], MentionKind | None]:
    """One reading per line, and the kind of the last heading, for the text that follows.

    Args:
        lines: of the passage, in order.
        above: kind of the last heading before the passage.
    """
    line_readings, under = _read_lines(lines, above)
    line_readings = _apply_leads(lines, line_readings)
    for index in range(len(lines)):
        _join_answer(lines, line_readings, index)
        someone = _SOMEONE_SAID.match(lines[index].said) if index else None
        if someone and not AUTHORITIES.search(someone["who"] or ""):
            reported = _with_kind(line_readings[index - 1], MentionKind.REPORTED, "")
            line_readings[index - 1] = replace(reported, doubted=reported.doubted or lines[index - 1].said)
        for denied in _denied_by(lines, index):
            line_readings[denied] = _with_kind(line_readings[denied], MentionKind.DENIED, lines[denied].said)
    return line_readings, under


def _denied_by(lines: Sequence[PassageLine], index: int) -> Sequence[int]:
    """Indices of the sentences that this one denies: the one before or behind it, or all back to the heading."""
    text = lines[index].said
    title = re.fullmatch(r"\W*\w+s\W*", text)  # "Errors." names a topic.
    if lines[index].heading or title or not (speaks_of_neighbour(text) or _ASKS_IF_TRUE.match(text)):
        return ()
    if _AHEAD.search(text):
        return [index + 1] if index + 1 < len(lines) else ()
    first = index
    while 0 < first > index - _MOST_BACK and not lines[first - 1].heading and (first == index or _ALL.search(text)):
        first -= 1
    return range(first, index)


def kind_of(label: str) -> MentionKind | None:
    """How a heading, title or label frames its text; None if the text is stated."""
    words = _words(label)
    if _OF_TRUTH.search(label) and speaks_of_neighbour(label.rstrip(":?")):
        return MentionKind.DENIED
    if words & STATING_LABELS and not words & LABELS:
        return None
    if _LAID_TO_REST.search(label):
        return None
    marks = words & LABELS or (words & LONE_LABELS if len(words) <= 1 else frozenset())
    leads = _LEADS.search(label) is not None or (
        label.endswith((":", "?")) and re.search(_STORY, label, _I) is not None
    )
    if not marks and not leads:
        return None
    if any(map(DENYING.fullmatch, marks)):
        return MentionKind.DENIED
    if marks & _ASKING:
        return MentionKind.ASKED
    return MentionKind.FICTION if marks & _TELLING or re.search(_STORY, label, _I) else MentionKind.REPORTED


def _read_lines(
    lines: Sequence[PassageLine], under: MentionKind | None
) -> tuple[list[SentenceReading], MentionKind | None]:
    lines_read = []
    for line in lines:
        if line.heading:
            under = kind_of(line.said)
            lines_read.append(SentenceReading(line.said, ""))
            continue
        if wrong := _WRONG_VALUE.match(line.said):
            lines_read.append(_with_kind(read(line.said), MentionKind.DENIED, line.said[wrong.end() :]))
            continue
        label = _LABEL.match(line.said)
        words = _words(label["label"]) if label else frozenset()
        kind = kind_of(label["label"]) if label else None
        if kind is None and not words & STATING_LABELS and not _REAL.match(line.said):
            kind, label = under, None
        text = line.said[label.end() :] if label else line.said
        reading = read(line.said)
        lines_read.append(_with_kind(reading, kind, text) if kind else reading)
    return lines_read, under


def _apply_leads(lines: Sequence[PassageLine], line_readings: list[SentenceReading]) -> list[SentenceReading]:
    """Applies the frame of "Common myths:" or "Which of these are wrong?" to the items below."""
    lead: MentionKind | None = None
    listed = False  # only items count below a question, which may precede any paragraph
    for index, line in enumerate(lines):
        if line.said.endswith((":", "?")) and (line.opens or line.heading):
            lead, listed = kind_of(line.said), line.said.endswith("?")
        elif lead and (line.item or (not listed and not line.heading)):
            line_readings[index] = _with_kind(line_readings[index], lead, line.said)
            lead, listed = (lead, True) if line.item else (None, False)
        elif line.opens:
            lead = None
    return line_readings


def _join_answer(lines: Sequence[PassageLine], line_readings: list[SentenceReading], index: int) -> None:
    """Joins a question and its answer into a statement or a denial; a question alone is neither."""
    asked, after = question(lines[index].said), index + 1
    while after < len(lines) and _NUMBERED.fullmatch(lines[after].said):
        after += 1
    if not asked or after == len(lines):
        return
    reply, yes_or_no = lines[after].said, statement_of_question(asked)
    if yes_or_no and agrees(reply):
        line_readings[index] = SentenceReading(lines[index].said, sentence(yes_or_no))
    elif yes_or_no and declines(reply):
        line_readings[index] = _with_kind(line_readings[index], MentionKind.DENIED, yes_or_no)
    elif is_open(asked) and line_readings[after].stated and not question(reply):
        stated = read(answer(reply)).stated
        line_readings[after] = (
            replace(line_readings[after], stated=f"{asked}? {stated}") if stated else line_readings[after]
        )


def sentence(text: str) -> str:
    """The text with a capital and a full stop."""
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _with_kind(reading: SentenceReading, kind: MentionKind, denied: str) -> SentenceReading:
    whole = Region(0, len(reading.said), kind, denies=kind is MentionKind.DENIED)
    inner = reading.denied or (denied if whole.denies else "")
    return replace(reading, stated="", regions=(*reading.regions, whole), denied=inner)


def _words(label: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+", label.lower())) - _SMALL


_WIKI_HEADING = re.compile(r"\s*(?:<h[1-6]\b|=+ [^=]+ =+\s*$)")


@lru_cache(maxsize=1024)
def read_passage(
    text: str, above: MentionKind | None
) -> tuple[tuple[Span, ...], tuple[SentenceReading, ...], MentionKind | None]:
    """Spans and readings of a `canonical` text's sentences, and the kind of the last heading, for the text that follows."""
    spans, lines = _sentences(text)
    line_readings, under = readings(lines, above)
    return spans, tuple(line_readings), under


def _sentences(text: str) -> tuple[tuple[Span, ...], list[PassageLine]]:
    spans = tuple(sentence_spans(unwrap(text))) or (Span(start=0, end=len(text)),)
    lines = read_lines(text, part=True)
    starts = [line.start for line in lines]
    return spans, [_line(text, span, lines[bisect_right(starts, span.start) - 1]) for span in spans]


def _line(text: str, span: Span, line: Line) -> PassageLine:
    whole = text[line.start : line.end]
    item = line.item or LETTERED.match(whole) is not None
    heading = bool(title(text, line) or _WIKI_HEADING.match(whole) or BOLD.match(whole))
    said = text[max(span.start, line.body) : span.end]
    if not said[:1].isalpha():  # "It has: 1) a hall" may end a sentence before the number
        said = said[read_line(said).body :]
    return PassageLine(clean(said), heading, item, opens=span.start <= line.body)


_COVERED = 0.8
"""Minimum share of content words that a claim shares with a denied statement, to be that statement."""


def as_meant(claims: Sequence[Claim], text: str) -> tuple[Claim, ...]:
    """The claims as their turn means them: a claim that the turn retracts becomes a denial.

    The denial spans both sentences. Words that only retract are no claim of their own.
    """
    reading = canonical(text)
    spans, line_readings, _ = read_passage(reading.text, None)
    if not any(line.denied or line.doubted for line in line_readings):
        return tuple(claims)
    _, lines = _sentences(reading.text)
    denier_of = {denied: index for index in range(len(lines)) for denied in _denied_by(lines, index)}
    taking = set(denier_of.values())
    denier_of |= {
        at: at + 1 for at in range(len(line_readings) - 1) if line_readings[at].denied and lines[at].said.endswith("?")
    }
    behind = {index: denied for denied, index in denier_of.items()}
    places = [reading.span(span.start, span.end) for span in spans]
    starts = [place.start for place in places]
    ranges = [range(*_touched_range(starts, claim.span)) for claim in claims]
    spoken = {index for inside in ranges for index in inside}
    result = list[Claim]()
    for claim, inside in zip(claims, ranges, strict=True):
        denier = next((index for index in inside if _denies(line_readings[index], claim.text)), None)
        before = next((behind[index] for index in inside if index in behind), None)
        alone = before is not None and (taking.issuperset(inside) or is_closed(claim.text))
        if denier is not None:
            result.append(_as_denial(claim, line_readings[denier], places[denier_of.get(denier, denier)]))
        elif alone and before is not None and before not in spoken:  # the denied sentence has no claim
            spoken.add(before)
            result.append(_as_denial(claim, line_readings[before], places[before]))
        elif not alone:
            # "This is wrong" is covered by the denial.
            only_denies = bool(inside) and bool(line_readings[inside[0]].denied) and speaks_of_neighbour(claim.text)
            if not only_denies or sum(inside[0] in indices for indices in ranges) == 1:
                result.append(claim)
    return tuple(result)


def _touched_range(starts: Sequence[int], span: Span | None) -> tuple[int, int]:
    """Index range of the sentences that a span touches."""
    return (max(bisect_right(starts, span.start) - 1, 0), bisect_left(starts, span.end)) if span else (0, 0)


def _denies(reading: SentenceReading, claim: str) -> bool:
    """True if the sentence denies the claim, and the claim is no denial itself."""
    claim_reading = read(clean(folded(claim)))
    denied, wanted = _content(reading.denied or reading.doubted), _content(claim_reading.said)
    least = _COVERED * min(len(denied), len(wanted))
    return (
        bool(denied) and not (claim_reading.denied or claim_reading.doubted) and len(denied & wanted) >= max(least, 1)
    )


def _as_denial(claim: Claim, reading: SentenceReading, beside: Span) -> Claim:
    """The claim "It is not true that ...", for the statement that the sentence denies. Its span includes the denial."""
    whole = read(clean(folded(claim.text)))
    inner = next((region.inner for region in whole.regions if region.inner and not whole.stated), claim.text)
    if _content(reading.denied or reading.doubted) < _content(inner) or is_closed(inner):
        inner = reading.denied or reading.doubted or inner
    first, span = inner.split(" ", 1)[0], claim.span or beside
    text = f"It is not true that {first.lower() if first.lower() in LEFT_OVER else first}{inner[len(first) :].rstrip(' .!?')}."
    merged = Span(start=min(span.start, beside.start), end=max(span.end, beside.end))
    return claim.model_copy(update={"text": text, "span": merged})


def _content(text: str) -> frozenset[str]:
    return frozenset(_CONTENT.findall(text.lower())) - LEFT_OVER
