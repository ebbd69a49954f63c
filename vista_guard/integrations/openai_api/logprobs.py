"""Log probabilities of a stream's tokens, given out with the text that they belong to and not before."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Generic, TypeVar

Token = TypeVar("Token")


class PendingLogprobs(Generic[Token]):
    """Holds what came with the pieces of a draft until the text that is shown has reached the end of each piece.

    Once the text that is shown is not the draft any more, nothing is given out: tokens spell what was withheld.
    """

    def __init__(self) -> None:
        self._pieces: deque[tuple[int, Sequence[Token]]] = deque()
        self._unseen = ""
        self._read = self._shown = 0
        self.faithful = True
        """Whether all that was shown is the draft's beginning, word for word."""

    def read(self, text: str, logprobs: Sequence[Token]) -> None:
        """A piece of the draft."""
        self._unseen += text
        self._read += len(text)
        if logprobs:
            self._pieces.append((self._read, logprobs))

    def show(self, text: str) -> list[Token]:
        """The log probabilities that go with this text."""
        self.faithful = self.faithful and self._unseen.startswith(text)
        self._unseen = self._unseen[len(text) :]
        self._shown += len(text)
        given: list[Token] = []
        while self.faithful and self._pieces and self._pieces[0][0] <= self._shown:
            given += self._pieces.popleft()[1]
        return given
