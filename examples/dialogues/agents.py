"""Two assistants for the tutorial. Both know the answers; one of them mixes them up when it has talked for a while."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

Messages = Sequence[Mapping[str, str]]

ANSWERS: dict[str, str] = {
    row["questions"][-1]: row["answer"]
    for row in map(json.loads, (Path(__file__).parent / "questions.jsonl").read_text(encoding="utf-8").splitlines())
}
MIXED_UP = {
    "What does that cost me?": "Repaying early is allowed at any time. The fee is nine percent of the remaining sum.",
    "How long is the notice period?": "The notice period is eleven months.",
    "What do children pay?": "Older children pay 8 euros.",
}


def careful(messages: Messages) -> str:
    """Says what it knows, whatever was said before."""
    _, _, question = messages[-1]["content"].rpartition("\n")
    return ANSWERS.get(question, "Yes, tell me more.")


def forgetful(messages: Messages) -> str:
    """Says the same alone, and mixes it up late in a dialogue, unless passages stand before the question."""
    passages, _, question = messages[-1]["content"].rpartition("\n")
    return MIXED_UP.get(question, careful(messages)) if len(messages) > 4 and not passages else careful(messages)
