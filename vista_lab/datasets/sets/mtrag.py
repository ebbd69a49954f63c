"""MTRAG (Katsis et al. 2025) and MTRAG-UN (Rosenthal et al. 2026): questions in conversations, and answers that people wrote.

JSON lines, a generation task each: `input` (the conversation up to the question; speakers are `user` and `agent`), `contexts`
(the passages that the answer was written from), `targets` (the answer), `Answerability` (MTRAG-UN: `answerability`). What the
readers give are the answers to answerable questions: faithful by how they were made, so false alarms are counted on them. Which
passages earlier answers were written from, a task does not say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from vista_guard.errors import InputError
from vista_guard.types import Document, Role, Turn
from vista_lab.datasets.files import Entry, Row, answer, entries, json_rows, labelled, records
from vista_lab.logs.source import BrokenEntry, LoggedConversation, TurnGold

ANSWERABLE = "ANSWERABLE"
KINDS = frozenset((ANSWERABLE, "UNANSWERABLE", "PARTIAL", "UNDERSPECIFIED", "CONVERSATIONAL"))
SPEAKERS = {"user": Role.USER, "agent": Role.ASSISTANT}
FAITHFUL = TurnGold(ANSWERABLE, False)


@dataclass(frozen=True)
class GenerationTask:
    """A question with what was said before, the passages at hand, and the answer that people wrote."""

    conversation: str
    task: str
    number: str
    """Of the turn in its conversation."""
    collection: str
    answerability: tuple[str, ...]
    said: tuple[Turn, ...]
    """Up to and with the question."""
    passages: tuple[Document, ...]
    """In the file's order; ids may repeat."""
    answer: str

    @property
    def is_supported(self) -> bool:
        """True when its passages support the whole answer."""
        return self.answerability == (ANSWERABLE,) and bool(self.passages)

    @property
    def development(self) -> bool:
        """True for a development conversation, which no training may use: its id ends in 0 to 4."""
        return self.conversation[-1] in "01234"

    @property
    def documents(self) -> tuple[Document, ...]:
        """The passages, each id once: the last of the same id, at the first one's place."""
        return tuple({passage.id: passage for passage in self.passages}.values())


def read(paths: Sequence[Path]) -> Iterator[Entry]:
    """The answers that their passages carry, each at the end of its conversation.

    Raises:
        InputError: the file as a whole cannot be read.
    """
    yield from _read(paths, lambda task: True)


def read_development(paths: Sequence[Path]) -> Iterator[Entry]:
    """The same, of conversations to look at."""
    yield from _read(paths, lambda task: task.development)


def read_training(paths: Sequence[Path]) -> Iterator[Entry]:
    """The same, of conversations to learn from."""
    yield from _read(paths, lambda task: not task.development)


def tasks(path: Path) -> Iterator[GenerationTask | BrokenEntry]:
    """All tasks of one file, those without an answer in their passages among them."""
    yield from records(json_rows(path), task_of)


def task_of(row: Row) -> GenerationTask:
    """A row of the file.

    Raises:
        InputError: something is missing or of another kind.
    """
    targets = row.parts("targets")
    if not targets:
        raise InputError("has no answer: targets is empty")
    return GenerationTask(
        conversation=row.name("conversation_id"),
        task=row.name("task_id"),
        number=row.name("turn"),
        collection=row.name("Collection"),
        answerability=_answerability(row),
        said=tuple(message_turn(message) for message in row.parts("input")),
        passages=tuple(passage(part) for part in row.parts("contexts")),
        answer=targets[0].nonblank("text"),
    )


def message_turn(message: Row) -> Turn:
    return Turn(role=message.label("speaker", SPEAKERS), text=message.text("text"))


def passage(part: Row) -> Document:
    """A passage of `contexts`; its title may be missing."""
    title = part.content.get("title")
    text = str(title) if isinstance(title, str) and title else None
    return Document(id=part.name("document_id"), text=part.text("text"), title=text)


def _read(paths: Sequence[Path], wanted: Callable[[GenerationTask], bool]) -> Iterator[Entry]:
    def conversation(row: Row) -> Iterator[LoggedConversation]:
        task = task_of(row)
        if task.is_supported and wanted(task):
            yield labelled(row, task.task, (*task.said, answer(task.answer, task.documents)), FAITHFUL)

    (path,) = paths
    yield from entries(json_rows(path), conversation)


def _answerability(row: Row) -> tuple[str, ...]:
    found = tuple(row.texts("answerability" if "answerability" in row.content else "Answerability"))
    strange = [one for one in found if one not in KINDS]
    if strange or not found:
        raise InputError(f"answerability is {list(found)}; the kinds are {', '.join(sorted(KINDS))}"[:300])
    return found
