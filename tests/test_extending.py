"""docs/extending.md: every example runs and prints what the page says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).parents[1] / "docs" / "extending.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"\n## ([^\n]+)\n|```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)


def examples() -> list[Any]:
    """The examples under their headings."""
    heading = ""
    found: list[Any] = []
    for title, code, printed in EXAMPLES:
        heading = title or heading
        if code:
            found.append(pytest.param(code, printed, id=f"{heading}, {len(found)}"))
    return found


def test_no_example_is_left_out() -> None:
    assert len(examples()) == PAGE.count("```python") == 8


@pytest.mark.parametrize(("code", "printed"), examples())
def test_the_example_prints_what_the_page_says(
    code: str, printed: str, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("example.py").write_text(code, encoding="utf-8")
    runpy.run_path("example.py")
    assert capsys.readouterr().out == printed
