"""One account at upstream, several tenants: what upstream keeps, it keeps for all of them.

Where the server has one key for upstream and several tenants, a stored response, a conversation, a file or a vector store of
one tenant could be reached by another through upstream. So only what upstream forgets passes. Without a key for upstream on the
server, callers send their own beside ours, and all of upstream is theirs.
"""

from __future__ import annotations

import json

from vista_guard.proxy.http.paths import judged_api, read_path
from vista_guard.proxy.http.upstream import Problem
from vista_guard.proxy.settings import ProxySettings

FORGOTTEN = frozenset({("POST", "embeddings"), ("POST", "moderations"), ("GET", "models")})
"""Routes of which upstream keeps nothing that another caller could ask for."""

KEPT_FIELDS = ("previous_response_id", "conversation", "prompt")
"""Fields of a request by which upstream brings what it keeps."""

KEPT_IDS = frozenset({"file_id", "file_ids", "vector_store_ids", "container", "container_id"})

_WHY = "the tenants of this guard share one account at upstream, which keeps nothing apart for them"


def share_account(settings: ProxySettings) -> bool:
    """Whether several tenants call upstream with one key."""
    return settings.upstream_key is not None and len(settings.keys) > 1


def refusal(method: str, raw_path: str, body: bytes) -> str | None:
    """Why a request could reach what upstream keeps for another tenant; None when it couldn't.

    Args:
        method: of the request.
        raw_path: quoted, as it came.
        body: of the request.
    """
    try:
        path = read_path(raw_path)
    except Problem:
        return None  # no route will take it
    if method == "POST" and judged_api(path) is not None:
        found = _kept(body)
        return (
            None
            if found is None
            else f"{found} names what upstream keeps, and {_WHY}: send the history and the texts themselves"
        )
    if method == "OPTIONS":
        return None
    name, _, rest = path.partition("/")
    if (method, name) in FORGOTTEN and (not rest or name == "models"):
        return None
    return f"this path reaches what upstream keeps, and {_WHY}"


def _kept(body: bytes) -> str | None:
    try:
        content = json.loads(body)
    except (ValueError, RecursionError):
        return None  # the route refuses it
    if not isinstance(content, dict):
        return None
    named = next((field for field in KEPT_FIELDS if content.get(field) is not None), None)
    return named or _reference(content)


def _reference(content: object) -> str | None:
    """The first id of something that upstream keeps, wherever it stands."""
    waiting = [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if value.get("type") == "item_reference":
                return "an item_reference"
            # An id is a text, or a list of them; a mapping of that name is part of a tool's schema.
            found = next((name for name in KEPT_IDS if isinstance(value.get(name), str | list)), None)
            if found is not None:
                return found
            waiting += [part for name, part in value.items() if name != "metadata"]
        elif isinstance(value, list):
            waiting += value
    return None
