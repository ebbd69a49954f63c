"""README.md: its example prints what it says, its commands and links exist, and a newcomer can read it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    (printed,) = re.findall(r"```text\n(.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    exec(compile(example, "README.md", "exec"), names)
    names["guard"].close()  # type: ignore[attr-defined]  # the example's guard
    assert without_figures(capsys.readouterr().out) == without_figures(printed)


def without_figures(text: str) -> str:
    """Confidences differ from one set of weights to the next."""
    return re.sub(r"\b0\.\d+\b", "…", text)


@pytest.mark.parametrize("target", ["demo", "test", "docs-site"])
def test_its_make_targets_exist(target: str) -> None:
    assert f"make {target}" in README
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)


def test_it_is_short_enough_to_be_read() -> None:
    assert len(README.split()) < 900
    assert max(map(len, README.splitlines())) <= 160


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\((?!http)([^)#]+)\)", README))))
def test_what_it_links_to_is_there(target: str) -> None:
    assert (ROOT / target).exists()
