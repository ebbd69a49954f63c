"""The README's own words: its example runs, and the files it points to are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_runs_and_blocks_the_contradiction(capsys: pytest.CaptureFixture[str]) -> None:
    found = re.search(r"```python\n(.*?)```", README, re.DOTALL)
    assert found is not None
    example = found.group(1)
    names: dict[str, object] = {"my_agent": lambda question: "I don't know."}
    exec(compile(example, "README.md", "exec"), names)
    printed = capsys.readouterr().out
    assert printed.startswith("BLOCK | I can't answer that reliably")
    assert "CONTRADICTED" in printed
    assert "The whale hall opened in 1925." in printed
    agent = names["agent"]
    assert callable(agent)
    assert agent("When did it open?") == "I don't know."
    names["guard"].close()  # type: ignore[attr-defined]  # the example's guard


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\((?!http)([^)#]+)\)", README))))
def test_what_it_links_to_is_there(target: str) -> None:
    assert (ROOT / target).exists()
