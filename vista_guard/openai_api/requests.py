"""A request to OpenAI's API and the answer to it as a turn: asking again, usage, tokens that wait for their text. Pure."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal, cast, overload
from urllib.parse import unquote

from vista_guard.reading.chat_json import to_conversation
from vista_guard.types import Conversation, Document, Role, Turn

Api = Literal["chat", "responses"]

Json = dict[str, object]
"""An object of the API, as it is on the wire: of its values nothing is known before one looks."""

_NOT_REPEATED: Final = ("conversation", "response_id", "background")
"""Fields of a request whose answer is not asked for again: upstream would keep the draft as what was said, or has the request."""

BINDING: Final = frozenset(
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

_TO_COME: Final = {"role": "assistant", "content": "…"}
"""Stands for the answer that is not there yet, so that reading the chat says what it may lean on."""


def as_list(value: object) -> list[object]:
    """The value when it is a list, as upstream or a caller may or may not send it; else an empty one."""
    return value if isinstance(value, list) else []


def judged_api(path: str) -> Api | None:
    """The API whose answers are judged, when the path ends with its name: also below a deployment or an engine."""
    words = [word for word in unquote(path).lower().split("/") if word]
    if words[-2:] == ["chat", "completions"]:
        return "chat"
    return "responses" if words[-1:] == ["responses"] else None


def request_again(api: Api, request: Mapping[str, object], draft: str, note: str) -> Json:
    """The request with the draft and the note after what was said; all else as it was."""
    name = "messages" if api == "chat" else "input"
    given = request[name]
    said: list[object] = given if isinstance(given, list) else [{"role": "user", "content": given}]
    more = [{"role": "assistant", "content": draft}, {"role": "user", "content": note}]
    return {**request, name: [*said, *more]}


def repeatable(api: Api, request: Mapping[str, object]) -> bool:
    """True if an answer to the request may be asked for again: one choice, and all that upstream has to know is in it."""
    given = request.get("messages" if api == "chat" else "input")
    kept = any(request.get(name) for name in _NOT_REPEATED)
    return isinstance(given, str | list) and request.get("n") in (None, 1) and not kept


@overload
def summed(first: object, more: Json) -> Json: ...


@overload
def summed(first: object, more: object) -> object: ...


def summed(first: object, more: object) -> object:
    """The usage of two answers together; numbers are added at any depth."""
    if isinstance(first, Mapping) and isinstance(more, Mapping):
        return {name: summed(first.get(name), more.get(name)) for name in {**first, **more}}
    if isinstance(first, int | float) and isinstance(more, int | float):
        return first + more
    return first if more is None else more


def ground(
    messages: Sequence[object], identity: str | None, documents: Iterable[object] = ()
) -> tuple[Conversation, tuple[Document, ...]]:
    """The conversation so far, and the documents of the next answer.

    Raises:
        InputError: a message or document that is none.
    """
    asked = cast(
        "Sequence[Mapping[str, object]]", [*messages, _TO_COME]
    )  # read with care: what is no message is refused
    *said, to_come = to_conversation(asked, documents=documents, patterns=None).turns
    return Conversation(turns=tuple(said), id=identity), to_come.documents


def with_answer(conversation: Conversation, text: str, documents: Iterable[Document] = ()) -> Conversation:
    """The conversation with the answer as its last turn."""
    turn = Turn(role=Role.ASSISTANT, text=text, documents=tuple(documents))
    return conversation.model_copy(update={"turns": (*conversation.turns, turn)})


class PendingLogprobs:
    """Holds what came with the pieces of a draft until the text that is shown has reached the end of each piece.

    Once the text that is shown is not the draft any more, nothing is given out: tokens spell what was withheld.
    """

    def __init__(self) -> None:
        self._pieces: deque[tuple[int, Sequence[object]]] = deque()
        self._unseen = ""
        self._read = self._shown = 0
        self.faithful = True
        """True if all that was shown is the draft's beginning, word for word."""

    def read(self, text: str, logprobs: Sequence[object]) -> None:
        """A piece of the draft."""
        self._unseen += text
        self._read += len(text)
        if logprobs:
            self._pieces.append((self._read, logprobs))

    def show(self, text: str) -> list[object]:
        """The log probabilities that go with this text."""
        self.faithful = self.faithful and self._unseen.startswith(text)
        self._unseen = self._unseen[len(text) :]
        self._shown += len(text)
        given: list[object] = []
        while self.faithful and self._pieces and self._pieces[0][0] <= self._shown:
            given += self._pieces.popleft()[1]
        return given
