"""A request to OpenAI's API, asked again with the draft that was withheld and a note on it; and what both answers cost. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, overload

Api = Literal["chat", "responses"]

Json = dict[str, object]
"""An object of the API, as it is on the wire: of its values nothing is known before one looks."""

_NOT_REPEATED = ("conversation", "response_id", "background")
"""Fields of a request whose answer is not asked for again: upstream would keep the draft as what was said, or has the request."""

BINDING = frozenset(
    {
        "function_call",
        "custom_tool_call",
        "computer_call",
        "local_shell_call",
        "shell_call",
        "apply_patch_call",
        "mcp_approval_request",
        "mcp_call",
    }
)
"""Output items of the responses API that do something, here or at a server that is not upstream."""


def request_again(api: Api, request: Mapping[str, object], draft: str, note: str) -> Json:
    """The request with the draft and the note after what was said; all else as it was."""
    name = "messages" if api == "chat" else "input"
    given = request[name]
    said: list[object] = given if isinstance(given, list) else [{"role": "user", "content": given}]
    more = [{"role": "assistant", "content": draft}, {"role": "user", "content": note}]
    return {**request, name: [*said, *more]}


def repeatable(api: Api, request: Mapping[str, object]) -> bool:
    """Whether an answer to the request may be asked for again: one choice, and all that upstream has to know is in it."""
    given = request.get("messages" if api == "chat" else "input")
    kept = any(request.get(name) for name in _NOT_REPEATED)
    return isinstance(given, str | list) and request.get("n") in (None, 1) and not kept


@overload
def summed(first: object, more: Json) -> Json: ...


@overload
def summed(first: object, more: object) -> object: ...


def summed(first: object, more: object) -> object:
    """What two answers cost together: numbers are added, wherever they stand. Works on JSON."""
    if isinstance(first, Mapping) and isinstance(more, Mapping):
        return {name: summed(first.get(name), more.get(name)) for name in {**first, **more}}
    if isinstance(first, int | float) and isinstance(more, int | float):
        return first + more
    return first if more is None else more
