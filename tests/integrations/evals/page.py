"""The examples of docs/testing-your-agent.md: what each is, and what it says that it prints."""

from __future__ import annotations

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs/testing-your-agent.md"


def blocks(section: str, language: str = "python") -> list[str]:
    """The blocks of code in a section."""
    text = re.split(rf"^## {section}$", PAGE.read_text("utf-8"), flags=re.MULTILINE)[1].partition("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def assert_runs(section: str) -> None:
    """Passes when the section's example prints, last of all, what the page says."""
    [example], [said] = blocks(section), blocks(section, "text")
    shown = StringIO()
    with redirect_stdout(shown):
        exec(compile(example, f"{PAGE.name}: {section}", "exec"), {"__name__": "example"})
    assert shown.getvalue().endswith(said), shown.getvalue()
