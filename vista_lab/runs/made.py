"""Sets that are made item by item: how a set was made, the outcome of each item, and what gates say of it.

A record is written once, accepted or not, so that no paid work is lost.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from vista_guard.errors import ConfigError
from vista_guard.stores.line_file import ANOTHER_OUT, LineFile, LineKind, write_whole
from vista_lab.logs.source import Task
from vista_lab.runs.folder import MANIFEST, Manifest, Rows, claim_folder, read_manifest

T = TypeVar("T", bound=BaseModel)
EXPORT = "export.json"
"""The note beside a log that was exported from a generated set."""
RECORDS = "records.jsonl"
"""The file of records in the folder of a set, beside its manifest."""


class State(StrEnum):
    """Outcome of an item."""

    ACCEPTED = "accepted"
    """All gates passed."""
    DOUBTFUL = "doubtful"
    """No gate failed, at least one could not decide. Kept apart: exports leave it out unless asked."""
    REJECTED = "rejected"
    """A gate failed, or no whole answer came."""


class Grade(StrEnum):
    """A gate's verdict on one thing it checked."""

    PASSED = "passed"
    DOUBTFUL = "doubtful"
    FAILED = "failed"


class GateVerdict(BaseModel):
    """The verdict of one gate on one thing."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    gate: str
    """The gate's name: `claim-length`."""
    grade: Grade
    about: str = ""
    """The claim or text that was checked, where a gate checks several."""
    score: float | None = None
    """The measured value that decided, where there is one: a probability, a share of words."""
    why: str = ""


def verdict(gate: str, why: str, about: str = "", score: float | None = None) -> GateVerdict:
    """A certain verdict: failed where there is a reason, else passed."""
    return GateVerdict(gate=gate, grade=Grade.FAILED if why else Grade.PASSED, about=about, why=why, score=score)


def made_from(name: str, files: Mapping[str, str], conversations: Iterable[str], turns: int) -> Rows:
    """The rows of a set that is made, whose items nobody labelled: all of a source."""
    ids, task = tuple(conversations), Task.UNVERIFIABLE
    return Rows(name=name, split="all", task=task, test=False, files=files, conversations=ids, turns=turns, skipped={})


def open_records(folder: Path, noun: str, kind: LineKind[T], manifest: Manifest, *more: str) -> LineFile[T]:
    """Opens the records of a new set, or of one made in the same way. `more`: other files that such a folder may have.

    Raises ConfigError: the set was made in another way, which names the fields; the folder holds something else, is in use,
    or cannot be written.
    """
    claim_folder(folder, noun, (MANIFEST, RECORDS, *more))
    return LineFile.open(folder / RECORDS, kind, MadeSet(folder, manifest))


@dataclass(frozen=True)
class MadeSet:
    """Implements `HowMade` with the set's manifest."""

    folder: Path
    manifest: Manifest

    def claim(self, path: Path, *, empty: bool) -> None:
        """Writes the manifest of a new set; a resumed set keeps its own."""
        if (self.folder / MANIFEST).exists():
            self.manifest.check_same(self.folder, read_manifest(self.folder))
        elif empty:
            write_whole(self.folder / MANIFEST, self.manifest.model_dump_json(indent=2) + "\n")
        else:
            raise ConfigError(f"{path} has records but no {MANIFEST} that says how they were made. {ANOTHER_OUT}")


def named_share(name: str) -> float:
    """A deterministic number in [0, 1), by the name alone."""
    return int.from_bytes(blake2b(name.encode(), digest_size=7).digest(), "big") / 2**56


def gate_of(log: Path) -> str:
    """Name of the verifier that gated a log which `vista-guard oasis export` wrote; empty for any other log."""
    for folder in (log.parent.parent, log.parent):
        try:
            gate = str(json.loads((folder / EXPORT).read_bytes())["gate"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        return "" if gate == "none" else gate
    return ""
