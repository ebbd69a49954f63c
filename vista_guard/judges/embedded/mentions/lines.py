"""A passage's text as lines: sentences with their places, cleaned of markup, headings and list items told apart."""

from __future__ import annotations

import re
from functools import lru_cache

from vista_guard.judges.embedded.english.segment import unwrapped
from vista_guard.judges.embedded.forms.inline import clean
from vista_guard.judges.embedded.mentions.kinds import Kind, SentenceReading
from vista_guard.judges.embedded.mentions.passage import Line, readings
from vista_guard.reading.canonical import folded
from vista_guard.reading.sentences import sentence_spans
from vista_guard.types import Span

_HEADING = re.compile(r"\s*(?:#{1,6}\s|<h[1-6]\b|=+ [^=]+ =+\s*$)")
_ITEM = re.compile(r"\s*(?:[-*+•‣◦–]|\(?(?:\d{1,3}|[a-h])[.)])\s")
_MARK = re.compile(r"^\s*(?:#{1,6}\s+|>\s*|[-*+•‣◦–]\s+|\(?\d{1,3}[.)]\s+)+")


@lru_cache(maxsize=1024)
def read_passage(
    text: str, title: str, above: Kind | None
) -> tuple[tuple[Span, ...], tuple[SentenceReading, ...], Kind | None]:
    """The sentences' spans, what each states, and what the last heading makes of the text that follows; of a `canonical` text."""
    spans = tuple(sentence_spans(unwrapped(text))) or (Span(start=0, end=len(text)),)
    lines = [_line(text, span) for span in spans]
    found, under = readings(lines, clean(folded(title)), above)
    return spans, tuple(found), under


def _line(text: str, span: Span) -> Line:
    raw = text[span.start : span.end]
    line_start = text.rfind("\n", 0, span.start) + 1
    line_end = text.find("\n", span.end)
    line = text[line_start : line_end if line_end >= 0 else len(text)]
    opens = not text[line_start : span.start].strip(" #>*+-•0123456789.)(")
    heading = bool(_HEADING.match(line)) or _bold(line)
    return Line(clean(_MARK.sub("", raw)), heading, bool(_ITEM.match(line)), opens)


def _bold(line: str) -> bool:
    """Whether the whole line stands in bold and does not end as a sentence does."""
    stripped = line.strip()
    return re.fullmatch(r"(\*\*|__)(?:(?!\1).){1,80}(?<![.!?])\1:?", stripped) is not None
