"""Sentence boundaries with exact offsets (sentencex, Wikimedia). Pure."""

from __future__ import annotations

import re

from vista_guard.types import Span

_LINE = re.compile(r"[^\n]+")
_SURROGATES = re.compile("[\ud800-\udfff]")
"""Half characters, which the splitter cannot take; one character stands in for one, so that offsets hold."""


def sentence_spans(text: str) -> list[Span]:
    """Sentences in order, without the white space around them. A line break always ends one."""
    import sentencex

    spans: list[Span] = []
    for line in _LINE.finditer(_SURROGATES.sub("\ufffd", text)):
        for boundary in sentencex.get_sentence_boundaries("en", line.group()):
            start, end = line.start() + boundary["start_index"], line.start() + boundary["end_index"]
            raw = text[start:end]
            if raw.strip():
                spans.append(Span(start=start + len(raw) - len(raw.lstrip()), end=start + len(raw.rstrip())))
    return spans
