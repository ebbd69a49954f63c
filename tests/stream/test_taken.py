"""A stream's turn is stored when its reader has all of it, and not before: the process may be killed in between."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from tests.stream.test_gates import BAD, FREE, GOOD, NOTES, SentenceJudge
from vista_guard import Guard, TurnReport
from vista_guard.policy.label_policy import MESSAGE
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import WordEmbedder, conversation, user
from vista_guard.types import Claim


class Stores(MemoryKnowledge):
    """Knowledge and reports. Notes what the reader had taken, and asked for more after, when something was stored."""

    def __init__(self) -> None:
        super().__init__(WordEmbedder())
        self.taken = ""
        self.notes: list[tuple[str, str]] = []

    async def remember(self, conversation_id: str, turn_key: str, claims: Sequence[Claim]) -> None:
        self.notes.append(("knowledge", self.taken))
        await super().remember(conversation_id, turn_key, claims)

    async def write(self, report: TurnReport) -> None:
        """As a sink."""
        self.notes.append(("report", self.taken))


async def upstream(text: str) -> AsyncIterator[str]:
    for word in text.split(" "):
        yield f"{word} "


@pytest.mark.parametrize(
    ("text", "told"),
    [(f"{GOOD} {FREE}", f"{GOOD} {FREE} "), (f"{GOOD} {BAD} {FREE}", f"{GOOD}\n\n{MESSAGE}"), (BAD, MESSAGE)],
    ids=["delivered", "withheld after a sentence", "withheld"],
)
async def test_nothing_is_stored_that_was_not_taken(text: str, told: str) -> None:
    stores = Stores()
    guard = Guard(SentenceJudge(), knowledge=stores, sinks=[stores])
    asked = conversation(user("Tell me about the hall."), id="c")
    async for piece in guard.gated(asked, upstream(text), documents=[NOTES]):
        if isinstance(piece, str):
            stores.taken += piece
    assert stores.notes == [("knowledge", told), ("report", told)]
