"""The example for NeMo Guardrails, in its real engine: answers pass, are replaced or repaired; an error lets nothing through."""

from __future__ import annotations

import asyncio
import json
import runpy
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nemoguardrails", reason="nemoguardrails is not installed here: make test-plugins")

from nemoguardrails import RailsConfig

from vista_guard import Guard, Label
from vista_guard.policy.label_policy import MESSAGE, build_policy
from vista_guard.testing import ScriptedJudge, Verdict

EXAMPLE = Path(__file__).parents[3] / "examples/nemo_guardrails.py"
TRUE, FALSE = "The whale hall opened in 1925.", "The whale hall opened in 1850."
SCRIPT = {
    TRUE: [Verdict(TRUE, needs="opened in 1925")],
    FALSE: [Verdict(FALSE, Label.CONTRADICTED)],
    f"{TRUE} {FALSE}": [Verdict(TRUE), Verdict(FALSE, Label.CONTRADICTED)],
}
FOUND = {"role": "context", "content": {"relevant_chunks": f"{TRUE}\n\nEntry is free."}}
ASKED = {"role": "user", "content": "When did the whale hall open?"}


@pytest.fixture
def example() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


def said(example: dict[str, Any], policy: Any, *answers: str, messages: Sequence[Any] = (FOUND, ASKED)) -> str:
    """The bot's message, judged by the script under a policy."""
    judge = ScriptedJudge(SCRIPT)
    example["judge_answer"].__globals__["guard"] = Guard(judge, policy)
    content: str = example["rails"](*answers).generate(messages=list(messages))["content"]
    return content


def test_an_answer_that_the_chunks_carry_passes(example: dict[str, Any]) -> None:
    assert said(example, "strict", TRUE) == TRUE


def test_an_answer_that_they_contradict_is_replaced(example: dict[str, Any]) -> None:
    assert said(example, "balanced", FALSE) == MESSAGE


def test_a_repaired_answer_is_what_the_user_reads(example: dict[str, Any]) -> None:
    redacts = build_policy("balanced", {"rules": {"CONTRADICTED": {"action": "REPAIR"}}, "repair": "redact"})
    assert said(example, redacts, f"{TRUE} {FALSE}") == TRUE


def test_an_answer_that_could_not_be_judged_does_not_pass(example: dict[str, Any]) -> None:
    assert "1925" not in said(example, "balanced", f"{TRUE} " * 10_000)  # over the limit of a turn


def test_the_history_reaches_the_guard(example: dict[str, Any]) -> None:
    seen = []

    class Noting(ScriptedJudge):
        async def decompose(self, turn: Any, history: Any) -> Any:
            seen.append([(each.role, each.text) for each in history])
            return await super().decompose(turn, history)

    example["judge_answer"].__globals__["guard"] = Guard(Noting(SCRIPT), "balanced")
    earlier = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}]
    example["rails"](TRUE).generate(messages=[FOUND, *earlier, ASKED])
    assert [text for _, text in seen[-1]] == ["Hello.", "Hi.", ASKED["content"]]


def test_a_stream_is_held_until_it_is_judged(example: dict[str, Any]) -> None:
    streams = "    streaming: {enabled: true, stream_first: false, chunk_size: 200}\n"
    names = example["rails"].__globals__
    names["YAML"] += streams
    names["guard"] = Guard(ScriptedJudge(SCRIPT), "balanced")

    async def heard(answer: str) -> list[str]:
        rails = example["rails"](answer)
        return [chunk async for chunk in rails.stream_async(messages=[FOUND, ASKED])]

    assert "".join(asyncio.run(heard(TRUE))).strip() == TRUE
    blocked = asyncio.run(heard(FALSE))
    assert json.loads(blocked[-1])["error"]["code"] == "content_blocked"
    assert "1850" not in "".join(blocked)


def test_the_configuration_is_one(example: dict[str, Any]) -> None:
    config = RailsConfig.from_content(yaml_content=example["YAML"], colang_content=example["COLANG"])
    assert config.rails.output.flows == ["vista guard"]


def test_it_runs_as_it_stands(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, str(EXAMPLE)], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines() == ["  [ALLOW] ['VERIFIED']", TRUE, "  [BLOCK] ['CONTRADICTED']", MESSAGE]
