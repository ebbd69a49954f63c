"""A persona from a file: its name and its facts."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from vista_guard._mappings import read_mapping
from vista_guard.errors import ConfigError
from vista_guard.types import Persona


def read_persona(path: str | Path) -> Persona:
    """Reads a YAML file with `name` and a list of `facts`.

    Raises:
        ConfigError: the file is missing, is not YAML, or lacks a field.
    """
    try:
        content = read_mapping(Path(path))
    except (OSError, ValueError) as exc:
        raise ConfigError(f"persona file {path} cannot be read: {exc}. Give a YAML file with name and facts") from exc
    try:
        return Persona.model_validate(content)
    except ValidationError as exc:
        first = exc.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise ConfigError(f"persona file {path}: {where}: {first['msg']}. It needs name and a list of facts") from exc
