"""Parts that commands share: exit codes, common options, a progress bar.

0  the turn was delivered, the replay is complete
1  the judge or a store failed
2  wrong usage, settings or input
3  the turn was blocked
128 + signal  stopped by a signal: 130 for Ctrl-C

Errors print one line on stderr. Texts of models and documents are printed with their control characters removed.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from vista_guard.reading.visible import visible as visible  # the commands take it from here

if TYPE_CHECKING:
    from rich.progress import Progress

FAILED = 1
WRONG_INPUT = 2
BLOCKED = 3
STOPPED = 128
INTERRUPTED = STOPPED + 2

OTHERS = "Commands"
"""Section of the help for commands that name none of their own (`rich_help_panel`)."""


class Sections(TyperGroup):
    """A group whose plain help lists commands by section, as the help on a terminal does."""

    def get_help_option(self, ctx: Any) -> Any:
        """Typer's, with a default: a flag without one is read with pydantic, which takes 0.1 s to load."""
        option = super().get_help_option(ctx)
        if option is not None:
            option.default = False
        return option

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Writes a list for each section, in the order in which their first commands were added."""
        sections: dict[str, list[tuple[str, str]]] = {}
        names = self.list_commands(ctx)
        widest = max(map(len, names), default=0)
        for name in names:
            rows = sections.setdefault(section_of(self.commands[name]), [])
            rows.append((name.ljust(widest), self.commands[name].get_short_help_str(limit=200)))
        for section, rows in sections.items():
            with formatter.section(section):
                formatter.write_dl(rows)


def section_of(command: object) -> str:
    """The section of the help that lists a command."""
    return getattr(command, "rich_help_panel", None) or OTHERS


class Later(TyperCommand):
    """A command or a group that is loaded when it is called, so that help and completion load no other command."""

    reference: ClassVar[str]
    """`module:attribute` of the command's function, or of the group's app."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the loaded command, which runs in place of this one."""
        return self.loaded().make_context(info_name, args, parent, **extra)

    def loaded(self) -> Any:
        """The command or group itself."""
        module, _, attribute = self.reference.partition(":")
        found = getattr(import_module(module), attribute)
        if isinstance(found, typer.Typer):
            found.rich_markup_mode = self.rich_markup_mode
            return get_group(found)
        alone = typer.Typer(rich_markup_mode=self.rich_markup_mode)
        alone.command(self.name)(found)
        return next(iter(get_group(alone).commands.values()))


def add_later(app: typer.Typer, name: str, reference: str, summary: str, section: str | None = None) -> None:
    """Adds a command or a group that is loaded when it is called.

    Args:
        app: the app or group that it is added to.
        name: its name there.
        reference: `module:attribute` of the function, or of the group's app.
        summary: the first paragraph of its help.
        section: of the help of `app` that lists it.
    """
    command = type(Later.__name__, (Later,), {"reference": reference})
    app.command(name, cls=command, help=summary, rich_help_panel=section)(_unloaded)


def _unloaded() -> None:
    raise AssertionError("a command is loaded before it runs")


def starting(*choices: str) -> Callable[[str], list[str]]:
    """Completions that a shell offers for a value that has other forms, too: `autocompletion` of an option or an argument."""

    def offered(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return offered


def command_group(name: str, help: str | None = None) -> typer.Typer:
    """A command with subcommands. Help and errors are plain text, as pipes and logs want them; see `cli.main` for terminals."""
    options: dict[str, Any] = {"add_completion": False, "rich_markup_mode": None, "pretty_exceptions_enable": False}
    if help is not None:
        options["help"] = help
    return typer.Typer(name=name, cls=Sections, no_args_is_help=True, **options)


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turns expected errors into a message and an exit code. Other exceptions are bugs and show a traceback."""
    from vista_guard.errors import ConfigError, InputError, VistaGuardError

    try:
        yield
    except (ConfigError, InputError) as exc:
        raise _failed(exc, WRONG_INPUT) from exc
    except VistaGuardError as exc:
        raise _failed(exc, FAILED) from exc
    except KeyboardInterrupt:
        typer.echo("interrupted", err=True)
        raise typer.Exit(INTERRUPTED) from None
    except BrokenPipeError:
        # The reader of stdout has gone, as `| head` does: the interpreter must not try to flush it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(FAILED) from None


def given_options(**options: Any) -> dict[str, Any]:
    """The options that are not None; the settings supply the others."""
    return {name: value for name, value in options.items() if value is not None}


def progress_bar(*, disable: bool = False) -> Progress:
    """A progress bar on standard error, if that is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True, highlight=False)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=console, transient=True, disable=disable or not console.is_terminal)


def _failed(error: Exception, code: int) -> typer.Exit:
    typer.echo(f"error: {visible(str(error))}", err=True)
    return typer.Exit(code)


JudgeOption = Annotated[
    str | None,
    typer.Option(
        "--judge",
        metavar="NAME",
        help="Name of the judge, such as embedded or openai:MODEL.  [default: from the settings, else embedded]",
    ),
]
VerifierOption = Annotated[
    str | None,
    typer.Option(
        "--verifier",
        metavar="NAME",
        help="Verifier inside the embedded judge: hf:ORG/MODEL, a folder, openai:MODEL@URL.  [default: from the settings, "
        "else shipped]",
    ),
]
DecomposerOption = Annotated[
    str | None,
    typer.Option(
        "--decomposer",
        "--extractor",
        metavar="NAME",
        help="Splits texts into claims: sentence, steps:embedded, steps:openai:MODEL@URL, hf:ORG/MODEL, a folder.  "
        "[default: from the settings, else the judge]",
    ),
]
EmbedderOption = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        metavar="NAME",
        help="Model that finds passages in the document store: hf:ORG/MODEL or a folder.  [default: from the settings, else "
        "shipped]",
    ),
]
PolicyOption = Annotated[
    str | None,
    typer.Option(
        "--policy",
        metavar="NAME",
        autocompletion=starting("monitor", "balanced", "strict"),
        help="monitor, balanced, strict, or a TOML or YAML file with policy and policy_overrides.  [default: from the settings, "
        "else balanced]",
    ),
]
PersonaOption = Annotated[
    Path | None,
    typer.Option("--persona", metavar="FILE", help="Facts that the agent may take for granted: YAML with name, facts."),
]
DataDirOption = Annotated[
    Path | None,
    typer.Option(
        "--data-dir",
        metavar="FOLDER",
        help="Folder of knowledge and reports.  [default: from the settings, else the user's data folder]",
    ),
]
HostOption = Annotated[
    str | None,
    typer.Option(
        "--host", metavar="ADDRESS", help="Address to listen on.  [default: from the settings, else 127.0.0.1]"
    ),
]
