"""Files that people write, TOML or YAML, as mappings. A duplicate key is an error in both."""

from __future__ import annotations

import tomllib
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml


def read_mapping(path: Path) -> dict[str, Any]:
    """Reads a mapping from a TOML file (`.toml`) or a YAML file; an empty file is an empty mapping.

    Raises:
        OSError: it cannot be opened.
        ValueError: it is neither, holds no mapping, or has a key twice; says where, in one line.
    """
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix == ".toml":
        return tomllib.loads(text)
    try:
        content = yaml.load(text, _Once)
    except yaml.YAMLError as exc:
        raise ValueError(" ".join(str(exc).replace('"<unicode string>", ', "").split())) from exc
    if content is not None and not isinstance(content, dict):
        raise ValueError(f"it holds {type(content).__name__}; expected a mapping of names to values")
    return content or {}


class _Once(yaml.SafeLoader):
    """Refuses duplicate keys; PyYAML itself silently takes the last value."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        """The mapping of a node without duplicate keys."""
        seen: set[tuple[str, str]] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                continue
            if (key.tag, key.value) in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value} stands there twice", key.start_mark)
            seen.add((key.tag, key.value))
        return super().construct_mapping(node, deep)
