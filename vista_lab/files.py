"""Files that people give and that commands write: a fault is an error that names the file, the place in it and the next step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError
from pathlib import Path

from pydantic import ValidationError

from vista_guard.errors import ConfigError, InputError, VistaGuardError, first_problem
from vista_guard.stores.line_file import ANOTHER_OUT


@contextmanager
def reading(file: Path | str, advice: str = "", error: type[VistaGuardError] = InputError) -> Iterator[None]:
    """Turns the faults of a file that is read inside the block into one error; `advice` follows its message.

    Raises InputError, or `error`: the file cannot be opened, is not what it should be, or has a wrong value: names its place.

    Examples:
        >>> with reading("items.json", "; give a list"):
        ...     int("x")
        Traceback (most recent call last):
        vista_guard.errors.InputError: items.json cannot be read: invalid literal for int() with base 10: 'x'; give a list
    """
    try:
        yield
    except OSError as exc:
        raise error(f"{file} cannot be read: {exc.strerror or exc}{advice}") from exc
    except ValidationError as exc:
        raise error(f"{file}: {first_problem(exc)}{advice}") from exc
    except UnicodeDecodeError as exc:
        raise error(f"{file} is not UTF-8 text (byte {exc.start}){advice}") from exc
    except ValueError as exc:
        why = "is not JSON" if isinstance(exc, JSONDecodeError) else "cannot be read"
        raise error(f"{file} {why}: {exc}{advice}") from exc


def count_lines(path: Path) -> int:
    """Number of whole lines, without parsing; 0 if the file does not exist."""
    try:
        with path.open("rb") as file:
            return sum(1 for line in file if line.endswith(b"\n"))
    except OSError:
        return 0


@contextmanager
def writing(
    place: Path | str, advice: str = f". {ANOTHER_OUT}", error: type[VistaGuardError] = ConfigError
) -> Iterator[None]:
    """Turns a failure to write inside the block into an error; `advice` follows its message.

    Raises ConfigError, or `error`: the file or the folder cannot be written.
    """
    try:
        yield
    except OSError as exc:
        raise error(f"{place} cannot be written: {exc.strerror or exc}{advice}") from exc
