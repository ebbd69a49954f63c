"""Asks a chat model and reads what it says. What cannot be read is asked for once more, and then an error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from vista_guard.errors import UnreadableError
from vista_guard.judges.model.chat.protocol import ChatModel, ChatRequest

T = TypeVar("T")

RAW_CHARS = 2000
REMINDER = (
    "\n\nThe last answer to this could not be read. Answer in exactly the form that is asked for, and nothing else."
)


async def asked(
    model: ChatModel, request: ChatRequest, read: Callable[[str], T], *, partial: bool = False, reminders: int = 1
) -> T:
    """The model's answer, read.

    Args:
        model: who is asked.
        request: what it is asked.
        read: reads an answer; raises UnreadableError where it says nothing that can be used.
        partial: whether an answer that was cut off may be read as far as it goes.
        reminders: how often it is asked again for what could not be read.

    Raises:
        UnreadableError: no answer could be read.
        JudgeError: there was no answer (see `ChatModel.complete`).
    """
    for left in range(reminders, -1, -1):
        try:
            return await _once(model, request, read, partial=partial)
        except UnreadableError:
            if not left:
                raise
            *earlier, last = request.messages
            # In the last message, since some chat templates take no two user messages in a row.
            request = replace(request, messages=(*earlier, replace(last, content=last.content + REMINDER)))
    raise AssertionError("unreachable")


async def _once(model: ChatModel, request: ChatRequest, read: Callable[[str], T], *, partial: bool) -> T:
    reply = await model.complete(request)
    if reply.finish == "refusal":
        raise UnreadableError(f"{model.name} refused to judge: {reply.text[:200]!r}", reply.text[:RAW_CHARS])
    if reply.finish == "length" and not partial:
        # Half an answer may lack the claim, or the word, that mattered.
        error = f"the answer of {model.name} was cut off at its token limit; raise model.max_output_tokens"
        raise UnreadableError(error, reply.text[:RAW_CHARS])
    return read(reply.text)
