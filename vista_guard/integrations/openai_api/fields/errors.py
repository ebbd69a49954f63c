"""What passes of an error that upstream reports where an answer had begun: its words may be the draft's."""

from __future__ import annotations

import re
from typing import Final

from vista_guard.integrations.openai_api.fields.rules import either, fields, integer, token
from vista_guard.integrations.openai_api.fields.sifting import Sifting
from vista_guard.integrations.openai_api.requests import Json

MESSAGE: Final = "upstream reported an error inside its answer"

_NAME: Final = re.compile(r"[a-z_]{1,40}")
_MOST: Final = 1000
_REQUEST_ERROR: Final = fields("event", {"type": token, "param": token, "code": either(integer, token)})


def request_error(status: int, body: object) -> Json:
    """The error of a request that was refused, in upstream's words where no model has spoken yet."""
    error = body.get("error", body) if isinstance(body, dict) else None
    said = error.get("message") if isinstance(error, dict) else error
    told = scrubbed_error(error)
    # Servers that cannot read what their model said answer with a 500 that quotes it.
    if isinstance(said, str) and (400 <= status < 500 or status == 503):
        return {**told, "message": said[:_MOST], **_named(error)}
    return {**told, "message": f"upstream answered with status {status}", "code": told["code"] or "upstream_status"}


def _named(error: object) -> Json:
    """Type, parameter and code of a refused request are upstream's own."""
    held = _REQUEST_ERROR(error, Sifting())
    return held if isinstance(held, dict) else {}


def scrubbed_error(error: object) -> Json:
    """Type and code of an error, when they are plain names, and words of our own."""
    kind, code = (error.get(name) if isinstance(error, dict) else None for name in ("type", "code"))
    code = code if type(code) is int or _is_name(code) else None
    return {"message": MESSAGE, "type": kind if _is_name(kind) else "server_error", "param": None, "code": code}


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None
