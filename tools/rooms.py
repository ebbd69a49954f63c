"""The map of both packages: their folder trees, one line a room, from the first lines of the docstrings."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tools.markers import put_between

PACKAGES = ("vista_guard", "vista_lab")
START, END = "<!-- rooms: written by `make docs` -->", "<!-- /rooms -->"


def with_rooms(page: str, root: Path) -> str:
    """The page with the map of the package below `root` between its two markers."""
    return put_between(page, START, END, f"```text\n{tree(root)}\n```")


def tree(root: Path) -> str:
    """The folders of both packages and the modules at their top, highest layer first, each with its line."""
    rows = [row for package in PACKAGES for row in _package(root / package, layers(root, package))]
    width = max(len(name) for name, _ in rows) + 2
    return "\n".join(f"{name:{width}}{line}" for name, line in rows)


def layers(root: Path, package: str) -> list[str]:
    """Names of a package's rooms in the order of its layers' contract: the first may import the others, never the reverse."""
    contracts = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"]["contracts"]
    lines = [line for contract in contracts if contract["type"] == "layers" for line in contract["layers"]]
    rooms = [name.strip().partition(".") for line in lines for name in line.split("|")]
    return [room for home, _, room in rooms if home == package]


def first_line(module: Path) -> str:
    """The first line of the module's docstring, empty where it has none."""
    docstring = ast.get_docstring(ast.parse(module.read_text("utf-8"))) or ""
    return docstring.split("\n", 1)[0]


def _package(package: Path, order: list[str]) -> Iterator[tuple[str, str]]:
    yield f"{package.name}/", first_line(package / "__init__.py")
    places = {name: place for place, name in enumerate(order)}
    rooms = [module for module in package.glob("*.py") if not module.name.startswith("__")]
    for path in sorted([*rooms, *_folders(package)], key=lambda path: (places.get(path.stem, len(order)), path.stem)):
        yield from _row(path, 1)


def _row(path: Path, depth: int) -> Iterator[tuple[str, str]]:
    indent = "  " * depth
    if path.suffix:
        yield f"{indent}{path.name}", first_line(path)
        return
    yield f"{indent}{path.name}/", first_line(path / "__init__.py")
    for inner in _folders(path):
        yield from _row(inner, depth + 1)


def _folders(folder: Path) -> list[Path]:
    return sorted(module.parent for module in folder.glob("*/__init__.py"))
