"""A table of the settings file with settings of its own: arguments over environment over that table over defaults."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
)

from vista_guard._mappings import read_mapping
from vista_guard.errors import ConfigError
from vista_guard.settings.sources import config_file


class Section(BaseModel):
    """Base of such settings. Unknown names are refused, and no value is shown in an error: it may be a secret."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    section: ClassVar[str]
    """The table's name, and with `VISTA_GUARD_` before and `__` behind it the prefix in the environment."""
    where_to_set: ClassVar[Mapping[str, str]] = {}
    """For settings that must be given: how, by name."""

    @classmethod
    def load(cls, **arguments: Any) -> Self:
        """Reads every source: `VISTA_GUARD_<SECTION>__<NAME>=…` in the environment, `[section]` in the settings file.

        Raises:
            ConfigError: a file that cannot be read, an unknown name, or a value that makes no sense. No secret is shown.
        """
        try:
            found: Self = _with_sources(cls)(**arguments)
        except ValidationError as exc:
            raise ConfigError(_problem(cls, exc)) from None  # the cause would show what was given, secrets included
        except (OSError, ValueError) as exc:
            file = config_file()
            where = "environment" if file is None else f"environment or the settings file {file}"
            raise ConfigError(f"the {cls.section}'s settings in the {where} cannot be read: {exc}") from exc
        return found


@cache
def _with_sources(model: type[Section]) -> Any:
    """The same settings, as a class that reads the environment and the file when it is made."""
    config = SettingsConfigDict(
        env_prefix=f"VISTA_GUARD_{model.section.upper()}__",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
    )
    return type(model.__name__, (model, _Sources), {"model_config": config, "__module__": __name__})


class _Sources(BaseSettings):
    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003  # signature given by pydantic-settings
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        file = config_file()
        if file is None or not issubclass(cls, Section):
            return init_settings, env_settings
        table = read_mapping(file).get(cls.section) or {}
        if not isinstance(table, dict):
            raise ValueError(f"{cls.section} is {type(table).__name__}; expected a table")
        return init_settings, env_settings, InitSettingsSource(settings_cls, table)


def _problem(model: type[Section], exc: ValidationError) -> str:
    first = exc.errors()[0]
    name = ".".join((model.section, *map(str, first["loc"])))
    if first["type"] == "extra_forbidden":
        return f"there is no setting {name!r}; the {model.section}'s settings are {', '.join(model.model_fields)}"
    if first["type"] == "missing":
        how = model.where_to_set.get(str(first["loc"][-1]))
        return f"setting {name} is missing{'; ' + how if how else ''}"
    return f"setting {name}: {first['msg'].removeprefix('Value error, ')}"
