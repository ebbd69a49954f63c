"""Exit codes, and errors as one line on stderr.

0  the turn was delivered, the replay is complete
1  the judge or a store failed
2  wrong usage, settings or input
3  the turn was blocked
128 + signal  stopped by a signal: 130 for Ctrl-C
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import typer

FAILED = 1
WRONG_INPUT = 2
BLOCKED = 3
STOPPED = 128
INTERRUPTED = STOPPED + 2


@contextmanager
def exit_codes() -> Iterator[None]:
    """Turns errors raised on purpose into a message and an exit code; all others are bugs and show as such."""
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


def _failed(error: Exception, code: int) -> typer.Exit:
    from vista_guard.cli.render import visible

    typer.echo(f"error: {visible(str(error))}", err=True)
    return typer.Exit(code)
