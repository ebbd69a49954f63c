"""What chat completions and responses have in common when they are judged: asking again, and what both answers cost."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

from openai import BaseModel

from vista_guard.integrations.openai_api import summed

Answer = TypeVar("Answer")
Usage = TypeVar("Usage", bound=BaseModel)

FILTERED: Final = "content_filter"
"""The API's own word for an answer that was withheld."""

AskAgain = Callable[[str, str], Awaitable[Answer]]
"""Sends the request with a draft and a note on it, and gives what the API answers: a result, or the items of a stream."""


def summed_usage(usage: Usage | None, before: Usage | None) -> Usage | None:
    """What both answers cost, as far as it is known."""
    if usage is None or before is None:
        return before if usage is None else usage
    costs: dict[str, Any] = summed(before.to_dict(), usage.to_dict())
    return type(usage).construct(**costs)
