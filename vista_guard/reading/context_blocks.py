"""Documents that stand inside of messages: tagged blocks, and what follows a line "Context:" in a system message. Pure.

A user's message is no place for evidence: whoever types may type a block. It is read there only where that is asked for, and
its documents say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from vista_guard.reading.chat_json import to_document
from vista_guard.types import Document

PATTERNS = ("<context>(.*?)</context>", "<documents>(.*?)</documents>")
"""What is a block where nobody says otherwise: regular expressions with one group."""
BY_USER = "brought_by_user"
"""Key of a document's metadata: the document was found in a user's own message."""
USER_EVIDENCE = "evidence came from the user's own message"
"""The report's warning about such documents."""

_TAG = re.compile(r"(?P<open>[^\\.^$*+?{}\[\]|()]+)\(\.\*\?\)(?P<close>[^\\.^$*+?{}\[\]|()]+)")
"""A pattern that is only an opening and a closing text."""
_HEADED = re.compile(
    r"^[ \t#*]*(?:Context|Documents?|Sources?|References?)[ \t]*:[ \t*]*\n", re.MULTILINE | re.IGNORECASE
)
"""A line "Context:": all that follows it is a document, up to a question after a blank line."""
_ASKED = re.compile(r"\n[ \t]*\n[ \t#*]*(?:Question|Query|User)\b[^\n:]{0,40}:", re.IGNORECASE)
_SYSTEM = ("system", "developer")


def take_blocks(
    message: Mapping[str, object], patterns: Sequence[str] = PATTERNS, *, user_context: bool = False
) -> tuple[dict[str, object], list[Document]]:
    """The message without its blocks, and the blocks as documents.

    Args:
        message: of a chat; only those of the roles system and developer are read.
        patterns: regular expressions with one group, which is the document.
        user_context: whether user messages are read too.
    """
    read, blocks, role = dict(message), list[str](), message.get("role")
    if not (role in _SYSTEM or (user_context and role == "user")):
        return read, []
    content = message.get("content")
    if isinstance(content, str):
        read["content"] = _cut(content, patterns, blocks)
    elif isinstance(content, list):
        read["content"] = [
            {**part, "text": _cut(part["text"], patterns, blocks)}
            if isinstance(part, Mapping) and isinstance(part.get("text"), str)
            else part
            for part in content
        ]
    found = [to_document(block.strip()) for block in blocks if block.strip()]
    return read, [_users(document) for document in found] if role == "user" else found


def _users(document: Document) -> Document:
    return document.model_copy(update={"metadata": {**document.metadata, BY_USER: True}})


def _cut(text: str, patterns: Sequence[str], blocks: list[str]) -> str:
    for pattern in patterns:
        kept, end = [], 0
        for start, stop, block in _matches(pattern, text):
            kept.append(text[end:start])
            blocks.append(block)
            end = stop
        if end:
            text = ("".join(kept) + text[end:]).strip()
    headed = _HEADED.search(text)
    if headed is not None:
        asked = _ASKED.search(text, headed.end())
        end = len(text) if asked is None else asked.start()
        blocks.append(text[headed.end() : end])
        text = (text[: headed.start()] + text[end:]).strip()
    return text


def _matches(pattern: str, text: str) -> Iterator[tuple[int, int, str]]:
    """Start, end and block of every match, in order."""
    tag = _TAG.fullmatch(pattern)
    if tag is None:
        for match in _compiled(pattern).finditer(text):
            yield match.start(), match.end(), match.group(1) or ""
        return
    # A regular expression would try every opening tag up to the end of the text when none is closed: seconds for a megabyte.
    start = text.find(tag["open"])
    while start >= 0:
        inside = start + len(tag["open"])
        stop = text.find(tag["close"], inside)
        if stop < 0:
            return
        yield start, stop + len(tag["close"]), text[inside:stop]
        start = text.find(tag["open"], stop + len(tag["close"]))


@lru_cache(maxsize=64)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.DOTALL)
