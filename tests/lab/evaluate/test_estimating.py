"""What a run will cost, held against what it then costs."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.judges.decomposers.scripted import asked
from tests.lab.systems.rows import gold_of, museum, run
from vista_guard.judges.model import ModelJudge, OpenAIChat
from vista_guard.judges.model.chat.calling import ChatRequest, Message
from vista_guard.testing import ReceivedRequest, ScriptedChatServer, ScriptedJudge, gold_script
from vista_guard.types import Usage
from vista_lab.evaluate.estimating import Estimate, _answer, estimate
from vista_lab.systems.catalogue import make_system

ROWS = museum(3)
PRICES = {"prices": {"m": {"input": 2.0, "output": 8.0}}}


@pytest.mark.parametrize(
    ("name", "strategy", "off"),
    [
        ("vista", "batched", 0),
        ("vista", "per_claim", 3),
        ("vista", "fused", 0),
        ("factscore", "batched", 2),
        ("llm-judge", "batched", 0),
    ],
)
def test_the_estimate_is_near_to_what_is_used(name: str, strategy: str, off: int) -> None:
    """Calls that depend on what a model finds may be `off`; the tokens of a call are those of real prompts."""
    with ScriptedChatServer(gold_script(gold_of(ROWS))) as server:
        given: dict[str, Any] = {
            "judge": f"openai:m@{server.base_url}",
            "model": {"strategy": strategy, **PRICES},
        }
        told = asyncio.run(estimate(make_system(name, **given), ROWS))
        assert server.calls == 0
        reports = run(make_system(name, **given), ROWS)
    used = sum((report.usage for report in reports), Usage())
    assert told is not None
    assert (told.turns, told.sampled) == (6, 6)
    assert abs(told.calls - used.calls) <= off
    assert told.input_tokens / told.calls == pytest.approx(used.input_tokens / used.calls, rel=0.05)
    assert told.output_tokens >= used.output_tokens
    assert told.cost == pytest.approx((told.input_tokens * 2 + told.output_tokens * 8) / 1e6, rel=1e-6)


@pytest.mark.parametrize("form", ["", "steps:", "factscore:", "veriscore:", "veriscore-sft:", "claimify:", "dydecomp:"])
def test_the_calls_of_a_decomposer_are_told(form: str) -> None:
    """Answered as the estimate supposes, the run makes the very calls; the model is asked for nothing else."""
    with ScriptedChatServer(_as_supposed) as server:
        given: dict[str, Any] = {
            "judge": "embedded",
            "decomposer": f"{form}openai:m@{server.base_url}",
            "model": PRICES,
        }
        told = asyncio.run(estimate(make_system("vista", **given), ROWS))
        assert server.calls == 0
        run(make_system(name="vista", **given), ROWS)
        assert told is not None
        assert 0 < told.calls == server.calls
        assert told.cost is not None


def _as_supposed(request: ReceivedRequest) -> str:
    stage = (request.schema_name or "").removeprefix("vista_") or (
        "veriscore-sft" if "<SOS>" in request.user else "steps"
    )
    messages = tuple(Message("user", text) for _, text in request.messages)
    return _answer(ChatRequest(messages, stage), 1)  # type: ignore[arg-type]


def test_a_long_run_is_told_from_a_sample() -> None:
    given: dict[str, Any] = {"judge": "openai:m@http://127.0.0.1:9/v1"}
    told = asyncio.run(estimate(make_system("llm-judge", **given), museum(60)))
    assert told is not None
    assert told == Estimate(
        120, 40, calls=120, input_tokens=told.input_tokens, output_tokens=told.output_tokens, cost=None
    )
    few = asyncio.run(estimate(make_system("llm-judge", **given), museum(60), lambda entry: [1]))
    assert few is not None
    assert (few.turns, few.calls) == (60, 60)


def test_nothing_to_judge_costs_nothing() -> None:
    told = asyncio.run(estimate(make_system("vista", judge="openai:m@http://127.0.0.1:9/v1"), []))
    assert told == Estimate(0, 0, calls=0, input_tokens=0, output_tokens=0, cost=0.0)


def test_what_asks_no_model_costs_nothing_and_is_not_tried_out() -> None:
    for system in (make_system("vista", judge="embedded"), make_system("overlap")):
        told = asyncio.run(estimate(system, museum(3)))
        assert told == Estimate(6, 0, calls=0, input_tokens=0, output_tokens=0, cost=0.0)


def test_what_cannot_be_seen_is_not_told() -> None:
    system = make_system("vista", judge=ScriptedJudge({}))
    assert asyncio.run(estimate(system, museum(3))) is None
    verified = make_system("vista", judge="embedded", verifier="openai:m@http://127.0.0.1:9/v1")
    assert asyncio.run(estimate(verified, museum(3))) is None


def test_a_judge_that_is_an_object_is_not_asked(tmp_path: Path) -> None:
    judge = ModelJudge(OpenAIChat("m", base_url="http://127.0.0.1:9/v1"))
    told = asyncio.run(estimate(make_system("no-ac", judge=judge), museum(1)))
    assert told is not None
    assert told.calls == 4


def test_nobody_hears_of_turns_that_are_only_tried_out() -> None:
    system = make_system("vista", judge="openai:m@http://127.0.0.1:9/v1")
    assert system.rehearse is not None
    tried = system.rehearse(lambda model: model).guard.parts
    assert "NoOp" in type(tried.telemetry.tracer).__name__
    assert tried.sinks == ()
    assert "NoOp" not in type(system.guard.parts.telemetry.tracer).__name__


def test_made_up_answers_are_not_kept(tmp_path: Path) -> None:
    cache, recording = tmp_path / "cache", tmp_path / "calls.jsonl"
    with ScriptedChatServer(gold_script(gold_of(ROWS))) as server:
        given: dict[str, Any] = {
            "judge": f"openai:m@{server.base_url}",
            "judge_cache": cache,
            "judge_recording": recording,
        }
        system = make_system("factscore", **given)
        before = recording.read_bytes() if recording.exists() else b""
        asyncio.run(estimate(system, ROWS))
        assert (recording.read_bytes() if recording.exists() else b"") == before
        run(system, ROWS[:1])
        calls = server.calls
        assert calls == 5
        run(make_system("factscore", judge=given["judge"], judge_cache=cache), ROWS[:1])
        assert server.calls == calls


def test_a_decomposer_that_asks_a_model_is_counted() -> None:
    """One call a sentence; its prompt is in the manifest."""

    def answer(request: ReceivedRequest) -> str:
        return f"<think>\n{'so ' * 100}\n</think>\n<output>{json.dumps([asked(request)])}</output>"

    with ScriptedChatServer(answer) as server:
        given: dict[str, Any] = {
            "judge": "embedded",
            "decomposer": f"steps:openai:m@{server.base_url}",
            "model": PRICES,
        }
        system = make_system("vista", **given)
        assert set(system.info.prompts) == {"steps"}
        told = asyncio.run(estimate(system, ROWS))
        assert server.calls == 0
        used = sum((report.usage for report in run(make_system("vista", **given), ROWS)), Usage())
    assert told is not None
    assert told.calls == used.calls == 8  # six turns, two of them of two sentences
    assert told.input_tokens / told.calls == pytest.approx(used.input_tokens / used.calls, rel=0.05)
    assert told.cost is not None


def test_a_decomposer_that_is_an_object_is_not_told() -> None:
    assert asyncio.run(estimate(make_system("vista", judge="embedded", decomposer=ScriptedJudge({})), ROWS)) is None
