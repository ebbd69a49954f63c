"""What a document store tells of a document without its text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue


@dataclass(frozen=True)
class ListedDocument:
    """A stored document: `passages` is how many it was cut into, `metadata` is what it was added with."""

    id: str
    title: str | None
    passages: int
    metadata: Mapping[str, JsonValue] = field(default_factory=dict)
