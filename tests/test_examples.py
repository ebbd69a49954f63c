"""The examples: short, and they run as they are, without a network."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from vista_guard.policies import MESSAGE

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.py")), ids=lambda path: path.name)
def test_it_is_short_and_says_what_it_shows(example: Path) -> None:
    lines = example.read_text(encoding="utf-8").splitlines()
    assert len(lines) < 60
    assert lines[0].startswith('"""')


def _run(name: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out.splitlines()


def test_langchain_agent(capsys: pytest.CaptureFixture[str]) -> None:
    good, said, bad, withheld = _run("langchain_agent.py", capsys)
    assert good.startswith("  [ALLOW] VERIFIED")
    assert said == "agent: The tide museum is closed on Mondays."
    assert bad.startswith("  [BLOCK] CONTRADICTED")
    assert withheld == f"agent: {MESSAGE}"


def test_langgraph_rag(capsys: pytest.CaptureFixture[str]) -> None:
    assert _run("langgraph_rag.py", capsys) == [
        "user:  When was the lighthouse built?",
        "agent: The lighthouse was built in 1888.",
        "  [ALLOW]",
        "user:  What about the tower?",
        f"agent: {MESSAGE}",
        "  [BLOCK]",
    ]
