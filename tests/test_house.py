"""The house: no two modules in a circle, no folder that wants to be split, no file that wants to be two."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import vista_guard

ROOT = Path(vista_guard.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
MOST_MODULES = 15
MOST_LINES = 350


def module_name(path: Path) -> str:
    """The dotted name under which a file is imported."""
    return ".".join((ROOT.name, *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


def imports(path: Path, known: frozenset[str]) -> set[str]:
    """Modules of this package that a file imports when it runs, those inside functions included."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    checking = [
        node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    ]
    typing_only = {id(node) for block in checking for part in block.body for node in ast.walk(part)}
    found = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{one.name}" for one in node.names} | {node.module}
        elif isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
    return (found & known) - {module_name(path)}


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
    names = {module_name(path): path for path in FILES}
    known = frozenset(names)
    graph = {name: imports(path, known) for name, path in names.items() if path.name != "__init__.py"}
    graph = {name: {other for other in others if other in graph} for name, others in graph.items()}
    assert circles(graph) == []


def test_no_folder_wants_to_be_split() -> None:
    folders: dict[Path, list[str]] = {}
    for path in FILES:
        if path.name not in ("__init__.py", "__main__.py"):
            folders.setdefault(path.parent.relative_to(ROOT), []).append(path.stem)
    assert {str(folder): len(stems) for folder, stems in folders.items() if len(stems) > MOST_MODULES} == {}
    prefixes = Counter(
        (str(folder), prefix)
        for folder, stems in folders.items()
        for stem in stems
        if (prefix := stem.strip("_").split("_")[0]) != stem or any(other.startswith(f"{stem}_") for other in stems)
    )
    assert {group: count for group, count in prefixes.items() if count >= 3} == {}


def test_no_file_wants_to_be_two() -> None:
    lines = {str(path.relative_to(ROOT)): path.read_text(encoding="utf-8").count("\n") for path in FILES}
    assert {name: count for name, count in lines.items() if count > MOST_LINES} == {}
