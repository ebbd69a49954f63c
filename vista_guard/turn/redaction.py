"""A text without some of its sentences, and without what they leave behind: gaps, empty list items, lead-ins to nothing. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vista_guard.reading.sentences import sentence_spans
from vista_guard.types import Span

_SHELL = re.compile(r"\s*(?:[-*+•–]|\(?\w{1,3}[.)]|>+|#{1,6}|\[[ xX]\])?[\s*_~`|]*")
"""What is left of a line when all that it says is gone: a list marker, a heading's mark, emphasis, an empty row."""
_ITEM = re.compile(r"\s*(?:[-*+•–]|\(?\w{1,3}[.)])\s")


@dataclass(frozen=True)
class _Line:
    text: str
    dropped: bool


def without(text: str, dropped: Sequence[Span]) -> str:
    """The text without these sentences.

    A line that says nothing any more goes with them, with the blank line before it, and so does a lead-in ("It has:") when
    every item of its list went. All other lines stay as they are.

    Args:
        text: of the turn.
        dropped: sentences, each within one line.
    """
    return "\n".join(line.text for line in _tidied(list(_lines(text, dropped)))).strip()


def _lines(text: str, dropped: Sequence[Span]) -> Iterator[_Line]:
    start = 0
    for line in text.split("\n"):
        whole = Span(start=start, end=start + len(line))
        inside = [span for span in dropped if span.overlaps(whole)]
        rest = _cut(line, [(max(span.start - start, 0), span.end - start) for span in inside])
        yield _Line(rest, dropped=bool(inside) and _SHELL.fullmatch(rest) is not None)
        start += len(line) + 1


def _cut(line: str, places: Sequence[tuple[int, int]]) -> str:
    for start, end in sorted(places, reverse=True):
        before, after = line[:start], line[end:]
        # The blank between two sentences goes with the first of them; one after a list's marker stays.
        line = before + after.lstrip(" ") if after.strip() else before.rstrip(" ") + after.strip(" ")
    return line


def _tidied(lines: list[_Line]) -> Iterator[_Line]:
    gone = {number for number, line in enumerate(lines) if line.dropped}
    idle = [number for number in range(len(lines)) if _leads_to_nothing(lines, number, gone)]
    lines = [_without_lead_in(line) if number in idle else line for number, line in enumerate(lines)]
    gone |= {number for number in idle if lines[number].dropped}
    last_kept: _Line | None = None
    after_gap = False
    for number, line in enumerate(lines):
        if number in gone:
            after_gap = True
        elif not (after_gap and not line.text.strip() and (last_kept is None or not last_kept.text.strip())):
            last_kept, after_gap = line, False
            yield line


def _without_lead_in(line: _Line) -> _Line:
    """The line without its last sentence, which introduces what is gone."""
    sentences = sentence_spans(line.text)
    rest = line.text[: sentences[-1].start].rstrip() if sentences else ""
    return _Line(rest, dropped=_SHELL.fullmatch(rest) is not None)


def _leads_to_nothing(lines: Sequence[_Line], number: int, gone: set[int]) -> bool:
    """Whether the line introduces a list of which nothing is left."""
    if not lines[number].text.rstrip(" *_").endswith(":"):
        return False
    following = [other for other in range(number + 1, len(lines)) if lines[other].text.strip() or other in gone]
    listed: list[int] = []
    for other in following:
        if other not in gone and not _ITEM.match(lines[other].text):
            break
        listed.append(other)
    return bool(listed) and all(other in gone for other in listed)
