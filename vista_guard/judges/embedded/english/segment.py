"""From a turn's text to its statements: Markdown blocks, then sentences, each with its exact place in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from vista_guard.judges.embedded.forms.blocks import Block, Kind, blocks, continues, kind_of
from vista_guard.reading.sentences import sentence_spans

_MANY = re.compile(r"[^\w\s,;:'\"()/&%+*_`~|<>=\[\]-]\W*\w")
"""A mark that may end a sentence, and a word behind it."""


@dataclass(frozen=True)
class Sentence:
    """A sentence, list item, heading, table row or block of code. `start`/`end`: its place in the text.

    `lead` is the line that introduces a list ("The museum has:"); `text` stands for the source when a row was rendered;
    `leads` is whether something follows that the sentence, when it ends with a colon, can introduce.
    """

    start: int
    end: int
    kind: Kind = Kind.PROSE
    lead: str = ""
    text: str | None = None
    leads: bool = False


def unwrapped(text: str) -> str:
    """`text` with the line breaks of hard-wrapped prose as spaces, character for character."""
    lines = text.split("\n")
    joints = [
        " " if kind_of(line) is kind_of(before) is Kind.PROSE and continues(before, line) else "\n"
        for before, line in pairwise(lines)
    ]
    return "".join(f"{line}{joint}" for line, joint in zip(lines, [*joints, ""], strict=True))


def sentences(text: str) -> Iterator[Sentence]:
    """Sentences of a folded text, in order; a row and a block of code are one each."""
    lead = ""
    found = list(blocks(text))
    if not found and any(map(str.isalnum, text)):
        # "12." is an item's number where there is a list, and an answer where there is nothing else.
        found = [Block(0, len(text), Kind.PROSE)]
    for number, block in enumerate(found):
        follows = number + 1 < len(found)
        if block.kind in (Kind.ROW, Kind.CODE):
            yield Sentence(block.start, block.end, block.kind, lead, block.text)
            continue
        places = list(_split(text, block))
        for start, end in places:
            yield Sentence(start, end, block.kind, lead, leads=follows and end == places[-1][1])
        last = text[places[-1][0] : places[-1][1]] if places else ""
        if block.kind is not Kind.ITEM:
            opens = last.rstrip("*_ ")
            lead = opens[:-1] if opens.endswith(":") else ""


def _split(text: str, block: Block) -> Iterator[tuple[int, int]]:
    body = text[block.start : block.end].replace("\n", " ")
    if not _MANY.search(body):
        # Most lines of a list are one sentence, and asking the splitter costs more than all else.
        yield block.start + len(body) - len(body.lstrip()), block.start + len(body.rstrip())
        return
    for span in sentence_spans(body):
        yield block.start + span.start, block.start + span.end
