"""Which paths pass unjudged: those that are known, and those that the operator names. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote

PASSED: Final = (
    "GET models",
    "GET models/*",
    "GET models/*/*",
    "GET models/accounts/*/models/*",
    "POST embeddings",
    "POST moderations",
    "POST audio/speech",
    "POST responses/input_tokens",
    "GET files",
    "GET files/*",
    "POST files",
    "DELETE files/*",
    "POST uploads",
    "POST uploads/*/parts",
    "POST uploads/*/complete",
    "POST uploads/*/cancel",
    "GET vector_stores",
    "GET vector_stores/*",
    "GET vector_stores/*/files",
    "GET vector_stores/*/files/*",
    "GET vector_stores/*/file_batches/*",
    "GET vector_stores/*/file_batches/*/files",
    "POST vector_stores",
    "POST vector_stores/*",
    "POST vector_stores/*/files",
    "POST vector_stores/*/files/*",
    "POST vector_stores/*/file_batches",
    "POST vector_stores/*/file_batches/*/cancel",
    "DELETE vector_stores/*",
    "DELETE vector_stores/*/files/*",
    "DELETE models/*",
    "DELETE responses/*",
    "DELETE conversations/*",
    "DELETE chat/completions/*",
)
"""What passes unjudged, because its answers hold no text that a model wrote."""

_PATTERN = re.compile(r"(?:([A-Z]+) )?(\*\*|[\w.:@*-]+(?:/[\w.:@*-]+)*)")


def passes(method: str, path: str, patterns: Sequence[str]) -> bool:
    """Whether a path passes unjudged by these patterns: a method, or none for all of them, and segments, of which `*` stands for
    any one and `**` at the end for any rest."""
    words = path_words(path)
    return any(_matches(pattern, "GET" if method == "HEAD" else method, words) for pattern in patterns)


def check_pattern(pattern: str) -> str:
    """The pattern, when it is one.

    Raises:
        ValueError: it is none.
    """
    dotted = {".", ".."} & set(pattern.rpartition(" ")[2].split("/"))
    if not _PATTERN.fullmatch(pattern) or dotted or "**" in pattern.removesuffix("**"):
        raise ValueError(
            f"{pattern!r} is no path to pass; write it as `POST images/generations`, below the base URL and without /v1, "
            "with * for one segment or ** at the end for any rest"
        )
    return pattern


def _matches(pattern: str, method: str, words: Sequence[str]) -> bool:
    named, _, path = pattern.rpartition(" ")
    wanted = path.lower().split("/")
    if named and named != method:
        return False
    if wanted[-1] == "**":
        head = wanted[:-1]
        return len(words) > len(head) and _same(head, words[: len(head)])
    return _same(wanted, words)


def _same(wanted: Sequence[str], words: Sequence[str]) -> bool:
    return len(wanted) == len(words) and all(want in ("*", word) for want, word in zip(wanted, words, strict=True))


def path_words(path: str) -> list[str]:
    """The segments, decoded, in lower case."""
    return [word for word in unquote(path).lower().split("/") if word]
