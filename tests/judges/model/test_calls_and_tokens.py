"""What each strategy asks of the model for a turn of five claims, two of them unsupported: the benchmark's own turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from benchmarks.peers.adapters import ours
from benchmarks.peers.answers import answer
from benchmarks.peers.turn import MODEL, conversation
from tests.pace import waves
from vista_guard.testing import ScriptedChatServer
from vista_guard.testing.server import Loopback

FOUND = {"verdict": "found", "said": "3 VERIFIED, 1 CONTRADICTED, 1 LACKING_EVIDENCE; BLOCK"}


async def asked(strategy: str) -> tuple[Mapping[str, Any], int, int, int]:
    """The verdict; calls, calls that waited for each other, and prompt tokens."""
    with ScriptedChatServer(answer) as server:
        guard = ours.guarded(server.base_url, MODEL, 0, strategy)
        report = await guard.acheck(ours.conversation(conversation()))
        await guard.aclose()
        server.assert_accepted()
        return ours.to_verdict(report), server.calls, server.waves(), server.usage.input_tokens


async def test_per_claim_asks_about_all_claims_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Loopback, "pause", waves(1, 5, 2))
    told, calls, asked_in, _ = await asked("per_claim")
    assert (told, calls, asked_in) == (FOUND, 8, 3)


@pytest.mark.parametrize(("strategy", "expected", "share"), [("batched", 2, 0.35), ("fused", 1, 0.20)])
async def test_fewer_calls_take_a_fraction_of_the_prompt_tokens(strategy: str, expected: int, share: float) -> None:
    told, calls, asked_in, tokens = await asked(strategy)
    _, _, _, per_claim = await asked("per_claim")

    assert (told, calls, asked_in) == (FOUND, expected, expected)
    assert tokens <= share * per_claim
