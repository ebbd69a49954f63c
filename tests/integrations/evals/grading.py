"""A grader over a scripted judge, and what its cases leave behind."""

from __future__ import annotations

import os
from importlib import import_module
from typing import Any

import pytest

from vista_guard import Guard, Label
from vista_guard.integrations.evals.grader import Grader
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import ScriptedJudge, Verdict, WordEmbedder

HALL = "The whale hall opened in 1925."
ASKED = "When did the whale hall open?"
TRUE = "It opened in 1925."
FALSE = "It opened in 1850."
MIXED = "It opened in 1925. It has a glass roof."
HELLO = "Good morning!"
BROKEN = "It burned down in 1931."

SCRIPT = {
    TRUE: [Verdict("The hall opened in 1925.", Label.LACKING_EVIDENCE, needs="1925")],
    FALSE: [Verdict("The hall opened in 1850.", Label.CONTRADICTED, quote=HALL)],
    MIXED: [
        Verdict("The hall opened in 1925.", needs="1925"),
        Verdict("The hall has a glass roof.", Label.LACKING_EVIDENCE, confidence=0.9),
    ],
    HELLO: [],
    BROKEN: [Verdict("The hall burned down in 1931.", error="the model timed out")],
}


class Watched(MemoryKnowledge):
    """Knowledge that notes which conversations it was asked to remember and to forget."""

    def __init__(self) -> None:
        super().__init__(WordEmbedder())
        self.remembered: list[str] = []
        self.forgotten: list[str] = []

    async def remember(self, conversation_id: str, *given: Any, **named: Any) -> Any:
        """As it is, noted."""
        self.remembered.append(conversation_id)
        return await super().remember(conversation_id, *given, **named)

    async def forget(self, conversation_id: str) -> int:
        """As it is, noted."""
        self.forgotten.append(conversation_id)
        return await super().forget(conversation_id)


def knowledge_of(grader: Grader) -> Watched:
    """The grader's store."""
    store = grader.guard.parts.knowledge
    assert isinstance(store, Watched)
    return store


def scripted(policy: str = "balanced", **options: Any) -> Grader:
    """A grader that knows the answers above."""
    return Grader(Guard(ScriptedJudge(SCRIPT), policy, knowledge=Watched(), **options))


def assert_apart(grader: Grader, cases: int) -> None:
    """Passes when so many cases were graded under ids of their own, each forgotten, and none saw what another established."""
    knowledge, judge = knowledge_of(grader), grader.guard.parts.judge
    assert isinstance(judge, ScriptedJudge)
    assert len(set(knowledge.forgotten)) == len(knowledge.forgotten) == cases
    assert set(knowledge.remembered) <= set(knowledge.forgotten)
    assert [evidence.knowledge for evidence in judge.evidence if evidence.knowledge] == []


def promised(library: str, how: str) -> Any:
    """A library that the development environment has: a test without it skips, or fails where all are asked for."""
    if os.environ.get("VISTA_GUARD_REQUIRE_ALL"):
        return import_module(library)
    return pytest.importorskip(library, reason=f"{library} is not installed: {how}")
