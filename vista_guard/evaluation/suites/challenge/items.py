"""The pairs as they were written: documents, a claim that holds and its twin that does not, and the quotes that decide."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Literal

from pydantic import BaseModel, ConfigDict

from vista_guard.types import Claim, Conversation, Document, Label, Role, Span, Turn

Half = Literal["development", "sealed"]
Wording = Literal["free", "ordinary"]


class _Read(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Member(_Read):
    """One claim of a pair, and the label that it deserves."""

    text: str
    label: Label


class Pair(_Read):
    """Two claims that differ in one thing. `gold` are the quotes that decide between them."""

    phenomenon: str
    right: Member
    wrong: Member
    gold: tuple[str, ...]
    note: str = ""


class Message(_Read):
    """What was said before."""

    role: Role
    text: str


class Item(_Read):
    """Documents with their pairs. `writer` and `style` say whose voice it is.

    `wording`: claims in `ordinary` wording are said as an assistant says them that answers from the document (two thirds of their
    content words stand in the quotes), `free` ones say the same in other words (a quarter).
    """

    id: str
    writer: str
    genre: str
    style: str
    wording: Wording
    documents: tuple[Document, ...]
    history: tuple[Message, ...] = ()
    pairs: tuple[Pair, ...]

    def saying(self, claim: str) -> Conversation:
        """The conversation that ends with an assistant turn of nothing but this claim."""
        past = (Turn(role=message.role, text=message.text) for message in self.history)
        given = (Claim(id="c1", text=claim, span=Span(start=0, end=len(claim))),)
        return Conversation(
            turns=(*past, Turn(role=Role.ASSISTANT, text=claim, documents=self.documents, claims=given))
        )


def read_items(half: Half) -> Iterator[Item]:
    """The items of one half. The sealed one is for the final figure: never look at it while anything is chosen."""
    folder = files("vista_guard.evaluation.suites.challenge")
    if half == "sealed":
        text = gzip.decompress(folder.joinpath("sealed.jsonl.gz").read_bytes()).decode("utf-8")
    else:
        text = folder.joinpath("development.jsonl").read_text(encoding="utf-8")
    for line in text.splitlines():
        yield Item.model_validate(json.loads(line))
