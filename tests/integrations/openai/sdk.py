"""The routes of the installed OpenAI package, read from its source, so that a new version's routes are noticed."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import openai
from openai._resource import AsyncAPIResource, SyncAPIResource

from vista_guard.errors import ConfigError

_VERBS = {"_get": "GET", "_get_api_list": "GET", "_post": "POST", "_put": "PUT", "_patch": "PATCH", "_delete": "DELETE"}


def sdk_routes() -> list[tuple[str, str]]:
    """Method and path of each call in the package's resources, with `x` in place of ids."""
    found: set[tuple[str, str]] = set()
    for file in (Path(openai.__file__).parent / "resources").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _VERBS:
                path = _path(node.args[0])
                options = {keyword.arg: keyword.value for keyword in node.keywords}
                method = options.get("method")  # of a list that is asked for by POST
                verb = str(method.value).upper() if isinstance(method, ast.Constant) else _VERBS[node.func.attr]
                found.add((verb, re.sub(r"\{[^}]*\}", "x", path).partition("?")[0]))
    return sorted(found)


def _path(node: ast.expr) -> str:
    """A literal, an f-string, or the first argument of the package's `path_template`."""
    if isinstance(node, ast.Call):
        return _path(node.args[0])
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "x" for part in node.values)  # type: ignore[misc]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise AssertionError(f"the package writes a path in a new way: {ast.unparse(node)}")


def resources(owner: Any) -> Iterator[Any]:
    """Every resource below a client, each before those below it."""
    for name in dir(type(owner)):
        if name.startswith(("_", "with_")) or not isinstance(
            inspect.getattr_static(type(owner), name), cached_property | property
        ):
            continue
        try:
            value = getattr(owner, name)
        except ConfigError:  # the guarded client's address for WebSockets
            continue
        if isinstance(value, SyncAPIResource | AsyncAPIResource):
            yield value
            yield from resources(value)
