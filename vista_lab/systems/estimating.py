"""The cost of a run before its first paid call: the system rehearsed on a sample, with a model that only counts.

Prompts are the very ones that will be sent. What a model answers is not known, so answers are made up: as many claims as the
package's own decomposition finds, every second of them unsupported (VISTA, Table 1: 47 % of the claims are VERIFIED), a reason
and a quote of a dozen words. Tokens are counted at four characters each. What a model thinks before it answers, and what a
provider's prompt cache or `judge_cache` saves, is not in it.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from vista_guard.judges.embedded.english.decompose import decompose
from vista_guard.judges.model.chat.calling import CHARACTERS_A_TOKEN, ChatModel, ChatRequest, Reply
from vista_guard.types import Role, Turn
from vista_lab.logs.source import LoggedConversation
from vista_lab.systems.guarded import GuardSystem
from vista_lab.systems.protocol import System

SAMPLE_TURNS = 40
"""Turns after which no other conversation is rehearsed."""
_SEED = 13
_TWELVE_WORDS = "these words stand for those of the reference text that decide it"
_TURN = re.compile(r"<turn>\n(.*?)\n</turn>", re.DOTALL)
_SENTENCE = re.compile(r"<sentence>\n(.*?)\n</sentence>", re.DOTALL)
_PLAIN = "Not Factual"
"""Of a system that asks for no more than a word."""
_ID = re.compile(r"^(c\d+): ", re.MULTILINE)
_CLAIMS_A_TURN = 4
"""Where the turn does not stand in tags: 888 claims in 227 turns (VISTA, Table 1)."""


@dataclass(frozen=True)
class Estimate:
    """The estimate for `turns` turns, from `sampled` of them. `cost` is in US dollars, None when a price is unknown."""

    turns: int
    sampled: int
    calls: int
    input_tokens: int
    output_tokens: int
    cost: float | None


def assistant_turns(entry: LoggedConversation) -> list[int]:
    """Indices of all turns that can be judged."""
    return [index for index, turn in enumerate(entry.conversation.turns) if turn.role is Role.ASSISTANT]


async def estimate(
    system: System,
    entries: Sequence[LoggedConversation],
    turns: Callable[[LoggedConversation], Collection[int]] = assistant_turns,
) -> Estimate | None:
    """Rehearses some of the conversations. No model is asked and nothing is paid.

    Args:
        system: from `make_system`.
        entries: what will be judged.
        turns: the turns of a conversation that will be reported on.

    Returns:
        None where it cannot be known: a metric of another library, a judge of one's own.
    """
    total = sum(len(turns(entry)) for entry in entries)
    if not isinstance(system, GuardSystem) or system.rehearse is None:
        return None
    if not system.prompts:  # No model is asked.
        return Estimate(total, 0, calls=0, input_tokens=0, output_tokens=0, cost=0.0)
    books = _Books()
    rehearsal = system.rehearse(lambda model: Rehearsal(model, books))
    try:
        sampled = 0
        for entry in random.Random(_SEED).sample(entries, len(entries)):
            if sampled >= SAMPLE_TURNS:
                break
            async for _ in rehearsal.judge(entry, turns(entry), []):
                sampled += 1
            await rehearsal.forget(str(entry.conversation.id))
    finally:
        await rehearsal.aclose()
    return books.scale(total, sampled)


@dataclass
class _Books:
    """The calls to the models of one system."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0

    def add(self, model: ChatModel, asked: int, answered: int) -> None:
        self.calls += 1
        self.input_tokens += asked
        self.output_tokens += answered
        prices = getattr(model, "prices", None)
        cost = None if prices is None else prices.cost(asked, answered, 0)
        self.cost = None if cost is None or self.cost is None else self.cost + cost

    def scale(self, turns: int, sampled: int) -> Estimate:
        """For all turns, from those that were rehearsed."""
        share = turns / sampled if sampled else 0.0
        calls, asked, answered = (
            math.ceil(count * share) for count in (self.calls, self.input_tokens, self.output_tokens)
        )
        cost = None if self.cost is None else self.cost * share
        return Estimate(turns, sampled, calls=calls, input_tokens=asked, output_tokens=answered, cost=cost)


@dataclass
class Rehearsal:
    """Implements `ChatModel` in place of a model: counts what that would be asked, and answers something of the right form."""

    model: ChatModel
    books: _Books
    why_exhausted: None = None
    _asked: int = field(default=0)

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.model.parameters

    async def complete(self, request: ChatRequest) -> Reply:
        """An answer that nobody thought about."""
        self._asked += 1
        answer = _answer(request, self._asked)
        asked = sum(len(message.content) for message in request.messages) + self._schema(request)
        self.books.add(self.model, _tokens(asked), _tokens(len(answer)))
        return Reply(answer)

    def _schema(self, request: ChatRequest) -> int:
        """Characters of the schema, which endpoints count as part of the prompt."""
        is_sent = request.schema is not None and self.parameters.get("structured_output") != "off"
        return len(json.dumps(request.schema)) if is_sent else 0

    async def aclose(self) -> None:
        """Closes nothing: the model was never called, and its owner may still use it."""


def _answer(request: ChatRequest, number: int) -> str:
    if request.schema is None and request.stage == "turn":
        return _PLAIN
    if request.stage == "steps":
        return _steps_answer(request)
    return json.dumps(_ANSWERS[request.stage](request, number))


def _tokens(characters: int) -> int:
    return math.ceil(characters / CHARACTERS_A_TOKEN)


def _claims(request: ChatRequest) -> list[str]:
    found = _TURN.findall(request.messages[-1].content)
    if not found:
        return [_TWELVE_WORDS] * _CLAIMS_A_TURN
    return [claim.text for claim in decompose(Turn(role=Role.ASSISTANT, text=found[-1].partition(": ")[2]), ())]


def _steps_answer(request: ChatRequest) -> str:
    """Four steps say the sentence twice, and some words of each; then its claims, as the rules of English find them."""
    found = _SENTENCE.findall(request.messages[-1].content)
    sentence = found[-1] if found else _TWELVE_WORDS
    claims = [claim.text for claim in decompose(Turn(role=Role.ASSISTANT, text=sentence), ())] or [sentence]
    steps = "\n".join(f"STEP {number}: {_TWELVE_WORDS} {sentence * (number < 3)}" for number in range(1, 5))
    return f"<think>\n{steps}\n</think>\n<output>{json.dumps(claims)}</output>"


def _decomposition_answer(request: ChatRequest, _: int) -> dict[str, Any]:
    return {"claims": [{"claim": claim, "quote": _TWELVE_WORDS} for claim in _claims(request)]}


def _verification_answer(_: ChatRequest, number: int) -> dict[str, Any]:
    return {"quote": _TWELVE_WORDS, "label": "VERIFIED" if number % 2 else "UNVERIFIABLE"}


def _label_answer(number: int) -> dict[str, str]:
    if number % 2:
        return {"reason": "", "quote": _TWELVE_WORDS, "label": "VERIFIED"}
    return {"reason": _TWELVE_WORDS, "quote": "", "label": "LACKING_EVIDENCE"}


def _category_answer(*_: object) -> dict[str, Any]:
    return _label_answer(0)


def _judgement(request: ChatRequest, _: int) -> dict[str, Any]:
    ids = _ID.findall(request.messages[-1].content)
    return {"answers": [{"id": one, **_label_answer(number)} for number, one in enumerate(dict.fromkeys(ids), 1)]}


def _fused_answer(request: ChatRequest, _: int) -> dict[str, Any]:
    claims = [{"claim": claim, **_label_answer(number)} for number, claim in enumerate(_claims(request), 1)]
    return {"claims": [{**one, "evidence": _TWELVE_WORDS} for one in claims]}


def _turn(request: ChatRequest, _: int) -> dict[str, Any]:
    properties = (request.schema or {}).get("properties", {})
    return {name: one.get("enum", [f"{_TWELVE_WORDS} {_TWELVE_WORDS}"])[0] for name, one in properties.items()}


_ANSWERS: Mapping[str, Callable[[ChatRequest, int], dict[str, Any]]] = {
    "decompose": _decomposition_answer,
    "verify": _verification_answer,
    "categorize": _category_answer,
    "judge": _judgement,
    "fused": _fused_answer,
    "turn": _turn,
}
