"""Help and completion: every command and option that users have, on a terminal and in a pipe; commands that pages show."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from vista_guard.cli import COMMANDS as GUARDS
from vista_guard.cli import app
from vista_guard.cli.common import Later
from vista_lab.registry import EVALUATING, PAPERS

ROOT = Path(__file__).parents[2]
SECTIONS = [*GUARDS, EVALUATING, PAPERS]
LINES = (Path(__file__).parent / "commands.txt").read_text("utf-8").splitlines()
USED = {command: set(options.split()) for command, _, options in (line.partition(":") for line in LINES)}
"""Options by command, as users call them. A new one joins the file; one leaves it only with a line in the changelog."""
RUN = [sys.executable, "-m", "vista_guard"]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")]


def all_commands() -> dict[str, Any]:
    """All commands by their words, such as `documents add`; the program itself is `.`."""
    root: Any = get_command(app)
    found = {name: command.loaded() for name, command in root.commands.items()}
    for name, command in list(found.items()):
        for inner, below in getattr(command, "commands", {}).items():
            found[f"{name} {inner}"] = below.loaded() if isinstance(below, Later) else below
    return {".": root, **found}


COMMANDS = all_commands()


def options(command: str) -> set[str]:
    """Names of a command's options."""
    names = {name for one in COMMANDS[command].params for name in (*one.opts, *one.secondary_opts)}
    return {"--help"} | {name for name in names if name.startswith("-")}


@pytest.mark.parametrize("command", USED)
def test_no_command_and_no_option_that_users_call_is_gone(command: str) -> None:
    assert USED[command] - options(command) == set()


def test_the_list_has_every_command_and_option() -> None:
    leaves = {name for name, command in COMMANDS.items() if name == "." or not hasattr(command, "commands")}
    assert set(USED) == leaves
    assert [name for name in leaves if options(name) - {"--help"} != USED[name]] == []


@pytest.mark.parametrize("command", USED)
def test_the_page_of_a_command_has_its_options_and_an_example(command: str) -> None:
    if command == ".":
        return
    page = (ROOT / f"docs/cli/{command.split()[0]}.md").read_text("utf-8")
    _, title, text = page.partition(f"# vista-guard {command}\n")
    section = re.split(r"\n#+ vista-guard", text)[0]
    assert (title != "", f"```bash\nvista-guard {command}" in section) == (True, True)
    assert [name for name in USED[command] if not re.search(rf"(?<![\w-]){name}\b", section)] == []


def test_a_command_that_is_loaded_later_is_told_by_its_own_words() -> None:
    root: Any = get_command(app)
    groups = [command for name, command in COMMANDS.items() if name != "." and hasattr(command, "commands")]
    later = [one for group in (root, *groups) for one in group.commands.values() if isinstance(one, Later)]
    words = [(one.name, " ".join(one.loaded().help.split("\n\n")[0].split())) for one in later]
    assert words == [(one.name, one.help) for one in later]


@pytest.mark.parametrize("command", ["", "check", "oasis"])
def test_help_loads_no_other_command(command: str) -> None:
    script = (
        f"import sys; from vista_guard.cli import main; sys.argv = ['vista-guard', *{command.split()}, '--help']\n"
        "try: main()\nexcept SystemExit: print('LOADED', *sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.partition("LOADED")[2].split())
    assert "vista_lab.registry" in loaded
    heavy = {"pydantic", "rich", "asyncio", "vista_guard.cli.serve", "vista_lab.evaluate.eval", "vista_guard.types"}
    assert loaded & heavy == set()


def test_the_help_has_each_command_once_below_its_section() -> None:
    shown = CliRunner().invoke(app, ["--help"]).stdout
    assert [line.rstrip(":") for line in shown.splitlines() if line.rstrip(":") in SECTIONS] == SECTIONS
    listed = re.findall(r"^  (\w+)  ", shown.partition(f"{SECTIONS[0]}:")[2], re.MULTILINE)
    assert sorted(listed) == sorted(name for name in COMMANDS if name != "." and " " not in name)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_a_terminal_gets_boxes_and_a_pipe_plain_text() -> None:
    import pty

    command = [*RUN, "check", "--help"]
    plain = subprocess.run(command, capture_output=True, check=True).stdout.decode()
    ours, theirs = pty.openpty()
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env={**os.environ, "COLUMNS": "100"}) as process:
        os.close(theirs)
        shown = re.sub(r"\x1b\[[\d;]*m", "", b"".join(_read(ours)).decode())
    assert (process.returncode, "╭─ Options" in shown, "╭" in plain, "\nOptions:\n" in plain) == (0, True, False, True)
    assert USED["check"] - set(re.split(r"[\s,]+", shown)) == set()


def _read(terminal: int) -> Iterator[bytes]:
    try:
        while part := os.read(terminal, 65536):
            yield part
    except OSError:  # Linux says so that the other end is closed
        return
    finally:
        os.close(terminal)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("rep", ["replay", "reports"]),
        ("documents ", ["add", "list", "remove", "search"]),
        ("serve --g", ["--gate"]),
        ("serve --gate s", ["sentence"]),
        ("check --policy b", ["balanced"]),
        ("eval fad", ["fade"]),
        ("replay --format op", ["openai", "openai-evals", "openinference"]),
    ],
)
def test_a_shell_completes(typed: str, offered: list[str]) -> None:
    words = f"vista-guard {typed}"
    environment = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" ")), "_VISTA_GUARD_COMPLETE": "complete_bash"}
    done = CliRunner().invoke(app, [], env=environment, prog_name="vista-guard")
    assert (sorted(done.stdout.split()), done.stderr) == (offered, "")


def shown_commands(text: str) -> Iterator[list[str]]:
    """The words behind `vista-guard` of each command that a page shows, in a block or between backticks."""
    blocks = re.findall(r"^ *```(?:bash|sh|shell|console)\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE)
    lines = [line for block in blocks for line in re.sub(r"\\\n\s*", " ", block).splitlines()]
    inline = re.findall(r"(?<!`)`((?:\w+=\S+ )*vista-guard [^`]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    for line in [*lines, *inline]:
        for part in re.split(r"\s(?:\||&&|;|>>?|<|#)\s?", f" {line}"):
            found = re.match(r"\s*(?:\$ )?(?:\w+=\S+ )*(?:\S*/)?vista-guard (.*)", part, re.DOTALL)
            if found:
                yield shlex.split(found[1])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_the_commands_that_a_page_shows_exist(page: Path) -> None:
    wrong = []
    for words in shown_commands(page.read_text("utf-8")):
        name = next((one for one in (" ".join(words[:2]), words[0]) if one in COMMANDS), ".")
        named = {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}
        if re.fullmatch(r"[A-Z…]+", words[0]):
            continue  # stands for a command
        if named - options(name) or (name == "." and not words[0].startswith("-")):
            wrong.append(" ".join(words))
    assert wrong == []
