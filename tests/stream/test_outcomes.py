"""What is told of a stream's claims while it goes out."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.stream.test_gates import ASKED, BAD, FREE, GOOD, LACKING, NOTES, SentenceJudge
from vista_guard import Guard, Label, TurnReport
from vista_guard.policy.label_policy import MESSAGE, build_policy
from vista_guard.stores.memory import MemoryKnowledge
from vista_guard.testing import WordEmbedder
from vista_guard.types import Finding, Outcome


async def _events(text: str, policy: Any, gate: Any) -> list[str | tuple[Label, str]]:
    """What came, in order: pieces of text, and claims with their labels, read from the text at their spans."""
    seen: list[str | tuple[Label, str]] = []

    def told(outcome: Outcome) -> None:
        span = outcome.claim.span
        assert isinstance(outcome, Finding)
        assert span is not None
        seen.append((outcome.label, text[span.start : span.end]))

    async def deltas() -> AsyncIterator[str]:
        for place in range(0, len(text), 5):
            yield text[place : place + 5]

    guard = Guard(SentenceJudge(), policy, knowledge=MemoryKnowledge(WordEmbedder()))
    async for piece in guard.gated(ASKED, deltas(), gate=gate, documents=[NOTES], on_outcome=told):
        if isinstance(piece, str):
            seen.append(piece)
    assert isinstance(piece, TurnReport)
    return seen


async def test_each_claim_is_told_once_and_before_its_text() -> None:
    assert await _events(f"{GOOD} {LACKING} {FREE}", "balanced", "sentence") == [
        (Label.VERIFIED, GOOD),
        GOOD,
        (Label.LACKING_EVIDENCE, LACKING),
        f" {LACKING}",
        (Label.VERIFIED, FREE),
        f" {FREE}",
    ]


@pytest.mark.parametrize("gate", ["sentence", "turn"])
async def test_what_is_withheld_is_not_told(gate: str) -> None:
    said = [(Label.VERIFIED, GOOD), GOOD, f"\n\n{MESSAGE}"] if gate == "sentence" else [MESSAGE]
    assert await _events(f"{GOOD} {BAD} {FREE}", "balanced", gate) == said


async def test_what_is_dropped_is_not_told() -> None:
    assert await _events(f"{GOOD} {LACKING} {FREE}", build_policy("strict", {"repair": "redact"}), "sentence") == [
        (Label.VERIFIED, GOOD),
        GOOD,
        (Label.VERIFIED, FREE),
        f" {FREE}",
    ]


async def test_a_whole_turn_is_told_before_it_goes_out_and_an_observed_one_after() -> None:
    text = f"{GOOD} {BAD}"
    told = [(Label.VERIFIED, GOOD), (Label.CONTRADICTED, BAD)]
    assert await _events(text, "monitor", "turn") == [*told, text]
    observed = await _events(text, "monitor", "none")
    assert observed[-2:] == told
    assert "".join(piece for piece in observed[:-2] if isinstance(piece, str)) == text
