"""The house: no circles, no guard that imports the lab, no small module without a reason, no class name with two meanings."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import vista_guard

ROOT = Path(vista_guard.__file__).parents[1]
FILES = sorted(path for package in ("vista_guard", "vista_lab") for path in (ROOT / package).rglob("*.py"))
FEW_LINES = 40
NAMED_TWICE = {
    "VistaMetric",  # DeepEval's and Ragas' metric, as each tool's users expect it
    "UnreadableError",  # a judge's answer, an upstream's answer
    "Verdict",  # a scripted judge's in the doubles, a grader's over a turn
    "Row",  # of a data set (documented), of a sheet
    "Run",  # of a system over rows, of the training loop
    "Case",  # of two annotators, of a verifier's calibration
}
"""Public classes whose name stands twice in a package on purpose, or in two rooms that never meet."""


def module_name(path: Path) -> str:
    """The dotted name under which a file is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_name(path): path for path in FILES}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def length(path: Path) -> int:
    return path.read_text(encoding="utf-8").count("\n")


def imports(path: Path) -> set[str]:
    """Modules of both packages that a file imports when it runs, those inside functions included."""
    tree = parsed(path)
    checking = [
        node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    ]
    typing_only = {id(node) for block in checking for part in block.body for node in ast.walk(part)}
    names = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return (names & MODULES.keys()) - {module_name(path)}


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups of modules that reach each other (Tarjan's components of more than one module)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(graph[name]):
            if other not in index:
                visit(other)
                low[name] = min(low[name], low[other])
            elif other in stack:
                low[name] = min(low[name], index[other])
        if low[name] == index[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in graph:
        if name not in index:
            visit(name)
    return found


def test_circles_are_found() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert circles({"a": {"b"}, "b": set()}) == []


def test_no_two_modules_import_each_other_in_a_loop() -> None:
    # A package's own `__init__` that hands on what its modules define is no circle: nothing inside imports from it.
    graph = {name: imports(path) for name, path in MODULES.items() if path.name != "__init__.py"}
    graph = {name: {other for other in others if other in graph} for name, others in graph.items()}
    assert circles(graph) == []


def test_the_guard_does_not_import_the_lab() -> None:
    guard = {name: path for name, path in MODULES.items() if name.startswith("vista_guard")}
    lab = {name: {other for other in imports(path) if other.startswith("vista_lab")} for name, path in guard.items()}
    assert {name: others for name, others in lab.items() if others} == {}


IN_A_WHEEL = {".css", ".j2", ".js", ".json", ".jsonl", ".md", ".mjs", ".py", ".toml", ".txt", ".typed", ".yaml"}
ROOMS = {
    "vista_guard": "cli dashboard demo graph inference integrations judges openai_api policy proxy reading settings stores "
    "stream telemetry testing turn",
    "vista_lab": "annotate cli datasets decompose dialogues evaluate logs metrics oasis pages papers policies runs systems "
    "tables training",
}
"""Top folders of the packages."""
MAINTAINERS = re.compile(
    r"(^|[/_.])(suites?|sealed|rewrit(ers?|ing)|worlds|written|sources|script(ed)?|fakes?|tests?)([/_.]|$)"
)
"""Names of what only maintainers run: suites, the sealed half, rewriters of training texts, servers that act a script."""
OF_USERS = (
    "vista_guard/demo/script.yaml",
    "vista_guard/settings/sources.py",
    "vista_guard/testing/script.py",  # a public double
    "vista_lab/oasis/rewriters/",  # the edits of `oasis generate`
)
OUTSIDE = {"benchmarks", "tests", "tools", "training"}
"""Packages of the repository that no wheel has."""


def test_a_wheel_holds_what_runs_and_nothing_of_the_maintainers() -> None:
    """Both packages go into the wheel whole: code, and the texts, forms, pages and settings that it reads."""
    whole = [path for package in ROOMS for path in (ROOT / package).rglob("*") if path.is_file()]
    held = [path.relative_to(ROOT) for path in whole if "__pycache__" not in path.parts]
    assert [str(path) for path in held if path.suffix not in IN_A_WHEEL] == []
    folders = {path.parts[:2] for path in held if len(path.parts) > 2}
    assert folders == {(package, room) for package, rooms in ROOMS.items() for room in rooms.split()}
    foreign = [path.as_posix() for path in held if MAINTAINERS.search(path.as_posix())]
    assert [path for path in foreign if not path.startswith(OF_USERS)] == []
    scripted = {
        path for path in FILES for node in parsed(path).body if getattr(node, "name", "").startswith("Scripted")
    }
    assert {path.parent for path in scripted} == {ROOT / "vista_guard" / "testing"}
    tops = {
        name: {
            node.module.split(".")[0]
            for node in ast.walk(parsed(path))
            if isinstance(node, ast.ImportFrom) and node.module
        }
        for name, path in MODULES.items()
    }
    assert {name: found & OUTSIDE for name, found in tops.items() if found & OUTSIDE} == {}


def test_a_small_module_says_why_it_stands_alone() -> None:
    """A door costs its reader something: a module under 40 lines has a line `Alone because …` in its docstring."""
    small = [
        path for path in MODULES.values() if path.stem not in ("__init__", "__main__") and length(path) < FEW_LINES
    ]
    silent = [path for path in small if "Alone because" not in (ast.get_docstring(parsed(path)) or "")]
    assert [str(path.relative_to(ROOT)) for path in silent] == []


def test_a_class_name_has_one_meaning_in_a_package() -> None:
    homes = defaultdict(list)
    for name, path in MODULES.items():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[name.split(".")[0], node.name].append(name)
    assert {key[1] for key, modules in homes.items() if len(modules) > 1} == NAMED_TWICE
