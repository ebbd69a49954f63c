"""Which route a path means, however it is spelled. Pure.

Upstream may read `//`, `.` or `%2F` in another way than we do, and a path that it reads as chat completions must not pass as
something else. So paths are read as generously as the most generous server would, sent on as they were read, and refused where
servers differ. Of those that are not judged, only known ones pass.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from vista_guard.openai_api.dialect import Problem
from vista_guard.proxy.settings import PASSED, passes, path_words

_SAFE = "~!$&'()*+,:=@"
_UNKNOWN = Problem(404, "unknown_url", "there is no such path")
_ODD = re.compile(r'[\\;?#%<>"^`{|}\s]|[^ -~]')
"""What no segment of the API's paths has, once it is decoded: servers read it in more than one way."""


def read_path(raw: str) -> str:
    """The path below the base URL, quoted, without a leading `v1`.

    Raises:
        Problem: a path that leads out of the base URL, or that servers read differently.
    """
    segments = [segment for segment in raw.split("/") if segment]
    for part in (part for segment in segments for part in unquote(segment).split("/")):
        if _ODD.search(part) or part.endswith("."):
            raise _UNKNOWN
    rest = segments[1:] if segments[:1] == ["v1"] else segments
    return "/".join(quote(unquote(segment), safe=_SAFE) for segment in rest)


def passed_by_default(method: str, path: str) -> bool:
    """Whether a path's answers are known to hold no text that a model wrote; also below a deployment or an engine."""
    words = path_words(path)
    words = words[1:] if words[:1] == ["openai"] else words
    words = words[2:] if words[:1] in (["deployments"], ["engines"]) else words
    if method == "OPTIONS":  # a browser asks for one of the methods before it uses it; the answer's body does not pass
        return passes(method, "/".join(words), [pattern.partition(" ")[2] for pattern in PASSED])
    return passes(method, "/".join(words), PASSED)
