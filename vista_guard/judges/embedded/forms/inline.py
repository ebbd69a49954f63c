"""Markdown within a line: links, notes, emphasis and code, taken off to leave the words."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s\[\]]{0,2000}(?:\s+\"[^\"]{0,1000}\")?\)")
_NOTE = re.compile(r"(?<!\s)\s*\[\^?\d+(?:\s*,\s*\d+)*\]")
_TAGS = re.compile(r"</?(?!https?:|mailto:)[a-zA-Z][^<>]{0,200}>")
_EMPHASIS = re.compile(
    r"(\*{1,3}|~~|==|\|\||(?<!\w)_{1,3})(?=[^\s*_~=|])([^*~`\n]{1,300}?)(?<=[^\s*_~=|])\1(?!(?<=_)\w)"
)
_CODE_SPAN = re.compile(r"(?<!`)(`{1,3})(?!`)([^`]{1,2000})\1(?!`)")
_SHOUTED = re.compile(r"([!?])(?:[!?]+|<\s*$)")
"""The verifier reads "!!!!!" as anything; it means no more than one."""
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_COMMANDS = re.compile(
    r"\\(?:text|textbf|textit|texttt|emph|mbox|mathrm|section|subsection|title|caption|footnote)\*?\{([^{}]{0,400})\}"
)
_PRE_TOKENISED = (
    (re.compile(r"\b(\w+) n't\b"), r"\1n't"),
    (re.compile(r" ('(?:s|ve|re|m|ll|d)\b)"), r"\1"),
    (re.compile(r"\s+([,.!?;:])(?=\s|$)"), r"\1"),
)
"""Spaces that corpora and speech recognisers leave: "I do n't know ." """


def marked(text: str) -> Iterator[tuple[int, str]]:
    """What of a text is emphasised or a link's text, and where it begins."""
    for pattern, group in ((_EMPHASIS, 2), (_LINK, 1)):
        yield from ((match.start(), match[group]) for match in pattern.finditer(text))


def coded(text: str) -> Iterator[str]:
    """What of a text is set as code within its lines."""
    yield from (match[2] for match in _CODE_SPAN.finditer(text))


def clean(text: str) -> str:
    """`text` without Markdown, HTML tags and footnote marks, on one line, with spaces where prose has them.

    What is set as code keeps its letters: `lk_test_` has no emphasis in it.
    """
    pieces, last = list[str](), 0
    for match in _CODE_SPAN.finditer(text):
        pieces += (_without_marks(text[last : match.start()]), match[2])
        last = match.end()
    text = re.sub(r"\s+", " ", "".join((*pieces, _without_marks(text[last:])))).strip()
    for pattern, replacement in _PRE_TOKENISED:
        text = pattern.sub(replacement, text)
    return text


def _without_marks(text: str) -> str:
    text = _TAGS.sub(" ", _NOTE.sub("", _LINK.sub(r"\1", text)))
    text = _EMPHASIS.sub(r"\2", _EMPHASIS.sub(r"\2", text))
    text = _SHOUTED.sub(r"\1", text)
    return _ESCAPED.sub(r"\1", _COMMANDS.sub(r"\1", text)) if "\\" in text else text
