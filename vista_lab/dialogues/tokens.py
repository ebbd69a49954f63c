"""Tokens of answers and of histories, by a counter with a name: the paper's tokenizer, or words.

The counter is declared: a run with a budget, and every table, name theirs.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vista_guard.errors import ConfigError

O200K = "o200k_base"
"""The paper's tokenizer."""
WORDS = "words"
"""Words and punctuation marks: needs no table, and gives fewer tokens than `o200k_base`."""
_CACHE = "TIKTOKEN_CACHE_DIR"
_CACHED_AS = hashlib.sha1(b"https://openaipublic.blob.core.windows.net/encodings/o200k_base.tiktoken").hexdigest()
"""Name of the table in tiktoken's cache: a hash of its address."""
_PIECE = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class TokenCounter:
    """Counts the tokens of a text. Runs with different counters don't share a table."""

    name: str
    count: Callable[[str], int]


def token_counter(name: str | None = None) -> TokenCounter:
    """A counter of tokens.

    Args:
        name: `o200k_base` (tiktoken fetches its table once), the path of the table `o200k_base.tiktoken`, or `words`. None:
            `o200k_base` if its table is in tiktoken's cache, else `words`.

    Raises:
        ConfigError: the counter is unknown, or its table cannot be loaded.

    Examples:
        >>> token_counter("words").count("It closes at six, not seven.")
        8
    """
    if name is None:
        name = O200K if _is_cached() else WORDS
    if name == WORDS:
        return TokenCounter(WORDS, lambda text: len(_PIECE.findall(text)))
    if name == O200K:
        return _o200k()
    path = Path(name)
    if not path.is_file():
        raise ConfigError(f"tokens {name!r} are unknown; give {O200K}, {WORDS} or the path of {O200K}.tiktoken")
    with tempfile.TemporaryDirectory() as folder, _cache_at(Path(folder)):
        shutil.copy(path, Path(folder) / _CACHED_AS)
        return _o200k()


def _is_cached() -> bool:
    folder = os.environ.get(_CACHE) or os.environ.get("DATA_GYM_CACHE_DIR")
    place = Path(folder) if folder else Path(tempfile.gettempdir()) / "data-gym-cache"
    return (place / _CACHED_AS).is_file()


@contextmanager
def _cache_at(folder: Path) -> Iterator[None]:
    """Lets tiktoken read its table from the folder; its own reader checks the hash."""
    before = os.environ.get(_CACHE)
    os.environ[_CACHE] = str(folder)
    try:
        yield
    finally:
        os.environ.pop(_CACHE)
        if before is not None:
            os.environ[_CACHE] = before


def _o200k() -> TokenCounter:
    try:
        import tiktoken

        encoding = tiktoken.get_encoding(O200K)
    except ImportError as exc:
        raise ConfigError(f"tokens {O200K} need tiktoken: install the extra evaluation, or take {WORDS}") from exc
    except Exception as exc:  # of the network, of a broken table
        raise ConfigError(
            f"the table of {O200K} cannot be had ({type(exc).__name__}); give its file, or take {WORDS}"
        ) from exc
    return TokenCounter(O200K, lambda text: len(encoding.encode(text, disallowed_special=())))
