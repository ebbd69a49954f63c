"""An answer of the API as a turn: what it may lean on, the conversation that ends with it, and another one in its place."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, TypeVar, cast

from vista_guard.reading.chat_json import to_conversation
from vista_guard.stream.gates import Again, Delta, Streamed
from vista_guard.types import Conversation, Document, Role, Turn, TurnReport

Answer = TypeVar("Answer")

_TO_COME: Final = {"role": "assistant", "content": "…"}
"""Stands for the answer that is not there yet, so that reading the chat says what it may lean on."""


def ground(
    messages: Sequence[object], identity: str | None, documents: Iterable[object] = ()
) -> tuple[Conversation, tuple[Document, ...]]:
    """What was said, and the documents of the answer that comes next.

    Raises:
        InputError: a message or document that is none.
    """
    asked = cast(
        "Sequence[Mapping[str, object]]", [*messages, _TO_COME]
    )  # read with care: what is no message is refused
    *said, to_come = to_conversation(asked, documents=documents).turns
    return Conversation(turns=tuple(said), id=identity), to_come.documents


def with_answer(conversation: Conversation, text: str, documents: Iterable[Document] = ()) -> Conversation:
    """The conversation with the answer as its last turn."""
    turn = Turn(role=Role.ASSISTANT, text=text, documents=tuple(documents))
    return conversation.model_copy(update={"turns": (*conversation.turns, turn)})


async def ending_report(gated: AsyncIterator[Streamed]) -> TurnReport:
    """The report that a gated stream ends with, when nobody is to see the rest."""
    *_, report = [item async for item in gated]
    if not isinstance(report, TurnReport):
        raise AssertionError("a gated stream ends with its report")
    return report


async def judge_or_ask_again(
    answer: Answer,
    parts: Callable[[Answer], AsyncGenerator[Delta, None]],
    ask: Callable[[str, str, Answer], Awaitable[Answer | None]],
    judge: Callable[[AsyncGenerator[Delta, None], Again], Awaitable[TurnReport]],
) -> tuple[Answer, TurnReport]:
    """The answer that is delivered, which may be another one than was given, and its report.

    Args:
        answer: the first one, whole.
        parts: takes an answer apart.
        ask: takes the draft, a note on it and the answer before, and gives the next; None when that says nothing.
        judge: judges an answer's parts, and asks again with what it is given as long as the policy wants another.
    """
    last = answer

    async def again(draft: str, note: str) -> AsyncGenerator[Delta, None]:
        nonlocal last
        following = await ask(draft, note, last)
        if following is not None:
            last = following
            async for part in parts(following):
                yield part

    report = await judge(parts(answer), again)
    return last, report
