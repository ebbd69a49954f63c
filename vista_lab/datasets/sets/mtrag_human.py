"""MTRAG's human evaluation (Katsis et al. 2025): models' answers, judged by people on four points, of which one is faithfulness.

One JSON mapping in the format of InspectorRAGet: `tasks` (`task_id`, `input`, `contexts` by document id), `documents`, `metrics`,
and `evaluations` of `task_id`, `model_id`, `model_response` and `annotations`: by metric and annotator a `value`, from No (1)
over Mostly No and Mostly Yes to Yes (4). Written from the publisher's description of the file and of the format.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median

from vista_guard.errors import InputError
from vista_guard.types import Document
from vista_lab.datasets.files import Entry, Row, answer, entries, json_object, labelled
from vista_lab.datasets.sets.mtrag import message_turn
from vista_lab.logs.source import LoggedConversation, TurnGold

METRIC = "faithfulness"
SCALE = {"no": 1.0, "mostly no": 2.0, "mostly yes": 3.0, "yes": 4.0}
MIDDLE = 2.5
"""Between Mostly No and Mostly Yes: a median there leaves open what the annotators hold of the answer."""


def read(paths: Sequence[Path]) -> Iterator[Entry]:
    """A conversation for each answer of a model that people judged; the answer has gold.

    The gold is the annotators' median: below the middle of the scale the answer is not faithful, above it is, at the middle
    it is open.

    Raises:
        InputError: the file as a whole cannot be read, or nothing in it was judged by people.
    """
    (path,) = paths
    file = json_object(path)
    documents = {one.name("document_id"): one for one in file.parts("documents")}
    tasks = {one.name("task_id"): one for one in file.parts("tasks")}
    metric = _metric(file)

    def conversation(row: Row) -> Iterator[LoggedConversation]:
        name, annotations = row.name("task_id"), row.value("annotations")
        if not isinstance(annotations, Mapping) or metric not in annotations:
            raise InputError(f"has no human judgement of {metric}")
        if name not in tasks:
            raise InputError(f"names the task {name!r}, which the file lacks")
        task = tasks[name]
        grounds = tuple(_document(part, documents) for part in task.parts("contexts"))
        turns = (
            *(message_turn(one) for one in task.parts("input")),
            answer(row.nonblank("model_response"), grounds),
        )
        yield labelled(row, f"{name}-{row.name('model_id')}", turns, _gold(annotations[metric], metric))

    yield from entries(file.parts("evaluations"), conversation)


def _metric(file: Row) -> str:
    """The metric's name in the annotations, which files write differently."""
    for part in file.parts("metrics"):
        shown = str(part.content.get("display_name", part.content.get("displayName", "")))
        if part.content.get("author", "human") == "human" and METRIC in (part.nonblank("name").lower(), shown.lower()):
            return part.nonblank("name")
    raise InputError(f"{file.path} has no human metric {METRIC}; use reference_subset_with_human_evaluations.json")


def _document(part: Row, documents: Mapping[str, Row]) -> Document:
    name = part.name("document_id")
    if name not in documents:
        raise InputError(f"cites the document {name!r}, which the file lacks")
    title = documents[name].content.get("title")
    return Document(id=name, text=documents[name].text("text"), title=str(title) if title else None)


def _gold(votes: object, metric: str) -> TurnGold:
    if not isinstance(votes, Mapping) or not votes:
        raise InputError(f"{metric} is {str(votes)[:80]!r}; expected one value per annotator")
    found = median(_points(one, metric) for one in votes.values())
    label = next((word for word, points in SCALE.items() if points == found), f"{found:g}")
    return TurnGold(label, None if found == MIDDLE else found < MIDDLE)


def _points(vote: object, metric: str) -> float:
    value = vote.get("value") if isinstance(vote, Mapping) else vote
    word = str(value).strip().lower().replace("_", " ")
    points = SCALE.get(word)
    if points is None:
        points = next((one for one in SCALE.values() if word in (f"{one:g}", f"{one}")), None)
    if points is None:
        raise InputError(f"{metric} is {str(value)[:80]!r}; expected 1 to 4, or {', '.join(SCALE)}")
    return points
