"""MTRAG (Katsis et al. 2025) and MTRAG-UN (Rosenthal et al. 2026): questions in conversations, and answers that people wrote.

JSON lines, a generation task each: `input` (the conversation up to the question; speakers are `user` and `agent`), `contexts`
(the passages that the answer was written from), `targets` (the answer), `Answerability` (MTRAG-UN: `answerability`). The readers
give the answers to answerable questions: these are faithful by construction, so false alarms are counted on them. A task does
not say which passages earlier answers were written from.

MTRAG's human evaluation has models' answers, judged by people on four points, one of them faithfulness: one JSON mapping, as of
InspectorRAGet: `tasks` (`task_id`, `input`, `contexts` by document id), `documents`, `metrics`, and `evaluations` of `task_id`,
`model_id`, `model_response` and `annotations`: by metric and annotator a `value`, from No (1) over Mostly No and Mostly Yes to
Yes (4). Written from the publisher's description of the file and of the format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from vista_guard.errors import InputError
from vista_guard.types import Document, Role, Turn
from vista_lab.datasets import files
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


def tasks(path: Path) -> Iterator[GenerationTask | BrokenEntry]:
    """All tasks of one file, those without an answer in their passages among them."""
    yield from files.records(files.json_rows(path), task_of)


def task_of(row: files.Row) -> GenerationTask:
    """The task of a row."""
    targets = row.parts("targets")
    if not targets:
        raise InputError("has no answer: targets is empty")
    return GenerationTask(
        conversation=row.name("conversation_id"),
        task=row.name("task_id"),
        number=row.name("turn"),
        collection=row.name("Collection"),
        answerability=_answerability(row),
        said=tuple(map(_message_turn, row.parts("input"))),
        passages=tuple(map(_passage, row.parts("contexts"))),
        answer=targets[0].nonblank("text"),
    )


def _message_turn(message: files.Row) -> Turn:
    return Turn(role=message.label("speaker", SPEAKERS), text=message.text("text"))


def _passage(part: files.Row) -> Document:
    title = part.content.get("title")
    text = str(title) if isinstance(title, str) and title else None
    return Document(id=part.name("document_id"), text=part.text("text"), title=text)


def _answerability(row: files.Row) -> tuple[str, ...]:
    kinds = tuple(row.texts("answerability" if "answerability" in row.content else "Answerability"))
    strange = [kind for kind in kinds if kind not in KINDS]
    if strange or not kinds:
        raise InputError(f"answerability is {list(kinds)}; the kinds are {', '.join(sorted(KINDS))}"[:300])
    return kinds


def _faithful(include: Callable[[GenerationTask], bool]) -> files.Read:
    def conversation(row: files.Row) -> Iterator[LoggedConversation]:
        task = task_of(row)
        if task.is_supported and include(task):
            yield files.labelled(row, task.task, (*task.said, files.answer(task.answer, task.documents)), FAITHFUL)

    return files.reader(files.json_rows, conversation)


read = _faithful(lambda task: True)
"""The answers that their passages carry, each at the end of its conversation."""
read_development = _faithful(lambda task: task.development)
read_training = _faithful(lambda task: not task.development)


METRIC = "faithfulness"
SCALE = {"no": 1.0, "mostly no": 2.0, "mostly yes": 3.0, "yes": 4.0}
MIDDLE = 2.5
"""Between Mostly No and Mostly Yes: a median there leaves the gold open."""


def read_human(paths: Sequence[Path]) -> Iterator[files.Entry]:
    """A conversation for each answer of a model that people judged, with the annotators' median as its gold.

    Below the middle of the scale the answer is not faithful, above it is, at the middle it is open.
    """
    (path,) = paths
    file = files.json_object(path)
    documents = {entry.name("document_id"): entry for entry in file.parts("documents")}
    tasks = {entry.name("task_id"): entry for entry in file.parts("tasks")}
    metric = _metric(file)

    def conversation(row: files.Row) -> Iterator[LoggedConversation]:
        name, annotations = row.name("task_id"), row.value("annotations")
        if not isinstance(annotations, Mapping) or metric not in annotations:
            raise InputError(f"has no human judgement of {metric}")
        if name not in tasks:
            raise InputError(f"names the task {name!r}, which the file lacks")
        task = tasks[name]
        grounds = tuple(_document(part, documents) for part in task.parts("contexts"))
        turns = [*map(_message_turn, task.parts("input")), files.answer(row.nonblank("model_response"), grounds)]
        yield files.labelled(row, f"{name}-{row.name('model_id')}", turns, _gold(annotations[metric], metric))

    yield from files.entries(file.parts("evaluations"), conversation)


def _metric(file: files.Row) -> str:
    for part in file.parts("metrics"):
        title = str(part.content.get("display_name", part.content.get("displayName", "")))
        if part.content.get("author", "human") == "human" and METRIC in (part.nonblank("name").lower(), title.lower()):
            return part.nonblank("name")
    raise InputError(f"{file.path} has no human metric {METRIC}; use reference_subset_with_human_evaluations.json")


def _document(part: files.Row, documents: Mapping[str, files.Row]) -> Document:
    name = part.name("document_id")
    if name not in documents:
        raise InputError(f"cites the document {name!r}, which the file lacks")
    title = documents[name].content.get("title")
    return Document(id=name, text=documents[name].text("text"), title=str(title) if title else None)


def _gold(votes: object, metric: str) -> TurnGold:
    if not isinstance(votes, Mapping) or not votes:
        raise InputError(f"{metric} is {str(votes)[:80]!r}; expected one value per annotator")
    score = median(_points(vote, metric) for vote in votes.values())
    label = next((word for word, points in SCALE.items() if points == score), f"{score:g}")
    return TurnGold(label, None if score == MIDDLE else score < MIDDLE)


def _points(vote: object, metric: str) -> float:
    value = vote.get("value") if isinstance(vote, Mapping) else vote
    word = str(value).strip().lower().replace("_", " ")
    for name, points in SCALE.items():
        if word in (name, f"{points:g}", f"{points}"):
            return points
    raise InputError(f"{metric} is {str(value)[:80]!r}; expected 1 to 4, or {', '.join(SCALE)}")
