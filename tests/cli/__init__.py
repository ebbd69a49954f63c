"""The command line."""

from __future__ import annotations

import re

_NOTICE = re.compile(r"\A\d[\d,]* of [^\n]* bring no documents[^\n]*\n[^\n]*not read as documents[^\n]*\n")


def after_notice(stderr: str) -> str:
    """The output behind the two lines in which a replay says that turns bring no evidence; both lines must be there."""
    assert _NOTICE.match(stderr), stderr
    return _NOTICE.sub("", stderr)
