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
from typing import Any, ClassVar

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
_SENTENCE = re.compile(r"<sentence>\n(.*?)\n</sentence>|<SOS>(.*?)<EOS>", re.DOTALL)
_CLAIM = re.compile(r"<claim>(.*?)</claim>", re.DOTALL)
_PLAIN = "Not Factual"
"""Answer to a system that asks for no more than a word."""
_ID = re.compile(r"^(c\d+): ", re.MULTILINE)
_CLAIMS_A_TURN = 4
"""Assumed where no turn is in tags: 888 claims in 227 turns (VISTA, Table 1)."""


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
        """Extrapolates from the rehearsed turns to all."""
        share = turns / sampled if sampled else 0.0
        counts = (self.calls, self.input_tokens, self.output_tokens)
        calls, asked, answered = (math.ceil(count * share) for count in counts)
        cost = None if self.cost is None else self.cost * share
        return Estimate(turns, sampled, calls=calls, input_tokens=asked, output_tokens=answered, cost=cost)


@dataclass
class Rehearsal:
    """Implements `ChatModel` in place of a model: counts what that would be asked, and answers something of the right form."""

    model: ChatModel
    books: _Books
    why_exhausted: None = None
    rehearses: ClassVar[bool] = True
    """Its labels count although they are made up: a judge must not ask again about them."""
    _asked: int = field(default=0)

    @property
    def name(self) -> str:
        return self.model.name

    @property
    def parameters(self) -> Mapping[str, Any]:
        return self.model.parameters

    async def complete(self, request: ChatRequest) -> Reply:
        """Counts the call, and returns a made-up answer."""
        self._asked += 1
        answer = _answer(request, self._asked)
        characters = sum(len(message.content) for message in request.messages) + self._schema(request)
        self.books.add(self.model, _tokens(characters), _tokens(len(answer)))
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
    answer = _ANSWERS[request.stage](request, number)
    return answer if isinstance(answer, str) else json.dumps(answer)


def _tokens(characters: int) -> int:
    return math.ceil(characters / CHARACTERS_A_TOKEN)


def _claims(request: ChatRequest) -> list[str]:
    turns = _TURN.findall(request.messages[-1].content)
    if not turns:
        return [_TWELVE_WORDS] * _CLAIMS_A_TURN
    return [claim.text for claim in decompose(Turn(role=Role.ASSISTANT, text=turns[-1].partition(": ")[2]), ())]


def _sentence(request: ChatRequest) -> str:
    *_, last = _SENTENCE.findall(request.messages[-1].content) or [("", "")]
    return last[0] or last[1] or _TWELVE_WORDS


def _sentence_claims(request: ChatRequest, _: int = 0) -> dict[str, Any]:
    sentence = _sentence(request)
    return {"claims": [claim.text for claim in decompose(Turn(role=Role.ASSISTANT, text=sentence), ())] or [sentence]}


def _claim_lines(request: ChatRequest, _: int) -> str:
    return "\n".join(_sentence_claims(request)["claims"])


def _steps(request: ChatRequest, _: int) -> str:
    """Four steps that repeat the sentence twice, then its claims by the rules of English."""
    sentence = _sentence(request)
    steps = "\n".join(f"STEP {number}: {_TWELVE_WORDS} {sentence * (number < 3)}" for number in range(1, 5))
    claims = json.dumps(_sentence_claims(request)["claims"])
    return f"<think>\n{steps}\n</think>\n<output>{claims}</output>"


def _rewrite_answer(request: ChatRequest, _: int) -> dict[str, str]:
    return {"reason": _TWELVE_WORDS, "sentence": _sentence(request)}


def _halves(request: ChatRequest, _: int) -> dict[str, list[str]]:
    words = _CLAIM.findall(request.messages[-1].content)[-1].split()
    middle = len(words) // 2
    return {"claims": [" ".join(part) for part in (words[:middle], words[middle:]) if part]}


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
    return {"answers": [{"id": name, **_label_answer(number)} for number, name in enumerate(dict.fromkeys(ids), 1)]}


def _fused_answer(request: ChatRequest, _: int) -> dict[str, Any]:
    claims = [{"claim": claim, **_label_answer(number)} for number, claim in enumerate(_claims(request), 1)]
    return {"claims": [{**entry, "evidence": _TWELVE_WORDS} for entry in claims]}


def _turn(request: ChatRequest, _: int) -> dict[str, Any]:
    properties = (request.schema or {}).get("properties", {})
    words = f"{_TWELVE_WORDS} {_TWELVE_WORDS}"
    return {name: schema.get("enum", [words])[0] for name, schema in properties.items()}


_ANSWERS: Mapping[str, Callable[[ChatRequest, int], Mapping[str, Any] | str]] = {
    "decompose": _decomposition_answer,
    "verify": _verification_answer,
    "categorize": _category_answer,
    "judge": _judgement,
    "fused": _fused_answer,
    "turn": _turn,
    "steps": _steps,
    "factscore": _sentence_claims,
    "veriscore": _sentence_claims,
    "veriscore-sft": _claim_lines,
    "claimify-select": _rewrite_answer,
    "claimify-disambiguate": _rewrite_answer,
    "claimify-decompose": _sentence_claims,
    "dydecomp": _halves,
}
