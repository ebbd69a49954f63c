"""The documentation holds what the code says: generated pages, the map, the picture, every link."""

from __future__ import annotations

import doctest
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import vista_guard
from tools.pages import ARCHITECTURE, old_pages
from tools.picture import PICTURE, picture, shown
from tools.rooms import PACKAGES, first_line, layers, tree, with_rooms
from vista_guard import guard

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "training/README.md"]
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
LINKS = [
    (page.relative_to(ROOT), target)
    for page in PAGES
    for target in sorted(set(re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8"))))
]


def test_the_generated_pages_are_current() -> None:
    assert [str(page) for page in old_pages(ROOT)] == [], "run: make docs"


def test_every_command_shows_its_own_help() -> None:
    sections = re.findall(r"\n## (.+)\n\n```text\n(.*)\n", (ROOT / "docs/cli.md").read_text("utf-8"))
    assert [title for title, usage in sections if not usage.startswith(f"Usage: {title} [OPTIONS]")] == []
    assert ["vista-guard documents add" in title for title, _ in sections].count(True) == 1


def test_the_reference_has_every_public_name() -> None:
    pages = "\n".join(page.read_text("utf-8") for page in ROOT.glob("docs/api/*.md"))
    shown = sorted(re.findall(r"^::: vista_guard\.(\w+)$", pages, re.MULTILINE))
    assert shown == sorted(vista_guard.__all__)


def test_old_pages_are_found_and_rewritten(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / "docs/cli.md").unlink()
    page = tmp_path / ARCHITECTURE
    page.write_text(page.read_text("utf-8").replace("  guard.py", "  gone.py"), encoding="utf-8")
    run = [sys.executable, "-m", "tools.pages"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    old = subprocess.run([*run, "--check"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    found = "docs/cli.md, docs/design/architecture.md: old; run: make docs\n"
    assert (old.returncode, old.stdout, old.stderr) == (1, "", found)
    written = subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    said = "wrote docs/cli.md\nwrote docs/design/architecture.md\n"
    assert (written.returncode, written.stdout, written.stderr) == (0, said, "")
    assert old_pages(tmp_path) == {}


def test_the_map_shows_each_room_once_and_higher_layers_first() -> None:
    lines = tree(ROOT).splitlines()
    names = [line.split()[0].removesuffix("/").removesuffix(".py") for line in lines]
    folders = [path.parent.name for package in PACKAGES for path in (ROOT / package).rglob("__init__.py")]
    assert sorted(line.split()[0].strip("/") for line in lines if line.split()[0].endswith("/")) == sorted(folders)
    top = [name for name, line in zip(names, lines, strict=True) if re.match(r"  \S", line)]
    assert top == [name for package in PACKAGES for name in layers(ROOT, package) if name in top]


def test_a_page_without_its_markers_is_refused() -> None:
    with pytest.raises(ValueError, match="needs <!-- rooms"):
        with_rooms("# Architecture", ROOT)


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_each_module_says_on_its_first_line_what_it_is(module: Path) -> None:
    assert re.fullmatch(r"\S.{10,}\.", first_line(module))


def test_the_picture_is_what_the_demo_shows() -> None:
    assert shown((ROOT / PICTURE).read_text("utf-8")) == shown(picture()), "run: make picture"


@pytest.mark.parametrize(("page", "target"), LINKS, ids=[f"{page}->{target}" for page, target in LINKS])
def test_what_a_page_links_to_is_there(page: Path, target: str) -> None:
    assert (ROOT / page.parent / target).exists()


def test_the_examples_in_the_docstrings_of_the_guard_run() -> None:
    failed, tried = doctest.testmod(guard)
    assert (failed, tried > 10) == (0, True)


@pytest.mark.parametrize("page", ["evaluating", "guarding", "policies", "tutorial-first", "watching"])
def test_the_examples_of_a_page_run(page: str) -> None:
    examples = re.findall(r"```python\n(.*?)```", (ROOT / f"docs/{page}.md").read_text("utf-8"), re.DOTALL)
    assert examples
    for example in examples:
        names: dict[str, object] = {}
        exec(compile(example, f"{page}.md", "exec"), names)
        names["guard"].close()  # type: ignore[attr-defined]  # the example's guard
