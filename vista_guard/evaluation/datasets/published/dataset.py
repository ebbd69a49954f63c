"""What is known of a data set beside its rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from vista_guard.evaluation.datasets.source import BrokenEntry, LoggedConversation

Entry = LoggedConversation | BrokenEntry
"""A row that is read, or one that is not, with the reason. Both are counted."""


class Task(StrEnum):
    """What a turn's `gold.positive` says: which turns are looked for."""

    UNVERIFIABLE = "unverifiable"
    """Some claim is not VERIFIED (VISTA, Tables 2 and 3)."""
    CONTRADICTS = "contradicts"
    """Some claim is CONTRADICTED (Table 5)."""
    ABSTAINS = "abstains"
    """Some claim is an ABSTENTION (Tables 20 and 21)."""


@dataclass(frozen=True)
class DataSet:
    """A data set, in one split, as it can be evaluated.

    `files` are the publisher's file names, relative to the folder that the user has them in; gzipped ones are found too. `read`
    takes the files that were found, in the order of `files`. `test` says that its figures are final: nothing is chosen on it.
    """

    name: str
    title: str
    source: str
    """Where the publisher gives it out, and the paper to cite."""
    licence: str
    split: str
    task: Task
    files: Sequence[str]
    read: Callable[[Sequence[Path]], Iterator[Entry]]
    test: bool = False
    sample: str = ""
    """How its rows relate to those of the paper's tables: none is printed beside the paper's figures without it."""
    origins: Mapping[str, str] = field(default_factory=dict)
    """Where each file is got: `https://…` or `hf:OWNER/NAME/PATH` where it can be downloaded as it is, else words for people."""
