"""A process's first turn loads models, tables and modules off its event loop, which serves others meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event, Thread, current_thread
from typing import Any

import pytest

from vista_guard import Guard, Label
from vista_guard._aio import load_once
from vista_guard.errors import ConfigError
from vista_guard.reading.passages import nearest_passages, nearest_quote, passages
from vista_guard.testing import ScriptedJudge, Verdict

HEAVY = frozenset(
    {
        "vista_guard", "chromadb", "langchain", "langgraph", "numpy", "onnxruntime", "opentelemetry", "py3langid",
        "requests", "sentencex", "sqlalchemy", "tokenizers", "yaml",
    }
)  # fmt: skip
"""Packages that take a while to import. LangChain's core and HTTP clients import some small modules when they first run."""


def first_turn(name: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "tests.first_turns", name], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(
    "name",
    ["session", "documents", "events", "stream", "middleware", "proxy"],
)
def test_the_loop_loads_nothing(name: str) -> None:
    found = first_turn(name)
    assert [module for module in found["here"] if module.partition(".")[0] in HEAVY] == []
    assert [file for file in found["here"] if file.endswith((".onnx", ".npz", ".xz", "tokenizer.json"))] == []
    assert [model for model, here in found["models"] if here] == []
    # The proxy loads its models when it starts.
    assert ("embedder" in dict(found["models"])) is (name != "proxy")


def test_two_first_turns_at_once_load_each_model_once() -> None:
    assert Counter(name for name, _ in first_turn("two_at_once")["models"]) == {
        "verifier": 1,
        "reader": 1,
        "embedder": 1,
        "tokenizer": 2,
    }


def test_each_turn_that_waits_for_a_missing_model_is_told() -> None:
    """Neither turn passes, and each names the file."""
    errors = first_turn("without_embedder")["errors"]
    assert len(errors) >= 2
    assert all("embedder.onnx" in error for error in errors)


async def test_documents_are_read_and_compared_off_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guide of 6,000 characters takes a hundredth of a second, one of two million a third of a second."""
    threads = dict[str, Thread]()

    def noting(name: str, call: Any) -> Any:
        def noted(*given: Any) -> Any:
            threads[name] = current_thread()
            return call(*given)

        return noted

    monkeypatch.setattr("vista_guard.turn.evidence.passages", noting("cut", passages))
    monkeypatch.setattr("vista_guard.turn.evidence.nearest_passages", noting("rank", nearest_passages))
    monkeypatch.setattr("vista_guard.judges.contract.nearest_quote", noting("quote", nearest_quote))
    claim = "The whale hall has a glass roof."
    judge = ScriptedJudge({claim: [Verdict(claim, Label.LACKING_EVIDENCE)]})
    rooms = [f"Room {number} of the museum has a bench and a lamp." for number in range(120)]
    guide = "\n\n".join([*rooms, "The whale hall has an iron roof."])
    report = await Guard(judge, "monitor").acheck_answer(claim, documents=[guide])
    assert report.findings[0].nearest is not None
    assert sorted(threads) == ["cut", "quote", "rank"]
    assert current_thread() not in threads.values()


def test_threads_that_come_together_load_once() -> None:
    calls = list[str]()
    together = Barrier(4)

    @load_once
    def load(name: str) -> str:
        calls.append(name)
        return name.upper()

    def ask(name: str) -> str:
        together.wait(60)
        return load(name)

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(ask, "aaab")) == ["A", "A", "A", "B"]
    assert sorted(calls) == ["a", "b"]


def test_a_failed_load_is_each_callers_own_and_is_tried_again() -> None:
    fails, entered = Event(), Event()
    fails.set()

    @load_once
    def load() -> str:
        entered.set()
        if fails.is_set():
            raise ConfigError("weights file x is missing")
        return "loaded"

    with ThreadPoolExecutor(3) as threads:
        asked = [threads.submit(load) for _ in range(3)]
        assert {type(one.exception(60)) for one in asked} == {ConfigError}
    fails.clear()
    assert (load(), load()) == ("loaded", "loaded")
