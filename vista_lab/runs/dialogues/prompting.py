"""What the assistant is shown at a turn: histories in other forms, retrieved passages, and mitigations. Pure.

KnowMT-Bench prints no prompt of these; what they do is told in its §4.3 and §5 and Appendix G. The words are our own.
"""

from __future__ import annotations

from collections.abc import Sequence

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


def concatenated(messages: Sequence[Message]) -> list[Message]:
    """The same with its history and its last question in one message."""
    *history, last = messages
    if all(one.role == "system" for one in history):
        return list(messages)
    system = [one for one in history if one.role == "system"]
    return [*system, Message("user", _CONCAT.format(talk=talk_of(history), question=last.content))]


def cut(messages: Sequence[Message], words: int) -> list[Message]:
    """The same with so many words of its history, the latest; the system prompt and the last question stay whole.

    Examples:
        >>> [one.content for one in cut([Message("user", "a b"), Message("assistant", "c d e"), Message("user", "f")], 2)]
        ['d e', 'f']
    """
    *history, last = messages
    found, left = [last], words
    for one in reversed(history):
        if one.role == "system":
            found.append(one)
        elif left > 0:
            kept = one.content.split()[-left:]
            whole = len(kept) == len(one.content.split())
            found.append(one if whole else Message(one.role, " ".join(kept)))
            left -= len(kept)
    return found[::-1]


def with_passages(question: str, passages: Sequence[str]) -> str:
    """The question behind numbered, triple-quoted passages; as it is where there are none."""
    if not passages:
        return question
    blocks = "\n\n".join(f'{number}. """{text}"""' for number, text in enumerate(passages, 1))
    return _RETRIEVED.format(blocks=blocks, question=question)


def simple(messages: Sequence[Message]) -> list[Message]:
    """The same with an instruction before the last question."""
    *history, last = messages
    return [*history, Message("user", SIMPLE + last.content)]


def refining_history(messages: Sequence[Message], how: str) -> list[Message]:
    """Asks for a summary of the history (`summarize`) or for what of it helps (`select`)."""
    *history, last = messages
    prompt = _SUMMARIZE if how == "summarize" else _SELECT
    return [Message("user", prompt.format(talk=talk_of(history), question=last.content))]


def on_refined(messages: Sequence[Message], context: str) -> list[Message]:
    """The last question with what `refining_history` gave, in place of the history."""
    *history, last = messages
    system = [one for one in history if one.role == "system"]
    return [*system, Message("user", _WITH_CONTEXT.format(context=context, question=last.content))]


def criticizing(messages: Sequence[Message], answer: str) -> list[Message]:
    """Asks for a review of the answer."""
    return [*messages, Message("assistant", answer), Message("user", _CRITICIZE)]


def refining(messages: Sequence[Message], answer: str, review: str) -> list[Message]:
    """Asks for the answer again, after its review."""
    return [*criticizing(messages, answer), Message("assistant", review), Message("user", _REFINE)]
