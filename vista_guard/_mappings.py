"""Files that people write, TOML or YAML, as mappings. A duplicate key is an error in both."""

from __future__ import annotations

import tomllib
from collections.abc import Hashable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    import yaml  # slow to load, and most commands read no YAML

    try:
        content = yaml.load(text, _loader())
    except yaml.YAMLError as exc:
        raise ValueError(" ".join(str(exc).replace('"<unicode string>", ', "").split())) from exc
    if content is not None and not isinstance(content, dict):
        raise ValueError(f"it holds {type(content).__name__}; expected a mapping of names to values")
    return content or {}


@cache
def _loader() -> type[yaml.SafeLoader]:
    """Refuses duplicate keys; PyYAML itself silently takes the last value."""
    import yaml

    class Once(yaml.SafeLoader):
        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
            seen: set[tuple[str, str]] = set()
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode) or key.tag == "tag:yaml.org,2002:merge":
                    continue
                if (key.tag, key.value) in seen:
                    said = f"{key.value} stands there twice"
                    raise yaml.constructor.ConstructorError(None, None, said, key.start_mark)
                seen.add((key.tag, key.value))
            return super().construct_mapping(node, deep)

    return Once
