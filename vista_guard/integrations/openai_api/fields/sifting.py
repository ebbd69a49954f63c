"""What is noted while an answer is held against the table: what passed unjudged, and what did not pass at all."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

logger = logging.getLogger("vista_guard.openai_api")

Place = Literal[
    "answer", "choice", "message", "logprobs", "call", "audio", "usage", "response", "item", "part", "citation", "event"
]
"""Where in an answer a field stood that did not pass."""

Unjudged = Literal["tools", "reasoning", "citations", "audio", "structured", "everything"]
"""What may pass without being judged, by design."""

_NAME = re.compile(r"[A-Za-z_.]{1,40}")
_MOST_NAMES = 200

_SPOKEN = frozenset({"choice", "message", "part", "item", "event"})
"""Places where an answer's words may stand under any name."""
_SPOKEN_NAMES = frozenset({"answer", "choices", "content", "message", "output", "output_text", "response", "text"})
_PROSE = re.compile(r"\S\s+\S")

_named: set[str] = set()


@dataclass
class Sifting:
    """One answer on its way through the table.

    Attributes:
        asked: the request as it was sent; a field that repeats one of the request passes when it is the same.
        on_drop: is told the place of everything that did not pass.
        structured: whether the answer is data for a program, which is not judged: then a refusal stays what it is.
        unjudged: what passed by design without being judged.
        dropped: how much did not pass.
        lost: whether that may have been words of the answer.
    """

    asked: Mapping[str, object] = field(default_factory=dict)
    on_drop: Callable[[Place], object] | None = None
    structured: bool = False
    unjudged: set[Unjudged] = field(default_factory=set)
    dropped: int = 0
    lost: bool = False

    def __post_init__(self) -> None:
        if self.structured:
            self.unjudged.add("structured")

    def drop(self, place: Place, name: str = "", value: object = None) -> None:
        """Counts what does not pass; the log learns each field's name once, and nothing of its value."""
        self.dropped += 1
        self.lost = self.lost or ((place in _SPOKEN or name in _SPOKEN_NAMES) and _has_prose(value))
        if self.on_drop is not None:
            self.on_drop(place)
        # A name is upstream's too, and may be made of the draft: one that looks like no field's is not told.
        named = f"{place}.{name}" if _NAME.fullmatch(name) else f"{place} (of no plain name)"
        if named not in _named and len(_named) < _MOST_NAMES:
            _named.add(named)
            logger.warning("upstream sends %s, which the guard does not know and does not pass on", named)

    @property
    def told(self) -> list[str]:
        """What passed unjudged, in a fixed order."""
        return sorted(self.unjudged)


def _has_prose(value: object) -> bool:
    """Whether there are words in it, at any depth."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str) and _PROSE.search(one):
            return True
        if isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, list):
            waiting += one
    return False
