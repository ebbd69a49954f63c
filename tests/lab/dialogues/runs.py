"""Runs of dialogues for tests: items, an assistant by the script, and judges that read marks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from vista_guard.judges.model import Message
from vista_guard.types import Claim, JudgeInfo, Turn
from vista_lab.dialogues.asking import AssistantReply, DialogueCounts, Dialogues, ask
from vista_lab.dialogues.judging import PairVerdict
from vista_lab.dialogues.questions import QuestionItem, QuestionSet
from vista_lab.dialogues.settings import read_setting

HARBOUR = QuestionItem(
    "harbour",
    ("When was the harbour dug?", "Who paid for it?", "What did it cost?"),
    "What did it cost?",
    answer="It cost nine million. The city paid half.",
    facts=("It cost nine million.", "The city paid half."),
    domains=("history",),
    documents=("The harbour was dug in 1866. It cost nine million. The city paid half.",),
)
TOWER = QuestionItem(
    "tower",
    ("Is the tower open?", "How high is it?"),
    "How high is it?",
    answer="It is 40 metres high.",
    facts=("It is 40 metres high.",),
    domains=("history", "travel"),
    documents=("The tower is 40 metres high and open on Sundays.",),
)


class Scripted:
    """Answers by a function of the messages; keeps what it was asked."""

    def __init__(
        self, answer: Callable[[Sequence[Message]], str | AssistantReply | Exception], name: str = "scripted"
    ) -> None:
        self._answer = answer
        self.name = name
        self.asked: list[list[Message]] = []

    @property
    def parameters(self) -> Mapping[str, Any]:
        return {}

    async def answer(self, messages: Sequence[Message]) -> AssistantReply:
        self.asked.append(list(messages))
        said = self._answer(messages)
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, AssistantReply) else AssistantReply(said)

    async def aclose(self) -> None:
        """Nothing is open."""


def hold(
    out: Path,
    assistant: Scripted,
    *settings: str,
    items: Sequence[QuestionItem] = (HARBOUR, TOWER),
    system: Mapping[str, str] | None = None,
) -> DialogueCounts:
    """Holds the dialogues one after the other."""
    questions = QuestionSet("own", "0" * 64, tuple(items))
    dialogues = Dialogues(
        questions, Path("own.jsonl"), [assistant], [read_setting(one) for one in settings], system or {}
    )
    return asyncio.run(ask(dialogues, out, at_once=1))


class BySentence:
    """A decomposer: each sentence is a claim."""

    info = JudgeInfo(name="by sentence", version="1")

    async def decompose(self, turn: Turn, context: Sequence[Turn]) -> list[Claim]:  # of the protocol
        texts = [one.strip() + "." for one in turn.text.split(".") if one.strip()]
        return [Claim(id=f"c{number}", text=text) for number, text in enumerate(texts, 1)]


class Literal:
    """A judge: entailed is what stands there, contradicted what stands there behind `not: `; `?` is left open."""

    name = "literal"

    def __init__(self) -> None:
        self.asked = 0

    async def judge(self, premise: str, claims: Sequence[str]) -> list[PairVerdict]:
        self.asked += len(claims)
        return [
            PairVerdict(None, None, failure="no majority: entails")
            if "?" in claim
            else PairVerdict(
                claim in premise.replace(f"not: {claim}", ""), _denies(premise, claim) or _denies(claim, premise)
            )
            for claim in claims
        ]

    async def aclose(self) -> None:
        """Nothing is open."""


def _denies(text: str, other: str) -> bool:
    return any(f"not: {one.strip()}." in text for one in other.split(".") if one.strip())
