"""Statements that a text leaves something open ("The page doesn't say whether …"): true where it does, false where it tells.

Made from the claims that were written for this project, since each says whether its text decides it, and from the questions of
DSTC9's FAQ, with the snippet that answers among those of the page or left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random

from training.pairs import KindPair
from training.sources import dstc9
from training.sources.parts import Part
from training.sources.questions import declared
from training.sources.spoken import lowered, said
from training.sources.written import written
from vista_lab.datasets.pairs import CONTRADICTED_CLASS, NOT_ENOUGH_CLASS, SUPPORTED_CLASS

FILES = ()  # those of DSTC9 and of the written claims
_WHERE = (
    "page", "document", "text", "article", "notice", "guide", "leaflet", "information", "website", "passage", "FAQ", "list",
)  # fmt: skip
_FRAMES = (
    "The {where} doesn't say whether {it}.", "The {where} does not mention whether {it}.", "It isn't stated whether {it}.",
    "I couldn't find anything in the {where} on whether {it}.", "I'm afraid the {where} doesn't tell us whether {it}.",
    "Whether {it} is not mentioned.", "The {where} gives no information on whether {it}.", "It is not clear whether {it}.",
    "There's nothing here about whether {it}.", "I can't tell from the {where} whether {it}.",
    "Whether {it}, the {where} leaves open.", "Nothing in the {where} tells whether {it}.",
)  # fmt: skip
_ANSWERS = (
    "I'm afraid the {where} doesn't say.", "I couldn't find that in the {where}.", "That isn't mentioned.",
    "The {where} gives no information about that.", "Sorry, there is nothing about it in the {where}.",
    "It doesn't say.", "That is not specified.", "I can't find that here.",
)  # fmt: skip


def unsaid(data: Path, part: Part) -> Iterator[KindPair]:
    """Statements that a text leaves something open, half of them true."""
    yield from _of_written(data, part)
    if part == "train":
        yield from _of_places(data)


def _of_written(data: Path, part: Part) -> Iterator[KindPair]:
    for one, other in pairwise(written(data, part)):
        if (one.twin, one.premise) == (other.twin, other.premise) and one.kind != "written_a":
            yield from left_open(one, other)


def left_open(one: KindPair, other: KindPair) -> Iterator[KindPair]:
    """Of twins of which the text decides one member: that it does not say is true of the other, and false of this one."""
    if (one.allowed == (NOT_ENOUGH_CLASS,)) == (other.allowed == (NOT_ENOUGH_CLASS,)):
        return
    rng = Random(f"{one.twin} unsaid")
    frame, where = rng.choice(_FRAMES), rng.choice(_WHERE)
    for pair in (one, other):
        bare = pair.hypothesis.rstrip(".")
        if _is_statement(bare):
            told = frame.format(where=where, it=lowered(bare, pair.premise))
            label = SUPPORTED_CLASS if pair.allowed == (NOT_ENOUGH_CLASS,) else CONTRADICTED_CLASS
            yield KindPair(pair.premise, told, (label,), "unsaid", "unsaid_written", f"unsaid-{one.twin}")


def _is_statement(bare: str) -> bool:
    return not bare.startswith("Q:") and not any(mark in bare for mark in ".?!;:") and len(bare.split()) > 3


def _of_places(data: Path) -> Iterator[KindPair]:
    """A question about a place, beside the page that answers it and beside the page without that answer."""
    for number, (snippet, told, places) in enumerate(dstc9.answers(data)):
        rng = Random(f"unsaid {number}")
        others = dstc9.strangers(snippet, told, places[snippet.key])
        if len(others) < 2:
            continue
        statement, where = declared(snippet.question), rng.choice(_WHERE)
        if statement and rng.random() < 0.6:
            bare = statement.rstrip(".")
            claim = rng.choice(_FRAMES).format(where=where, it=lowered(bare, snippet.answer))
        else:
            claim = said(snippet.question, rng.choice(_ANSWERS).format(where=where))
        some = rng.sample(others, min(len(others), rng.randint(2, 5)))
        answered = rng.sample([snippet, *some], len(some) + 1)
        for picked, label in ((answered, CONTRADICTED_CLASS), (some, SUPPORTED_CLASS)):
            premise = dstc9.page(picked, snippet, rng)
            yield KindPair(premise, claim, (label,), "unsaid", "unsaid_places", f"unsaid-dstc9-{number}")
