"""Which route a path means, however it is spelled. Pure.

Upstream may read `//`, `.` or `%2F` in another way than we do, and a path that it reads as chat completions must not pass as
something else. So paths are read as generously as the most generous server would, and sent on as they were read.
"""

from __future__ import annotations

from typing import Literal
from urllib.parse import quote, unquote

from vista_guard.proxy.http.upstream import Problem

Api = Literal["chat", "responses"]

_SAFE = "~!$&'()*+,:=@"
_UNKNOWN = Problem(404, "unknown_url", "there is no such path")


def read_path(raw: str) -> str:
    """The path below the base URL, quoted, without a leading `v1`.

    Raises:
        Problem: a path that leads out of the base URL, or that servers read differently.
    """
    segments = [segment for segment in raw.split("/") if segment]
    for segment in segments:
        plain = unquote(segment)
        if plain in (".", "..") or not plain.isprintable() or any(mark in plain for mark in "\\;?#"):
            raise _UNKNOWN
        if any(part in (".", "..") for part in plain.split("/")):
            raise _UNKNOWN
    rest = segments[1:] if segments[:1] == ["v1"] else segments
    return "/".join(quote(unquote(segment), safe=_SAFE) for segment in rest)


def judged_api(path: str) -> Api | None:
    """The API whose answers are judged, when the path ends with its name: also below a deployment or an engine."""
    words = _words(path)
    if words[-2:] == ["chat", "completions"]:
        return "chat"
    return "responses" if words[-1:] == ["responses"] else None


def gives_unjudged_text(method: str, path: str) -> bool:
    """Whether the answer would give out what a model said, where the guard cannot judge it."""
    words = _words(path)
    if words[-1:] == ["completions"]:  # text completions; stored chat completions
        return True
    if method in ("GET", "HEAD"):
        stored = "responses" in words or words[:1] == ["conversations"] or words[:2] == ["chat", "completions"]
        return stored and words[-1:] != ["input_items"]
    return words[-1:] == ["cancel"] and "responses" in words


def _words(path: str) -> list[str]:
    return [word for word in unquote(path).lower().split("/") if word]
