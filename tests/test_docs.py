"""The documentation holds what the code says: generated pages, the map, the picture, every link."""

from __future__ import annotations

import doctest
import importlib
import re
import shutil
import sys
from operator import attrgetter
from pathlib import Path

import pytest

import vista_guard
from tools.pages import ARCHITECTURE, left_pages, old_pages
from tools.pages import main as write_pages
from tools.picture import PICTURE, picture, shown
from tools.rooms import PACKAGES, first_line, layers, tree, with_rooms

ROOT = Path(__file__).parents[1]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "training/README.md"]
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
EXAMPLES = [path for path in MODULES if re.search(r"^ +>>> ", path.read_text("utf-8"), re.MULTILINE)]
SHOWN = {
    "vista_guard.guard": "Guard.check Guard.check_answer Guard.session",
    "vista_guard.integrations.evals.grader": "Case Grader Grader.assert_grounded",
    "vista_guard.integrations.evals.langsmith": "vista_evaluator",
    "vista_guard.integrations.evals.promptfoo": "get_assert",
    "vista_guard.integrations.evals.pydantic_evals": "VistaEvaluator",
    "vista_guard.integrations.langchain": "VistaGuardMiddleware",
    "vista_guard.integrations.langgraph": "guard_node",
    "vista_guard.integrations.openai": "guarded report_of unjudged_of",
    "vista_guard.testing": "Fault ScriptedChatServer ScriptedJudge WordEmbedder assistant conversation count_tokens "
    "gold_script judge_script user",
    "vista_lab.datasets.files": "clean documents turns_of",
    "vista_lab.datasets.registry": "all_datasets find open_dataset",
    "vista_lab.logs.formats": "read_log",
    "vista_lab.metrics.agreement": "cohen_kappa fleiss_kappa krippendorff_alpha",
    "vista_lab.metrics.claim_sets": "groups maximum_matching partners rouge1 set_agreement",
    "vista_lab.metrics.detection": "Detection",
    "vista_lab.metrics.intervals": "Share mcnemar",
    "vista_lab.metrics.labels": "macro_f1",
    "vista_lab.papers": "part",
    "vista_lab.annotate.consensus": "category",
    "vista_lab.annotate.forms": "form_names load_form",
    "vista_lab.policies.comparison": "compare",
    "vista_lab.policies.named": "named_policy",
    "vista_lab.runs.replaying": "replay",
    "vista_lab.systems.catalogue": "make_system names",
    "vista_lab.systems.protocol": "whole_turn",
    "vista_lab.tables.writers": "markdown",
}
"""Functions and classes that users call, by module: each docstring shows an executed example."""
LINKS = [
    (page.relative_to(ROOT), target)
    for page in PAGES
    for target in sorted(set(re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text("utf-8"))))
]


def test_the_generated_pages_are_current() -> None:
    assert [str(page) for page in old_pages(ROOT)] == [], "run: make docs"


def test_each_page_of_a_command_is_in_the_site_and_on_the_list() -> None:
    pages = sorted(f"cli/{page.name}" for page in ROOT.glob("docs/cli/*.md"))
    listed = sorted(set(re.findall(r"\((cli/[\w-]+\.md)", (ROOT / "docs/cli.md").read_text("utf-8"))))
    shown = sorted(re.findall(r": (cli/[\w-]+\.md)$", (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE))
    assert (listed, shown, left_pages(ROOT)) == (pages, pages, [])


def test_the_reference_has_every_public_name() -> None:
    pages = "\n".join(page.read_text("utf-8") for page in ROOT.glob("docs/api/*.md"))
    shown = sorted(re.findall(r"^::: vista_guard\.(\w+)$", pages, re.MULTILINE))
    assert shown == sorted(vista_guard.__all__)


def test_old_pages_are_found_and_rewritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / "docs/cli/check.md").rename(tmp_path / "docs/cli/gone.md")
    page = tmp_path / ARCHITECTURE
    page.write_text(page.read_text("utf-8").replace("  guard.py", "  gone.py"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["tools.pages", "--check"])
    with pytest.raises(SystemExit) as old:
        write_pages()
    assert old.value.code == "docs/cli/check.md, docs/design/architecture.md, docs/cli/gone.md: old; run: make docs"
    monkeypatch.setattr(sys, "argv", ["tools.pages"])
    write_pages()
    assert capsys.readouterr() == (
        "wrote docs/cli/check.md\nwrote docs/design/architecture.md\nremoved docs/cli/gone.md\n",
        "",
    )
    assert (old_pages(tmp_path), left_pages(tmp_path)) == ({}, [])


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


def test_each_module_says_on_its_first_line_what_it_is() -> None:
    silent = [module for module in MODULES if not re.fullmatch(r"\S.{10,}\.", first_line(module))]
    assert [str(module.relative_to(ROOT)) for module in silent] == []


def test_the_picture_is_what_the_demo_shows(careful_judge: None) -> None:
    assert shown((ROOT / PICTURE).read_text("utf-8")) == shown(picture()), "run: make picture"


def test_what_a_page_links_to_is_there() -> None:
    assert len(LINKS) > 100
    broken = [(page, target) for page, target in LINKS if not (ROOT / page.parent / target).exists()]
    assert [f"{page} -> {target}" for page, target in broken] == []


def test_the_heading_that_a_link_names_is_there() -> None:
    named = [
        (page, target, anchor)
        for page in PAGES
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#([^)]+)\)", page.read_text("utf-8"))
        if target.endswith(".md") or not target
    ]
    assert len(named) > 100
    gone = [one for one in named if one[2] not in anchors((one[0].parent / one[1]) if one[1] else one[0])]
    assert [f"{page.relative_to(ROOT)} -> {target}#{anchor}" for page, target, anchor in gone] == []


def anchors(page: Path) -> set[str]:
    """Names by which links reach parts of a page: its headings, as GitHub writes them, and its `<a id>`s."""
    text = re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    headings = [re.sub(r"[^\w\s-]", "", found.lower()) for found in re.findall(r"^#+ (.+)$", text, re.MULTILINE)]
    return {heading.replace(" ", "-") for heading in headings} | set(re.findall(r'<a id="([^"]+)"', text))


@pytest.mark.parametrize("module", EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_examples_in_docstrings_run(module: Path) -> None:
    name = ".".join(module.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    failed, tried = doctest.testmod(importlib.import_module(name))
    assert (failed, tried > 0) == (0, True)


@pytest.mark.parametrize("module", SHOWN)
def test_what_users_call_shows_an_example(module: str) -> None:
    home = importlib.import_module(module)
    assert [name for name in SHOWN[module].split() if ">>> " not in (attrgetter(name)(home).__doc__ or "")] == []


@pytest.mark.parametrize("page", sorted(ROOT.glob("docs/api/*.md")), ids=lambda page: page.stem)
def test_a_page_of_the_api_begins_with_an_example_that_prints_what_it_says(
    page: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, _, _ = page.read_text("utf-8").partition("\n:::")
    (printed,) = re.findall(r"```text\n(.*?)```", before, re.DOTALL)
    for example in re.findall(r"```python\n(.*?)```", before, re.DOTALL):
        exec(compile(example, page.name, "exec"), {})
    assert capsys.readouterr().out == printed


@pytest.mark.parametrize("page", ["evaluating", "guarding", "policies", "tutorial-first", "watching"])
def test_the_examples_of_a_page_run(page: str) -> None:
    examples = re.findall(r"```python\n(.*?)```", (ROOT / f"docs/{page}.md").read_text("utf-8"), re.DOTALL)
    assert examples
    for example in examples:
        names: dict[str, object] = {}
        exec(compile(example, f"{page}.md", "exec"), names)
        names["guard"].close()  # type: ignore[attr-defined]  # the example's guard
