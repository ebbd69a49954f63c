"""Answers from another run or from transcripts, as history or as an assistant of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vista_guard.errors import InputError
from vista_guard.judges.model import Message
from vista_guard.types import Role
from vista_lab.dialogues.asking import AssistantReply, Past
from vista_lab.dialogues.questions import QuestionItem
from vista_lab.dialogues.records import read_answers, read_dialogue_manifest
from vista_lab.logs.formats import LoggedConversation
from vista_lab.runs.plan import of_log


def read_history(folder: Path, model: str | None = None) -> dict[str, Past]:
    """The turns of a run in the setting `multi`, by item, as history for other dialogues; `model` picks one of several.

    Raises InputError if it has no such answers.
    """
    manifest = read_dialogue_manifest(folder)
    models = [model] if model else list(manifest.models)
    if "multi" not in manifest.settings or len(models) != 1 or models[0] not in manifest.models:
        asked = f"{', '.join(manifest.models)} in {', '.join(manifest.settings)}"
        how = "a history needs the setting multi and one model: swap=RUN, or swap=RUN:MODEL"
        raise InputError(f"{folder} asked {asked}; {how}")
    turns: dict[str, dict[int, tuple[str, str]]] = {}
    for line in read_answers(folder):
        if (line.model, line.setting) == (models[0], "multi") and line.answer is not None:
            turns.setdefault(line.sample, {})[line.turn] = line.question, line.answer
    whole = {name: own for name, own in turns.items() if sorted(own) == list(range(len(own)))}
    histories: dict[str, Past] = {name: tuple(own[turn] for turn in sorted(own)) for name, own in whole.items()}
    if not histories:
        raise InputError(f"{folder} has no answers in the setting multi")
    return histories


Said = Mapping[tuple[str, ...], str]
"""Answers by the user's turns before them."""


def read_transcripts(path: Path) -> Said:
    """The answers of a log in any format, by the user's turns before them; the first one if several have the same turns.

    Raises InputError if the log cannot be read, or holds no answer.
    """
    answers: dict[tuple[str, ...], str] = {}
    for entry in of_log(path).read():
        if isinstance(entry, LoggedConversation):
            questions: tuple[str, ...] = ()
            for turn in entry.conversation.turns:
                if turn.role is Role.USER:
                    questions = (*questions, _words(turn.text))
                elif turn.role is Role.ASSISTANT and questions:
                    answers.setdefault(questions, turn.text)
    if not answers:
        raise InputError(f"{path} has no answer of an assistant to a user's turn")
    return answers


def history_of(transcripts: Said, items: Sequence[QuestionItem]) -> dict[str, Past]:
    """The turns before the last with answers from transcripts, by item; items that lack an answer are left out."""
    histories: dict[str, Past] = {}
    for item in items:
        turns = [tuple(map(_words, item.questions[: turn + 1])) for turn in range(len(item.questions) - 1)]
        if all(key in transcripts for key in turns):
            histories[item.id] = tuple((item.questions[place], transcripts[key]) for place, key in enumerate(turns))
    return histories


def _words(text: str) -> str:
    return " ".join(text.split())


class TranscriptAssistant:
    """Implements `Assistant` with transcripts, `answers:FILE` in any format: gives the answer to the same turns.

    Raises InputError if the log cannot be read, or holds no answer.
    """

    parameters: Mapping[str, Any] = {}

    def __init__(self, name: str) -> None:
        self.name = name
        self._said = read_transcripts(Path(name.removeprefix("answers:")))

    async def answer(self, messages: Sequence[Message]) -> AssistantReply:
        questions = tuple(_words(message.content) for message in messages if message.role == "user")
        text = self._said.get(questions)
        return AssistantReply(text) if text else AssistantReply("", failure="not in the transcripts")

    async def aclose(self) -> None:
        """Nothing is open."""
