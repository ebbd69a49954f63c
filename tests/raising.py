"""Errors by their type and by what they name: a setting, a value, a file. The sentence around it may change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest

E = TypeVar("E", bound=BaseException)


def _whole(name: str) -> str:
    before, after = (r"(?<!\w)" if name[:1].isalnum() else "", r"(?!\w)" if name[-1:].isalnum() else "")
    return f"{before}{re.escape(name)}{after}"


@contextmanager
def raises(kind: type[E], *named: object) -> Iterator[pytest.ExceptionInfo[E]]:
    """Expects an error of this kind that names all of these, each as a whole word, number or path."""
    with pytest.raises(kind) as caught:
        yield caught
    said = str(caught.value)
    missing = [one for one in map(str, named) if not re.search(_whole(one), said)]
    assert not missing, f"{said!r} does not name {missing}"
