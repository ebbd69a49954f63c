"""Records of generated pairs: a passage, its claims, one falsified claim, a factual and an unfactual text (LLM-OASIS, §3).

A record is written once, accepted or not: what a gate rejected stays, with the reason and the model's raw answer, so that no
paid work is lost and nobody wonders where the items went.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, model_validator

from vista_guard.errors import InputError
from vista_guard.stores.line_file import LineKind
from vista_lab.files import reading
from vista_lab.runs.made import RECORDS, GateVerdict, State


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Passage(_Part):
    """A window of consecutive sentences of a document. t in the paper."""

    document: str
    """The document's path below the folder, with `/` on every system."""
    first: int = Field(ge=0)
    """Index of its first sentence in the document."""
    sentences: int = Field(ge=1)
    """Number of sentences. K in the paper."""
    text: str = Field(min_length=1)

    @property
    def id(self) -> str:
        """The passage's name in files and sheets: `handbook/fees.md#12+5`."""
        return f"{self.document}#{self.first}+{self.sentences}"


class GeneratedPair(_Part):
    """The outcome of the four steps on a passage."""

    claims: tuple[str, ...] = Field(min_length=1)
    """C = (c_1, …, c_n), in the passage's order (Eq. 1)."""
    altered: int = Field(ge=0)
    """Index i in `claims` of the claim that was falsified."""
    falsified: str
    """c̄_i (Eq. 2)."""
    factual: str
    """F, a paraphrase of the passage along C (Eq. 3)."""
    unfactual: str
    """U, made of F with c̄_i in the place of c_i (Eq. 4)."""

    @model_validator(mode="after")
    def _altered_is_a_claim(self) -> GeneratedPair:
        if self.altered >= len(self.claims):
            raise ValueError(f"altered is {self.altered}, but there are {len(self.claims)} claims, counted from 0")
        return self

    @property
    def original(self) -> str:
        """c_i, the claim that was falsified."""
        return self.claims[self.altered]

    @property
    def altered_claims(self) -> list[str]:
        """C̄: the claims with the falsified one in its place."""
        return [*self.claims[: self.altered], self.falsified, *self.claims[self.altered + 1 :]]


@dataclass(frozen=True)
class NoPair:
    """Why a passage gave no pair; the model's raw answer where a model was asked."""

    reason: str
    raw: str = ""


@dataclass(frozen=True)
class PairAnswer:
    """A passage's pair, or why there is none, and the calls it took."""

    pair: GeneratedPair | NoPair
    attempts: int = 1


class Record(_Part):
    """A passage and its outcome."""

    passage: Passage
    made_by: str
    """The generator: `embedded` and the version of its rules, or the model's name."""
    state: State
    pair: GeneratedPair | None = None
    """None where no whole answer came."""
    verdicts: tuple[GateVerdict, ...] = ()
    """Of every gate that ran, passed ones too."""
    reason: str = ""
    """Why it was rejected or is doubtful, in words."""
    raw: str = ""
    """The last raw answer of the model where the record was rejected."""
    attempts: int = Field(default=1, ge=0)
    """Calls to the generator."""

    @model_validator(mode="after")
    def _whole_unless_rejected(self) -> Record:
        if self.pair is None and self.state is not State.REJECTED:
            raise ValueError(f"a record that is {self.state} has a pair")
        return self


RECORD_LINES = LineKind(
    Record,
    noun="record",
    group=lambda record: record.passage.document,
    key=lambda record: record.passage.id,
    again=lambda record: f"holds passage {record.passage.id} again",
)
"""A record a line, found by its document."""


def read_records(folder: Path) -> Iterator[Record]:
    """The records of a generated set, in the order of writing. An unfinished last line is skipped.

    Raises:
        ConfigError: a line is no record; names it.
        InputError: the folder has none, or two of one passage.
    """
    path, seen = folder / RECORDS, set[str]()
    with reading(path, "; give the folder that vista-guard oasis generate wrote"), path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if not line.endswith(b"\n"):
                return
            record = RECORD_LINES.read(path, line, number)
            if record.passage.id in seen:
                raise InputError(RECORD_LINES.twice(path, number, record))
            seen.add(record.passage.id)
            yield record


def all_records(sets: Sequence[Path]) -> Iterator[Record]:
    """The records of several sets, such as those of shards.

    Raises ConfigError, InputError: as `read_records`, or two sets hold one passage.
    """
    seen: dict[str, Path] = {}
    for folder in sets:
        for record in read_records(folder):
            if record.passage.id in seen:
                earlier = seen[record.passage.id]
                raise InputError(f"{earlier} and {folder} both hold passage {record.passage.id}; give each set once")
            seen[record.passage.id] = folder
            yield record
