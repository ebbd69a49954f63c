"""QReCC (Anantha et al. 2021), as far as annotations of it need it: what was said before an answer, and passages by their ids."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from vista_guard.errors import InputError
from vista_guard.types import Turn
from vista_lab.datasets.files import Row, json_rows, turns_of, whole

ANSWERS = ("Answer", "Truth_answer")
"""QReCC's own name, and the name in the files of SCAI-QReCC-21."""


@dataclass(frozen=True)
class Questions:
    """The questions of one file, by conversation and turn."""

    path: Path
    rows: Mapping[tuple[int, int], Row]

    @classmethod
    def read(cls, path: Path) -> Questions:
        """A JSON list of `Conversation_no`, `Turn_no`, `Question`, `Answer` or `Truth_answer`, and maybe `Context`.

        Raises:
            InputError: the file is something else.
        """
        rows = whole(json_rows(path))
        try:
            return cls(path, {(row.number_of("Conversation_no"), row.number_of("Turn_no")): row for row in rows})
        except InputError as exc:
            raise InputError(f"{path} is not QReCC's file of questions: {exc}") from exc

    def history(self, conversation: int, turn: int) -> tuple[Turn, ...]:
        """The conversation up to and including a turn's question.

        Raises:
            InputError: there is no such question.
        """
        if (conversation, turn) not in self.rows:
            raise InputError(f"names question {conversation}:{turn}, which {self.path} lacks")
        row = self.rows[conversation, turn]
        before = row.texts("Context") if "Context" in row.content else self._before(conversation, turn)
        return turns_of([*before, row.nonblank("Question")])

    def _before(self, conversation: int, turn: int) -> list[str]:
        """Earlier questions and answers, where the file does not repeat them with each question."""
        places = sorted(place for place in self.rows if place[0] == conversation and place[1] < turn)
        earlier = [self.rows[place] for place in places]
        return [text for row in earlier for text in (row.nonblank("Question"), _answer(row))]


def passages(path: Path, wanted: Collection[str]) -> dict[str, str]:
    """The texts of these passages, as far as a file of JSON lines (`id`, `contents`) holds them. The file is streamed.

    Raises:
        InputError: the file cannot be read, or a line is something else.
    """
    return {
        row.name("id"): row.text("contents") for row in whole(json_rows(path)) if str(row.content.get("id")) in wanted
    }


def _answer(row: Row) -> str:
    return next((row.text(name) for name in ANSWERS if name in row.content), "")
