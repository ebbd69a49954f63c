"""Answers that somebody else gave: of another run, or of transcripts, as history or as an assistant of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vista_guard.errors import InputError
from vista_guard.judges.model import Message
from vista_guard.types import Role
from vista_lab.datasets.questions import QuestionItem
from vista_lab.logs.formats import LoggedConversation
from vista_lab.runs.dialogues.asking import AssistantReply, Past, read_dialogue_manifest
from vista_lab.runs.dialogues.records import read_answers
from vista_lab.runs.plan import of_log


def read_history(folder: Path, model: str | None = None) -> dict[str, Past]:
    """The turns of a run in the setting `multi`, by item, as the history of other dialogues; of `model` where it asked several.

    Raises InputError if it has no such answers.
    """
    manifest = read_dialogue_manifest(folder)
    models = [model] if model else list(manifest.models)
    if "multi" not in manifest.settings or len(models) != 1 or models[0] not in manifest.models:
        raise InputError(
            f"{folder} asked {', '.join(manifest.models)} in {', '.join(manifest.settings)}; a history needs the setting "
            "multi and one model: swap=RUN, or swap=RUN:MODEL"
        )
    found: dict[str, dict[int, tuple[str, str]]] = {}
    for line in read_answers(folder):
        if (line.model, line.setting) == (models[0], "multi") and line.answer is not None:
            found.setdefault(line.sample, {})[line.turn] = line.question, line.answer
    whole: dict[str, Past] = {
        name: tuple(own[turn] for turn in sorted(own))
        for name, own in found.items()
        if sorted(own) == list(range(len(own)))
    }
    if not whole:
        raise InputError(f"{folder} has no answers in the setting multi")
    return whole


Said = Mapping[tuple[str, ...], str]
"""What was answered, by what the user had said until then."""


def read_transcripts(path: Path) -> Said:
    """The answers of a log in any format, by the user's turns before them; the first of two to the same turns.

    Raises InputError if the log cannot be read, or holds no answer.
    """
    found: dict[tuple[str, ...], str] = {}
    for entry in of_log(path).read():
        if isinstance(entry, LoggedConversation):
            asked: tuple[str, ...] = ()
            for turn in entry.conversation.turns:
                if turn.role is Role.USER:
                    asked = (*asked, _words(turn.text))
                elif turn.role is Role.ASSISTANT and asked:
                    found.setdefault(asked, turn.text)
    if not found:
        raise InputError(f"{path} has no answer of an assistant to a user's turn")
    return found


def history_of(transcripts: Said, items: Sequence[QuestionItem]) -> dict[str, Past]:
    """The items' turns before the last as answered in transcripts, by item; only of items with all of them."""
    found: dict[str, Past] = {}
    for item in items:
        turns = [tuple(map(_words, item.questions[: turn + 1])) for turn in range(len(item.questions) - 1)]
        if all(one in transcripts for one in turns):
            found[item.id] = tuple((item.questions[place], transcripts[one]) for place, one in enumerate(turns))
    return found


def _words(text: str) -> str:
    return " ".join(text.split())


class TranscriptAssistant:
    """Implements `Assistant` with what stands in transcripts, `answers:FILE` in any format: the answer to the same turns.

    Raises InputError if the log cannot be read, or holds no answer.
    """

    parameters: Mapping[str, Any] = {}

    def __init__(self, name: str) -> None:
        self.name = name
        self._said = read_transcripts(Path(name.removeprefix("answers:")))

    async def answer(self, messages: Sequence[Message]) -> AssistantReply:
        asked = tuple(_words(one.content) for one in messages if one.role == "user")
        text = self._said.get(asked)
        return AssistantReply(text) if text else AssistantReply("", failure="not in the transcripts")

    async def aclose(self) -> None:
        """Nothing is open."""
