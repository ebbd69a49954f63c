"""A run of dialogues on disk: its manifest, and the lines of its three files.

Every line names its answer: model, setting, sample, turn.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from vista_guard.errors import ConfigError, InputError
from vista_guard.stores.line_file import ANOTHER_OUT, LineKind, refuse_differences, write_whole
from vista_guard.types import Action
from vista_lab.files import reading
from vista_lab.runs.folder import MANIFEST

ANSWERS, STATEMENTS, JUDGEMENTS = "answers.jsonl", "statements.jsonl", "judgements.jsonl"
NOISE = "noise.jsonl"
"""Wrong answers for settings with `noise`, and who confirmed each."""


class DialogueManifest(BaseModel):
    """Settings of a run of dialogues. Only the same settings resume it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    made_by: str
    kind: str = "dialogues"
    questions: str
    """Path of the question set, as given."""
    questions_sha256: str
    items: tuple[str, ...]
    """Ids of the dialogues, in order."""
    models: tuple[str, ...]
    settings: tuple[str, ...]
    system: Mapping[str, str]
    """System prompts by model."""
    parameters: Mapping[str, str]
    """Request parameters of each chat model, as JSON."""
    guarded_by: str = ""
    """The judge of the guards; empty if no setting has one."""
    references: str = ""
    """`oracle`, or the SHA-256 of the file of references; empty for the set's own documents, or none."""
    retrieval: str = ""
    """Embedder, reranker and corpus of settings with `rag`; empty if none has it."""
    noise: str = ""
    """SHA-256 of the inserted turns in settings with `noise`."""
    cut: str = "drop"
    """`count`: an answer cut at the token limit counts as it is; `drop`: it is no answer."""
    tokens: str = ""
    """The counter of settings with `budget`; empty if none has one."""
    left_out: Mapping[str, tuple[str, ...]] = {}
    """Items left out of a setting, by its name, followed by the model if models differ: they have no documents to
    retrieve, no history in the other run, or no noise."""
    created: datetime

    def claim(self, path: Path, *, empty: bool) -> None:
        """Writes the manifest of a new run, or checks that an existing one has the same settings."""
        place = path.parent / MANIFEST
        if place.exists():
            refuse_differences(path.parent, _fields(read_dialogue_manifest(path.parent)), _fields(self))
        elif empty:
            write_whole(place, self.model_dump_json(indent=2) + "\n")
        else:
            raise ConfigError(f"{path} has answers but no {MANIFEST} that says how they were asked for. {ANOTHER_OUT}")


def _fields(manifest: DialogueManifest) -> dict[str, str]:
    fields = manifest.model_dump(exclude={"made_by", "created", "questions"}, mode="json").items()
    return {name: value if isinstance(value, str) else json.dumps(value, sort_keys=True) for name, value in fields}


def read_dialogue_manifest(folder: Path) -> DialogueManifest:
    """The manifest of a run. Raises InputError if the folder is not a run of dialogues."""
    path = folder / MANIFEST
    with reading(path, "; give a folder of vista-guard knowmt run"):
        return DialogueManifest.model_validate_json(path.read_bytes())


Direction = Literal["fact", "statement"]
"""`fact`: a fact checked against the answer. `statement`: a statement of the answer checked against the reference."""


CUT_OFF = "cut off at the token limit"
"""The failure of a turn whose answer was cut, where cut answers are dropped."""


class AnswerName(NamedTuple):
    """Key of an answer in a run. `turn` counts from 0; `setting` is the setting's name (`multi+guard=balanced`)."""

    model: str
    setting: str
    sample: str
    turn: int


class PairSample(NamedTuple):
    """One reply of a model about a pair. `question`: `entails` or `contradicts`. `vote` None: unreadable."""

    question: str
    reply: str
    vote: bool | None


class _Line(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str
    setting: str
    sample: str
    turn: int = Field(ge=0)
    attempt: int = Field(default=0, ge=0)
    """Number of the try. The same command retries failures; the last try counts."""

    @property
    def name(self) -> AnswerName:
        """The answer that the line is about."""
        return AnswerName(self.model, self.setting, self.sample, self.turn)


class AnswerLine(_Line):
    """One requested turn. Exactly one of `answer` and `failure` is set."""

    question: str
    """The user's words of this turn."""
    is_last: bool
    """This answer is scored."""
    answer: str | None = None
    """The text that the user got, after the guard if there is one."""
    failure: str | None = None
    """Reason for a missing answer: refused, empty, cut off, prompt too long, endpoint down. Later turns are not asked; the same
    command retries."""
    thoughts: str = ""
    finish: str = "stop"
    """The endpoint's reason for the end; `length`: cut at the token limit."""
    withheld: str | None = None
    """The assistant's first answer, if the guard delivered another text."""
    action: str | None = None
    """The guard's action (`ALLOW`, `FLAG`, …); None without a guard."""
    drafts: int = 1
    """The assistant's answers until one was delivered: a guard may ask it again."""
    retrieved: tuple[str, ...] = ()
    """Passages shown with the question: `DOCUMENT:FIRST-END`, in characters."""
    history: tuple[int, int] | None = None
    """Messages and tokens of the history that a budget left; None without a budget."""
    calls: int = 1
    """Requests to the assistant at this turn: a guard may ask again, a mitigation asks before or after."""
    guard_calls: int = 0
    """Requests of the guard's judge at this turn."""
    seconds: float = 0.0

    @property
    def said(self) -> str:
        """The assistant's own words in the answer; empty where the guard blocked it, so that all of it is the guard's message."""
        return "" if self.action == Action.BLOCK else self.answer or ""

    @property
    def cut(self) -> bool:
        """True if the answer was cut at the token limit."""
        return self.answer is not None and self.finish == "length"


class StatementsLine(_Line):
    """The statements of a scored answer, as one decomposer makes them."""

    decomposer: str
    statements: tuple[str, ...] = ()
    failure: str | None = None


class JudgementLine(_Line):
    """One judge's verdicts on a pair. Both may be true; None: unjudged (no majority, or no answer)."""

    decomposer: str
    """Decomposer of the statement; empty for facts, which are the set's."""
    judge: str
    direction: Direction
    index: int = Field(ge=0)
    """Place of the fact in the set's list, or of the statement in the `StatementsLine`."""
    entails: bool | None
    contradicts: bool | None
    support: float | None = None
    """P(entailed), from judges that give one."""
    samples: tuple[PairSample, ...] = ()
    """All replies of a model, in order."""
    failure: str | None = None


def group_of(line: _Line) -> str:
    """The dialogue of a line."""
    return f"{line.model}\n{line.setting}\n{line.sample}"


ANSWER_LINES = LineKind(
    AnswerLine,
    noun="answer",
    group=group_of,
    key=lambda line: (line.name, line.attempt),
    again=lambda line: f"answers turn {line.turn} of sample {line.sample} again ({line.model}, {line.setting})",
)
STATEMENTS_LINES = LineKind(
    StatementsLine,
    noun="list of statements",
    group=group_of,
    key=lambda line: (line.name, line.decomposer, line.attempt),
    again=lambda line: f"decomposes the answer to sample {line.sample} again ({line.model}, {line.setting})",
)
JUDGEMENT_LINES = LineKind(
    JudgementLine,
    noun="judgement",
    group=group_of,
    key=lambda line: (line.name, line.decomposer, line.judge, line.direction, line.index, line.attempt),
    again=lambda line: (
        f"judges {line.direction} {line.index} of sample {line.sample} again ({line.model}, {line.setting})"
    ),
)

T = TypeVar("T", AnswerLine, StatementsLine, JudgementLine)


def read_lines(path: Path, kind: LineKind[T]) -> Iterator[T]:
    """The lines of a file, of every try; none if there is no file. A last line that is still being written is left out.

    Raises ConfigError if a line is malformed; names it.
    """
    if path.exists():
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if line.endswith(b"\n"):
                    yield kind.read(path, line, number)


def read_answers(folder: Path) -> Iterator[AnswerLine]:
    """The answers of a run, of every try.

    Raises InputError if the run has none; ConfigError if a line is malformed; names it.
    """
    if not (folder / ANSWERS).exists():
        raise InputError(f"{folder} has no {ANSWERS}; run vista-guard knowmt run first")
    yield from read_lines(folder / ANSWERS, ANSWER_LINES)


def read_dialogues(folder: Path) -> dict[tuple[str, str, str], dict[int, AnswerLine]]:
    """The last try of each turn, by model, setting and item. Raises as `read_answers`."""
    lines: dict[tuple[str, str, str], list[AnswerLine]] = defaultdict(list)
    for line in read_answers(folder):
        lines[line.model, line.setting, line.sample].append(line)
    return {name: latest(own) for name, own in lines.items()}


def latest(lines: Iterable[AnswerLine]) -> dict[int, AnswerLine]:
    """The last try of each turn."""
    return {line.turn: line for line in sorted(lines, key=lambda line: line.attempt)}


def last_answer(turns: Mapping[int, AnswerLine]) -> AnswerLine | None:
    """The answer that is scored; None if the dialogue has none yet."""
    return next((line for line in turns.values() if line.is_last and line.answer is not None), None)
