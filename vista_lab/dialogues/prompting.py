"""Prompts of a turn: histories in other forms, retrieved passages, and mitigations. Pure.

KnowMT-Bench describes them in §4.3, §5 and Appendix G without printing the prompts. The words are our own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vista_guard.judges.model import Message

SIMPLE = "You may use what was said before as background, but rely above all on what you know yourself.\n\n"
_SUMMARIZE = (
    "Here is a conversation between a user and an assistant. Sum up what matters for the user's next question, in a few "
    "sentences. Add nothing, and do not answer the question.\n\n{talk}\n\nNext question: {question}"
)
_SELECT = (
    "Here is a conversation between a user and an assistant. Copy, word for word, the sentences that help to answer the user's "
    "next question and that you believe to be right. Leave out all others, and do not answer the question.\n\n{talk}\n\n"
    "Next question: {question}"
)
_WITH_CONTEXT = "What is known from the conversation so far:\n{context}\n\n{question}"
_CRITICIZE = (
    "Look at your answer as a strict reviewer. Name what may be wrong, what is missing, and what is not needed. Do not write a "
    "new answer yet."
)
_REFINE = "Now write your answer again with this in mind. Give the answer alone, without remarks about it."
_RETRIEVED = "{blocks}\n\nAnswer the following question from the information above alone:\n{question}"
_CONCAT = "A conversation so far:\n\n{talk}\n\nThe user now asks:\n{question}"


def talk_of(messages: Sequence[Message]) -> str:
    """A dialogue as text, without its system prompt.

    Examples:
        >>> talk_of([Message("user", "Open?"), Message("assistant", "Yes.")])
        'User: Open?\\n\\nAssistant: Yes.'
    """
    return "\n\n".join(f"{one.role.capitalize()}: {one.content}" for one in messages if one.role != "system")


def concatenate(messages: Sequence[Message]) -> list[Message]:
    """Puts the history and the last question into one message."""
    *history, last = messages
    if all(message.role == "system" for message in history):
        return list(messages)
    system = [message for message in history if message.role == "system"]
    return [*system, Message("user", _CONCAT.format(talk=talk_of(history), question=last.content))]


def cut(messages: Sequence[Message], tokens: int, count: Callable[[str], int]) -> list[Message]:
    """Keeps the latest rounds of the history that fit into `tokens`; the system prompt and the last question stay.

    A message is kept whole or not at all, and the history that is left never begins with the assistant's.

    Examples:
        >>> talk = [Message("user", "a b"), Message("assistant", "c d e"), Message("user", "f"), Message("assistant", "g")]
        >>> words = lambda text: len(text.split())
        >>> [one.content for one in cut([*talk, Message("user", "h")], 5, words)]
        ['f', 'g', 'h']
    """
    *history, last = messages
    talk = [message for message in history if message.role != "system"]
    first, used = len(talk), 0
    for place in reversed(range(len(talk))):
        used += count(talk[place].content)
        if used > tokens:
            break
        if talk[place].role != "assistant":
            first = place
    return [*(message for message in history if message.role == "system"), *talk[first:], last]


def with_passages(question: str, passages: Sequence[str]) -> str:
    """The question after numbered, triple-quoted passages; unchanged without passages."""
    if not passages:
        return question
    blocks = "\n\n".join(f'{number}. """{text}"""' for number, text in enumerate(passages, 1))
    return _RETRIEVED.format(blocks=blocks, question=question)


def simple(messages: Sequence[Message]) -> list[Message]:
    """Adds an instruction before the last question."""
    *history, last = messages
    return [*history, Message("user", SIMPLE + last.content)]


def refining_history(messages: Sequence[Message], how: str) -> list[Message]:
    """Asks for a summary of the history (`summarize`) or for its helpful sentences (`select`)."""
    *history, last = messages
    prompt = _SUMMARIZE if how == "summarize" else _SELECT
    return [Message("user", prompt.format(talk=talk_of(history), question=last.content))]


def with_context(messages: Sequence[Message], context: str) -> list[Message]:
    """Replaces the history by the reply to `history_request`, before the last question."""
    *history, last = messages
    system = [message for message in history if message.role == "system"]
    return [*system, Message("user", _WITH_CONTEXT.format(context=context, question=last.content))]


def review_request(messages: Sequence[Message], answer: str) -> list[Message]:
    """Asks for a review of the answer."""
    return [*messages, Message("assistant", answer), Message("user", _CRITICIZE)]


def refine_request(messages: Sequence[Message], answer: str, review: str) -> list[Message]:
    """Asks for the answer again, after its review."""
    return [*review_request(messages, answer), Message("assistant", review), Message("user", _REFINE)]
