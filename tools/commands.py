"""The page on the command line: the help of every command, as Markdown."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout, suppress
from functools import cache
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typer.models import CommandInfo

WIDTH = 80

INTRODUCTION = """\
# Command line

This page is written by `make docs` from the commands themselves.

Results go to stdout; progress and errors go to stderr. Exit codes:

| code | meaning |
|---|---|
| 0 | the turn is delivered; the replay is complete |
| 1 | the judge or a store failed |
| 2 | wrong usage, settings or input; entries of a log that could not be read |
| 3 | the turn is blocked |
| 130, 143 | stopped by Ctrl-C, by SIGTERM |
"""


@cache
def commands_page() -> str:
    """Help of every command, as Markdown."""
    from vista_guard.cli import app

    paths: list[tuple[str, ...]] = [(_name(command),) for command in app.registered_commands]
    for group in app.registered_groups:
        inner = group.typer_instance.registered_commands if group.typer_instance else []
        paths += [(group.name or "", _name(command)) for command in inner]
    sections = [("vista-guard", help_of()), *((" ".join(("vista-guard", *path)), help_of(*path)) for path in paths)]
    return "\n".join([INTRODUCTION, *(f"## {title}\n\n```text\n{text}```\n" for title, text in sections)])


def help_of(*command: str) -> str:
    """The output of `vista-guard COMMAND --help` on a terminal of `WIDTH` columns."""
    output = StringIO()
    columns = WIDTH + 2  # Click leaves two of them free
    with _columns(columns), redirect_stdout(output), suppress(SystemExit):
        _all_commands()([*command, "--help"], prog_name="vista-guard", max_content_width=columns)
    return "\n".join(line.rstrip() for line in output.getvalue().splitlines()) + "\n"


@cache
def _all_commands() -> Callable[..., object]:
    """All commands, built once: Typer's runner would build them anew for each."""
    from typer.main import get_command

    from vista_guard.cli import app

    return get_command(app)


def _name(command: CommandInfo) -> str:
    """A command's name on the command line: its own, else its function's, as in Typer."""
    return command.name or (command.callback.__name__.replace("_", "-") if command.callback else "")


@contextmanager
def _columns(width: int) -> Iterator[None]:
    before = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(width)
    try:
        yield
    finally:
        os.environ.pop("COLUMNS")
        if before is not None:
            os.environ["COLUMNS"] = before
