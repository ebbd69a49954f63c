"""Child processes. This module starts all of them, with the import path of this process and nothing of the working folder.

`python -c` and `python -m` put the working folder before the standard library, where a `types.py` beside somebody's notes would
run. It imports only what the interpreter has loaded by then: `python -m vista_guard` imports it first of all.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen

PACKAGES = ("vista_guard", "vista_lab")

_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - pathlib is not loaded yet
_PROGRAM = "import sys; _, name, call, *sys.path[:] = sys.argv; __import__(name); getattr(sys.modules[name], call)()"


def start_python(module: str, function: str, *, own_session: bool = False, hear: bool = False) -> "Popen[bytes]":
    """Starts a process that calls a function without arguments, with pipes on its standard input and output.

    Not by multiprocessing: its new processes run the user's main script once more.

    Args:
        module: of this package, by its full name.
        function: its name in the module.
        own_session: keeps signals of the terminal from the process.
        hear: gives its standard error a pipe, too.

    Raises:
        OSError: the system starts no process.
    """
    from subprocess import PIPE, Popen

    # A new interpreter searches PYTHONPATH for `sitecustomize`: there, too, only what this process found at its own start.
    named = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if _is_absolute(folder)]
    command = [sys.executable, *_options(), "-c", _PROGRAM, module, function, *import_path()]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(named)}
    return Popen(
        command,
        stdin=PIPE,
        stdout=PIPE,
        stderr=PIPE if hear else None,
        env=environment,
        start_new_session=own_session,
    )


def has_ended(process: "Popen[bytes]", seconds: float) -> bool:
    """Waits for the process to end; False if it still runs then."""
    from subprocess import TimeoutExpired

    try:
        process.wait(seconds)
    except TimeoutExpired:
        return False
    return True


def import_path() -> list[str]:
    """Returns this process's import path for its children.

    Without relative folders, as a prompt, a notebook and `python -c` have for the working folder. The folder of this package
    comes last where no other one leads to it.
    """
    path = [folder for folder in sys.path if isinstance(folder, str) and _is_absolute(folder)]
    return path if _HOME in path else [*path, _HOME]


def leave_working_folder() -> None:
    """Takes off the import path what `python -m` put there, if one of our modules is being run so.

    A checkout that is not installed keeps its folder, behind everything else.
    """
    # While Python looks for the module, the arguments are "-m" and the user's own, behind the module's name.
    if sys.argv[:1] != ["-m"] or sys.flags.safe_path:
        return
    named = sys.orig_argv[-len(sys.argv)]
    module = named.partition("m")[2] if named.startswith("-") else named  # `-m NAME`, `-mNAME`, `-Im NAME`
    if module.partition(".")[0] in PACKAGES:
        del sys.path[0]
        sys.path[:] = import_path()


def _is_absolute(folder: str) -> bool:
    return os.path.isabs(folder)  # noqa: PTH117 - pathlib is not loaded yet


def _options() -> list[str]:
    """The options that keep the working folder out, and keep out what is kept from this process."""
    flags = sys.flags
    given = {"-E": flags.ignore_environment, "-s": flags.no_user_site, "-S": flags.no_site}
    return ["-P", *(option for option, value in given.items() if value)]
