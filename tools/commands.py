"""The pages on the command line: one for each command, and one that lists them all."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vista_guard.cli.common import section_of

if TYPE_CHECKING:
    from typer.core import TyperGroup

    Context = Any  # Typer keeps the types of commands and contexts to itself

PROGRAM = "vista-guard"
INDEX = Path("docs/cli.md")
FOLDER = Path("docs/cli")

INTRODUCTION = """\
# Command line

Each command has a page, made by `make docs` from the command itself. `vista-guard COMMAND --help` shows the same text.
`python -m vista_guard` is the same program.
"""

USAGE = """\
## Output and exit codes

Results go to stdout; progress and errors go to stderr. Help has colours on a terminal and is plain text in a pipe.

| code | meaning |
|---|---|
| 0 | the turn is delivered; the replay is complete |
| 1 | the judge or a store failed |
| 2 | wrong usage, settings or input; entries of a log that could not be read |
| 3 | the turn is blocked |
| 130, 143 | stopped by Ctrl-C, by SIGTERM |

## Completion

`vista-guard --install-completion` teaches your shell (bash, zsh, fish or PowerShell) to complete commands, options and choices
with the Tab key; start a new shell afterwards. `vista-guard --show-completion` prints the script, to install it your own way.
"""

GUIDES = {
    "agree": "annotating",
    "annotations": "annotating",
    "calibrate": "policies",
    "check": "guarding",
    "compare": "comparing",
    "dashboard": "dashboard",
    "datasets": "datasets",
    "db": "watching",
    "decompose": "decomposers",
    "demo": "tutorial-first",
    "documents": "guarding",
    "eval": "evaluating",
    "forget": "watching",
    "init": "guarding",
    "knowmt": "tutorial-dialogues",
    "oasis": "generating",
    "replay": "replay",
    "reports": "watching",
    "reviews": "reviewing",
    "schema": "watching",
    "serve": "deployment",
    "verifiers": "verifiers",
    "verify": "verifying",
}
"""The guide that shows each command at work, by its page in docs/."""


def command_pages(docs: Path) -> dict[Path, str]:
    """The text of every page on the command line; `docs` has the guides that they link to."""
    context = _context(_root(), PROGRAM)
    commands = list(_commands_of(_root(), context))
    pages = {FOLDER / f"{inner.info_name}.md": _page(inner, docs) for inner in commands}
    return {INDEX: _index(commands), **pages}


@cache
def _root() -> TyperGroup:
    """All commands, built once: Typer's runner would build them anew for each."""
    from typer.main import get_group

    from vista_guard.cli import app

    return get_group(app)


def _context(command: Any, name: str, parent: Context | None = None) -> Context:
    return command.make_context(name, [], parent=parent, resilient_parsing=True)


def _commands_of(group: Any, context: Context) -> Iterator[Context]:
    """The contexts of a group's commands, in the order of its help."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None and not command.hidden:
            yield _context(command, name, context)


def _inner(context: Context) -> list[Context]:
    """The contexts of the commands below this one."""
    return list(_commands_of(context.command, context)) if hasattr(context.command, "commands") else []


def _index(commands: Iterable[Context]) -> str:
    sections: dict[str, list[str]] = {}
    for context in commands:
        rows = sections.setdefault(section_of(context.command), [])
        page = f"cli/{context.info_name}.md"
        rows.append(_row(context, page))
        rows += [_row(inner, f"{page}#{_anchor(inner)}") for inner in _inner(context)]
    tables = [f"## {section}\n\n| command | |\n|---|---|\n{''.join(rows)}" for section, rows in sections.items()]
    return "\n".join([INTRODUCTION, *tables, USAGE])


def _row(context: Context, target: str) -> str:
    """A line of the index. Links to a command on the one page that there was still find it."""
    name = context.command_path.removeprefix(f"{PROGRAM} ")
    return f'| <a id="{_anchor(context)}"></a>[`{name}`]({target}) | {_paragraphs(context)[0]} |\n'


def _anchor(context: Context) -> str:
    return str(context.command_path).replace(" ", "-")


def _page(context: Context, docs: Path) -> str:
    guide = docs / f"{GUIDES[context.info_name or '']}.md"
    title = guide.read_text("utf-8").partition("\n")[0].removeprefix("# ")
    more = f"Guide: [{title}](../{guide.name}) · [all commands](../{INDEX.name})\n"
    inner = _inner(context)
    if not inner:
        return "\n".join([f"# {context.command_path}\n", *_body(context), more])
    names = [f"- [`{one.info_name}`](#{_anchor(one)}): {_paragraphs(one)[0]}" for one in inner]
    parts = [f"# {context.command_path}\n", f"{_paragraphs(context)[0]}\n", "\n".join(names) + "\n"]
    for one in inner:
        parts += [f"## {one.command_path}\n", *_body(one)]
    return "\n".join([*parts, more])


def _body(context: Context) -> Iterator[str]:
    """A command's description, example, usage, arguments and options."""
    first, *others = _paragraphs(context)
    yield f"{first}\n"
    examples = [text.removeprefix("Example: ").strip("`") for text in others if text.startswith("Example: ")]
    if examples:
        yield _block("bash", *examples)
    yield from (f"{text}\n" for text in others if not text.startswith("Example: "))
    yield _block("text", " ".join(context.command.get_usage(context).split()).removeprefix("Usage: "))
    for kind in ("argument", "option"):
        rows = [_parameter(*record) for record in _records(context, kind)]
        if rows:
            yield f"**{kind.capitalize()}s**\n\n" + "\n".join(rows) + "\n"


def _block(language: str, *lines: str) -> str:
    return "\n".join([f"```{language}", *lines, "```\n"])


def _paragraphs(context: Context) -> list[str]:
    """The paragraphs of a command's help, each on one line."""
    return [" ".join(text.split()) for text in (context.command.help or "").split("\n\n")]


def _records(context: Context, kind: str) -> Iterator[tuple[str, str]]:
    for parameter in context.command.get_params(context):
        record = parameter.get_help_record(context) if parameter.param_type_name == kind else None
        if record is not None and "--help" not in parameter.opts:
            yield record


def _parameter(names: str, help: str) -> str:
    """An item of a list: the names and the value as code, the help, then the default and bounds."""
    value = re.sub(r" <(?:str|path|list\[\w+\])>$", "", names)  # Typer's word for a type says nothing to a reader
    value = re.sub(r"<list\[(.+)\]>", r"<\1>", value)
    text, *bounds = re.split(r"\s+\[(?=default:|required|env var:|[x\d])", help)
    notes = re.sub(r"x>=(\S+)", r"at least \1", "; ".join(one.strip().rstrip("]") for one in bounds))
    notes = re.sub(r"([\d.]+)<=x<=([\d.]+)", r"\1 to \2", notes)
    return f"- `{value}`: {text}" + (f" *({notes})*" if notes else "")
