"""The lines of the three files of a run of dialogues. Every line names its answer: model, setting, sample, turn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Literal, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from vista_guard.errors import InputError
from vista_guard.stores.line_file import LineKind

ANSWERS, STATEMENTS, JUDGEMENTS = "answers.jsonl", "statements.jsonl", "judgements.jsonl"
NOISE = "noise.jsonl"
"""Wrong answers for settings with `noise`, and who confirmed each."""

Direction = Literal["fact", "statement"]
"""`fact`: a fact checked against the answer. `statement`: a statement of the answer checked against the reference."""


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
    withheld: str | None = None
    """The assistant's first answer, if the guard delivered another text."""
    action: str | None = None
    """The guard's action (`ALLOW`, `FLAG`, …); None without a guard."""
    drafts: int = 1
    """The assistant's answers until one was delivered: a guard may ask it again."""
    retrieved: tuple[str, ...] = ()
    """Passages shown with the question: `DOCUMENT:FIRST-END`, in characters."""
    calls: int = 1
    """Requests to the assistant at this turn: a guard may ask again, a mitigation asks before or after."""
    guard_calls: int = 0
    """Requests of the guard's judge at this turn."""
    seconds: float = 0.0


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
