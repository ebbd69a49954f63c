"""Routes of OpenAI's API: which pass unjudged, as their answers hold no text that a model wrote, and how paths are read.

`wire.judged_api` knows those that are judged; any other is refused, unless it is opened by a pattern. A path that upstream reads
as chat completions must not pass as another one: paths are read as the most generous server would, sent on as they were read,
and refused where servers differ.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final
from urllib.parse import quote, unquote

from vista_guard.openai_api.wire import Problem, path_words

_PASSED_PATHS: Final = {
    "GET": (
        "models models/* models/*/* models/accounts/*/models/* files files/* vector_stores "
        "vector_stores/* vector_stores/*/files vector_stores/*/files/* vector_stores/*/file_batches/* "
        "vector_stores/*/file_batches/*/files"
    ),
    "POST": (
        "embeddings moderations audio/speech responses/input_tokens files uploads uploads/*/parts "
        "uploads/*/complete uploads/*/cancel vector_stores vector_stores/* vector_stores/*/files "
        "vector_stores/*/files/* vector_stores/*/file_batches vector_stores/*/file_batches/*/cancel"
    ),
    "DELETE": (
        "files/* vector_stores/* vector_stores/*/files/* models/* responses/* conversations/* chat/completions/*"
    ),
}
PASSED: Final = tuple(f"{method} {path}" for method, paths in _PASSED_PATHS.items() for path in paths.split())
"""Routes that pass unjudged: their answers hold no text that a model wrote."""

_PATTERN = re.compile(r"(?:([A-Z]+) )?(\*\*|[\w.:@*-]+(?:/[\w.:@*-]+)*)")


def passes(method: str, path: str, patterns: Sequence[str]) -> bool:
    """True if a path passes unjudged by these patterns: a method, or none for all of them, and segments, of which `*` stands for
    any one and `**` at the end for any rest."""
    words = path_words(path)
    return any(_matches(pattern, "GET" if method == "HEAD" else method, words) for pattern in patterns)


def check_pattern(pattern: str) -> str:
    """Returns a valid pattern; else ValueError."""
    dotted = {".", ".."} & set(pattern.rpartition(" ")[2].split("/"))
    if not _PATTERN.fullmatch(pattern) or dotted or "**" in pattern.removesuffix("**"):
        raise ValueError(
            f"{pattern!r} is no path to pass; write it as `POST images/generations`, below the base URL and without /v1, "
            "with * for one segment or ** at the end for any rest"
        )
    return pattern


def _matches(pattern: str, method: str, words: Sequence[str]) -> bool:
    wanted_method, _, path = pattern.rpartition(" ")
    wanted = path.lower().split("/")
    if wanted_method and wanted_method != method:
        return False
    if wanted[-1] == "**":
        head = wanted[:-1]
        return len(words) > len(head) and _same(head, words[: len(head)])
    return _same(wanted, words)


def _same(wanted: Sequence[str], words: Sequence[str]) -> bool:
    return len(wanted) == len(words) and all(want in ("*", word) for want, word in zip(wanted, words, strict=True))


_SAFE = "~!$&'()*+,:=@"
_UNKNOWN = Problem(404, "unknown_url", "there is no such path")
_ODD = re.compile(r'[\\;?#%<>"^`{|}\s]|[^ -~]')
"""Characters that no decoded path segment of the API has: servers disagree about them."""


def read_path(raw: str) -> str:
    """The path below the base URL, quoted, without a leading `v1`. Problem: one that servers read differently."""
    segments = [segment for segment in raw.split("/") if segment]
    for part in (part for segment in segments for part in unquote(segment).split("/")):
        if _ODD.search(part) or part.endswith("."):
            raise _UNKNOWN
    rest = segments[1:] if segments[:1] == ["v1"] else segments
    return "/".join(quote(unquote(segment), safe=_SAFE) for segment in rest)


def passed_by_default(method: str, path: str) -> bool:
    """True if a path's answers are known to hold no text that a model wrote; also below a deployment or an engine."""
    words = path_words(path)
    words = words[1:] if words[:1] == ["openai"] else words
    words = words[2:] if words[:1] in (["deployments"], ["engines"]) else words
    return passes(method, "/".join(words), PASSED)


def asks_about_passed(path: str) -> bool:
    """True if a browser may ask with OPTIONS about a path before it uses it. The answer's body must not pass."""
    return any(passed_by_default(method, path) for method in _PASSED_PATHS)
