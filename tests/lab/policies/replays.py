"""A log, judged once by rules."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tests.lab.judges import RuleJudge
from vista_guard.guard import Guard
from vista_guard.policy.label_policy import PRESETS
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import WordEmbedder
from vista_lab.logs.formats import read_log
from vista_lab.policies.replayed import LogNotes
from vista_lab.runs.replaying import replay

PIER = "The pier is 310 m long"


def guard(judge: RuleJudge | None = None) -> Guard:
    """One that withholds nothing."""
    return Guard(judge or RuleJudge(), PRESETS["monitor"], knowledge=MemoryKnowledge(WordEmbedder()))


def chat(name: str, *answers: str, question: str = "How long is it?") -> dict[str, Any]:
    """A conversation in which each answer has the pier's document."""
    messages: list[dict[str, Any]] = []
    for answer in answers:
        messages += [
            {"role": "user", "content": question},
            {"role": "assistant", "content": answer, "documents": [PIER]},
        ]
    return {"id": name, "messages": messages}


TALKS = [
    chat("good", PIER, f"{PIER}. I like it"),
    chat("bad", "It is not 310 m long", "It is green", "boom"),
    chat("vague", "It is perhaps long"),
]
"""Verified, verified and opinion; contradicted, lacking, unchecked; abstention."""


def written(log: Path, talks: Iterable[object] = TALKS) -> Path:
    """JSON lines."""
    log.write_text("".join(f"{json.dumps(talk)}\n" for talk in talks), encoding="utf-8")
    return log


def judged(folder: Path, talks: Iterable[object] = TALKS) -> tuple[Path, LogNotes]:
    """Reports of the talks, and what was heard of them."""
    log, out, heard = written(folder / "log.jsonl", talks), folder / "reports.jsonl", LogNotes()
    asyncio.run(replay(guard(), heard.listening(read_log(log)), out, concurrency=1))
    return out, heard
