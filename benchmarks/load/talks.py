"""The conversations under load. Pure: a conversation's number determines every word of it.

Each conversation is about a booking with a code of its own, which every sentence carries. So a word in the wrong stream, in the
wrong prompt or in the wrong knowledge can be told by its code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from vista_guard.policy.label_policy import MESSAGE

TURNS = 4
"""Turns of a conversation. The second holds a sentence that contradicts its document; the third leans on what the first one
established, and brings no documents."""

MODEL = "scripted"
CODE = re.compile(r"[Bb]ooking ([A-Z]{4})\b")
LIE = "does not include breakfast"
UNSAID = "may be changed"
"""Part of the sentence behind the contradicted one, which nobody may see either."""

_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
"""Without vowels: NO, IF and IS are words to the judge."""
_CODES, _STEP = len(_LETTERS) ** 4, 7919
_CITIES = ("Harstad", "Bergen", "Narvik", "Lisbon", "Turin", "Vienna", "Porto", "Ghent", "Malmo", "Krakow", "Split")
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ASKED = (
    "Where does booking {} go?",
    "Is booking {} paid?",
    "Which seat was booking {}?",
    "When does booking {} leave?",
)


@dataclass(frozen=True)
class Expected:
    """The response that a caller must see."""

    text: str
    finish: str
    decision: str
    labels: dict[str, int]


@dataclass(frozen=True)
class Talk:
    """A conversation, by its number."""

    number: int

    @property
    def code(self) -> str:
        """Four letters, in every sentence of it and in no other's. Neighbours look nothing like each other."""
        rest, letters = self.number * _STEP % _CODES, ""
        for _ in range(4):
            rest, letter = divmod(rest, len(_LETTERS))
            letters += _LETTERS[letter]
        return letters

    def request(self, turn: int) -> dict[str, Any]:
        """A chatbot's request: the delivered history, the question, and this turn's document."""
        messages: list[dict[str, str]] = []
        for earlier in range(turn):
            messages += [self._question(earlier), {"role": "assistant", "content": self.expected(earlier).text}]
        body = {"model": MODEL, "stream": True, "messages": [*messages, self._question(turn)]}
        facts = self._facts(turn)
        return {**body, "documents": [{"id": f"{self.code}-{turn}", "text": " ".join(facts)}]} if facts else body

    def answer(self, turn: int) -> str:
        """The model's answer."""
        facts = self._facts(turn)
        if turn == 1:
            return f"{facts[0]} Booking {self.code} {LIE}. Booking {self.code} {UNSAID} until {self._day}."
        return " ".join(facts) if facts else self._facts(0)[1]

    def expected(self, turn: int, *, off: bool = False) -> Expected:
        """The expected delivery of the answer."""
        answer = self.answer(turn)
        if off:
            return Expected(answer, "stop", "OFF", {})
        if turn == 1:
            text = f"{self._facts(1)[0]}\n\n{MESSAGE}"
            return Expected(text, "content_filter", "BLOCK", {"VERIFIED": 1, "CONTRADICTED": 1})
        return Expected(answer, "stop", "ALLOW", {"VERIFIED": len(self._facts(turn)) or 1})

    def known(self) -> list[str]:
        """The expected knowledge after the last turn, in order: all that was delivered and verified."""
        return [self._facts(0)[0], self._facts(0)[1], self._facts(1)[0], self._facts(0)[1], *self._facts(3)]

    def _question(self, turn: int) -> dict[str, str]:
        return {"role": "user", "content": _ASKED[turn].format(self.code)}

    def _facts(self, turn: int) -> Sequence[str]:
        """Sentences of the turn's document."""
        code, n = self.code, self.number
        if turn == 0:
            city = _CITIES[n % len(_CITIES)]
            return (
                f"Booking {code} is for the night train to {city}.",
                f"Booking {code} has seat {n % 60 + 1} in coach {n % 9 + 2}.",
            )
        if turn == 1:
            return (f"The fare of booking {code} was paid on {self._day}.", f"Booking {code} includes breakfast.")
        if turn == 3:
            return (
                f"The train of booking {code} leaves at {n % 12 + 8}:15.",
                f"Booking {code} boards at platform {n % 7 + 1}.",
            )
        return ()

    @property
    def _day(self) -> str:
        return _DAYS[self.number % len(_DAYS)]


def talk_of(code: str) -> Talk:
    """The conversation with that code."""
    place = sum(_LETTERS.index(letter) * len(_LETTERS) ** power for power, letter in enumerate(code))
    return Talk(place * pow(_STEP, -1, _CODES) % _CODES)
