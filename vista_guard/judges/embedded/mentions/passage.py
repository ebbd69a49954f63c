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
from vista_guard.judges.embedded.mentions.clauses import (
    agrees,
    answer,
    declines,
    is_open,
    names_nothing,
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
"""In a heading of words that deny: "Not true", but not "Deleted items"."""
_AHEAD = re.compile(r"\b(?:following|follows|next|below)\b", _I)
_ALL = re.compile(r"\b(?:none|all|everything|nothing|any|both|these|those|neither|statements|claims)\b", _I)
_MOST_BACK = 20
"""Sentences that "none of this is true" reaches back."""
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
"""What follows it is denied: "The old page has the wrong price: ..."."""
_CONTENT = re.compile(r"\w+")


@dataclass(frozen=True)
class PassageLine:
    """A sentence of a passage, cleaned of markup, and where it stands."""

    said: str
    heading: bool = False
    item: bool = False
    opens: bool = False
    """True if it begins a line."""


def readings(
    lines: Sequence[PassageLine], above: MentionKind | None = None
) -> tuple[list[SentenceReading], MentionKind | None]:
    """One reading for each line, and what the last heading makes of the text that follows.

    Args:
        lines: of the passage, in order.
        above: what the last heading before the passage makes of it.
    """
    found, under = _by_heading(lines, above)
    found = _by_lead(lines, found)
    for index in range(len(lines)):
        _join_answer(lines, found, index)
        someone = _SOMEONE_SAID.match(lines[index].said) if index else None
        if someone and not AUTHORITIES.search(someone["who"] or ""):
            reported = _with_kind(found[index - 1], MentionKind.REPORTED, "")
            found[index - 1] = replace(reported, doubted=reported.doubted or lines[index - 1].said)
        for denied in _denied_by(lines, index):
            found[denied] = _with_kind(found[denied], MentionKind.DENIED, lines[denied].said)
    return found, under


def _denied_by(lines: Sequence[PassageLine], index: int) -> Sequence[int]:
    """The sentences that this one denies: the one before it or behind it, or all back to the heading."""
    said = lines[index].said
    title = re.fullmatch(r"\W*\w+s\W*", said)  # "Errors." names a topic.
    if lines[index].heading or title or not (speaks_of_neighbour(said) or _ASKS_IF_TRUE.match(said)):
        return ()
    if _AHEAD.search(said):
        return [index + 1] if index + 1 < len(lines) else ()
    first = index
    while 0 < first > index - _MOST_BACK and not lines[first - 1].heading and (first == index or _ALL.search(said)):
        first -= 1
    return range(first, index)


def kind_of(label: str) -> MentionKind | None:
    """How a heading, a title or a label frames the text under it; None if that text is stated."""
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


def _by_heading(
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
        rest = line.said[label.end() :] if label else line.said
        reading = read(line.said)
        lines_read.append(_with_kind(reading, kind, rest) if kind else reading)
    return lines_read, under


def _by_lead(lines: Sequence[PassageLine], found: list[SentenceReading]) -> list[SentenceReading]:
    """The frame that "Common myths:" or "Which of these are wrong?" gives to the items below."""
    lead: MentionKind | None = None
    listed = False  # Or only items count: a question may stand over any paragraph.
    for index, line in enumerate(lines):
        if line.said.endswith((":", "?")) and (line.opens or line.heading):
            lead, listed = kind_of(line.said), line.said.endswith("?")
        elif lead and (line.item or (not listed and not line.heading)):
            found[index] = _with_kind(found[index], lead, line.said)
            lead, listed = (lead, True) if line.item else (None, False)
        elif line.opens:
            lead = None
    return found


def _join_answer(lines: Sequence[PassageLine], found: list[SentenceReading], index: int) -> None:
    """A question and its answer are one statement, or a denial; a question alone is neither."""
    asked, after = question(lines[index].said), index + 1
    while after < len(lines) and _NUMBERED.fullmatch(lines[after].said):
        after += 1
    if not asked or after == len(lines):
        return
    then, yes_or_no = lines[after].said, statement_of_question(asked)
    if yes_or_no and agrees(then):
        found[index] = SentenceReading(lines[index].said, sentence(yes_or_no))
    elif yes_or_no and declines(then):
        found[index] = _with_kind(found[index], MentionKind.DENIED, yes_or_no)
    elif is_open(asked) and not names_nothing(then) and found[after].stated and not question(then):
        stated = read(answer(then)).stated
        found[after] = replace(found[after], stated=f"{asked}? {stated}") if stated else found[after]


def sentence(text: str) -> str:
    """With a capital and a full stop."""
    return f"{text[0].upper()}{text[1:]}." if text else ""


def _with_kind(reading: SentenceReading, kind: MentionKind, denied: str) -> SentenceReading:
    whole = Region(0, len(reading.said), kind, denies=kind is MentionKind.DENIED)
    inner = reading.denied or (denied if whole.denies else "")
    return replace(reading, stated="", regions=(*reading.regions, whole), denied=inner)


def _words(label: str) -> frozenset[str]:
    return frozenset(re.findall(r"[a-z]+", label.lower())) - _SMALL


_HEADING = re.compile(r"\s*(?:#{1,6}\s|<h[1-6]\b|=+ [^=]+ =+\s*$)")
_ITEM = re.compile(r"\s*(?:[-*+•‣◦–]|\(?(?:\d{1,3}|[a-h])[.)])\s")
_WIDE = 2000
"""Characters on either side of a sentence in which its line is looked for: a line of any length takes no more."""
_MARK = re.compile(r"^\s*(?:#{1,6}\s+|>\s*|[-*+•‣◦–]\s+|\(?\d{1,3}[.)]\s+)+")


_STRUCK = re.compile(r"(~~|<(?:del|s|strike)\b[^<>]{0,80}>)(?=(?:\S+ ){2})([^~<]{1,2000})(~~|</\w+\s*>)", _I)


def _as_false(struck: re.Match[str]) -> str:
    """Struck text behind a mark of the same length that says so."""
    return "✗".ljust(len(struck[1])) + struck[2] + " " * len(struck[3])


@lru_cache(maxsize=1024)
def read_passage(
    text: str, above: MentionKind | None
) -> tuple[tuple[Span, ...], tuple[SentenceReading, ...], MentionKind | None]:
    """The sentences' spans, what each states, and what the last heading makes of the text that follows; of a `canonical` text."""
    text = _STRUCK.sub(_as_false, text)
    spans = tuple(sentence_spans(unwrap(text))) or (Span(start=0, end=len(text)),)
    lines = [_line(text, span) for span in spans]
    found, under = readings(lines, above)
    return spans, tuple(found), under


def _line(text: str, span: Span) -> PassageLine:
    raw = text[span.start : span.end]
    line_start = max(text.rfind("\n", max(0, span.start - _WIDE), span.start) + 1, span.start - _WIDE)
    line_end = text.find("\n", span.end, span.end + _WIDE)
    line = text[line_start : line_end if line_end >= 0 else span.end + _WIDE]
    opens = not text[line_start : span.start].strip(" #>*+-•0123456789.)(")
    heading = bool(_HEADING.match(line)) or _bold(line)
    return PassageLine(clean(_MARK.sub("", raw)), heading, bool(_ITEM.match(line)), opens)


def _bold(line: str) -> bool:
    """True if the whole line is bold and does not end like a sentence."""
    stripped = line.strip()
    return re.fullmatch(r"(\*\*|__)(?:(?!\1).){1,80}(?<![.!?])\1:?", stripped) is not None


_COVERED = 0.8
"""Least share of a claim's content words in what a sentence denies, for the claim to be what is denied."""


def as_meant(claims: Sequence[Claim], text: str) -> tuple[Claim, ...]:
    """The claims as their turn means them: where it takes one back beside it, the denial takes the claim's place.

    The denial spans both. Words that only take back claim nothing else.
    """
    reading = canonical(text)
    spans, found, _ = read_passage(reading.text, None)
    if not any(one.denied or one.doubted for one in found):
        return tuple(claims)
    lines = [_line(reading.text, span) for span in spans]
    by = {denied: index for index in range(len(lines)) for denied in _denied_by(lines, index)}
    taking = set(by.values())
    by |= {at: at + 1 for at in range(len(found) - 1) if found[at].denied and lines[at].said.endswith("?")}
    behind = {index: denied for denied, index in by.items()}
    places = [reading.span(span.start, span.end) for span in spans]
    starts = [place.start for place in places]
    held = [range(*_reach(starts, claim.span)) for claim in claims]
    spoken = {index for inside in held for index in inside}
    meant = list[Claim]()
    for claim, inside in zip(claims, held, strict=True):
        denier = next((index for index in inside if _denies(found[index], claim.text)), None)
        before = next((behind[index] for index in inside if index in behind), None)
        alone = before is not None and (taking.issuperset(inside) or is_closed(claim.text))
        if denier is not None:
            meant.append(_as_denial(claim, found[denier], places[by.get(denier, denier)]))
        elif alone and before is not None and before not in spoken:  # What it denies has no claim of its own.
            spoken.add(before)
            meant.append(_as_denial(claim, found[before], places[before]))
        elif not alone:
            # "This is wrong" is said with what it denies.
            own = bool(inside) and bool(found[inside[0]].denied) and speaks_of_neighbour(claim.text)
            if not own or sum(inside[0] in others for others in held) == 1:
                meant.append(claim)
    return tuple(meant)


def _reach(starts: Sequence[int], span: Span | None) -> tuple[int, int]:
    """The first of the sentences that a span touches, and the one behind the last."""
    return (max(bisect_right(starts, span.start) - 1, 0), bisect_left(starts, span.end)) if span else (0, 0)


def _denies(reading: SentenceReading, claim: str) -> bool:
    """True if the sentence denies the claim, and the claim does not say so itself."""
    own = read(clean(folded(claim)))
    denied, wanted = _content(reading.denied or reading.doubted), _content(own.said)
    least = _COVERED * min(len(denied), len(wanted))
    return bool(denied) and not (own.denied or own.doubted) and len(denied & wanted) >= max(least, 1)


def _as_denial(claim: Claim, reading: SentenceReading, beside: Span) -> Claim:
    """The claim that what the sentence denies, or else says, is not true. Its span has the words that deny it, too."""
    whole = read(clean(folded(claim.text)))
    inner = next((region.inner for region in whole.regions if region.inner and not whole.stated), claim.text)
    if _content(reading.denied or reading.doubted) < _content(inner) or is_closed(inner):
        inner = reading.denied or reading.doubted or inner
    first, span = inner.split(" ", 1)[0], claim.span or beside
    text = f"It is not true that {first.lower() if first.lower() in LEFT_OVER else first}{inner[len(first) :].rstrip(' .!?')}."
    both = Span(start=min(span.start, beside.start), end=max(span.end, beside.end))
    return claim.model_copy(update={"text": text, "span": both})


def _content(text: str) -> frozenset[str]:
    return frozenset(_CONTENT.findall(text.lower())) - LEFT_OVER
