"""The case of a test or an evaluation: an answer with its context, or a whole conversation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Literal, Self, get_args

from vista_guard.errors import ConfigError, InputError
from vista_guard.types import Conversation, Document, Role, Turn
from vista_guard.types.conversation import Noun

if TYPE_CHECKING:
    from vista_guard.graph.host_objects import GivenDocuments

Turns = Literal["all", "last"]
"""Which assistant turns of a case are judged: each, or only the last one."""


class Case(Noun):
    """A conversation, and which of its assistant turns are to be judged.

    The conversation's own id is not used: whoever judges a case gives it one that no other case has.

    Example:
        Case.of_answer("When did it open?", "It opened in 1925.", documents="The hall opened in 1925.")
    """

    conversation: Conversation
    turns: Turns = "all"

    @classmethod
    def of_answer(cls, asked: object, answer: object, *, documents: GivenDocuments | None = ()) -> Self:
        """One answer, with what was said before it.

        Args:
            asked: the user's words, messages (chat JSON or LangChain's), a Conversation, or a mapping with `messages`, or with
                `input`, `question` or `query` (and `chat_history`). None and nothing at all: the answer stands alone.
            answer: a text, a message, a list of messages, or a mapping with `messages`, or with `answer`, `output`, `response`,
                `result` or `text` (and `documents`, `context` or `source_documents`).
            documents: what the answer leans on, beside what `asked` and `answer` bring.

        Raises:
            InputError: one of them is of another kind, or the answer says nothing.
        """
        from vista_guard.graph.host_objects import given_documents, read_reply, read_request

        past = read_request(asked).turns if asked else ()
        draft = read_reply(asked, {"messages": answer} if isinstance(answer, list | tuple) else answer)
        if draft.text is None:
            raise InputError("the answer has no text for the user; there is nothing to judge")
        brought = _merge_documents(draft.documents, given_documents(documents))
        said = Turn(role=Role.ASSISTANT, text=draft.text, documents=brought)
        return cls(conversation=Conversation(turns=(*past, said)), turns="last")

    @classmethod
    def of_transcript(cls, messages: object, *, documents: GivenDocuments | None = (), turns: Turns = "all") -> Self:
        """A conversation as it went.

        Args:
            messages: chat messages (chat JSON or LangChain's), a mapping that has them under `messages`, or a Conversation.
                What tools answered, and `documents` of a message, are what the turns lean on.
            documents: what every assistant turn leans on beside that.
            turns: which turns are judged.

        Raises:
            InputError: the messages cannot be read, or no assistant speaks among them.
            ConfigError: `turns` is something else.
        """
        from vista_guard.graph.host_objects import given_documents, read_request

        if turns not in get_args(Turns):
            raise ConfigError(f"turns is {turns!r}; choose one of {', '.join(get_args(Turns))}")
        talk = read_request(messages)
        if all(turn.role is not Role.ASSISTANT for turn in talk.turns):
            raise InputError("the conversation has no assistant message; there is nothing to judge")
        return cls(conversation=_with_documents(talk, given_documents(documents)), turns=turns)

    @classmethod
    def of_run(
        cls, inputs: object, outputs: object, *, documents: GivenDocuments | None = (), turns: Turns = "all"
    ) -> Self:
        """The case of an agent's inputs and outputs, in the form evaluation tools keep them.

        Outputs that hold a user's message are a whole conversation (`of_transcript`); all others are one answer (`of_answer`).

        Raises:
            InputError: as for these.
            ConfigError: as for these.
        """
        from vista_guard.graph.host_objects import given_documents, read_documents

        if _is_transcript(outputs):
            asked_with = read_documents(inputs) if isinstance(inputs, Mapping) else ()
            return cls.of_transcript(outputs, documents=(*asked_with, *given_documents(documents)), turns=turns)
        return cls.of_answer(inputs, outputs, documents=documents)


def _is_transcript(outputs: object) -> bool:
    messages = outputs.get("messages") if isinstance(outputs, Mapping) else outputs
    if isinstance(messages, Conversation):
        return True
    if not isinstance(messages, list | tuple):
        return False
    return any(_role(message) in ("user", "human") for message in messages)


def _role(message: object) -> str:
    if isinstance(message, Mapping):
        return str(message.get("role", ""))
    return str(getattr(message, "type", ""))


def _with_documents(talk: Conversation, documents: tuple[Document, ...]) -> Conversation:
    if not documents:
        return talk
    turns = [
        turn.model_copy(update={"documents": _merge_documents(turn.documents, documents)})
        if turn.role is Role.ASSISTANT
        else turn
        for turn in talk.turns
    ]
    return talk.model_copy(update={"turns": tuple(turns)})


def _merge_documents(first: tuple[Document, ...], others: tuple[Document, ...]) -> tuple[Document, ...]:
    from vista_guard.reading.chat_json import distinct

    return distinct([*first, *others])


__all__ = ["Case", "Turns"]
