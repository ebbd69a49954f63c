"""`vista-guard init`, a settings file in which every setting stands, commented, with its default; `demo` and `schema`."""

from __future__ import annotations

import ast
import inspect
import json
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

import typer

from vista_guard.cli.common import FAILED, exit_codes

if TYPE_CHECKING:
    from pydantic import BaseModel
    from pydantic.fields import FieldInfo

HEAD = """\
# Settings of vista-guard, each with its default: as written, this file changes nothing.
# Remove the # before a line to change it, and keep the line below its [table]. Arguments of a command and environment
# variables (VISTA_GUARD_POLICY, VISTA_GUARD_LIMITS__CLAIMS) override this file. Put secrets into the environment.
"""
WIDTH = 118


def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")] = Path("vista-guard.toml"),
) -> None:
    """Write a settings file with every setting and its default.

    Every line is a comment, so the file changes nothing until you edit it. Commands read vista-guard.toml in the folder
    they run in, or the file that VISTA_GUARD_CONFIG names. An existing file is never overwritten: exit code 2.

    Example: `vista-guard init`
    """
    with exit_codes():
        _check_free(file)
        try:
            with file.open("x", encoding="utf-8") as new:
                new.write(settings_file())
        except OSError as exc:
            from vista_guard.errors import ConfigError

            raise ConfigError(f"{file} cannot be written: {exc.strerror}; name another file") from exc
        typer.echo(f"wrote {file}")


def _check_free(file: Path) -> None:
    from vista_guard.errors import ConfigError
    from vista_guard.settings.sources import FILES

    if file.suffix != ".toml":
        raise ConfigError(f"{file} does not end in .toml; the settings are written as TOML: name another file")
    # Of two settings files in a folder only the first is read: a new vista-guard.toml would hide a vista-guard.yaml.
    siblings = [file.with_name(name) for name in FILES] if file.name in FILES else []
    for path in (file, *siblings):
        if path.exists():
            raise ConfigError(f"{path} exists already; move it, or write another file: vista-guard init other.toml")


def settings_file() -> str:
    """Returns the text of a settings file that changes nothing and shows every setting.

    >>> [line for line in settings_file().splitlines() if line.startswith("#policy ")]
    ['#policy = "balanced"']
    """
    from vista_guard.dashboard.settings import DashboardSettings
    from vista_guard.proxy.settings import AlertSettings, ProxySettings
    from vista_guard.settings.sources import Settings

    sections: dict[str, type[BaseModel]] = {
        "proxy": ProxySettings,
        "dashboard": DashboardSettings,
        "alerts": AlertSettings,
    }
    return HEAD + "\n".join(_table(Settings, (), sections)) + "\n"


def _table(model: type[BaseModel], path: tuple[str, ...], sections: Mapping[str, type[BaseModel]]) -> Iterator[str]:
    """Yields a model's settings, then the tables below it."""
    below = {name: sections.get(name) or _model_of(field) for name, field in model.model_fields.items()}
    for name, field in model.model_fields.items():
        if below[name] is None:
            yield from ("", *_comment(model, name, field), f"#{name} = {_default(field)}".rstrip())
    for name, field in model.model_fields.items():
        inner = below[name]
        if inner is not None:
            # The header of a table that may be missing is a comment, too: there, an empty table says something.
            mark = "#" if field.default is None else ""
            yield from ("", *_comment(model, name, field), f"{mark}[{'.'.join((*path, name))}]")
            yield from _table(inner, (*path, name), {})


def _model_of(field: FieldInfo) -> type[BaseModel] | None:
    """Returns the model that is a field's type, alone or with None."""
    from pydantic import BaseModel

    kinds = [field.annotation, *(get_args(field.annotation) if field.default is None else ())]
    return next((kind for kind in kinds if inspect.isclass(kind) and issubclass(kind, BaseModel)), None)


def _comment(model: type[BaseModel], name: str, field: FieldInfo) -> list[str]:
    text = next((docs[name] for kind in model.__mro__ if name in (docs := _docs(kind))), "")
    kinds = (field.annotation, *get_args(field.annotation))
    choices = [f"`{choice}`" for kind in kinds if get_origin(kind) is Literal for choice in get_args(kind)]
    if any(choice not in text for choice in choices):
        text = f"{text} One of {', '.join(choices)}."
    return [f"# {line}" for line in textwrap.wrap(text, WIDTH - 2, break_on_hyphens=False, break_long_words=False)]


@cache
def _docs(model: type) -> dict[str, str]:
    """Returns the docstring below each field of a class, on one line."""
    if model.__module__.partition(".")[0] != __name__.partition(".")[0]:
        return {}
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    body = tree.body if isinstance(tree, ast.ClassDef) else []
    return {
        field.target.id: " ".join(doc.value.value.split())
        for field, doc in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(doc, ast.Expr) and isinstance(doc.value, ast.Constant) and isinstance(doc.value.value, str)
    }


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return " # required"
    default: Any = field.get_default(call_default_factory=True)
    if default is None:
        return " # not set"
    if isinstance(default, Mapping):
        return "{}"  # no setting has a default that maps anything
    return json.dumps(list(default) if isinstance(default, (tuple, frozenset)) else default, ensure_ascii=False)


def demo(
    data_dir: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Folder of knowledge.  [default: a temporary folder]")
    ] = None,
    judge: Annotated[str, typer.Option(metavar="NAME", help="Name of the judge.")] = "embedded",
) -> None:
    """Show a guarded conversation.

    Plays a museum guide's conversation with the guard in between. Exits with 1 if a turn differs from the script.

    Example: `vista-guard demo`
    """
    with exit_codes():
        from vista_guard.demo import run

        as_scripted = run(data_dir=data_dir, judge=judge)
    if not as_scripted:
        raise typer.Exit(FAILED)


def schema() -> None:
    """Print the JSON Schema of a report.

    Example: `vista-guard schema > report.schema.json`
    """
    with exit_codes():
        typer.echo(report_schema().encode(), nl=False)


def report_schema() -> str:
    """Returns the JSON Schema (draft 2020-12) of `TurnReport`, indented."""
    from vista_guard.types import TurnReport

    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return (
        json.dumps({**dialect, **TurnReport.model_json_schema(mode="serialization")}, indent=2, ensure_ascii=False)
        + "\n"
    )
