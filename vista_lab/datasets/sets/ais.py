"""AIS (Rashkin et al. 2023): models' answers in Wizard of Wikipedia and QReCC, and whether their source carries them.

The annotations are a CSV: `ex-idx`, `doc-url`, `model-name`, `output`, and by majority of five `INT` (the answer can be
understood), `INT & AIS` (and all of it is attributable to the source), `Flagged` (the task is malformed). What was said before,
and the source, are in files of the other data sets, found by `ex-idx` (conversation:turn) and `doc-url`. These are read as their
publishers describe them. A dialogue of Wizard of Wikipedia is a list `dialog` of `speaker` (`0_Wizard`, the assistant, and
`1_Apprentice`), `text`, and of the wizard's turns `checked_sentence` and `checked_passage`, each one text by its key.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vista_guard.errors import InputError
from vista_guard.types import Document, Role, Turn
from vista_lab.datasets import files
from vista_lab.logs.source import BrokenEntry, LoggedConversation, TurnGold

COLUMNS = ("ex-idx", "doc-url", "model-name", "output", "INT", "INT & AIS", "Flagged")
BINARY = {"0": False, "1": True}
ATTRIBUTABLE = TurnGold("attributable", False)
NOT_ATTRIBUTABLE = TurnGold("not attributable", True)
NOT_INTERPRETABLE = TurnGold("not interpretable", None)
"""Attribution was judged of answers only that could be understood."""


def read_wow(paths: Sequence[Path]) -> Iterator[files.Entry]:
    """The annotated answers of `ann_wow.csv` in Wizard of Wikipedia's `test_random_split.json`; the last turn has gold."""
    annotations, wizard = paths
    dialogues = list(files.whole(files.json_rows(wizard)))

    def conversation(row: files.Row) -> Iterator[LoggedConversation]:
        place, turn = _places(row)
        gold = _gold(row)
        if place >= len(dialogues):
            raise InputError(f"names conversation {place}; {wizard} has {len(dialogues)}")
        history, document = _grounds_of(dialogues[place], turn)
        yield files.labelled(
            row, _identity("wow", row), (*history, files.answer(row.nonblank("output"), document)), gold
        )

    yield from files.entries(files.table_rows(annotations, COLUMNS), conversation)


def read_qrecc(paths: Sequence[Path]) -> Iterator[files.Entry]:
    """The annotated answers of `ann_qrecc.csv` in `qrecc_test.json`, with passages: JSON lines of `id` and `contents`."""
    annotations, questions, collection = paths
    known = _Questions.read(questions)
    rows = list(files.table_rows(annotations, COLUMNS))
    cited = {str(row.content["doc-url"]) for row in rows if not isinstance(row, BrokenEntry)}
    texts = _passages(collection, cited)

    def conversation(row: files.Row) -> Iterator[LoggedConversation]:
        url, gold = row.nonblank("doc-url"), _gold(row)
        if url not in texts:
            raise InputError(f"cites the passage {url[:200]}, which {collection} lacks")
        turns = (*known.history(*_places(row)), files.answer(row.nonblank("output"), files.documents([texts[url]])))
        yield files.labelled(row, _identity("qrecc", row), turns, gold)

    yield from files.entries(rows, conversation)


def _gold(row: files.Row) -> TurnGold:
    if row.label("Flagged", BINARY):
        raise InputError("was flagged as malformed by the annotators, who did not judge it")
    understood, carried = row.label("INT", BINARY), row.label("INT & AIS", BINARY)
    if not understood:
        return NOT_INTERPRETABLE
    return ATTRIBUTABLE if carried else NOT_ATTRIBUTABLE


def _places(row: files.Row) -> tuple[int, int]:
    parts = row.nonblank("ex-idx").split(":")
    if len(parts) != 2 or not all(part.isdigit() for part in parts):
        raise InputError(f"ex-idx is {':'.join(parts)[:80]!r}; expected conversation:turn, as in 150:1")
    return int(parts[0]), int(parts[1])


def _identity(source: str, row: files.Row) -> str:
    return f"ais-{source}-{row.nonblank('ex-idx')}-{row.nonblank('model-name')}"


# Wizard of Wikipedia (Dinan et al. 2019), as far as its annotations need it

NO_PASSAGE = "no_passages_used"


def _grounds_of(dialogue: files.Row, turn: int) -> tuple[tuple[Turn, ...], tuple[Document, ...]]:
    """The turns before turn `turn`, which counts from 0, and the sentence that the wizard chose for it."""
    messages = dialogue.parts("dialog")
    if turn >= len(messages):
        raise InputError(f"{dialogue.source} has no turn {turn}: it has {len(messages)}")
    try:
        history = tuple(Turn(role=_role(message), text=message.text("text")) for message in messages[:turn])
        return history, _documents(messages[turn])
    except InputError as exc:
        raise InputError(f"{dialogue.source}: {exc}") from exc


def _role(message: files.Row) -> Role:
    return Role.ASSISTANT if message.nonblank("speaker").endswith("Wizard") else Role.USER


def _documents(message: files.Row) -> tuple[Document, ...]:
    sentence, title = _first_text(message, "checked_sentence"), _first_text(message, "checked_passage")
    if not sentence or sentence == NO_PASSAGE:
        return ()
    return (Document(id="e1", text=sentence, title=None if title == NO_PASSAGE else title or None),)


def _first_text(message: files.Row, name: str) -> str:
    value = message.content.get(name)
    if isinstance(value, Mapping):
        value = next(iter(value.values()), "")
    return value if isinstance(value, str) else ""


# QReCC (Anantha et al. 2021), as far as its annotations need it

ANSWERS = ("Answer", "Truth_answer")
"""QReCC's own name, and the name in the files of SCAI-QReCC-21."""


@dataclass(frozen=True)
class _Questions:
    """The questions of one file, by conversation and turn."""

    path: Path
    rows: Mapping[tuple[int, int], files.Row]

    @classmethod
    def read(cls, path: Path) -> _Questions:
        """Reads a JSON list of `Conversation_no`, `Turn_no`, `Question`, `Answer` or `Truth_answer`, and maybe `Context`."""
        rows = files.whole(files.json_rows(path))
        try:
            return cls(path, {(row.number_of("Conversation_no"), row.number_of("Turn_no")): row for row in rows})
        except InputError as exc:
            raise InputError(f"{path} is not QReCC's file of questions: {exc}") from exc

    def history(self, conversation: int, turn: int) -> tuple[Turn, ...]:
        """The conversation up to and including a turn's question."""
        if (conversation, turn) not in self.rows:
            raise InputError(f"names question {conversation}:{turn}, which {self.path} lacks")
        row = self.rows[conversation, turn]
        before = row.texts("Context") if "Context" in row.content else self._before(conversation, turn)
        return files.turns_of([*before, row.nonblank("Question")])

    def _before(self, conversation: int, turn: int) -> list[str]:
        """Earlier questions and answers, where the file does not repeat them with each question."""
        places = sorted(place for place in self.rows if place[0] == conversation and place[1] < turn)
        earlier = [self.rows[place] for place in places]
        return [text for row in earlier for text in (row.nonblank("Question"), _qrecc_answer(row))]


def _passages(path: Path, wanted: Collection[str]) -> dict[str, str]:
    """The texts of these passages, as far as a file of JSON lines (`id`, `contents`) holds them. The file is streamed."""
    rows = (row for row in files.whole(files.json_rows(path)) if str(row.content.get("id")) in wanted)
    return {row.name("id"): row.text("contents") for row in rows}


def _qrecc_answer(row: files.Row) -> str:
    return next((row.text(name) for name in ANSWERS if name in row.content), "")
